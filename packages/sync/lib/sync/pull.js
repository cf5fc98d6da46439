// Pulls a session from a store into its file.
//
// If the store only has new lines after those that are noted, only these are loaded; otherwise everything is. The addon
// (`SessionManager.merge`) brings the file into the store's order.
//
// pi continues the session whose file changed last. So a pull gives a file the time of its newest entry: a session in
// which another host was the last to write long ago must not become the one to continue because it was pulled now.
const { promises: fs } = require("node:fs");
const { unlessAbsent, withFile } = require("../base/calls.js");
const { StoreError } = require("../base/errors.js");
const { isObject, parse } = require("../base/lines.js");
const { loadAll } = require("../base/load-all.js");
const { callHere } = require("../machine/local-sessions.js");
const { revisionOf } = require("../machine/notes.js");
const { PARENT_FIELDS, checkVersion, fingerprintAt, tailAt } = require("../machine/session-file.js");

/** @typedef {import("../index").LineStore} LineStore */
/** @typedef {import("../machine/notes").Note} Note */
/**
 * @typedef {object} PullOptions
 * @property {LineStore} store
 * @property {import("../index").StoredSession} stored what the store's list has just said of the session
 * @property {boolean} isChanged whether the session was changed in the store since
 * @property {string} file
 * @property {Buffer} [header] makes the file, with this header, if it is not there
 * @property {import("../machine/notes").Notes} notes
 * @property {(lines: Buffer[]) => Promise<boolean>} redactKnownCopies redacts the session here and in the store, if
 * lines were loaded that were redacted here
 *   before, in this session or another one; gives whether there are any
 * @property {import("../machine/local-sessions").CallManager} [call] calls the session manager
 */

const NEWLINE = Buffer.from("\n");

/**
 * Adds what is stored of a session to its file.
 * @param {PullOptions} options
 * @returns {Promise<import("../index").PullReport>}
 */
async function pull(options) {
	const report = (await tryPull(options)) ?? (await tryPull({ ...options, isChanged: true }));
	if (!report)
		throw new StoreError("failed", `Session ${options.stored.session} was redacted here meanwhile: pull it again`);
	return report;
}

/**
 * Undefined if lines were loaded that had to be redacted.
 * @param {PullOptions} options
 * @returns {Promise<import("../index").PullReport | undefined>}
 */
async function tryPull(options) {
	const { store, stored, isChanged, file, header, notes } = options;
	const { session } = stored;
	const listed = isChanged ? undefined : stored;
	const note = header ? undefined : notes.get(session);
	const tail = note && !note.mustReload ? await tailAsNoted(file, note) : undefined;
	if (note && tail) {
		const page = await loadAll(store, session, note.cursor, listed).catch(undefinedIfReset);
		if (page?.lines.length === 0) {
			await keepNote(options, { ...note, cursor: page.cursor, mustReload: page.problems.length > 0 }, page.problems);
			return { added: 0, problems: page.problems };
		}
		if (page?.comesAfter) {
			const merged = await merge(options, page, { bytes: note.offset, tail });
			if (!merged?.needsAll) return await done(options, page, merged);
		}
	}
	const page = await loadAll(store, session, undefined, listed);
	if (page.lines.length === 0) {
		const [problem] = page.problems;
		if (header && problem) throw new StoreError("failed", `Session ${session}: ${problem.where}: ${problem.message}`);
		if (header) throw new StoreError("not-found", `Session ${session} has no lines in the store`);
		// It was deleted from the store meanwhile.
		return { added: 0, problems: page.problems };
	}
	return await done(options, page, await merge(options, page));
}

/**
 * The bytes before a note's offset; undefined if they are not what was noted. @param {string} path @param {Note} note
 */
function tailAsNoted(path, note) {
	const opening = fs.open(path).catch(() => undefined);
	return withFile(opening, async (file) =>
		file && (await fingerprintAt(file, note.offset)) === note.fingerprint ? tailAt(file, note.offset) : undefined,
	);
}

/** Whether a file is still what a note says. @param {string} path @param {Note} note */
const isAsNoted = async (path, note) => (await tailAsNoted(path, note)) !== undefined;

/** The store does not know the cursor any more: everything is loaded then. @param {unknown} error */
function undefinedIfReset(error) {
	if (error instanceof StoreError && error.code === "reset") return undefined;
	throw error;
}

