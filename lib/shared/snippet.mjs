// Formats the snippet of a hit for a terminal.
import { clip, safeLine, widthOf } from "./text.mjs";

/** Marks around found words. Safe texts do not contain these characters. */
export const OPEN = "\u0001";
export const CLOSE = "\u0002";

/**
 * Splits a snippet into found and other pieces, which the caller paints. If it is too long, it begins shortly before
 * the first found piece.
 * @param {string} snippet
 * @param {number} width
 */
export function pieces(snippet, width) {
	/** @type {{ text: string, found: boolean }[]} */
	const pieces = [];
	for (const [index, piece] of snippet.split(OPEN).entries()) {
		const [found = "", rest = ""] = index === 0 ? ["", piece] : piece.split(CLOSE);
		pieces.push({ text: inside(found), found: true }, { text: inside(rest), found: false });
	}
	const first = pieces.findIndex(({ text, found }) => found && text !== "");
	const before = pieces
		.slice(0, first)
		.map(({ text }) => text)
		.join("");
	const total = pieces.reduce((sum, { text }) => sum + widthOf(text), 0);
	if (first > 0 && total > width && widthOf(before) > width / 4) {
		const kept = [...before].slice(-Math.floor(width / 4)).join("");
		pieces.splice(0, first, { text: `…${kept}`, found: false });
	}
	let room = width;
	const shown = pieces.map(({ text, found }) => {
		const fits = widthOf(text) <= room;
		// `clip` trims, so we keep the space before a piece.
		const space = text.startsWith(" ") && room > 1 ? " " : "";
		const shown = fits ? text : `${space}${clip(text, room - space.length)}`;
		room = fits ? room - widthOf(text) : 0;
		return { text: shown, found };
	});
	return shown.filter(({ text }) => text !== "");
}

/**
 * A snippet without marks.
 * @param {string} snippet
 * @param {number} [width]
 */
export const unmarked = (snippet, width = snippet.length) =>
	pieces(snippet, width)
		.map(({ text }) => text)
		.join("");

/**
 * Makes a piece of a line safe, and keeps white space at its ends.
 * @param {string} text
 */
const inside = (text) => safeLine(`x${text}x`).slice(1, -1);
