// Lines of entries, and headers. Lines stay bytes: they are decoded only to read their keys.
const { createHash } = require("node:crypto");
const { StoreError } = require("./errors.js");

/** @typedef {import("../index").StoredLine} StoredLine */

const NEWLINE = 0x0a;

/** @param {Uint8Array} bytes */
const buffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * The value of a line, as sessions read it: invalid UTF-8 is U+FFFD. Undefined if it is not JSON.
 * @param {Uint8Array} line
 * @returns {unknown}
 */
function parse(line) {
	try {
		return JSON.parse(buffer(line).toString("utf8"));
	} catch {
		return undefined;
	}
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {unknown} value @returns {value is number} */
const isCount = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

/**
 * The id of a line that is an entry; undefined for any other line, the header among them.
 * @param {Uint8Array} line
 */
function entryOf(line) {
	if (line.includes(NEWLINE)) return undefined;
	const value = parse(line);
	if (!isObject(value) || typeof value.id !== "string" || value.type === "session") return undefined;
	return { id: value.id };
}

/**
 * The reason why a line is not the header of a session; undefined if it is.
 * @param {Uint8Array} line
 * @param {string} session
 */
function headerFault(line, session) {
	if (line.includes(NEWLINE)) return "the header contains a line break";
	const value = parse(line);
	if (!isObject(value) || value.type !== "session") return "the header is not the header of a session";
	if (value.id !== session) return `the header belongs to session ${JSON.stringify(value.id)?.slice(0, 200)}`;
	return undefined;
}

/** A project is a key of indexes, and PostgreSQL's entries of indexes have at most some 2,700 bytes. */
const LONGEST_PROJECT = 1000;

/**
 * Checks the argument of an append, and returns the lines.
 * @param {string} session
 * @param {import("../index").Append} append
 * @param {number} [longest] the limit of the size of all lines, in bytes
 */
function checkAppend(session, append, longest = Infinity) {
	if (!isObject(append))
		throw new StoreError(
			"invalid",
			`The argument of an append to session ${session} must be an object with a header and lines`,
		);
	const { header, lines, project } = append;
	if (!Array.isArray(lines)) throw new StoreError("invalid", "The lines must be an array");
	if (project !== undefined) checkProject(project);
	let size = 0;
	if (!(header instanceof Uint8Array)) throw new StoreError("invalid", "The header must be a Uint8Array");
	const fault = headerFault(header, session);
	if (fault) throw new StoreError("invalid", `Session ${session}: ${fault}`);
	return Array.from(lines, (line, at) => {
		if (!(line instanceof Uint8Array)) throw new StoreError("invalid", `Line ${at} must be a Uint8Array`);
		size += line.length;
		if (line.length > longest) throw new StoreError("invalid", tooLong(session, line, longest));
		if (size > longest)
			throw new StoreError(
				"invalid",
				`The lines to append to session ${session} have more than ${longest} bytes: append them in portions`,
			);
		if (!entryOf(line))
			throw new StoreError("invalid", `Line ${at} to append to session ${session} is not the line of an entry`);
		return buffer(line);
	});
}

/** @param {unknown} project */
function checkProject(project) {
	if (typeof project !== "string")
		throw new StoreError("invalid", `A project's name must be text, not ${project === null ? "null" : typeof project}`);
	// In a database a text contains neither half a surrogate pair nor NUL.
	if (project.length > LONGEST_PROJECT || project.includes("\0") || !project.isWellFormed())
		throw new StoreError(
			"invalid",
			`A project's name may have ${LONGEST_PROJECT} characters, without NUL and lone surrogates`,
		);
}

/**
 * Describes a line by its beginning, because that contains its ids.
 * @param {string} session
 * @param {Uint8Array} line
 * @param {number} longest
 */
const tooLong = (session, line, longest) =>
	`Session ${session}: a line of ${line.length} bytes is longer than the ${longest} that this store takes; it ` +
	`begins with ${JSON.stringify(buffer(line).toString("utf8", 0, 100))}`;

/** @param {Buffer} bytes @param {number} from @param {number} to the end of a line */
function splitLines(bytes, from, to) {
	const lines = [];
	for (let at = from; at < to; ) {
		const end = bytes.indexOf(NEWLINE, at);
		lines.push(bytes.subarray(at, end));
		at = end + 1;
	}
	return lines;
}

/** @param {Uint8Array} bytes */
const sha256 = (bytes) => createHash("sha256").update(bytes).digest();

/**
 * A key that two lines share only if they are equal.
 * @param {Uint8Array} line
 */
const lineKey = (line) => sha256(line).toString("latin1");

/** @param {string} a @param {string} b */
const compareText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/**
 * The order of a store: by clock, then by host, then as the host wrote them.
 * @param {StoredLine} a
 * @param {StoredLine} b
 */
const compareLines = (a, b) => a.clock - b.clock || compareText(a.host, b.host) || a.index - b.index;

exports.buffer = buffer;
exports.checkAppend = checkAppend;
exports.checkProject = checkProject;
exports.compareLines = compareLines;
exports.compareText = compareText;
exports.entryOf = entryOf;
exports.headerFault = headerFault;
exports.isCount = isCount;
exports.isObject = isObject;
exports.lineKey = lineKey;
exports.parse = parse;
exports.sha256 = sha256;
exports.splitLines = splitLines;
exports.tooLong = tooLong;
