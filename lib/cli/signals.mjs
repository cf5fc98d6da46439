// Cleans up before a signal ends the command.

const SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/** The longest time that signals and other events wait, in milliseconds. */
const YIELD_INTERVAL_MS = 50;

/**
 * Calls a function when a signal comes; the process then ends by that signal.
 * @param {() => void} clean
 * @returns {() => void} removes the function
 */
export function onSignal(clean) {
	const stopped = (/** @type {NodeJS.Signals} */ signal) => {
		off();
		clean();
		process.kill(process.pid, signal);
	};
	const off = () => {
		for (const one of SIGNALS) process.off(one, stopped);
	};
	for (const one of SIGNALS) process.on(one, stopped);
	return off;
}

/** Returns a function for loops that never wait: called in each round, it lets Node handle signals every 50 ms. */
export function yieldToSignals() {
	let last = Date.now();
	return async () => {
		if (Date.now() - last < YIELD_INTERVAL_MS) return;
		await new Promise((done) => void setImmediate(done));
		last = Date.now();
	};
}
