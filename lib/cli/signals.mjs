// Signals that end the command: it first cleans up what it has begun.

const SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/** How long signals and other events wait at most, in milliseconds. */
const YIELD_INTERVAL_MS = 50;

/**
 * Does something before a signal ends the process, which then ends by that signal.
 * @param {() => void} clean
 * @returns {() => void} takes it back
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

/** For loops that never wait: lets signals be handled now and then. */
export function yieldToSignals() {
	let last = Date.now();
	return async () => {
		if (Date.now() - last < YIELD_INTERVAL_MS) return;
		await new Promise((done) => void setImmediate(done));
		last = Date.now();
	};
}
