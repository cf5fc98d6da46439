// Redactions: lines that were removed from a session for ever, and their replacements.
const { StoreError } = require("./errors.js");
const { buffer, compareText, entryOf, isObject, sha256 } = require("./lines.js");

/** @typedef {import("../index").Redaction} Redaction */

const HASH = /^[0-9a-f]{64}$/;

/** @param {Uint8Array} line */
const hashOf = (line) => sha256(line).toString("hex");

/**
 * Checks redactions, and returns those that a store must add or change. If a replacement is redacted itself, the line
 * that it replaced gets the new replacement, too.
 * @param {string} session
 * @param {readonly Redaction[]} redactions
 * @param {readonly Redaction[]} known the store's
 * @returns {Redaction[]} the new ones, and those that change
 */
function settleRedactions(session, redactions, known) {
	checkRedactions(session, redactions);
	const all = new Map(known.map(({ hash, line }) => [hash, line]));
	const given = redactions.filter(({ hash }) => !all.has(hash));
	for (const { hash, line } of given) all.set(hash, line && buffer(line));
	const settled = new Map([...all].map(([hash, line]) => [hash, lastOf(session, line, all)]));
	const before = new Map(known.map(({ hash, line }) => [hash, line]));
	const isKnown = (/** @type {string} */ hash) => before.has(hash) && settled.get(hash) === before.get(hash);
	return toRedactions(settled).filter(({ hash }) => !isKnown(hash));
}

/**
 * The last replacement of a line, after all redactions.
 * @param {string} session
 * @param {Buffer | undefined} line
 * @param {Map<string, Buffer | undefined>} all
 */
function lastOf(session, line, all) {
	for (let steps = 0; line; steps++) {
		const hash = hashOf(line);
		if (!all.has(hash)) break;
		if (steps === all.size)
			throw new StoreError(
				"invalid",
				`Session ${session}: a replacement must not restore a line that another redaction removed: choose ` +
					"another replacement",
			);
		line = all.get(hash);
	}
	return line;
}

/** @param {string} session @param {readonly Redaction[]} redactions */
function checkRedactions(session, redactions) {
	if (!Array.isArray(redactions)) throw new StoreError("invalid", "The redactions must be an array");
	for (const redaction of redactions) {
		if (!isObject(redaction) || typeof redaction.hash !== "string" || !HASH.test(redaction.hash))
			throw new StoreError(
				"invalid",
				`Session ${session}: a redaction must have the SHA-256 of a line as 64 hexadecimal digits`,
			);
		const { hash, line } = redaction;
		if (line === undefined) continue;
		if (!(line instanceof Uint8Array) || !entryOf(line))
			throw new StoreError(
				"invalid",
				`Session ${session}: the replacement of line ${hash} is not the line of an entry`,
			);
	}
}

/** @param {Map<string, Buffer | undefined>} lines by hash @returns {Redaction[]} */
const toRedactions = (lines) =>
	[...lines].sort(([a], [b]) => compareText(a, b)).map(([hash, line]) => ({ hash, ...(line && { line }) }));

exports.hashOf = hashOf;
exports.settleRedactions = settleRedactions;
exports.toRedactions = toRedactions;
