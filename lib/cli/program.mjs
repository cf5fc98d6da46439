// The commands, their options and their help.

import { createRequire } from "node:module";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { kinds } from "../shared/entries.mjs";
import { wrapped } from "../shared/text.mjs";
import { columns, forStderr } from "./output.mjs";

const require = createRequire(import.meta.url);
const { version } = require("../../package.json");

/**
 * @param {string} text
 * @returns {number}
 */
function limit(text) {
	if (text === "all") return Infinity;
	if (!/^\d+$/.test(text)) throw new InvalidArgumentError("Expected a whole number or all.");
	return Number(text);
}

/** The same for a number that must not be 0. @param {string} text */
function positiveLimit(text) {
	if (/^0+$/.test(text)) throw new InvalidArgumentError("Expected a whole number above 0, or all.");
	return limit(text);
}

/**
 * The action of a command: calls a function of a module. The module is loaded by that call, because loading all modules
 * takes longer than most commands run.
 * @param {string} module
 * @param {string} [name] the name of the function, which returns the exit code, or nothing for 0
 * @returns {(...args: any[]) => Promise<void>} called by commander with the arguments, the options and the command
 */
const runs =
	(module, name = module) =>
	async (...args) => {
		// We load the addon first: if it fails during an import, Node 20 reports the error twice.
		if (module !== "completion") require("../addon.js");
		const { [name]: run } = await import(`./${module}.mjs`);
		process.exitCode = await run(...args.slice(0, -2), args.at(-1).optsWithGlobals());
	};

/**
 * An option whose value is a list of names, separated by commas. Shells complete only the first name.
 * @param {string} flags
 * @param {string} about
 * @param {string[]} names
 */
const namesOption = (flags, about, names) =>
	new Option(flags, about).choices(names).argParser((text) => {
		const given = text.split(",");
		if (!given.every((name) => names.includes(name)))
			throw new InvalidArgumentError(`Allowed choices are ${names.join(", ")}.`);
		return given;
	});

/**
 * An option whose value must not be empty, because an unset variable of a shell would otherwise select the working
 * directory or the newest session.
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

/**
 * Adds a command with the options that all commands share.
 * @param {Command} program
 * @param {string} usage
 * @param {string} summary
 * @param {string[]} examples
 */
function command(program, usage, summary, examples) {
	return program
		.command(usage)
		.description(summary)
		.addOption(filled("--cwd <directory>", "use the sessions of this working directory (default: the current one)"))
		.addOption(filled("--dir <directory>", "use this session directory instead of pi's"))
		.option("--json", "print JSON")
		.showHelpAfterError(
			`(see ${program.name() === "pi-sessions" ? "" : "pi-sessions "}${program.name()} ${usage} --help)`,
		)
		.addHelpText("after", `\nExamples:\n${examples.map((example) => `  $ pi-sessions ${example}`).join("\n")}`);
}

const SESSION =
	"a file, the beginning of a session id, or a unique session name (default: the newest session of the working " +
	"directory)";
const ONE_SESSION = "a file, the beginning of a session id, or a unique session name";
const LEAF = filled(
	"-l, --leaf <entry>",
	"use the branch that ends at this entry (an id, the beginning of an id, or a label)",
);
const PAGER = /** @type {const} */ (["--no-pager", "do not use $PAGER"]);
const DRY_RUN = /** @type {const} */ (["--dry-run", "show what would change, and change nothing"]);
const REPOSITORY = new Option(
	"-r, --repository",
	"use the sessions of every worktree of the repository, subfolders included (outside of a repository: of the " +
		"working directory)",
).conflicts("all");
const YES = /** @type {const} */ (["-y, --yes", "do not ask for confirmation"]);

const EXIT_CODES =
	"Exit codes: 0 success; 1 a problem was found, or the command failed; 2 wrong usage. Like grep, search exits " +
	"with 1 if it finds nothing and with 2 if it fails.";

const DESCRIPTION = [
	"Shows, searches, checks and exports the sessions of the pi coding agent.",
	"Only rename, delete, move, repair and redact change sessions; fork and export create new files.",
	"Commands cache session data in the catalog, the file session-catalog.sqlite in the agent's directory " +
		"(PI_SESSION_NATIVE_CATALOG=off turns it off).",
].join(" ");

