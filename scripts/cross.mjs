// Builds the addon for platforms of napi.targets on Linux: Linux on both processors with glibc 2.17 or musl, macOS on
// both. Windows needs Microsoft's linker and is built there.
//   npm run cross                                  all targets, into artifacts/
//   npm run cross -- aarch64-unknown-linux-musl    only these
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTriple } from "@napi-rs/cli";
import { isMain } from "./is-main.mjs";
import { libnode, zig } from "./platforms/setup.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The oldest glibc, as for many other addons. Node 20 itself needs a newer one (2.28). */
const GLIBC = "2.17";
/** The oldest macOS on arm64. Without this setting the addon needs macOS 15, zig's default. */
const MACOS = "11.0";
const LIBRARIES = {
	darwin: "libpi_session_native.dylib",
	win32: "pi_session_native.dll",
	linux: "libpi_session_native.so",
};

/**
 * How cargo compiles for another platform: `cargo(command, ...args)` returns a command and its arguments, `env`
 * contains the variables, `library` is the file of a build in the folder of its profile.
 */
export function compilerOf(triple) {
	const target = parseTriple(triple);
	execFileSync("rustup", ["target", "add", triple], { stdio: "inherit" });
	const library = (profile) => join(root, "target", triple, profile, LIBRARIES[target.platform]);
	if (target.platform === "win32") {
		const cargo = (command, ...args) => ["cargo", command, "--locked", "--target", triple, ...args];
		return { cargo, library, env: { LIBNODE_PATH: libnode() } };
	}
	/** @type {Record<string, string>} */
	const env = { PATH: `${zig()}${delimiter}${process.env.PATH}` };
	// The program that loads an addon has already loaded the C library.
	if (target.abi === "musl") env.RUSTFLAGS = "-C target-feature=-crt-static";
	if (target.platform === "darwin") env.MACOSX_DEPLOYMENT_TARGET = MACOS;
	const linked = target.abi === "gnu" ? `${triple}.${GLIBC}` : triple;
	const cargo = (command, ...args) => [
		"cargo-zigbuild",
		command === "build" ? "zigbuild" : command,
		"--locked",
		"--target",
		linked,
		...args,
	];
	return { cargo, library, env };
}

/** Builds the addon into a file. */
export function build(triple, profile, addon) {
	const { cargo, env, library } = compilerOf(triple);
	const [command, ...args] = cargo("build", "--lib", "--profile", profile);
	execFileSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
	mkdirSync(dirname(addon), { recursive: true });
	copyFileSync(library(profile === "dev" ? "debug" : profile), addon);
}

if (isMain(import.meta.url)) {
	const asked = process.argv.slice(2);
	const unknown = asked.filter((triple) => !napi.targets.includes(triple));
	if (unknown.length > 0) throw new Error(`Not among napi.targets: ${unknown.join(", ")}`);
	for (const triple of asked.length > 0 ? asked : napi.targets.filter((one) => !one.includes("windows"))) {
		const addon = join(root, "artifacts", `${napi.binaryName}.${parseTriple(triple).platformArchABI}.node`);
		build(triple, "release", addon);
		const { size } = statSync(addon);
		console.log(`${addon}: ${(size / 1e6).toFixed(1)} MB (${size.toLocaleString("en")} bytes)`);
	}
}
