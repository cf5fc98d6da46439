// Finds the session or entry that the user named, and opens sessions for reading.
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { assertValidSessionId, SessionManager } from "../../index.mjs";
import { placeIn } from "../shared/repository.mjs";
import { defaultDir, pathOf, subagentFiles } from "../shared/session-dir.mjs";
import { asText, clip, safeLine } from "../shared/text.mjs";
import { existingSessionDir, scopeOf, sessionDir, workingDirectory } from "./dir-options.mjs";
import { CommandError } from "./errors.mjs";
import { withProgress } from "./output.mjs";

/** @typedef {import("../../index.js").SessionManager} Manager */
/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("../../index.js").SessionEntry} SessionEntry */
/** @typedef {import("./dir-options.mjs").DirOptions} DirOptions */

const CANDIDATES_SHOWN = 10;
/** Width of an id in messages, in columns; pi's own ids have 36. */
export const ID_COLUMNS = 64;

/**
 * The selected sessions, with their progress while they are read.
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

/**
 * The sessions of these sessions' subagents, which lists leave out.
 * @param {SessionInfo[]} sessions
 * @returns {Promise<SessionInfo[]>}
 */
export async function subagentsOf(sessions) {
	const dirs = new Set(sessions.flatMap(({ path }) => subagentFiles(path).map(dirname)));
	return (await Promise.all([...dirs].map((dir) => SessionManager.listAll(dir)))).flat();
}

/**
 * Whether the library accepts an id. Other ids may contain any characters and are never offered to a shell.
 * @param {string} id
 */
export function isPlainId(id) {
	try {
		assertValidSessionId(id);
		return true;
	} catch {
		return false;
	}
}

/** Whether a query is a path; otherwise it is an id, the beginning of an id, or a name. @param {string} query */
const isPath = (query) => /[\\/]/.test(query) || query.endsWith(".jsonl") || existsSync(query);

/**
 * The file of the session that a query names: a path, the beginning of an id, or a name. Without a query: the newest
 * session of the working directory.
 * @param {string | undefined} query
 * @param {DirOptions} options
 * @param {string} [hint] added to the error if no session has the id
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
		// Lists leave out sessions of subagents.
		const dir = sessionDir(options);
		const byId = query === "" ? [] : SessionManager.findByIdPrefix(query, dir === undefined ? {} : { sessionDir: dir });
		const others = byId.length > 0 ? byId : (await subagentsOf(sessions)).filter(({ name }) => isNamed(name, query));
		if (others.length > 0) return findOne(query, others, (session) => clip(session.id, ID_COLUMNS)).path;
		throw new CommandError(
			path === undefined
				? `No session has the name ${JSON.stringify(query)}, or an id that begins with it. \`${SHOWN_BY.session}\` ` +
						`shows all sessions${hint}`
				: `${stats ? "Not a file" : "The file does not exist"}: ${query}`,
		);
	}
	return findOne(query, sessions, (session) => `${clip(session.id, ID_COLUMNS)}  ${title(session, 60)}`).path;
}

/** The commands that list the sessions, and the entries of a session. */
const SHOWN_BY = { session: "pi-sessions list --all", entry: "pi-sessions tree" };

/** @param {string | undefined} name @param {string} query */
const isNamed = (name, query) => name !== undefined && query !== "" && safeLine(name) === query;

/**
 * The session that `list` shows first, by the time of its newest message. We ignore file times, because restores and
 * sync tools change them.
 * @param {DirOptions} options
 */
async function newestSession(options) {
	existingSessionDir(options);
	const [newest] = await listSessions({ ...options, all: false });
	if (!newest)
		throw new CommandError(
			`There is no session for ${workingDirectory(options)}. \`pi-sessions list --all\` shows the sessions of ` +
				"every directory",
		);
	return newest.path;
}

/**
 * The title of a session: its name, otherwise its first message.
 * @param {SessionInfo} session
 * @param {number} width
 */
export const title = (session, width) => clip(session.name ?? session.firstMessage, width);

/**
 * The item whose id equals the query; otherwise the item whose id begins with it; otherwise the item with this name.
 * Throws if there is none, or several.
 * @template {{ id: string, name?: string, path?: string }} T
 * @param {string} query
 * @param {readonly T[]} items
 * @param {(item: T) => string} show
 * @param {keyof typeof SHOWN_BY} [noun]
 * @returns {T}
 */
function findOne(query, items, show, noun = "session") {
	const exact = items.filter(({ id }) => id === query);
	const begun = items.filter(({ id }) => id.startsWith(query));
	const named = items.filter(({ name }) => isNamed(name, query));
	const candidates = [exact, begun].find(({ length }) => length > 0) ?? named;
	const [first] = candidates;
	if (!first)
		throw new CommandError(
			`No ${noun} has an id that begins with ${JSON.stringify(query)}. \`${SHOWN_BY[noun]}\` shows the ids`,
		);
	if (candidates.length === 1 && query !== "") return first;
	const lines = candidates.slice(0, CANDIDATES_SHOWN).map((item) => {
		// Sessions with the same id differ only in their paths.
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

/** Readers neither take a lock nor wait for one, even if the environment asks for it. */
export const UNLOCKED = /** @type {const} */ ({ lock: "none" });

/**
 * Opens a session read-only: writes nothing, even where `SessionManager.open` would migrate an old file or write a
 * header to an empty one. The file stays open until the manager is collected.
 * @param {string} path
 * @returns {Manager}
 */
export const openReadOnly = (path) => SessionManager.open(path, { readonly: true });
