// Pulls a session from a store into its file.
//
// If all new lines come after the noted ones, only these are loaded; otherwise everything is. The addon
// (`SessionManager.merge`) brings the file into the store's order.
//
// `pi --continue` continues the session whose file changed last. So a pull sets the file's time to the time of its
// newest entry: an old session must not be continued because it was pulled now.
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
/** @typedef {Pick<import("../index").PullResult, "added" | "problems">} PullReport */
/**
 * @typedef {object} PullOptions
 * @property {LineStore} store
 * @property {import("../index").StoredSession} stored the session in a list of the store
 * @property {boolean} isChanged whether the session was changed in the store since that list
 * @property {string} file
 * @property {Buffer} [header] the header for a file that does not exist yet
 * @property {import("../machine/notes").Notes} notes
 * @property {(lines: Buffer[]) => Promise<boolean>} redactKnownCopies redacts the session on this machine and in the
 * store, if the loaded lines contain some that this machine has redacted, in this session or another one; returns
 * whether there are any
 * @property {import("../machine/local-sessions").CallManager} [call] calls the session manager
 */

const NEWLINE = Buffer.from("\n");

/**
 * Adds stored lines of a session to its file.
 * @param {PullOptions} options
 * @returns {Promise<PullReport>}
 */
async function pull(options) {
	const report = (await tryPull(options)) ?? (await tryPull({ ...options, isChanged: true }));
	if (!report)
		throw new StoreError(
			"failed",
			`Session ${options.stored.session} was redacted on this machine meanwhile: pull it again`,
		);
	return report;
}

/**
 * Undefined if lines were loaded that had to be redacted.
 * @param {PullOptions} options
 * @returns {Promise<PullReport | undefined>}
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
 * The bytes before a note's offset; undefined if the file does not match the note.
 * @param {string} path
 * @param {Note} note
 */
function tailAsNoted(path, note) {
	const opening = fs.open(path).catch(() => undefined);
	return withFile(opening, async (file) =>
		file && (await fingerprintAt(file, note.offset)) === note.fingerprint ? tailAt(file, note.offset) : undefined,
	);
}

/** Whether a file matches a note. @param {string} path @param {Note} note */
const isAsNoted = async (path, note) => (await tailAsNoted(path, note)) !== undefined;

/** If the store refuses the cursor, everything is loaded. @param {unknown} error */
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
	// If this pull is killed, the next push compares the file with everything.
	await notes.forget(session);
	const merged = await call("merge", file, { session, lines, header, since });
	await keepTime(file, page, before?.mtimeMs);
	// Another process may have redacted some meanwhile.
	return (await redactKnownCopies(loaded)) ? undefined : merged;
}

/**
 * Sets a file's time to the later one of its time before and the time of the newest loaded entry.
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
 * The time of the newest of these lines, in milliseconds. The last line of each host is its newest, because a host has
 * one clock.
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
 * @returns {Promise<PullReport | undefined>}
 */
async function done(options, page, merged) {
	if (!merged) return undefined;
	const { added, storedBytes: offset, inode } = merged;
	// If another pull has replaced the file meanwhile, the note matches no file.
	const fingerprint = await withFile(fs.open(options.file), (file) => fingerprintAt(file, offset, inode));
	await keepNote(
		options,
		{ cursor: page.cursor, offset, fingerprint, mustReload: page.problems.length > 0 },
		page.problems,
	);
	return { added, problems: page.problems };
}

/**
 * Writes a note. If lines could not be read, it has no revision, so that the next pull tries again: the list may look
 * the same when they are restored.
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
 * The header for a session's file on this machine: with its working directory, and its file of the parent session.
 * @param {string} session
 * @param {Buffer} header the store's
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
