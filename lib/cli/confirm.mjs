// Asks before something is done that cannot simply be undone.
import { createInterface } from "node:readline";
import { UsageError } from "./errors.mjs";

/**
 * Whether to go on: `--yes`, or the answer to a question in a terminal.
 * @param {string} question
 * @param {{ yes?: boolean }} options
 */
export async function confirmed(question, { yes }) {
	if (yes) return true;
	if (!process.stdin.isTTY) throw new UsageError("Nothing was done: without a terminal to ask in, add --yes");
	const asked = createInterface({ input: process.stdin, output: process.stderr });
	// Ctrl-C and the end of the input close it: that is no answer.
	const answer = await new Promise((resolve) => {
		asked.on("close", () => resolve(""));
		asked.question(`${question} [y/N] `, resolve);
	});
	asked.close();
	return /^y(es)?$/i.test(String(answer).trim());
}
