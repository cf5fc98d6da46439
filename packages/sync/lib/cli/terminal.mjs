// The output of the command. Texts from a store were written by others: none of them reaches the terminal but through
// `safeLine`.
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import picocolors from "picocolors";

/** A failure: the message is for the user, and the exit code is 1. */
export class CommandError extends Error {}
/** The command was called in a wrong way: the exit code is 2. */
export class UsageError extends Error {}

export const paint = picocolors;

/** Control characters, marks of direction and others that nobody sees. */
const INVISIBLE = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u061c\u200e\u200f\u2066-\u2069\ufff9-\ufffb]/gu;
const escaped = (/** @type {string} */ text) =>
	[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** A text on one line, fit for a terminal. @param {unknown} value */
export const safeLine = (value) =>
	stripVTControlCharacters(String(value))
		.replace(/[\s\u0085]+/g, " ")
		.trim()
		.toWellFormed()
		.replace(INVISIBLE, escaped);

/** The beginning of a text on one line. @param {unknown} value @param {number} length */
export function clip(value, length) {
	const characters = [...safeLine(value)];
	return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : characters.join("");
}

/** @param {string} text */
export async function write(text) {
	if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/** JSON for programs, in which a terminal finds nothing to obey. @param {unknown} value @param {number} [indent] */
const json = (value, indent) =>
	JSON.stringify(value, null, indent).replace(
		/[\u007f-\u009f\u2028\u2029]|\p{Default_Ignorable_Code_Point}/gu,
		escaped,
	);

/** @param {unknown} value */
export const writeJson = (value) => write(`${json(value, 2)}\n`);

/** @param {string} message @param {boolean} asJson */
export const writeWarning = (message, asJson) =>
	void process.stderr.write(asJson ? `${json({ warning: { message } })}\n` : `Warning: ${safeLine(message)}\n`);

/** @param {string} message @param {boolean} asJson */
export const writeError = (message, asJson) =>
	void process.stderr.write(
		asJson ? `${json({ error: { message } })}\n` : `Error: ${message.split("\n").map(safeLine).join("\n")}\n`,
	);

/** Columns of texts, each as wide as its longest. @param {string[]} titles @param {string[][]} rows */
export function table(titles, rows) {
	const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
	const line = (/** @type {string[]} */ row) =>
		row
			.map((text, column) => text.padEnd(widths[column] ?? 0))
			.join("  ")
			.trimEnd();
	return [paint.bold(line(titles)), ...rows.map(line)];
}

/** Bytes as people read them. @param {number} bytes */
export function size(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let [value, unit] = [bytes, 0];
	for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
	return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** How long ago something was, in its largest unit. @param {Date} then */
export function age(then) {
	const seconds = (Date.now() - then.getTime()) / 1000;
	if (!(seconds >= 60)) return "now";
	const units = /** @type {const} */ ([
		["y", 365 * 86400],
		["w", 7 * 86400],
		["d", 86400],
		["h", 3600],
		["m", 60],
	]);
	const [unit, length] = units.find(([, length]) => seconds >= length) ?? ["m", 60];
	return `${Math.floor(seconds / length)}${unit}`;
}

/** A count and its noun. @param {number} value @param {string} noun */
export const counted = (value, noun) => `${value} ${noun}${value === 1 ? "" : "s"}`;

/** Whether people see how far a command is. */
const showsProgress = () => process.stderr.isTTY && process.env.TERM !== "dumb";

/**
 * Shows how far something is, on standard error of a terminal.
 * @template T
 * @param {string} what
 * @param {(update: (done: number, total: number) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(what, work) {
	if (!showsProgress()) return work(() => {});
	try {
		return await work((done, total) => void process.stderr.write(`\r${what} ${done}/${total}\x1b[K`));
	} finally {
		process.stderr.write("\r\x1b[K");
	}
}
