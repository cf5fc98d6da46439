// The layout of tables without borders. If a table is too wide, columns are left out and texts are cut.
import { clip, widthOf } from "./text.mjs";

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {"right"} [align] for numbers, which are never cut
 * @property {number} [least] the smallest width to which its texts are cut before columns are left out; by default they
 * are not cut
 * @property {(row: number, width: number) => string} [cut] cuts the text of a row, instead of the default
 * @property {number} [rank] the column with the highest rank is left out first; a column without a rank is never left
 * out
 * @property {(text: string, row: number) => string} [paint]
 */

/** The space between two columns. */
const GAP = 2;

/**
 * Lays out a table that is at most `width` wide, unless the columns that cannot be left out or cut are wider.
 * @param {Column[]} all
 * @param {string[][]} rows one text for each column
 * @param {number} width
 * @param {(title: string) => string} [paintTitle]
 * @returns {{ head: string, lines: string[], missing: string[] }} `missing` names the columns that were left out
 */
export function layout(all, rows, width, paintTitle = (title) => title) {
	const natural = all.map(({ title }, column) =>
		rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? "")), title.length),
	);
	const least = all.map((column, index) => Math.min(column.least ?? Infinity, natural[index] ?? 0));
	const kept = new Set(all.keys());
	const taken = (/** @type {number[]} */ widths) =>
		[...kept].reduce((sum, column) => sum + (widths[column] ?? 0) + GAP, -GAP);
	while (taken(least) > width) {
		const last = [...kept].reduce((one, other) => ((all[other]?.rank ?? -1) > (all[one]?.rank ?? -1) ? other : one));
		if (all[last]?.rank === undefined) break;
		kept.delete(last);
	}
	const widths = [...natural];
	for (let over = taken(widths) - width; over > 0; over--) {
		const open = [...kept].filter((column) => (widths[column] ?? 0) > (least[column] ?? 0));
		// If that is still too wide, the last text column becomes narrower.
		const column =
			open.length > 0
				? open.reduce((one, other) => ((widths[other] ?? 0) > (widths[one] ?? 0) ? other : one))
				: [...kept].findLast((one) => all[one]?.least !== undefined && (widths[one] ?? 0) > 4);
		if (column === undefined) break;
		widths[column] = (widths[column] ?? 0) - 1;
	}
	const shown = [...kept].map((column) => ({
		column,
		width: widths[column] ?? 0,
		.../** @type {Column} */ (all[column]),
	}));
	const missing = all.filter((_, column) => !kept.has(column)).map(({ title }) => title);
	/** @type {(texts: string[], row: number, painted: (column: Column, text: string) => string) => string} */
	const line = (texts, row, painted) =>
		shown
			.map(({ column, width, ...one }) => {
				// Numbers may end with spaces, so that their decimal points are aligned.
				const whole = texts[column] ?? "";
				const text = row >= 0 && one.cut ? one.cut(row, width) : one.align === "right" ? whole : clip(whole, width);
				const space = " ".repeat(Math.max(0, width - widthOf(text)));
				const shownText = painted(one, text);
				return one.align === "right" ? space + shownText : shownText + space;
			})
			.join(" ".repeat(GAP))
			.trimEnd();
	const head = line(
		all.map(({ title }) => title),
		-1,
		(_, text) => paintTitle(text),
	);
	return {
		head,
		lines: rows.map((row, index) => line(row, index, ({ paint = (text) => text }, text) => paint(text, index))),
		missing,
	};
}
