// Measures our session manager and pi's in one run:
//
//   npm run bench -- [--cases name,prefix] [--rounds N] [--quick] [--runtime node24] [--json file]
//                    [--chart file.svg] [--readme] [--check]
//
// --quick leaves out the sessions of 128 MiB and runs few rounds. --readme measures the README's cases, and writes its
// table, its chart and the results. --check measures the cases with figures in check.mjs, and fails if one is below its
// figure. The module under test is this package; the environment variable PSN_MODULE names another module (for example
// pi's own, to check that both sides are measured equally).
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { optionsOf } from "../scripts/options.mjs";
import { nodeBin, referenceDir, referenceVersion, setup } from "../scripts/reference/setup.mjs";
import { setup as setupRuntime } from "../scripts/runtimes/setup.mjs";
import { CASES, select } from "./cases.mjs";
import { chart } from "./chart.mjs";
import { check, FIGURES, OTHER_RUNTIMES } from "./check.mjs";
import { dataDir, provide, warmUp } from "./data.mjs";
import { OPERATIONS } from "./operations.mjs";
import { publish, ROUNDS } from "./readme.mjs";
import { header, memoryTable, rowsOf, table } from "./report.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const worker = join(here, "worker.mjs");
const TIMEOUT_MS = 600_000;
const QUICK_ROUNDS = 3;

const { values: options } = optionsOf(
	import.meta.url,
	{
		options: {
			cases: { type: "string" },
			rounds: { type: "string" },
			quick: { type: "boolean", default: false },
			runtime: { type: "string" },
			json: { type: "string" },
			chart: { type: "string" },
			readme: { type: "boolean", default: false },
			check: { type: "boolean", default: false },
		},
	},
	{ counts: ["rounds"] },
);
// With more rounds the best one would be better.
if (options.check && options.rounds) {
	console.error("--check has its own number of rounds: leave out --rounds");
	process.exit(2);
}
const figures = options.runtime === undefined || options.runtime === "node22" ? FIGURES : OTHER_RUNTIMES;

const modules = {
	pi: join(referenceDir, "dist/core/session-manager.js"),
	ours: resolve(process.env.PSN_MODULE ?? join(here, "../index.js")),
};
const node = options.runtime === undefined ? nodeBin : setupRuntime(options.runtime).binary;
const scratch = join(dataDir, `scratch-${process.pid}`);
const agent = join(scratch, "agent");

