// What the follower does again and again, and when it is tried again after it failed.

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;

export class Schedule {
	#isStopped = false;

	/**
	 * Does something now, and again after as many milliseconds as it gives, until it gives none. If it fails, it is tried
	 * again: the pause doubles with each failure in a row, up to a minute. Ends when it was done for the first time, with
	 * its error; those of later times are given to `onError`.
	 * @param {() => Promise<number | undefined>} work
	 * @param {(error: unknown) => void} [onError]
	 */
	async add(work, onError = () => {}) {
		let failures = 0;
		const run = async () => {
			if (this.#isStopped) return;
			/** @type {number | undefined} */
			let pause;
			try {
				pause = await work();
				failures = 0;
			} catch (error) {
				// Half of the pause is random, so that hosts that failed together do not retry together.
				pause = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++) * (0.5 + Math.random() / 2);
				throw error;
			} finally {
				if (pause !== undefined) setTimeout(() => void run().catch(onError), pause);
			}
		};
		await run();
	}

	/** Nothing is done again. */
	stop() {
		this.#isStopped = true;
	}
}
