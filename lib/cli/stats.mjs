// `pi-sessions stats`: prints tokens and cost by model and time, and the largest entries. The library calculates the
// sums.
import { SessionManager } from "../../index.mjs";
import { preview, roleOf } from "../shared/entries.mjs";
import { clip, count, safeLine, size, wrapped } from "../shared/text.mjs";
import { isTime, notCounted, sumsLine, usageTable } from "../shared/usage-tables.mjs";
import { existingSessionDir, scopeOf } from "./dir-options.mjs";
import { UsageError } from "./errors.mjs";
import { columns, paint, withProgress, write, writeJson, writePaged } from "./output.mjs";
import { openReadOnly, sessionPath } from "./sessions.mjs";
import { table } from "./table.mjs";
import { limitsOf } from "./times.mjs";

/** @typedef {import("../../index.js").UsageSum} Sum */
/** @typedef {import("../../index.js").UsageRow} Row */
/** @typedef {import("../../index.js").UsageReport} Report */
/** @typedef {import("../../index.js").UsageGrouping} Grouping */
/** @typedef {{ bytes: number, session: string, id: string, role: string, text: string }} Large */
/**
 * @typedef {{ cwd?: string, dir?: string, all?: boolean, repository?: boolean, json?: boolean, csv?: boolean,
 * since?: string, until?: string, by?: Grouping, pager?: boolean }} Options
 */

/** The number of largest entries that are listed. */
const LARGEST = 10;
/** The largest number of rows in a table by day or week. Longer times are grouped by week, then by month. */
const MAX_PERIODS = 92;
const DAY_MS = 86_400_000;

/**
 * @param {string | undefined} query
 * @param {Options} options
 */
export async function stats(query, options) {
	if (isOfMany(options) && query !== undefined)
		throw new UsageError(`--${options.all ? "all" : "repository"} cannot be combined with a named session`);
	if (options.csv && options.json) throw new UsageError("--csv cannot be combined with --json");
	/** @type {Grouping[]} */
	const by = options.by
		? [options.by]
		: options.csv
			? ["day"]
			: options.json
				? ["model", "day"]
				: ["model", "day", "week", "month"];
	const report = await addUp(query, options, by);
	const rows = report.by[/** @type {Grouping} */ (by[0])];
	if (options.csv) {
		await write(`${csv(/** @type {Grouping} */ (by[0]), rows)}\n`);
		// The rows have no column for these notes.
		const notes = notCounted(report, isLimited(options));
		if (notes !== "") process.stderr.write(`${notes}\n`);
	} else if (options.json) await writeJson(asJson(report, options));
	else await writePaged(() => lines(report, options), options);
	const { files } = report.leftOut;
	if (!options.json)
		for (const { path, error, otherFormat } of files) {
			const why = otherFormat === null ? error : `not a pi session, ${otherFormat}`;
			process.stderr.write(`Left out: ${safeLine(why.includes(path) ? why : `${path}: ${why}`)}\n`);
		}
	// As in `verify --all`, files of other programs are no faults.
	return files.some(({ otherFormat }) => otherFormat === null) ? 1 : 0;
}

/**
 * Calculates the usage of the selected sessions.
 * @param {string | undefined} query
 * @param {Options} options
 * @param {Grouping[]} by
 * @returns {Promise<Report>}
 */
async function addUp(query, options, by) {
	const limits = limitsOf(options);
	const where = isOfMany(options)
		? { ...scopeOf(options), sessionDir: existingSessionDir(options) }
		: { path: await sessionPath(query, options) };
	return await withProgress("Adding up", ({ update }) =>
		SessionManager.usage({
			...where,
			...limits,
			by,
			largest: LARGEST,
			onProgress: isOfMany(options) ? update : undefined,
		}),
	);
}

/** Whether the sums are over several sessions. @param {Options} options */
const isOfMany = ({ all, repository }) => Boolean(all || repository);

/** Whether only calls of a certain time are added up. @param {Options} options */
const isLimited = ({ since, until }) => since !== undefined || until !== undefined;

/**
 * @param {Report} report
 * @param {Options} options
 */
function asJson(report, options) {
	const { sessions, subagents, entries, bytes, total, by, leftOut } = report;
	const { files, ...left } = leftOut;
	const named = (/** @type {Grouping} */ key) =>
		(by[key] ?? []).map(({ key: name, models, ...sum }) => ({
			[key]: name,
			...sum,
			...(options.by && models ? { models: models.map(({ key: model, ...one }) => ({ model, ...one })) } : {}),
		}));
	return {
		...{ sessions, subagents, entries, bytes, total },
		...(options.by ? { rows: named(options.by) } : { models: named("model"), days: named("day") }),
		largest: largestOf(report),
		leftOut: left,
		...(isOfMany(options) ? { unreadable: files } : {}),
	};
}

/**
 * @param {Grouping} grouping
 * @param {Row[]} rows
 */
