// `pi-sessions stats`: what sessions cost, by model and by day, what fills them, and how they grew.
import { roleOf, preview } from "./entries.mjs";
import { columns, paint, progress, table, write, writeJson } from "./output.mjs";
import { listSessions, openReadOnly, sessionPath } from "./sessions.mjs";
import { clip, count, counted, dollars, safeLine, size } from "./text.mjs";

/** @typedef {import("./library.mjs").SessionEntry} SessionEntry */
/** @typedef {{ calls: number, input: number, output: number, cacheRead: number, cacheWrite: number, cost: number }} Sum */
/** @typedef {{ bytes: number, session: string, id: string, role: string, text: string }} Large */
/** @typedef {{ cwd?: string, dir?: string, all?: boolean, json?: boolean, utc?: boolean, top: number }} Options */

const BARS = "▁▂▃▄▅▆▇█";
const BUCKETS = 60;

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
	const time = typeof entry.message?.timestamp === "number" ? entry.message.timestamp : Date.parse(entry.timestamp);
	const call = (/** @type {string} */ model, /** @type {any} */ usage) => (usage && typeof usage === "object" ? [{ model, usage, time }] : []);
	if (entry.type === "message") {
		const { role, provider, model, toolName, usage } = entry.message ?? {};
		if (role === "assistant") return call(`${provider}/${model}`, usage);
		return role === "toolResult" ? call(`(tool ${toolName})`, usage) : [];
	}
	if (entry.type === "usage") return call(`${entry.provider}/${entry.model}`, entry.usage);
	if (entry.type === "compaction" || entry.type === "branch_summary") return call(`(${entry.type})`, entry.usage);
	return [];
}

/**
 * @param {Sum} sum
 * @param {any} usage
 */
function addUsage(sum, usage) {
	sum.calls++;
	sum.input += number(usage.input);
	sum.output += number(usage.output);
	sum.cacheRead += number(usage.cacheRead);
	sum.cacheWrite += number(usage.cacheWrite);
	sum.cost += number(usage.cost?.total);
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
		/** @type {Map<string, Sum>} */
		this.models = new Map();
		/** @type {Map<string, Sum>} */
		this.days = new Map();
		/** @type {Map<string, { entries: number, bytes: number }>} */
		this.kinds = new Map();
		/** @type {Large[]} */
		this.largest = [];
		/** @type {{ time: number, bytes: number }[]} */
		this.growth = [];
	}

	/**
	 * @param {string} session its id
	 * @param {SessionEntry[]} entries
	 */
	add(session, entries) {
		this.sessions++;
		for (const entry of entries) this.addEntry(session, entry);
	}

	/**
	 * @param {string} session
	 * @param {SessionEntry} entry
	 */
	addEntry(session, entry) {
		// As it stands in the file, its line end too.
		const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1;
		const role = roleOf(entry);
		this.entries++;
		this.bytes += bytes;
		const kind = at(this.kinds, role, () => ({ entries: 0, bytes: 0 }));
		kind.entries++;
		kind.bytes += bytes;
		this.growth.push({ time: Date.parse(entry.timestamp), bytes });
		for (const { model, usage, time } of callsOf(entry)) {
			for (const sum of [this.total, at(this.models, model, nothing), at(this.days, dayOf(time, this.utc), nothing)]) addUsage(sum, usage);
		}
		if (this.largest.length < this.top || bytes > (this.largest.at(-1)?.bytes ?? 0)) {
			this.largest.push({ bytes, session, id: entry.id, role, text: clip(preview(entry), 200) });
			this.largest.sort((a, b) => b.bytes - a.bytes);
			this.largest.length = Math.min(this.largest.length, this.top);
		}
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
	const totals = new Totals({ utc: Boolean(options.utc), top: options.top });
	/** @type {string[]} */
	const unreadable = [];
	if (options.all) {
		const sessions = await listSessions(options);
		const bar = progress("Adding up");
		try {
			for (const [index, { path }] of sessions.entries()) {
				try {
					addFile(totals, path);
				} catch (error) {
					unreadable.push(`${path}: ${/** @type {Error} */ (error).message}`);
				}
				bar.update(index + 1, sessions.length);
			}
		} finally {
			bar.stop();
		}
	} else addFile(totals, await sessionPath(query, options));
	if (options.json) await writeJson({ ...totals.toJSON(), ...(unreadable.length > 0 ? { unreadable } : {}) });
	else await write(`${report(totals, Boolean(options.all)).join("\n")}\n`);
	for (const line of unreadable) process.stderr.write(`Left out: ${safeLine(line)}\n`);
	return unreadable.length > 0 ? 1 : 0;
}

