// Measures commands of pi-sessions from the start of the process to its end:
//
//   npm run bench:cli -- [--rounds N] [--cases name,prefix] [--against checkout] [--quick]
//
// --against alternately measures another built checkout of this repository. --quick leaves out 128 MiB and 1,000 files.
// The output of the commands is discarded.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { optionsOf } from "../scripts/options.mjs";
import { nodeBin, setup } from "../scripts/reference/setup.mjs";
import { provide, warmUp } from "./data.mjs";
import { median, time, times } from "./report.mjs";

/** `catalog`: whether an earlier run has left a catalog. */
const CASES = [
	{
		name: "stats --all without catalog",
		data: "1,000 files",
		args: (path) => ["stats", "--all", "--dir", path],
		catalog: "none",
	},
	{ name: "stats --all", data: "1,000 files", args: (path) => ["stats", "--all", "--dir", path], catalog: "earlier" },
	{ name: "list --all", data: "1,000 files", args: (path) => ["list", "--all", "--dir", path], catalog: "earlier" },
	...["4 MiB", "128 MiB"].flatMap((data) =>
		[["stats"], ["show"], ["show", "--limit", "100"], ["tree"]].map(([name, ...more]) => ({
			name: `${[name, ...more].join(" ")} of ${data}`,
			data,
			args: (path) => [name, path, ...more],
			catalog: "none",
		})),
	),
];

const { values: options } = optionsOf(
	import.meta.url,
	{
		options: {
			rounds: { type: "string" },
			cases: { type: "string" },
			against: { type: "string" },
			quick: { type: "boolean", default: false },
		},
	},
	{ counts: ["rounds"] },
);
const wanted = options.cases?.split(",");
const cases = CASES.filter(({ name, data }) =>
	wanted ? wanted.some((one) => name.startsWith(one)) : !options.quick || data === "4 MiB",
);
if (cases.length === 0) {
	console.error(`No such case: ${options.cases}. There are: ${CASES.map(({ name }) => name).join(", ")}`);
	process.exit(2);
}
const here = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const sides = { ours: here, ...(options.against === undefined ? {} : { against: resolve(options.against) }) };
const scratch = mkdtempSync(join(tmpdir(), "cli-times-"));

/** The duration of one run in milliseconds. */
function run(side, { args, catalog }, path) {
	const agent = join(scratch, side);
	if (catalog === "none") rmSync(agent, { recursive: true, force: true });
	mkdirSync(agent, { recursive: true });
	const start = process.hrtime.bigint();
	const { status, signal, stderr } = spawnSync(nodeBin, [join(sides[side], "bin/pi-sessions.mjs"), ...args(path)], {
		cwd: scratch,
		stdio: ["ignore", "ignore", "pipe"],
		encoding: "utf8",
		env: { PATH: process.env.PATH, HOME: scratch, PI_CODING_AGENT_DIR: agent },
	});
	const took = Number(process.hrtime.bigint() - start) / 1e6;
	if (status !== 0)
		throw new Error(
			`${side}: pi-sessions ${args(path).join(" ")} ended by ${signal ?? `exit code ${status}`}: ${stderr}`,
		);
	return took;
}

try {
	setup();
	const names = Object.keys(sides);
	console.log(
		`| case | ${names.length > 1 ? "other checkout | this one | ratio" : "time"} |\n| --- ` +
			`|${" --- |".repeat(names.length > 1 ? 3 : 1)}`,
	);
	for (const one of cases) {
		const { path } = provide(one.data);
		warmUp(path);
		const taken = { ours: [], against: [] };
		// The first run does not count: it creates the catalog and the compiled code.
		for (const side of names) run(side, one, path);
		for (let round = 0; round < (options.rounds ?? 5); round++)
			for (const side of round % 2 ? [...names].reverse() : names) taken[side].push(run(side, one, path));
		const ratio = median(taken.against.map((other, at) => other / taken.ours[at]));
		console.log(
			`| ${one.name} | ` +
				`${names.length > 1 ? `${time(median(taken.against))} | ` : ""}${time(median(taken.ours))}` +
				`${names.length > 1 ? ` | ${times(ratio)}` : ""} ` +
				"|",
		);
	}
} catch (error) {
	console.error(error.message);
	process.exitCode = 1;
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
