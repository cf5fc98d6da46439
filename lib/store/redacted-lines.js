// What was redacted in a session's file, and what stands in its place, whether a store is named or not: it goes to every store that has the
// session, also to one that is named later (redact.js).
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { dirname, join, resolve } = require("node:path");
const { StoreError } = require("./errors.js");
const { hostLock } = require("./host-lock.js");
const { isObject, parse } = require("./lines.js");
const { checkId, nameOf } = require("./names.js");
const { settleRedactions } = require("./redactions.js");
const { unlessAbsent, writeWhole } = require("./small-file.js");

/** @typedef {{ hash: string, line: Buffer }} RedactedLine the SHA-256 of the bytes of a line in hexadecimal digits, and the line in its place */

class RedactedLines {
	#session;
	#notes;
	#path;
	#lock;
	#onAdd;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {{ session: string, file: string }} local
	 * @param {() => unknown} [onAdd] is called when there is more, and waited for
	 */
	constructor(notes, { session, file }, onAdd) {
		const dir = resolve(dirname(file));
		this.#session = checkId(session, "session");
		this.#notes = resolve(notes);
		this.#path = join(this.#notes, "redacted", createHash("sha256").update(dir).digest("hex").slice(0, 16), `${nameOf(session)}.json`);
		this.#lock = hostLock({ store: dir, host: "redacted", locks: notes });
		this.#onAdd = onAdd;
	}

	/**
	 * What was redacted. Throws if the note is damaged: without it a store would bring the lines back.
	 * @returns {RedactedLine[]}
	 */
	all() {
		const bytes = unlessAbsent(() => readFileSync(this.#path));
		if (!bytes) return [];
		const value = parse(bytes);
		if (!Array.isArray(value) || !value.every((one) => isObject(one) && typeof one.hash === "string" && typeof one.line === "string"))
			throw new StoreError("failed", `${this.#path}, which says what was redacted of session ${this.#session}, is damaged: put it back, or remove it and redact the session again`);
		return value.map(({ hash, line }) => ({ hash, line: Buffer.from(line, "base64") }));
	}

	/**
	 * Keeps more, within `alone`: a file is redacted only after that, so that it goes to the stores however this process, or the machine, ends.
	 * Gives whether there was more.
	 * @param {readonly RedactedLine[]} lines
	 */
	async add(lines) {
		const known = this.all();
		const more = settleRedactions(this.#session, lines, known);
		if (more.length === 0) return false;
		const all = new Map([...known, ...more].map(({ hash, line }) => [hash, { hash, line: line?.toString("base64") }]));
		await writeWhole(this.#path, JSON.stringify([...all.values()]), dirname(this.#notes));
		await this.#onAdd?.();
		return true;
	}

	/**
	 * Does something that no other process of this host does meanwhile: a file is redacted, from the note of it on until it is done.
	 * @template T
	 * @param {() => Promise<T>} work
	 */
	alone(work) {
		return this.#lock("redacted", work);
	}
}

exports.RedactedLines = RedactedLines;
