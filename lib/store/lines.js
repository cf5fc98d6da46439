// What counts as a line of an entry and as a header. Lines stay bytes: they are decoded only to read their keys.
const { createHash } = require("node:crypto");
const { StoreError } = require("./errors.js");

/** @typedef {import("./index").StoredLine} StoredLine */

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

/**
 * The ids of a line that is an entry; undefined for any other line, the header among them.
 * @param {Uint8Array} line
 */
function entryOf(line) {
	if (line.includes(NEWLINE)) return undefined;
	const value = parse(line);
	if (!isObject(value) || typeof value.id !== "string" || value.type === "session") return undefined;
	return { id: value.id, parentId: typeof value.parentId === "string" ? value.parentId : null };
}

/**
 * What is wrong with a line as the header of a session; undefined if nothing is.
 * @param {Uint8Array} line
 * @param {string} session
 */
function headerFault(line, session) {
	if (line.includes(NEWLINE)) return "the header holds a line break";
	const value = parse(line);
	if (!isObject(value) || value.type !== "session") return "the header is not the header of a session";
	if (value.id !== session) return `the header is that of session ${JSON.stringify(value.id)?.slice(0, 200)}`;
	return undefined;
}

/**
 * Checks what is to be appended.
 * @param {string} session
 * @param {import("./index").Append} append
 */
function checkAppend(session, { header, lines }) {
	if (!(header instanceof Uint8Array)) throw new StoreError("invalid", "The header must be a Uint8Array");
	const fault = headerFault(header, session);
	if (fault) throw new StoreError("invalid", `Session ${session}: ${fault}`);
	return Array.from(lines, (line, at) => {
		if (!(line instanceof Uint8Array)) throw new StoreError("invalid", `Line ${at} must be a Uint8Array`);
		const entry = entryOf(line);
		if (!entry) throw new StoreError("invalid", `Line ${at} to append to session ${session} is not the line of an entry`);
		return { ...entry, line: buffer(line) };
	});
}

/** @param {Uint8Array} bytes */
const sha256 = (bytes) => createHash("sha256").update(bytes).digest();

/**
 * A key that equal lines share, and no others.
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
exports.compareLines = compareLines;
exports.compareText = compareText;
exports.entryOf = entryOf;
exports.headerFault = headerFault;
exports.isObject = isObject;
exports.lineKey = lineKey;
exports.parse = parse;
exports.sha256 = sha256;
