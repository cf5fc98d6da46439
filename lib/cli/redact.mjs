// `pi-sessions redact`: removes a text, or the content of entries, from a session, its backups and every copy of the
// same entries on this machine.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { SessionManager } from "../../index.mjs";
import { isUnchanged, redactEverywhere, remainsOf, summaryOf } from "../shared/redact-copies.mjs";
import { counted, safeLine } from "../shared/text.mjs";
import { sessionDir } from "./dir-options.mjs";
import { UsageError } from "./errors.mjs";
import { paint, write, writeJson } from "./output.mjs";
import { findEntry, openReadOnly, sessionPath } from "./sessions.mjs";

/**
 * @typedef {import("./dir-options.mjs").DirOptions & { text?: string, entry?: string[], replacement?: string, dryRun?:
 * boolean }} Options
 */
/** @typedef {import("../../index.js").RedactInput} RedactInput */
/** @typedef {import("../../session-files.mjs").RedactedFile} Row */

/** Copies that the command cannot reach. */
const NOT_REACHED = [
	"files, backups and catalogs of other machines, and of services that synchronise files",
	"a pi that has the session open: until its next entry it shows the text and sends it to the model, so end that pi",
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
	const { lines } = SessionManager.redact(path, { ...what, dryRun: true });
	const { rows: all, others } = await redactEverywhere(path, what, {
		lines,
		dirs: [sessionDir(options), dirname(path)],
		redactFile: async (file, what) => SessionManager.redact(file, what),
		more: () => ({}),
	});
	const rows = all.filter(
		({ error, lines, backups, temporaryFiles, left, hasOtherLines, isCatalogClean }) =>
			error !== undefined || temporaryFiles || hasOtherLines || lines + backups.length + left > 0 || !isCatalogClean,
	);
	await report(path, rows, others, options);
	return rows.some(({ error, left, isCatalogClean }) => error !== undefined || left > 0 || !isCatalogClean) ? 1 : 0;
}

/** @param {string} path @param {Options} options @returns {RedactInput} */
function whatOf(path, { text, entry, replacement, dryRun }) {
	if (entry !== undefined) {
		const manager = openReadOnly(path);
		return { entries: entry.map((query) => findEntry(manager, query).id), replacement, dryRun };
	}
	// Every user of the machine can see arguments.
	const given = text === "-" ? readFileSync(0, "utf8").replace(/\r?\n$/, "") : text;
	if (!given) throw new UsageError("--text must not be empty");
	return { text: given, replacement, dryRun };
}

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
	if (looked > 0) await write(`${summaryOf(rows, others, Boolean(dryRun))}\n`);
	if (!dryRun) await write(`Not reached:\n${NOT_REACHED.map((line) => `  ${line}\n`).join("")}`);
}

/** The lines that describe a row. @param {Row} row @param {boolean} isDryRun */
function describe(row, isDryRun) {
	const { file, lines, backups, temporaryFiles, error } = row;
	const name = safeLine(file);
	if (error !== undefined) return [`${paint.red("failed")}  ${name}: ${safeLine(error)}`, ...remainsOf(row)];
	if (isUnchanged(row)) return [`not changed  ${name}`, ...remainsOf(row)];
	const about = [counted(lines, "line"), ...(backups.length > 0 ? [counted(backups.length, "backup")] : [])];
	const done = temporaryFiles
		? `${paint.green(isDryRun ? "would remove" : "removed")}  ${name}: ` +
			`${counted(temporaryFiles.length, "temporary file")} of killed processes`
		: `${paint.green(isDryRun ? "would redact" : "redacted")}  ${name}: ${about.join(", ")}`;
	return [done, ...remainsOf(row)];
}