function csv(grouping, rows) {
	const about = grouping === "session" ? /** @type {const} */ (["id", "cwd", "title"]) : [];
	const sums = /** @type {const} */ (["calls", "input", "output", "cacheRead", "cacheWrite", "cost"]);
	// A spreadsheet must not treat a text as a formula. Some treat full-width signs like the ASCII ones.
	const cell = (/** @type {unknown} */ text) =>
		`"${safeLine(text)
			.replace(/^[=+\-@＝＋－＠]/, "'$&")
			.replaceAll('"', '""')}"`;
	return [
		[grouping, ...about, ...sums].join(","),
		...rows.map((row) =>
			[cell(row.key), ...about.map((key) => cell(row[key])), ...sums.map((key) => row[key])].join(","),
		),
	].join("\n");
}

/**
 * The largest entries with their roles and texts.
 * @param {Report} report
 * @returns {Large[]}
 */
const largestOf = ({ largest }) =>
	largest.map(({ path, sessionId, entryId, bytes }) => ({
		bytes,
		session: sessionId,
		id: entryId,
		...entryOf(path, entryId),
	}));

/**
 * The role and text of an entry; both empty if the entry no longer exists.
 * @param {string} path
 * @param {string} id
 */
function entryOf(path, id) {
	try {
		const entry = openReadOnly(path).getEntry(id);
		if (entry !== undefined) return { role: roleOf(entry), text: clip(preview(entry), 200) };
	} catch {
		// The session was rewritten or deleted meanwhile.
	}
	return { role: "", text: "" };
}

/** @type {(title: string, rank?: number) => import("./table.mjs").Column} a column of numbers */
const numbers = (title, rank) => ({ title, align: "right", ...(rank === undefined ? {} : { rank }) });
/** @type {(text: string) => string[]} */
const heading = (text) => ["", paint.bold(paint.cyan(clip(text, columns())))];

/**
 * @param {Report} report
 * @param {Options} options
 */
function lines(report, options) {
	const { total } = report;
	const sums = sumsLine(report, { one: !isOfMany(options), isOfATime: isLimited(options) });
	/** @type {Grouping[]} */
	const by = options.by ? [options.by] : ["model", periodOf(report.by.day)];
	const tables = total.calls > 0 ? by.flatMap((grouping) => sumTable(grouping, report.by[grouping], total)) : [];
	const rest = isLimited(options) || options.by ? [] : largest(report, isOfMany(options));
	// We repeat the total at the end, so that a reader need not scroll back.
	const again = rest.length > 0 && tables.length > 0 ? [...heading("In all"), ...wrapped(sums, columns())] : [];
	return [
		...wrapped(sums, columns()),
		...wrapped(notCounted(report, isLimited(options)), columns())
			.filter(Boolean)
			.map((text) => paint.dim(text)),
		...tables,
		...rest,
		...again,
	];
}

/**
 * The grouping of a time that results in at most `MAX_PERIODS` rows, if possible.
 * @param {Row[]} days the days with calls, in order
 * @returns {"day" | "week" | "month"}
 */
function periodOf(days) {
	const dated = days.filter(({ key }) => !key.startsWith("("));
	const length = (Date.parse(dated.at(-1)?.key ?? "") - Date.parse(dated[0]?.key ?? "")) / DAY_MS;
	return length >= 7 * MAX_PERIODS ? "month" : length >= MAX_PERIODS ? "week" : "day";
}

/** The number of models, projects or sessions that a table shows. `--json` and `--csv` contain all. */
const SHOWN = 50;

/**
 * @param {Grouping} grouping
 * @param {Row[]} all
 * @param {Sum} total
 */
function sumTable(grouping, all, total) {
	const rows = isTime(grouping) ? all : all.slice(0, SHOWN);
	const more =
		all.length > rows.length
			? [paint.dim(`(${count(all.length - rows.length)} more; --json or --csv prints all)`)]
			: [];
	const { columns: titles, cells } = usageTable(grouping, rows, total, columns());
	return [...heading(`Tokens and cost by ${grouping}`), ...table(titles, cells), ...more];
}

/**
 * @param {Report} report
 * @param {boolean} many several sessions
 */
function largest(report, many) {
	const all = largestOf(report);
	if (all.length === 0) return [];
	const rows = all.map((one) => [
		size(one.bytes),
		clip(one.role, 16),
		clip(one.id, 8),
		...(many ? [clip(one.session, 22)] : []),
		one.text,
	]);
	const session = { title: "SESSION", least: 13, rank: 2, paint: paint.dim };
	const columns = [
		numbers("SIZE"),
		{ title: "KIND", least: 6, rank: 3 },
		{ title: "ENTRY", least: 8, paint: paint.dim },
		...(many ? [session] : []),
		{ title: "TEXT", least: 12, rank: 1 },
	];
	return [...heading("Largest entries"), ...table(columns, rows)];
}
