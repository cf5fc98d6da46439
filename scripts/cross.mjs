// Builds the addon for platforms of napi.targets on Linux: Linux on both processors with glibc 2.17 or musl, macOS on
// both. Windows needs Microsoft's linker and is built there.
//   npm run cross                                  all of them, into artifacts/
//   npm run cross -- aarch64-unknown-linux-musl    these
// It needs zig and cargo-zigbuild: pip install ziglang==0.17.0 cargo-zigbuild==0.24.0
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTriple } from "@napi-rs/cli";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The oldest glibc that Node 20 itself runs on is newer (2.28); this is what many other addons are built for. */
const GLIBC = "2.17";
/** The oldest macOS on arm64. Without it the addon needs the one that zig was made for, which is 15. */
const MACOS = "11.0";

const run = (command, args, env = {}) =>
	execFileSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });

function build(triple) {
	const target = parseTriple(triple);
	run("rustup", ["target", "add", triple]);
	const linked = target.abi === "gnu" ? `${triple}.${GLIBC}` : triple;
	/** @type {Record<string, string>} */
	const env = {};
	// An addon is loaded by a program that has its C library already.
	if (target.abi === "musl") env.RUSTFLAGS = "-C target-feature=-crt-static";
	if (target.platform === "darwin") env.MACOSX_DEPLOYMENT_TARGET = MACOS;
	run("cargo", ["zigbuild", "--release", "--locked", "--lib", "--target", linked], env);
	const file = target.platform === "darwin" ? "libpi_session_native.dylib" : "libpi_session_native.so";
	const addon = join(root, "artifacts", `${napi.binaryName}.${target.platformArchABI}.node`);
	mkdirSync(dirname(addon), { recursive: true });
	copyFileSync(join(root, "target", triple, "release", file), addon);
	console.log(`${addon}: ${(statSync(addon).size / 1024).toFixed(0)} KiB`);
}

const asked = process.argv.slice(2);
const unknown = asked.filter((triple) => !napi.targets.includes(triple));
if (unknown.length > 0) throw new Error(`Not among napi.targets: ${unknown.join(", ")}`);
for (const triple of asked.length > 0 ? asked : napi.targets.filter((one) => !one.includes("windows"))) build(triple);
