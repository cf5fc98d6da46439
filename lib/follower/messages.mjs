// The messages between pi's process (in-pi.mjs) and the follower, the process beside it that talks to the store (follower.mjs).
//
// To the follower, values on the channel that Node opens between the two:
//   address, notesDir, pending, timeout  the first one: the store's address with its password, the directory of this machine's notes, the
//            name of pi's file of pending sessions there (lib/store/machine/pending.js), and how long pi waits for the store, in milliseconds
//   start    in the first one, where pi has a start: pull what is lacking in the directory `dir` of it, or pi's own, and store the pending
//            sessions of earlier processes
//   open     the sessions that pi has open from now on, as `{ session, file, cwd }`; they are followed, and shown to others
//   answer   what a call gave, in the order of the calls: its `report`, or an `error`
// When its standard input ends, pi ends, or was killed: calls that wait for an answer fail, the rest of what pi has opened is stored and
// others are shown that it is closed, for `timeout` at most. Nothing is said there.
//
// From the follower, a JSON object a line on its standard output, which is a file (process.mjs):
//   done, error         "start" or "end", and why it failed
//   isReached           the store has answered at pi's start, or at its end
//   lacking, unstored   how many sessions wait to be pulled at the start, and to be stored at the end
//   show                a line for whoever runs pi
//   ended               why the follower ends
//
// From the follower, on the channel, a call that pi's process makes: it changes the files that it has open, because a session's lock is held
// meanwhile, and its managers are to take the change in:
//   name, file, input   `SessionManager[name](file, input)`
import { writeSync } from "node:fs";

/** What a line reports; undefined if it is not JSON, such as one that was cut off when its writer died. */
export function reportIn(line) {
	try {
		return JSON.parse(line);
	} catch {
		return undefined;
	}
}

/** How many lines of one kind are shown. */
const MAX_LINES = 5;

/** The follower's reports. They wait for nobody: the process may be stopped at any time. */
export class Reports {
	#shown = new Set();

	send(report) {
		writeSync(1, `${JSON.stringify(report)}\n`);
	}

	/** Shows a line, if it is the first one about a matter. */
	show(line, matter = line) {
		if (!this.#shown.has(matter)) this.send({ show: line });
		this.#shown.add(matter);
	}

	/** Shows the first of these lines, each with its matter, and how many `more` there are. */
	showFew(lines, more) {
		for (const [line, matter] of lines.slice(0, MAX_LINES)) this.show(line, matter);
		if (lines.length > MAX_LINES) this.show(more(lines.length - MAX_LINES));
	}
}

/** What waits for the answers to calls. */
const waiting = [];

/** Lets pi's process make a call of the follower's. */
export async function callPi(call) {
	const { report, error } = await new Promise((resolve) => {
		waiting.push(resolve);
		// Where pi is gone nobody waits for the answer.
		process.send?.(call, () => {});
	});
	if (error) throw Object.assign(new Error(error.message), error);
	return report;
}

/** An answer that comes after pi's end is nobody's. */
export const takeAnswer = (answer) => waiting.shift()?.(answer);

/** pi ends, and answers no more: what waits for it fails, and may be tried again. */
export function endCalls() {
	for (const resolve of waiting.splice(0)) resolve({ error: { message: "pi has ended meanwhile", retryable: true } });
}
