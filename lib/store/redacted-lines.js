// What was redacted in the session files of a directory, whether a store is named or not: it goes to every store that has the sessions,
// also to one that is named later (redact.js).
const { createHash } = require("node:crypto");
const { join, resolve } = require("node:path");
const { isObject } = require("./lines.js");
const { checkId, nameOf } = require("./names.js");
const { readJson, writeWhole } = require("./small-file.js");

/** @typedef {{ hash: string, newHash: string }} RedactedLine the SHA-256 of the bytes of a line before and after, in hexadecimal digits */

class RedactedLines {
	#folder;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} dir of the session files
	 */
	constructor(notes, dir) {
		this.#folder = join(notes, "redacted", createHash("sha256").update(resolve(dir)).digest("hex").slice(0, 16));
	}

	/** @param {string} session @returns {RedactedLine[]} */
	of(session) {
		const value = readJson(this.#path(session));
		return Array.isArray(value) ? value.filter((one) => isObject(one) && typeof one.hash === "string" && typeof one.newHash === "string") : [];
	}

	/**
	 * Keeps more: a file is redacted only after that, so that it goes to the stores however this process ends.
	 * @param {string} session
	 * @param {readonly RedactedLine[]} lines
	 */
	async add(session, lines) {
		if (lines.length === 0) return;
		const all = new Map([...this.of(session), ...lines].map(({ hash, newHash }) => [hash, { hash, newHash }]));
		await writeWhole(this.#path(session), JSON.stringify([...all.values()]));
	}

	/** @param {string} session */
	#path(session) {
		return join(this.#folder, `${nameOf(checkId(session, "session"))}.json`);
	}
}

exports.RedactedLines = RedactedLines;
