// The redaction file of a session: what was redacted, and what stands in its place, whether a store is named or not. It
// goes to every store that has the session, also to one that is named later (redact-files.js). The file also says in
// which stores that was begun and has not ended.
const { createHash } = require("node:crypto");
const { constants } = require("node:buffer");
const { dirname, join, resolve } = require("node:path");
const { addressKey } = require("../base/address.js");
const { StoreError, isGone } = require("../base/errors.js");
const { hostLock } = require("../machine/host-lock.js");
const { buffer, isObject, parse } = require("../base/lines.js");
const { checkId, nameOf } = require("../base/names.js");
const { Notes } = require("../machine/notes.js");
const { settleRedactions } = require("../base/redaction-rules.js");
const { onDisk } = require("../machine/session-path.js");
const { namesIn, readSmall, writeSmall } = require("../machine/small-file.js");

/** The longest text of JavaScript: a longer file cannot be parsed. */
const LIMIT = constants.MAX_STRING_LENGTH;

/**
 * @typedef {{ hash: string, line: Buffer }} ReplacedLine the SHA-256 of the bytes of a line in hexadecimal digits, and
 * the line in its place
 */
/**
 * @typedef {{ lines: ReplacedLine[], unfinished: string[] }} Kept `unfinished`: the stores in which a redaction was
 * begun and has not ended, by their keys
 */

class RedactionFile {
	#session;
	#notesDir;
	#path;
	#lock;
	#storeLock;
	#store;
	#notes;

	/**
	 * @param {string} notesDir the directory of this machine's notes
	 * @param {{ session: string, file: string }} local
	 * @param {string} [address] of a store, whose note of the session does not hold any longer when there is more
	 */
	constructor(notesDir, { session, file }, address) {
		const dir = onDisk(resolve(dirname(file)));
		this.#session = checkId(session, "session");
		this.#notesDir = resolve(notesDir);
		this.#path = join(
			this.#notesDir,
			"redacted",
			createHash("sha256").update(dir).digest("hex").slice(0, 16),
			`${nameOf(session)}.json`,
		);
		this.#lock = hostLock([dir, "redacted"], notesDir);
		this.#store = address === undefined ? "" : addressKey(address);
		// Of the session and the store alone: others need not wait for a store that does not answer.
		this.#storeLock = hostLock([this.#path, this.#store], notesDir);
		this.#notes = address === undefined ? undefined : new Notes(notesDir, address, dir);
	}

	/** What was redacted. */
	all() {
		return this.#read().lines;
	}

	/**
	 * What was redacted in all sessions of the directory. A damaged file of another session is left out: it stops its
	 * own.
	 */
	ofDirectory() {
		const folder = dirname(this.#path);
		const others = namesIn(folder)
			.filter((name) => name.endsWith(".json"))
			.map((name) => join(folder, name))
			.filter((path) => path !== this.#path);
		const all = this.all();
		for (const path of others) {
			try {
				all.push(...this.#read(path).lines);
			} catch {
				// The session that it is of says so.
			}
		}
		return all;
	}

	/** Whether a redaction in the store was begun and has not ended: the store may know it, and still have the bytes. */
	isUnfinished() {
		return this.#read().unfinished.includes(this.#store);
	}

	/**
	 * Throws if the redaction file is damaged: without it a store would bring the lines back.
	 * @returns {Kept}
	 */
	#read(path = this.#path) {
		const bytes = readSmall(path, { limit: LIMIT });
		if (!bytes) return { lines: [], unfinished: [] };
		const { lines, unfinished } = Object(parse(bytes));
		if (
			!Array.isArray(unfinished) ||
			!Array.isArray(lines) ||
			!lines.every((one) => isObject(one) && typeof one.hash === "string" && typeof one.line === "string")
		)
			throw new StoreError(
				"failed",
				`${path}, which says what was redacted of a session, is damaged: put it back, or remove it and redact the session again`,
			);
		return { lines: lines.map(({ hash, line }) => ({ hash, line: Buffer.from(line, "base64") })), unfinished };
	}

	/** @param {{ lines: import("../index").Redaction[], unfinished: string[] }} kept */
	async #write({ lines, unfinished }) {
		const texts = lines.map(({ hash, line }) => ({ hash, line: line?.toString("base64") }));
		await writeSmall(this.#path, JSON.stringify({ lines: texts, unfinished }), dirname(this.#notesDir));
	}

	/**
	 * Keeps more, within `withLock`. A file is redacted only after that: so it goes to the stores however this process,
	 * or the machine, ends. Gives whether there was more.
	 * @param {readonly { hash: string, line: Uint8Array }[]} lines
	 * @param {{ keepsNote?: boolean }} [options] `keepsNote`: as the store has redacted them
	 */
	async add(lines, { keepsNote = false } = {}) {
		const { lines: known, unfinished } = this.#read();
		const more = settleRedactions(
			this.#session,
			lines.map(({ hash, line }) => ({ hash, line: buffer(line) })),
			known,
		);
		if (more.length === 0) return false;
		const all = new Map([...known, ...more].map((one) => [one.hash, one]));
		await this.#write({ lines: [...all.values()], unfinished });
		if (!keepsNote) await this.#notes?.forget(this.#session);
		return true;
	}

	/**
	 * Redacts in the store. That counts as unfinished until it has succeeded, or the store has nothing of the session.
	 * One process does it at a time: one that succeeds makes good those that have failed, or were killed.
	 * @param {() => Promise<void>} redact
	 */
	async redactInStore(redact) {
		await this.#storeLock("redacting-store", async () => {
			await this.#setUnfinished(true);
			try {
				await redact();
			} catch (error) {
				if (isGone(error)) await this.#setUnfinished(false);
				throw error;
			}
			await this.#setUnfinished(false);
		});
	}

	/** @param {boolean} isUnfinished */
	async #setUnfinished(isUnfinished) {
		await this.withLock(async () => {
			const { lines, unfinished } = this.#read();
			const others = unfinished.filter((one) => one !== this.#store);
			await this.#write({ lines, unfinished: isUnfinished ? [...others, this.#store] : others });
		});
	}

	/**
	 * Does something that no other process of this host does meanwhile: a file is redacted, from when its redaction file
	 * says so until it is done.
	 * @template T
	 * @param {() => Promise<T>} work
	 */
	withLock(work) {
		return this.#lock("redacted", work);
	}
}

exports.RedactionFile = RedactionFile;
