// `pi-sync redact`: removes a text, or the content of entries, from a session, its backups, every copy of the same
// entries on this machine, and the store.
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { SessionManager } from "pi-session-native";
import { everySessionFile, everySessionFolder, subagentFiles } from "pi-session-native/session-files";
import { isAbsence } from "../base/calls.js";
import local from "../machine/local-sessions.js";
import redactions from "../sync/redact-files.js";
import { RedactionFile } from "../sync/redaction-file.js";
import { entryIds, namedDir, sessionPath } from "./places.mjs";
import { emptiedNote } from "./push-and-pull.mjs";
import { ifStoreIsNamed, notesDirHere, syncOf } from "./store-connection.mjs";
import { counted, paint, safeLine, UsageError, write, writeJson, writeWarning } from "./terminal.mjs";

/** @typedef {import("./places.mjs").Options & { text?: string, entry?: string[], replacement?: string }} Options */
/** @typedef {import("pi-session-native").RedactInput} RedactInput */
/** @typedef {import("pi-session-native").RedactReport["lines"]} RedactedLines */
/**
 * The result for a session file, or for the temporary files in a folder, or the expected result.
 * @typedef {object} Row
 * @property {string} file
 * @property {string[]} [temporaryFiles] of a folder: the removed files, which killed processes had left there
 * @property {number} lines the number of redacted lines
 * @property {string[]} backups the redacted backups
 * @property {number} stored the number of redacted lines that only the store contained
 * @property {number} emptied the number of lines that lost their content, because two machines had redacted them in
 * different ways
 * @property {number} left the number of lines that still contain the text, because it cannot be replaced there
 * @property {boolean} isLocked another process has locked the session
 * @property {boolean} isCatalogClean
 * @property {boolean} isStored the store has redacted it
 * @property {string} [error] why the file was not redacted
 * @property {string} [storeError] why the store was not: the next push or pull of the session redacts it there
 */
/**
 * `stored`: the lines that only the store contained; `error`: the store's.
 * @typedef {import("pi-session-native").RedactReport & { stored?: RedactedLines, emptied?: number, error?: Error }}
 * Report
 */

/**
 * @param {string} query
 * @param {Options} options
 * @returns {Promise<number>}
 */
export async function redact(query, options) {
	if ((options.text === undefined) === (options.entry === undefined))
		throw new UsageError(
			"Use either --text, for a text to remove, or --entry, for entries whose content is to be removed",
		);
	const path = await sessionPath(query, options);
	const what = whatOf(path, options);
	/** @type {Row[]} */
	const rows = [];
	let isSilent = false;
	await ifStoreIsNamed(options, async (connection, silence) => {
		isSilent = silence !== undefined;
		if (silence !== undefined)
			writeWarning(`${safeLine(silence)}: only this machine is redacted`, Boolean(options.json));
		const planned = await redactOne(path, { ...what, dryRun: true }, connection, options);
		const lines = [...planned.lines, ...(planned.stored ?? [])];
		const dirs = [namedDir(options), dirname(path)];
		// Copies come first, because the session's own entries tell which lines of a copy are to be changed.
		const found = lines.length > 0 ? everySessionFile(...dirs) : subagentFiles(path);
		const others = found.filter((other) => other !== path);
		const inCopies = ofCopies(path, what, lines);
		// Killed processes leave temporary files of any session, also in folders without a session.
		const { text, replacement } = what;
		const inTemporaryFiles = text === undefined ? inCopies(path) : { text, replacement };
		for (const folder of everySessionFolder(...dirs)) rows.push(...temporaryRowsOf(folder, inTemporaryFiles, options));
		// A folder that cannot be read is among the others, and failed above.
		const isReported = (/** @type {string} */ other) => rows.some(({ file }) => file === other);
		for (const other of others)
			if (!isReported(other)) rows.push(...(await rowsOf(other, inCopies(other), connection, options)));
		// The store may not know of an earlier run yet.
		rows.push(...(await rowsOf(path, what, connection, options, true)));
		await report(path, rows, { others, notReached: notReachedBy(connection, isSilent) }, options);
	});
	const isBad = (/** @type {Row} */ { error, storeError, left, isCatalogClean }) =>
		error !== undefined || storeError !== undefined || left > 0 || !isCatalogClean;
	return isSilent || rows.some(isBad) ? 1 : 0;
}