/**
 * @param {Totals} totals
 * @param {string} path
 */
function addFile(totals, path) {
	const manager = openReadOnly(path);
	totals.add(manager.getSessionId(), manager.getEntries());
}

/**
 * @param {Totals} totals
 * @param {boolean} many several sessions
 */
function report(totals, many) {
	const { total, kinds, largest } = totals;
	const numbers = (/** @type {Sum} */ sum) => [count(sum.calls), count(sum.input), count(sum.output), count(sum.cacheRead), count(sum.cacheWrite), dollars(sum.cost)];
	const head = ["CALLS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST"];
	const aligns = /** @type {("left" | "right")[]} */ (["left", ...head.map(() => "right"), "left"]);
	const heading = (/** @type {string} */ text) => ["", paint.bold(paint.cyan(text))];
	const sessions = many ? `${counted(totals.sessions, "session")}, ` : "";
	const lines = [`${sessions}${counted(totals.entries, "entry", "entries")}, ${size(totals.bytes)}; ${counted(total.calls, "model call")}, ${dollars(total.cost)}`];
	if (total.calls > 0) {
		const models = byCost(totals.models).map(([model, sum]) => [clip(model, 40), ...numbers(sum)]);
		lines.push(...heading("Tokens and cost by model"), table(["MODEL", ...head], [...models, ["total", ...numbers(total)]], aligns));
		const days = [...totals.days].sort(byName);
		const most = Math.max(...days.map(([, sum]) => sum.cost || 0), 0);
		const tokens = (/** @type {Sum} */ sum) => sum.input + sum.output + sum.cacheRead + sum.cacheWrite;
		const mostTokens = Math.max(...days.map(([, sum]) => tokens(sum)));
		const share = (/** @type {Sum} */ sum) => (most > 0 ? sum.cost / most : mostTokens > 0 ? tokens(sum) / mostTokens : 0);
		const rows = days.map(([day, sum]) => [day, ...numbers(sum), paint.green(bar(share(sum), 20))]);
		lines.push(...heading("Tokens and cost by day"), table(["DAY", ...head, ""], rows, aligns));
	}
	const byBytes = [...kinds].sort((a, b) => b[1].bytes - a[1].bytes);
	const kindRows = byBytes.map(([kind, { entries, bytes }]) => [
		...[clip(kind, 30), count(entries), size(bytes), `${((100 * bytes) / (totals.bytes || 1)).toFixed(0)}%`],
		paint.green(bar(bytes / (totals.bytes || 1), 20)),
	]);
	if (kindRows.length > 0) lines.push(...heading("What fills it"), table(["KIND", "ENTRIES", "SIZE", "SHARE", ""], kindRows, ["left", "right", "right", "right", "left"]));
	if (largest.length > 0) {
		const room = Math.max(20, columns() - (many ? 64 : 40));
		const rows = largest.map((one) => [
			...[size(one.bytes), clip(one.role, 16), paint.dim(clip(one.id, 8))],
			...(many ? [paint.dim(clip(one.session, 22))] : []),
			clip(one.text, room),
		]);
		lines.push(...heading("Largest entries"), table(["SIZE", "KIND", "ENTRY", ...(many ? ["SESSION"] : []), "TEXT"], rows, ["right", "left", "left", "left", "left"]));
	}
	const growth = totals.grown();
	const first = growth[0];
	const last = growth.at(-1);
	if (first && last) {
		const line = growth.map(({ bytes }) => BARS[Math.min(BARS.length - 1, Math.floor((bytes / last.bytes) * BARS.length))]).join("");
		lines.push(...heading("Growth, entry by entry"), `${paint.green(line)} ${size(last.bytes)}`, paint.dim(`${first.time.slice(0, 16)} to ${last.time.slice(0, 16)} UTC`));
	}
	return lines;
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
