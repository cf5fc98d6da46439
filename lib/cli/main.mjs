// Runs one command line. The exit code is 0 for success, 1 for a problem or a failure, and 2 for wrong usage or for a
// search that failed.
import { CommanderError } from "commander";
import { explained } from "../load-error.js";
import { CommandError, UsageError } from "./errors.mjs";
import { watchOutput, writeError } from "./output.mjs";
import { buildProgram } from "./program.mjs";

/**
 * Runs one command line and sets the exit code.
 * @param {string[]} args the arguments after `pi-sessions`
 */
export async function main(args) {
	const asJson = args.slice(0, args.indexOf("--") + 1 || undefined).includes("--json");
	watchOutput(asJson);
	try {
		const program = buildProgram(asJson);
		// For an unknown command after `help`, commander prints the whole help, without the command's name.
		const [first, name = "--help"] = args;
		const isKnown = name.startsWith("-") || program.commands.some((one) => one.name() === name);
		await program.parseAsync(first === "help" && !isKnown ? args.slice(1) : args, { from: "user" });
	} catch (error) {
		if (error instanceof CommanderError) {
			if (error.exitCode === 0) return;
			// Without --json commander has printed the error already.
			if (asJson) writeError(error.message.replace(/^error: /, ""), true);
			process.exitCode = 2;
		} else {
			writeError(explained(error), asJson, error instanceof CommandError ? error.details : undefined);
			// As in grep, 1 means that a search found nothing.
			process.exitCode = error instanceof UsageError || args[0] === "search" ? 2 : 1;
		}
	}
}