/** @param {string} path @param {Options} options @returns {RedactInput} */
function whatOf(path, { text, entry, replacement }) {
	if (entry !== undefined) return { entries: entryIds(path, entry), replacement };
	// Every user of the machine can see arguments.
	const given = text === "-" ? readFileSync(0, "utf8").replace(/\r?\n$/, "") : text;
	if (!given) throw new UsageError("--text must not be empty");
	return { text: given, replacement };
}

/**
 * Returns a function from the path of another session to what must be removed from it.
 * @param {string} path
 * @param {RedactInput} what
 * @param {RedactedLines} lines
 * @returns {(other: string) => RedactInput}
 */
function ofCopies(path, { text, replacement }, lines) {
	if (text === undefined)
		return () => ({ lines: lines.map(({ hash, line }) => ({ hash, line, session: path })), replacement });
	const entries = lines.flatMap(({ id }) => id ?? []);
	// Subagents' sessions repeat texts of the session under other ids.
	const own = new Set(subagentFiles(path));
	return (other) => ({ text, entries: own.has(other) ? undefined : entries, replacement });
}

/**
 * Redacts a file, and its session in the store. Without a store the changes are noted for stores that are named later.
 * @param {string} file
 * @param {RedactInput} what
 * @param {import("./store-connection.mjs").Connection | undefined} connection
 * @param {Options} options
 * @returns {Promise<Report>}
 */
async function redactOne(file, what, connection, options) {
	// A file that no store takes is redacted as well.
	const found = [...(await local.localSessions(dirname(file))).values()].find((one) => one.file === file);
	if (found && connection) return (await syncOf(connection, found, options)).redact(found, what);
	return redactions.redactFile(file, what, { redactionFile: found && new RedactionFile(notesDirHere(), found) });
}

/**
 * Removes the temporary files of a folder.
 * @param {string} folder
 * @param {RedactInput} what
 * @param {Options} options
 * @returns {Row[]} empty if none of them contains it
 */
function temporaryRowsOf(folder, what, { dryRun }) {
	try {
		const planned = SessionManager.redact(folder, { ...what, dryRun: true });
		if (planned.temporaryFiles.length === 0) return [];
		const { temporaryFiles, left } = dryRun ? planned : SessionManager.redact(folder, what);
		return [{ ...NOTHING, file: folder, temporaryFiles, left }];
	} catch (error) {
		return failureOf(folder, error);
	}
}

/**
 * Redacts a file, and its session in the store.
 * @param {string} file
 * @param {RedactInput} what
 * @param {import("./store-connection.mjs").Connection | undefined} connection
 * @param {Options} options
 * @param {boolean} [isNamed] the user named this session, so the store is asked whatever the file contains
 * @returns {Promise<Row[]>} empty if there is nothing to remove
 */
async function rowsOf(file, what, connection, options, isNamed = false) {
	try {
		// A dry run takes no lock, so a locked session that does not contain the text causes no error.
		const planned = SessionManager.redact(file, { ...what, dryRun: true });
		const isThere = planned.lines.length + planned.backups.length + planned.left > 0;
		if (!isThere && !isNamed) return [];
		const { lines, backups, left, isCatalogClean, stored, emptied, error } = {
			emptied: 0,
			...(await redactOne(file, { ...what, dryRun: options.dryRun }, connection, options)),
		};
		if (!isThere && !stored?.length && emptied === 0 && error === undefined && isCatalogClean) return [];
		return [
			{
				file,
				lines: lines.length,
				backups,
				stored: stored?.length ?? 0,
				emptied,
				left,
				isLocked: SessionManager.isLocked(file),
				isCatalogClean,
				isStored: stored !== undefined && error === undefined,
				storeError: error?.message,
			},
		];
	} catch (error) {
		return failureOf(file, error, isNamed);
	}
}

/** @param {string} file @param {unknown} error @param {boolean} [isNamed] @returns {Row[]} */
function failureOf(file, error, isNamed = false) {
	const { code, message } = Object(error);
	// A broken link, a file or folder that was deleted meanwhile, or a pipe does not contain the text.
	if (!isNamed && (isAbsence(error) || isSpecialFile(file))) return [];
	return [{ ...NOTHING, file, isLocked: code === "ERR_SESSION_LOCKED", error: message ?? String(error) }];
}

/** Whether a path leads to a pipe, a socket or a device. @param {string} path */
function isSpecialFile(path) {
	try {
		const stat = statSync(path);
		return !stat.isFile() && !stat.isDirectory();
	} catch {
		return false;
	}
}

