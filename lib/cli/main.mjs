// One run of the command: arguments in, exit code out. 0 is success, 1 a problem or a failure, 2 a usage error, or that a search failed.
import { CommanderError } from "commander";
import { CommandError, UsageError } from "./errors.mjs";
import { watchOutput, writeError } from "./output.mjs";
import { buildProgram } from "./program.mjs";

/**
 * Runs one command line.
 * @param {string[]} args what is after `pi-sessions`
 * @returns {Promise<number>} the exit code
 */
export async function main(args) {
	const asJson = args.slice(0, args.indexOf("--") + 1 || undefined).includes("--json");
	watchOutput(asJson);
	const result = { code: 0, failure: 1 };
	const program = buildProgram(result, asJson);
	try {
		await program.parseAsync(args, { from: "user" });
		return result.code;
	} catch (error) {
		if (error instanceof CommanderError) {
			if (error.exitCode === 0) return 0;
			// Without --json commander has printed the error already.
			if (asJson) writeError(error.message.replace(/^error: /, ""), true);
			return 2;
		}
		writeError(error instanceof Error ? error.message : String(error), asJson, error instanceof CommandError ? error.details : undefined);
		return error instanceof UsageError ? 2 : result.failure;
	}
}
