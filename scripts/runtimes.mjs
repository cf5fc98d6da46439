// The suite on every JavaScript runtime: the same spec files, by vitest, in Node's releases, Bun and Deno.
//   npm run runtimes                         everything on each of them
//   npm run runtimes -- bun deno             on these
//   npm run runtimes -- --quick node20       few random cases, and less on the Nodes in between: as `npm run test:all` does
//   npm run runtimes -- --specs __test__/unit/contract/tree bun     these files; -t names one test
// The last line is the sum: `N passed, N failed`. A test whose tool is missing is not run, and the tool is named.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RUNTIMES, setup } from "../runtimes/setup.mjs";
import { isMain } from "./is-main.mjs";
import { optionsOf } from "./options.mjs";
import { reported, VITEST } from "./report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** What depends on the runtime. The rest runs a Node of its own: pi's agent, the hook, `tsc`, npm. */
const SPECS = ["unit", "stress", "slow"].map((folder) => `__test__/${folder}/`);
/** Processes that are killed, counted, limited or watched from outside, and full disks: run on one Node. */
const LEFT_OUT = [
	"slow/lists/long-lines",
	"slow/memory/refused",
	"slow/search/handles",
	"slow/search/hard-to-search",
	"slow/sizes",
	"stress/durability",
	"stress/kills",
	"stress/leaks",
	"stress/limits",
	"stress/processes",
	"stress/stores",
	// Node's own rules for paths of Windows, and a package that NODE_PATH leads to.
	"unit/contract/windows-paths",
	"unit/store/aws-credentials",
].map((name) => `__test__/${name}.spec.ts`);
/** The command is Node's: run on each of its releases. */
const COMMAND = "__test__/integration/cli/";
/** Node's module hooks change from release to release, so pi is hooked on each that it runs on. */
export const HOOKED = ["node24", "node26"];
/** What takes minutes. In a quick run it is run on the oldest and the newest Node and on Bun: Deno's engine is the newest Node's. */
const LONG = ["__test__/slow/lazy/*", "__test__/end-to-end/register/pi.spec.ts", "__test__/end-to-end/register/tui.spec.ts"];
/** Sizes that no engine has a part in: in a quick run on the Node alone that runs all tests. */
const SIZES = ["__test__/slow/lazy/size.spec.ts"];
/**
 * What asks more of the core, of JavaScript of our own and of the file system than of the runtime: in a quick run the oldest and the newest
 * Node, Bun and Deno answer for the Nodes in between.
 */
const ALIKE_ON_NODES = [
	"integration/cli/*",
	"slow/lists/*",
	"stress/store*",
	"unit/catalog/*",
	"unit/contract/detached-arguments.spec.ts",
	"unit/search/*",
	"unit/store/*",
	"unit/usage/*",
].map((name) => `__test__/${name}`);
/** By runtime, what a quick run leaves out. */
const NOT_QUICK = {
	node22: [...LONG, ...ALIKE_ON_NODES],
	node24: [...LONG, ...ALIKE_ON_NODES],
	node26: SIZES,
	bun: SIZES,
	deno: LONG,
};
/** Random cases beside pi in a quick run. */
const DIFFERENTIAL_CASES = "300";

/** What vitest is told to run on a runtime: folders, and what of them is left out. */
function filesOf(name, specs, quick) {
	if (specs !== SPECS) return specs;
	const more = [...(HOOKED.includes(name) ? ["__test__/end-to-end/register/"] : []), ...(name.startsWith("node") ? [COMMAND] : [])];
	const leftOut = [...LEFT_OUT, ...(quick ? (NOT_QUICK[name] ?? []) : [])];
	return [...specs, ...more, ...leftOut.flatMap((file) => ["--exclude", file])];
}

/** Runs the specs on one runtime; gives what `reported` does. */
function runOn(name, { specs, quick, test }) {
	const env = { ...process.env, PSN_RUNTIME: name, PSN_COUNTS: quick ? "taste" : (process.env.PSN_COUNTS ?? "full") };
	if (quick) env.PSN_DIFFERENTIAL_CASES ??= DIFFERENTIAL_CASES;
	const run = (reporters) => {
		const { binary, args } = setup(name);
		if (HOOKED.includes(name)) env.PSN_PI_NODE = binary;
		// For the processes that vitest and the tests start, too.
		if (name === "bun") env.BUN_OPTIONS = `--preload=${join(root, "__test__/unit/runtimes/bun-home.cjs")}`;
		const vitest = [VITEST, "run", "--silent=passed-only", ...filesOf(name, specs, quick), ...(test ? ["-t", test] : []), ...reporters];
		const { status, error } = spawnSync(binary, [...args, ...vitest], { cwd: root, env, stdio: "inherit" });
		if (error) throw error;
		return status ?? 1;
	};
	return reported(run, { env, again: (file) => `npm run runtimes -- ${name} --specs ${file}`, isFiltered: test !== undefined });
}

/** Runs the suite on the named runtimes, all of them by default; gives the sum, and what failed by name. */
export async function runRuntimes(names = [], { specs = SPECS, quick = false, test } = {}) {
	const rows = [];
	for (const name of names.length > 0 ? names : Object.keys(RUNTIMES)) {
		console.log(`\n== ${name} ${RUNTIMES[name]?.version ?? ""}`);
		const start = Date.now();
		rows.push({ name, ...(await runOn(name, { specs, quick, test })), seconds: Math.round((Date.now() - start) / 1000) });
	}
	console.log("");
	for (const { name, passed, failed, seconds } of rows) {
		console.log(`${name} ${RUNTIMES[name]?.version ?? ""}`.padEnd(16), `${passed} passed, ${failed} failed (${seconds} s)`);
	}
	const sum = (key) => rows.reduce((whole, row) => whole + row[key], 0);
	const failures = rows.flatMap((row) => row.names.map((failure) => `on ${row.name}: ${failure}`));
	const missing = rows.flatMap((row) => row.missing);
	return { passed: sum("passed"), failed: sum("failed"), notRun: sum("notRun"), names: failures, missing };
}

if (isMain(import.meta.url)) {
	const { values, positionals } = optionsOf(import.meta.url, {
		options: { quick: { type: "boolean" }, specs: { type: "string", multiple: true }, test: { type: "string", short: "t" } },
		allowPositionals: true,
	});
	const { passed, failed, notRun, names, missing } = await runRuntimes(positionals, values);
	for (const tool of new Set(missing)) console.log(`\n  NOT RUN: ${tool}`);
	for (const failure of names) console.log(`\n  FAILED ${failure}`);
	console.log(`\n${passed} passed, ${failed} failed${notRun > 0 ? `, ${notRun} not run` : ""}`);
	process.exitCode = failed > 0 ? 1 : 0;
}
