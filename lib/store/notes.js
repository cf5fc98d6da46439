// What this machine notes about its stores: for each session of a store how far its file is stored. Losing it only costs time.
const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { basename, join, resolve } = require("node:path");
const { addressKey } = require("./address.js");
const { isGone } = require("./errors.js");
const { isCount } = require("./lines.js");
const { checkId, isId, nameOf } = require("./names.js");
const { namesIn, readJson, remove, writeWhole } = require("./small-file.js");

/**
 * @typedef {import("./outbox").Note & { revision?: string, redactions?: number, elsewhere?: string }} Note `revision`: that of the
 *   session in the store then; `redactions`: how many of the store's are taken over; `elsewhere`: the id of the store, if that has the session under the
 *   name of another project
 */

/** After how long the mark of a redaction is that of a process that was killed. */
const LONGEST_REDACTING_MS = 10 * 60_000;

/** The revision of a session in a store: while it is the same there is nothing new. @param {import("./index").StoredSession} stored */
const revisionOf = ({ session, bytes, modified, hosts, redactions }) => `${session} ${bytes} ${modified.getTime()} ${redactions} ${hosts.join(" ")}`;

class Notes {
	#notes;
	#folder;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 * @param {string} dir of the session files: another checkout of a project has files of its own
	 */
	constructor(notes, address, dir) {
		this.#notes = resolve(notes);
		this.#folder = join(this.#notes, addressKey(address, `\n${resolve(dir)}`));
	}

	/** @param {string} session @returns {Note | undefined} */
	get(session) {
		try {
			const note = /** @type {Note | undefined} */ (readJson(this.#path(session)));
			const isNote = typeof note?.cursor === "string" && typeof note.check === "string" && isCount(note.offset) && (note.writer === undefined || isId(note.writer));
			return isNote ? note : undefined;
		} catch {
			return undefined;
		}
	}

	/** Whether the session was noted, though nothing may be known of it now. @param {string} session */
	has(session) {
		return fs.existsSync(this.#path(session));
	}

	/**
	 * Keeps a note, or only that the session is to be stored: then nothing is known of the store.
	 * @param {string} session
	 * @param {Note | undefined} note
	 */
	async set(session, note) {
		await writeWhole(this.#path(session), note ? JSON.stringify(note) : "");
	}

	/**
	 * Forgets what is known of the store, if there is a note: the next push compares the file with all that is stored.
	 * @param {string} session
	 */
	async forget(session) {
		if (this.has(session)) await this.set(session, undefined);
	}

	/** Whether a redaction of the session in the store was begun and has not ended: the store may know it, and still have the bytes. @param {string} session */
	isRedacting(session) {
		return this.#redactingOf(session).length > 0;
	}

	/**
	 * Notes that the session is redacted in the store until that has succeeded, however this process, or the machine, ends, or the store has
	 * nothing of it. Calls that have failed, or whose processes were killed, are made good by that; one that still runs is not.
	 * @param {string} session
	 * @param {() => Promise<void>} redact
	 */
	async whileRedacting(session, redact) {
		const abandoned = this.#redactingOf(session).filter((path) => Date.now() - (fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > LONGEST_REDACTING_MS);
		const own = `${this.#redactingPath(session)}${randomBytes(6).toString("hex")}`;
		await writeWhole(own, "", this.#notes);
		let isOver = false;
		try {
			await redact();
			isOver = true;
		} catch (error) {
			isOver = isGone(error);
			throw error;
		} finally {
			if (isOver) for (const path of [...abandoned, own]) remove(path);
			// It is abandoned at once.
			else await fs.promises.utimes(own, 0, 0).catch(() => {});
		}
	}

	/** @param {string} session */
	#path(session) {
		return join(this.#folder, `${nameOf(checkId(session, "session"))}.json`);
	}

	/** What the paths of the session's marks begin with: each redaction has its own. @param {string} session */
	#redactingPath(session) {
		return this.#path(session).replace(/json$/, "redacting.");
	}

	/** @param {string} session */
	#redactingOf(session) {
		const beginning = basename(this.#redactingPath(session));
		const isMark = (/** @type {string} */ name) => name.startsWith(beginning) && !name.endsWith(".json");
		return namesIn(this.#folder).filter(isMark).map((name) => join(this.#folder, name));
	}
}

exports.Notes = Notes;
exports.revisionOf = revisionOf;
