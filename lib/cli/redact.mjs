// `pi-sessions redact`: takes a text, or what an entry says, out of a session, its backups, copies of the same entries, and the store.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import local from "../store/local.js";
import redactions from "../store/redact.js";
import { UsageError } from "./errors.mjs";
import { SessionManager } from "./library.mjs";
import { paint, write, writeJson } from "./output.mjs";
import { findEntry, openReadOnly, sessionFiles, sessionPath } from "./sessions.mjs";
import { ifStoreIsNamed, syncOf } from "./stores.mjs";
import { counted, safeLine } from "./text.mjs";

/** @typedef {import("./stores.mjs").Options & { text?: string, entry?: string[], replacement?: string, dryRun?: boolean }} Options */
/** @typedef {import("./library.mjs").RedactInput} RedactInput */
/** @typedef {{ file: string, lines: number, backups: string[], left: number, isLocked: boolean, isCatalogClean: boolean, isStored: boolean, error?: string }} Row */

/**
 * @param {string} query
 * @param {Options} options
 * @returns {Promise<number>}
 */
export async function redact(query, options) {
	if ((options.text === undefined) === (options.entry === undefined)) throw new UsageError("Either --text or --entry is needed");
	const path = await sessionPath(query, options);
	const what = whatOf(path, options);
	const planned = SessionManager.redact(path, { ...what, dryRun: true });
	/** @type {Row[]} */
	const rows = [];
	const { dryRun } = options;
	await ifStoreIsNamed(options, async (connection) => {
		// Copies first: what is changed in them is known by the entries of the session as it is now.
		const others = planned.lines.length > 0 ? new Set([...sessionFiles({ ...options, all: true }), ...sessionFiles({ ...options, dir: dirname(path) })]) : [];
		for (const other of others) if (other !== path) for (const row of await redacted(other, ofCopies(what, planned), connection, options)) rows.push(row);
		for (const row of await redacted(path, what, connection, options, true)) rows.push(row);
		await report(path, rows, connection, options);
	});
	if (rows.length === 0 || dryRun) return 0;
	return rows.some(({ error, left }) => error !== undefined || left > 0) ? 1 : 0;
}

/** @param {string} path @param {Options} options @returns {RedactInput} */
function whatOf(path, { text, entry, replacement }) {
	if (entry !== undefined) {
		const manager = openReadOnly(path);
		return { entries: entry.map((query) => findEntry(manager, query).id), replacement };
	}
	// An argument is seen by every user of the machine.
	const given = text === "-" ? readFileSync(0, "utf8").replace(/\r?\n$/, "") : text;
	if (!given) throw new UsageError("--text must not be empty");
	return { text: given, replacement };
}

/**
 * What is to be taken out of another session that may have copies of the entries.
 * @param {RedactInput} what
 * @param {import("./library.mjs").RedactReport} planned
 * @returns {RedactInput}
 */
function ofCopies({ text, replacement }, { lines }) {
	if (text === undefined) return { lines: lines.map(({ hash }) => ({ hash })), replacement };
	return { text, entries: lines.flatMap(({ id }) => id ?? []), replacement };
}

/**
 * @param {string} file
 * @param {RedactInput} what
 * @param {import("./stores.mjs").Connection | undefined} connection
 * @param {Options} options
 * @param {boolean} [wasAsked] a store may still have to be told of an earlier run
 * @returns {Promise<Row[]>} empty if there is nothing to take out
 */
async function redacted(file, what, connection, options, wasAsked = false) {
	const input = { ...what, dryRun: options.dryRun };
	try {
		const planned = SessionManager.redact(file, { ...what, dryRun: true });
		const isThere = planned.lines.length + planned.backups.length + planned.left > 0;
		if (!isThere && !wasAsked) return [];
		const found = connection && [...(await local.localSessions(dirname(file))).values()].find((one) => one.file === file);
		const sync = connection && found ? await syncOf(connection, found, options) : undefined;
		const done = await (sync && found ? sync.redact(found, input) : redactions.redactFile(file, input));
		const { lines, backups, left, isCatalogClean } = done;
		const error = "error" in done && done.error instanceof Error ? done.error.message : undefined;
		if (!isThere && error === undefined) return [];
		return [{ file, lines: lines.length, backups, left, isLocked: SessionManager.isLocked(file), isCatalogClean, isStored: sync !== undefined, error }];
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		return [{ file, lines: 0, backups: [], left: 0, isLocked: false, isCatalogClean: true, isStored: false, error: message }];
	}
}

/**
 * @param {string} path
 * @param {Row[]} rows
 * @param {import("./stores.mjs").Connection | undefined} connection
 * @param {Options} options
 */
async function report(path, rows, connection, { json, dryRun }) {
	const notReached = [
		...(connection === undefined ? ["stores: none is named (--store), and one that has the session keeps what was redacted"] : [`backups and catalogs of other machines: each redacts its files when it pulls`]),
		...(connection?.shown.startsWith("postgres") ? ["PostgreSQL's own logs, dead rows until VACUUM, and backups"] : []),
		...(connection?.shown.startsWith("s3") ? ["versions that the bucket keeps, and its backups"] : []),
		"a pi that has the session open, and what it has in memory: end it",
		"exports, pages and other copies outside of session directories",
	];
	if (json) return writeJson({ file: path, dryRun: Boolean(dryRun), files: rows, notReached });
	if (rows.length === 0) return write(`Nothing of it is in ${safeLine(path)}\n`);
	for (const { file, lines, backups, left, isCatalogClean, error } of rows) {
		const about = [counted(lines, "line"), ...(backups.length > 0 ? [counted(backups.length, "backup")] : [])].join(", ");
		await write(error === undefined ? `${paint.green(dryRun ? "would redact" : "redacted")}  ${safeLine(file)}: ${about}\n` : `${paint.red("failed")}  ${safeLine(file)}: ${safeLine(error)}\n`);
		if (left > 0) await write(`  ${counted(left, "line")} still ${left === 1 ? "holds" : "hold"} it where it cannot be replaced: in a header, an id, a number, or a line too long to be read\n`);
		if (!isCatalogClean) await write("  the catalog may still hold it: end what uses it, and run this again\n");
	}
	if (!dryRun) await write(`Not reached:\n${notReached.map((line) => `  ${line}\n`).join("")}`);
}
