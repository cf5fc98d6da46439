// The suite on every JavaScript runtime: the same spec files, by vitest, in Node's releases, Bun and Deno.
//   npm run runtimes                         everything on each of them
//   npm run runtimes -- bun deno             on these
//   npm run runtimes -- --quick node20       fewer random cases, and on V8 none of the slowest files
//   npm run runtimes -- --specs __test__/unit/contract/tree bun
// The last line is the sum: `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { RUNTIMES, setup } from "../runtimes/setup.mjs";
import { optionsOf } from "./options.mjs";
import { reported, VITEST } from "./report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** What depends on the runtime. The rest runs a Node of its own: pi's agent, the hook, `tsc`, npm. */
export const SPECS = ["unit", "stress", "slow"].map((folder) => `__test__/${folder}/`);
/** Processes that are killed, counted, limited or watched from outside, full disks: run on one Node. */
export const LEFT_OUT = [
	"slow/search/handles",
	"slow/search/stores",
	"slow/sizes",
	"stress/durability",
	"stress/kills",
	"stress/leaks",
	"stress/limits",
	"stress/processes",
].map((name) => `__test__/${name}.spec.ts`);
/** The command is Node's: run on each of its releases. A browser and the shells are the same on all of them. */
export const COMMAND = "__test__/integration/cli/";
export const COMMAND_LEFT_OUT = ["end-to-end/cli/page", "end-to-end/cli/completion"].map((name) => `__test__/${name}.spec.ts`);
/** About sizes, combinations and widths, and the same on every V8: a quick run leaves them to Bun, and `npm test` to the Node it is run by. */
export const SLOW = ["slow/lazy/copies", "slow/lazy/limits", "slow/lazy/size", "stress/hostile-calls"].map((name) => `__test__/${name}.spec.ts`);
/** How much of what is random or many in a quick run. */
const QUICK = { PSN_CASES: "400", PSN_FILES: "5000" };
/** Node's module hooks change from release to release, so pi is hooked on each that it runs on. */
export const HOOKED = ["node24", "node26"];

/** What vitest is told to run on a runtime: folders, and what of them is left out. */
export function filesOf(name, { specs = SPECS, quick = false } = {}) {
	if (specs !== SPECS) return specs;
	const isNode = name.startsWith("node");
	const leftOut = [...LEFT_OUT, ...(isNode ? COMMAND_LEFT_OUT : []), ...(quick && name !== "bun" ? SLOW : [])];
	const more = [...(HOOKED.includes(name) ? ["__test__/end-to-end/register/"] : []), ...(isNode ? [COMMAND] : [])];
	return [...specs, ...more, ...leftOut.flatMap((file) => ["--exclude", file])];
}

/** Runs the specs on one runtime; gives what `reported` does. */
function runOn(name, { specs, quick }) {
	return reported((reporters) => {
		const { binary, args } = setup(name);
		const env = { ...process.env, PSN_RUNTIME: name, ...(quick ? QUICK : {}) };
		if (HOOKED.includes(name)) env.PSN_PI_NODE = binary;
		// For the processes that vitest and the tests start, too.
		if (name === "bun") env.BUN_OPTIONS = `--preload=${join(root, "__test__/unit/runtimes/bun-home.cjs")}`;
		const vitest = [VITEST, "run", ...filesOf(name, { specs, quick }), ...reporters];
		const { status, error } = spawnSync(binary, [...args, ...vitest], { cwd: root, env, stdio: "inherit" });
		if (error) throw error;
		return status ?? 1;
	});
}

/** Runs the suite on the named runtimes, all of them by default; gives the sum, and what failed by name. */
export async function runRuntimes(names = [], { specs = SPECS, quick = false } = {}) {
	const rows = [];
	for (const name of names.length > 0 ? names : Object.keys(RUNTIMES)) {
		console.log(`\n== ${name} ${RUNTIMES[name]?.version ?? ""}`);
		const start = Date.now();
		rows.push({ name, ...(await runOn(name, { specs, quick })), seconds: Math.round((Date.now() - start) / 1000) });
	}
	console.log("");
	for (const { name, passed, failed, seconds } of rows) {
		console.log(`${name} ${RUNTIMES[name]?.version ?? ""}`.padEnd(16), `${passed} passed, ${failed} failed (${seconds} s)`);
	}
	const sum = (key) => rows.reduce((whole, row) => whole + row[key], 0);
	const failures = rows.flatMap((row) => row.names.map((failure) => `on ${row.name}: ${failure}`));
	return { passed: sum("passed"), failed: sum("failed"), names: failures };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
	const { values, positionals } = optionsOf(import.meta.url, {
		options: { quick: { type: "boolean" }, specs: { type: "string", multiple: true } },
		allowPositionals: true,
	});
	const { passed, failed, names } = await runRuntimes(positionals, values);
	for (const failure of names) console.log(`\n  FAILED ${failure}`);
	console.log(`\n${passed} passed, ${failed} failed`);
	process.exitCode = failed > 0 ? 1 : 0;
}
