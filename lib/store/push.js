// Pushes a session's file to a store. The file is the outbox: lines that any process appended to it are read from it and stored,
// in portions of at most a megabyte or one line.
//
// A followed file is checked four times a second. New lines are stored at once; lines that are appended meanwhile go with the
// next call. So a single entry only waits for the check, and the slower the store answers, the more entries share a call.
//
// A note says how much is known to be stored: a cursor of the store, an offset in the file, and a checksum of the bytes just
// before that offset. If a note is lost, or does not match the file any more, the file is compared with all that is stored. So it
// is if the store does not know the cursor any more, unless the session was deleted there: that is told, and asked for again now and
// then, because a synchronised directory may just be incomplete.
const { promises: fs, statSync } = require("node:fs");
const { StoreError } = require("./errors.js");
const { entryOf, lineKey, tooLong } = require("./lines.js");
const { loadAll } = require("./load-all.js");
const { checkAt, readHeader, readLines } = require("./session-file.js");

/** @typedef {import("./index").LineStore} LineStore */
/** @typedef {import("./index").SessionList} SessionList */
/**
 * @typedef {object} Note
 * @property {string} cursor
 * @property {number} offset so many bytes of the file are stored
 * @property {string} check of what is before that
 * @property {string} [store] the store's id, if it has one
 * @property {boolean} [needsAll] the next pull is to load everything: the file may lack lines that the cursor has passed, or has entries
 *   with other ids than in the store
 */
/**
 * @typedef {object} PushOptions
 * @property {LineStore} store
 * @property {string} session
 * @property {string} file
 * @property {string} [project]
 * @property {Note} [note] what an earlier push had noted
 * @property {() => Note | undefined} [readNote] gives the newest note: a pull, or another process, may have made it
 * @property {(note: Note | undefined) => unknown} [onNote] is given each note when it holds, or undefined if none does any more, and
 *   waited for
 * @property {(error: Error) => void} [onError] is given each failure, and a deletion once; what failed is tried again
 * @property {(error: Error) => void} [onPassedOver] is given an error for each line that is too long for the store
 * @property {{ store?: string }} [known] the id of the store, kept for other pushes to it
 * @property {boolean} [checks] shows the store the cursor if the file has nothing new: a store that was made anew or put back is noticed, too
 * @property {boolean} [restores] stores a session again that was deleted from the store
 * @property {() => number | undefined} [epoch] the claim that appends are to go by
 * @property {(bytes: number) => void} [onProgress] is given how much of the file is stored
 * @property {number} [poll] the interval at which a followed file is checked, in milliseconds
 * @property {number} [retry] the first wait after a failure, in milliseconds; it doubles up to a minute
 */

const POLL_MS = 250;
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;

class Push {
	#options;
	/** @type {Note | undefined} */
	#note;
	/** What was last read or kept. @type {Note | undefined} */
	#kept;
	/** Lines that the store had when there was no note, until the file was read to its end. @type {Set<string>} */
	#known = new Set();
	/** @type {Buffer | undefined} */
	#header;
	/** @type {NodeJS.Timeout | undefined} */
	#timer;
	/** @type {Promise<void> | undefined} */
	#running;
	/** @type {NodeJS.Timeout | undefined} */
	#following;
	#failures = 0;
	#isCompared = false;
	/** Whether the store was asked for its id: not every one has one. */
	#isAsked = false;
	/** Whether the store did not know the cursor since a portion was stored. */
	#wasReset = false;
	/** Whether the last try found that the session was deleted from the store. */
	#isDeleted = false;
	/** Whether the file grew since it was last read. */
	#hasGrown = false;
	#isStopped = false;

	/** @param {PushOptions} options */
	constructor(options) {
		this.#options = { poll: POLL_MS, retry: RETRY_MS, known: {}, ...options };
		this.#note = options.note;
	}

