// `pi-sessions fork` and `pi-sessions export`: a session, or a branch of it, somewhere else.
import { closeSync, existsSync, fstatSync, openSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { CommandError, UsageError } from "./errors.mjs";
import { CURRENT_SESSION_VERSION, SessionManager } from "./library.mjs";
import { markdown } from "./markdown.mjs";
import { json, write, writeJson } from "./output.mjs";
import { entryNamed, openReadOnly, sessionDir, sessionPath } from "./sessions.mjs";
import { safeLine } from "./text.mjs";

/** @typedef {import("./library.mjs").Manager} Manager */
/** @typedef {{ cwd?: string, dir?: string, json?: boolean, entry?: string, into?: string, id?: string, name?: string }} ForkOptions */
/** @typedef {{ cwd?: string, dir?: string, json?: boolean, format?: string, output?: string, leaf?: string, all?: boolean, full?: boolean, force?: boolean }} ExportOptions */

/**
 * @param {string | undefined} query
 * @param {ForkOptions} options
 */
export async function fork(query, options) {
	const source = await sessionPath(query, options);
	const made = options.entry === undefined ? forkWhole(source, options) : forkAt(source, options.entry, options);
	if (options.name !== undefined) made.appendSessionInfo(options.name);
	const file = made.getSessionFile();
	if (file === undefined || !existsSync(file)) throw new CommandError("That path holds no message of user or model yet, so there is nothing to fork");
	if (options.json) return await writeJson({ path: file, id: made.getSessionId(), cwd: made.getCwd(), parentSession: source, entries: made.getEntryCount() });
	await write(`${safeLine(file)}\n`);
}

/**
 * @param {string} source
 * @param {ForkOptions} options
 */
function forkWhole(source, options) {
	const target = options.into === undefined ? openReadOnly(source).getCwd() : resolve(options.into);
	return SessionManager.forkFrom(source, target, sessionDir(options), options.id === undefined ? undefined : { id: options.id });
}

/**
 * A session that holds the path to one entry.
 * @param {string} source
 * @param {string} entry
 * @param {ForkOptions} options
 */
function forkAt(source, entry, options) {
	if (options.id !== undefined) throw new UsageError("--id goes with a fork of the whole session, without --entry");
	if (options.into !== undefined) throw new UsageError("--into goes with a fork of the whole session, without --entry");
	const looked = openReadOnly(source);
	const { id } = entryNamed(looked, entry);
	if (!looked.isPersisted()) {
		throw new CommandError(`A file of a version before ${CURRENT_SESSION_VERSION} is migrated first: fork it whole, then fork that at the entry`);
	}
	const manager = SessionManager.open(source, sessionDir(options));
	manager.createBranchedSession(id);
	return manager;
}

/**
 * @param {string | undefined} query
 * @param {ExportOptions} options
 */
export async function exportSession(query, options) {
	const manager = openReadOnly(await sessionPath(query, options));
	const format = options.format ?? (options.output?.endsWith(".jsonl") || options.json ? "jsonl" : "md");
	if (options.json && format !== "jsonl") throw new UsageError("--json exports JSON lines; --format md goes without it");
	if (options.all && format === "md") throw new UsageError("Markdown is one conversation: --all goes with --format jsonl");
	if (options.all && options.leaf !== undefined) throw new UsageError("Either --all or --leaf");
	const leaf = options.leaf === undefined ? undefined : entryNamed(manager, options.leaf).id;
	const entries = options.all ? manager.getEntries() : manager.getBranch(leaf);
	const pieces = format === "jsonl" ? jsonLines(manager, entries) : markdown(manager, entries, { full: Boolean(options.full) });
	if (options.output === undefined || options.output === "-") {
		for (const piece of pieces) await write(piece);
		return;
	}
	writeFile(options.output, pieces, Boolean(options.force));
}

/**
 * @param {Manager} manager
 * @param {import("./library.mjs").SessionEntry[]} entries
 */
function* jsonLines(manager, entries) {
	yield `${json(manager.getHeader())}\n`;
	for (const entry of entries) yield `${json(entry)}\n`;
}

/**
 * Writes a new file that only its owner can read: sessions hold what people would not publish.
 * @param {string} path
 * @param {Iterable<string>} pieces
 * @param {boolean} force whether a file that is there may go
 */
export function writeFile(path, pieces, force) {
	let file;
	try {
		file = openSync(path, force ? "w" : "wx", 0o600);
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
		throw new CommandError(`There is a file already: ${path} (--force writes over it)`);
	}
	try {
		for (const piece of pieces) {
			const bytes = Buffer.from(piece);
			for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
		}
		return fstatSync(file).size;
	} finally {
		closeSync(file);
	}
}
