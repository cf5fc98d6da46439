// Pushes a session's file to a store, once or as long as it is followed.
//
// A followed file is checked four times a second. New lines are stored at once; lines that are appended meanwhile go with the
// next call. So a single entry only waits for the check, and the slower the store answers, the more entries share a call.
const { promises: fs } = require("node:fs");
const { StoreError, asError, isDeleted } = require("./errors.js");
const { Outbox } = require("./outbox.js");
const { lagOf } = require("./session-file.js");

/**
 * @typedef {import("./outbox").OutboxOptions & {
 *   onStart?: () => Promise<unknown>,
 *   onStored?: () => void,
 *   onError?: (error: Error) => void,
 *   poll?: number,
 *   retry?: number,
 * }} PushOptions `onStart` is called before each portion, as the store may have been set back during the one before, and waited for,
 *   `onStored` after a try that stored all there was. `onError` is given each failure, and a deletion once; what failed is tried again.
 *   `poll` is the interval at which a followed file is checked, `retry` the first wait after a failure, which doubles up to a minute, both in
 *   milliseconds.
 */

const POLL_MS = 250;
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;

class Push {
	#options;
	#outbox;
	/** @type {Promise<void> | undefined} */
	#running;
	/** @type {NodeJS.Timeout | undefined} */
	#following;
	/** How many tries in a row stored nothing and failed, the error of the last try if it failed, and when a followed file is tried again. */
	#failures = 0;
	/** @type {Error | undefined} */
	#error;
	#retryAt = 0;
	/** Whether the file grew since it was last read, or that failed. */
	#isDue = false;
	#isStopped = false;

	/** @param {PushOptions} options */
	constructor(options) {
		this.#options = { poll: POLL_MS, retry: RETRY_MS, ...options };
		this.#outbox = new Outbox(options);
	}

	/**
	 * Checks the file again and again, and stores new lines. It keeps no process alive and costs appends nothing: the file's
	 * size shows that it grew.
	 */
	follow() {
		let [size, isLooking] = [-1, false];
		const look = async () => {
			if (isLooking || this.#isStopped) return;
			isLooking = true;
			// A session that has no file yet gets one with its first message.
			const now = await fs.stat(this.#options.file).then((stat) => stat.size, () => size);
			isLooking = false;
			if (now !== size) this.#isDue = true;
			size = now;
			if (this.#isDue && performance.now() >= this.#retryAt) this.#start();
		};
		this.#following ??= setInterval(look, this.#options.poll).unref();
		void look();
	}

	/** How many bytes of the file are not known to be stored. A file that is not there has none. */
	lag() {
		return lagOf(this.#options.file, this.#options.readNote());
	}

	/** Why the last try failed; undefined if it did not. */
	get error() {
		return this.#error;
	}

	/**
	 * Stores what the file holds, now. Gives false if that takes longer, the session was deleted from the store, or `stop` came first.
	 * @param {{ timeout: number, tries?: number }} options `timeout` in milliseconds; with `tries` it gives up after so many failures in a row, and
	 *   after one that does not pass
	 */
	async flush({ timeout, tries }) {
		/** @type {NodeJS.Timeout | undefined} */
		let timer;
		const late = new Promise((resolve) => {
			if (timeout < Infinity) timer = setTimeout(resolve, Math.max(0, timeout), "late");
		});
		const isLate = async (/** @type {Promise<unknown> | undefined} */ work) => (await Promise.race([work, late])) === "late";
		try {
			while (!this.#isStopped) {
				// What is under way may have begun before the last line.
				await isLate(this.#running);
				this.#start();
				if (await isLate(this.#running)) return false;
				const error = this.#error;
				if (!error) return !this.#isStopped;
				const isInVain = tries !== undefined && (this.#failures >= tries || !(error instanceof StoreError) || !error.retryable);
				if (isInVain || isDeleted(error)) return false;
				if (await isLate(new Promise((resolve) => setTimeout(resolve, this.#wait())))) return false;
			}
			return false;
		} finally {
			clearTimeout(timer);
		}
	}

	/** Stops, after a call that is under way has ended. */
	async stop() {
		this.#isStopped = true;
		clearInterval(this.#following);
		await this.#running;
	}

	#start() {
		if (this.#running) return;
		this.#isDue = false;
		this.#running = this.#run().finally(() => {
			this.#running = undefined;
			if (this.#isDue && !this.#error && !this.#isStopped) this.#start();
		});
	}

	/** Half of the delay is random, so that hosts that failed together do not retry together. */
	#wait() {
		return Math.min(LONGEST_RETRY_MS, this.#options.retry * 2 ** (this.#failures - 1)) * (0.5 + Math.random() / 2);
	}

	async #run() {
		const before = this.#error;
		try {
			for (let isMore = true; isMore && !this.#isStopped; ) {
				await this.#options.onStart?.();
				isMore = await this.#outbox.storePortion();
				if (isMore) this.#failures = 0;
			}
			[this.#failures, this.#error, this.#retryAt] = [0, undefined, 0];
			if (!this.#isStopped) this.#options.onStored?.();
		} catch (error) {
			this.#failures++;
			this.#error = asError(error);
			[this.#isDue, this.#retryAt] = [true, performance.now() + this.#wait()];
			if (!(isDeleted(before) && isDeleted(error))) this.#options.onError?.(this.#error);
		}
	}
}

exports.Push = Push;
