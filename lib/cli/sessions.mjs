// From what the user typed to a session.
import { existsSync, openSync, readSync, closeSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { CommandError } from "./errors.mjs";
import {
	CURRENT_SESSION_VERSION,
	SessionManager,
	findMostRecentSession,
	getDefaultSessionDir,
	loadEntriesFromFile,
	migrateSessionEntries,
} from "./library.mjs";
import { progress } from "./output.mjs";
import { clip } from "./text.mjs";

/** @typedef {import("./library.mjs").Manager} Manager */
/** @typedef {import("./library.mjs").SessionInfo} SessionInfo */
/** @typedef {import("./library.mjs").SessionEntry} SessionEntry */
/** @typedef {{ cwd?: string, dir?: string, all?: boolean }} Place */

const CANDIDATES_SHOWN = 10;

/**
 * The directory to look in, if another than the default one is asked for. pi's own variable counts here as it does there.
 * @param {Place} place
 */
export const sessionDir = ({ dir }) => dir ?? (process.env.PI_CODING_AGENT_SESSION_DIR || undefined);

/**
 * The sessions of a working directory, or all of them, with a progress bar while they are read.
 * @param {Place} place
 * @returns {Promise<SessionInfo[]>}
 */
export async function listSessions(place) {
	const dir = sessionDir(place);
	const bar = progress("Reading sessions");
	try {
		if (!place.all) return await SessionManager.list(workingDirectory(place), dir, bar.update);
		return dir === undefined ? await SessionManager.listAll(bar.update) : await SessionManager.listAll(dir, bar.update);
	} finally {
		bar.stop();
	}
}

/**
 * @param {Place} place
 */
export const workingDirectory = ({ cwd }) => resolve(cwd ?? ".");

/**
 * The file of a session: a path, the beginning of an id, or nothing for the newest of the working directory.
 * @param {string | undefined} query
 * @param {Place} place
 * @returns {Promise<string>}
 */
export async function sessionPath(query, place) {
	if (query === undefined) return newestSession(place);
	if (/[\\/]/.test(query) || query.endsWith(".jsonl") || existsSync(query)) {
		const stats = statSync(query, { throwIfNoEntry: false });
		if (!stats) throw new CommandError(`No such file: ${query}`);
		if (!stats.isFile()) throw new CommandError(`Not a file: ${query}`);
		return resolve(query);
	}
	const sessions = await listSessions({ ...place, all: true });
	return sessions[chosen(query, sessions, (session) => `${session.id}  ${title(session, 60)}`)]?.path ?? "";
}

/**
 * @param {Place} place
 */
function newestSession(place) {
	const cwd = workingDirectory(place);
	const dir = sessionDir(place);
	const found = dir === undefined ? findMostRecentSession(getDefaultSessionDir(cwd)) : findMostRecentSession(dir, cwd);
	if (found === null) throw new CommandError(`No session for ${cwd}. \`pi-sessions list --all\` shows those of every folder`);
	return found;
}

/**
 * What a session is called: its name, else its first message.
 * @param {SessionInfo} session
 * @param {number} width
 */
export const title = (session, width) => clip(session.name ?? session.firstMessage, width);

/**
 * The place of the one item whose id is, or else begins with, the query.
 * @template {{ id: string }} T
 * @param {string} query
 * @param {readonly T[]} items
 * @param {(item: T) => string} show
 * @param {string} [noun]
 * @returns {number}
 */
export function chosen(query, items, show, noun = "session") {
	const indices = items.map((_, index) => index);
	const exact = indices.filter((index) => items[index]?.id === query);
	const found = exact.length > 0 ? exact : indices.filter((index) => items[index]?.id.startsWith(query));
	if (found.length === 1 && query !== "") return /** @type {number} */ (found[0]);
	if (found.length === 0) throw new CommandError(`No ${noun} has an id that begins with ${JSON.stringify(query)}`);
	const candidates = found.map((index) => /** @type {T} */ (items[index]));
	const lines = candidates.slice(0, CANDIDATES_SHOWN).map((item) => `  ${show(item)}`);
	if (candidates.length > CANDIDATES_SHOWN) lines.push(`  and ${candidates.length - CANDIDATES_SHOWN} more`);
	throw new CommandError(`${JSON.stringify(query)} is the beginning of ${candidates.length} ${noun} ids:\n${lines.join("\n")}`, {
		candidates: candidates.map((item) => ("path" in item ? { id: item.id, path: item.path } : { id: item.id })),
	});
}

/**
 * The entry whose id begins with the query, or that is labelled so.
 * @param {Manager} manager
 * @param {string} query
 * @returns {SessionEntry}
 */
export function entryNamed(manager, query) {
	const exact = manager.getEntry(query);
	if (exact) return exact;
	const entries = manager.getEntries();
	const labelled = entries.filter((entry) => manager.getLabel(entry.id) === query);
	if (labelled.length === 1) return /** @type {SessionEntry} */ (labelled[0]);
	return /** @type {SessionEntry} */ (entries[chosen(query, entries, (entry) => `${entry.id}  ${entry.type}`, "entry")]);
}

/**
 * Opens a session to look at it: nothing is written, not even where `SessionManager.open` would migrate an old file or
 * begin an empty one.
 * @param {string} path
 * @returns {Manager}
 */
export function openReadOnly(path) {
	if (versionOf(path) >= CURRENT_SESSION_VERSION) return SessionManager.open(path);
	const entries = loadEntriesFromFile(path);
	if (entries.length === 0) throw new CommandError(`Session file is not a valid pi session: ${path}`);
	migrateSessionEntries(entries);
	const header = /** @type {import("./library.mjs").SessionHeader} */ (entries[0]);
	return SessionManager.inMemory(header.cwd, undefined, entries);
}

/**
 * The version that the first line of a file names; 0 if it names none that can be read at a glance.
 * @param {string} path
 */
function versionOf(path) {
	const file = openSync(path, "r");
	try {
		const chunk = Buffer.alloc(1 << 16);
		const line = chunk.toString("utf8", 0, readSync(file, chunk)).split("\n", 1)[0] ?? "";
		const header = JSON.parse(line);
		return header?.type === "session" && typeof header.id === "string" ? Number(header.version ?? 1) : 0;
	} catch {
		// A long or an odd header: the library reads it, the slow way.
		return 0;
	} finally {
		closeSync(file);
	}
}
