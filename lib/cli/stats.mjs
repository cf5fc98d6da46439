// `pi-sessions stats`: what sessions cost, by model and by day, what fills them, and how they grew.
import { roleOf, preview } from "./entries.mjs";
import { UsageError } from "./errors.mjs";
import { columns, paint, progress, table, write, writeJson } from "./output.mjs";
import { withReadOnlySession, sessionFiles, sessionPath } from "./sessions.mjs";
import { yieldToSignals } from "./signals.mjs";
import { asText, clip, count, counted, dollars, safeLine, size, timeOf, wrapped } from "./text.mjs";

/** @typedef {import("./library.mjs").SessionEntry} SessionEntry */
/** @typedef {{ calls: number, input: number, output: number, cacheRead: number, cacheWrite: number, cost: number }} Sum */
/** @typedef {{ bytes: number, session: string, id: string, role: string, text: string }} Large */
/** @typedef {{ cwd?: string, dir?: string, all?: boolean, json?: boolean, utc?: boolean, top: number }} Options */

const BARS = "▁▂▃▄▅▆▇█";
const BUCKETS = 60;
/** Entries beside the largest ones that are kept before they are sorted out. */
const SPARE = 100;

/** @returns {Sum} */
const nothing = () => ({ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 });
/** @param {unknown} value */
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : 0);

/**
 * The model calls that an entry stands for. Calls on branches that were left cost as much as the others.
 * @param {any} entry
 * @returns {{ model: string, usage: any, time: number }[]}
 */
function callsOf(entry) {
	const time = typeof entry.message?.timestamp === "number" ? entry.message.timestamp : timeOf(entry.timestamp);
	const call = (/** @type {string} */ model, /** @type {any} */ usage) => (usage && typeof usage === "object" ? [{ model, usage, time }] : []);
	if (entry.type === "message") {
		const { role, provider, model, toolName, usage } = entry.message ?? {};
		if (role === "assistant") return call(`${asText(provider)}/${asText(model)}`, usage);
		return role === "toolResult" ? call(`(tool ${asText(toolName)})`, usage) : [];
	}
	if (entry.type === "usage") return call(`${asText(entry.provider)}/${asText(entry.model)}`, entry.usage);
	if (entry.type === "compaction" || entry.type === "branch_summary") return call(`(${entry.type})`, entry.usage);
	return [];
}

/**
 * What tells a model call from all others. Forks and branches that were made sessions of their own hold copies of entries:
 * the times, the model and the usage stay. The id does not: entries of version 1 get a new one at each fork. It counts
 * where nothing tells the time.
 * @param {any} entry
 * @param {string} model
 * @param {any} usage
 */
function identityOf(entry, model, usage) {
	const times = [entry.timestamp, entry.message?.timestamp].filter((time) => time !== undefined && time !== null);
	return JSON.stringify([times.length > 0 ? times : entry.id, model, ...Object.values(addUsage(nothing(), usage))]);
}

/**
 * @param {Sum} sum
 * @param {any} usage
 * @returns {Sum} the sum
 */
function addUsage(sum, usage) {
	sum.calls++;
	sum.input += number(usage.input);
	sum.output += number(usage.output);
	sum.cacheRead += number(usage.cacheRead);
	sum.cacheWrite += number(usage.cacheWrite);
	sum.cost += number(usage.cost?.total);
	return sum;
}

/**
 * @param {number} time milliseconds
 * @param {boolean} utc
 */
