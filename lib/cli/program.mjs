// The commands, their options and their help.
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { createRequire } from "node:module";
import { ROLES, SCOPES } from "./search-scopes.mjs";
import { safeBlock } from "./text.mjs";

/**
 * A function of a module that is loaded when the function is called: loading all commands takes longer than most of them run.
 * @template {Record<string, any>} Module
 * @template {keyof Module & string} Name
 * @param {() => Promise<Module>} load
 * @param {Name} name
 * @returns {(...args: Parameters<Module[Name]>) => Promise<Awaited<ReturnType<Module[Name]>>>}
 */
const lazy = (load, name) => async (...args) => (await load())[name](...args);

const complete = lazy(() => import("./completion.mjs"), "complete");
const completion = lazy(() => import("./completion.mjs"), "completion");
const exportSession = lazy(() => import("./fork-and-export.mjs"), "exportSession");
const fork = lazy(() => import("./fork-and-export.mjs"), "fork");
const rename = lazy(() => import("./rename.mjs"), "rename");
const repair = lazy(() => import("./verify-and-repair.mjs"), "repair");
const verify = lazy(() => import("./verify-and-repair.mjs"), "verify");
const list = lazy(() => import("./list.mjs"), "list");
const search = lazy(() => import("./search.mjs"), "search");
const show = lazy(() => import("./show.mjs"), "show");
const stats = lazy(() => import("./stats.mjs"), "stats");
const pull = lazy(() => import("./stores.mjs"), "pull");
const push = lazy(() => import("./stores.mjs"), "push");
const redact = lazy(() => import("./redact.mjs"), "redact");
const remote = lazy(() => import("./stores.mjs"), "remote");
const remoteMove = lazy(() => import("./stores.mjs"), "remoteMove");
const remoteStatus = lazy(() => import("./remote-status.mjs"), "remoteStatus");
const remoteDelete = lazy(() => import("./stores.mjs"), "remoteDelete");
const sync = lazy(() => import("./stores.mjs"), "sync");
const tree = lazy(() => import("./tree.mjs"), "tree");

const { version } = createRequire(import.meta.url)("../../package.json");

/** @param {string} text */
function wholeNumber(text) {
	if (!/^\d+$/.test(text)) throw new InvalidArgumentError("A whole number is needed.");
	return Number(text);
}

/**
 * @param {string} text
 * @returns {number}
 */
function limit(text) {
	if (text === "all") return Infinity;
	if (!/^\d+$/.test(text)) throw new InvalidArgumentError("A whole number or all is needed.");
	return Number(text);
}

/** @param {string} text */
function positiveNumber(text) {
	if (!/^0*[1-9]\d*$/.test(text)) throw new InvalidArgumentError("A whole number from 1 on is needed.");
	return Number(text);
}

/**
 * An option that takes names with commas between them. A shell completes the first.
 * @param {string} flags
 * @param {string} about
 * @param {string[]} names
 */
const namesOption = (flags, about, names) =>
	new Option(flags, about).choices(names).argParser((text) => {
		const given = text.split(",");
		if (!given.every((name) => names.includes(name))) throw new InvalidArgumentError(`Allowed are ${names.join(", ")}.`);
		return given;
	});

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
		.option("--cwd <directory>", "the working directory whose sessions are meant (default: this one)")
		.option("--dir <directory>", "a session directory other than pi's own (without --all, the working directory's sessions in it)")
		.option("--json", "JSON for programs")
		.showHelpAfterError(`(see ${program.name() === "pi-sessions" ? "" : "pi-sessions "}${program.name()} ${usage} --help)`)
		.addHelpText("after", `\nExamples:\n${examples.map((example) => `  $ pi-sessions ${example}`).join("\n")}`);
}

/** @param {Command} one */
const storeOptions = (one) => one.option("--store <url>", "postgres://…, s3://…, file:///… or a directory (default: PI_SESSION_NATIVE_STORE)");

const SESSION = "a file, the beginning of a session id, a name that no other session has, or nothing for the newest session of the working directory";

