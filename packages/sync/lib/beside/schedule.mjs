// The repeated work of the process beside pi, and its repetition after a failure.

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;

export class Schedule {
	#isStopped = false;

	/**
	 * Does some work now, and again after the number of milliseconds that it returns, until it returns undefined. After a
	 * failure it is tried again; the pause doubles with each failure in a row, up to a minute. Resolves or rejects with
	 * the first run; errors of later runs go to `onError`.
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

	/** Ends all repetitions. */
	stop() {
		this.#isStopped = true;
	}
}
