// The tests, on a fresh clone too: installs, builds and runs, with nothing but Node, npm, cargo and a C compiler to
// begin with.
//   npm test                                 before a commit: checks of the sources, the core, the package in short
//   npm run test:all                         everything in full, with shells, terminals, packages; and with few random cases on the other runtimes
//   npm run test:all -- --rest               what `npm test` left out
//   npm run test:all -- --strict             a missing tool is a failure, not a test that is not run
//
// Steps that do not need each other run side by side, and each is run whatever became of the others, so that one run
// shows the whole picture. A step's output is shown when it ends. The last line is the sum: `N passed, N failed`, and
// of `test:all` also `N not run`.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { optionsOf } from "./options.mjs";
import { reported, reportedByCargo, VITEST } from "./report.mjs";
import { RUNTIMES } from "./runtimes/setup.mjs";
import { HOOKED, runRuntimes } from "./runtimes.mjs";

const { values: options } = optionsOf(import.meta.url, {
	options: { all: { type: "boolean" }, rest: { type: "boolean" }, strict: { type: "boolean" } },
});
const { all, rest } = options;
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const GENERATED = ["index.js", "index.d.ts"];
/** Parts of `__test__`. */
const SHORT = ["unit/", "integration/", "stress/"];
const LONG = ["slow/", "end-to-end/"];
const parts = [...(rest ? [] : SHORT), ...(all ? LONG : [])];

const env = { ...process.env, PSN_COUNTS: process.env.PSN_COUNTS ?? (all ? "full" : "taste") };
// What `npm test` needs is said at the top.
if (options.strict || !all) env.PSN_STRICT = "1";
const total = { passed: 0, failed: 0, notRun: 0 };
/** For the end: the place of a failure in the log may be far up. */
const failures = [];
const missing = new Set();

/** A command that prints nothing for so long hangs: longer than a busy machine compiles one crate. */
const LIMIT_MINUTES = 40;

/** Runs a command; gives its exit code and its output. */
function run(command, args) {
	return new Promise((resolve) => {
		const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
		const streams = [child.stdout, child.stderr];
		let output = "";
		const limit = setTimeout(() => {
			output += `\nEnded: it printed nothing for ${LIMIT_MINUTES} minutes\n`;
			child.kill();
			// Processes that it started may keep them open.
			for (const stream of streams) stream.destroy();
		}, LIMIT_MINUTES * 60_000);
		for (const stream of streams) {
			stream.setEncoding("utf8").on("data", (text) => {
				output += text;
				limit.refresh();
			});
		}
		const end = (result) => {
			clearTimeout(limit);
			resolve(result);
		};
		child.on("error", (error) => end({ code: 1, output: `${output}${error}\n` }));
		child.on("close", (code) => end({ code: code ?? 1, output }));
	});
}

/**
 * Runs a step and shows what it printed. It passes if its work says so: an exit code of 0, and no failed tests where it
 * counts them.
 */
async function step(title, work) {
	console.log(`.. ${title}`);
	const begin = Date.now();
	const { code, output = "", passed = 0, failed = 0, notRun = 0, names = [], missing: lacks = [] } = await work();
	const isGood = code === 0 && failed === 0;
	total.passed += passed;
	total.notRun += notRun;
	// A step may fail before it comes to its tests, or after them.
	total.failed += isGood || failed > 0 ? failed : 1;
	failures.push(...names);
	if (!isGood && names.length === 0)
		failures.push(`${title}\n      ${output.trim().split("\n").slice(-20).join("\n      ")}`);
	for (const one of lacks) missing.add(one);
	const seconds = ((Date.now() - begin) / 1000).toFixed(0);
	console.log(`\n== ${title}: ${isGood ? "good" : "FAILED"} (${seconds} s)\n${output}`);
	return isGood;
}

const command =
	(name, ...args) =>
	() =>
		run(name, args);
const content = (file) => (existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "");