/** @param {Command} one */
const pagerOption = (one) => one.option("--no-pager", "never through $PAGER");

/** @param {Command} one @param {string} which */
const resumeOption = (one, which) => one.option("-r, --resume", `starts pi with ${which}`);

/**
 * @param {{ code: number, failure: number }} result the exit code where a command succeeds or found a problem, and where it fails
 * @param {boolean} asJson whether errors are to be JSON: then commander says nothing itself
 */
export function buildProgram(result, asJson) {
	const program = new Command("pi-sessions")
		.configureOutput({ writeErr: (text) => void (asJson || process.stderr.write(safeBlock(text))) })
		.description("Shows, searches, checks and exports the sessions of the pi coding agent. Only rename, repair, redact, pull and sync change sessions; fork and export make new files. What they read is kept in the catalog, session-catalog-12.sqlite in the agent's directory (PI_SESSION_NATIVE_CATALOG=off: nowhere).")
		.version(version)
		.exitOverride()
		.showHelpAfterError("(see pi-sessions --help)")
		.helpCommand(false)
		.addHelpText("after", "\nExit codes: 0 good, 1 a problem was found or something failed, 2 usage error. As grep, search ends with 1 if it finds nothing, and with 2 if it fails.");

	addReading(program, result);
	addStats(program, result);
	addChanging(program, result);
	addCopying(program);
	addStores(program, result);
	addRemote(program, result);
	addHelp(program);
	return program;
}

/** @param {Command} program @param {{ code: number, failure: number }} result */
function addReading(program, result) {
	resumeOption(pagerOption(command(program, "list", "Lists sessions, the newest activity first", ["list", "list --all --limit 20", "list --cwd ~/project --json"])), "the first session of the list")
		.alias("ls")
		.option("-a, --all", "sessions of every working directory")
		.option("-n, --limit <count>", "so many at most (default: all)", limit)
		.action(async (options) => {
			result.code = await list(options);
		});

	resumeOption(pagerOption(command(program, "show", "Shows a conversation, tool output folded", ["show", "show 0193a2b4", "show --full session.jsonl | less -R", "show 0193a2b4 --limit 20"])), "the session")
		.argument("[session]", SESSION)
		.option("-f, --full", "all of every tool's output")
		.option("-l, --leaf <entry>", "the branch that ends at this entry (an id, its beginning, or a label)")
		.option("-n, --limit <count>", "so many entries, the newest (default: all)", limit)
		.action(async (session, options) => {
			result.code = await show(session, options);
		});

	pagerOption(command(program, "tree", "Draws a session's branches", ["tree", "tree 0193a2b4 --limit all", "tree 0193a2b4 --user"]))
		.argument("[session]", SESSION)
		.option("-n, --limit <count>", "most entries per run, and most branches per branch point, that are drawn, or all (default: 12, with --user all)", limit)
		.option("--user", "user messages alone")
		.action((session, options) => tree(session, options));

	resumeOption(command(program, "search", "Searches what was said", ["search panic unwrap", "search --all 'checkout test' --limit 5", "search --all --in tool --since 2025-01-01 --phrase 'pending'", "search --all --json --max-chars 80 panic"]), "the first session found")
		.argument("<words...>", "what to look for")
		.option("-a, --all", "in sessions of every working directory")
		.addOption(namesOption("--in <texts>", "in these texts, separated by commas (default: the first four)", SCOPES))
		.addOption(namesOption("--role <roles>", "only messages and entries of these roles, separated by commas", ROLES))
		.option("--since <day>", "entries from this day on: 2025-06-01, or 7d for seven days ago")
		.option("--until <day>", "entries up to this day, and on it")
		.option("--phrase", "the words as they stand")
		.option("-n, --limit <count>", "so many places at most, or all", limit, 50)
		.option("--max-chars <count>", "so many characters of each place at most", positiveNumber)
		.action(async (words, options) => {
			// 1 means that nothing was found.
			result.failure = 2;
			result.code = await search(words, options);
		});
}