/**
 * Undefined if lines were loaded that had to be redacted.
 * @param {PullOptions} options
 * @param {import("../index").Page} page
 * @param {{ bytes: number, tail: Uint8Array }} [since]
 */
async function merge({ stored: { session }, file, header, notes, redactKnownCopies, call = callHere }, page, since) {
	const loaded = page.lines.map(({ line }) => line);
	const lines = Buffer.concat(loaded.flatMap((line) => [line, NEWLINE]));
	const before = await unlessAbsent(fs.stat(file));
	if (await redactKnownCopies(loaded)) return undefined;
	// Whoever pushes after a pull that was killed compares the file with everything.
	await notes.forget(session);
	const merged = await call("merge", file, { session, lines, header, since });
	await keepTime(file, page, before?.mtimeMs);
	// Another process may have redacted some meanwhile.
	return (await redactKnownCopies(loaded)) ? undefined : merged;
}

/**
 * Sets a file's time to that of its newest entry: the later one of the time it had, and of what was loaded.
 * @param {string} file
 * @param {import("../index").Page} page
 * @param {number | undefined} before
 */
async function keepTime(file, page, before) {
	const newest = newestTime(page.lines);
	if (newest === undefined && before === undefined) return;
	// The clock of another host may be ahead.
	const time = Math.min(Date.now(), Math.max(before ?? -Infinity, newest ?? -Infinity));
	await fs.utimes(file, time / 1000, time / 1000);
}

/**
 * When the newest of these lines was written, in milliseconds. As each host goes by one clock, its last line is its
 * newest.
 * @param {import("../index").StoredLine[]} lines
 */
function newestTime(lines) {
	const seen = new Set();
	/** @type {number | undefined} */
	let newest;
	for (const { host, line } of [...lines].reverse()) {
		if (seen.has(host)) continue;
		const value = parse(line);
		const time = isObject(value) && typeof value.timestamp === "string" ? Date.parse(value.timestamp) : Number.NaN;
		if (Number.isNaN(time)) continue;
		seen.add(host);
		newest = Math.max(newest ?? time, time);
	}
	return newest;
}

/**
 * @param {PullOptions} options
 * @param {import("../index").Page} page
 * @param {import("pi-session-native").MergeReport | undefined} merged
 * @returns {Promise<import("../index").PullReport | undefined>}
 */
async function done(options, page, merged) {
	if (!merged) return undefined;
	const { added, storedBytes: offset, inode } = merged;
	// Another pull may have replaced the file since: the note then matches no file.
	const fingerprint = await withFile(fs.open(options.file), (file) => fingerprintAt(file, offset, inode));
	await keepNote(
		options,
		{ cursor: page.cursor, offset, fingerprint, mustReload: page.problems.length > 0 },
		page.problems,
	);
	return { added, problems: page.problems };
}

/**
 * Keeps a note. What could not be read is asked for again: put back, it may look in the list as it does now.
 * @param {PullOptions} options
 * @param {Note} note
 * @param {import("../index").Problem[]} problems
 */
async function keepNote({ notes, stored }, note, problems) {
	await notes.set(stored.session, {
		...note,
		revision: problems.length === 0 ? revisionOf(stored) : undefined,
		redactions: stored.redactions,
	});
}

/**
 * The header of a session's file here: with this machine's working directory, and the parent session's file here.
 * @param {string} session
 * @param {Buffer} header that the store has
 * @param {{ cwd: string, parentOf: (name: string) => string | undefined }} here
 */
function localHeader(session, header, { cwd, parentOf }) {
	const value = parse(header);
	// A store checks that it is the header of this session.
	if (!isObject(value))
		throw new StoreError("invalid", `Session ${session}: the header is not the header of a session`);
	checkVersion(value);
	value.cwd = cwd;
	for (const field of PARENT_FIELDS.filter((field) => value[field] !== undefined)) {
		const parent = parentOf(String(value[field]).split(/[\\/]/).pop() ?? "");
		if (parent === undefined) delete value[field];
		else value[field] = parent;
	}
	return Buffer.from(JSON.stringify(value));
}

exports.isAsNoted = isAsNoted;
exports.localHeader = localHeader;
exports.pull = pull;
