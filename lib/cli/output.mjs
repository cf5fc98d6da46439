// Where output goes: the terminal, a pager before it, or a pipe.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { win32 } from "node:path";
import picocolors from "picocolors";
import { escapes, safeBlock } from "../shared/text.mjs";
import { CommandError } from "./errors.mjs";
import { onSignal } from "./signals.mjs";

/**
 * Ends the command when its output cannot be written. `pi-sessions list | head` is not a failure: the reader has seen
 * enough. A full disk is.
 * @param {boolean} asJson whether errors are JSON
 */
export function watchOutput(asJson) {
	process.stdout.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
		if (error.code === "EPIPE") process.exit(process.exitCode ?? 0);
		writeError(`Standard output cannot be written: ${error.message}`, asJson);
		process.exit(1);
	});
	// If standard error is gone, nothing can be reported.
	process.stderr.on("error", (/** @type {NodeJS.ErrnoException} */ error) =>
		process.exit(error.code === "EPIPE" ? (process.exitCode ?? 0) : 1),
	);
}

/**
 * @param {string} message
 * @param {boolean} asJson
 * @param {Record<string, unknown>} [details]
 */
export function writeError(message, asJson, details) {
	process.stderr.write(asJson ? `${json({ error: { message, ...details } })}\n` : `Error: ${safeBlock(message)}\n`);
}

/**
 * A warning: something that the user should know and that does not stop the command.
 * @param {string} message
 * @param {boolean} asJson
 */
export function writeWarning(message, asJson) {
	process.stderr.write(asJson ? `${json({ warning: { message } })}\n` : `Warning: ${safeBlock(message)}\n`);
}

/**
 * Whether a terminal can do nothing but show lines, such as the shell within an editor: no colours, no pager, no bar.
 */
const isDumb = process.env.TERM === "dumb";

/** Colours are for terminals. `NO_COLOR` turns them off, `FORCE_COLOR` turns them on everywhere. */
function coloured() {
	const { NO_COLOR, FORCE_COLOR } = process.env;
	if (NO_COLOR) return false;
	if (FORCE_COLOR !== undefined && FORCE_COLOR !== "") return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
	return Boolean(process.stdout.isTTY) && !isDumb;
}

export const paint = picocolors.createColors(coloured());

/** Whether people read the output: then it may say more than it would to programs. */
export const isInTerminal = () => Boolean(process.stdout.isTTY);

/** @type {number | undefined} */
let width;

/**
 * Columns to fill; a pipe has no width of its own. They are those of the beginning: lines of one table are equally
 * wide.
 */
export function columns() {
	if (width === undefined) {
		const given = Number(process.env.COLUMNS);
		width = process.stdout.columns || (given > 0 ? given : 120);
	}
	return width;
}

/**
 * Writes to standard output and waits while it is full.
 * @param {string} text
 */
export async function write(text) {
	if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/**
 * JSON that a terminal may see: what `JSON.stringify` leaves as it is of control characters and invisible ones becomes
 * escapes, which read as the same values.
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
		if (error instanceof RangeError) throw new CommandError("A value is nested too deeply to be written as JSON");
		throw error;
	}
}

/**
 * @param {unknown} value
 */
export const writeJson = (value) => write(`${json(value, 2)}\n`);

/**
 * Writes a list as JSON, one item at a time: the text of a large session is never held whole.
 * @param {Record<string, unknown>} head fields before the list
 * @param {string} key the list's own
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

/** Characters that are written at once: a call for each line takes longer than most lines take to make. */
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
 * The pager to start. A shell on Windows looks for a program in the working directory first, which may hold anything,
 * so the default one is named by its full path there.
 * @param {NodeJS.Platform} platform
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ command: string, shell: boolean }}
 */
export function pagerCommand(platform, env) {
	if (env.PAGER !== undefined) return { command: env.PAGER, shell: true };
	if (platform !== "win32") return { command: "less", shell: true };
	return { command: win32.join(env.SystemRoot ?? "C:\\Windows", "System32", "more.com"), shell: false };
}

/**
 * Writes lines through `$PAGER`, else `less` (on Windows `more`), if standard output is a terminal.
 * @param {() => Iterable<string>} makeLines called again if there is no such pager
 * @param {{ pager?: boolean }} options
 */
export async function writePaged(makeLines, { pager = true }) {
	const { command, shell } = pagerCommand(process.platform, process.env);
	if (!pager || !process.stdout.isTTY || isDumb || command === "" || command === "cat")
		return await writeLines(makeLines());
	// F: no pager for a single screen; R: colours pass; X: the text stays on the screen.
	const child = spawn(command, { shell, stdio: ["pipe", "inherit", "inherit"], env: { LESS: "FRX", ...process.env } });
	const ended = new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", resolve);
	});
	// The pager may end before all is written; the keys it reads are not for this process.
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
 * @typedef {{ update: (done: number, total: number) => void, stop: () => void }} Progress after `stop` nothing is shown
 */

/**
 * Does something whose progress is shown on standard error, where that is a terminal.
 * @template T
 * @param {string} what
 * @param {(progress: Progress) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(what, work) {
	if (!process.stderr.isTTY || isDumb) return await work({ update: () => {}, stop: () => {} });
	// Loaded where it is shown.
	const cliProgress = /** @type {typeof import("cli-progress")} */ (createRequire(import.meta.url)("cli-progress"));
	const format = `${what} {bar} {value}/{total}`;
	const bar = new cliProgress.SingleBar({
		format,
		stream: process.stderr,
		hideCursor: true,
		clearOnComplete: true,
		barsize: 30,
	});
	let isStopped = false;
	const stop = () => {
		if (bar.isActive) bar.stop();
		isStopped = true;
	};
	/** @type {Progress["update"]} */
	const update = (done, total) => {
		if (isStopped) return;
		if (!bar.isActive) bar.start(total, done);
		bar.setTotal(total);
		bar.update(done);
	};
	// The bar hides the cursor and ends the wrapping of lines: a command that is ended gives both back.
	const off = onSignal(stop);
	try {
		return await work({ update, stop });
	} finally {
		stop();
		off();
	}
}
