// The commands, their options and their help.

import { createRequire } from "node:module";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { safeBlock, wrapped } from "../shared/text.mjs";
import { columns } from "./output.mjs";
import { ROLES, SCOPES } from "./search-scopes.mjs";

const require = createRequire(import.meta.url);
const { version } = require("../../package.json");

/**
 * @param {string} text
 * @returns {number}
 */
function limit(text) {
	if (text === "all") return Infinity;
	if (!/^\d+$/.test(text)) throw new InvalidArgumentError("A whole number or all is needed.");
	return Number(text);
}

/**
 * What a command does: a function of its module, which is loaded then, because loading all takes longer than most of
 * them run.
 * @param {string} module
 * @param {string} [name] the function's
 * @returns {(...args: any[]) => Promise<void>} takes arguments, options and the command; the function gives the exit
 * code, if it is not 0
 */
const runs =
	(module, name = module) =>
	async (...args) => {
		// Without its addon a module fails to load, and Node 20 reports what a CommonJS module throws during an import a
		// second time.
		if (module !== "completion") require("../addon.js");
		const { [name]: run } = await import(`./${module}.mjs`);
		process.exitCode = await run(...args.slice(0, -2), args.at(-1).optsWithGlobals());
	};

/**
 * An option that takes names with commas between them. A shell completes the first.
 * @param {string} flags
 * @param {string} about
 * @param {string[]} names
 */
const namesOption = (flags, about, names) =>
	new Option(flags, about).choices(names).argParser((text) => {
		const given = text.split(",");
		if (!given.every((name) => names.includes(name)))
			throw new InvalidArgumentError(`Allowed are ${names.join(", ")}.`);
		return given;
	});

/**
 * An option whose value must not be empty: a variable of a shell that is not set would name the working directory, or
 * the newest session.
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
 * A command with the options that all commands have.
 * @param {Command} program
 * @param {string} usage
 * @param {string} summary
 * @param {string[]} examples
 */
function command(program, usage, summary, examples) {
	return program
		.command(usage)
		.description(summary)
		.addOption(filled("--cwd <directory>", "the working directory whose sessions are meant (default: this one)"))
		.addOption(
			filled(
				"--dir <directory>",
				"a session directory other than pi's own (without --all, the working directory's sessions in it)",
			),
		)
		.option("--json", "JSON for programs")
		.showHelpAfterError(
			`(see ${program.name() === "pi-sessions" ? "" : "pi-sessions "}${program.name()} ${usage} --help)`,
		)
		.addHelpText("after", `\nExamples:\n${examples.map((example) => `  $ pi-sessions ${example}`).join("\n")}`);
}

const SESSION =
	"a file, the beginning of a session id, a name that no other session has, or nothing for the newest session of the working directory";
const ONE_SESSION = "a file, or the beginning of a session id";
const LEAF = filled("-l, --leaf <entry>", "the branch that ends at this entry (an id, its beginning, or a label)");
const PAGER = /** @type {const} */ (["--no-pager", "never through $PAGER"]);
const DRY_RUN = /** @type {const} */ (["--dry-run", "only show what would be done"]);
const REPOSITORY = new Option(
	"-r, --repository",
	"of every worktree of the repository, and of folders in them; outside of one, of the working directory",
).conflicts("all");
const YES = /** @type {const} */ (["-y, --yes", "ask no question"]);

const EXIT_CODES =
	"Exit codes: 0 good, 1 a problem was found or something failed, 2 usage error. As grep, search ends with 1 if it finds nothing, and with 2 if it fails.";

const DESCRIPTION = [
	"Shows, searches, checks and exports the sessions of the pi coding agent.",
	"Only rename, delete, move, repair and redact change sessions; fork and export make new files.",
	"What they read is kept in the catalog, session-catalog.sqlite in the agent's directory (PI_SESSION_NATIVE_CATALOG=off: nowhere).",
].join(" ");

