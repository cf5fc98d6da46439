// The output of the command. Texts that others wrote reach the terminal only through `safeLine`.
import { once } from "node:events";
import { createInterface } from "node:readline";
import picocolors from "picocolors";
import text from "../base/text.js";

/** A failure: the message is for the user, and the exit code is 1. */
export class CommandError extends Error {}
/** The command was called in a wrong way: the exit code is 2. */
export class UsageError extends Error {}

export const paint = picocolors;

export const { safeLine } = text;

/**
 * Whether the user agrees: by `--yes`, or by the answer to a question in a terminal.
 * @param {string} question
 * @param {{ yes?: boolean, json?: boolean }} options
 */
export async function isConfirmed(question, { yes, json }) {
	if (yes) return true;
	if (json || !process.stdin.isTTY || !process.stderr.isTTY)
		throw new UsageError(
			"Nothing was changed: " +
				(json ? "with --json no question is asked" : "there is no terminal to ask for confirmation") +
				". Add --yes",
		);
	const asked = createInterface({ input: process.stdin, output: process.stderr });
	// Ctrl-C and the end of the input close the interface; both count as no.
	const answer = await new Promise((resolve) => {
		asked.on("close", () => resolve(""));
		asked.question(`${question} [y/N] `, resolve);
	});
	asked.close();
	const isAgreed = /^y(es)?$/i.test(String(answer).trim());
	if (!isAgreed) process.stderr.write("Nothing was changed\n");
	return isAgreed;
}

/** The beginning of a text on one line. @param {unknown} value @param {number} length */
export function clip(value, length) {
	const characters = [...safeLine(value)];
	return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : characters.join("");
}

/**
 * The ids of hosts on one line. Ids of cloud machines often differ only at their end, so a long one loses its middle,
 * unless two ids then look alike.
 * @param {string[]} hosts
 */
export function shownHosts(hosts) {
	const all = safeLine(hosts.join(", "));
	if (all.length <= 60) return all;
	const short = (/** @type {string} */ host) => (host.length > 29 ? `${host.slice(0, 12)}…${host.slice(-16)}` : host);
	const more = hosts.length > 2 ? ` and ${hosts.length - 2} more` : "";
	const named = hosts.slice(0, 2);
	const isClear = new Set(named.map(short)).size === named.length;
	return `${safeLine((isClear ? named.map(short) : named).join(", "))}${more}`;
}

/** @param {string} output */
export async function write(output) {
	if (!process.stdout.write(output)) await once(process.stdout, "drain");
}

/** @param {unknown} value */
export const writeJson = (value) => write(`${text.safeJson(value, 2)}\n`);

/**
 * An error without the id at its beginning, in a line that shows the id already.
 * @param {string} message
 * @param {string | undefined} session
 */
export const withoutId = (message, session) =>
	message.startsWith(`Session ${session}: `) ? message.slice(`Session ${session}: `.length) : message;

/** The printed warnings, because a command may look at a directory twice. @type {Set<string>} */
const warned = new Set();

/** @param {string} message @param {boolean} asJson */
export function writeWarning(message, asJson) {
	if (warned.has(message)) return;
	warned.add(message);
	process.stderr.write(asJson ? `${text.safeJson({ warning: { message } })}\n` : `Warning: ${safeLine(message)}\n`);
}

/** @param {string} message @param {boolean} asJson @param {string} [code] of the error of a store or of the system */
export const writeError = (message, asJson, code) =>
	void process.stderr.write(
		asJson
			? `${text.safeJson({ error: { message, code } })}\n`
			: `Error: ${message.split("\n").map(safeLine).join("\n")}\n`,
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

/** The age of something, in its largest unit. @param {Date} then */
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
