// Pushes a session's file to a store, whatever process appended to it, in portions of at most a megabyte or one line.
//
// A note says how much is known to be stored: a cursor of the store, an offset in the file, and a fingerprint of the bytes just
// before that offset. If a note is lost, or does not match the file any more, the file is compared with all that is stored. So it
// is if the store does not know the cursor any more, because it was made anew or set back, unless it says that the session was deleted
// there: that is an error.
const { promises: fs } = require("node:fs");
const { isDeepStrictEqual } = require("node:util");
const { unlessAbsent, withFile } = require("../base/calls.js");
const { StoreError, deletedError } = require("../base/errors.js");
const { entryOf, lineKey, tooLong } = require("../base/lines.js");
const { loadAll } = require("../base/load-all.js");
const { fingerprintAt, readHeader, readLines } = require("../machine/session-file.js");

/** @typedef {import("node:fs").promises.FileHandle} FileHandle */
/** @typedef {import("../index").LineStore} LineStore */
/** @typedef {import("../machine/notes").Note} Note */
/**
 * @typedef {object} FilePushOptions
 * @property {LineStore} store
 * @property {string} session
 * @property {string} file
 * @property {string} [project]
 * @property {() => Note | undefined} readNote gives the newest note: a pull, or another process, may have made it
 * @property {(note: Note | undefined) => unknown} onNote keeps a note when it holds, or that none does any more, and is waited for
 * @property {(error: Error) => void} [onSkipped] is given an error for each line that is too long for the store
 * @property {() => Promise<unknown>} [beforePortion] is called before each portion, as the store may have been set back during the one before, and waited for
 * @property {(lines: Buffer[]) => Promise<boolean>} [redactKnownCopies] redacts those of the lines that were redacted here before; gives whether there are any
 * @property {(line: Uint8Array) => string | undefined} [secretIn] says which secret a line holds: it is not stored then
 * @property {() => boolean} [isPrivate] whether nothing more is to be stored
 * @property {(bytes: number) => void} [onProgress] is given how much of the file is stored that was not known to be
 */

class FilePush {
	#options;
	/** The lines of the store, once all of them were loaded. @type {Set<string> | undefined} */
	#storedLines;
	/** Whether the store has seen the cursor since this push began. */
	#isCompared = false;
	/** Whether the store did not know the cursor since a portion was stored. */
	#wasReset = false;

	/** @param {FilePushOptions} options */
	constructor(options) {
		this.#options = options;
	}

	/** Stores what the file holds. */
	async run() {
		do {
			await this.#options.beforePortion?.();
		} while (await this.#storePortion());
	}

	/** Stores one portion. Gives whether there may be more. */
	async #storePortion() {
		try {
			return await this.#tryPortion();
		} catch (error) {
			const { store, session, onNote } = this.#options;
			if (!(error instanceof StoreError) || error.code !== "reset") throw error;
			// One that was set back to before it had the session does not say so.
			if ((await store.list({ session })).deleted.length > 0) throw deletedError(session);
			await onNote(undefined);
			if (this.#wasReset) throw error;
			this.#wasReset = true;
			return true;
		}
	}

	#tryPortion() {
		// A session gets its file with its first message.
		return withFile(unlessAbsent(fs.open(this.#options.file)), async (file) => file !== undefined && this.#storeFrom(file));
	}

	/** @param {FileHandle} file */
	async #storeFrom(file) {
		const { store, session, project, readNote, onNote, onSkipped, onProgress, redactKnownCopies } = this.#options;
		const noted = readNote();
		let note = noted;
		if (!note || (await fingerprintAt(file, note.offset)) !== note.fingerprint) {
			const page = await this.#loadStored();
			this.#isCompared = true;
			note = { cursor: page.cursor, offset: 0, fingerprint: await fingerprintAt(file, 0), mustReload: page.lines.length > 0 };
		}
		const read = await readLines(file, note.offset);
		// After reading: what is said once a session is private is not among the lines if it was not private yet.
		if (this.#options.isPrivate?.()) return false;
		// Then the file is another one.
		if (await redactKnownCopies?.(read.lines)) return true;
		const { lines, bytes, hasMore } = await this.#beforeSecret(read, note);
		if (bytes === 0) {
			await this.#compare(note);
			return false;
		}
		const { line: header } = readHeader(file);
		const fits = (/** @type {Uint8Array} */ line) => line.length <= (store.longestLine ?? Infinity);
		const fresh = lines.filter((line) => fits(line) && entryOf(line) && !this.#isStored(line));
		let { cursor, mustReload } = note;
		if (fresh.length > 0) {
			const append = { header, lines: fresh, project, after: cursor };
			({ cursor } = await store.append(session, append));
			if (cursor === append.after) {
				// It has not passed what was appended, and would not show whether a store that was set back still has it.
				({ cursor } = await loadAll(store, session, cursor));
				mustReload = true;
			}
			this.#isCompared = true;
		}
		this.#wasReset = false;
		const offset = note.offset + bytes;
		const fingerprint = await fingerprintAt(file, offset);
		// A pull, or another process, made a newer one meanwhile.
		if (!isDeepStrictEqual(readNote(), noted)) return true;
		await onNote({ ...note, cursor, offset, fingerprint, mustReload });
		for (const line of lines) if (!fits(line)) onSkipped?.(new StoreError("invalid", `${tooLong(session, line, store.longestLine ?? 0)}: it stays in this machine's file`));
		onProgress?.(bytes);
		return hasMore;
	}

	/**
	 * What is read, up to the first line that holds a secret; throws if that is the first one. What follows it stays here, too: its
	 * entries would have no parents elsewhere.
	 * @param {Awaited<ReturnType<typeof readLines>>} read
	 * @param {Note} note
	 */
	async #beforeSecret(read, note) {
		const { secretIn, session } = this.#options;
		if (!secretIn) return read;
		const firstHeld = () => read.lines.findIndex((line) => !this.#isStored(line) && secretIn(line) !== undefined);
		let at = firstHeld();
		// The push that compared the file may have ended before this line, which is stored then.
		if (at === 0 && note.mustReload && !this.#storedLines) {
			await this.#loadStored();
			at = firstHeld();
		}
		const held = read.lines[at];
		if (held === undefined) return read;
		if (at === 0) {
			const id = entryOf(held)?.id;
			throw new StoreError("held-back", `Session ${session}: ${id === undefined ? "a line" : `entry ${id}`} holds ${secretIn(held)}, and is not stored with all that follows it: pi-sessions redact takes it out`);
		}
		const lines = read.lines.slice(0, at);
		return { lines, bytes: lines.reduce((sum, line) => sum + line.length + 1, 0), hasMore: true };
	}

	async #loadStored() {
		const page = await loadAll(this.#options.store, this.#options.session);
		this.#storedLines = new Set(page.lines.map(({ line }) => lineKey(line)));
		return page;
	}

	/** Whether a line is known to be stored. @param {Uint8Array} line */
	#isStored(line) {
		return this.#storedLines?.has(lineKey(line)) ?? false;
	}

	/** Shows the store the cursor, where nothing was appended that did so: one that was made anew or put back is noticed. @param {Note} note */
	async #compare({ cursor }) {
		if (!this.#isCompared) await this.#options.store.load(this.#options.session, cursor);
		this.#isCompared = true;
	}
}

exports.FilePush = FilePush;
