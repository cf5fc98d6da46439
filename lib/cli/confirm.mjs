// Asks for confirmation before a change that is hard to undo.
import { createInterface } from "node:readline";
import { UsageError } from "./errors.mjs";

/**
 * Whether the user agrees: by `--yes`, or by the answer to a question in a terminal.
 * @param {string} question
 * @param {{ yes?: boolean }} options
 */
export async function confirmed(question, { yes }) {
	if (yes) return true;
	if (!process.stdin.isTTY || !process.stderr.isTTY)
		throw new UsageError("Nothing was changed: there is no terminal to ask for confirmation. Add --yes");
	const asked = createInterface({ input: process.stdin, output: process.stderr });
	// Ctrl-C and the end of the input close the interface; both count as no.
	const answer = await new Promise((resolve) => {
		asked.on("close", () => resolve(""));
		asked.question(`${question} [y/N] `, resolve);
	});
	asked.close();
	const isAgreed = /^y(es)?$/i.test(String(answer).trim());
	if (!isAgreed) process.stderr.write("Nothing was changed\n");
	return isAgreed;
}
