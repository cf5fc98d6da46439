// Reads a session's file: its lines, its header (by the addon), and fingerprints, which show that it is unchanged up to
// an offset.
const { constants } = require("node:buffer");
const { promises: fs } = require("node:fs");
const { unlessAbsent, withFile } = require("../base/calls.js");
const { StoreError } = require("../base/errors.js");
const { entryOf, sha256, splitLines } = require("../base/lines.js");

/** @typedef {import("node:fs").promises.FileHandle} FileHandle */

/** The size of a portion of a push. */
const PORTION_BYTES = 1024 * 1024;
/** An entry is parsed as one string, so longer lines are no entries. */
const LONGEST_LINE = constants.MAX_STRING_LENGTH;
/** The number of bytes before an offset that are compared. */
const CHECKED_BYTES = 256;
/**
 * The fields of a header that name the file of the parent session: `branchedFrom` in versions 1 and 2, and in such a
 * file after its migration.
 */
const PARENT_FIELDS = ["parentSession", "branchedFrom"];
const NEWLINE = 0x0a;

/**
 * Reads bytes, or up to the end of the file. A network drive may return less at once than it is asked for.
 * @param {FileHandle} file
 * @param {number} offset
 * @param {number} length
 */
async function readAt(file, offset, length) {
	const bytes = Buffer.alloc(length);
	for (let at = 0; at < length; ) {
		const { bytesRead } = await file.read(bytes, at, length - at, offset + at);
		if (bytesRead === 0) return bytes.subarray(0, at);
		at += bytesRead;
	}
	return bytes;
}

/**
 * The fingerprint of a file up to an offset, which shows that it is unchanged: a checksum of the bytes before the
 * offset, and the file's inode, because a merge creates another file.
 * @param {FileHandle} file
 * @param {number} offset
 * @param {string} [inode] the expected inode, if the file may have been replaced
 */
async function fingerprintAt(file, offset, inode) {
	return `${checksumOf(await tailAt(file, offset))} ${inode || (await file.stat({ bigint: true })).ino}`;
}

/** @param {Buffer} tail */
const checksumOf = (tail) => sha256(tail).toString("hex");

/**
 * The number of bytes of a file that are not known to be stored: all of them if the file does not match its note; none
 * if it contains no entry after what is stored, if there is no file, or if its session was deleted from the store. We
 * ignore the inode, because network drives assign a new one at each mount, and then every session would count as
 * unstored.
 * @param {string} path
 * @param {{ offset: number, fingerprint: string, isDeleted?: boolean } | undefined} note
 */
async function lagOf(path, note) {
	if (note?.isDeleted) return 0;
	const { size } = (await unlessAbsent(fs.stat(path))) ?? { size: 0 };
	try {
		return await withFile(unlessAbsent(fs.open(path)), async (file) => {
			if (!file) return 0;
			const isNoted = note && checksumOf(await tailAt(file, note.offset)) === note.fingerprint.split(" ")[0];
			const from = isNoted && note.offset <= size ? note.offset : 0;
			const { lines, hasMore } = await readLines(file, from);
			return hasMore || lines.some(entryOf) ? size - from : 0;
		});
	} catch {
		// A file that cannot be read may contain entries.
		return size;
	}
}

/** The bytes just before an offset. @param {FileHandle} file @param {number} offset */
async function tailAt(file, offset) {
	const length = Math.min(offset, CHECKED_BYTES);
	return readAt(file, offset - length, length);
}

/**
 * Reads the whole lines after an offset: a megabyte, or one line. A line without an end is left out, because it is
 * still being written. `hasMore` says whether the file has more after what was read. A line that is too long to be an
 * entry, such as zeros after a power failure, is not among the lines: `tooLong` is its length.
 * @param {FileHandle} file
 * @param {number} offset
 */
async function readLines(file, offset) {
	const there = (await file.stat()).size - offset;
	for (let length = PORTION_BYTES; ; length = Math.min(length * 2, LONGEST_LINE)) {
		const read = await readAt(file, offset, Math.max(0, Math.min(length, there)));
		const end = read.lastIndexOf(NEWLINE) + 1;
		if (end === 0 && length < there) {
			if (length < LONGEST_LINE) continue;
			const bytes = await lineLength(file, offset);
			return { lines: [], bytes, hasMore: bytes > 0, tooLong: bytes };
		}
		const lines = splitLines(read, 0, end);
		return { lines, bytes: end, hasMore: length < there, tooLong: 0 };
	}
}

/**
 * The length of the line at an offset, with its end; 0 without an end.
 * @param {FileHandle} file
 * @param {number} offset
 */
async function lineLength(file, offset) {
	for (let at = offset; ; at += PORTION_BYTES) {
		const piece = await readAt(file, at, PORTION_BYTES);
		const end = piece.indexOf(NEWLINE);
		if (end >= 0) return at + end + 1 - offset;
		if (piece.length < PORTION_BYTES) return 0;
	}
}

/** The error for a file that is not a session. */
class NotASession extends StoreError {
	/** @param {string} message */
	constructor(message) {
		super("invalid", message);
	}
}

/**
 * The header of a session that can be stored. Throws if there is none, or it has another version.
 * @param {string} path
 */
function readHeader(path) {
	const header = require("pi-session-native").readSessionHeader(path);
	if (!header) throw new NotASession("The file has no header of a session");
	checkVersion(header);
	const { id, cwd } = header;
	return { line: Buffer.from(JSON.stringify(header)), id, cwd: typeof cwd === "string" ? cwd : undefined };
}

/**
 * Throws unless the version of a session can be stored: entries of an old version have no ids, and lines of a future
 * version may refer to each other in ways that a merge does not know.
 * @param {{ version?: unknown }} header
 */
function checkVersion({ version }) {
	const { CURRENT_SESSION_VERSION, migrateSessionEntries } = require("pi-session-native");
	// The addon decides which versions are old, also if a version is not a number.
	const migrated = /** @type {any} */ ({ type: "session", id: "0", version });
	migrateSessionEntries([migrated]);
	const shown = JSON.stringify(version ?? 1).slice(0, 20);
	if (migrated.version !== version)
		throw new StoreError(
			"invalid",
			`The session has version ${shown}, and stores contain version ${CURRENT_SESSION_VERSION}: open it once, ` +
				"which migrates it",
		);
	if (Number(version) > CURRENT_SESSION_VERSION)
		throw new StoreError(
			"invalid",
			`The session has version ${shown}, and this release knows version ${CURRENT_SESSION_VERSION}: install a ` +
				"newer pi-session-native",
		);
}

exports.NotASession = NotASession;
exports.PARENT_FIELDS = PARENT_FIELDS;
exports.checkVersion = checkVersion;
exports.fingerprintAt = fingerprintAt;
exports.lagOf = lagOf;
exports.readAt = readAt;
exports.readHeader = readHeader;
exports.readLines = readLines;
exports.tailAt = tailAt;