	/**
	 * Checks the file again and again, and stores new lines. It keeps no process alive and costs appends nothing: the file's
	 * size shows that it grew.
	 */
	follow() {
		let [before, isLooking] = [-1, false];
		const look = async () => {
			if (isLooking || this.#isStopped) return;
			isLooking = true;
			// A session that has no file yet gets one with its first message.
			const size = await fs.stat(this.#options.file).then((stat) => stat.size, () => -1);
			isLooking = false;
			if (size < 0 || size === before) return;
			before = size;
			this.#hasGrown = true;
			// After a failure the timer tries again.
			if (!this.#timer) this.#start();
		};
		this.#following ??= setInterval(look, this.#options.poll).unref();
		void look();
	}

	/** How many bytes of the file are not known to be stored. A file that is not there has none. */
	lag() {
		const { size } = statSync(this.#options.file, { throwIfNoEntry: false }) ?? { size: 0 };
		return Math.max(0, size - (this.#note?.offset ?? 0));
	}

	/**
	 * Stores what the file holds, now. Gives false if that takes longer, or the session was deleted from the store.
	 * @param {{ timeout: number, until?: () => boolean }} options `timeout` in milliseconds; `until` tells that trying again is in vain
	 */
	async flush({ timeout, until }) {
		const end = performance.now() + timeout;
		while (!this.#isStopped) {
			// What is under way may have begun before the last line.
			await this.#within(this.#running, end);
			this.#start();
			if (!(await this.#within(this.#running, end))) return false;
			if (this.#failures === 0) return true;
			if (this.#isDeleted || until?.()) return false;
			if (!(await this.#within(new Promise((resolve) => setTimeout(resolve, this.#wait())), end))) return false;
		}
		return false;
	}

	/** Stops, after a call that is under way has ended. */
	async stop() {
		this.#isStopped = true;
		clearTimeout(this.#timer);
		clearInterval(this.#following);
		await this.#running;
	}

	/**
	 * @param {Promise<unknown> | undefined} work
	 * @param {number} end
	 */
	async #within(work, end) {
		/** @type {NodeJS.Timeout | undefined} */
		let timer;
		const late = new Promise((resolve) => {
			if (end < Infinity) timer = setTimeout(resolve, Math.max(0, end - performance.now()), "late");
		});
		const first = await Promise.race([work, late]);
		clearTimeout(timer);
		return first !== "late";
	}

	#start() {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		if (this.#running) return;
		this.#hasGrown = false;
		this.#running = this.#run().finally(() => {
			this.#running = undefined;
			if (this.#isStopped) return;
			// A process that has nothing else to do may end; the next one continues.
			if (this.#failures > 0) this.#timer = setTimeout(() => this.#start(), this.#wait()).unref();
			else if (this.#hasGrown) this.#start();
		});
	}

	/** Half of the delay is random, so that hosts that failed together do not retry together. */
	#wait() {
		return Math.min(LONGEST_RETRY_MS, this.#options.retry * 2 ** (this.#failures - 1)) * (0.5 + Math.random() / 2);
	}

	async #run() {
		try {
			this.#kept = this.#options.readNote?.();
			this.#note = this.#kept ?? this.#note;
			while (!this.#isStopped && (await this.#step()));
			[this.#failures, this.#isDeleted] = [0, false];
		} catch (error) {
			this.#failures++;
			const wasDeleted = this.#isDeleted;
			this.#isDeleted = error instanceof DeletedError;
			if (!(wasDeleted && this.#isDeleted)) this.#options.onError?.(error instanceof Error ? error : new Error(String(error)));
		}
	}

	/** Shows the store the cursor, where nothing was appended that did so. */
	async #compare() {
		const { checks, store, session } = this.#options;
		if (!checks || this.#isCompared || !this.#note) return;
		await store.load(session, this.#note.cursor);
		this.#isCompared = true;
	}

	/** @param {SessionList} listed */
	#isOfAnother(listed) {
		this.#options.known.store = listed.store;
		return isAnother(listed, this.#note);
	}

	async #drop() {
		[this.#note, this.#kept] = [undefined, undefined];
		await this.#options.onNote?.(undefined);
	}

	/** Stores one portion. Gives whether there may be more. */
	async #step() {
		try {
			return await this.#storePortion();
		} catch (error) {
			if (!(error instanceof StoreError) || error.code !== "reset" || this.#wasReset) throw error;
			await this.#checkDeletion();
			this.#wasReset = true;
			await this.#drop();
			return true;
		}
	}

	/** Throws if the session was deleted from the store, and is not to be put back. */
	async #checkDeletion() {
		const { store, session, restores } = this.#options;
		const listed = await store.list({ session });
		if (!this.#isOfAnother(listed) && !isListed(listed) && !restores) throw new DeletedError(session);
	}

	async #storePortion() {
		const { store, session, project, readNote, onNote, onPassedOver, onProgress, known } = this.#options;
		const file = await fs.open(this.#options.file).catch(unlessAbsent);
		// A session gets its file with its first message.
		if (!file) return false;
		try {
			if (!this.#note || (await checkAt(file, this.#note.offset)) !== this.#note.check) {
				const page = await loadAll(store, session);
				if (page.lines.length === 0 && this.#note?.cursor) await this.#checkDeletion();
				this.#isCompared = true;
				this.#known = new Set(page.lines.map(({ line }) => lineKey(line)));
				this.#note = { cursor: page.cursor, offset: 0, check: await checkAt(file, 0), needsAll: page.lines.length > 0 };
			}
			const { lines, bytes, goesOn } = await readLines(file, this.#note.offset);
			if (bytes === 0) {
				await this.#compare();
				return this.#atEnd();
			}
			const header = (this.#header ??= (await readHeader(file)).line);
			const fits = (/** @type {Uint8Array} */ line) => line.length <= (store.longestLine ?? Infinity);
			const fresh = lines.filter((line) => fits(line) && entryOf(line) && !this.#known.has(lineKey(line)));
			let { cursor, offset } = this.#note;
			if (fresh.length > 0) {
				const append = { header, lines: fresh, project, after: cursor, epoch: this.#options.epoch?.() };
				({ cursor } = await store.append(session, append));
				this.#isCompared = true;
				// A store gets its id with the first append.
				if ((this.#note.store ?? known.store) === undefined && !this.#isAsked) {
					this.#isAsked = true;
					known.store = (await store.list({ session })).store;
				}
			}
			offset += bytes;
			const check = await checkAt(file, offset);
			const now = readNote?.();
			if (readNote && !isSame(now, this.#kept)) {
				// A pull, or another process, made a newer one meanwhile.
				[this.#note, this.#kept] = [now, now];
				return true;
			}
			this.#note = { ...this.#note, cursor, offset, check, store: this.#note.store ?? known.store };
			this.#kept = this.#note;
			this.#wasReset = false;
			await onNote?.(this.#note);
			for (const line of lines) if (!fits(line)) onPassedOver?.(new StoreError("invalid", `${tooLong(session, line, store.longestLine ?? 0)}: it stays in this machine's file`));
			onProgress?.(offset);
			return goesOn || this.#atEnd();
		} finally {
			await file.close();
		}
	}

	#atEnd() {
		this.#known.clear();
		return false;
	}
}

class DeletedError extends StoreError {
	/** @param {string} session */
	constructor(session) {
		super("reset", `Session ${session} was deleted from the store, and stays here: pi-sessions push ${session} stores it again`);
	}
}

/**
 * Whether a note is about another store than the one that gave this list. One without an id that has sessions is not: a part of it
 * may not have come yet.
 * @param {SessionList} list
 * @param {Note | undefined} note
 */
const isAnother = ({ store, sessions }, note) => note?.store !== undefined && store !== note.store && (store !== undefined || sessions.length === 0);

/** @param {SessionList} list of one session */
const isListed = ({ sessions, problems }) => sessions.length + problems.length > 0;

/** @param {NodeJS.ErrnoException} error @returns {undefined} */
function unlessAbsent(error) {
	if (error.code !== "ENOENT") throw error;
}

/** @param {Note | undefined} a @param {Note | undefined} b */
const isSame = (a, b) => a?.cursor === b?.cursor && a?.offset === b?.offset && a?.check === b?.check && Boolean(a?.needsAll) === Boolean(b?.needsAll);

exports.Push = Push;
exports.isAnother = isAnother;