/** @param {boolean} asJson whether errors are printed as JSON: then commander prints none */
export function buildProgram(asJson) {
	const program = new Command("pi-sessions")
		.configureOutput({
			writeErr: (text) => void (asJson || process.stderr.write(forStderr(text))),
			getOutHelpWidth: columns,
			getErrHelpWidth: columns,
		})
		.configureHelp({ minWidthToWrap: 20 })
		.description(DESCRIPTION)
		.version(version)
		.exitOverride()
		.showHelpAfterError("(see pi-sessions --help)")
		.helpCommand("help [command]", "Shows the help of a command")
		.addHelpText("after", () => `\n${wrapped(EXIT_CODES, columns()).join("\n")}`);

	addReading(program);
	addChanging(program);
	addCopying(program);
	addCompletion(program);
	return program;
}

/** @param {Command} program */
function addReading(program) {
	command(program, "list", "Lists sessions, the most recently active first", [
		"list",
		"list --all --limit 20",
		"list --cwd ~/project --json",
	])
		.option(...PAGER)
		.option("-a, --all", "list the sessions of every working directory")
		.addOption(REPOSITORY)
		.option("-n, --limit <count>", "list at most this many (default: all)", limit)
		.action(runs("list"));

	command(program, "show", "Shows a conversation, with tool output shortened", [
		"show",
		"show 0193a2b4",
		"show --full session.jsonl | less -R",
		"show 0193a2b4 --limit 20",
	])
		.argument("[session]", SESSION)
		.option(...PAGER)
		.option("-f, --full", "show long texts and tool output in full")
		.addOption(LEAF)
		.option("-n, --limit <count>", "show only this many of the newest entries (default: all)", limit)
		.action(runs("show"));

	command(program, "tree", "Draws the branches of a session", [
		"tree",
		"tree 0193a2b4 --limit all",
		"tree 0193a2b4 --user",
	])
		.argument("[session]", SESSION)
		.option(...PAGER)
		.option(
			"-n, --limit <count>",
			"draw at most this many entries in a row and branches at a fork, or all (default: 12; with --user: all)",
			limit,
		)
		.option("--user", "draw only user messages")
		.action(runs("tree"));

	command(program, "search", "Searches the texts of sessions", [
		"search panic unwrap",
		"search --all 'checkout test' --limit 5",
		"search --all --in tool --since 2025-01-01 --phrase 'pending'",
		"search --all --json panic",
	])
		.argument("<words...>", "the words to find")
		.option("-a, --all", "search the sessions of every working directory")
		.addOption(REPOSITORY)
		.addOption(
			namesOption("--in <texts>", "search these texts, separated by commas (default: the first four)", kinds().scopes),
		)
		.option("--since <day>", "search entries from this day on: 2025-06-01, or 7d for seven days ago")
		.option("--until <day>", "search entries up to the end of this day")
		.option("--phrase", "find the words together, in this order")
		.option("-s, --session <session>", "search only this session: a file, the beginning of its id, or its name")
		.option("--no-subagents", "skip the sessions of subagents")
		.option(
			"-p, --per-session <count>",
			"show at most this many hits of a session, or all (default: 3; with --session or --limit all: all)",
			positiveLimit,
		)
		.option("-n, --limit <count>", "show at most this many hits, or all", limit, 50)
		.action(runs("search"));

	command(program, "stats", "Adds up tokens and cost, and shows what a session's size consists of", [
		"stats",
		"stats --all --since 30d",
		"stats --all --by month",
		"stats 0193a2b4 --json",
	])
		.argument("[session]", SESSION)
		.option(...PAGER)
		.option("-a, --all", "add up the sessions of every working directory")
		.addOption(REPOSITORY)
		.addOption(
			new Option("--by <grouping>", "show one table, with a row for each").choices([
				"model",
				"day",
				"week",
				"month",
				"project",
				"session",
			]),
		)
		.option("--since <day>", "add up calls from this day on: 2025-06-01, or 7d for seven days ago")
		.option("--until <day>", "add up calls up to the end of this day")
		.option("--csv", "print comma-separated values (default: --by day)")
		.action(runs("stats"));
}

