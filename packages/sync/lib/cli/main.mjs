// One run of the command. Its exit code is 0 for success, 1 for a problem or a failure, 2 for a wrong call.
import { CommanderError } from "commander";
import { messageOf } from "../base/errors.js";
import { buildProgram } from "./program.mjs";
import { UsageError, writeError } from "./terminal.mjs";

// The library of AWS warns on Node 20 that releases of 2027 need Node 22. The user cannot do anything about that now.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";

/** @param {string[]} args */
export async function main(args) {
	const asJson = args.includes("--json");
	process.stdout.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
		// EPIPE: the reader of the output has ended, which is no error.
		if (error.code !== "EPIPE") writeError(`Standard output cannot be written: ${error.message}`, asJson);
		process.exit(error.code === "EPIPE" ? (process.exitCode ?? 0) : 1);
	});
	try {
		const program = buildProgram(asJson);
		// For an unknown command after `help`, commander prints the whole help, without the command's name.
		const [first, name = "--help"] = args;
		const isKnown = name.startsWith("-") || program.commands.some((one) => one.name() === name);
		await program.parseAsync(first === "help" && !isKnown ? args.slice(1) : args, { from: "user" });
	} catch (error) {
		if (error instanceof CommanderError) {
			if (asJson && error.exitCode !== 0) writeError(error.message.replace(/^error: /, ""), true);
			process.exitCode = error.exitCode === 0 ? 0 : 2;
			return;
		}
		writeError(messageOf(error), asJson, Object(error).code);
		process.exitCode = error instanceof UsageError ? 2 : 1;
	}
}
