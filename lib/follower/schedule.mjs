// What the follower does again and again: a table of tasks, and when each is tried again. That goes by the time of day, which goes on while
// the machine sleeps: others may not see any more what is open here by then.

/** How often the table is looked at, in milliseconds. */
const TICK_MS = 400;
/** When a task that failed is tried again. */
export const RETRY_MS = 60_000;

export class Schedule {
	/** By name: what does the task, and from when on it is due. One that runs, which may take forever, is due at Infinity. */
	#tasks = new Map();
	#timer = setInterval(() => this.#runDue(), TICK_MS);

	/**
	 * Does what a task is, now, and again after as many milliseconds as it gives, never if it gives none, or after a minute if it fails. One that
	 * is in the table already is left as it is. Ends when it was done for the first time, with its error; those of later times are given to
	 * `onError`.
	 * @param {string} name
	 * @param {() => Promise<number | undefined>} work
	 * @param {(error: any) => void} [onError]
	 */
	async add(name, work, onError = () => {}) {
		if (this.#tasks.has(name)) return;
		const task = { run, onError, endedAt: 0, dueAt: Infinity };
		const tasks = this.#tasks;
		async function run() {
			task.dueAt = Infinity;
			/** @type {number | undefined} */
			let pause = RETRY_MS;
			try {
				pause = await work();
			} finally {
				task.endedAt = Date.now();
				task.dueAt = task.endedAt + (pause ?? Infinity);
				if (pause === undefined) tasks.delete(name);
			}
		}
		this.#tasks.set(name, task);
		await run();
	}

	/** Nothing is tried again. */
	stop() {
		clearInterval(this.#timer);
	}

	#runDue() {
		const now = Date.now();
		for (const { run, onError, endedAt, dueAt } of this.#tasks.values()) {
			// The clock may have been set back.
			const isDue = now >= dueAt || (dueAt < Infinity && now < endedAt);
			if (isDue) void run().catch(onError);
		}
	}
}
