// `pi-sync redact`: takes a text, or what an entry says, out of a session, its backups, copies of the same entries, and
// the store.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { SessionManager } from "pi-session-native";
import local from "../machine/local-sessions.js";
import machine from "../machine/places.js";
import redactions from "../sync/redact-files.js";
import { RedactionFile } from "../sync/redaction-file.js";
import { entryIds, everySessionFile, sessionPath } from "./places.mjs";
import { emptiedNote } from "./push-and-pull.mjs";
import { ifStoreIsNamed, notesDirHere, syncOf } from "./store-connection.mjs";
import { counted, paint, safeLine, UsageError, write, writeJson, writeWarning } from "./terminal.mjs";

/** @typedef {import("./places.mjs").Options & { text?: string, entry?: string[], replacement?: string }} Options */
/** @typedef {import("pi-session-native").RedactInput} RedactInput */
/** @typedef {import("pi-session-native").RedactReport["lines"]} RedactedLines */
/**
 * What was done with a session file, or would be.
 * @typedef {object} Row
 * @property {string} file
 * @property {number} lines how many were redacted in it
 * @property {string[]} backups those that were redacted
 * @property {number} stored how many lines were redacted that only the store had
 * @property {number} emptied how many lines lost all that they say, because two machines had redacted them in different
 * ways
 * @property {number} left how many lines still hold the text where it cannot be replaced
 * @property {boolean} isLocked another process has the session to itself
 * @property {boolean} isCatalogClean
 * @property {boolean} isStored the store has redacted it
 * @property {string} [error] why the file was not redacted
 * @property {string} [storeError] why the store was not: the next push or pull of the session does it
 */
/**
 * @typedef {import("pi-session-native").RedactReport & { stored?: RedactedLines, emptied?: number, error?: Error }}
 * Report `stored`: what only the store had; `error`: that of the store
 */

/**
 * @param {string} query
 * @param {Options} options
 * @returns {Promise<number>}
 */
export async function redact(query, options) {
	if ((options.text === undefined) === (options.entry === undefined))
		throw new UsageError(
			"One of --text and --entry is needed, and not both: a text to take out, or the entries that are to lose what they say",
		);
	const path = await sessionPath(query, options);
	const what = whatOf(path, options);
	/** @type {Row[]} */
	const rows = [];
	const { dryRun } = options;
	let isSilent = false;
	await ifStoreIsNamed(options, async (connection, silence) => {
		isSilent = silence !== undefined;
		if (silence !== undefined) writeWarning(`${safeLine(silence)}: it is redacted here alone`, Boolean(options.json));
		const planned = await redactOne(path, { ...what, dryRun: true }, connection, options);
		const lines = [...planned.lines, ...(planned.stored ?? [])];
		// Copies first: what is changed in them is known by the entries of the session as it is now.
		const others = lines.length > 0 ? everySessionFile(options, dirname(path)) : machine.subagentFiles(path);
		const inCopies = ofCopies(path, what, lines);
		// A redaction also removes the temporary files that killed processes left in the directory: that of one file of
		// each is enough.
		const swept = new Set();
		for (const other of others) {
			if (other === path) continue;
			const mustSweep = !dryRun && !swept.has(dirname(other)) && !SessionManager.isLocked(other);
			if (mustSweep) swept.add(dirname(other));
			rows.push(...(await rowsOf(other, inCopies(other), connection, options, { mustSweep })));
		}
		// A store may still have to be told of an earlier run.
		rows.push(...(await rowsOf(path, what, connection, options, { isNamed: true })));
		await report(path, rows, notReachedBy(connection, isSilent), options);
	});
	if (isSilent) return 1;
	if (rows.length === 0 || dryRun) return 0;
	return rows.some(
		({ error, storeError, left, isCatalogClean }) => (error ?? storeError) !== undefined || left > 0 || !isCatalogClean,
	)
		? 1
		: 0;
}

/** @param {string} path @param {Options} options @returns {RedactInput} */
function whatOf(path, { text, entry, replacement }) {
	if (entry !== undefined) return { entries: entryIds(path, entry), replacement };
	// An argument is seen by every user of the machine.
	const given = text === "-" ? readFileSync(0, "utf8").replace(/\r?\n$/, "") : text;
	if (!given) throw new UsageError("--text must not be empty");
	return { text: given, replacement };
}

/**
 * What is to be taken out of another session that may have copies of the entries.
 * @param {string} path
 * @param {RedactInput} what
 * @param {RedactedLines} lines
 * @returns {(other: string) => RedactInput}
 */
function ofCopies(path, { text, replacement }, lines) {
	if (text === undefined)
		return () => ({ lines: lines.map(({ hash, line }) => ({ hash, line, session: path })), replacement });
	const entries = lines.flatMap(({ id }) => id ?? []);
	// What the session's subagents were told is what it says.
	const own = new Set(machine.subagentFiles(path));
	return (other) => ({ text, entries: own.has(other) ? undefined : entries, replacement });
}

/**
 * Redacts a file and what the store has of it. Without a store what is changed is noted, for those that are named
 * later.
 * @param {string} file
 * @param {RedactInput} what
 * @param {import("./store-connection.mjs").Connection | undefined} connection
 * @param {Options} options
 * @returns {Promise<Report>}
 */
