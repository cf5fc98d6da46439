// Pushes a session's file to a store, in portions of at most a megabyte or one line.
//
// A note says how much is known to be stored: a cursor of the store, an offset in the file, and a fingerprint of the
// bytes before that offset. If a note is lost, or does not match the file, the file is compared with everything that is
// stored. The same happens if the store refuses the cursor, because it was created again or restored, unless the
// session was deleted there, which is an error.
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
 * The options of a push.
 * @typedef {object} Parts
 * @property {LineStore} store
 * @property {string} project
 * @property {string} [projectProblem] why the project is not known
 * @property {import("../machine/notes").Notes} notes
 * @property {import("./redaction-sync").RedactionSync} redactions
 * @property {(line: Uint8Array) => string | undefined} [secretIn] returns the secret in a line, which is then not
 * stored
 * @property {(local: Local) => boolean} isPrivate whether the session must not be stored
 */

class FilePush {
	#parts;
	#local;
	/** The lines of the store, if all of them were loaded. @type {Set<string> | undefined} */
	#storedLines;
	/** Whether the store has checked the cursor since this push began. */
	#isCompared = false;
	/** Whether the store has refused the cursor since the last stored portion. */
	#wasReset = false;
	/** The offset of the note when the push began. */
	#before;
	/** The length of the lines that this push has appended to the store. */
	#appended = 0;
	/** The error about a line that is too long for the store. @type {Error | undefined} */
	skipped;

	/** @param {Parts} parts @param {Local} local */
	constructor(parts, local) {
		this.#parts = parts;
		this.#local = local;
		this.#before = this.#note()?.offset ?? 0;
	}

	/** The current note: a pull, or another process, may have written it. */
	#note() {
		return this.#parts.notes.get(this.#local.session);
	}

	/** The number of bytes that are known to be stored since the push began. The file may have become shorter before. */
	get bytes() {
		return Math.max(this.#appended, (this.#note()?.offset ?? 0) - this.#before);
	}

	/** Stores the file. */
	async run() {
		// Before each portion, because the store may have been restored meanwhile.
		do await this.#parts.redactions.pushUnlessKnown(this.#local);
		while (await this.#storePortion());
	}

	/**
	 * Writes a note, without a revision: a store that is restored to the state before the push has that revision again,
	 * but not the pushed lines.
	 * @param {Note} note
	 */
	async #keep(note) {
		const { notes } = this.#parts;
		const { session } = this.#local;
		await notes.set(session, { redactions: notes.get(session)?.redactions, ...note, revision: undefined });
	}

	/** Stores one portion. Returns whether there may be more. */
	async #storePortion() {
		try {
			return await this.#tryPortion();
		} catch (error) {
			const { store, notes, redactions } = this.#parts;
			const { session } = this.#local;
			if (!(error instanceof StoreError) || error.code !== "reset") throw error;
			// A store that was restored to a state without the session does not list it as deleted.
			if ((await store.list({ session })).deleted.length > 0) throw deletedError(session);
			redactions.forget(session);
			await notes.set(session, undefined);
			this.#before = 0;
			this.#appended = 0;
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
		const { store, project, projectProblem, redactions, isPrivate } = this.#parts;
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
				`${this.#local.file}: the line at byte ${note.offset} has ${read.tooLong} bytes, and is too long to be ` +
					"an entry: pi-sessions repair removes it",
			);
		// This check comes after reading, so that lines that were written after the session became private are not stored.
		if (isPrivate(this.#local)) return false;
		// A redaction replaces the file, so its handle is closed before: on Windows an open file may not be replaced.
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
		// Without an entry nothing is stored or noted.
		if (fresh.length === 0 && !isStored && !hasMore) return false;
		let { cursor, mustReload } = note;
		if (fresh.length > 0) {
			// The store keeps the project of the first append for ever.
			if (projectProblem !== undefined && !(await isKnownTo(store, session)))
				throw Object.assign(new StoreError("failed", projectProblem), { retryable: true });
			const append = { header, lines: fresh, project, after: cursor };
			({ cursor } = await store.append(session, append));
			if (cursor === append.after) {
				// This cursor has not passed the new lines, so later it could not show whether a restored store still contains
				// them.
				({ cursor } = await loadAll(store, session, cursor));
				mustReload = true;
			}
			this.#isCompared = true;
		}
		this.#wasReset = false;
		const offset = note.offset + bytes;
		const fingerprint = await fingerprintAt(file, offset);
		// A pull, or another process, wrote a newer note meanwhile.
		if (!isDeepStrictEqual(this.#note(), noted)) return true;
		this.#appended += fresh.reduce((sum, line) => sum + line.length + 1, 0);
		await this.#keep({ ...note, cursor, offset, fingerprint, mustReload });
		for (const line of lines)
			if (!fits(line))
				this.skipped = new StoreError(
					"invalid",
					`${tooLong(session, line, store.longestLine ?? 0)}: it stays in this machine's file`,
				);
		return hasMore;
	}

	/**
	 * The lines before the first one that contains a secret; throws if that is the first line. The lines after it are not
	 * stored either, because their entries would have no parents on other machines.
	 * @param {Awaited<ReturnType<typeof readLines>>} read
	 * @param {Note} note
	 */
	async #beforeSecret(read, note) {
		const { secretIn } = this.#parts;
		const { session } = this.#local;
		if (!secretIn) return read;
		const firstHeld = () => read.lines.findIndex((line) => !this.#isStored(line) && secretIn(line) !== undefined);
		let at = firstHeld();
		// The line may be stored, if the push that compared the file ended before it.
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
				`Session ${session}: ${id === undefined ? "a line" : `entry ${id}`} contains ${secretIn(held)}, so ` +
					"neither it nor the entries after it are stored: pi-sync redact removes the secret",
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
	 * Lets the store check the cursor, if no append has done so, to notice a store that was created again or restored.
	 * @param {Note} note
	 */
	async #compare({ cursor }) {
		if (!this.#isCompared) await this.#parts.store.load(this.#local.session, cursor);
		this.#isCompared = true;
	}
}

/**
 * Whether a store has the session, also if it was deleted or cannot be read.
 * @param {LineStore} store
 * @param {string} session
 */
async function isKnownTo(store, session) {
	const { sessions, deleted, problems } = await store.list({ session });
	return sessions.length + deleted.length + problems.length > 0;
}

exports.FilePush = FilePush;
