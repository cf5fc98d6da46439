// `pi-sync redact`: removes a text, or the content of entries, from a session, its backups, every copy of the same
// entries on this machine, and the store.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { isUnchanged, redactEverywhere, remainsOf, summaryOf } from "pi-session-native/session-files";
import local from "../machine/local-sessions.js";
import redactions from "../sync/redact-files.js";
import { RedactionFile } from "../sync/redaction-file.js";
import { entryIds, namedDir, sessionPath } from "./sessions.mjs";
import { ifStoreIsNamed, notesDirHere, syncOf } from "./store-connection.mjs";
import { counted, paint, safeLine, UsageError, write, writeJson, writeWarning } from "./terminal.mjs";

/** @typedef {import("./sessions.mjs").Options & { text?: string, entry?: string[], replacement?: string }} Options */
/** @typedef {import("pi-session-native").RedactInput} RedactInput */
/** @typedef {import("pi-session-native").RedactReport["lines"]} RedactedLines */
/**
 * The result for a session file, or for the temporary files in a folder, or the expected result.
 * docs/store-adapters.md describes the fields.
 * @typedef {import("pi-session-native/session-files").RedactedFile & More} Row
 */
/**
 * @typedef {object} More
 * @property {number} [stored] the number of redacted lines of the store; undefined if no store was searched, or the
 * store failed
 * @property {boolean} isStored the store has redacted it
 * @property {string | undefined} storeError why the store was not redacted. The next push or pull of the session
 * redacts there only the lines that were found on this machine
 */
/**
 * `stored`: the lines of the store; `error`: the store's.
 * @typedef {import("pi-session-native").RedactReport & { stored?: RedactedLines, error?: Error }}
 * Report
 */

/** A text that was edited out of the file by hand is not noted, so no later push or pull removes it from the store. */
const AGAIN = "run this command again when the store answers";
const NOTED = "the next push or pull of the session redacts only the lines that were found here";

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
			writeWarning(`${safeLine(silence)}: only this machine is redacted; ${AGAIN}`, Boolean(options.json));
		const planned = await redactOne(path, { ...what, dryRun: true }, connection, options);
		const { rows: all, others } = await redactEverywhere(path, what, {
			lines: [...planned.lines, ...(planned.stored ?? [])],
			dirs: [namedDir(options), dirname(path)],
			redactFile: (file, what) => redactOne(file, what, connection, options),
			more: (report) => moreOf(report, Boolean(options.dryRun)),
		});
		rows.push(...all.filter(isSomething));
		const isNoted = !options.dryRun && rows.some(({ lines }) => lines > 0);
		const notReached = notReachedBy(connection, isSilent, isNoted);
		const about = { others, notReached, isStoreSearched: connection !== undefined };
		await report(path, rows, about, options);
	});
	const isBad = (/** @type {Row} */ { error, storeError, left, isCatalogClean }) =>
		error !== undefined || storeError !== undefined || left > 0 || !isCatalogClean;
	return isSilent || rows.some(isBad) ? 1 : 0;
}

