// What was redacted in the session files of a directory, whether a store is named or not: it goes to every store that has the sessions,
// also to one that is named later (redact.js).
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { dirname, join, resolve } = require("node:path");
const { StoreError } = require("./errors.js");
const { hostLock } = require("./host-lock.js");
const { isObject, parse } = require("./lines.js");
const { checkId, nameOf } = require("./names.js");
const { unlessAbsent, writeWhole } = require("./small-file.js");

/** @typedef {{ hash: string, newHash: string }} RedactedLine the SHA-256 of the bytes of a line before and after, in hexadecimal digits */

class RedactedLines {
	#notes;
	#folder;
	#lock;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} dir of the session files
	 */
	constructor(notes, dir) {
		this.#notes = resolve(notes);
		this.#lock = hostLock({ store: resolve(dir), host: "redacted", locks: notes });
		this.#folder = join(this.#notes, "redacted", createHash("sha256").update(resolve(dir)).digest("hex").slice(0, 16));
	}

	/**
	 * What was redacted. Throws if the note is damaged: without it a store would bring the lines back.
	 * @param {string} session
	 * @returns {RedactedLine[]}
	 */
	of(session) {
		const path = this.#path(session);
		const bytes = unlessAbsent(() => readFileSync(path));
		if (!bytes) return [];
		const value = parse(bytes);
		if (!Array.isArray(value) || !value.every((one) => isObject(one) && typeof one.hash === "string" && typeof one.newHash === "string"))
			throw new StoreError("failed", `${path}, which says what was redacted of session ${session}, is damaged: put it back, or remove it and redact the session again`);
		return value;
	}

	/**
	 * Keeps more: a file is redacted only after that, so that it goes to the stores however this process, or the machine, ends.
	 * @param {string} session
	 * @param {readonly RedactedLine[]} lines
	 */
	async add(session, lines) {
		if (lines.length === 0) return;
		await this.#lock("redacted", async () => {
			const all = new Map([...this.of(session), ...lines].map(({ hash, newHash }) => [hash, { hash, newHash }]));
			await writeWhole(this.#path(session), JSON.stringify([...all.values()]), dirname(this.#notes));
		});
	}

	/**
	 * Does something that no other process of this host does meanwhile: a file is redacted, from the note of it on until it is done.
	 * @template T
	 * @param {() => Promise<T>} work
	 */
	alone(work) {
		return this.#lock("redacting", work);
	}

	/** @param {string} session */
	#path(session) {
		return join(this.#folder, `${nameOf(checkId(session, "session"))}.json`);
	}
}

exports.RedactedLines = RedactedLines;
