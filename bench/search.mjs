// Measures searches of all sessions, alternately with ripgrep if it is installed: `node bench/search.mjs [--rounds 5]
// [--large] [--against ../other] [--json results.json]`. Each measurement runs in a fresh process. `--large` adds
// 10,000 sessions of 11 GB. `--against` compares the CPU time of lists with another built checkout. First it measures
// the CPU time for sessions of 20 MB in several languages.
import { spawnSync } from "node:child_process";
import {
	existsSync,
	linkSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { dataDir, provide, warmUp } from "./data.mjs";

const self = fileURLToPath(import.meta.url);
const here = resolve(self, "../..");

/** A word in every generated session (filler.mjs), and a word in a single session. */
const [COMMON, RARE] = ["error", "kaleidoscope"];
const EVERYTHING = ["user", "assistant", "name", "summary", "tool", "thinking", "custom"];

/** `rg`: the arguments of ripgrep. */
const CASES = [
	{ name: "rare word", query: RARE, rg: RARE },
	{ name: "the same in everything", query: RARE, options: { in: EVERYTHING }, rg: RARE },
	{ name: "first 20 hits of a common word", query: COMMON, options: { limit: 20 } },
	{ name: "rare word, not in the page cache", query: RARE, rg: RARE, isCold: true },
];

/** A word and its surrounding text, with characters of one byte, of one and two bytes, and of two bytes. */
const LANGUAGES = [
	{ name: "English", word: "needle", filler: "The quick brown fox jumps over the lazy dog and says something else. " },
	{
		name: "English with one … a message",
		word: "needle …",
		filler: "The quick brown fox jumps over the lazy dog and says something else. ",
	},
	{ name: "German", word: "Nadel", filler: "Der flinke Fuchs läuft über die Wiese und möchte größere Bäume grüßen. " },
	{ name: "Cyrillic", word: "иголка", filler: "Быстрая лиса прыгает через ленивую собаку и говорит что-то другое. " },
];

/** One measurement, in a process of its own. */
async function measure({ module, dir, query, options }) {
	const { SessionManager } = createRequire(import.meta.url)(module);
	const [start, cpu] = [performance.now(), process.cpuUsage()];
	const found =
		query === undefined
			? await SessionManager.listAll(dir)
			: await SessionManager.search(query, { sessionDir: dir, ...options });
	const { user, system } = process.cpuUsage(cpu);
	const ms = performance.now() - start;
	console.log(
		JSON.stringify({
			ms,
			cpu: (user + system) / 1000,
			count: found.length,
			peakMB: (process.resourceUsage().maxRSS * 1024) / 1e6,
		}),
	);
}

function ours(task, catalog) {
	const env = { ...process.env, PI_SESSION_NATIVE_CATALOG: catalog ?? "off" };
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[self, JSON.stringify({ module: join(here, "index.js"), ...task })],
		{ encoding: "utf8", env },
	);
	if (status !== 0) throw new Error(stderr);
	return JSON.parse(stdout);
}

/** The time of ripgrep in milliseconds; undefined if it is not installed. */
function ripgrep(dir, word) {
	const start = performance.now();
	const { error, status } = spawnSync("rg", ["-i", "-F", "--no-ignore", "-c", word, dir], { stdio: "ignore" });
	if (error?.code === "ENOENT") return undefined;
	if (status !== 0) throw new Error(`rg ended with ${status}`);
	return performance.now() - start;
}

/** Removes files from the page cache, which their owner may do. */
function dropFromPageCache(dir) {
	for (const name of readdirSync(dir))
		spawnSync("dd", [`if=${join(dir, name)}`, "iflag=nocache", "count=0", "status=none"]);
}

/** The sessions, as links, and the oldest session, which contains the rare word. */
function sessionsIn(dir, from) {
	for (const name of readdirSync(from)) linkSync(join(from, name), join(dir, name));
	const said = { role: "user", content: `Where is the ${RARE}?`, timestamp: 1 };
	const lines = [
		{ type: "session", version: 3, id: "rare", timestamp: new Date(0).toISOString(), cwd: "/" },
		{ type: "message", id: "m", parentId: null, message: said },
	];
	const file = join(dir, "rare.jsonl");
	writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
	utimesSync(file, 1, 1);
}

/**
 * The CPU time for the first 20 hits in a session of 20 MB with the word in every message, and for a list that creates
 * its row.
 */
