// Formats usage reports, so that `pi-sessions stats` and `/costs` have the same words, columns and rules.
import { clip, clipMiddle, count, counted, dollars, size } from "./text.mjs";
import { underHome } from "./under-home.mjs";

/** @typedef {import("../../index.js").UsageSum} Sum */
/** @typedef {import("../../index.js").UsageRow} Row */
/** @typedef {import("../../index.js").UsageReport} Report */
/** @typedef {import("../../index.js").UsageGrouping} Grouping */
/** @typedef {import("./table-layout.mjs").Column} Column */

/** The groupings, in the order of the tables. @type {Grouping[]} */
export const GROUPINGS = ["day", "week", "month", "model", "project", "session"];

/** The columns of the rows' names. @type {Record<Grouping, Column>} */
const NAMES = {
	day: { title: "DAY", least: 10 },
	week: { title: "WEEK OF", least: 10 },
	month: { title: "MONTH", least: 7 },
	model: { title: "MODEL", least: 10 },
	project: { title: "PROJECT", least: 10 },
	session: { title: "SESSION", least: 16 },
};
/** @type {(title: string, rank?: number) => Column} */
const numbers = (title, rank) => ({ title, align: "right", ...(rank === undefined ? {} : { rank }) });
/** The columns of a sum. The cost is never left out. */
const SUM = [
	numbers("CALLS", 1),
	numbers("INPUT", 3),
	numbers("OUTPUT", 2),
	numbers("CACHE READ", 5),
	numbers("CACHE WRITE", 6),
	numbers("COST"),
];
const ID = { title: "ID", rank: 8 };

/** @param {Grouping} grouping */
export const isTime = (grouping) => grouping === "day" || grouping === "week" || grouping === "month";

/**
 * The columns and rows of a table of sums; the last row is the total.
 * @param {Grouping} grouping
 * @param {Row[]} rows
 * @param {Sum} total
 * @param {number} width the width of the screen
 * @returns {{ columns: Column[], cells: string[][] }}
 */
export function usageTable(grouping, rows, total, width) {
	const costs = alignedAtPoint([...rows, total].map(({ cost }) => dollars(cost)));
	const sum = (/** @type {Sum} */ { calls, input, output, cacheRead, cacheWrite }, /** @type {number} */ at) => [
		...[calls, input, output, cacheRead, cacheWrite].map(count),
		costs[at] ?? "",
	];
	const isSession = grouping === "session";
	const names = {
		...NAMES[grouping],
		cut: (/** @type {number} */ at, /** @type {number} */ room) =>
			rows[at] ? nameOf(grouping, rows[at], room) : clip("total", room),
	};
	return {
		columns: [names, ...SUM, ...(isSession ? [ID] : [])],
		cells: [
			...rows.map((row, at) => [
				nameOf(grouping, row, width),
				...sum(row, at),
				...(isSession ? [clip(row.id, width)] : []),
			]),
			["total", ...sum(total, rows.length), ""],
		],
	};
}

/**
 * The name of a row, cut to a width.
 * @param {Grouping} grouping
 * @param {Row} row
 * @param {number} width
 */
function nameOf(grouping, row, width) {
	if (grouping !== "session") return clipMiddle(grouping === "project" ? underHome(row.key) : row.key, width);
	const subagents = row.subagents ? ` (+${counted(row.subagents, "subagent")})` : "";
	const room = width - subagents.length;
	return room < 8 ? clip(row.title || row.id, width) : `${clip(row.title || row.id, room)}${subagents}`;
}

/** Pads amounts, so that their decimal points are aligned. @param {string[]} texts */
function alignedAtPoint(texts) {
	const decimals = texts.map((text) =>
		text.includes("e") || !text.includes(".") ? 0 : text.length - text.indexOf("."),
	);
	const most = decimals.reduce((one, other) => Math.max(one, other), 0);
	return texts.map((text, at) => (decimals[at] ? text + " ".repeat(most - (decimals[at] ?? 0)) : text));
}

/**
 * The totals on one line.
 * @param {Report} report
 * @param {{ one?: boolean, dir?: string | undefined, isOfATime?: boolean, isOfCalls?: boolean }} of `one`: the report
 * is about one session; `dir`: the name of the directory whose sessions are added up; `isOfATime`: the report has
 * limits of time; `isOfCalls`: the sizes of files are left out
 */
export function sumsLine(
	{ sessions, subagents, entries, bytes, total },
	{ one = false, dir, isOfATime = false, isOfCalls = false },
) {
	const what = [
		...(one ? [] : [`${counted(sessions, "session")}${dir === undefined ? "" : ` in ${dir}`}`]),
		...(subagents > 0 ? [counted(subagents, "session of subagents", "sessions of subagents")] : []),
		// Limits of time apply only to calls.
		...(isOfATime || isOfCalls ? [] : [counted(entries, "entry", "entries"), size(bytes)]),
	];
	const calls = `${counted(total.calls, "model call")}${isOfATime ? " in this time" : ""}, ${dollars(total.cost)}`;
	return [...(what.length > 0 ? [what.join(", ")] : []), calls].join("; ");
}

/**
 * The text about calls that are not in the sums; empty if there are none.
 * @param {Report} report
 * @param {boolean} isOfATime whether calls without a time are not added
 */
export function notCounted({ leftOut }, isOfATime) {
	const {
		withoutUsage,
		missing,
		notNumbers,
		negative,
		infinite,
		unknownKinds,
		withoutModel,
		withoutTime,
		damagedLines,
		files,
	} = leftOut;
	const calls = [
		[withoutUsage, "without usage"],
		[missing, "with amounts missing"],
		[notNumbers, "with amounts that are not numbers"],
		[negative, "with amounts below 0"],
		[infinite, "with amounts too large to add up"],
		[unknownKinds, "with amounts of unknown kinds"],
		[isOfATime ? withoutTime : 0, "without a time"],
	];
	const unnamed = [
		[withoutModel, "without a model's name"],
		[isOfATime ? 0 : withoutTime, "without a time"],
	];
	const phrases = (/** @type {(number | string)[][]} */ all) =>
		all.filter(([number]) => Number(number) > 0).map(([number, what]) => `${counted(Number(number), "call")} ${what}`);
	const others = [
		...(damagedLines > 0
			? [`${counted(damagedLines, "line")} that ${damagedLines === 1 ? "is not an entry" : "are not entries"}`]
			: []),
		...(files.length > 0
			? [
					`${counted(files.length, "file or directory", "files or directories")} that cannot be read or ` +
						`${files.length === 1 ? "is not a session" : "are not sessions"}`,
				]
			: []),
	];
	const left = [...phrases(calls), ...others];
	return [
		...(left.length > 0 ? [`Not added: ${left.join(", ")}.`] : []),
		...(phrases(unnamed).length > 0 ? [`Of those added: ${phrases(unnamed).join(", ")}.`] : []),
	].join(" ");
}
