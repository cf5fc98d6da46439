// The messages between pi's process (store.mjs) and the follower, the process beside it that talks to the store (store-follower.mjs).
//
// To the follower, a JSON object a line on its standard input; an empty line says nothing:
//   address, notes, pending, timeout   the first one: the store's address with its password, the directory of this machine's notes, the
//            name of pi's file of open sessions there (lib/store/pending.js), and how long pi waits for a request, in milliseconds
//   open     every 400 ms: the sessions that pi has open, as `{ session, file, cwd }`; they are followed and claimed
//   request  what pi waits for, by its `name`:
//            "start"  pull what is lacking in the directory `dir`, or pi's own, and store what earlier processes left
//            "end"    store the rest of what pi has opened, unless `isSilent`, give up the claims, and end
// When the input ends without the request "end", pi is gone: the last lines are stored, for `timeout` at most.
//
// From the follower, a JSON object a line on its standard output, which is a file (store-process.mjs):
//   done, error         the name of a request, and why it failed
//   isReached           the store has answered since the last request
//   lacking, unstored   how many sessions wait to be pulled at the start, and to be stored at the end
//   claimed, inUse      a session that is claimed here; one that another host uses, with a sentence that says so
//   show                a line for whoever runs pi
//   ended               why the follower ends
//
// Both ways, whole values on the channel that Node opens between the two. pi's process changes the files that it has open, because a
// session's lock is held meanwhile, and its managers are to take the change in:
//   name, file, input   to pi: `SessionManager[name](file, input)` is to be called
//   report | error      to the follower: what that gave, one after the other
import { writeSync } from "node:fs";

export const lineOf = (message) => `${JSON.stringify(message)}\n`;

/** What a line says; undefined if it is not JSON, such as one that was cut off when its writer died. */
export function messageIn(line) {
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
		writeSync(1, lineOf(report));
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

/** What waits for the answers to calls: pi's process gives them in the order of the calls. */
const waiting = [];

/** Lets pi's process make a call of the follower's. */
export async function callPi(call) {
	const { report, error } = await new Promise((resolve) => {
		waiting.push(resolve);
		// Where pi is gone nobody waits for the answer.
		process.send(call, () => {});
	});
	if (error) throw Object.assign(new Error(error.message), { code: error.code });
	return report;
}

/** Takes pi's answers. */
export const takeAnswers = () => process.on("message", (answer) => waiting.shift()(answer));
