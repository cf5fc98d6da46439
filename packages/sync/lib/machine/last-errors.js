// The last error of a store and of each session in it, for `pi-sync status`, because nobody sees the errors of a
// process beside pi.
const { join } = require("node:path");
const { addressKey } = require("../base/address.js");
const { compareText } = require("../base/lines.js");
const { nameOf } = require("../base/names.js");
const { namesIn, readJson, remove, writeSmall } = require("./small-file.js");

/**
 * @typedef {{ session: string | undefined, at: string, code: string | undefined, message: string }} LastError without a
 * session it is the store's
 */

/** The file of the store's own error; no session has this id. */
const STORE = "_.json";

class LastErrors {
	#folder;

	/**
	 * @param {string} notesDir the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notesDir, address) {
		this.#folder = join(notesDir, `errors-${addressKey(address)}`);
	}

	/**
	 * Writes the last error, or removes it after a success. A failure to write it is ignored, because the caller reports
	 * its own error.
	 * @param {string | undefined} session
	 * @param {Error & { code?: string } | undefined} error
	 * @param {"push" | "pull"} [by] the operation on a session: a push that succeeds does not remove the error of a pull
	 */
	async set(session, error, by) {
		const path = join(this.#folder, session === undefined ? STORE : `${nameOf(session)}.${by}.json`);
		try {
			if (!error) return remove(path);
			const { code, message } = error;
			await writeSmall(path, JSON.stringify({ session, at: new Date().toISOString(), code, message }));
		} catch {
			// The caller reports the error.
		}
	}

	/** @returns {LastError[]} the store's own first */
	all() {
		const names = namesIn(this.#folder).filter((name) => name.endsWith(".json"));
		names.sort((a, b) => Number(b === STORE) - Number(a === STORE) || compareText(a, b));
		return names.flatMap((name) => /** @type {any} */ (readJson(join(this.#folder, name))) ?? []);
	}
}

exports.LastErrors = LastErrors;
