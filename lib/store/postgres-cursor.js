// Cursors of PostgreSQL: what a host has seen of a session.
const { StoreError } = require("./errors.js");

/** The cursor of a session that is not there. */
const NOTHING = "0:0";
/** Generation, sequence and stamp, and once more the last two of a later row. */
const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const CURSOR = new RegExp(`^(${UUID}):(\\d{1,15}):(${UUID})?(?::(\\d{1,15}):(${UUID})?)?$`);

/** @typedef {{ sequence: number, stamp: string | null }} Row */

/**
 * @param {string} generation
 * @param {Row} last that was passed
 * @param {Row} [own] the last one that is known to be stored, if it comes later: a store that was restored to a state without it is
 *   noticed
 */
const cursorText = (generation, last, own) => [last, ...(own && own.sequence > last.sequence ? [own] : [])].reduce((text, { sequence, stamp }) => `${text}:${sequence}:${stamp ?? ""}`, generation);

/** @param {Row | undefined} a @param {Row | undefined} b */
const later = (a, b) => (a && b && b.sequence > a.sequence ? b : (a ?? b));

/**
 * Undefined if nothing was seen.
 * @param {string} [text]
 * @returns {(Row & { generation: string, own?: Row }) | undefined}
 */
function readCursor(text = NOTHING) {
	if (text === NOTHING) return undefined;
	const [, generation, sequence, stamp = null, own, ownStamp = null] = CURSOR.exec(text) ?? [];
	if (generation !== undefined) return { generation, sequence: Number(sequence), stamp, own: own === undefined ? undefined : { sequence: Number(own), stamp: ownStamp } };
	throw new StoreError("invalid", "The cursor is not one of this store");
}

exports.NOTHING = NOTHING;
exports.cursorText = cursorText;
exports.later = later;
exports.readCursor = readCursor;
