// The commands, their options and their help.

import { createRequire } from "node:module";
import { Command, InvalidArgumentError, Option } from "commander";

const require = createRequire(import.meta.url);
const { version } = require("../../package.json");

/**
 * The action of a command: a function of its module, which is loaded only then.
 * @param {string} module
 * @param {string} name the function's
 * @returns {(...args: any[]) => Promise<void>} takes arguments, options and the command; the function returns the exit
 * code
 */
const runs =
	(module, name) =>
	async (...args) => {
		// If the addon is missing, `require` throws once. Node 20 reports the error of an `import` as uncaught, too.
		require("pi-session-native");
		const { [name]: run } = await import(`./${module}.mjs`);
		process.exitCode = await run(...args.slice(0, -2), args.at(-1).opts());
	};

/**
 * An option whose value must not be empty, because an unset variable of a shell would select a default.
 * @param {string} flags
 * @param {string} about
 */
function filled(flags, about) {
	const option = new Option(flags, about);
	return option.argParser((text, /** @type {any} */ before) => {
		if (text === "") throw new InvalidArgumentError("It must not be empty.");
		return option.variadic ? [...(before ?? []), text] : text;
	});
}

/** @param {boolean} asJson whether errors are JSON: then commander prints nothing itself */
export function buildProgram(asJson) {
	const program = new Command("pi-sync")
		.configureOutput({ writeErr: (text) => void (asJson || process.stderr.write(text)) })
		.description(
			"Keeps sessions of the pi coding agent in a store: a directory, a PostgreSQL database or an S3 bucket " +
				"that several machines share.",
		)
		.version(version)
		.exitOverride()
		.showHelpAfterError("(see pi-sync --help)")
		.addHelpText("after", "\nExit codes: 0 good, 1 something failed, 2 the command was called in a wrong way.");
	const storeCommand = (/** @type {string} */ name, /** @type {string} */ summary, /** @type {string[]} */ examples) =>
		program
			.command(name)
			.description(summary)
			.addOption(
				filled(
					"--store <url>",
					"postgres://…, s3://…, file:///… or a directory (default: PI_SYNC_STORE, or store in session-store.json)",
				),
			)
			.option("--json", "JSON for programs")
			.showHelpAfterError(`(see pi-sync ${name} --help)`)
			.addHelpText("after", `\nExamples:\n${examples.map((example) => `  $ pi-sync ${example}`).join("\n")}`);
	const cwd = filled("--cwd <directory>", "use the sessions of this working directory (default: the current one)");
	const command = (/** @type {string} */ name, /** @type {string} */ summary, /** @type {string[]} */ examples) =>
		storeCommand(name, summary, examples)
			.addOption(cwd)
			.addOption(filled("--dir <directory>", "use this session directory instead of pi's own"));
	const DRY_RUN = /** @type {const} */ (["--dry-run", "only show what would be done"]);
	const WAYS = /** @type {const} */ ([
		[
			"push",
			"Stores lines of this machine's sessions that the store does not contain",
			["push", "push 0193a2b4", "push --all --dry-run"],
		],
		["pull", "Adds stored lines to the sessions of this machine", ["pull", "pull 0193a2b4", "pull --all"]],
		["sync", "Pulls, then pushes", ["sync", "sync --all"]],
	]);
	for (const [name, summary, examples] of WAYS)
		command(name, summary, [...examples])
			.argument(
				"[session]",
				"a file or the beginning of a session id; without it all sessions of the working directory's project",
			)
			.option("-a, --all", "the sessions of every project that has some on this machine")
			.option(...DRY_RUN)
			.action(runs("push-and-pull", name));
	command("status", "Shows stored sessions, sessions that wait to be pushed or pulled and why, and the last errors", [
		"status",
		"status --all",
		"status --sessions",
	])
		.option("-a, --all", "every project with sessions on this machine; with --sessions every project in the store")
		.option("--sessions", "list each stored session")
		.action(runs("status", "status"));
	storeCommand(
		"move",
		"Gives the stored sessions of a project another name, for example after its remote was renamed",
		["move github.com/old/shop", "move github.com/old/shop github.com/new/shop --dry-run"],
	)
		.argument("<from>", "the project's name, as status --all --sessions shows it")
		.argument("[to]", "its new name (default: that of the working directory's project)")
		.addOption(cwd)
		.option(...DRY_RUN)
		.action(runs("delete-and-move", "move"));
	storeCommand("delete", "Deletes a session from the store for ever; the files on machines stay", [
		"delete 0193a2b4",
		"delete 0193a2b4 --yes",
	])
		.argument("<session>", "the beginning of a session id")
		.option("-y, --yes", "do not ask")
		.option(...DRY_RUN)
		.action(runs("delete-and-move", "deleteSession"));
	command(
		"redact",
		"Removes a text, or the content of entries, from a session, its backups, copies of the same entries, and the store",
		["redact 0193a2b4 --text - --dry-run <<< 'the password'", "redact 0193a2b4 --entry 1f2e3d4c"],
	)
		.argument("<session>", "a file, or the beginning of a session id")
		.option(
			"--text <text>",
			"the text (needed, unless --entry is given); - reads it from standard input, because every user of the machine " +
				"can see arguments",
		)
		.addOption(
			filled(
				"--entry <entries...>",
				"in place of --text: remove the content of these entries (an id, its beginning, or a label)",
			),
		)
		.option("--replacement <text>", "the text in its place (default: [redacted])")
		.option(...DRY_RUN)
		.action(runs("redact", "redact"));
	return program;
}
