// Pushes a session's file to a store, once or as long as it is followed.
//
// A followed file is checked four times a second. New lines are stored at once; lines that are appended meanwhile go with the
// next call. So a single entry only waits for the check, and the slower the store answers, the more entries share a call.
const { promises: fs } = require("node:fs");
const { asError } = require("./errors.js");
const { DeletedError, Outbox } = require("./outbox.js");

/**
 * @typedef {import("./outbox").OutboxOptions & {
 *   onStart?: () => Promise<unknown>,
 *   onStored?: () => void,
 *   onError?: (error: Error) => void,
 *   poll?: number,
 *   retry?: number,
 * }} PushOptions `onStart` is called before each try, and waited for, `onStored` after one that stored all there was. `onError` is given each failure, and a deletion once; what failed is tried again. `poll` is the interval at which a
 *   followed file is checked, `retry` the first wait after a failure, which doubles up to a minute, both in milliseconds.
 */

const POLL_MS = 250;
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;

class Push {
	#options;
	#outbox;
	/** @type {NodeJS.Timeout | undefined} */
	#timer;
	/** @type {Promise<void> | undefined} */
	#running;
	/** @type {NodeJS.Timeout | undefined} */
	#following;
	#failures = 0;
	/** Whether the last try found that the session was deleted from the store. */
	#isDeleted = false;
	/** Whether the file grew since it was last read. */
	#hasGrown = false;
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
		return this.#outbox.lag();
	}

	/**
	 * Stores what the file holds, now. Gives false if that takes longer, the session was deleted from the store, or `stop` came first.
	 * @param {{ timeout: number, until?: () => boolean }} options `timeout` in milliseconds; `until` tells that trying again is in vain
	 */
	async flush({ timeout, until }) {
		const end = performance.now() + timeout;
		while (!this.#isStopped) {
			// What is under way may have begun before the last line.
			await this.#within(this.#running, end);
			this.#start();
			if (!(await this.#within(this.#running, end))) return false;
			if (this.#failures === 0) return !this.#isStopped;
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

	/** @param {Promise<unknown> | undefined} work @param {number} end */
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
			await this.#options.onStart?.();
			this.#outbox.refresh();
			while (!this.#isStopped && (await this.#outbox.storePortion()));
			[this.#failures, this.#isDeleted] = [0, false];
			if (!this.#isStopped) this.#options.onStored?.();
		} catch (error) {
			this.#failures++;
			const wasDeleted = this.#isDeleted;
			this.#isDeleted = error instanceof DeletedError;
			if (!(wasDeleted && this.#isDeleted)) this.#options.onError?.(asError(error));
		}
	}
}

exports.Push = Push;
