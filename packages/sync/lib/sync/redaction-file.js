// The redaction file of a session. It contains the hashes of redacted lines and their replacements, for every store
// that contains the session, also one that is named later (redact-files.js), and the stores in which a redaction began
// and did not end.
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

/** The longest string of JavaScript, because a longer file cannot be parsed. */
const LIMIT = constants.MAX_STRING_LENGTH;

/**
 * @typedef {{ hash: string, line: Buffer }} ReplacedLine the SHA-256 of the bytes of a line in hexadecimal digits, and
 * the line in its place
 */
/**
 * @typedef {{ lines: ReplacedLine[], unfinished: string[] }} Kept `unfinished`: the keys of the stores in which a
 * redaction began and did not end
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
	 * @param {string} [address] of a store, whose note of the session is emptied when redactions are added
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
		// For one session and store, so that others do not wait for a store that does not answer.
		this.#storeLock = hostLock([this.#path, this.#store], notesDir);
		this.#notes = address === undefined ? undefined : new Notes(notesDir, address, dir);
	}

	/** The redacted lines. */
	all() {
		return this.#read().lines;
	}

	/**
	 * The redacted lines of all sessions of the directory. A damaged file of another session is skipped, because it only
	 * stops that session.
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
				// The push or pull of its session reports it.
			}
		}
		return all;
	}

	/** Whether a redaction in the store began and did not end: the store may know it, and still contain the bytes. */
	isUnfinished() {
		return this.#read().unfinished.includes(this.#store);
	}

	/**
	 * Throws if the redaction file is damaged, because without it a store would bring the lines back.
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
				`${path}, which lists the redactions of a session, is damaged: restore it, or remove it and redact the ` +
					"session again",
			);
		return { lines: lines.map(({ hash, line }) => ({ hash, line: Buffer.from(line, "base64") })), unfinished };
	}

	/** @param {{ lines: import("../index").Redaction[], unfinished: string[] }} kept */
	async #write({ lines, unfinished }) {
		const texts = lines.map(({ hash, line }) => ({ hash, line: line?.toString("base64") }));
		await writeSmall(this.#path, JSON.stringify({ lines: texts, unfinished }), dirname(this.#notesDir));
	}

	/**
	 * Adds lines, within `withLock`. A session file is redacted only after that, so the redaction reaches the stores
	 * however this process, or the machine, ends. Returns whether there were new ones.
	 * @param {readonly { hash: string, line: Uint8Array }[]} lines
	 * @param {{ keepsNote?: boolean }} [options] `keepsNote`: keep the note, because the store has redacted these lines
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
	 * Redacts the store. This counts as unfinished until it has succeeded, or the store does not contain the session. One
	 * process does it at a time, and a success also finishes earlier attempts that failed or were killed.
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
	 * Excludes other processes of this host, from the change of a redaction file until its session file is redacted.
	 * @template T
	 * @param {() => Promise<T>} work
	 */
	withLock(work) {
		return this.#lock("redacted", work);
	}
}

exports.RedactionFile = RedactionFile;
