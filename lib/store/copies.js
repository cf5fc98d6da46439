// Copies of entries in other sessions. A fork copies entries with their ids and times, and may put one below another entry than the
// original is below, so that its line is another one.
const { promises: fs } = require("node:fs");
const { unlessAbsent } = require("./calls.js");
const { entryOf, isObject, parse } = require("./lines.js");
const { hashOf } = require("./redactions.js");
const { readLines } = require("./session-file.js");

/** @typedef {import("./index").Redaction} Redaction */

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
	// As most lines have none of them, few are parsed.
	const texts = [...ids].map((id) => Buffer.from(JSON.stringify(id)));
	await eachLine(path, (line) => {
		if (texts.some((text) => line.includes(text)) && ids.has(entryOf(line)?.id ?? "")) found.push({ identity: identityOf(line) ?? "", line: Buffer.from(line) });
	});
	return found;
}

/**
 * What is to be redacted in a file because the original was redacted: copies of its entries. A copy that differs from the original only in
 * its parent gets what stands in the original's place. Of any other nobody knows what it holds: it loses what it says.
 * @param {string} path
 * @param {readonly Redaction[]} redactions
 * @returns {Promise<Redaction[]>}
 */
async function copiesIn(path, redactions) {
	const known = new Set(redactions.map(({ hash }) => hash));
	const entries = redactions.flatMap(({ hash, line }) => (line ? { hash, line, identity: identityOf(line) } : []));
	const ids = new Set(entries.flatMap(({ line }) => entryOf(line)?.id ?? []));
	return (await entriesWith(path, ids)).flatMap(({ identity, line }) => {
		const hash = hashOf(line);
		const redacted = entries.filter((one) => one.identity === identity);
		if (redacted.length === 0 || known.has(hash) || redacted.some((one) => belowParentOf(one.line, line).equals(one.line))) return [];
		const original = redacted.find((one) => hashOf(belowParentOf(one.line, line)) === one.hash);
		return [{ hash, ...(original && { line: belowParentOf(line, original.line) }) }];
	});
}

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

exports.copiesIn = copiesIn;
exports.eachLine = eachLine;
exports.entriesWith = entriesWith;
exports.identityOf = identityOf;