/** @param {string} path @param {Options} options @returns {RedactInput} */
function whatOf(path, { text, entry, replacement, dryRun }) {
	if (entry !== undefined) return { entries: entryIds(path, entry), replacement, dryRun };
	// Every user of the machine can see arguments.
	const given = text === "-" ? readFileSync(0, "utf8").replace(/\r?\n$/, "") : text;
	if (!given) throw new UsageError("--text must not be empty");
	return { text: given, replacement, dryRun };
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
 * @param {Report | undefined} report undefined for files that were not redacted
 * @param {boolean} isDryRun
 * @returns {More}
 */
function moreOf({ stored, error } = /** @type {Report} */ ({}), isDryRun) {
	const isSearched = stored !== undefined && error === undefined;
	return {
		...(isSearched && { stored: stored.length }),
		isStored: isSearched && !isDryRun,
		storeError: error?.message,
	};
}

/** @param {Row} row */
const isSomething = ({
	error,
	storeError,
	lines,
	backups,
	temporaryFiles,
	stored = 0,
	left,
	hasOtherLines,
	isCatalogClean,
}) =>
	error !== undefined ||
	storeError !== undefined ||
	temporaryFiles !== undefined ||
	hasOtherLines ||
	lines + backups.length + stored + left > 0 ||
	!isCatalogClean;

/**
 * Copies that the command cannot reach.
 * @param {import("./store-connection.mjs").Connection | undefined} connection
 * @param {boolean} isSilent whether a store is named that did not answer
 * @param {boolean} isNoted whether lines were found that are noted for stores
 */
function notReachedBy(connection, isSilent, isNoted) {
	const why = isSilent
		? `the one that is named did not answer: ${AGAIN}`
		: "none is named: if one contains the session, run this command again with --store";
	const elsewhere = [
		"files, backups and catalogs of other machines: each redacts them when it pulls",
		"forks that only the store contains: a machine that pulls them and knows of this redaction redacts them",
		...(connection?.store.copies ?? []),
	];
	return [
		...(connection ? elsewhere : [`stores: ${why}${isNoted ? `; ${NOTED}` : ""}`]),
		"a pi that has the session open: until its next entry it shows the text and sends it to the model, so end that pi",
		"exports, pages and other copies outside of session directories",
	];
}

/**
 * @param {string} path
 * @param {Row[]} rows
 * @param {{ others: string[], notReached: string[], isStoreSearched: boolean }} about `others`: the other files that
 * were searched
 * @param {Options} options
 */
async function report(path, rows, { others, notReached, isStoreSearched }, { json, dryRun }) {
	if (json) return writeJson({ file: path, dryRun: Boolean(dryRun), files: rows, others: others.length, notReached });
	const unsearched = isStoreSearched ? "" : "No store was searched\n";
	if (rows.length === 0) return write(`Nothing to redact in ${safeLine(path)}\n${unsearched}`);
	for (const row of rows) await write(`${describe(row, Boolean(dryRun)).join("\n  ")}\n`);
	if (others.length > 0) await write(`${summaryOf(rows, others, Boolean(dryRun))}\n`);
	await write(unsearched);
	if (!dryRun) await write(`Not reached:\n${notReached.map((line) => `  ${line}\n`).join("")}`);
}

/** The lines that describe a row. @param {Row} row @param {boolean} isDryRun */
function describe(row, isDryRun) {
	const { file, temporaryFiles, lines, backups, stored, error } = row;
	const name = safeLine(file);
	if (isUnchanged(row)) return [`not changed  ${name}`, ...remainsOf(row)];
	const about = [
		...(lines > 0 ? [`${counted(lines, "line")}${stored === undefined ? "" : " here"}`] : []),
		...(backups.length > 0 ? [counted(backups.length, "backup")] : []),
		...(stored ? [`${lines > 0 ? stored : counted(stored, "line")} in the store`] : []),
	];
	const done = temporaryFiles
		? `${paint.green(isDryRun ? "would remove" : "removed")}  ${name}: ` +
			`${counted(temporaryFiles.length, "temporary file")} of killed processes`
		: about.length === 0
			? `not changed  ${name}`
			: `${paint.green(isDryRun ? "would redact" : "redacted")}  ${name}: ${about.join(", ")}`;
	const described = [error === undefined ? done : `${paint.red("failed")}  ${name}: ${safeLine(error)}`];
	if (row.storeError !== undefined) {
		const meaning = isDryRun ? "the content of the store is not known" : "the store may still contain it";
		described.push(`${meaning}: ${safeLine(row.storeError)}`);
		if (!isDryRun) described.push(lines > 0 ? `${AGAIN}; ${NOTED}` : AGAIN);
	}
	return [...described, ...remainsOf(row)];
}
