// Copies of entries in other sessions. A fork copies entries with their ids and times, and may put one below another entry than the
// original is below, so that its line is another one.
const { promises: fs } = require("node:fs");
const { unlessAbsent } = require("./calls.js");
const { entryOf, isObject, parse } = require("./lines.js");
const { hashOf } = require("./redactions.js");
const { readLines } = require("./session-file.js");

/** @typedef {import("./index").Redaction} Redaction */

/** The keys whose values are ids of other entries: those of `REFERENCES` in src/core/format/entry.rs. */
const REFERENCES = ["parentId", "firstKeptEntryId", "targetId", "fromId"];

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
	const hasId = haveIds(ids);
	await eachLine(path, (line) => {
		if (hasId(line)) found.push({ identity: identityOf(line) ?? "", line: Buffer.from(line) });
	});
	return found;
}

/** Whether a line is that of an entry with one of these ids. @param {Set<string>} ids */
function haveIds(ids) {
	// As most lines have none of them, few are parsed.
	const texts = [...ids].map((id) => Buffer.from(JSON.stringify(id)));
	return (/** @type {Buffer} */ line) => texts.some((text) => line.includes(text)) && ids.has(entryOf(line)?.id ?? "");
}

/**
 * What is to be redacted in a file because the original was redacted: copies of its entries.
 * @param {string} path
 * @param {readonly Redaction[]} redactions
 */
async function copiesIn(path, redactions) {
	return copiesAmong((await entriesWith(path, idsOf(redactions))).map(({ line }) => line), redactions);
}

/**
 * Redactions of those lines that are copies of redacted entries. A copy that differs from the original only in the ids that it refers to gets what
 * stands in the original's place. Of any other nobody knows what it holds: it loses what it says.
 * @param {Buffer[]} lines
 * @param {readonly Redaction[]} redactions
 * @returns {Redaction[]}
 */
function copiesAmong(lines, redactions) {
	const known = new Set(redactions.map(({ hash }) => hash));
	const entries = redactions.flatMap(({ hash, line }) => (line ? { hash, line, identity: identityOf(line) } : []));
	return lines.filter(haveIds(idsOf(redactions))).flatMap((line) => {
		const [hash, identity] = [hashOf(line), identityOf(line)];
		const redacted = entries.filter((one) => one.identity === identity);
		if (redacted.length === 0 || known.has(hash) || redacted.some((one) => inPlaceOf(one.line, line).equals(one.line))) return [];
		const original = redacted.find((one) => hashOf(inPlaceOf(one.line, line)) === one.hash);
		return [{ hash, ...(original && { line: inPlaceOf(line, original.line) }) }];
	});
}

/** The ids of redacted entries that say anything. @param {readonly Redaction[]} redactions */
const idsOf = (redactions) => new Set(redactions.flatMap(({ line }) => (line && entryOf(line)?.id) ?? []));

/**
 * The line of an entry, referring to the entries that another one refers to: all of its other bytes as they are.
 * @param {Buffer} other
 * @param {Buffer} line
 */
function inPlaceOf(other, line) {
	const [value, referring] = [parse(line), parse(other)];
	if (!isObject(value) || !isObject(referring)) return line;
	const keys = REFERENCES.filter((key) => key in value && key in referring && value[key] !== referring[key]);
	const whole = JSON.stringify({ ...value, ...Object.fromEntries(keys.map((key) => [key, referring[key]])) });
	const edited = keys.reduce((bytes, key) => {
		const [from = "", to = ""] = [value, referring].map((one) => `${JSON.stringify(key)}:${JSON.stringify(one[key])}`);
		const at = bytes.indexOf(from);
		return at < 0 ? bytes : Buffer.concat([bytes.subarray(0, at), Buffer.from(to), bytes.subarray(at + Buffer.byteLength(from))]);
	}, line);
	return JSON.stringify(parse(edited)) === whole ? edited : Buffer.from(whole);
}

exports.copiesAmong = copiesAmong;
exports.copiesIn = copiesIn;
exports.eachLine = eachLine;
exports.entriesWith = entriesWith;
exports.identityOf = identityOf;
