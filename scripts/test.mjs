// Runs the tests, also in a fresh clone: installs, builds and tests. It needs Node, npm, cargo and a C compiler.
//   npm test                                 before a commit: checks of the sources, and tests with few cases
//   npm run test:all                         all tests, and few random cases on the other runtimes
//   npm run test:all -- --rest               only the tests that `npm test` leaves out
//   npm run test:all -- --strict             a missing tool is a failure
//
// Independent steps run at the same time. A failed step does not stop the others, so that one run shows all failures.
// The output of a step is shown at its end. The last line is the sum: `N passed, N failed`, and for `test:all` also `N
// not run`.
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
// The comment at the top says what `npm test` needs.
if (options.strict || !all) env.PSN_STRICT = "1";
const total = { passed: 0, failed: 0, notRun: 0 };
/** Failures, which are repeated at the end of the log. */
const failures = [];
const missing = new Set();

/** A command without output for this time hangs. A busy machine compiles one crate in less. */
const LIMIT_MINUTES = 40;

/** Runs a command. Returns its exit code and its output. */
function run(command, args) {
	return new Promise((resolve) => {
		const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
		const streams = [child.stdout, child.stderr];
		let output = "";
		const limit = setTimeout(() => {
			output += `\nEnded: it printed nothing for ${LIMIT_MINUTES} minutes\n`;
			child.kill();
			// Child processes may keep the pipes open.
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
 * Runs a step and shows its output. The step passes if its exit code is 0 and none of its tests failed.
 */
async function step(title, work) {
	console.log(`.. ${title}`);
	const begin = Date.now();
	const { code, output = "", passed = 0, failed = 0, notRun = 0, names = [], missing: lacks = [] } = await work();
	const isGood = code === 0 && failed === 0;
	total.passed += passed;
	total.notRun += notRun;
	// A step may fail before or after its tests.
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

/** The generated files must be the committed files; outside of a repository, the files before the build. */
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
	// The tests of the core, and the examples of both crates, some of which must not compile. There are more threads than
	// processors, because the longest tests wait for the disk and for locks.
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

/** Clippy for other systems. */
async function otherSystems() {
	const { code, output } = await run(process.execPath, ["scripts/clippy.mjs", ...(options.strict ? ["--strict"] : [])]);
	const lacks = output.split("\n").filter((line) => line.startsWith("rustup is missing"));
	return { code, output, notRun: lacks.length > 0 && code === 0 ? 1 : 0, missing: lacks };
}

/**
 * The suite on the other runtimes. The present runtime does not run it again, except for the tests that hook pi, which
 * run on pi's own Node otherwise.
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
// Cargo runs one command at a time. The build comes first, because vitest needs it; the rest runs beside vitest, whose
// tests often wait.
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
const ready = Promise.all([built, pi]).then((isGood) => !isGood.includes(false));
const specs = ready.then((isReady) => isReady && step("vitest", vitest));
await built.then((isGood) => isGood && step("generated files are fresh", () => fresh(before)));
// Beside vitest, whose longest tests wait for screens and servers.
const others = Promise.all([ready, rust]).then(([isReady]) => isReady && all && step("runtimes", runtimes));
await Promise.all([specs, others]);

for (const failure of failures) console.log(`\n  FAILED ${failure}`);
for (const tool of missing) console.log(`\n  NOT RUN: ${tool}`);
console.log(
	`\n${total.passed} passed, ${total.failed} failed${all && !options.strict ? `, ${total.notRun} not run` : ""}`,
);
process.exitCode = total.failed > 0 ? 1 : 0;
