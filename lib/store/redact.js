// Takes something out of session files and out of a store.
//
// What a redaction of a file is going to change is noted before the file is changed, and goes to the store before anything else of the
// session does: until the store knows of it, its old lines would come back with the next pull.
const { promises: fs } = require("node:fs");
const { StoreError } = require("./errors.js");
const { entryOf, sha256 } = require("./lines.js");
const { callHere } = require("./manager.js");
const { readLines } = require("./session-file.js");

/** @typedef {import("./notes").Notes} Notes */
/** @typedef {import("./notes").RedactedLine} RedactedLine */
/** @typedef {import("../../index").RedactInput} RedactInput */

/**
 * Redacts a session file. Its time stays: pi continues the session whose file changed last.
 * @param {string} file
 * @param {RedactInput} what
 * @param {{ onPlan?: (lines: RedactedLine[]) => unknown, call?: import("./manager").CallManager }} [options] `onPlan` is given what is going
 *   to be changed, and waited for
 * @returns {Promise<import("../../index").RedactReport>}
 */
async function redactFile(file, what, { onPlan, call = callHere } = {}) {
	const planned = await callHere("redact", file, { ...what, dryRun: true });
	await onPlan?.(planned.lines);
	const { atime, mtime } = await fs.stat(file);
	const done = await call("redact", file, what);
	if (done.lines.length > 0) await fs.utimes(file, atime, mtime);
	// Another process may have appended to it meanwhile.
	if (done.lines.length > planned.lines.length) await onPlan?.(done.lines);
	return done;
}

/**
 * Redacts a session file, and notes what its store is to be told.
 * @param {{ session: string, file: string }} local
 * @param {RedactInput} what
 * @param {Notes} notes
 * @param {import("./manager").CallManager} [call]
 */
async function redactNoted({ session, file }, what, notes, call) {
	const onPlan = async (/** @type {RedactedLine[]} */ lines) => {
		if (lines.length === 0) return;
		const all = new Map([...notes.redactions(session), ...lines].map(({ hash, newHash }) => [hash, { hash, newHash }]));
		await notes.setRedactions(session, [...all.values()]);
		await notes.invalidate(session);
	};
	return redactFile(file, what, { onPlan, call });
}

/**
 * Tells the store what was redacted here. What it does not have yet it is told again: another host may store it later.
 * @param {{ session: string, file: string }} local
 * @param {{ store: import("./index").LineStore, notes: Notes }} options
 */
async function pushRedactions({ session, file }, { store, notes }) {
	const pending = notes.redactions(session);
	if (pending.length === 0) return;
	const next = new Map(pending.map(({ hash, newHash }) => [hash, newHash]));
	const last = pending.map(({ hash }) => ({ hash, last: lastOf(hash, next) }));
	const lines = await linesOf(file, new Set(last.map(({ last }) => last)));
	try {
		await store.redact(session, last.map(({ hash, last }) => ({ hash, line: lines.get(last) })));
	} catch (error) {
		if (error instanceof StoreError && (error.code === "not-found" || error.code === "deleted")) return;
		throw error;
	}
	await notes.setRedactions(session, notes.redactions(session).filter(({ hash }) => !next.has(hash)));
}

/**
 * What a line has become, which may have been redacted more than once.
 * @param {string} hash
 * @param {Map<string, string>} next
 */
function lastOf(hash, next) {
	const seen = new Set();
	for (let at = hash; ; ) {
		const to = next.get(at);
		if (to === undefined || seen.has(at)) return at;
		seen.add(at);
		at = to;
	}
}

/**
 * The lines of a file that have these hashes, by hash.
 * @param {string} path
 * @param {Set<string>} hashes
 */
async function linesOf(path, hashes) {
	/** @type {Map<string, Buffer>} */
	const found = new Map();
	const file = await fs.open(path).catch(unlessAbsent);
	// What was redacted leaves the store though the file is gone.
	if (!file) return found;
	try {
		for (let offset = 0, isMore = true; isMore; ) {
			const { lines, bytes, goesOn } = await readLines(file, offset);
			for (const line of lines) {
				const hash = sha256(line).toString("hex");
				// What is not an entry is not stored.
				if (hashes.has(hash) && entryOf(line)) found.set(hash, Buffer.from(line));
			}
			offset += bytes;
			isMore = goesOn && bytes > 0;
		}
	} finally {
		await file.close();
	}
	return found;
}

/** @param {NodeJS.ErrnoException} error @returns {undefined} */
function unlessAbsent(error) {
	if (error.code !== "ENOENT") throw error;
}

exports.pushRedactions = pushRedactions;
exports.redactFile = redactFile;
exports.redactNoted = redactNoted;
