// What sessions cost, in lines.
import { clip, clipMiddle, count, counted, dollars, widthOf } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";

/** @typedef {"day" | "model" | "project" | "session"} Grouping */
/** @typedef {import("../../index.js").UsageReport<Grouping>} Report */
/** @typedef {import("../../index.js").UsageSum} Sum */

/** @type {Grouping[]} */
export const GROUPINGS = ["day", "model", "project", "session"];

/**
 * The total, and what is not in it.
 * @param {Report} report
 * @param {string | undefined} dir the one directory whose sessions these are
 */
export function summary({ sessions, subagents, total, leftOut }, dir) {
	const { files, damagedLines, withoutTime, withoutModel, ...calls } = leftOut;
	const unusual = Object.values(calls).reduce((sum, number) => sum + number, 0);
	const missing = [...(unusual > 0 ? [`${counted(unusual, "call")} with amounts that are missing or no amounts`] : []), ...(files.length > 0 ? [`${counted(files.length, "file")} that cannot be read`] : [])];
	return [
		`${counted(sessions, "session")}${dir === undefined ? "" : ` in ${dir}`}${subagents > 0 ? `, ${counted(subagents, "session of subagents", "sessions of subagents")}` : ""}; ${counted(total.calls, "model call")}, ${dollars(total.cost)}`,
		...(missing.length > 0 ? [`Not added: ${missing.join(", ")} (pi-sessions stats --all says more)`] : []),
	];
}

/** @param {number[]} numbers any number of them: as arguments of one call they would have to fit on the stack */
const largest = (numbers) => numbers.reduce((most, number) => Math.max(most, number), 0);

const NAMES = { day: "DAY", model: "MODEL", project: "PROJECT", session: "SESSION" };

/**
 * The lines of a table, the newest day or the largest sum first.
 * @param {Report} report
 * @param {Grouping} by
 * @param {number} width
 * @param {number} [most] rows
 */
export function table(report, by, width, most = Number.POSITIVE_INFINITY) {
	const all = by === "day" ? report.by.day.toReversed() : report.by[by];
	const rows = all.slice(0, most);
	const cells = (/** @type {Sum} */ sum) => [count(sum.calls), count(sum.input + sum.cacheRead + sum.cacheWrite), count(sum.output), dollars(sum.cost)];
	const numbers = [["CALLS", "INPUT", "OUTPUT", "COST"], ...rows.map(cells), cells(report.total)];
	const widths = [0, 1, 2, 3].map((at) => largest(numbers.map((row) => row[at]?.length ?? 0)));
	const room = Math.max(8, width - widths.reduce((sum, one) => sum + one + 2, 0));
	const name = (/** @type {import("../../index.js").UsageRow} */ row) => {
		if (by !== "session") return clipMiddle(by === "project" ? underHome(row.key) : row.key, room);
		const subagents = row.subagents ? ` (+${counted(row.subagents, "subagent")})` : "";
		return `${clip(row.title || row.id, Math.max(1, room - subagents.length))}${subagents}`;
	};
	const names = [NAMES[by], ...rows.map(name), "total"];
	const column = Math.min(room, largest(names.map(widthOf)));
	const lines = names.map((text, at) => `${text}${" ".repeat(Math.max(0, column - widthOf(text)))}${(numbers[at] ?? []).map((number, cell) => `  ${number.padStart(widths[cell] ?? 0)}`).join("")}`);
	return all.length > rows.length ? [...lines.slice(0, -1), `(${count(all.length - rows.length)} more)`, ...lines.slice(-1)] : lines;
}
