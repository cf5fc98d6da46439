// Runs the JavaScript tests on an addon that checks every access to memory (AddressSanitizer): needs gcc's libasan.
//   npm run sanitize            contract tests
//   npm run sanitize -- path…   other tests
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
// Sanitizers are not stable in rustc; the switch lets the stable one make them.
run("cargo", ["build", "--locked", "--target", target, "--target-dir", out, "--profile", "quick", "--lib"], {
	RUSTC_BOOTSTRAP: "1",
	RUSTFLAGS: "-Zsanitizer=address -Zexternal-clangrt -Clink-arg=-Wl,-z,undefs",
});
const folder = join(out, "module");
mkdirSync(folder, { recursive: true });
copyFileSync(join(out, target, "quick/libpi_session_native.so"), join(folder, "pi-session-native.linux-x64-gnu.node"));
for (const file of ["index.js", "package.json"]) copyFileSync(join(root, file), join(folder, file));
const { stdout } = spawnSync("gcc", ["-print-file-name=libasan.so"], { encoding: "utf8" });
const tests = process.argv.slice(2);
// Node itself keeps memory until it ends: what leaks is the leak test's business.
run(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...(tests.length > 0 ? tests : ["__test__/contract"])], {
	PSN_MODULE: join(folder, "index.js"),
	LD_PRELOAD: realpathSync(stdout.trim()),
	ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1:handle_segv=0:allow_user_segv_handler=1",
});
