// One run of the command: arguments in, exit code out. 0 is good, 1 a problem or a failure, 2 a wrong use.
import { CommanderError } from "commander";
import { CommandError, UsageError } from "./errors.mjs";
import { buildProgram } from "./program.mjs";
import { quietPipes } from "./output.mjs";
import { safeBlock } from "./text.mjs";

/**
 * Runs one command line.
 * @param {string[]} args what stands after `pi-sessions`
 * @returns {Promise<number>} the exit code
 */
export async function main(args) {
	quietPipes();
	const result = { code: 0 };
	const program = buildProgram(result);
	try {
		await program.parseAsync(args, { from: "user" });
		return result.code;
	} catch (error) {
		// Commander has said already what it found wrong, and help is no failure.
		if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
		report(error, args.includes("--json"));
		return error instanceof UsageError ? 2 : 1;
	}
}

/**
 * @param {unknown} error
 * @param {boolean} json
 */
function report(error, json) {
	const message = error instanceof Error ? error.message : String(error);
	const details = error instanceof CommandError ? error.details : undefined;
	if (json) process.stderr.write(`${JSON.stringify({ error: { message, ...details } })}\n`);
	else process.stderr.write(`Error: ${safeBlock(message)}\n`);
}
