// Runs the same spec files by vitest on every JavaScript runtime: Node's releases, Bun and Deno.
//   npm run runtimes                         all tests on each runtime
//   npm run runtimes -- bun deno             only on these
//   npm run runtimes -- --quick node20       few random cases, fewer tests on some, as in `npm run test:all`
//   npm run runtimes -- --specs __test__/unit/contract/tree bun     only these files; -t selects one test
// The last line is the sum: `N passed, N failed`. If a tool is missing, its tests are not run, and the output names it.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMain } from "./is-main.mjs";
import { optionsOf } from "./options.mjs";
import { reported, VITEST } from "./report.mjs";
import { RUNTIMES, setup } from "./runtimes/setup.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const below = (names) => names.map((name) => `__test__/${name}`);
/** The same in the package of stores. */
const ofStores = (names) => below(names).map((path) => `packages/sync/${path}`);
/** The tests that depend on the runtime. The others start a Node themselves: pi's agent, the hook, `tsc`, npm. */
const SPECS = below(["unit/", "stress/", "slow/"]);
/**
 * The tests of a quick run. The others depend more on the core, on our JavaScript and on the file system than on the
 * engine; the oldest Node runs them all.
 */
const QUICK = [
	...below(["unit/contract/", "unit/lazy/", "unit/runtimes/", "stress/differential/operations.spec.ts"]),
	...ofStores(["unit/conformance.spec.ts"]),
];
/** Tests that kill, count, limit or watch processes, tests with full disks, tests of sources: they run on one Node. */
const LEFT_OUT = [
	...below([
		"slow/lists/long-lines.spec.ts",
		"slow/memory/refused.spec.ts",
		"slow/search/handles.spec.ts",
		"slow/search/hard-to-search.spec.ts",
		"slow/sizes.spec.ts",
		"stress/durability.spec.ts",
		"stress/kills.spec.ts",
		"stress/leaks.spec.ts",
		"stress/limits.spec.ts",
		"stress/processes.spec.ts",
		// The sources alone.
		"unit/contract/hygiene.spec.ts",
		"unit/contract/rooms.spec.ts",
		// Node's own rules for paths of Windows.
		"unit/contract/windows-paths.spec.ts",
	]),
	// The last one needs a package from NODE_PATH.
	...ofStores([
		"stress/stores.spec.ts",
		"unit/directory-files.spec.ts",
		"unit/directory-kills.spec.ts",
		"unit/aws-credentials.spec.ts",
	]),
];
/** The tests of the command, which run on each release of Node. */
const COMMAND = below(["integration/cli/"]);
/** Node's module hooks differ between releases, so pi is hooked on each release that it supports. */
export const HOOKED = ["node24", "node26"];
const HOOK = below(["end-to-end/register/"]);
/** Tests that start the real pi very often. A quick run leaves them out. */
const REAL_PI = below(["end-to-end/register/tui.spec.ts", "end-to-end/register/pi.spec.ts"]);

/** The arguments of vitest for a runtime: folders, and the tests in them that are left out. */
function filesOf(name, specs, quick) {
	if (specs !== SPECS) return specs;
	const folders = quick ? QUICK : SPECS;
	const command = name.startsWith("node") && !quick ? COMMAND : [];
	const hook = HOOKED.includes(name) ? HOOK : [];
	const leftOut = [...LEFT_OUT, ...(quick ? REAL_PI : [])];
	return [...folders, ...command, ...hook, ...leftOut.flatMap((file) => ["--exclude", file])];
}

/** Runs the specs on one runtime. Returns the result of `reported`. */
function runOn(name, { specs, quick, test }) {
	const env = { ...process.env, PSN_RUNTIME: name, PSN_COUNTS: quick ? "taste" : (process.env.PSN_COUNTS ?? "full") };
	const run = (reporters) => {
		const { binary, args } = setup(name);
		if (HOOKED.includes(name)) env.PSN_PI_NODE = binary;
		// Also for the processes that vitest and the tests start.
		if (name === "bun") env.BUN_OPTIONS = `--preload=${join(root, "__test__/unit/runtimes/bun-home.cjs")}`;
		const vitest = [
			VITEST,
			"run",
			"--silent=passed-only",
			...filesOf(name, specs, quick),
			...(test ? ["-t", test] : []),
			...reporters,
		];
		return new Promise((resolve, reject) => {
			const child = spawn(binary, [...args, ...vitest], { cwd: root, env, stdio: "inherit" });
			child.on("error", reject);
			child.on("close", (code) => resolve(code ?? 1));
		});
	};
	return reported(run, {
		env,
		again: (file) => `npm run runtimes -- ${name} --specs ${file}`,
		isFiltered: test !== undefined,
	});
}

/** Runs the suite on the named runtimes, by default on all. Returns the sum, and the failures by name. */
export async function runRuntimes(names = [], { specs = SPECS, quick = false, test } = {}) {
	const rows = [];
	for (const name of names.length > 0 ? names : Object.keys(RUNTIMES)) {
		console.log(`\n== ${name} ${RUNTIMES[name]?.version ?? ""}`);
		const start = Date.now();
		rows.push({
			name,
			...(await runOn(name, { specs, quick, test })),
			seconds: Math.round((Date.now() - start) / 1000),
		});
	}
	console.log("");
	for (const { name, passed, failed, seconds } of rows) {
		console.log(
			`${name} ${RUNTIMES[name]?.version ?? ""}`.padEnd(16),
			`${passed} passed, ${failed} failed (${seconds} s)`,
		);
	}
	const sum = (key) => rows.reduce((whole, row) => whole + row[key], 0);
	const failures = rows.flatMap((row) => row.names.map((failure) => `on ${row.name}: ${failure}`));
	const missing = rows.flatMap((row) => row.missing);
	return { passed: sum("passed"), failed: sum("failed"), notRun: sum("notRun"), names: failures, missing };
}

if (isMain(import.meta.url)) {
	const { values, positionals } = optionsOf(import.meta.url, {
		options: {
			quick: { type: "boolean" },
			specs: { type: "string", multiple: true },
			test: { type: "string", short: "t" },
		},
		allowPositionals: true,
	});
	const { passed, failed, notRun, names, missing } = await runRuntimes(positionals, values);
	for (const tool of new Set(missing)) console.log(`\n  NOT RUN: ${tool}`);
	for (const failure of names) console.log(`\n  FAILED ${failure}`);
	console.log(`\n${passed} passed, ${failed} failed${notRun > 0 ? `, ${notRun} not run` : ""}`);
	process.exitCode = failed > 0 ? 1 : 0;
}
