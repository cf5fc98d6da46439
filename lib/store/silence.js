// Remembers that a store did not answer: for a minute no process of this machine waits for it again.
const { join } = require("node:path");
const { addressKey } = require("./address.js");
const { remove, timeOf, writeWholeSync } = require("./small-file.js");

const MINUTE_MS = 60_000;

class Silence {
	#path;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notes, address) {
		this.#path = join(notes, `silent-${addressKey(address)}`);
	}

	/** Whether the store did not answer within the last minute. */
	isRecent() {
		const age = Date.now() - (timeOf(this.#path) ?? -Infinity);
		return age >= 0 && age < MINUTE_MS;
	}

	begin() {
		writeWholeSync(this.#path, "");
	}

	end() {
		remove(this.#path);
	}
}

exports.Silence = Silence;