/** One measurement: an answer, or the reason why there is none. */
function measure(side, operation, path) {
	const directory = join(scratch, "out");
	mkdirSync(directory, { recursive: true });
	const ours = side === "ours" ? dirname(modules.ours) : undefined;
	const task = JSON.stringify({ module: modules[side], operation, path, scratch: directory, home: scratch, ours });
	const { status, signal, error, stdout, stderr } = spawnSync(node, ["--expose-gc", worker, task], {
		encoding: "utf8",
		timeout: TIMEOUT_MS,
		maxBuffer: 1 << 26,
		// We use neither the sessions and settings of the user's own pi, nor the network.
		env: { PATH: process.env.PATH, HOME: scratch, PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1" },
	});
	rmSync(directory, { recursive: true, force: true });
	if (status === 0) return { answer: JSON.parse(stdout.trim().split("\n").at(-1)) };
	const said = stderr.split("\n").find((line) => /\w*Error\b.*:/.test(line)) ?? stderr.trim().split("\n").at(-1);
	return { failure: error?.message ?? (said || `ended by ${signal ?? `exit code ${status}`}`) };
}

/**
 * Prepares the agent's directory for an operation, before the time is measured. A list creates the warm catalog once
 * for each case, and waits until every row is written.
 */
function agentFor(operation, side, path, isFirst) {
	const { catalog } = OPERATIONS[operation];
	if (catalog === "warm" && side === "pi") return;
	if (catalog === "cold" || isFirst) rmSync(agent, { recursive: true, force: true });
	if (!catalog) return;
	mkdirSync(agent, { recursive: true });
	if (catalog !== "warm" || !isFirst) return;
	const { failure } = measure(side, "listAll, no catalog", path);
	if (failure) throw new Error(`The catalog could not be made: ${failure}`);
}

/** The session, or for operations that write a copy that is truncated after each measurement. */
function source(operation, path) {
	if (!path || !OPERATIONS[operation].writes) return { path, restore() {} };
	const copy = join(scratch, "copy.jsonl");
	copyFileSync(path, copy);
	const { size } = statSync(copy);
	return { path: copy, restore: () => truncateSync(copy, size) };
}

function runCase(entry, data) {
	const { path, restore } = source(entry.operation, data?.path);
	const count =
		options.rounds ?? (options.readme ? ROUNDS.get(entry.name) : options.quick ? QUICK_ROUNDS : entry.rounds);
	const rounds = [];
	const failures = {};
	// The first run is not measured: it leaves compiled code for the others.
	if (OPERATIONS[entry.operation].starts) for (const side of ["pi", "ours"]) measure(side, entry.operation, path);
	for (let round = 0; round < count; round++) {
		const result = {};
		for (const side of round % 2 === 0 ? ["pi", "ours"] : ["ours", "pi"]) {
			if (failures[side]) continue;
			agentFor(entry.operation, side, path, round === 0);
			const { answer, failure } = measure(side, entry.operation, path);
			if (failure) failures[side] = failure;
			else result[side] = answer;
			restore();
		}
		rounds.push(result);
	}
	return { rounds, failures };
}

/** The selected cases. */
function wanted() {
	if (options.readme) return CASES.filter(({ name }) => ROUNDS.has(name));
	if (!options.check) return select(options.cases?.split(","), options.quick);
	const among = options.cases ? select(options.cases.split(","), false) : CASES;
	return among.filter(({ name }) => name in figures);
}

function main() {
	const cases = wanted();
	setup();
	mkdirSync(scratch, { recursive: true });
	const data = new Map();
	for (const { data: name } of cases) {
		if (!name || data.has(name)) continue;
		progress(`making ready: ${name}`);
		data.set(name, provide(name));
		warmUp(data.get(name).path);
	}

	const { stdout: version } = spawnSync(node, ["--version"], { encoding: "utf8" });
	progress("");
	console.log(header(version.trim(), data));
	if (process.env.PSN_MODULE) console.log(`Ours: ${process.env.PSN_MODULE}`);
	else if (!existsSync(modules.ours)) console.log("Ours: not built, see `npm run build`");
	console.log();

	const rows = [];
	const raw = {};
	for (const [index, entry] of cases.entries()) {
		progress(`${index + 1} of ${cases.length}: ${entry.name}`);
		const { rounds, failures } = runCase(entry, data.get(entry.data));
		rows.push(...rowsOf(entry, rounds, failures));
		raw[entry.name] = { rounds, failures };
	}
	progress("");

	console.log(table(rows));
	const memory = memoryTable(rows);
	if (memory) console.log(`\n${memory}`);
	const failed = Object.entries(raw).flatMap(([name, { failures }]) =>
		Object.entries(failures).map(([side, reason]) => `${name}, ${side}: ${reason}`),
	);
	if (failed.length > 0) {
		console.log(`\nFailed:\n${failed.join("\n")}`);
		process.exitCode = 1;
	} else if (options.check) check(rows, figures);
	else if (options.readme) publish(rows, version.trim());
	if (options.json)
		writeFileSync(
			options.json,
			`${JSON.stringify({ pi: referenceVersion, node: version.trim(), rows, raw }, null, "\t")}\n`,
		);
	if (options.chart) writeFileSync(options.chart, chart(rows, referenceVersion));
}

/** In a terminal: a line with the progress. */
function progress(text) {
	if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
}

process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));
try {
	main();
} catch (error) {
	console.error(error.message);
	process.exitCode = 2;
}