/** @param {Command} program @param {{ code: number }} result */
function addStats(program, result) {
	pagerOption(command(program, "stats", "Adds up tokens and cost by model and time, and what fills a session", ["stats", "stats --all --since 30d", "stats --all --by month", "stats 0193a2b4 --json"]))
		.argument("[session]", SESSION)
		.option("-a, --all", "all sessions of every working directory")
		.addOption(new Option("--by <grouping>", "one table, by this").choices(["model", "day", "week", "month", "project", "session"]))
		.option("--since <day>", "calls from this day on: 2025-06-01, or 7d for seven days ago")
		.option("--until <day>", "calls up to this day, and on it")
		.option("--csv", "rows for programs that calculate (by day unless --by says otherwise)")
		.option("--utc", "days begin at midnight UTC, not at the clock's")
		.option("--top <count>", "so many of the largest entries", wholeNumber, 10)
		.action(async (session, options) => {
			result.code = await stats(session, options);
		});
}

/** @param {Command} program @param {{ code: number }} result */
function addChanging(program, result) {
	command(program, "rename", "Gives a session another name", ["rename 0193a2b4 'The parser'", "rename 0193a2b4 ''"])
		.argument("<session>", "a file, the beginning of a session id, or its name now")
		.argument("<name>", "its name from now on; an empty one takes the name away")
		.action((session, name, options) => rename(session, name, options));

	command(program, "verify", "Looks for damage; exit code 1 if there is any", ["verify", "verify 0193a2b4 session.jsonl", "verify --all"])
		.argument("[sessions...]", SESSION)
		.option("-a, --all", "all sessions of every working directory")
		.action(async (sessions, options) => {
			result.code = await verify(sessions, options);
		});

	command(program, "repair", "Repairs a damaged session; the original file is kept beside it", ["repair 0193a2b4 --dry-run", "repair session.jsonl"])
		.argument("<session>", "a file, or the beginning of a session id")
		.option("--dry-run", "only show what is wrong")
		.action(async (session, options) => {
			result.code = await repair(session, options);
		});

	storeOptions(command(program, "redact", "Takes a text, or what an entry says, out of a session, its backups, copies of the same entries and the store", ["redact 0193a2b4 --text - --dry-run <<< 'the password'", "redact 0193a2b4 --entry 1f2e3d4c --dry-run"]))
		.argument("<session>", "a file, or the beginning of a session id")
		.option("--text <text>", "the text; - reads it from standard input, because arguments are seen by every user of the machine")
		.option("--entry <entries...>", "what these entries say (an id, its beginning, or a label)")
		.option("--replacement <text>", "what takes its place (default: [redacted])")
		.option("--dry-run", "only show what would be done")
		.action(async (session, options) => {
			result.code = await redact(session, options);
		});
}

/** @param {Command} program */
function addCopying(program) {
	command(program, "fork", "Copies a session, or the path to one of its entries, into a new session", ["fork 0193a2b4", "fork 0193a2b4 --entry 1f2e3d4c --name 'another way'", "fork session.jsonl --into ~/other-project"])
		.argument("[session]", SESSION)
		.option("-e, --entry <entry>", "only the path to this entry (an id, its beginning, or a label)")
		.option("--into <directory>", "the new session's working directory (default: the same); not with --entry")
		.option("--id <id>", "the new session's id; one that no session has yet; not with --entry")
		.option("--name <name>", "the new session's name")
		.action((session, options) => fork(session, options));

	command(program, "export", "Writes a conversation as Markdown, or a session as JSON lines", ["export > talk.md", "export 0193a2b4 -o talk.md --full", "export 0193a2b4 --format jsonl --all -o copy.jsonl"])
		.argument("[session]", SESSION)
		.addOption(new Option("--format <format>", "md, or jsonl; by default what the file's name says, else md").choices(["md", "jsonl"]))
		.option("-o, --output <file>", "where to (default: standard output)")
		.option("-l, --leaf <entry>", "the branch that ends at this entry (an id, its beginning, or a label)")
		.option("-a, --all", "with jsonl: every branch")
		.option("-f, --full", "with md: all of every tool's output")
		.option("--force", "write over a file that is there")
		.action((session, options) => exportSession(session, options));
}

