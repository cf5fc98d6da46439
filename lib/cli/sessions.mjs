// From what the user typed to a session.
import { closeSync, existsSync, openSync, readSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "./errors.mjs";
import {
	CURRENT_SESSION_VERSION,
	SessionManager,
	findMostRecentSession,
	loadEntriesFromFile,
	migrateSessionEntries,
} from "./library.mjs";
import { progress } from "./output.mjs";
import { defaultDir, pathOf, sessionDir, store, workingDirectory } from "./place.mjs";
import { asText, clip } from "./text.mjs";

/** @typedef {import("./library.mjs").Manager} Manager */
/** @typedef {import("./library.mjs").SessionInfo} SessionInfo */
/** @typedef {import("./library.mjs").SessionEntry} SessionEntry */
/** @typedef {import("./place.mjs").Place} Place */

const CANDIDATES_SHOWN = 10;
/** Columns of an id where it is told to people; pi's own take 36. */
export const ID_COLUMNS = 64;

/**
 * The sessions of a working directory, or all of them, with a progress bar while they are read.
 * @param {Place} place
 * @returns {Promise<SessionInfo[]>}
 */
export async function listSessions(place) {
	const dir = sessionDir(place);
	const cwd = place.all ? undefined : workingDirectory(place);
	const bar = progress("Reading sessions");
	try {
		if (cwd !== undefined) return await SessionManager.list(cwd, dir ?? defaultDir(cwd), bar.update);
		return dir === undefined ? await SessionManager.listAll(bar.update) : await SessionManager.listAll(dir, bar.update);
	} finally {
		bar.stop();
	}
}

/**
 * Every session file of every working directory, in the order of their names. Lists leave out what has no readable
 * header; this does not.
 * @param {Place} place
 * @returns {string[]}
 */
export function sessionFiles(place) {
	const dir = sessionDir(place);
	const folders = dir === undefined ? pathsIn(store()) : [pathOf(dir)];
	return folders.flatMap((folder) => pathsIn(folder).filter((path) => path === folder || (path.endsWith(".jsonl") && !isFolder(path))));
}

/** @param {string} path */
function isFolder(path) {
	try {
		return statSync(path).isDirectory();
	} catch {
		// A link that leads nowhere may have been a session: whoever reads it says what is wrong.
		return false;
	}
}

/**
 * What is in a folder; nothing if it is none, or not there. A folder that cannot be read stands for what is in it, so that
 * whoever tries to says why not.
 * @param {string} folder
 */
function pathsIn(folder) {
	try {
		return readdirSync(folder)
			.sort()
			.map((name) => join(folder, name));
	} catch (error) {
		return ["ENOENT", "ENOTDIR"].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? "") ? [] : [folder];
	}
}

/**
 * The file of a session: a path, the beginning of an id, or nothing for the newest of the working directory.
 * @param {string | undefined} query
 * @param {Place} place
 * @returns {Promise<string>}
 */
export async function sessionPath(query, place) {
	if (query === undefined) return newestSession(place);
	if (/[\\/]/.test(query) || query.endsWith(".jsonl") || existsSync(query)) {
		const path = pathOf(query);
		const stats = statSync(path, { throwIfNoEntry: false });
		if (!stats) throw new CommandError(`No such file: ${query}`);
		if (!stats.isFile()) throw new CommandError(`Not a file: ${query}`);
		return path;
	}
	const sessions = await listSessions({ ...place, all: true });
	return sessions[chosen(query, sessions, (session) => `${clip(session.id, ID_COLUMNS)}  ${title(session, 60)}`)]?.path ?? "";
}

/**
 * @param {Place} place
 */