async function redactOne(file, what, connection, options) {
	// What a store cannot take is redacted all the same.
	const found = [...(await local.localSessions(dirname(file))).values()].find((one) => one.file === file);
	if (found && connection) return (await syncOf(connection, found, options)).redact(found, what);
	return redactions.redactFile(file, what, { redactionFile: found && new RedactionFile(notesDirHere(), found) });
}

/**
 * @param {string} file
 * @param {RedactInput} what
 * @param {import("./store-connection.mjs").Connection | undefined} connection
 * @param {Options} options
 * @param {{ isNamed?: boolean, mustSweep?: boolean }} how `isNamed`: the user named this session, so the store is asked
 * whatever the file contains; `mustSweep`: nothing has removed the temporary files of its directory yet
 * @returns {Promise<Row[]>} empty if there is nothing to take out
 */
async function rowsOf(file, what, connection, options, { isNamed = false, mustSweep = false }) {
	try {
		const planned = SessionManager.redact(file, { ...what, dryRun: true });
		const isThere = planned.lines.length + planned.backups.length + planned.left > 0;
		if (!isThere && !isNamed) {
			const { left } = mustSweep ? SessionManager.redact(file, what) : planned;
			return left > 0 ? [{ ...NOTHING, file, left, isLocked: false }] : [];
		}
		const {
			lines,
			backups,
			left,
			isCatalogClean,
			stored,
			emptied = 0,
			error,
		} = await redactOne(file, { ...what, dryRun: options.dryRun }, connection, options);
		if (!isThere && !stored?.length && emptied === 0 && error === undefined && isCatalogClean) return [];
		const isLocked = SessionManager.isLocked(file);
		const isStored = stored !== undefined && error === undefined;
		return [
			{
				file,
				lines: lines.length,
				backups,
				stored: stored?.length ?? 0,
				emptied,
				left,
				isLocked,
				isCatalogClean,
				isStored,
				storeError: error?.message,
			},
		];
	} catch (error) {
		const { code, message } = Object(error);
		// A link that leads nowhere, or a file that is gone by now, contains nothing of it.
		if (!isNamed && ABSENT.has(code)) return [];
		return [{ ...NOTHING, file, isLocked: code === "ERR_SESSION_LOCKED", error: message ?? String(error) }];
	}
}

/** @type {Omit<Row, "file" | "isLocked">} */
const NOTHING = { lines: 0, backups: [], stored: 0, emptied: 0, left: 0, isCatalogClean: true, isStored: false };

/** @type {Set<unknown>} */
const ABSENT = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/**
 * What the command does not reach, for people.
 * @param {import("./store-connection.mjs").Connection | undefined} connection
 * @param {boolean} isSilent whether a store is named that did not answer
 */
function notReachedBy(connection, isSilent) {
	const why = isSilent ? "the one that is named did not answer" : "none is named (--store)";
	const others = [
		"files, backups and catalogs of other machines: each redacts them when it pulls",
		"forks that only the store has: the next machine that pulls them and knows of this, as this one does, redacts them",
	];
	return [
		...(connection ? others : [`stores: ${why}; one that has the session is told at the next push or pull`]),
		...(connection?.shown.startsWith("postgres") ? ["PostgreSQL's own logs, dead rows until VACUUM, and backups"] : []),
		...(connection?.shown.startsWith("s3") ? ["versions that the bucket keeps, and its backups"] : []),
		"a pi that has the session open, and what it has in memory: end it",
		"exports, pages and other copies outside of session directories",
	];
}

/**
 * @param {string} path
 * @param {Row[]} rows
 * @param {string[]} notReached
 * @param {Options} options
 */
async function report(path, rows, notReached, { json, dryRun }) {
	if (json) return writeJson({ file: path, dryRun: Boolean(dryRun), files: rows, notReached });
	if (rows.length === 0) return write(`Nothing of it is in ${safeLine(path)}\n`);
	for (const row of rows) await write(`${describe(row, Boolean(dryRun)).join("\n  ")}\n`);
	if (!dryRun) await write(`Not reached:\n${notReached.map((line) => `  ${line}\n`).join("")}`);
}

/** A row for people: a line, and others that belong below it. @param {Row} row @param {boolean} isDryRun */
function describe(
	{ file, lines, backups, stored, emptied, left, isLocked, isCatalogClean, error, storeError },
	isDryRun,
) {
	const about = [counted(lines, "line")];
	if (backups.length > 0) about.push(counted(backups.length, "backup"));
	if (stored > 0) about.push(`${counted(stored, "more line")} in the store`);
	const done = `${paint.green(isDryRun ? "would redact" : "redacted")}  ${safeLine(file)}: ${about.join(", ")}`;
	const described = [error === undefined ? done : `${paint.red("failed")}  ${safeLine(file)}: ${safeLine(error)}`];
	if (isLocked && error !== undefined) described.push("end the pi that has the session to itself, and run this again");
	described.push(...emptiedNote(emptied));
	if (storeError !== undefined)
		described.push(
			`${isDryRun ? "the store does not say what it holds" : "the store may still have it, and is told at the next push or pull of the session"}: ${safeLine(storeError)}`,
		);
	if (left > 0)
		described.push(
			`${counted(left, "line")} still ${left === 1 ? "holds" : "hold"} it where it cannot be replaced: in a header, an id, a number, or a line too long to be read`,
		);
	if (!isCatalogClean)
		described.push(
			"the catalog may still hold it: end what uses it, and run this again, with the newest of the releases that are used here",
		);
	return described;
}