function dayOf(time, utc) {
	const date = new Date(time);
	if (Number.isNaN(date.getTime())) return "(no date)";
	if (utc) return date.toISOString().slice(0, 10);
	const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Adds sessions up. */
class Totals {
	/** @param {{ utc: boolean, top: number }} options */
	constructor({ utc, top }) {
		this.utc = utc;
		this.top = top;
		this.sessions = 0;
		this.entries = 0;
		this.bytes = 0;
		this.total = nothing();
		/** @type {Map<string, number>} how many of each call are in the sums: the most that one session has of it */
		this.counted = new Map();
		/** @type {Map<string, Sum>} */
		this.models = new Map();
		/** @type {Map<string, Sum>} */
		this.days = new Map();
		/** @type {Map<string, { entries: number, bytes: number }>} */
		this.kinds = new Map();
		/** @type {Large[]} the largest so far, and some more that are sorted out when there are as many again */
		this.large = [];
		/** Bytes that an entry must have more of to be among the largest. */
		this.least = top > 0 ? -1 : Infinity;
		/** @type {{ time: number, bytes: number }[]} */
		this.growth = [];
	}

	/**
	 * @param {string} session its id
	 * @param {SessionEntry[]} entries
	 */
	add(session, entries) {
		this.sessions++;
		/** @type {Map<string, number>} */
		const calls = new Map();
		for (const entry of entries) this.addEntry(session, entry, calls);
	}

	/**
	 * @param {string} session
	 * @param {SessionEntry} entry
	 * @param {Map<string, number>} calls of this session so far
	 */
	addEntry(session, entry, calls) {
		// As it stands in the file, its line end too.
		const bytes = Buffer.byteLength(asText(entry)) + 1;
		const role = roleOf(entry);
		this.entries++;
		this.bytes += bytes;
		const kind = at(this.kinds, role, () => ({ entries: 0, bytes: 0 }));
		kind.entries++;
		kind.bytes += bytes;
		this.growth.push({ time: timeOf(entry.timestamp), bytes });
		for (const { model, usage, time } of callsOf(entry)) {
			const identity = identityOf(entry, model, usage);
			// Two calls alike in one session are two; in another session they are its copies.
			const nth = (calls.get(identity) ?? 0) + 1;
			calls.set(identity, nth);
			if (nth <= (this.counted.get(identity) ?? 0)) continue;
			this.counted.set(identity, nth);
			for (const sum of [this.total, at(this.models, model, nothing), at(this.days, dayOf(time, this.utc), nothing)]) addUsage(sum, usage);
		}
		if (bytes <= this.least) return;
		this.large.push({ bytes, session, id: entry.id, role, text: clip(preview(entry), 200) });
		if (this.large.length >= 2 * this.top + SPARE) this.sortOut();
	}

	sortOut() {
		this.large.sort((a, b) => b.bytes - a.bytes);
		if (this.large.length < this.top) return;
		this.large.length = this.top;
		this.least = this.large.at(-1)?.bytes ?? Infinity;
	}

	get largest() {
		this.sortOut();
		return this.large;
	}

	/** Bytes at equal steps of the entries, in the order of their time. */
	grown() {
		const steps = this.growth.filter(({ time }) => !Number.isNaN(time)).sort((a, b) => a.time - b.time);
		/** @type {{ time: string, bytes: number }[]} */
		const result = [];
		let sum = 0;
		for (const [index, { time, bytes }] of steps.entries()) {
			sum += bytes;
			const bucket = Math.floor((index * BUCKETS) / steps.length);
			const next = Math.floor(((index + 1) * BUCKETS) / steps.length);
			if (bucket !== next || index === steps.length - 1) result.push({ time: new Date(time).toISOString(), bytes: sum });
		}
		return result;
	}

	toJSON() {
		const { sessions, entries, bytes, total, largest } = this;
		const named = (/** @type {string} */ key, /** @type {[string, object][]} */ pairs) => pairs.map(([name, value]) => ({ [key]: name, ...value }));
		return {
			...{ sessions, entries, bytes, total },
			models: named("model", byCost(this.models)),
			days: named("day", [...this.days].sort(byName)),
			kinds: named("kind", [...this.kinds].sort((a, b) => b[1].bytes - a[1].bytes)),
			...{ largest, growth: this.grown() },
		};
	}
}

/** @type {(a: [string, unknown], b: [string, unknown]) => number} */
const byName = (a, b) => (a[0] < b[0] ? -1 : 1);
/** @param {Map<string, Sum>} sums */
const byCost = (sums) => [...sums].sort((a, b) => b[1].cost - a[1].cost || b[1].output - a[1].output || byName(a, b));

/**
 * @template K, V
 * @param {Map<K, V>} map
 * @param {K} key
 * @param {() => V} make
 */
function at(map, key, make) {
	const found = map.get(key) ?? make();
	map.set(key, found);
	return found;
}

/**
 * @param {string | undefined} query
 * @param {Options} options
 */
export async function stats(query, options) {
	if (options.all && query !== undefined) throw new UsageError("--all cannot be combined with a session");
	const totals = new Totals({ utc: Boolean(options.utc), top: options.top });
	/** @type {{ path: string, error: string }[]} */
	const unreadable = [];
	if (options.all) {
		const files = sessionFiles(options);
		const bar = progress("Adding up");
		const turn = yieldToSignals();
		try {
			for (const [index, path] of files.entries()) {
				try {
					addFile(totals, path);
				} catch (error) {
					unreadable.push({ path, error: /** @type {Error} */ (error).message });
				}
				bar.update(index + 1, files.length);
				await turn();
			}
		} finally {
			bar.stop();
		}
	} else addFile(totals, await sessionPath(query, options));
	if (options.json) await writeJson({ ...totals.toJSON(), ...(options.all ? { unreadable } : {}) });
	else await write(`${report(totals, Boolean(options.all), unreadable.length).join("\n")}\n`);
	if (!options.json) for (const { path, error } of unreadable) process.stderr.write(`Left out: ${safeLine(error.includes(path) ? error : `${path}: ${error}`)}\n`);
	return unreadable.length > 0 ? 1 : 0;
}

/**
 * @param {Totals} totals
 * @param {string} path
 */
function addFile(totals, path) {
	withReadOnlySession(path, (manager) => totals.add(manager.getSessionId(), manager.getEntries()));
}

/** @type {(title: string, rank?: number) => import("./output.mjs").Column} a column of numbers */
const numbers = (title, rank) => ({ title, align: "right", ...(rank === undefined ? {} : { rank }) });
/** @type {import("./output.mjs").Column} */
const BAR = { title: "", rank: 9, paint: paint.green };
/** What a sum shows; cost says most, then calls. */
const SUM = [numbers("CALLS", 1), numbers("INPUT", 3), numbers("OUTPUT", 2), numbers("CACHE READ", 5), numbers("CACHE WRITE", 6), numbers("COST")];
/** @type {(sum: Sum) => string[]} */
const sumCells = (sum) => [count(sum.calls), count(sum.input), count(sum.output), count(sum.cacheRead), count(sum.cacheWrite), dollars(sum.cost)];
/** @type {(sum: Sum) => number} */
const tokens = (sum) => sum.input + sum.output + sum.cacheRead + sum.cacheWrite;
/** @type {(text: string) => string[]} */
const heading = (text) => ["", paint.bold(paint.cyan(clip(text, columns())))];

/**
 * @param {Totals} totals
 * @param {boolean} many several sessions
 * @param {number} unreadable files that are not in it
 */
function report(totals, many, unreadable) {
	const { total } = totals;
	const sessions = many ? `${counted(totals.sessions, "session")}, ` : "";
	const missing = unreadable > 0 ? `; ${counted(unreadable, "file")} could not be read` : "";
	const sums = `${sessions}${counted(totals.entries, "entry", "entries")}, ${size(totals.bytes)}; ${counted(total.calls, "model call")}, ${dollars(total.cost)}${missing}`;
	return [...wrapped(sums, columns()), ...(total.calls > 0 ? costs(totals) : []), ...kinds(totals), ...largest(totals, many), ...growth(totals)];
}

/** @param {Totals} totals */
function costs({ models, days, total }) {
	const byModel = byCost(models).map(([model, sum]) => [clip(model, 40), ...sumCells(sum)]);
	const sorted = [...days].sort(byName);
	const most = Math.max(...sorted.map(([, sum]) => sum.cost || 0), 0);
	const mostTokens = Math.max(...sorted.map(([, sum]) => tokens(sum)));
	const share = (/** @type {Sum} */ sum) => (most > 0 ? sum.cost / most : mostTokens > 0 ? tokens(sum) / mostTokens : 0);
	const byDay = sorted.map(([day, sum]) => [day, ...sumCells(sum), bar(share(sum), 20)]);
	return [
		...[...heading("Tokens and cost by model"), table([{ title: "MODEL", least: 10 }, ...SUM], [...byModel, ["total", ...sumCells(total)]])],
		...[...heading("Tokens and cost by day"), table([{ title: "DAY", least: 10 }, ...SUM, BAR], byDay)],
	];
}

/** @param {Totals} totals */
function kinds({ kinds, bytes }) {
	if (kinds.size === 0) return [];
	const rows = [...kinds]
		.sort((a, b) => b[1].bytes - a[1].bytes)
		.map(([kind, one]) => {
			const share = one.bytes / (bytes || 1);
			return [clip(kind, 30), count(one.entries), size(one.bytes), `${(100 * share).toFixed(0)}%`, bar(share, 20)];
		});
	return [...heading("What fills it"), table([{ title: "KIND", least: 8 }, numbers("ENTRIES", 2), numbers("SIZE"), numbers("SHARE", 1), BAR], rows)];
}

/**
 * @param {Totals} totals
 * @param {boolean} many several sessions
 */
function largest({ largest }, many) {
	if (largest.length === 0) return [];
	const rows = largest.map((one) => [size(one.bytes), clip(one.role, 16), clip(one.id, 8), ...(many ? [clip(one.session, 22)] : []), one.text]);
	const session = { title: "SESSION", least: 13, rank: 2, paint: paint.dim };
	const columns = [numbers("SIZE"), { title: "KIND", least: 6, rank: 3 }, { title: "ENTRY", least: 8, paint: paint.dim }, ...(many ? [session] : []), { title: "TEXT", least: 12, rank: 1 }];
	return [...heading("Largest entries"), table(columns, rows)];
}

/** @param {Totals} totals */
function growth(totals) {
	const steps = totals.grown();
	const first = steps[0];
	const last = steps.at(-1);
	if (!first || !last) return [];
	const room = Math.max(1, Math.min(steps.length, columns() - size(last.bytes).length - 1));
	const shown = Array.from({ length: room }, (_, index) => /** @type {{ bytes: number }} */ (steps[Math.ceil(((index + 1) * steps.length) / room) - 1]));
	const line = shown.map(({ bytes }) => BARS[Math.min(BARS.length - 1, Math.floor((bytes / last.bytes) * BARS.length))]).join("");
	const times = `${first.time.slice(0, 16)} to ${last.time.slice(0, 16)} UTC`;
	return [...heading("Growth, entry by entry"), `${paint.green(line)} ${size(last.bytes)}`, ...wrapped(times, columns()).map((text) => paint.dim(text))];
}

/**
 * @param {number} share 0 to 1
 * @param {number} width
 */
function bar(share, width) {
	const eighths = Math.round(share * width * 8);
	const rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8] ?? "";
	return "█".repeat(Math.floor(eighths / 8)) + rest;
}