/** @param {Command} program @param {{ code: number }} result */
function addStores(program, result) {
	const STORES = /** @type {const} */ ([
		["push", push, "Stores what sessions here hold and a store lacks", ["push", "push 0193a2b4 --store ~/Dropbox/sessions", "push --all --dry-run"]],
		["pull", pull, "Adds what is stored to the sessions here", ["pull", "pull --all", "pull --all --dry-run"]],
		["sync", sync, "Pulls, then pushes", ["sync", "sync --all --json"]],
	]);
	for (const [name, run, summary, examples] of STORES) {
		const one = storeOptions(command(program, name, summary, [...examples]));
		if (name !== "pull") one.option("--restore", "store again what was deleted from the store");
		one
			.argument("[session]", "a file or the beginning of a session id; without it those of the working directory's project")
			.option("-a, --all", "the sessions of every project that has some here")
			.option("--dry-run", "only show what would be done")
			.action(async (session, options) => {
				result.code = await run(session, options);
			});
	}
}

/** @param {Command} program @param {{ code: number }} result */
function addRemote(program, result) {
	const stored = storeOptions(command(program, "remote", "Lists what is stored of this project", ["remote", "remote --all --store ~/Dropbox/sessions", "remote status"]))
		.option("-a, --all", "sessions of every project")
		.action(async (options) => {
			result.code = await remote(options);
		});
	storeOptions(command(stored, "status", "Says what is stored, what is behind here and why, who uses what, and what failed last", ["remote status", "remote status --all --json"]))
		.option("-a, --all", "of every project that has sessions here")
		.action(async (_options, one) => {
			result.code = await remoteStatus(one.optsWithGlobals());
		});
	storeOptions(command(stored, "move", "Gives the stored sessions of a project another name, as after its remote was renamed", ["remote move github.com/old/shop", "remote move github.com/old/shop github.com/new/shop --dry-run"]))
		.argument("<from>", "the project's name, as remote --all shows it")
		.argument("[to]", "its new name (default: that of the working directory's project)")
		.option("--dry-run", "only show what would be done")
		.action(async (from, to, _options, one) => {
			result.code = await remoteMove(from, to, one.optsWithGlobals());
		});
	storeOptions(command(stored, "delete", "Deletes a session from the store; the files of it that machines have stay", ["remote delete 0193a2b4"]))
		.argument("<session>", "the beginning of a session id")
		.option("--dry-run", "only show what would be done")
		.action(async (session, _options, one) => {
			result.code = await remoteDelete(session, one.optsWithGlobals());
		});
}

/** @param {Command} program */
function addHelp(program) {
	program
		.command("help")
		.description("Shows the help of a command")
		.argument("[command...]", "without it, the help of all")
		.action((/** @type {string[]} */ names) => {
			let named = program;
			for (const name of names) {
				const known = named.commands.find((one) => [one.name(), ...one.aliases()].includes(name));
				named = known ?? program.error(`error: unknown command '${names.slice(0, names.indexOf(name) + 1).join(" ")}'`);
			}
			named.help();
		});

	program
		.command("completion")
		.description("Prints the completion script of a shell")
		.addArgument(new Argument("<shell>", "the shell that it is for").choices(["bash", "zsh", "fish"]))
		.addHelpText(
			"after",
			"\nExamples:\n  $ source <(pi-sessions completion bash)   # in ~/.bashrc\n  $ pi-sessions completion zsh > ~/_pi-sessions   # into a directory of $fpath\n  $ pi-sessions completion fish > ~/.config/fish/completions/pi-sessions.fish",
		)
		.action((shell) => completion(shell));

	program
		.command("complete", { hidden: true })
		.description("What the completion scripts offer for the last of these words")
		.argument("<words...>")
		.action((words) => complete(words, program));
}
