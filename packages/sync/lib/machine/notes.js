// The notes of this machine: for each session of a store, how much of its file is stored. If they are lost, files are
// compared with everything that is stored, and a session that was deleted on this machine comes back with the next
// pull.
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
 * @property {number} offset the number of bytes of the file that are stored
 * @property {string} fingerprint of the bytes before the offset
 * @property {boolean} mustReload the next pull must load everything, because the cursor may have passed lines that the
 * file does not contain, or could not read some
 * @property {string} [revision] of the session in the store at the last pull
 * @property {number} [redactions] the number of the store's redactions that this machine has applied
 * @property {boolean} [isDeleted] a push found the session deleted from the store; the next push or pull writes a note
 * without it
 * @property {boolean} [isReported] a command has reported that the session was deleted
 */

/**
 * The revision of a session in a store: while it is the same, there is nothing new.
 * @param {import("../index").StoredSession} stored
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

	/** Whether there is a note, also an empty one. @param {string} session */
	has(session) {
		return fs.existsSync(this.#path(session));
	}

	/**
	 * Writes a note, or an empty one, which says that nothing is known of the store.
	 * @param {string} session
	 * @param {Note | undefined} note
	 */
	async set(session, note) {
		await writeSmall(this.#path(session), note ? JSON.stringify(note) : "");
	}

	/**
	 * Empties a note if there is one: the next push compares the file with everything that is stored.
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
