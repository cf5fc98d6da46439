// Runs the JavaScript tests on an addon that checks every access to memory (AddressSanitizer): needs gcc's libasan.
//   npm run sanitize            the tests in FOLDERS below, one folder after another
//   npm run sanitize -- path…   other tests
//
// It leaves out tests that start dozens of processes (kills, eight writers), tests that measure or limit memory (leaks,
// costs, sizes), which a sanitizer changes, and tests of packages, runtimes and the command, which run other builds.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = "x86_64-unknown-linux-gnu";
const out = join(root, "target/sanitize");
const run = (command, args, env = {}) => {
	const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
	if (status !== 0) process.exit(status ?? 1);
};
// Sanitizers are unstable in rustc; this variable enables them in a stable release.
run("cargo", ["build", "--locked", "--target", target, "--target-dir", out, "--profile", "dev", "--lib"], {
	RUSTC_BOOTSTRAP: "1",
	RUSTFLAGS: "-Zsanitizer=address -Zexternal-clangrt -Clink-arg=-Wl,-z,undefs",
});
const folder = join(out, "module");
mkdirSync(folder, { recursive: true });
copyFileSync(join(out, target, "debug/libpi_session_native.so"), join(folder, "pi-session-native.linux-x64-gnu.node"));
for (const file of ["index.js", "package.json"]) copyFileSync(join(root, file), join(folder, file));
const { stdout } = spawnSync("gcc", ["-print-file-name=libasan.so"], { encoding: "utf8" });
const FOLDERS = [
	["__test__/unit"],
	["__test__/stress", "--exclude", "**/{kills,processes,leaks}.spec.ts"],
	["__test__/slow", "--exclude", "**/{costs,sizes}.spec.ts"],
];
const asked = process.argv.slice(2);
const failed = [];
for (const tests of asked.length > 0 ? [asked] : FOLDERS) {
	const args = ["node_modules/vitest/vitest.mjs", "run", "--testTimeout=600000", ...tests];
	const { status } = spawnSync(process.execPath, args, {
		cwd: root,
		stdio: "inherit",
		env: {
			...process.env,
			PSN_MODULE: join(folder, "index.js"),
			// Each step takes several times as long, so we run as many cases as `npm test`.
			PSN_COUNTS: process.env.PSN_COUNTS ?? "taste",
			LD_PRELOAD: realpathSync(stdout.trim()),
			// Node itself keeps memory until its end. `npm run leaks` finds leaks.
			ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1:handle_segv=0:allow_user_segv_handler=1",
		},
	});
	if (status !== 0) failed.push(tests[0]);
}
console.log(failed.length > 0 ? `sanitize: failed in ${failed.join(", ")}` : "sanitize: nothing found");
process.exit(failed.length > 0 ? 1 : 0);
