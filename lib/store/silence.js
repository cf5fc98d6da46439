// Remembers that a store did not answer: for a minute no process of this machine waits for it again.
const fs = require("node:fs");
const { join } = require("node:path");
const { addressKey } = require("./address.js");
const { isObject } = require("./lines.js");

const MINUTE_MS = 60_000;

class Silence {
	#folder;
	#path;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notes, address) {
		this.#folder = notes;
		this.#path = join(notes, `silent-${addressKey(address)}`);
	}

	/** Whether the store did not answer within the last minute. */
	isRecent() {
		try {
			const age = Date.now() - fs.statSync(this.#path).mtimeMs;
			return age >= 0 && age < MINUTE_MS;
		} catch (error) {
			if (isObject(error) && error.code === "ENOENT") return false;
			throw error;
		}
	}

	begin() {
		fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
		fs.writeFileSync(this.#path, "", { mode: 0o600 });
	}

	end() {
		fs.rmSync(this.#path, { force: true });
	}
}

exports.Silence = Silence;