/** What the build writes must be what is committed; outside of a repository, what was there before the build. */
async function fresh(before) {
	const { status } = spawnSync("git", ["ls-files", "--error-unmatch", ...GENERATED], { cwd: root, stdio: "ignore" });
	if (status === 0) return run("git", ["--no-pager", "diff", "--exit-code", "--", ...GENERATED]);
	const stale = GENERATED.filter((file, index) => content(file) !== before[index]);
	return {
		code: stale.length > 0 ? 1 : 0,
		output: stale.map((file) => `Neither committed nor as before the build: ${file}\n`).join(""),
	};
}

async function cargoTest() {
	// The tests of the core, and the examples of both crates: some must not compile. More threads than processors, for
	// the longest tests wait for the disk and for locks.
	const { code, output } = await run("cargo", [
		"test",
		"--locked",
		"--workspace",
		"--no-fail-fast",
		"--",
		"--test-threads=8",
	]);
	return { ...reportedByCargo(code, output, env), output };
}

async function vitest() {
	let output = "";
	const result = await reported(
		async (reporters) => {
			const tests = parts.map((part) => `__test__/${part}`);
			const ran = await run(process.execPath, [VITEST, "run", "--silent=passed-only", ...tests, ...reporters]);
			output = ran.output;
			return ran.code;
		},
		{ env },
	);
	return { ...result, output };
}

/** Clippy for the systems that this one is not. */
async function otherSystems() {
	const { code, output } = await run(process.execPath, ["scripts/clippy.mjs", ...(options.strict ? ["--strict"] : [])]);
	const lacks = output.split("\n").filter((line) => line.startsWith("rustup is missing"));
	return { code, output, notRun: lacks.length > 0 && code === 0 ? 1 : 0, missing: lacks };
}

/**
 * The suite on the other runtimes. The one that has just run it does not run it again, unless pi is to be hooked on it:
 * the tests of that run on pi's own Node.
 */
async function runtimes() {
	const here = `node${parseInt(process.versions.node, 10)}`;
	const others = Object.keys(RUNTIMES).filter((name) => name !== here || HOOKED.includes(name));
	return { code: 0, ...(await runRuntimes(others, { quick: true })) };
}

const before = GENERATED.map(content);
const installed = step("install", command(process.execPath, "scripts/install.mjs"));
const pi = installed.then((isGood) => isGood && step("pi", command(process.execPath, "scripts/reference/setup.mjs")));
const clippy = (...args) => command("cargo", "clippy", "--locked", "--all-targets", ...args, "--", "-D", "warnings");
// Cargo does one thing at a time. What vitest waits for comes first; the rest runs beside vitest, whose tests often
// wait.
const checked = async () => {
	await step("cargo fmt", command("cargo", "fmt", "--check"));
	if (await installed)
		await step("biome", command(process.execPath, "node_modules/@biomejs/biome/bin/biome", "ci", "."));
	await step("cargo clippy without SQLite", clippy("-p", "pi-session-core", "--no-default-features"));
};
const built = Promise.all([installed, rest || checked()]).then(
	([isGood]) => isGood && step("build", command("npm", "run", "build:dev")),
);
env.RUSTDOCFLAGS = "-D warnings";
const rust = built.then(async () => {
	if (!rest) {
		await step("cargo test", cargoTest);
		await step("cargo clippy", clippy());
		await step("cargo doc", command("cargo", "doc", "--locked", "--no-deps", "--document-private-items"));
	}
	if (all) await step("clippy for other systems", otherSystems);
});
const specs = Promise.all([built, pi]).then(([addon, reference]) => addon && reference && step("vitest", vitest));
await built.then((isGood) => isGood && step("generated files are fresh", () => fresh(before)));
await Promise.all([rust, specs]);
if (all && (await built) && (await pi)) await step("runtimes", runtimes);

for (const failure of failures) console.log(`\n  FAILED ${failure}`);
for (const tool of missing) console.log(`\n  NOT RUN: ${tool}`);
console.log(
	`\n${total.passed} passed, ${total.failed} failed${all && !options.strict ? `, ${total.notRun} not run` : ""}`,
);
process.exitCode = total.failed > 0 ? 1 : 0;
