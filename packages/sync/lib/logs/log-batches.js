// Batches. A batch is what one append wrote: a line of JSON that describes it, then the lines of entries. So a log is a
// session file, apart from the lines without a `type`.
//
//   {"sum":"…","prev":"…","session":"…","host":"laptop","clock":7,"bytes":912,"lines":["<checksum of a line>", …]}
//   {"type":"message","id":"…", …}
//
// `sum` is the SHA-256 of the other members as JSON. `prev` is the `sum` of the host's batch before, so that a reader
// notices an older state that was restored. Each line has a checksum of its own, because a redaction overwrites a line
// with spaces and changes nothing else.
const { buffer, isCount, isObject, parse, sha256, splitLines } = require("../base/lines.js");
const { LONGEST_READ, tooLargeError } = require("./log-objects.js");

/**
 * @typedef {object} Batch
 * @property {string} sum
 * @property {string} prev
 * @property {number} clock
 * @property {{ checksum: string, line: Buffer }[]} lines with the checksum of each line as it was appended
 * @property {number} start the position of the batch in the log's part
 * @property {number} end
 */

const NEWLINE = 0x0a;
const BEGINNING = '{"sum":"';
/** The text between a batch's sum, of 64 digits, and the sum before it. */
const AFTER_SUM = '","prev":"';

/** @param {string} text */
const sumOf = (text) => sha256(Buffer.from(text)).toString("hex");

/** A line's checksum is the beginning of its SHA-256: with 144 bits no two lines have the same. */
const CHECKSUM_BYTES = 18;

/** The checksum of a line, as text that is safe in a name. @param {Uint8Array} line */
const checksumOf = (line) => sha256(line).toString("base64url", 0, CHECKSUM_BYTES);

/** The checksum of the line with this SHA-256. @param {string} hash in hexadecimal digits */
const checksumOfHash = (hash) => Buffer.from(hash, "hex").toString("base64url", 0, CHECKSUM_BYTES);

/**
 * @param {{ session: string, host: string, clock: number, prev: string, lines: Uint8Array[] }} batch
 */
function encodeBatch({ session, host, clock, prev, lines }) {
	const bytes = lines.reduce((sum, { length }) => sum + length + 1, 0);
	const meta = { prev, session, host, clock, bytes, lines: lines.map(checksumOf) };
	const sum = sumOf(JSON.stringify(meta));
	const newline = Buffer.from("\n");
	const content = Buffer.concat([
		Buffer.from(`${JSON.stringify({ sum, ...meta })}\n`),
		...lines.flatMap((line) => [line, newline]),
	]);
	return { sum, bytes: content };
}

/**
 * The batches in bytes of a log. `end` is the end of the last whole batch. If `fault` is set, the batch after it cannot
 * be used, and `isLast` says whether no batch follows; otherwise bytes after the end are a torn batch, which was not
 * acknowledged.
 * @param {Uint8Array} read
 * @param {number} offset the position of the bytes in the part
 * @param {{ session: string, host: string }} of
 * @returns {{ batches: Batch[], end: number, fault?: string, isLast?: boolean }}
 */
function decodeBatches(read, offset, of) {
	const bytes = buffer(read);
	/** @type {Batch[]} */
	const batches = [];
	let start = 0;
	while (start < bytes.length) {
		const content = bytes.indexOf(NEWLINE, start) + 1;
		if (content === 0) break;
		const meta = parseMeta(bytes.subarray(start, content - 1));
		if (!meta) return { batches, end: offset + start, fault: "it is not a batch", isLast: !hasBatch(bytes, content) };
		// First, because a changed number of bytes would make the batch look torn.
		const fault = faultOf(meta, of);
		if (fault !== undefined) return { batches, end: offset + start, fault, isLast: false };
		const end = content + meta.bytes;
		if (bytes[end - 1] !== NEWLINE) {
			if (!hasBatch(bytes, content)) break;
			return { batches, end: offset + start, fault: "its last line does not end where the batch ends", isLast: false };
		}
		const lines = splitLines(bytes, content, end).map((line, nth) => ({ checksum: meta.lines[nth] ?? "", line }));
		if (lines.length !== meta.lines.length)
			return {
				batches,
				end: offset + start,
				fault: "its lines are not those that its first line describes",
				isLast: !hasBatch(bytes, content),
			};
		batches.push({
			sum: meta.sum,
			prev: meta.prev,
			clock: meta.clock,
			lines,
			start: offset + start,
			end: offset + end,
		});
		start = end;
	}
	return { batches, end: offset + start };
}

/** How much of a log is read at once; more only if a batch is longer. */
const PORTION_BYTES = 8 * 1024 * 1024;

/**
 * Reads a part of a log in portions of whole batches, up to its end or to the first batch that cannot be used.
 * @param {import("./log-objects").Objects} objects
 * @param {string} path
 * @param {number} from where a batch begins
 * @param {{ session: string, host: string }} of
 * @param {{ bytes: Buffer }} [first] the first portion, if it was read already
 * @returns {AsyncGenerator<ReturnType<typeof decodeBatches> & { bytes: Buffer, at: number, isCut: boolean }>} `isCut`:
 * the part contains more bytes, which were not read because of a `fault`
 */
