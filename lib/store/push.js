// The way of a session's file to a store. The file is the outbox: what was appended to it, by whatever process, is read
// from it and stored, in portions of a second or a megabyte.
//
// What is known to be stored is a note: a cursor of the store, a place in the file, and a checksum of what stands just
// before that place. A note that is lost, or does not fit to the file any more, costs a comparison with all that is
// stored, and nothing else.
const { promises: fs } = require("node:fs");
const { StoreError } = require("./errors.js");
const { entryOf, lineKey, sha256 } = require("./lines.js");
const { loadAll } = require("./load-all.js");

/** @typedef {import("./index").LineStore} LineStore */
/** @typedef {{ cursor: string, offset: number, check: string }} Note */
/**
 * @typedef {object} PushOptions
 * @property {LineStore} store
 * @property {string} session
 * @property {string} file
 * @property {string} [project]
 * @property {Note} [note] what an earlier push had noted
 * @property {(note: Note) => void} [onNote] is given each note when it holds
 * @property {(error: Error) => void} [onError] is given each failure; what failed is tried again, but for `reset`
 * @property {number} [delay] how long to wait for more, in milliseconds
 * @property {number} [retry] the first wait after a failure, in milliseconds; it doubles up to a minute
 */

const BATCH_BYTES = 1024 * 1024;
const CHECKED_BYTES = 256;
const DELAY_MS = 1000;
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;
const NEWLINE = 0x0a;

class Push {
	#options;
	/** @type {Note | undefined} */
	#note;
	/** Lines that the store had when there was no note, until the file was read to its end. @type {Set<string>} */
	#known = new Set();
	/** @type {Buffer | undefined} */
	#header;
	/** @type {NodeJS.Timeout | undefined} */
	#timer;
	/** @type {Promise<void> | undefined} */
	#running;
	#failures = 0;
	/** What is under way may have read the file before something was appended. */
	#isNotified = false;
	#isStopped = false;

	/** @param {PushOptions} options */
	constructor(options) {
		this.#options = { delay: DELAY_MS, retry: RETRY_MS, ...options };
		this.#note = options.note;
	}

	/** Something was appended to the file. Never throws, and waits for nothing. */
	notify() {
		this.#isNotified = true;
		this.#schedule(this.#options.delay);
	}

	/** How many bytes of the file are not known to be stored. */
	async lag() {
		const { size } = await fs.stat(this.#options.file);
		return Math.max(0, size - (this.#note?.offset ?? 0));
	}

	/**
	 * Stores what the file holds, now. Gives false if that takes longer.
	 * @param {{ timeout: number }} options in milliseconds
	 */
	async flush({ timeout }) {
		const end = performance.now() + timeout;
		while (!this.#isStopped) {
			// What is under way may have begun before the last line.
			await this.#within(this.#running, end);
			this.#start();
			if (!(await this.#within(this.#running, end))) return false;
			if (this.#failures === 0) return true;
			if (!(await this.#within(new Promise((resolve) => setTimeout(resolve, this.#wait())), end))) return false;
		}
		return false;
	}

	/** Ends it. What is under way is waited for. */
	async stop() {
		this.#isStopped = true;
		clearTimeout(this.#timer);
		await this.#running;
	}

	/**
	 * @param {Promise<unknown> | undefined} work
	 * @param {number} end
	 */
	async #within(work, end) {
		/** @type {NodeJS.Timeout | undefined} */
		let timer;
		const late = new Promise((resolve) => (timer = setTimeout(resolve, Math.max(0, end - performance.now()), "late")));
		const first = await Promise.race([work, late]);
		clearTimeout(timer);
		return first !== "late";
	}

	/** @param {number} delay */
	#schedule(delay) {
		if (this.#isStopped || this.#timer || this.#running) return;
		this.#timer = setTimeout(() => this.#start(), delay);
		// A process that has nothing else to do may end; the next one goes on.
		this.#timer.unref();
	}

	#start() {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		if (this.#running) return;
		this.#isNotified = false;
		this.#running = this.#run().finally(() => {
			this.#running = undefined;
			if (this.#failures > 0) this.#schedule(this.#wait());
			else if (this.#isNotified) this.#schedule(this.#options.delay);
		});
	}

	/** Half of it is chance, so that hosts that failed together do not come back together. */
	#wait() {
		return Math.min(LONGEST_RETRY_MS, this.#options.retry * 2 ** (this.#failures - 1)) * (0.5 + Math.random() / 2);
	}

	async #run() {
		try {
			while (!this.#isStopped && (await this.#step()));
			this.#failures = 0;
		} catch (error) {
			this.#failures++;
			// Who deleted the session from the store would find it there again.
			if (error instanceof StoreError && error.code === "reset") this.#isStopped = true;
			this.#options.onError?.(error instanceof Error ? error : new Error(String(error)));
		}
	}

	/** Stores one portion. Gives whether there may be more. */
	async #step() {
		const { store, session, project, onNote } = this.#options;
		const file = await fs.open(this.#options.file);
		try {
			if (!this.#note || (await checkAt(file, this.#note.offset)) !== this.#note.check) {
				const page = await loadAll(store, session);
				this.#known = new Set(page.lines.map(({ line }) => lineKey(line)));
				this.#note = { cursor: page.cursor, offset: 0, check: await checkAt(file, 0) };
			}
			const { lines, bytes } = await readLines(file, this.#note.offset);
			if (bytes === 0) {
				this.#known.clear();
				return false;
			}
			this.#header ??= await readHeader(file);
			const fresh = lines.filter((line) => entryOf(line) && !this.#known.has(lineKey(line)));
			let { cursor, offset } = this.#note;
			if (fresh.length > 0) ({ cursor } = await store.append(session, { header: this.#header, lines: fresh, project, after: cursor }));
			offset += bytes;
			this.#note = { cursor, offset, check: await checkAt(file, offset) };
			onNote?.(this.#note);
			return true;
		} finally {
			await file.close();
		}
	}
}

/**
 * @param {fs.FileHandle} file
 * @param {number} offset
 * @param {number} length
 */
async function readAt(file, offset, length) {
	const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
	return buffer.subarray(0, bytesRead);
}

/**
 * The checksum of what stands before a place.
 * @param {fs.FileHandle} file
 * @param {number} offset
 */
async function checkAt(file, offset) {
	const length = Math.min(offset, CHECKED_BYTES);
	return sha256(await readAt(file, offset - length, length)).toString("hex");
}

/**
 * The whole lines that follow a place, a megabyte or one line. One that has no end yet is still being written.
 * @param {fs.FileHandle} file
 * @param {number} offset
 */
async function readLines(file, offset) {
	for (let length = BATCH_BYTES; ; length *= 2) {
		const read = await readAt(file, offset, length);
		const end = read.lastIndexOf(NEWLINE) + 1;
		if (end === 0 && read.length === length) continue;
		const lines = [];
		for (let start = 0; start < end; ) {
			const next = read.indexOf(NEWLINE, start);
			lines.push(read.subarray(start, next));
			start = next + 1;
		}
		return { lines, bytes: end };
	}
}

/**
 * The first line that is not blank.
 * @param {fs.FileHandle} file
 */
async function readHeader(file) {
	for (let offset = 0; ; ) {
		const { lines, bytes } = await readLines(file, offset);
		const header = lines.find((line) => line.toString().trim() !== "");
		if (header) return Buffer.from(header);
		if (bytes === 0) throw new StoreError("invalid", "The file of the session has no header");
		offset += bytes;
	}
}

exports.Push = Push;
