// Redacts a session, and every copy of its entries on this machine: in other sessions, in sessions of subagents, and in
// the temporary files of killed processes. `SessionManager.redact` redacts one file and its backups.
import { lstatSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { readSessionHeader, SessionManager } from "../../index.mjs";
import { everySessionFile, everySessionFolder, subagentFiles, withoutLinks } from "./session-dir.mjs";
import { count, counted } from "./text.mjs";

/** @typedef {import("../../index.js").RedactInput} RedactInput */
/** @typedef {import("../../index.js").RedactReport} RedactReport */
/** @typedef {import("../../session-files.mjs").RedactedFile} RedactedFile */

/**
 * @template {RedactReport} Report
 * @template {object} More
 * @param {string} given
 * @param {RedactInput} what
 * @param {import("../../session-files.mjs").RedactOptions<Report, More>} options
 * @returns {Promise<{ rows: (RedactedFile & More)[], others: string[] }>}
 */
export async function redactEverywhere(given, what, { lines, dirs, redactFile, more }) {
	const path = resolve(given);
	/**
	 * @param {string} file
	 * @param {() => Promise<{ report?: Report, hasOtherLines: boolean } | undefined>} redact
	 * @returns {Promise<(RedactedFile & More)[]>}
	 */
	const rowOf = async (file, redact, isNamed = false) => {
		try {
			const redacted = await redact();
			if (!redacted) return [];
			const { report, hasOtherLines } = redacted;
			const { lines, backups, left, isCatalogClean } = report ?? NOTHING;
			const isLocked = SessionManager.isLocked(file);
			return [{ file, lines: lines.length, backups, left, hasOtherLines, isLocked, isCatalogClean, ...more(report) }];
		} catch (error) {
			return !isNamed && isAbsence(error) ? [] : [{ ...failure(file, error), ...more() }];
		}
	};
	// Copies come first, because the session's own entries tell which lines of a copy are to be changed.
	const found = lines.length > 0 ? everySessionFile(...dirs) : subagentFiles(path);
	const real = withoutLinks(path);
	// The comparison of names avoids most calls of the system, because only links have other names.
	const isSame = (/** @type {string} */ other) =>
		(basename(other) === basename(path) || isLink(other)) && withoutLinks(other) === real;
	const others = found.filter((other) => !isSame(other));
	const inCopies = ofCopies(path, what, lines);
	const { text, replacement, dryRun } = what;
	// Killed processes leave temporary files of any session, also in folders without a session.
	const inTemporaryFiles = text === undefined ? inCopies(path) : { text, replacement };
	const folders = everySessionFolder(...dirs).flatMap((folder) => temporaryFilesIn(folder, inTemporaryFiles, dryRun));
	const rows = folders.map((row) => ({ ...row, ...more() }));
	// A folder that cannot be read is among the others, and failed above.
	for (const other of others.filter((one) => !folders.some(({ file }) => file === one))) {
		const copied = inCopies(other);
		const redact = async () => {
			checkIsReadable(other);
			// A dry run takes no lock, so a locked session that does not contain the text causes no error.
			const amount = amountIn(other, { ...copied, entries: undefined });
			if (amount === 0) return undefined;
			const toRedact = copied.entries === undefined ? amount : amountIn(other, copied);
			const report = toRedact > 0 ? await redactFile(other, { ...copied, dryRun }) : undefined;
			return { report, hasOtherLines: amount > toRedact };
		};
		rows.push(...(await rowOf(other, redact)));
	}
	rows.push(...(await rowOf(path, async () => ({ report: await redactFile(path, what), hasOtherLines: false }), true)));
	return { rows, others };
}

/** @param {string} path */
function isLink(path) {
	try {
		return lstatSync(path).isSymbolicLink();
	} catch {
		// The error is reported when the file is read.
		return false;
	}
}

/** Larger files that are no sessions are not read to their end, because a sparse file takes minutes. */
const LARGEST_OTHER = 1 << 30;

/** Throws for a file that is no session, and too large to be searched. @param {string} file */
function checkIsReadable(file) {
	const { size } = statSync(file);
	if (size > LARGEST_OTHER && readSessionHeader(file) === null)
		throw new Error(`it is no session, and with ${size} bytes too large to be searched`);
}

/** The part of a report on a file of which nothing was redacted. */
const NOTHING = { lines: [], backups: [], left: 0, isCatalogClean: true };

/**
 * The number of lines and backups of a file that contain the text or the entries.
 * @param {string} file
 * @param {RedactInput} what
 */
function amountIn(file, what) {
	const { lines, backups, left } = SessionManager.redact(file, { ...what, dryRun: true });
	return lines.length + backups.length + left;
}

/**
 * Returns a function from the path of another session to the text and entries that must be removed from it.
 * @param {string} path
 * @param {RedactInput} what
 * @param {RedactReport["lines"]} lines
 * @returns {(other: string) => RedactInput}
 */
function ofCopies(path, { text, replacement }, lines) {
	if (text === undefined)
		return () => ({ lines: lines.map(({ hash, line }) => ({ hash, line, session: path })), replacement });
	const entries = lines.flatMap(({ id }) => id ?? []);
	// Subagents' sessions repeat texts of the session under other ids.
	const own = new Set(subagentFiles(path).map((file) => withoutLinks(file)));
	return (other) => ({ text, entries: own.has(withoutLinks(other)) ? undefined : entries, replacement });
}

/**
 * Removes the temporary files of a folder that contain it.
 * @param {string} folder
 * @param {RedactInput} what
 * @param {boolean | undefined} dryRun
 * @returns {RedactedFile[]} empty if none of them contains it
 */
function temporaryFilesIn(folder, what, dryRun) {
	try {
		const planned = SessionManager.redact(folder, { ...what, dryRun: true });
		if (planned.temporaryFiles.length === 0) return [];
		const { temporaryFiles, left } = dryRun ? planned : SessionManager.redact(folder, what);
		return [{ ...rowWithout(folder), temporaryFiles, left }];
	} catch (error) {
		return isAbsence(error) ? [] : [failure(folder, error)];
	}
}

/**
 * A broken link, or a file or folder that was deleted meanwhile: it does not contain the text.
 * @param {unknown} error
 */
const isAbsence = (error) => ["ENOENT", "ENOTDIR", "ELOOP"].includes(Object(error).code);

/** The row of a file that was not redacted. @param {string} file @returns {RedactedFile} */
const rowWithout = (file) => ({
	file,
	lines: 0,
	backups: [],
	left: 0,
	hasOtherLines: false,
	isLocked: false,
	isCatalogClean: true,
});

/** @param {string} file @param {unknown} error @returns {RedactedFile} */
function failure(file, error) {
	const { code, message = String(error) } = Object(error);
	return { ...rowWithout(file), isLocked: code === "ERR_SESSION_LOCKED", error: message };
}

/**
 * Whether a session is not changed, because it contains the text only in lines of its own.
 * @param {RedactedFile} row
 */
export const isUnchanged = ({ error, lines, backups, left, hasOtherLines }) =>
	error === undefined && hasOtherLines && lines + backups.length + left === 0;

/**
 * A sentence that counts the other files that were searched.
 * @param {RedactedFile[]} rows
 * @param {string[]} others
 * @param {boolean} isDryRun
 */
export function summaryOf(rows, others, isDryRun) {
	const files = rows.filter(({ file }) => others.includes(file));
	const failed = files.filter(({ error }) => error !== undefined).length;
	const unchanged = files.filter(isUnchanged).length;
	const without = others.length - files.length;
	return [
		`${counted(others.length, "other session file")} searched: ` +
			`${count(files.length - failed - unchanged)} ${isDryRun ? "to redact" : "redacted"}`,
		...(unchanged > 0
			? [`${count(unchanged)} ${unchanged === 1 ? "contains" : "contain"} the text only in own lines`]
			: []),
		`${count(without)} ${without === 1 ? "does" : "do"} not contain the text`,
		...(failed > 0 ? [`${count(failed)} failed`] : []),
	].join(", ");
}

/**
 * Sentences that tell what remains of the text after a redaction, and why.
 * @param {RedactedFile} row
 */
export function remainsOf({ left, hasOtherLines, isLocked, isCatalogClean, temporaryFiles, error }) {
	const contain = left === 1 ? "contains" : "contain";
	const where = temporaryFiles
		? `of temporary files that cannot be removed still ${contain} it`
		: `still ${contain} the text where it cannot be replaced: in a header, an id, a number, or a line that is too ` +
			"long to be read";
	return [
		...(isLocked && error !== undefined
			? ["another process has locked the session: end it, and run this command again"]
			: []),
		...(left > 0 ? [`${counted(left, "line")} ${where}`] : []),
		...(hasOtherLines ? ["lines of its own contain the text and stay: redact this session, too"] : []),
		...(isCatalogClean
			? []
			: [
					"the catalog may still contain the text: end the programs that use the catalog, and run this command " +
						"again with the newest installed release",
				]),
	];
}
