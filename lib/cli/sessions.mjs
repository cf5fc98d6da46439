// Finds the session, and the entry, that the user named, and opens it for reading.
import { existsSync, statSync } from "node:fs";
import { SessionManager } from "../../index.mjs";
import { placeIn } from "../shared/repository.mjs";
import { defaultDir, pathOf } from "../shared/session-dir.mjs";
import { asText, clip, safeLine } from "../shared/text.mjs";
import { existingSessionDir, scopeOf, sessionDir, workingDirectory } from "./dir-options.mjs";
import { CommandError } from "./errors.mjs";
import { withProgress } from "./output.mjs";

/** @typedef {import("../../index.js").SessionManager} Manager */
/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("../../index.js").SessionEntry} SessionEntry */
/** @typedef {import("./dir-options.mjs").DirOptions} DirOptions */

const CANDIDATES_SHOWN = 10;
/** Columns of an id in messages; pi's own ids take 36. */
export const ID_COLUMNS = 64;

/**
 * The sessions of a working directory, of its repository, or all of them, with a progress bar while they are read.
 * @param {DirOptions} options
 * @returns {Promise<SessionInfo[]>}
 */
export async function listSessions(options) {
	const dir = sessionDir(options);
	const { cwd, folders } = scopeOf(options);
	if (folders !== undefined) {
		const all = await listSessions({ ...options, all: true });
		return all.filter((one) => folders.some((folder) => placeIn(folder, one.cwd) !== undefined));
	}
	return await withProgress("Reading sessions", ({ update }) =>
		cwd === undefined ? SessionManager.listAll(dir, update) : SessionManager.list(cwd, dir ?? defaultDir(cwd), update),
	);
}

/** Ids that the library itself would give or take. Another may hold anything, and goes to no shell. */
const PLAIN_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;

/** @param {string} id */
export const isPlainId = (id) => PLAIN_ID.test(id);

/** Whether what names a session is a path: else it is an id, its beginning, or a name. @param {string} query */
export const isPath = (query) => /[\\/]/.test(query) || query.endsWith(".jsonl") || existsSync(query);

/**
 * The file of a session: a path, the beginning of an id, a name, or nothing for the newest of the working directory.
 * @param {string | undefined} query
 * @param {DirOptions} options
 * @param {string} [hint] for an id that no session here has
 * @returns {Promise<string>}
 */
export async function sessionPath(query, options, hint = "") {
	if (query === undefined) return newestSession(options);
	const path = isPath(query) ? pathOf(query) : undefined;
	const stats = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
	if (path !== undefined && stats?.isFile()) return path;
	existingSessionDir(options);
	const sessions = await listSessions({ ...options, all: true });
	// A name may look like a path.
	if (!sessions.some(({ id, name }) => id.startsWith(query) || isNamed(name, query))) {
		// Lists have no sessions of subagents.
		const dir = sessionDir(options);
		const others =
			query === "" ? [] : SessionManager.findByIdPrefix(query, dir === undefined ? {} : { sessionDir: pathOf(dir) });
		if (others.length > 0) return findOne(query, others, (session) => clip(session.id, ID_COLUMNS)).path;
		throw new CommandError(
			path === undefined
				? `No session has an id that begins with ${JSON.stringify(query)}, or that name; ${SHOWN_BY.session} shows them${hint}`
				: `${stats ? "Not a file" : "No such file"}: ${query}`,
		);
	}
	return findOne(query, sessions, (session) => `${clip(session.id, ID_COLUMNS)}  ${title(session, 60)}`).path;
}

/** The commands that show what there is of something. */
const SHOWN_BY = { session: "pi-sessions list --all", entry: "pi-sessions tree" };

/** @param {string | undefined} name @param {string} query */
const isNamed = (name, query) => name !== undefined && query !== "" && safeLine(name) === query;

/**
 * The session that `list` shows first: that of the newest message. File times are no help, because restores and sync
 * tools change them.
 * @param {DirOptions} options
 */
async function newestSession(options) {
	existingSessionDir(options);
	const [newest] = await listSessions({ ...options, all: false });
	if (!newest)
		throw new CommandError(
			`No session for ${workingDirectory(options)}. \`pi-sessions list --all\` shows those of every directory`,
		);
	return newest.path;
}

/**
 * What a session is called: its name, else its first message.
 * @param {SessionInfo} session
 * @param {number} width
 */
export const title = (session, width) => clip(session.name ?? session.firstMessage, width);

/**
 * The one item whose id equals the query or, if none does, begins with it or, if none does, whose name it is.
 * @template {{ id: string, name?: string, path?: string }} T
 * @param {string} query
 * @param {readonly T[]} items
 * @param {(item: T) => string} show
 * @param {keyof typeof SHOWN_BY} [noun]
 * @returns {T}
 */
export function findOne(query, items, show, noun = "session") {
	const exact = items.filter(({ id }) => id === query);
	const begun = items.filter(({ id }) => id.startsWith(query));
	const named = items.filter(({ name }) => isNamed(name, query));
	const candidates = [exact, begun].find(({ length }) => length > 0) ?? named;
	const [first] = candidates;
	if (!first)
		throw new CommandError(
			`No ${noun} has an id that begins with ${JSON.stringify(query)}; ${SHOWN_BY[noun]} shows them`,
		);
	if (candidates.length === 1 && query !== "") return first;
	const lines = candidates.slice(0, CANDIDATES_SHOWN).map((item) => {
		// Only the path distinguishes sessions that share an id.
		const path =
			item.path !== undefined && candidates.some((other) => other !== item && other.id === item.id)
				? `\n    ${item.path}`
				: "";
		return `  ${show(item)}${path}`;
	});
	if (candidates.length > CANDIDATES_SHOWN) lines.push(`  and ${candidates.length - CANDIDATES_SHOWN} more`);
	const what =
		candidates === begun
			? `the beginning of ${candidates.length} ${noun} ids`
			: `the ${candidates === exact ? "id" : "name"} of ${candidates.length} ${noun}s`;
	throw new CommandError(`${JSON.stringify(query)} is ${what}:\n${lines.join("\n")}`, {
		candidates: candidates.map(({ id, path }) => (path === undefined ? { id } : { id, path })),
	});
}

/**
 * The entry whose id begins with the query, or whose label equals it.
 * @param {Manager} manager
 * @param {string} query
 * @returns {SessionEntry}
 */
export function findEntry(manager, query) {
	const exact = manager.getEntry(query);
	if (exact) return exact;
	const entries = manager.getEntries();
	const labelled = entries.filter((entry) => query !== "" && asText(manager.getLabel(entry.id)) === query);
	const [only] = labelled;
	if (only && labelled.length === 1) return only;
	return findOne(query, entries, (entry) => `${clip(entry.id, ID_COLUMNS)}  ${clip(entry.type, 30)}`, "entry");
}

/** Reading takes no lock, even if the environment asks for one, and waits for none. */
export const UNLOCKED = /** @type {const} */ ({ lock: "none" });

/**
 * Opens a session read-only: nothing is written, even where `SessionManager.open` would migrate an old file or write a
 * header to an empty one. The file stays open as long as the manager lives.
 * @param {string} path
 * @returns {Manager}
 */
export const openReadOnly = (path) => SessionManager.open(path, { readonly: true });