/** @type {Omit<Row, "file">} */
const NOTHING = {
	...{ lines: 0, backups: [], stored: 0, emptied: 0, left: 0 },
	...{ isLocked: false, isCatalogClean: true, isStored: false },
};

/**
 * Copies that the command cannot reach.
 * @param {import("./store-connection.mjs").Connection | undefined} connection
 * @param {boolean} isSilent whether a store is named that did not answer
 */
function notReachedBy(connection, isSilent) {
	const why = isSilent ? "the one that is named did not answer" : "none is named (--store)";
	const elsewhere = [
		"files, backups and catalogs of other machines: each redacts them when it pulls",
		"forks that only the store contains: a machine that pulls them and knows of this redaction redacts them",
		...(connection?.store.copies ?? []),
	];
	return [
		...(connection ? elsewhere : [`stores: ${why}; the next push or pull of the session redacts it there`]),
		"the memory of a pi that has the session open: end that pi",
		"exports, pages and other copies outside of session directories",
	];
}

/**
 * @param {string} path
 * @param {Row[]} rows
 * @param {{ others: string[], notReached: string[] }} about `others`: the other files that were searched
 * @param {Options} options
 */
async function report(path, rows, { others, notReached }, { json, dryRun }) {
	if (json) return writeJson({ file: path, dryRun: Boolean(dryRun), files: rows, others: others.length, notReached });
	if (rows.length === 0) return write(`Nothing to redact in ${safeLine(path)}\n`);
	for (const row of rows) await write(`${describe(row, Boolean(dryRun)).join("\n  ")}\n`);
	const files = rows.filter(({ file }) => others.includes(file));
	const failed = files.filter(({ error }) => error !== undefined).length;
	const found = files.length - failed;
	if (others.length > 0)
		await write(
			`${counted(others.length, "other session file")} searched: ${found} with the text, ` +
				`${others.length - found - failed} without${failed > 0 ? `, ${failed} failed` : ""}\n`,
		);
	if (!dryRun) await write(`Not reached:\n${notReached.map((line) => `  ${line}\n`).join("")}`);
}

/**
 * The lines that describe a folder.
 * @param {string} folder
 * @param {number} count
 * @param {number} left
 * @param {boolean} isDryRun
 */
function describeTemporary(folder, count, left, isDryRun) {
	const files = counted(count, "temporary file");
	const done = `${paint.green(isDryRun ? "would remove" : "removed")}  ${safeLine(folder)}: ${files} of killed processes`;
	if (left === 0) return [done];
	const contain = left === 1 ? "contains" : "contain";
	return [done, `${counted(left, "line")} of temporary files that cannot be removed still ${contain} it`];
}

/** The lines that describe a row. @param {Row} row @param {boolean} isDryRun */
function describe(row, isDryRun) {
	const { file, temporaryFiles, lines, backups, stored, emptied, left, isLocked, isCatalogClean, error } = row;
	if (temporaryFiles !== undefined) return describeTemporary(file, temporaryFiles.length, left, isDryRun);
	const about = [counted(lines, "line")];
	if (backups.length > 0) about.push(counted(backups.length, "backup"));
	if (stored > 0) about.push(`${counted(stored, "more line")} in the store`);
	const done = `${paint.green(isDryRun ? "would redact" : "redacted")}  ${safeLine(file)}: ${about.join(", ")}`;
	const described = [error === undefined ? done : `${paint.red("failed")}  ${safeLine(file)}: ${safeLine(error)}`];
	if (isLocked && error !== undefined)
		described.push("another process has locked the session: end it, and run this command again");
	described.push(...emptiedNote(emptied));
	if (row.storeError !== undefined) {
		const meaning = isDryRun
			? "the content of the store is not known"
			: "the store may still contain it: the next push or pull of the session redacts it there";
		described.push(`${meaning}: ${safeLine(row.storeError)}`);
	}
	if (left > 0)
		described.push(
			`${counted(left, "line")} still ${left === 1 ? "contains" : "contain"} the text where it cannot be ` +
				"replaced: in a header, an id, a number, or a line that is too long to be read",
		);
	if (!isCatalogClean)
		described.push(
			"the catalog may still contain the text: end the programs that use the catalog, and run this command again " +
				"with the newest installed release",
		);
	return described;
}
