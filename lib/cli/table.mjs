// Tables for terminals: without borders, cut where there is no room.
import { clip, clipMiddle, widthOf } from "../shared/text.mjs";
import { columns, isInTerminal, paint } from "./output.mjs";

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {"right"} [align]
 * @property {number} [least] what its texts may be cut to before columns are left out; without it they never are cut
 * @property {boolean} [middle] its texts are cut in the middle, not at the end
 * @property {number} [rank] the highest is left out first, where there is no room for all; without it it never is
 * @property {(text: string, row: number) => string} [paint]
 */

/** Columns between two of a table. */
const GAP = 2;

/**
 * The lines of a table without borders that is no wider than the terminal.
 * @param {Column[]} all
 * @param {string[][]} rows one text for each column
 */
export function table(all, rows) {
	const width = columns();
	const natural = all.map(({ title }, column) => rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? "")), title.length));
	const least = all.map((column, index) => Math.min(column.least ?? Infinity, natural[index] ?? 0));
	const kept = new Set(all.keys());
	const taken = (/** @type {number[]} */ widths) => [...kept].reduce((sum, column) => sum + (widths[column] ?? 0) + GAP, -GAP);
	while (taken(least) > width) {
		const last = [...kept].reduce((one, other) => ((all[other]?.rank ?? -1) > (all[one]?.rank ?? -1) ? other : one));
		if (all[last]?.rank === undefined) break;
		kept.delete(last);
	}
	const widths = [...natural];
	for (let over = taken(widths) - width; over > 0; over--) {
		const open = [...kept].filter((column) => (widths[column] ?? 0) > (least[column] ?? 0));
		// Where even that is too much, the text on the right gives way to what is before it.
		const column = open.length > 0 ? open.reduce((one, other) => ((widths[other] ?? 0) > (widths[one] ?? 0) ? other : one)) : [...kept].findLast((one) => all[one]?.least !== undefined && (widths[one] ?? 0) > 4);
		if (column === undefined) break;
		widths[column] = (widths[column] ?? 0) - 1;
	}
	const shown = [...kept].map((column) => ({ column, width: widths[column] ?? 0, ...(/** @type {Column} */ (all[column])) }));
	const missing = all.filter(({ title }, column) => title !== "" && !kept.has(column)).map(({ title }) => title);
	/** @type {(texts: string[], painted: (column: Column, text: string) => string) => string} */
	const line = (texts, painted) =>
		shown
			.map(({ column, width, ...one }) => {
				const text = (one.middle ? clipMiddle : clip)(texts[column], width);
				const space = " ".repeat(Math.max(0, width - widthOf(text)));
				const shownText = painted(one, text);
				return one.align === "right" ? space + shownText : shownText + space;
			})
			.join(" ".repeat(GAP))
			.trimEnd();
	const head = line(all.map(({ title }) => title), (_, text) => paint.bold(text));
	// On every screen the columns have their titles.
	const screen = isInTerminal() && process.stdout.rows > 4 ? process.stdout.rows - 2 : Infinity;
	const drawn = rows.flatMap((row, index) => [...(index % screen === 0 ? [head] : []), line(row, ({ paint: painted = (text) => text }, text) => painted(text, index))]);
	const note = missing.length === 0 ? [] : [paint.dim(clip(`(no room for ${missing.join(", ")})`, width))];
	return [...(rows.length === 0 ? [head] : drawn), ...note];
}