/** @param {boolean} asJson whether errors are to be JSON: then commander says nothing itself */
export function buildProgram(asJson) {
	const program = new Command("pi-sessions")
		.configureOutput({
			writeErr: (text) => void (asJson || process.stderr.write(safeBlock(text))),
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
	command(program, "list", "Lists sessions, the newest activity first", [
		"list",
		"list --all --limit 20",
		"list --cwd ~/project --json",
	])
		.alias("ls")
		.option(...PAGER)
		.option("-a, --all", "sessions of every working directory")
		.addOption(REPOSITORY)
		.option("-n, --limit <count>", "so many at most (default: all)", limit)
		.action(runs("list"));

	command(program, "show", "Shows a conversation, tool output folded", [
		"show",
		"show 0193a2b4",
		"show --full session.jsonl | less -R",
		"show 0193a2b4 --limit 20",
	])
		.argument("[session]", SESSION)
		.option(...PAGER)
		.option("-f, --full", "all of every tool's output")
		.addOption(LEAF)
		.option("-n, --limit <count>", "so many entries, the newest (default: all)", limit)
		.action(runs("show"));

	command(program, "tree", "Draws a session's branches", ["tree", "tree 0193a2b4 --limit all", "tree 0193a2b4 --user"])
		.argument("[session]", SESSION)
		.option(...PAGER)
		.option(
			"-n, --limit <count>",
			"most entries per run, and most branches per branch point, that are drawn, or all (default: 12, with --user all)",
			limit,
		)
		.option("--user", "user messages alone")
		.action(runs("tree"));

	command(program, "search", "Searches what was said", [
		"search panic unwrap",
		"search --all 'checkout test' --limit 5",
		"search --all --in tool --since 2025-01-01 --phrase 'pending'",
		"search --all --json panic",
	])
		.argument("<words...>", "what to look for")
		.option("-a, --all", "in sessions of every working directory")
		.addOption(REPOSITORY)
		.addOption(namesOption("--in <texts>", "in these texts, separated by commas (default: the first four)", SCOPES))
		.addOption(namesOption("--role <roles>", "only messages and entries of these roles, separated by commas", ROLES))
		.option("--since <day>", "entries from this day on: 2025-06-01, or 7d for seven days ago")
		.option("--until <day>", "entries up to this day, and on it")
		.option("--phrase", "the words as they stand")
		.option("-s, --session <session>", "only in this session, by the beginning of its id, its name or its file")
		.option("--no-subagents", "not in sessions of subagents")
		.option(
			"-p, --per-session <count>",
			"so many places of a session at most, or all (default: 3; all with --json, --session or --limit all)",
			limit,
		)
		.option("-n, --limit <count>", "so many places at most, or all", limit, 50)
		.action(runs("search"));

	command(program, "stats", "Adds up tokens and cost by model and time, and what fills a session", [
		"stats",
		"stats --all --since 30d",
		"stats --all --by month",
		"stats 0193a2b4 --json",
	])
		.argument("[session]", SESSION)
		.option(...PAGER)
		.option("-a, --all", "all sessions of every working directory")
		.addOption(REPOSITORY)
		.addOption(
			new Option("--by <grouping>", "one table, by this").choices([
				"model",
				"day",
				"week",
				"month",
				"project",
				"session",
			]),
		)
		.option("--since <day>", "calls from this day on: 2025-06-01, or 7d for seven days ago")
		.option("--until <day>", "calls up to this day, and on it")
		.option("--csv", "rows for programs that calculate (by day unless --by says otherwise)")
		.option("--utc", "days begin at midnight UTC, not at the clock's")
		.action(runs("stats"));
}

/** @param {Command} program */
function addChanging(program) {
	command(program, "rename", "Gives a session another name", ["rename 0193a2b4 'The parser'", "rename 0193a2b4 ''"])
		.argument("<session>", "a file, the beginning of a session id, or its name now")
		.argument("<name>", "its name from now on; an empty one takes the name away")
		.action(runs("rename"));

	command(
		program,
		"delete",
		"Deletes sessions with their backups and their subagents' sessions: to the trash if there is a command trash, else for ever",
		[
			"delete 0193a2b4 --dry-run",
			"delete --older-than 90d --dry-run",
			"delete --all --older-than 2025-01-01 --dry-run",
		],
	)
		.argument("[sessions...]", "files, beginnings of session ids, or names that no other session has")
		.addOption(filled("--older-than <day>", "those whose last message is older than this: 90d, or 2025-06-01"))
		.option("-a, --all", "with --older-than: of every working directory")
		.option("--force", "also a session that another process has locked, or that was written within the last minute")
		.option(...DRY_RUN)
		.option(...YES)
		.action(runs("delete", "deleteSessions"));

	command(
		program,
		"move",
		"Moves the sessions of a project whose folder was renamed or moved, so that pi finds them there",
		["move ~/project ~/other-project --dry-run"],
	)
		.argument("<old>", "where the folder was; sessions of folders in it are moved, too")
		.argument("[new]", "where it is now (default: the working directory)")
		.addOption(filled("--session <session>", "only this one: a file, the beginning of a session id, or its name"))
		.option("--force", "also a session that another process has locked, or that was written within the last minute")
		.option(...DRY_RUN)
		.option(...YES)
		.action(runs("move"));

	command(program, "verify", "Looks for damage; exit code 1 if there is any", [
		"verify",
		"verify 0193a2b4 session.jsonl",
		"verify --all",
	])
		.argument("[sessions...]", SESSION)
		.option("-a, --all", "all sessions of every working directory")
		.action(runs("verify-and-repair", "verify"));

	command(program, "repair", "Repairs a damaged session; the original file is kept beside it", [
		"repair 0193a2b4 --dry-run",
		"repair session.jsonl",
	])
		.argument("<session>", ONE_SESSION)
		.option("--dry-run", "only show what is wrong")
		.action(runs("verify-and-repair", "repair"));

	command(
		program,
		"redact",
		"Takes a text, or what an entry says, out of a session, its backups and copies of the same entries",
		["redact 0193a2b4 --text - --dry-run <<< 'the password'", "redact 0193a2b4 --entry 1f2e3d4c --dry-run"],
	)
		.argument("<session>", ONE_SESSION)
		.option(
			"--text <text>",
			"the text; - reads it from standard input, because arguments are seen by every user of the machine",
		)
		.addOption(filled("--entry <entries...>", "what these entries say (an id, its beginning, or a label)"))
		.option("--replacement <text>", "what takes its place (default: [redacted])")
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
		.addOption(filled("-e, --entry <entry>", "only the path to this entry (an id, its beginning, or a label)"))
		.addOption(
			filled(
				"--into <directory>",
				"the new session's working directory, which must be there (default: the same); not with --entry",
			),
		)
		.option("--name <name>", "the new session's name")
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
				"md, or jsonl; by default what the ending of the file's name says, without one md",
			).choices(["md", "jsonl"]),
		)
		.addOption(filled("-o, --output <file>", "where to (default: standard output)"))
		.addOption(LEAF)
		.option("-a, --all", "with jsonl: every branch")
		.option("-f, --full", "with md: all of every tool's output")
		.option("--force", "write over a file that is there")
		.action(runs("fork-and-export", "exportSession"));
}

/** @param {Command} program */
function addCompletion(program) {
	program
		.command("completion")
		.description("Prints the completion script of a shell")
		.addArgument(new Argument("<shell>", "the shell that it is for").choices(["bash", "zsh", "fish"]))
		.addHelpText(
			"after",
			"\nExamples:\n  $ source <(pi-sessions completion bash)   # in ~/.bashrc\n  $ pi-sessions completion zsh > ~/_pi-sessions   # into a directory of $fpath\n  $ pi-sessions completion fish > ~/.config/fish/completions/pi-sessions.fish",
		)
		.action(runs("completion"));

	program
		.command("complete", { hidden: true })
		.description("What the completion scripts offer for the last of these words")
		.argument("<words...>")
		.action(async (words) => (await import("./completion.mjs")).complete(words, program));
}
