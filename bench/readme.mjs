// Writes the figures of the README: its table and its opening, and the chart. All are made from docs/benchmarks.json,
// the results of one run.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { referenceVersion } from "../scripts/reference/setup.mjs";
import { chart } from "./chart.mjs";
import { time, times } from "./report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
export const FILES = { results: "docs/benchmarks.json", chart: "docs/benchmarks.svg", readme: "README.md" };

/**
 * The rows: a case, its name in the table, and its number of rounds. A row compares times, unless `of` names another
 * value.
 */
export const ROWS = [
	{ case: "start-answer", name: "start pi without a session, to its first answer", rounds: 7 },
	{ case: "start-first", name: "the same, the first time after an update of pi", rounds: 5 },
	{ case: "start-answer-128mb", name: "start pi with a session of 128 MiB", rounds: 5 },
	{ case: "open-128mb", name: "open a session of 128 MiB", rounds: 5 },
	{ case: "open-128mb", name: "memory kept after opening it", of: "Growth" },
	{ case: "context-128mb", name: "open it and build the model's context", rounds: 5 },
	{ case: "append-message", name: "append a 20-byte message", rounds: 5 },
	{ case: "turn", name: "one turn on 1,600 entries: append, context, branch", rounds: 5 },
	{ case: "list-all-cold-1000", name: "list 1,000 sessions (2.7 GiB) for the first time", rounds: 1 },
	{ case: "list-all-1000", name: "list them again in a new process", rounds: 1 },
];

/** The rounds of each case that the README shows. */
export const ROUNDS = new Map(ROWS.flatMap(({ case: name, rounds }) => (rounds ? [[name, rounds]] : [])));

const mebibytes = (bytes) => `${Math.round(bytes / 1_048_576)} MiB`;

/** The rows with their figures, as the table and the chart show them. */
function rowsOf({ rows }) {
	return ROWS.map(({ case: name, name: title, of = "" }) => {
		const { [`pi${of}`]: pi, [`ours${of}`]: ours, ratio } = rows.find((row) => row.case === name) ?? {};
		if (pi === undefined || ours === undefined) throw new Error(`${name} was not measured on both sides`);
		return { title, pi, ours, ratio: of ? pi / ours : ratio, show: of ? mebibytes : time };
	});
}

/** The place and time of the measurement, on one line. */
const about = ({ pi, node, machine, date, commit }) =>
	`pi ${pi}, Node ${node.replace("v", "")}, ${machine}, ${date}, commit ${commit}`;

const BEGIN = "<!-- Written by npm run bench -- --readme -->";
const END = "<!-- The end of what it writes -->";

/** The paragraph of the README that `openingOf` replaces. */
const OPENING = /^A session of 128 MiB opens in [\s\S]*?\n\n/m;

/** The README's paragraph with the most important figures. */
function openingOf({ rows }) {
	const of = (name) => rows.find((row) => row.case === name);
	const [open, first, list] = ["open-128mb", "list-all-cold-1000", "list-all-1000"].map(of);
	const [start, large] = ["start-answer", "start-answer-128mb"].map(of);
	// The ratio, as in the table: the median of the rounds differs from the difference of the two medians.
	const more = Math.round((1 / start.ratio - 1) * 100);
	const without = more > 0 ? `takes ${more} % longer` : "takes no longer";
	const faster = times(large.ratio).replace("×", "");
	const [opened, listed] = [open, first].map(({ ours }) => time(ours));
	return `A session of 128 MiB opens in ${opened} instead of ${time(open.pi)}. A list of 1,000 sessions takes ${listed} the first time
and ${time(list.ours)} from then on, instead of ${time(list.pi)}. The start of pi with that session is ${faster} times as fast; without one it
${without} ([figures](#figures)).

`;
}

/** The README with the figures of these results in its table and its opening. */
export function readmeWith(readme, results) {
	const lines = rowsOf(results).map(
		({ title, pi, ours, ratio, show }) =>
			`| ${title} | ${show(pi)} | ${show(ours)} | ${times(ratio).replace("×", "")} |`,
	);
	const table = [
		`| case | pi ${results.pi} | this package | ratio |`,
		"| --- | --- | --- | --- |",
		...lines,
		"",
		`${about(results)}.`,
	];
	const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
	if (from < 0 || to < from) throw new Error(`README.md does not contain the lines ${BEGIN} and ${END}`);
	const opening = openingOf(results);
	const head = readme.slice(0, from).replace(OPENING, () => opening);
	if (!head.includes(opening))
		throw new Error('README.md has no paragraph that begins with "A session of 128 MiB opens in"');
	return `${head}${BEGIN}\n${table.join("\n")}\n\n${readme.slice(to)}`;
}

/** The chart of these results. */
export const chartWith = (results) => chart(rowsOf(results), results.pi, about(results));

/** Writes the results, the chart and the README's table. */
export function publish(rows, node) {
	const git = (...args) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8" }).trim();
	const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"})`;
	const isChanged = git("status", "--porcelain", "--", "lib", "src", "bench", "index.js") !== "";
	const commit = git("rev-parse", "--short=10", "HEAD") + (isChanged ? " with changes" : "");
	const results = { pi: referenceVersion, node, machine, date: new Date().toISOString().slice(0, 10), commit, rows };
	const path = (file) => join(root, file);
	const readme = readmeWith(readFileSync(path(FILES.readme), "utf8"), results);
	const svg = chartWith(results);
	writeFileSync(path(FILES.results), `${JSON.stringify(results, null, "\t")}\n`);
	writeFileSync(path(FILES.chart), svg);
	writeFileSync(path(FILES.readme), readme);
}