function newestSession(place) {
	const cwd = workingDirectory(place);
	const dir = sessionDir(place);
	const found = dir === undefined ? findMostRecentSession(defaultDir(cwd)) : findMostRecentSession(dir, cwd);
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
	const candidates = found.map((index) => /** @type {T & { path?: string }} */ (items[index]));
	const lines = candidates.slice(0, CANDIDATES_SHOWN).map((item) => {
		// Nothing but its file tells one from another that has its id.
		const path = item.path !== undefined && candidates.some((other) => other !== item && other.id === item.id) ? `\n    ${item.path}` : "";
		return `  ${show(item)}${path}`;
	});
	if (candidates.length > CANDIDATES_SHOWN) lines.push(`  and ${candidates.length - CANDIDATES_SHOWN} more`);
	const what = exact.length > 0 ? `the id of ${candidates.length} ${noun}s` : `the beginning of ${candidates.length} ${noun} ids`;
	throw new CommandError(`${JSON.stringify(query)} is ${what}:\n${lines.join("\n")}`, {
		candidates: candidates.map(({ id, path }) => (path === undefined ? { id } : { id, path })),
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
	const labelled = entries.filter((entry) => query !== "" && asText(manager.getLabel(entry.id)) === query);
	if (labelled.length === 1) return /** @type {SessionEntry} */ (labelled[0]);
	return /** @type {SessionEntry} */ (entries[chosen(query, entries, (entry) => `${clip(entry.id, ID_COLUMNS)}  ${clip(entry.type, 30)}`, "entry")]);
}

/** Whoever looks takes no lock, though the environment may say so, and is kept out by none. */
export const UNLOCKED = /** @type {const} */ ({ lock: "none" });

/**
 * Opens a session to look at it: nothing is written, not even where `SessionManager.open` would migrate an old file or
 * begin an empty one. The file stays open as long as the manager lives.
 * @param {string} path
 * @returns {Manager}
 */
export function openReadOnly(path) {
	if (isCurrent(headerAtOnce(path))) return SessionManager.open(path, undefined, undefined, UNLOCKED);
	const entries = loadEntriesFromFile(path);
	const header = /** @type {import("./library.mjs").SessionHeader | undefined} */ (entries[0]);
	if (!header) throw new CommandError(`Session file is not a valid pi session: ${path}`);
	if (isCurrent(header)) return SessionManager.open(path, undefined, undefined, UNLOCKED);
	const hasNoIds = Number(header.version ?? 1) < 2;
	migrateSessionEntries(entries);
	if (hasNoIds) number(/** @type {SessionEntry[]} */ (entries.slice(1)));
	return SessionManager.inMemory(typeof header.cwd === "string" ? header.cwd : undefined, undefined, entries);
}

/**
 * Looks at a session and lets go of its file: for those who look at many.
 * @template T
 * @param {string} path
 * @param {(manager: Manager) => T} look
 * @returns {T}
 */
export function lookAt(path, look) {
	const manager = openReadOnly(path);
	const before = statSync(path, { bigint: true, throwIfNoEntry: false });
	try {
		return look(manager);
	} finally {
		const now = statSync(path, { bigint: true, throwIfNoEntry: false });
		// `close` would write a file anew that somebody deleted or replaced meanwhile. That one stays as they left it.
		if (before && now && before.dev === now.dev && before.ino === now.ino) manager.close();
	}
}

/**
 * Entries of version 1 have no ids, and migration makes new ones each time. Whoever looks twice, or names an entry that
 * was shown, needs the same again: the entry's number in the session.
 * @param {SessionEntry[]} entries
 */
function number(entries) {
	/** @type {Map<unknown, string>} */
	const numbers = new Map(entries.map((entry, index) => [entry?.id, String(index + 1).padStart(8, "0")]));
	for (const entry of entries.filter((one) => typeof one?.id === "string")) {
		for (const field of /** @type {const} */ (["id", "parentId", "firstKeptEntryId"])) {
			const given = numbers.get(/** @type {any} */ (entry)[field]);
			if (given !== undefined) Object.assign(entry, { [field]: given });
		}
	}
}

/** @param {{ version?: unknown } | undefined} header */
const isCurrent = (header) => header !== undefined && Number(header.version ?? 1) >= CURRENT_SESSION_VERSION;

/**
 * The header of a session, if the first line of the file is one that can be read at a glance.
 * @param {string} path
 * @returns {{ version?: unknown } | undefined}
 */
function headerAtOnce(path) {
	const file = openSync(path, "r");
	try {
		const chunk = Buffer.alloc(1 << 16);
		const line = chunk.toString("utf8", 0, readSync(file, chunk)).split("\n", 1)[0] ?? "";
		const header = JSON.parse(line);
		return header?.type === "session" && typeof header.id === "string" ? header : undefined;
	} catch (error) {
		// A long or an odd header: the library reads it, the slow way.
		if (error instanceof SyntaxError) return undefined;
		throw error;
	} finally {
		closeSync(file);
	}
}
