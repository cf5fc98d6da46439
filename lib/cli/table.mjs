// Tables for standard output.
import { layout } from "../shared/table-layout.mjs";
import { clip } from "../shared/text.mjs";
import { columns, isInTerminal, paint } from "./output.mjs";

/** @typedef {import("../shared/table-layout.mjs").Column} Column */

/**
 * The lines of a table without borders that is no wider than the terminal.
 * @param {Column[]} all
 * @param {string[][]} rows one text for each column
 */
export function table(all, rows) {
	const { head, lines, missing } = layout(all, rows, columns(), paint.bold);
	// Each screen repeats the titles of the columns.
	const screen = isInTerminal() && process.stdout.rows > 4 ? process.stdout.rows - 2 : Infinity;
	const drawn = lines.flatMap((line, index) => [...(index % screen === 0 ? [head] : []), line]);
	const note = missing.length === 0 ? [] : [paint.dim(clip(`(no room for ${missing.join(", ")})`, columns()))];
	return [...(rows.length === 0 ? [head] : drawn), ...note];
}
