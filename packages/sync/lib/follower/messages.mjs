// The messages between pi's process (in-pi.mjs) and the follower, the process beside it that talks to the store (follower.mjs).
//
// On the channel that Node opens between the two the follower gets `First`, then `ToFollower`, and sends each `Call`. It writes each
// `Report` as a line of JSON to its standard output, which is a file (process.mjs).
//
// When its standard input ends, pi ends, or was killed: calls that wait for an answer fail, the rest of what pi has opened is stored and
// others are shown that it is closed, for `timeout` at most. Nothing is said there.
import { writeSync } from "node:fs";

/**
 * @typedef {object} First
 * @property {string} address the store's, with its password
 * @property {string} notesDir the directory of this machine's notes
 * @property {string} pendingId of pi's pending sessions there (machine/pending.js)
 * @property {number} timeout how long pi waits for the store, in milliseconds
 * @property {{ dir?: string }} [start] where pi has a start: pull what is lacking in `dir`, or pi's own directory, and store abandoned sessions
 */
/**
 * @typedef {object} ToFollower
 * @property {OpenSession[]} [open] what pi has open from now on; it is followed, and shown to others
 * @property {Answer} [answer] to the first call that has none
 */
/** @typedef {{ session: string, file: string, cwd: string }} OpenSession */
/** @typedef {import("../index.js").CallManager} CallManager */
/**
 * `SessionManager[name](file, input)`: pi's process changes the files that it has open, because a session's lock is held meanwhile, and its
 * managers are to take the change in.
 * @typedef {{ name: Parameters<CallManager>[0], file: string, input: Parameters<CallManager>[2] }} Call
 */
/** @typedef {{ report?: Awaited<ReturnType<CallManager>>, error?: { message: string, code?: string, retryable?: boolean } }} Answer */
/**
 * @typedef {object} Report
 * @property {"start" | "end"} [done]
 * @property {string} [error] why that failed
 * @property {boolean} [isReached] the store has answered at pi's start, or at its end
 * @property {{ left: number, of: number }} [lacking] how many sessions wait to be pulled at the start
 * @property {number} [unstored] how many sessions wait to be stored at the end
 * @property {string} [show] a line for whoever runs pi
 * @property {string} [ended] why the follower ends
 */

/**
 * What a line reports: nothing if something else printed it, or its writer died meanwhile.
 * @param {string} line
 * @returns {Report}
 */
export function reportIn(line) {
	try {
		return Object(JSON.parse(line));
	} catch {
		return {};
	}
}

/** How many lines of one kind are shown. */
const MAX_LINES = 5;

/** The follower's reports. They wait for nobody: the process may be stopped at any time. */
export class Reports {
	/** @type {Set<string>} */
	#shown = new Set();

	/** @param {Report} report */
	send(report) {
		writeSync(1, `${JSON.stringify(report)}\n`);
	}

	/** Shows a line, if it is the first one about a matter. @param {string} line @param {string} [matter] */
	show(line, matter = line) {
		if (!this.#shown.has(matter)) this.send({ show: line });
		this.#shown.add(matter);
	}

	/**
	 * Shows the first of these lines, each with its matter, and how many more there are.
	 * @param {string[][]} lines
	 * @param {(count: number) => string} more
	 */
	showFew(lines, more) {
		for (const [line, matter] of lines.slice(0, MAX_LINES)) this.show(line, matter);
		if (lines.length > MAX_LINES) this.show(more(lines.length - MAX_LINES));
	}
}

/** What waits for the answers to calls. @type {((answer: Answer) => void)[]} */
const waiting = [];

/** Lets pi's process make a call of the follower's. @type {CallManager} */
export async function callPi(name, file, input) {
	/** @type {Answer} */
	const { report, error } = await new Promise((resolve) => {
		waiting.push(resolve);
		// Where pi is gone nobody waits for the answer.
		process.send?.({ name, file, input }, () => {});
	});
	if (error) throw Object.assign(new Error(error.message), error);
	return /** @type {any} */ (report);
}

/** An answer that comes after pi's end is nobody's. @param {Answer} answer */
export const takeAnswer = (answer) => waiting.shift()?.(answer);

/** pi ends, and answers no more: what waits for it fails, and may be tried again. */
export function endCalls() {
	for (const resolve of waiting.splice(0)) resolve({ error: { message: "pi has ended meanwhile", retryable: true } });
}
