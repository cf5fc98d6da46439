// Writes output to the terminal, through a pager, or to a pipe.
import { spawn } from "node:child_process";
import { once } from "node:events";
import picocolors from "picocolors";
import { escapes, safeBlock, wrapped } from "../shared/text.mjs";
import { CommandError } from "./errors.mjs";

/**
 * Ends the command if its output cannot be written. A closed pipe (`pi-sessions list | head`) is no failure; a full
 * disk is one.
 * @param {boolean} asJson whether errors are JSON
 */
export function watchOutput(asJson) {
	process.stdout.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
		if (error.code === "EPIPE") process.exit(process.exitCode ?? 0);
		writeError(`Cannot write to standard output: ${error.message}`, asJson);
		process.exit(1);
	});
	// If standard error is gone, nothing can be reported.
	process.stderr.on("error", (/** @type {NodeJS.ErrnoException} */ error) =>
		process.exit(error.code === "EPIPE" ? (process.exitCode ?? 0) : 1),
	);
}

/** A safe text for standard error, which is wrapped at spaces in a terminal. @param {string} text */
export function forStderr(text) {
	const { isTTY, columns } = process.stderr;
	const lines = safeBlock(text).split("\n");
	return (isTTY && columns > 0 ? lines.flatMap((line) => wrapped(line, columns)) : lines).join("\n");
}

/**
 * @param {string} message
 * @param {boolean} asJson
 * @param {Record<string, unknown>} [details]
 */
export function writeError(message, asJson, details) {
	process.stderr.write(asJson ? `${json({ error: { message, ...details } })}\n` : forStderr(`Error: ${message}\n`));
}

/**
 * Prints a warning: the command continues.
 * @param {string} message
 * @param {boolean} asJson
 */
export function writeWarning(message, asJson) {
	process.stderr.write(asJson ? `${json({ warning: { message } })}\n` : forStderr(`Warning: ${message}\n`));
}

/**
 * Whether the terminal can only show lines, such as a shell inside an editor. It gets no colours, pager or
 * progress.
 */
const isDumb = process.env.TERM === "dumb";

/** Whether output has colours: in terminals, unless `NO_COLOR` is set; everywhere if `FORCE_COLOR` is set. */
function coloured() {
	const { NO_COLOR, FORCE_COLOR } = process.env;
	if (NO_COLOR) return false;
	if (FORCE_COLOR !== undefined && FORCE_COLOR !== "") return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
	return Boolean(process.stdout.isTTY) && !isDumb;
}

export const paint = picocolors.createColors(coloured());

/** Whether people read the output, so that it may contain hints. */
export const isInTerminal = () => Boolean(process.stdout.isTTY);

/** @type {number | undefined} */
let width;

/**
 * The width of the output, in columns: of the terminal, else `COLUMNS`, else 120. It is measured once, so that all rows
 * of a table have the same width.
 */
export function columns() {
	if (width === undefined) {
		const given = Number(process.env.COLUMNS);
		width = process.stdout.columns || (given > 0 ? given : 120);
	}
	return width;
}

/**
 * Writes to standard output, and waits if its buffer is full.
 * @param {string} text
 */
export async function write(text) {
	if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/**
 * JSON that is safe in a terminal: control characters and invisible characters become escapes, which parse to the same
 * values.
 * @param {unknown} value
 * @param {number} [indent]
 */
export function json(value, indent) {
	try {
		return JSON.stringify(value, null, indent).replace(
			/[\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|\p{Default_Ignorable_Code_Point}/gu,
			escapes,
		);
	} catch (error) {
		// JSON.parse reads any depth, JSON.stringify writes some thousand levels.
		if (error instanceof RangeError)
			throw new CommandError("The session contains a value that is nested too deeply to be written as JSON");
		throw error;
	}
}

/**
 * @param {unknown} value
 */
export const writeJson = (value) => write(`${json(value, 2)}\n`);

/**
 * Writes a list as JSON, one item at a time, so that the text of a large session is never in memory as a whole.
 * @param {Record<string, unknown>} head fields before the list
 * @param {string} key the name of the list's field
 * @param {Iterable<unknown>} items
 */
export async function writeJsonList(head, key, items) {
	const before = Object.entries(head).map(([name, value]) => `${json(name)}: ${json(value)},\n  `);
	await write(`{\n  ${before.join("")}${json(key)}: [`);
	let first = true;
	for (const item of items) {
		await write(`${first ? "" : ","}\n    ${json(item)}`);
		first = false;
	}
	await write(first ? "]\n}\n" : "\n  ]\n}\n");
}

/** Characters for each write, because a write for each line would take most of the time. */
const CHUNK = 1 << 16;

/** @param {Iterable<string>} lines */
async function writeLines(lines) {
	let chunk = "";
	for (const line of lines) {
		chunk += `${line}\n`;
		if (chunk.length < CHUNK) continue;
		await write(chunk);
		chunk = "";
	}
	if (chunk !== "") await write(chunk);
}

/**
 * Writes lines through `$PAGER`, else `less`, if standard output is a terminal. Windows has no `less`.
 * @param {() => Iterable<string>} makeLines called a second time if the pager does not exist
 * @param {{ pager?: boolean }} options
 */
export async function writePaged(makeLines, { pager = true }) {
	const command = process.env.PAGER ?? (process.platform === "win32" ? "" : "less");
	if (!pager || !process.stdout.isTTY || isDumb || command === "" || command === "cat")
		return await writeLines(makeLines());
	// F: no pager for a single screen; R: colours pass; X: the text stays on the screen.
	const child = spawn(command, {
		shell: true,
		stdio: ["pipe", "inherit", "inherit"],
		env: { LESS: "FRX", ...process.env },
	});
	const ended = new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", resolve);
	});
	// The pager may end before everything is written. It handles Ctrl-C itself.
	let gone = false;
	child.stdin.on("error", () => {
		gone = true;
	});
	const ignore = () => {};
	process.on("SIGINT", ignore);
	try {
		for (const line of makeLines()) {
			if (gone || child.exitCode !== null) break;
			if (!child.stdin.write(`${line}\n`)) await Promise.race([once(child.stdin, "drain").catch(ignore), ended]);
		}
		child.stdin.end();
		const code = await ended;
		// 127: the shell did not find the command. The lines are shown without a pager.
		if (code === 127) await writeLines(makeLines());
	} finally {
		process.off("SIGINT", ignore);
	}
}

/**
 * @typedef {{ update: (done: number, total: number) => void, stop: () => void }} Progress after `stop` the line no
 * longer appears
 */

/** The pause between two reports of progress, in milliseconds. */
const PROGRESS_MS = 100;

/**
 * Runs `work`, with a line about its progress on standard error if that is a terminal.
 * @template T
 * @param {string} what
 * @param {(progress: Progress) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(what, work) {
	if (!process.stderr.isTTY || isDumb) return await work({ update: () => {}, stop: () => {} });
	let [isShown, isStopped, shownAt] = [false, false, -Infinity];
	/** @type {Progress["update"]} */
	const update = (done, total) => {
		if (isStopped || (done < total && performance.now() < shownAt + PROGRESS_MS)) return;
		[isShown, shownAt] = [true, performance.now()];
		process.stderr.write(`\r${`${what} ${done}/${total}`.slice(0, process.stderr.columns - 1)}\x1b[K`);
	};
	const stop = () => {
		if (isShown && !isStopped) process.stderr.write("\r\x1b[K");
		isStopped = true;
	};
	try {
		return await work({ update, stop });
	} finally {
		stop();
	}
}
