// `pi-sessions redact`: removes a text, or the content of entries, from a session, its backups and every copy of the
// same entries on this machine.
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { SessionManager } from "../../index.mjs";
import { everySessionFile, everySessionFolder, subagentFiles } from "../shared/session-dir.mjs";
import { count, counted, safeLine } from "../shared/text.mjs";
import { sessionDir } from "./dir-options.mjs";
import { UsageError } from "./errors.mjs";
import { paint, write, writeJson } from "./output.mjs";
import { findEntry, openReadOnly, sessionPath } from "./sessions.mjs";

/**
 * @typedef {import("./dir-options.mjs").DirOptions & { text?: string, entry?: string[], replacement?: string, dryRun?:
 * boolean }} Options
 */
/** @typedef {import("../../index.js").RedactInput} RedactInput */
/** @typedef {import("../../index.js").RedactReport["lines"]} RedactedLines */
/**
 * The result for a session file, or for the temporary files in a folder, or the expected result.
 * @typedef {object} Row
 * @property {string} file
 * @property {string[]} [temporaryFiles] of a folder: the removed files, which killed processes had left there
 * @property {number} lines the number of redacted lines
 * @property {string[]} backups the redacted backups
 * @property {number} left the number of lines that still contain the text, because it cannot be replaced there
 * @property {boolean} isLocked another process has locked the session
 * @property {boolean} isCatalogClean
 * @property {string} [error] why the file was not redacted
 */

/** Copies that the command cannot reach. */
const NOT_REACHED = [
	"files, backups and catalogs of other machines, and of services that synchronise files",
	"the memory of a pi that has the session open: end that pi",
	"exports, pages and other copies outside of session directories",
];

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
	const { dryRun = false } = options;
	const { lines } = SessionManager.redact(path, { ...what, dryRun: true });
	// Copies come first, because the session's own entries tell which lines of a copy are to be changed.
	const found = lines.length > 0 ? everySessionFile(sessionDir(options), dirname(path)) : subagentFiles(path);
	const others = found.filter((other) => other !== path);
	const inCopies = ofCopies(path, what, lines);
	// Killed processes leave temporary files of any session, also in folders without a session.
	const { text, replacement } = what;
	const inTemporaryFiles = text === undefined ? inCopies(path) : { text, replacement };
	for (const folder of everySessionFolder(sessionDir(options), dirname(path)))
		rows.push(...temporaryRowsOf(folder, inTemporaryFiles, dryRun));
	// A folder that cannot be read is among the others, and failed above.
	const isReported = (/** @type {string} */ other) => rows.some(({ file }) => file === other);
	for (const other of others) if (!isReported(other)) rows.push(...rowsOf(other, inCopies(other), dryRun));
	rows.push(...rowsOf(path, what, dryRun, true));
	await report(path, rows, others, options);
	return rows.some(({ error, left, isCatalogClean }) => error !== undefined || left > 0 || !isCatalogClean) ? 1 : 0;
}

/** @param {string} path @param {Options} options @returns {RedactInput} */
function whatOf(path, { text, entry, replacement }) {
	if (entry !== undefined) {
		const manager = openReadOnly(path);
		return { entries: entry.map((query) => findEntry(manager, query).id), replacement };
	}
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
 * Removes the temporary files of a folder.
 * @param {string} folder
 * @param {RedactInput} what
 * @param {boolean} dryRun
 * @returns {Row[]} empty if none of them has it
 */
function temporaryRowsOf(folder, what, dryRun) {
	try {
		const planned = SessionManager.redact(folder, { ...what, dryRun: true });
		if (planned.temporaryFiles.length === 0) return [];
		const { temporaryFiles, left } = dryRun ? planned : SessionManager.redact(folder, { ...what, dryRun });
		return [{ file: folder, lines: 0, backups: [], temporaryFiles, left, isLocked: false, isCatalogClean: true }];
	} catch (error) {
		return failureOf(folder, error);
	}
}

/**
 * Redacts a file.
 * @param {string} file
 * @param {RedactInput} what
 * @param {boolean} dryRun
 * @param {boolean} [isNamed] the user named this session
 * @returns {Row[]} empty if there is nothing to remove
 */
function rowsOf(file, what, dryRun, isNamed = false) {
	try {
		// A dry run takes no lock, so a locked session that does not contain the text causes no error.
		const planned = SessionManager.redact(file, { ...what, dryRun: true });
		if (!isNamed && planned.lines.length + planned.backups.length + planned.left === 0) return [];
		const { lines, backups, left, isCatalogClean } = dryRun
			? planned
			: SessionManager.redact(file, { ...what, dryRun });
		if (lines.length + backups.length + left === 0 && isCatalogClean) return [];
		return [{ file, lines: lines.length, backups, left, isLocked: SessionManager.isLocked(file), isCatalogClean }];
	} catch (error) {
		return failureOf(file, error, isNamed);
	}
}

/** @param {string} file @param {unknown} error @param {boolean} [isNamed] @returns {Row[]} */
function failureOf(file, error, isNamed = false) {
	const { code, message } = Object(error);
	// A broken link, a file or folder that was deleted meanwhile, or a pipe does not contain the text.
	if (!isNamed && (ABSENT.has(code) || isSpecialFile(file))) return [];
	const isLocked = code === "ERR_SESSION_LOCKED";
	return [{ file, lines: 0, backups: [], left: 0, isCatalogClean: true, isLocked, error: message ?? String(error) }];
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

/** @type {Set<unknown>} */
const ABSENT = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/**
 * @param {string} path
 * @param {Row[]} rows
 * @param {string[]} others the other files that were searched
 * @param {Options} options
 */
async function report(path, rows, others, { json, dryRun }) {
	const looked = others.length;
	if (json)
		return writeJson({ file: path, dryRun: Boolean(dryRun), files: rows, others: looked, notReached: NOT_REACHED });
	if (rows.length === 0) return write(`Nothing to redact in ${safeLine(path)}\n`);
	for (const row of rows) await write(`${describe(row, Boolean(dryRun)).join("\n  ")}\n`);
	const files = rows.filter(({ file }) => others.includes(file));
	const failed = files.filter(({ error }) => error !== undefined).length;
	const found = files.length - failed;
	if (looked > 0)
		await write(
			`${counted(looked, "other session file")} searched: ${count(found)} with the text, ` +
				`${count(looked - found - failed)} without${failed > 0 ? `, ${count(failed)} failed` : ""}\n`,
		);
	if (!dryRun) await write(`Not reached:\n${NOT_REACHED.map((line) => `  ${line}\n`).join("")}`);
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
function describe({ file, lines, backups, temporaryFiles, left, isLocked, isCatalogClean, error }, isDryRun) {
	if (temporaryFiles !== undefined) return describeTemporary(file, temporaryFiles.length, left, isDryRun);
	const about = [counted(lines, "line")];
	if (backups.length > 0) about.push(counted(backups.length, "backup"));
	const done = `${paint.green(isDryRun ? "would redact" : "redacted")}  ${safeLine(file)}: ${about.join(", ")}`;
	const described = [error === undefined ? done : `${paint.red("failed")}  ${safeLine(file)}: ${safeLine(error)}`];
	if (isLocked && error !== undefined)
		described.push("another process has locked the session: end it, and run this command again");
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
