// Pending sessions: sessions that were opened with a store on this machine, and may not be stored to their end. A
// process beside pi writes down its session before there is anything to store, so that a later process of any project
// can store the rest. Each session file has one file here, however often it is opened.
const { join } = require("node:path");
const { addressKey } = require("../base/address.js");
const { isObject } = require("../base/lines.js");
const { isOpen, keyOf } = require("./open-files.js");
const { fileOnDisk } = require("./session-path.js");
const { namesIn, readJson, remove, writeSmall } = require("./small-file.js");

/** @typedef {{ session: string, file: string, cwd: string }} PendingSession */

class Pending {
	#notesDir;
	#folder;

	/**
	 * @param {string} notesDir the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notesDir, address) {
		this.#notesDir = notesDir;
		this.#folder = join(notesDir, `pending-${addressKey(address)}`);
	}

	/**
	 * Notes a session that pi has open. The path is resolved now, because the drive may hang when another process reads
	 * this.
	 * @param {PendingSession} one
	 */
	async add({ session, file, cwd }) {
		await writeSmall(this.#pathOf(file), JSON.stringify({ session, file: fileOnDisk(file), cwd }));
	}

	/** Removes a session, unless another pi has it open and may not have stored everything. @param {string} file */
	remove(file) {
		if (!isOpen(this.#notesDir, file)) remove(this.#pathOf(file));
	}

	/** The sessions that no pi has open now. @returns {PendingSession[]} */
	abandoned() {
		return namesIn(this.#folder)
			.flatMap((name) => {
				const one = name.endsWith(".json") ? readJson(join(this.#folder, name)) : undefined;
				return isObject(one) ? [/** @type {any} */ (one)] : [];
			})
			.filter(({ file }) => !isOpen(this.#notesDir, file));
	}

	/** @param {string} file */
	#pathOf(file) {
		return join(this.#folder, `${keyOf(file)}.json`);
	}
}

exports.Pending = Pending;
