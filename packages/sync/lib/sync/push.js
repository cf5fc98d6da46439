// Pushes a session's file to a store, whatever process appended to it, in portions of at most a megabyte or one line.
//
// A note says how much is known to be stored: a cursor of the store, an offset in the file, and a fingerprint of the
// bytes just before that offset. If a note is lost, or does not match the file any more, the file is compared with all
// that is stored. So it is if the store does not know the cursor any more, because it was made anew or set back, unless
// it says that the session was deleted there: that is an error.
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
/** @typedef {{ session: string, file: string, cwd?: string }} Local */
/**
 * What a push works with.
 * @typedef {object} Parts
 * @property {LineStore} store
 * @property {string} project
 * @property {import("../machine/notes").Notes} notes
 * @property {import("./redaction-sync").RedactionSync} redactions
 * @property {(line: Uint8Array) => string | undefined} [secretIn] says which secret a line contains: it is not stored
 * then
 * @property {(local: Local) => boolean} isPrivate whether nothing more is to be stored
 * @property {(bytes: number) => void} onProgress is called with how much more of the file is known to be stored
 */

class FilePush {
	#parts;
	#local;
	/** The lines of the store, once all of them were loaded. @type {Set<string> | undefined} */
	#storedLines;
	/** Whether the store has seen the cursor since this push began. */
	#isCompared = false;
	/** Whether the store did not know the cursor since a portion was stored. */
	#wasReset = false;
	/** How much of the file was stored before. */
	#before;
	/** The error about a line that is too long for the store. @type {Error | undefined} */
	skipped;

	/** @param {Parts} parts @param {Local} local */
	constructor(parts, local) {
		this.#parts = parts;
		this.#local = local;
		this.#before = this.#note()?.offset ?? 0;
	}

	/** The newest note: a pull, or another process, may have made it. */
	#note() {
		return this.#parts.notes.get(this.#local.session);
	}

	/** How many bytes of the file are known to be stored that were not. */
	get bytes() {
		return Math.max(0, (this.#note()?.offset ?? 0) - this.#before);
	}

	/** Stores what the file contains. */
	async run() {
		// Before each portion, because the store may have been set back during the one before.
		do await this.#parts.redactions.pushUnlessKnown(this.#local);
		while (await this.#storePortion());
	}

	/**
	 * Keeps a note. The revision before a push is forgotten: a store that was set back to it has it again, and lacks what
	 * was pushed.
	 * @param {Note} note
	 */
	async #keep(note) {
		const { notes } = this.#parts;
		const { session } = this.#local;
		await notes.set(session, { redactions: notes.get(session)?.redactions, ...note, revision: undefined });
	}

	/** Stores one portion. Gives whether there may be more. */
	async #storePortion() {
		try {
			return await this.#tryPortion();
		} catch (error) {
			const { store, notes, redactions } = this.#parts;
			const { session } = this.#local;
			if (!(error instanceof StoreError) || error.code !== "reset") throw error;
			// One that was set back to before it had the session does not say so.
			if ((await store.list({ session })).deleted.length > 0) throw deletedError(session);
			redactions.forget(session);
			await notes.set(session, undefined);
			this.#before = 0;
			if (this.#wasReset) throw error;
			this.#wasReset = true;
			return true;
		}
	}

	#tryPortion() {
		// A session gets its file with its first message.
		return withFile(
			unlessAbsent(fs.open(this.#local.file)),
			async (file) => file !== undefined && this.#storeFrom(file),
		);
	}

	/** @param {FileHandle} file */
	async #storeFrom(file) {
		const { store, project, redactions, isPrivate, onProgress } = this.#parts;
		const { session } = this.#local;
		const noted = this.#note();
		let note = noted;
		if (!note || (await fingerprintAt(file, note.offset)) !== note.fingerprint) {
			const page = await this.#loadStored();
			this.#isCompared = true;
			note = {
				cursor: page.cursor,
				offset: 0,
				fingerprint: await fingerprintAt(file, 0),
				mustReload: page.lines.length > 0,
			};
		}
		const read = await readLines(file, note.offset);
		if (read.tooLong > 0)
			this.skipped = new StoreError(
				"invalid",
				`${this.#local.file}: the line at byte ${note.offset} has ${read.tooLong} bytes, and is too long to be an entry: pi-sessions repair takes it out`,
			);
		// After reading: what is said once a session is private is not among the lines if it was not private yet.
		if (isPrivate(this.#local)) return false;
		// Then the file is another one. On Windows some file systems replace no file that is open.
		if (await redactions.redactKnownCopies(this.#local, read.lines, () => file.close())) return true;
		const { lines, bytes, hasMore } = await this.#beforeSecret(read, note);
		if (bytes === 0) {
			await this.#compare(note);
			return false;
		}
		const { line: header } = readHeader(this.#local.file);
		const fits = (/** @type {Uint8Array} */ line) => line.length <= (store.longestLine ?? Infinity);
		const isStored = noted !== undefined || (this.#storedLines?.size ?? 0) > 0;
		const fresh = lines.filter((line) => fits(line) && entryOf(line) && !this.#isStored(line));
		// A header alone: a store has nothing of a session without an entry.
		if (fresh.length === 0 && !isStored && !hasMore) return false;
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
		if (!isDeepStrictEqual(this.#note(), noted)) return true;
		await this.#keep({ ...note, cursor, offset, fingerprint, mustReload });
		for (const line of lines)
			if (!fits(line))
				this.skipped = new StoreError(
					"invalid",
					`${tooLong(session, line, store.longestLine ?? 0)}: it stays in this machine's file`,
				);
		onProgress(bytes);
		return hasMore;
	}

	/**
	 * What is read, up to the first line that holds a secret; throws if that is the first one. What follows it stays
	 * here, too: its entries would have no parents elsewhere.
	 * @param {Awaited<ReturnType<typeof readLines>>} read
	 * @param {Note} note
	 */
	async #beforeSecret(read, note) {
		const { secretIn } = this.#parts;
		const { session } = this.#local;
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
			throw new StoreError(
				"held-back",
				`Session ${session}: ${id === undefined ? "a line" : `entry ${id}`} holds ${secretIn(held)}, and is not stored with all that follows it: pi-sync redact takes it out`,
			);
		}
		const lines = read.lines.slice(0, at);
		return { lines, bytes: lines.reduce((sum, line) => sum + line.length + 1, 0), hasMore: true };
	}

	async #loadStored() {
		const page = await loadAll(this.#parts.store, this.#local.session);
		this.#storedLines = new Set(page.lines.map(({ line }) => lineKey(line)));
		return page;
	}

	/** Whether a line is known to be stored. @param {Uint8Array} line */
	#isStored(line) {
		return this.#storedLines?.has(lineKey(line)) ?? false;
	}

	/**
	 * Shows the store the cursor, where nothing was appended that did so: one that was made anew or put back is noticed.
	 * @param {Note} note
	 */
	async #compare({ cursor }) {
		if (!this.#isCompared) await this.#parts.store.load(this.#local.session, cursor);
		this.#isCompared = true;
	}
}

exports.FilePush = FilePush;
