// `npm test` on a fresh clone: installs, builds and runs everything, with nothing but Node to begin with.
//
// Each step is run whatever became of those before it, so that one run shows the whole picture. The last line is the
// sum: tests of Rust and of vitest, and one failure for each step that failed without naming any.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RUNTIMES } from "../runtimes/setup.mjs";
import { reported, VITEST } from "./report.mjs";
import { HOOKED, runRuntimes } from "./runtimes.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const GENERATED = ["index.js", "index.d.ts"];

const total = { passed: 0, failed: 0 };
const failedSteps = [];
/** By name, for the end: the place of a failure in the log may be far up. */
const failures = [];

/** Runs a command in sight of the user. Gives its exit code, and its output if asked to keep it. */
function run(command, args, { keep = false } = {}) {
	return new Promise((resolve) => {
		const child = spawn(command, args, { cwd: root, stdio: ["ignore", keep ? "pipe" : "inherit", "inherit"] });
		let output = "";
		child.stdout?.setEncoding("utf8");
		child.stdout?.on("data", (text) => {
			output += text;
			process.stdout.write(text);
		});
		child.on("error", (error) => resolve({ code: 1, output: String(error) }));
		child.on("close", (code) => resolve({ code: code ?? 1, output }));
	});
}

/** A step passes if its work says so: an exit code of 0, and no failed tests where it counts them. */
async function step(title, work) {
	console.log(`\n== ${title}`);
	const start = Date.now();
	const { code, passed = 0, failed = 0, names = [] } = await work();
	total.passed += passed;
	// A step may fail before it comes to its tests, or after them.
	total.failed += code !== 0 && failed === 0 ? 1 : failed;
	const good = code === 0 && failed === 0;
	if (!good) failedSteps.push(title);
	failures.push(...names);
	console.log(`-- ${title}: ${good ? "good" : "FAILED"} (${((Date.now() - start) / 1000).toFixed(0)} s)`);
	return good;
}

const command = (name, args) => () => run(name, args);

const content = (file) => (existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "");

/** What the build writes must be what is committed; outside of a repository, what was there before the build. */
async function fresh(before) {
	const { status } = spawnSync("git", ["ls-files", "--error-unmatch", ...GENERATED], { cwd: root, stdio: "ignore" });
	if (status === 0) return run("git", ["--no-pager", "diff", "--exit-code", "--", ...GENERATED]);
	const stale = GENERATED.filter((file, index) => content(file) !== before[index]);
	if (stale.length > 0) console.log(`Neither committed nor as before the build: ${stale.join(", ")}`);
	return { code: stale.length > 0 ? 1 : 0 };
}

async function cargoTest() {
	const { code, output } = await run("cargo", ["test", "--locked", "--no-fail-fast"], { keep: true });
	const results = [...output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed/gm)];
	const sum = (group) => results.reduce((whole, result) => whole + Number(result[group]), 0);
	const names = [...output.matchAll(/^test (\S+) .*\.\.\. FAILED$/gm)].map(([, name]) => `cargo test ${name}`);
	return { code, passed: sum(1), failed: sum(2), names };
}

const vitest = () => reported(async (reporters) => (await run(process.execPath, [VITEST, "run", ...reporters])).code);

/**
 * The suite on the other runtimes, each with less of what has just run on this one. That is not run again, unless pi is to
 * be hooked on it: the tests of that run on pi's own Node.
 */
async function runtimes() {
	const here = `node${parseInt(process.versions.node, 10)}`;
	const others = Object.keys(RUNTIMES).filter((name) => name !== here || HOOKED.includes(name));
	const { passed, failed, names } = await runRuntimes(others, { quick: true });
	return { code: 0, passed, failed, names };
}

const before = GENERATED.map(content);
// Without these two, nothing that follows could say anything.
const ready =
	(await step("install", command(process.execPath, ["scripts/install.mjs"]))) &&
	(await step("peer", command(process.execPath, ["peer/setup.mjs"])));
if (ready) {
	await step("build", command("npm", ["run", "build:dev"]));
	await step("generated files are fresh", () => fresh(before));
	await step("cargo fmt", command("cargo", ["fmt", "--check"]));
	await step("cargo clippy", command("cargo", ["clippy", "--locked", "--all-targets", "--", "-D", "warnings"]));
	await step("clippy for other platforms", command(process.execPath, ["scripts/platforms.mjs"]));
	await step("cargo test", cargoTest);
	await step("vitest", vitest);
	await step("runtimes", runtimes);
}

for (const failure of failures) console.log(`\n  FAILED ${failure}`);
if (failedSteps.length > 0) console.log(`\nFailed: ${failedSteps.join(", ")}`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = failedSteps.length > 0 ? 1 : 0;
