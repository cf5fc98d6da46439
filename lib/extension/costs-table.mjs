// Formats the tables of `/costs` as lines.
import { layout } from "../shared/table-layout.mjs";
import { clip, count, wrapped } from "../shared/text.mjs";
import { isTime, notCounted, sumsLine, usageTable } from "../shared/usage-tables.mjs";

/** @typedef {import("../../index.js").UsageGrouping} Grouping */
/** @typedef {import("../../index.js").UsageReport} Report */
/** @typedef {import("../../index.js").UsageRow} Row */

/**
 * The rows of a table in the order shown: times begin with the newest, other rows with the largest sum.
 * @param {Report} report
 * @param {Grouping} by
 * @returns {Row[]}
 */
export const rowsOf = (report, by) => (isTime(by) ? report.by[by].toReversed() : report.by[by]);

/**
 * Lines with the total, and with the calls that are not added.
 * @param {Report} report
 * @param {string | undefined} dir the only directory whose sessions are added up
 * @param {number} width
 */
export const summary = (report, dir, width) => [
	...wrapped(sumsLine(report, { dir, isOfCalls: true }), width),
	...wrapped(notCounted(report, false), width).filter(Boolean),
];

/**
 * The lines of a table. `note` names the columns that the terminal has no room for.
 * @param {Report} report
 * @param {Grouping} by
 * @param {number} width
 * @param {number} [most] the largest number of rows
 */
export function table(report, by, width, most = Number.POSITIVE_INFINITY) {
	const all = rowsOf(report, by);
	const { columns, cells } = usageTable(by, all.slice(0, most), report.total, width);
	const { head, lines, missing } = layout(columns, cells, width);
	const rows = lines.slice(0, -1);
	const more = all.length > rows.length ? [`(${count(all.length - rows.length)} more)`] : [];
	return {
		head,
		rows: [...rows, ...more],
		total: lines.at(-1) ?? "",
		note: missing.length > 0 ? [clip(`(no room for ${missing.join(", ")})`, width)] : [],
	};
}