async function* readPortions(objects, path, from, of, first) {
	for (let [at, length, content] = [from, PORTION_BYTES, first]; ; content = undefined) {
		content ??= await objects.get(path, at, at + length);
		if (!content) return;
		const { bytes } = content;
		const decoded = decodeBatches(bytes, at, of);
		const isEnd = bytes.length < length;
		if (isEnd || (decoded.fault !== undefined && !decoded.isLast))
			return void (yield { ...decoded, bytes, at, isCut: !isEnd });
		const { batches, end } = decoded;
		if (end > at) {
			yield { batches, end, bytes: bytes.subarray(0, end - at), at, isCut: false };
			[at, length] = [end, PORTION_BYTES];
		} else if (length < LONGEST_READ) length = Math.min(8 * length, LONGEST_READ);
		else throw tooLargeError(`${objects.name.replace(/\/?$/, "/")}${path}: the batch at byte ${at}`, length);
	}
}

/** @param {ReturnType<typeof parseMeta> & {}} meta @param {{ session: string, host: string }} of */
function faultOf(meta, { session, host }) {
	if (!meta.isIntact) return "its checksum is wrong";
	if (meta.session !== session) return `it belongs to session ${JSON.stringify(meta.session.slice(0, 200))}`;
	if (meta.host !== host) return `it belongs to host ${JSON.stringify(meta.host.slice(0, 200))}`;
	return undefined;
}

/** @param {Buffer} text */
function parseMeta(text) {
	const value = parse(text);
	if (!isObject(value)) return undefined;
	const { id, sum, prev, session, host, clock, bytes, lines } = value;
	// An entry has an id.
	if (id !== undefined) return undefined;
	if (typeof sum !== "string" || typeof prev !== "string" || typeof session !== "string" || typeof host !== "string")
		return undefined;
	if (
		!isCount(clock) ||
		!isCount(bytes) ||
		!Array.isArray(lines) ||
		!lines.every((checksum) => typeof checksum === "string")
	)
		return undefined;
	const meta = { prev, session, host, clock, bytes, lines };
	return { sum, ...meta, isIntact: sumOf(JSON.stringify(meta)) === sum };
}

/** Whether a batch begins somewhere after an offset. @param {Buffer} bytes @param {number} from */
function hasBatch(bytes, from) {
	for (let at = bytes.indexOf(BEGINNING, from); at >= 0; at = bytes.indexOf(BEGINNING, at + 1)) {
		// Entries may contain the beginning many times, and parsing the rest of a long line each time would take long.
		const after = at + BEGINNING.length + 64;
		if (bytes.toString("latin1", after, after + AFTER_SUM.length) !== AFTER_SUM) continue;
		const end = bytes.indexOf(NEWLINE, at);
		if (end >= 0 && parseMeta(bytes.subarray(at, end))?.isIntact) return true;
	}
	return false;
}

/**
 * The positions of redacted lines in bytes of a log, also after damage: a damaged line of a batch that contains a
 * redacted line may be that line. A torn end is left out, because its host may be writing there; the next append of the
 * host cuts it off.
 * @param {Buffer} bytes
 * @param {{ session: string, host: string }} of
 * @param {{ has: (checksum: string) => boolean }} redacted by checksum
 */
function redactedRanges(bytes, of, redacted) {
	/** @type {{ at: number, length: number }[]} */
	const ranges = [];
	const { end: whole, fault, isLast } = decodeBatches(bytes, 0, of);
	const to = fault === undefined || isLast ? whole : bytes.length;
	/** The checksums of the last batch that began, and its end. */
	let [checksums, end] = [/** @type {Set<string>} */ (new Set()), 0];
	for (let [at, next] = [0, 0]; at < to; at = next + 1) {
		const newline = bytes.indexOf(NEWLINE, at);
		next = newline < 0 ? bytes.length : newline;
		// The newline before the next batch may be damaged.
		if (at < end && end < next && bytes.indexOf(BEGINNING, end) === end) next = end - 1;
		const line = bytes.subarray(at, next);
		const meta = line.toString("latin1", 0, BEGINNING.length) === BEGINNING ? parseMeta(line) : undefined;
		if (meta?.isIntact) {
			[checksums, end] = [new Set(meta.lines), next + 1 + meta.bytes];
			continue;
		}
		const checksum = checksumOf(line);
		const isDamaged = at < end && !checksums.has(checksum);
		const isRedacted = [checksum, ...(isDamaged ? checksums : [])].some((one) => redacted.has(one));
		if (isRedacted && line.some((byte) => byte !== 0x20)) ranges.push({ at, length: line.length });
	}
	return ranges;
}

/** The first bytes of the batch with this sum. @param {string} sum */
const beginningOf = (sum) => Buffer.from(`${BEGINNING}${sum}"`);

exports.PORTION_BYTES = PORTION_BYTES;
exports.beginningOf = beginningOf;
exports.checksumOfHash = checksumOfHash;
exports.checksumOf = checksumOf;
exports.encodeBatch = encodeBatch;
exports.readPortions = readPortions;
exports.redactedRanges = redactedRanges;
