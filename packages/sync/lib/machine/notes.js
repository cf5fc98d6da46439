// What this machine notes about its stores: for each session of a store how far its file is stored. Losing it only
// costs time.
const fs = require("node:fs");
const { join, resolve } = require("node:path");
const { addressKey } = require("../base/address.js");
const { isCount } = require("../base/lines.js");
const { checkId, nameOf } = require("../base/names.js");
const { onDisk } = require("./session-path.js");
const { readJson, writeSmall } = require("./small-file.js");

/**
 * @typedef {object} Note
 * @property {string} cursor
 * @property {number} offset so many bytes of the file are stored
 * @property {string} fingerprint of what is before that
 * @property {boolean} mustReload the next pull is to load everything: the file may lack lines that the cursor has
 * passed, some of which
 *   could not be read, or has entries with other ids than in the store
 * @property {string} [revision] that of the session in the store then
 * @property {number} [redactions] how many of the store's are taken over
 * @property {boolean} [isDeleted] the session was deleted from the store when it was pushed; the next note of a push or
 * a pull is without that
 * @property {string} [underOtherProject] the id of the store, if that has the session under the name of another project
 */

/**
 * The revision of a session in a store: while it is the same there is nothing new. @param
 * {import("../index").StoredSession} stored
 */
const revisionOf = ({ session, bytes, modified, hosts, redactions }) =>
	`${session} ${bytes} ${modified.getTime()} ${redactions} ${hosts.join(" ")}`;

class Notes {
	#folder;

	/**
	 * @param {string} notesDir the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 * @param {string} dir of the session files: another checkout of a project has files of its own
	 */
	constructor(notesDir, address, dir) {
		this.#folder = join(resolve(notesDir), addressKey(address, `\n${onDisk(resolve(dir))}`));
	}

	/** @param {string} session @returns {Note | undefined} */
	get(session) {
		const note = /** @type {Note | undefined} */ (readJson(this.#path(session)));
		const isNote =
			typeof note?.cursor === "string" &&
			typeof note.fingerprint === "string" &&
			isCount(note.offset) &&
			typeof note.mustReload === "boolean";
		return isNote ? note : undefined;
	}

	/** Whether the session was noted, though nothing may be known of it now. @param {string} session */
	has(session) {
		return fs.existsSync(this.#path(session));
	}

	/**
	 * Keeps a note, or only that the session is to be stored: then nothing is known of the store.
	 * @param {string} session
	 * @param {Note | undefined} note
	 */
	async set(session, note) {
		await writeSmall(this.#path(session), note ? JSON.stringify(note) : "");
	}

	/**
	 * Forgets what is known of the store, if there is a note: the next push compares the file with all that is stored.
	 * @param {string} session
	 */
	async forget(session) {
		if (this.has(session)) await this.set(session, undefined);
	}

	/** @param {string} session */
	#path(session) {
		return join(this.#folder, `${nameOf(checkId(session, "session"))}.json`);
	}
}

exports.Notes = Notes;
exports.revisionOf = revisionOf;
