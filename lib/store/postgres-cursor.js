// Cursors of PostgreSQL: what a host has seen of a session.
const { StoreError } = require("./errors.js");

/** The cursor of a session that is not there. */
const NOTHING = "0:0";
/** Incarnation, and sequence and stamp of the last row that was passed. */
const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const CURSOR = new RegExp(`^(${UUID}):(\\d{1,15}):(${UUID})?$`);

/** @typedef {{ incarnation: string, sequence: number, stamp: string | null }} Seen */

/** @param {Seen} seen */
const cursorText = ({ incarnation, sequence, stamp }) => `${incarnation}:${sequence}:${stamp ?? ""}`;

/** Undefined if nothing was seen. @param {string} [text] @returns {Seen | undefined} */
function readCursor(text = NOTHING) {
	if (text === NOTHING) return undefined;
	const [, incarnation, sequence, stamp = null] = CURSOR.exec(text) ?? [];
	if (incarnation !== undefined) return { incarnation, sequence: Number(sequence), stamp };
	throw new StoreError("reset", "The cursor is not one of this store");
}

exports.NOTHING = NOTHING;
exports.cursorText = cursorText;
exports.readCursor = readCursor;