/** @param {Command} program */
function addChanging(program) {
	command(program, "rename", "Renames a session", ["rename 0193a2b4 'The parser'", "rename 0193a2b4 ''"])
		.argument("<session>", "a file, the beginning of a session id, or the session's current name")
		.argument("<name>", "the new name; an empty name removes it")
		.action(runs("rename"));

	command(
		program,
		"delete",
		"Deletes sessions with their backups and their subagents' sessions: moves them to the trash if the command " +
			"trash is installed, otherwise deletes them permanently",
		[
			"delete 0193a2b4 --dry-run",
			"delete --older-than 90d --dry-run",
			"delete --all --older-than 2025-01-01 --dry-run",
		],
	)
		.argument("[sessions...]", "files, beginnings of session ids, or unique session names")
		.addOption(
			filled("--older-than <day>", "delete sessions whose last message is older than this: 90d, or 2025-06-01"),
		)
		.option("-a, --all", "with --older-than: delete sessions of every working directory")
		.option("--force", "include sessions that another process has locked, or that changed within the last minute")
		.option(...DRY_RUN)
		.option(...YES)
		.action(runs("delete", "deleteSessions"));

	command(
		program,
		"move",
		"Updates the sessions of a project after its folder was renamed or moved, so that pi finds them",
		["move ~/project ~/other-project --dry-run"],
	)
		.argument("<old>", "the former path of the folder; sessions of its subfolders are moved, too")
		.argument("[new]", "the present path of the folder (default: the working directory)")
		.addOption(
			filled("--session <session>", "move only this session: a file, the beginning of a session id, or a name"),
		)
		.option(
			"--force",
			"include sessions that another process has locked, or that changed within the last minute; with --yes also " +
				"sessions that may no longer be private in the new folder",
		)
		.option(...DRY_RUN)
		.option(...YES)
		.action(runs("move"));

	command(program, "verify", "Checks sessions for damage; exits with 1 if it finds any", [
		"verify",
		"verify 0193a2b4 session.jsonl",
		"verify --all",
	])
		.argument("[sessions...]", SESSION)
		.option("-a, --all", "check the sessions of every working directory")
		.action(runs("verify-and-repair", "verify"));

	command(program, "repair", "Repairs a damaged session, and keeps the original file beside it", [
		"repair 0193a2b4 --dry-run",
		"repair session.jsonl",
	])
		.argument("<session>", ONE_SESSION)
		.option("--dry-run", "show the damage, and change nothing")
		.action(runs("verify-and-repair", "repair"));

	command(program, "redact", "Removes a text, or the content of entries, from a session, its backups and its forks", [
		"redact 0193a2b4 --text - --dry-run <<< 'the password'",
		"redact 0193a2b4 --entry 1f2e3d4c --dry-run",
	])
		.argument("<session>", ONE_SESSION)
		.option(
			"--text <text>",
			"remove this text; - reads it from standard input, because every user of the machine can see arguments",
		)
		.addOption(
			filled("--entry <entries...>", "remove the content of these entries (an id, the beginning of an id, or a label)"),
		)
		.option("--replacement <text>", "put this text in its place (default: [redacted])")
		.option(...DRY_RUN)
		.action(runs("redact"));
}

/** @param {Command} program */
function addCopying(program) {
	command(program, "fork", "Copies a session, or the path to one of its entries, into a new session", [
		"fork 0193a2b4",
		"fork 0193a2b4 --entry 1f2e3d4c --name 'another way'",
		"fork session.jsonl --into ~/other-project",
	])
		.argument("[session]", SESSION)
		.addOption(
			filled("-e, --entry <entry>", "copy only the path to this entry (an id, the beginning of an id, or a label)"),
		)
		.addOption(
			filled(
				"--into <directory>",
				"the existing working directory of the new session (default: the same as before); not with --entry",
			),
		)
		.option("--name <name>", "the name of the new session")
		.action(runs("fork-and-export", "fork"));

	command(program, "export", "Writes a conversation as Markdown, or a session as JSON lines", [
		"export > talk.md",
		"export 0193a2b4 -o talk.md --full",
		"export 0193a2b4 --format jsonl --all -o copy.jsonl",
	])
		.argument("[session]", SESSION)
		.addOption(
			new Option(
				"--format <format>",
				"the format (default: by the ending of the output file's name, otherwise md)",
			).choices(["md", "jsonl"]),
		)
		.addOption(filled("-o, --output <file>", "write to this file (default: standard output)"))
		.addOption(LEAF)
		.option("-a, --all", "with jsonl: export every branch")
		.option("-f, --full", "with md: export tool output in full")
		.option("--force", "overwrite an existing file")
		.action(runs("fork-and-export", "exportSession"));
}

/** @param {Command} program */
function addCompletion(program) {
	program
		.command("completion")
		.description("Prints the completion script of a shell")
		.addArgument(new Argument("<shell>", "the name of the shell").choices(["bash", "zsh", "fish"]))
		.addHelpText(
			"after",
			"\nExamples:\n  $ source <(pi-sessions completion bash)   # in ~/.bashrc\n  $ pi-sessions completion zsh > " +
				"~/_pi-sessions   # into a directory of $fpath\n  $ pi-sessions completion fish > " +
				"~/.config/fish/completions/pi-sessions.fish",
		)
		.action(runs("completion"));

	program
		.command("complete", { hidden: true })
		.description("Prints the completions of the last word, for the completion scripts")
		.argument("<words...>")
		.action(async (words) => (await import("./completion.mjs")).complete(words, program));
}
