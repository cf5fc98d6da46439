// One run of the command. Its exit code is 0 for success, 1 for a problem or a failure, 2 for a usage error, or a
// search that failed.
import { CommanderError } from "commander";
import { explained } from "../load-error.js";
import { CommandError, UsageError } from "./errors.mjs";
import { watchOutput, writeError } from "./output.mjs";
import { buildProgram } from "./program.mjs";

/**
 * Runs one command line, and sets the exit code.
 * @param {string[]} args what is after `pi-sessions`
 */
export async function main(args) {
	const asJson = args.slice(0, args.indexOf("--") + 1 || undefined).includes("--json");
	watchOutput(asJson);
	try {
		await buildProgram(asJson).parseAsync(args, { from: "user" });
	} catch (error) {
		if (error instanceof CommanderError) {
			if (error.exitCode === 0) return;
			// Without --json commander has printed the error already.
			if (asJson) writeError(error.message.replace(/^error: /, ""), true);
			process.exitCode = 2;
		} else {
			writeError(explained(error), asJson, error instanceof CommandError ? error.details : undefined);
			// As grep says it: 1 would be that nothing was found.
			process.exitCode = error instanceof UsageError || args[0] === "search" ? 2 : 1;
		}
	}
}
