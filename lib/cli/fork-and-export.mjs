// `pi-sessions fork` and `pi-sessions export`: copy a session or one of its branches.
import { existsSync, statSync } from "node:fs";
import { extname } from "node:path";
import { CURRENT_SESSION_VERSION, getDefaultSessionDir, SessionManager } from "../../index.mjs";
import { normalizePath } from "../shared/paths.mjs";
import { pathOf } from "../shared/session-dir.mjs";
import { safeLine } from "../shared/text.mjs";
import { sessionDir } from "./dir-options.mjs";
import { CommandError, UsageError } from "./errors.mjs";
import { writeText } from "./files.mjs";
import { markdown } from "./markdown.mjs";
import { json, write, writeJson } from "./output.mjs";
import { findEntry, openReadOnly, sessionPath, UNLOCKED } from "./sessions.mjs";

/** @typedef {import("../../index.js").SessionManager} Manager */
/**
 * @typedef {{ cwd?: string, dir?: string, json?: boolean, entry?: string, into?: string, name?: string }} ForkOptions
 */
/**
 * @typedef {{ cwd?: string, dir?: string, json?: boolean, format?: string, output?: string, leaf?: string, all?:
 * boolean, full?: boolean, force?: boolean }} ExportOptions
 */

/**
 * @param {string | undefined} query
 * @param {ForkOptions} options
 */
export async function fork(query, options) {
	const source = await sessionPath(query, options);
	const made = options.entry === undefined ? forkWhole(source, options) : forkAt(source, options.entry, options);
	if (options.name !== undefined) made.appendSessionInfo(options.name);
	const file = made.getSessionFile();
	if (file === undefined || !existsSync(file))
		throw new CommandError("Nothing was forked: the path to this entry contains no message of the user or the model");
	if (options.json)
		return await writeJson({
			path: file,
			id: made.getSessionId(),
			cwd: made.getCwd(),
			parentSession: source,
			entries: made.getEntryCount(),
		});
	await write(`${safeLine(file)}\n`);
}

/**
 * The session directory by the settings of a working directory, or undefined for the default one.
 * @param {string} cwd
 * @param {ForkOptions} options
 */
const sessionDirOf = (cwd, options) => sessionDir({ ...options, cwd });

/**
 * @param {string} source
 * @param {ForkOptions} options
 */
function forkWhole(source, options) {
	const target = options.into === undefined ? openReadOnly(source).getCwd() : pathOf(options.into);
	// pi could not continue a session there.
	if (options.into !== undefined && !statSync(target, { throwIfNoEntry: false })?.isDirectory())
		throw new CommandError(`The directory of --into does not exist: ${options.into}`);
	return SessionManager.forkFrom(source, target, sessionDirOf(target, options), UNLOCKED);
}

/**
 * Creates a session that contains the path to one entry.
 * @param {string} source
 * @param {string} entry
 * @param {ForkOptions} options
 */
function forkAt(source, entry, options) {
	if (options.into !== undefined) throw new UsageError("--into cannot be combined with --entry");
	const looked = openReadOnly(source);
	const { id } = findEntry(looked, entry);
	const version = SessionManager.verify(source).version ?? 0;
	if (version < CURRENT_SESSION_VERSION)
		throw new CommandError(
			`--entry cannot be used with a file of version ${version}. Fork the whole session, and then the fork`,
		);
	// As for a whole session, the fork goes to the session directory of its working directory.
	const dir = sessionDirOf(looked.getCwd(), options) ?? getDefaultSessionDir(looked.getCwd());
	const manager = SessionManager.open(source, { sessionDir: dir, ...UNLOCKED });
	manager.createBranchedSession(id);
	return manager;
}

/**
 * @param {string | undefined} query
 * @param {ExportOptions} options
 */
export async function exportSession(query, options) {
	const output = normalizePath(options.output ?? "-");
	const format = options.format ?? (options.json ? "jsonl" : formatOf(output));
	if (options.json && format !== "jsonl")
		throw new UsageError("--json exports JSON lines and cannot be combined with --format md");
	if (options.all && format === "md")
		throw new UsageError("--all needs --format jsonl, because Markdown contains one conversation");
	if (options.full && format !== "md")
		throw new UsageError("--full needs --format md, because JSON lines always contain tool output in full");
	if (options.all && options.leaf !== undefined) throw new UsageError("--all cannot be combined with --leaf");
	const source = await sessionPath(query, options);
	const manager = openReadOnly(source);
	const leaf = options.leaf === undefined ? undefined : findEntry(manager, options.leaf).id;
	const entries = options.all ? manager.getEntries() : manager.getBranch(leaf);
	const pieces =
		format === "jsonl" ? jsonLines(manager, entries) : markdown(manager, entries, { full: Boolean(options.full) });
	await writeText(output, pieces, { force: Boolean(options.force), source });
}

/**
 * The format by the ending of a file's name.
 * @param {string} output
 */
function formatOf(output) {
	const ending = extname(output).toLowerCase();
	if (ending === ".jsonl") return "jsonl";
	if (["", ".md", ".markdown", ".txt"].includes(ending)) return "md";
	const page = ending.startsWith(".htm") ? ". For a web page use pi --export <file of the session> <page>" : "";
	throw new UsageError(
		`The ending ${ending} of ${output} is not that of a format. Use .md or .jsonl, or add --format${page}`,
	);
}

/**
 * @param {Manager} manager
 * @param {import("../../index.js").SessionEntry[]} entries
 */
function* jsonLines(manager, entries) {
	yield `${json(manager.getHeader())}\n`;
	for (const entry of entries) yield `${json(entry)}\n`;
}
