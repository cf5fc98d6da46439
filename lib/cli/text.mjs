// Text of sessions made fit for a terminal. A session holds what models, tools and web pages said: escape sequences
// in it could repaint the screen, set the clipboard or type commands, so none of it reaches a terminal as it is.
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";

/** Invisible characters that change how the text around them is shown: direction marks and overrides. */
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * Text of several lines: colours and other sequences are taken out, what is left of control characters is shown as a
 * sign. Line ends and tabs stay.
 * @param {string} text
 */
export function safeBlock(text) {
	return stripVTControlCharacters(text.replace(/\r\n/g, "\n"))
		.replace(/[\u2028\u2029]/g, "\n")
		.replace(CONTROL, (found) => picture(found.charCodeAt(0)))
		.replace(BIDI, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`)
		.toWellFormed();
}

/**
 * The sign for a control character.
 * @param {number} code
 */
function picture(code) {
	if (code < 0x20) return String.fromCharCode(0x2400 + code);
	return code === 0x7f ? "\u2421" : `\\x${code.toString(16)}`;
}

/**
 * The same on one line, white space made single spaces.
 * @param {string} text
 */
export function safeLine(text) {
	return safeBlock(text.replace(/[\s\u0085]+/g, " "))
		.replace(/\s+/g, " ")
		.trim();
}

/**
 * The beginning of a text on one line, at most `width` columns wide, with `…` where it was cut. Cost does not grow with
 * the text.
 * @param {string} text
 * @param {number} width
 */
export function clip(text, width) {
	// Sequences and runs of white space take no room, hence more than the width; a surrogate pair is not torn.
	const line = safeLine(text.slice(0, 8 * width + 400).toWellFormed());
	const cut = text.length > 8 * width + 400;
	if (width <= 0) return "";
	if (/^[ -~]*$/.test(line)) return !cut && line.length <= width ? line : `${line.slice(0, width - 1)}…`;
	let taken = 0;
	let kept = "";
	for (const { segment } of graphemes.segment(line.slice(0, 8 * width))) {
		taken += segment.length === 1 && segment < "\u0300" ? 1 : stringWidth(segment);
		if (taken > width) return `${kept}…`;
		// What is kept leaves a column for the sign, should more follow.
		if (taken < width) kept += segment;
	}
	return cut || line.length > 8 * width ? `${kept}…` : line;
}

/**
 * Bytes as people read them.
 * @param {number} bytes
 */
export function size(bytes) {
	const units = ["B", "KB", "MB", "GB", "TB"];
	let value = bytes;
	let unit = 0;
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/**
 * How long ago something was, in its largest unit.
 * @param {Date} then
 * @param {number} [now] milliseconds
 */
export function age(then, now = Date.now()) {
	const seconds = (now - then.getTime()) / 1000;
	if (Number.isNaN(seconds)) return "?";
	if (seconds < 60) return "now";
	for (const [unit, length, next] of /** @type {const} */ ([
		["m", 60, 3600],
		["h", 3600, 86400],
		["d", 86400, 7 * 86400],
		["w", 7 * 86400, 365 * 86400],
		["y", 365 * 86400, Infinity],
	])) {
		if (seconds < next) return `${Math.floor(seconds / length)}${unit}`;
	}
	return "?";
}

/**
 * A count with its digits in groups.
 * @param {number} value
 */
export const count = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 });

/**
 * A count and its noun.
 * @param {number} value
 * @param {string} noun
 * @param {string} [several]
 */
export const counted = (value, noun, several = `${noun}s`) => `${count(value)} ${value === 1 ? noun : several}`;

/**
 * US dollars; small sums keep the digits that say something.
 * @param {number} value
 */
export const dollars = (value) => `$${value.toFixed(value !== 0 && Math.abs(value) < 1 ? 4 : 2)}`;
