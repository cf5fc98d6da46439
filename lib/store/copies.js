// Copies of entries in other sessions. A fork copies entries with their ids and times, and may put one below another entry than the
// original is below, so that its line is another one.
const { promises: fs } = require("node:fs");
const { unlessAbsent } = require("./calls.js");
const { entryOf, isObject, parse } = require("./lines.js");
const { hashOf } = require("./redaction-rules.js");
const { readLines } = require("./session-file.js");

/** @typedef {import("./index").Redaction} Redaction */

const ID = '"id"';
const ID_AND_VALUE = /^"id"\s*:\s*("(?:[^"\\]|\\.)*")/;
const SHORT_ID = 200;

/**
 * What copies of an entry have in common, whatever they are below: its id and its time. Undefined for a line that is not an entry.
 * @param {Uint8Array} line
 */
function identityOf(line) {
	const entry = entryOf(line);
	const value = entry && parse(line);
	return entry && isObject(value) ? `${entry.id}\n${value.timestamp}` : undefined;
}

/**
 * Gives the lines of a file, and what is after the last line break: it may be a line that was written without one. One that is gone has none.
 * @param {string} path
 * @param {(line: Buffer) => void} onLine
 */
async function eachLine(path, onLine) {
	const file = await unlessAbsent(fs.open(path));
	if (!file) return;
	try {
		for (let offset = 0, isMore = true; isMore; ) {
			const { lines, bytes, rest, goesOn } = await readLines(file, offset);
			lines.forEach(onLine);
			offset += bytes;
			isMore = goesOn && bytes > 0;
			if (!isMore) onLine(rest);
		}
	} finally {
		await file.close();
	}
}

/** The lines of a file's entries with these ids, each with its identity. @param {string} path @param {Set<string>} ids */
async function entriesWith(path, ids) {
	/** @type {{ identity: string, line: Buffer }[]} */
	const found = [];
	if (ids.size === 0) return found;
	await eachLine(path, (line) => {
		if (mayBeOneOf(line, ids) && ids.has(entryOf(line)?.id ?? "")) found.push({ identity: identityOf(line) ?? "", line: Buffer.from(line) });
	});
	return found;
}

/** Whether a line may be an entry with one of these ids: as few are, few are parsed. @param {Buffer} line @param {Set<string>} ids */
function mayBeOneOf(line, ids) {
	for (let at = line.indexOf(ID); at >= 0; at = line.indexOf(ID, at + 1)) {
		const [, id] = ID_AND_VALUE.exec(line.toString("latin1", at, at + SHORT_ID)) ?? [];
		if (id === undefined || ids.has(String(parse(Buffer.from(id, "latin1"))))) return true;
	}
	return false;
}

/**
 * What is to be redacted in a file because the originals were redacted: copies of their entries.
 * @param {string} path
 * @param {Map<string, readonly Redaction[]>} redactions by the session of the originals
 * @returns {Promise<{ owner: string, redaction: Redaction }[]>}
 */
async function copiesIn(path, redactions) {
	const originals = [...redactions].map(([owner, some]) => ({ owner, entries: entriesIn(some) }));
	const ids = idsOf(originals.flatMap(({ entries }) => entries));
	return (await entriesWith(path, ids)).flatMap(({ identity, line }) => originals.flatMap(({ owner, entries }) => {
		const redaction = copyOf(line, entries.filter((one) => one.identity === identity));
		return redaction ? { owner, redaction } : [];
	}));
}

/**
 * What is to be redacted among lines because their originals were, or they themselves: copies that differ in more than their parent are not
 * among it, as each session may have been redacted in another way.
 * @param {Buffer[]} lines
 * @param {RedactedEntry[]} entries
 */
function copiesAmong(lines, entries) {
	// As in most directories: then no line is looked at.
	if (entries.length === 0) return [];
	const ids = idsOf(entries);
	return lines.filter((line) => mayBeOneOf(line, ids)).flatMap((line) => {
		const identity = identityOf(line);
		const original = originalOf(line, entries.filter((one) => one.identity === identity));
		return original ? [{ hash: hashOf(line), line: belowParentOf(line, original.line) }] : [];
	});
}

/**
 * A redacted entry: the hash of its line, the line in its place, its id and its identity.
 * @typedef {{ hash: string, line: Buffer, id: string | undefined, identity: string | undefined }} RedactedEntry
 */

/** The redacted entries in whose places lines stand. @param {readonly Redaction[]} redactions @returns {RedactedEntry[]} */
const entriesIn = (redactions) => redactions.flatMap(({ hash, line }) => (line ? { hash, line, id: entryOf(line)?.id, identity: identityOf(line) } : []));

/** @param {RedactedEntry[]} entries */
const idsOf = (entries) => new Set(entries.flatMap(({ id }) => id ?? []));

/**
 * How a copy is redacted. One that differs from an original only in its parent gets what stands in the original's place. Of any other nobody
 * knows what it holds: it loses what it says. Undefined if there is nothing to redact.
 * @param {Buffer} line
 * @param {{ hash: string, line: Buffer }[]} entries of one session, of the same identity as the line
 * @returns {Redaction | undefined}
 */
function copyOf(line, entries) {
	const hash = hashOf(line);
	if (entries.length === 0 || entries.some((one) => one.hash === hash || belowParentOf(one.line, line).equals(one.line))) return undefined;
	const original = originalOf(line, entries);
	return { hash, ...(original && { line: belowParentOf(line, original.line) }) };
}

/**
 * The redacted line that a line is, or is but for its parent.
 * @template {{ hash: string, line: Buffer }} T
 * @param {Buffer} line
 * @param {T[]} entries those of its identity
 */
const originalOf = (line, entries) => entries.find((one) => [line, belowParentOf(one.line, line)].some((bytes) => hashOf(bytes) === one.hash));

/**
 * The line of an entry, below the entry that another one is below. Its other bytes stay as they are: they may not be UTF-8.
 * @param {Buffer} other
 * @param {Buffer} line
 */
function belowParentOf(other, line) {
	const [value, sibling] = [parse(line), parse(other)];
	if (!isObject(value) || !isObject(sibling) || value.parentId === sibling.parentId) return line;
	const [own = "", wanted = ""] = [value, sibling].map(({ parentId }) => Buffer.from(`"parentId":${JSON.stringify(parentId)}`).toString("latin1"));
	return Buffer.from(line.toString("latin1").replace(own, () => wanted), "latin1");
}

exports.copiesAmong = copiesAmong;
exports.copiesIn = copiesIn;
exports.eachLine = eachLine;
exports.entriesIn = entriesIn;
exports.entriesWith = entriesWith;
exports.identityOf = identityOf;