function byLanguage(rounds) {
	console.log("| 20 MB of | first 20 hits, CPU | list that makes the row, CPU |\n| --- | --- | --- |");
	return LANGUAGES.map(({ name, word, filler }) => {
		const dir = mkdtempSync(join(dataDir, "language-"));
		try {
			const said = `${filler.repeat(6)}${word} ${filler.repeat(8)}`;
			const message = { role: "user", content: [{ type: "text", text: said }], timestamp: 1 };
			const timestamp = new Date(0).toISOString();
			const line = (n) => `${JSON.stringify({ type: "message", id: `m${n}`, parentId: null, timestamp, message })}\n`;
			const count = Math.ceil(20e6 / Buffer.byteLength(line(0)));
			const head = { type: "session", version: 3, id: "s", timestamp: new Date(0).toISOString(), cwd: "/" };
			writeFileSync(
				join(dir, "s.jsonl"),
				`${JSON.stringify(head)}\n${Array.from({ length: count }, (_, n) => line(n)).join("")}`,
			);
			const catalog = join(dir, "catalog.sqlite");
			const search = median(rounds.map(() => ours({ dir, query: word.split(" ")[0], options: { limit: 20 } }).cpu));
			const list = median(
				rounds.map(() => {
					for (const end of ["", "-wal", "-shm"]) rmSync(catalog + end, { force: true });
					return ours({ dir }, catalog).cpu;
				}),
			);
			console.log(`| ${name} | ${shown(search)} | ${shown(list)} |`);
			return { language: name, search, list };
		} finally {
			rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
		}
	});
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
const shown = (number, unit = " ms") => (number === undefined ? "" : `${number.toPrecision(3)}${unit}`);

function main() {
	const { values } = parseArgs({
		options: {
			rounds: { type: "string", default: "5" },
			large: { type: "boolean" },
			against: { type: "string" },
			json: { type: "string" },
		},
	});
	const rounds = Array.from({ length: Number(values.rounds) });
	mkdirSync(dataDir, { recursive: true });
	const results = byLanguage(rounds);
	console.log();
	for (const data of ["1,000 files", ...(values.large ? ["10,000 files"] : [])]) {
		const { path, made } = provide(data);
		const scratch = mkdtempSync(join(dataDir, "search-"));
		try {
			const dir = join(scratch, "sessions");
			mkdirSync(dir);
			sessionsIn(dir, path);
			warmUp(dir);
			console.log(`${data}, ${(made.bytes / 1e9).toFixed(1)} GB`);
			const catalog = join(scratch, `${data}.sqlite`);
			const sides = {
				here: { module: join(here, "index.js") },
				...(values.against && { other: { module: resolve(values.against, "index.js") } }),
			};
			const lists = rounds.map(() =>
				Object.entries(sides).map(([name, side]) => {
					for (const end of ["", "-wal", "-shm"]) rmSync(join(scratch, `${name}.sqlite${end}`), { force: true });
					return ours({ ...side, dir }, join(scratch, `${name}.sqlite`)).cpu;
				}),
			);
			const cpu = Object.keys(sides).map((_, at) => median(lists.map((one) => one[at])));
			const ratio = () => median(lists.map(([one, other]) => one / other)).toFixed(2);
			const compared = cpu[1] === undefined ? "" : `, ${ratio()} of the other's ${shown(cpu[1])}`;
			console.log(`list that makes the rows: ${shown(cpu[0])} CPU${compared}`);
			ours({ dir }, catalog);
			const size = ["", "-wal"].reduce(
				(sum, end) => sum + (existsSync(catalog + end) ? statSync(catalog + end).size : 0),
				0,
			);
			console.log(
				`catalog on disk: ${(size / 1e6).toFixed(1)} MB\n\n| case | ripgrep -i | ours | ratio | hits | peak |\n| ` +
					"--- | --- | --- | --- | --- | --- |",
			);
			for (const { name, query, options, rg, isCold } of CASES) {
				const both = rounds.map(() => {
					if (isCold) dropFromPageCache(dir);
					const other = rg && ripgrep(dir, rg);
					if (isCold) dropFromPageCache(dir);
					return { other, ...ours({ dir, query, options }) };
				});
				const [other, ms] = [both[0].other && median(both.map((one) => one.other)), median(both.map((one) => one.ms))];
				const ratio = other && median(both.map((one) => one.other / one.ms));
				const peakMB = Math.max(...both.map((one) => one.peakMB));
				console.log(
					`| ${name} | ${shown(other)} | ${shown(ms)} | ${shown(ratio, "")} | ${both[0].count} | ` +
						`${peakMB.toFixed(0)} MB |`,
				);
				results.push({ data, case: name, ripgrep: other, ms, ratio, hits: both[0].count, peakMB });
			}
			console.log();
		} finally {
			rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
		}
	}
	if (values.json) writeFileSync(values.json, JSON.stringify(results, null, "\t"));
}

if (process.argv[2]?.startsWith("{")) await measure(JSON.parse(process.argv[2]));
else main();
