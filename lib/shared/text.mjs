// Makes texts of sessions safe for a terminal. They come from models, tools and web pages: escape sequences in them
// could repaint the screen, set the clipboard or type commands.
import { createRequire } from "node:module";
import stringWidth from "string-width";

const require = createRequire(import.meta.url);

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/**
 * Invisible characters: of zero width, direction marks, tags, fillers, variation selectors. They can hide in a text or
 * reverse it.
 */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+/gu;
/** Invisible characters that scripts and emoji need: one variation selector, then one joiner. */
const WRITTEN_WITH = /^([\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}])?([\u200c\u200d])?$/u;
/** A character before a variation selector. Without `^`, Node 26 does not match the flag U+1F3F3. */
const SELECTED = /^[\p{Emoji}\p{sc=Han}\p{sc=Mongolian}]$/u;
/** A character beside a joiner: a pictograph, or a letter of a script that joins letters (Arabic, Indic). */
const JOINED = /^(?!\p{sc=Latin})[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u;
/** The flags of England, Scotland and Wales: a black flag followed by tag characters. */
const FLAGS = ["gbeng", "gbsct", "gbwls"].map(
	(name) => `${[...name].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("")}\u{e007f}`,
);
/**
 * Texts whose characters are one column wide and never combine with their neighbours. Calling the library takes longer.
 */
const NARROW = /^[ -~\u00a0-\u00a8\u00aa-\u00ad\u00af-\u02ff\u0370-\u0482\u048a-\u058f\u2010-\u2027→▁-█●○⋮├│─✓✗]*$/;
/** @type {Map<string, number>} a cache of widths, because the library takes microseconds for each */
const widths = new Map();
/**
 * @type {Intl.Segmenter | undefined} created when a text first needs it, because that takes as long as showing a small
 * list
 */
let graphemes;

/**
 * Any value as text, because fields of a session may have any type. A value that is not a text becomes its JSON, a
 * missing value the empty text.
 * @param {unknown} value
 * @returns {string}
 */
export function asText(value) {
	if (typeof value === "string") return value;
	if (value === undefined || value === null) return "";
	try {
		return JSON.stringify(value) ?? "";
	} catch (error) {
		if (error instanceof RangeError) return "(nested too deeply to show)";
		throw error;
	}
}

/**
 * Replaces every character of a text by `\u` and its number.
 * @param {string} text
 */
export function escapes(text) {
	let result = "";
	for (let at = 0; at < text.length; at++) result += `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`;
	return result;
}

/**
 * A text without the escape sequences of terminals, by the rule of search and lists.
 * @param {string} text
 * @returns {string}
 */
export function withoutEscapeSequences(text) {
	if (!text.includes("\u001b")) return text;
	try {
		// The extension shows texts before it uses the addon, and few texts have sequences.
		return require("../addon.js").withoutEscapeSequences(text);
	} catch {
		// Without the addon only messages are shown. The rest of a sequence cannot harm a terminal.
		return text;
	}
}

/**
 * Makes a text of several lines safe: removes colours and other sequences, shows control characters as symbols and
 * invisible characters as their numbers. Line ends and tabs stay.
 * @param {unknown} value
 */
export const safeBlock = (value) => visible(withoutEscapeSequences(asText(value)));

/** Shows the control characters and the invisible characters of a text. @param {string} text */
function visible(text) {
	if (/^[\t\n -~]*$/.test(text)) return text;
	return text
		.replace(/\r\n/g, "\n")
		.replace(/[\u2028\u2029]/g, "\n")
		.replace(CONTROL, (found) => picture(found.charCodeAt(0)))
		.toWellFormed()
		.replace(INVISIBLE, (run, offset, text) => (isWrittenWith(run, offset, text) ? run : escapes(run)));
}

/**
 * Whether the neighbours of a run of invisible characters need it.
 * @param {string} run
 * @param {number} offset
 * @param {string} text
 */
function isWrittenWith(run, offset, text) {
	const before = /.$/su.exec(text.slice(Math.max(0, offset - 2), offset))?.[0] ?? "";
	const [, selector, joiner] = WRITTEN_WITH.exec(run) ?? [];
	if (selector === undefined && joiner === undefined) return before === "\u{1f3f4}" && FLAGS.includes(run);
	const after = String.fromCodePoint(text.codePointAt(offset + run.length) ?? 0);
	return (
		(selector === undefined || SELECTED.test(before)) &&
		(joiner === undefined || (JOINED.test(before) && JOINED.test(after)))
	);
}

/**
 * The symbol of a control character.
 * @param {number} code
 */
function picture(code) {
	if (code < 0x20) return String.fromCharCode(0x2400 + code);
	return code === 0x7f ? "\u2421" : `\\x${code.toString(16)}`;
}

/**
 * Makes a text safe on one line: runs of white space become single spaces.
 * @param {unknown} value
 */
export function safeLine(value) {
	// Removing sequences joins runs of spaces, and U+2028 becomes a line end.
	return visible(withoutEscapeSequences(asText(value)).replace(GAPS, " "))
		.replace(GAPS, " ")
		.trim();
}

/** White space other than a single space, which is the most frequent and stays. */
const GAPS = /(?: (?=[\s\u0085])|[^\S ]|\u0085)[\s\u0085]*/g;

/**
 * The beginning of a text on one line, at most `width` columns wide, with `…` if it was cut. The time does not depend
 * on the length of the text.
 * @param {unknown} value
 * @param {number} width
 */
export function clip(value, width) {
	if (width <= 0) return "";
	const text = asText(value);
	// We take more than the width, because sequences and runs of white space have no columns. `toWellFormed` replaces
	// half of a surrogate pair.
	const line = safeLine(text.slice(0, 8 * width + 400).toWellFormed());
	const cut = text.length > 8 * width + 400;
	if (NARROW.test(line)) return !cut && line.length <= width ? line : `${line.slice(0, width - 1)}…`;
	let taken = 0;
	let kept = "";
	for (const segment of graphemesOf(line.slice(0, 8 * width))) {
		taken += charWidth(segment);
		if (taken > width) return `${kept}…`;
		// A column stays free for the `…`.
		if (taken < width) kept += segment;
	}
	return cut || line.length > 8 * width ? `${kept}…` : line;
}

/**
 * A text on one line, at most `width` columns wide, with `…` in place of its middle. Two thirds of the width are for
 * the end, because paths and names of models often differ there.
 * @param {unknown} value
 * @param {number} width
 */
export function clipMiddle(value, width) {
	const text = asText(value);
	const limit = 8 * width + 400;
	const line = safeLine(
		text.length > 2 * limit ? `${text.slice(0, limit)}…${text.slice(-limit)}`.toWellFormed() : text,
	);
	if (width < 5 || widthOf(line) <= width) return clip(line, width);
	const before = clip(line, Math.floor(width / 3) + 1);
	const space = width - widthOf(before);
	const characters = [...graphemesOf(line)];
	let from = characters.length;
	for (let taken = 0; from > 0; from--) {
		taken += charWidth(characters[from - 1] ?? "");
		if (taken > space) break;
	}
	return before + characters.slice(from).join("");
}

/** The grapheme clusters of a text. @param {string} text */
function* graphemesOf(text) {
	graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
	for (const { segment } of graphemes.segment(text)) yield segment;
}

/** @param {string} char a grapheme cluster */
function charWidth(char) {
	const width = widths.get(char) ?? widthOf(char);
	// Clusters have no maximum length, so we cache only short ones.
	if (char.length <= 2) widths.set(char, width);
	return width;
}

/**
 * The width of a safe text, in columns.
 * @param {string} text
 */
export const widthOf = (text) => (NARROW.test(text) ? text.length : stringWidth(text));

/**
 * Wraps a text at spaces to lines of at most `width` columns. A wider word stays whole.
 * @param {string} text
 * @param {number} width
 */
export function wrapped(text, width) {
	/** @type {string[]} */
	const lines = [];
	for (const word of text.split(" ")) {
		const last = lines.at(-1);
		if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
		else lines.push(word);
	}
	return lines;
}

/**
 * A size in bytes as text, such as `1.5 MiB`.
 * @param {number} bytes
 */
export function size(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let value = bytes;
	let unit = 0;
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/**
 * The age of a time in its largest unit, such as `3d`.
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
 * A number with groups of digits, such as `1,234`.
 * @param {number} value
 */
export function count(value) {
	const rounded = Math.round(value);
	// A thousand times as fast as `Intl.NumberFormat`. From 1e21 on `String` writes an exponent.
	return rounded < 1e21 ? String(rounded).replace(/\B(?=(?:\d{3})+$)/g, ",") : String(rounded);
}

/**
 * A number and its noun.
 * @param {number} value
 * @param {string} noun
 * @param {string} [several]
 */
export const counted = (value, noun, several = `${noun}s`) => `${count(value)} ${value === 1 ? noun : several}`;

/**
 * An amount in US dollars, with four decimals below one dollar.
 * @param {number} value
 */
export const dollars = (value) =>
	`$${value.toFixed(value !== 0 && Math.abs(value) < 1 ? 4 : 2).replace(/\B(?=(?:\d{3})+\.)/g, ",")}`;
