// The bytes of a segment: batches one after the other, each what one append wrote.
//
// A batch is a line of JSON that describes it, then (in a host's first batch only) the session's header, then the lines
// of entries. `sum` is the SHA-256 of the description without `sum` and of what follows; as the description names the
// sum of the batch before (`prev`), the batches of a host form a chain: a reader who goes on from a sum that it knows
// notices if the batches before were replaced by others. Folding segments is writing them one after the other.
const { createHash } = require("node:crypto");
const { buffer, isCount, isObject, parse } = require("./lines.js");

const NEWLINE = 0x0a;
/** Enough for the description and the header of a batch, in most cases. */
const HEAD_BYTES = 16 * 1024;

/**
 * @typedef {object} Batch
 * @property {string} session
 * @property {string} host
 * @property {number} count how many batches the host had written, this one among them
 * @property {number} clock
 * @property {string} prev the sum of the batch before; empty for the first
 * @property {string} sum
 * @property {string} [project]
 * @property {Buffer} [header] in a host's first batch
 * @property {Buffer[]} lines
 * @property {Buffer} bytes the whole batch as it is stored
 */

/** @param {string} meta @param {Uint8Array} body */
const sumOf = (meta, body) => createHash("sha256").update(meta).update("\n").update(body).digest("hex");

/**
 * The bytes of a batch.
 * @param {Omit<Batch, "sum" | "bytes">} batch
 */
function encodeBatch({ lines, header, ...meta }) {
	const newline = Buffer.from("\n");
	const rows = header ? [header, ...lines] : lines;
	const body = Buffer.concat(rows.flatMap((row) => [row, newline]));
	const described = { ...meta, header: header !== undefined, bytes: body.length };
	const sum = sumOf(JSON.stringify(described), body);
	return { sum, bytes: Buffer.concat([Buffer.from(JSON.stringify({ ...described, sum })), newline, body]) };
}

/**
 * The description that begins a batch; undefined if there is none.
 * @param {Buffer} bytes
 * @param {number} start
 */
function readMeta(bytes, start) {
	const end = bytes.indexOf(NEWLINE, start);
	const value = end < 0 ? undefined : parse(bytes.subarray(start, end));
	if (!isObject(value)) return undefined;
	const { sum, ...meta } = value;
	const { session, host, count, clock, prev, project, header, bytes: length } = meta;
	if (typeof sum !== "string" || typeof session !== "string" || typeof host !== "string" || typeof prev !== "string")
		return undefined;
	if (!isCount(count) || !isCount(clock) || !isCount(length) || typeof header !== "boolean") return undefined;
	if (project !== undefined && typeof project !== "string") return undefined;
	return { sum, meta: { session, host, count, clock, prev, project, header }, text: JSON.stringify(meta), length, body: end + 1 };
}

/**
 * The batches of a segment. `fault` tells why the rest of it, or all of it, cannot be used.
 * @param {Uint8Array} segment
 * @param {{ session: string, host: string, from: number, to: number }} named what its path says of it
 * @returns {{ batches: Batch[], fault?: string }}
 */
function decodeSegment(segment, named) {
	const bytes = buffer(segment);
	/** @type {Batch[]} */
	const batches = [];
	let start = 0;
	for (let count = named.from; count <= named.to; count++) {
		const read = readMeta(bytes, start);
		if (!read) return { batches, fault: start >= bytes.length ? "it is cut off" : "it is not a segment" };
		const { meta, length, body, sum } = read;
		if (meta.session !== named.session) return { batches, fault: `it belongs to session ${JSON.stringify(meta.session.slice(0, 200))}` };
		if (meta.host !== named.host) return { batches, fault: `it belongs to host ${JSON.stringify(meta.host.slice(0, 200))}` };
		if (meta.count !== count) return { batches, fault: `it holds batch ${meta.count} where ${count} should be` };
		const end = body + length;
		if (end > bytes.length) return { batches, fault: "it is cut off" };
		const rows = bytes.subarray(body, end);
		if (sumOf(read.text, rows) !== sum) return { batches, fault: "its checksum is wrong" };
		const lines = splitLines(rows);
		const header = meta.header ? lines.shift() : undefined;
		batches.push({ ...meta, header, sum, lines, bytes: bytes.subarray(start, end) });
		start = end;
	}
	if (start !== bytes.length) return { batches, fault: "it holds more than its name says" };
	return { batches };
}

/**
 * Project and header, from the first bytes of a host's first segment; undefined if they do not suffice.
 * @param {Uint8Array} head
 */
function readHead(head) {
	const bytes = buffer(head);
	const read = readMeta(bytes, 0);
	const end = read ? bytes.indexOf(NEWLINE, read.body) : -1;
	if (!read || end < 0) return undefined;
	return { ...read.meta, header: read.meta.header ? bytes.subarray(read.body, end) : undefined };
}

/**
 * The sum of the first batch, from the first bytes of a segment; undefined if they do not suffice.
 * @param {Uint8Array} head
 */
const readSum = (head) => readMeta(buffer(head), 0)?.sum;

/** @param {Buffer} bytes lines that each end with a line break */
function splitLines(bytes) {
	const lines = [];
	for (let start = 0; start < bytes.length; ) {
		const end = bytes.indexOf(NEWLINE, start);
		lines.push(bytes.subarray(start, end < 0 ? bytes.length : end));
		start = end < 0 ? bytes.length : end + 1;
	}
	return lines;
}

exports.HEAD_BYTES = HEAD_BYTES;
exports.decodeSegment = decodeSegment;
exports.encodeBatch = encodeBatch;
exports.readHead = readHead;
exports.readSum = readSum;
