// Selects the sessions that a command or tool searches.
import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { projectScope } from "../shared/repository.mjs";
import { CLOSE, OPEN } from "../shared/snippet.mjs";
import { counted, safeLine } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";

/** The hits of one search, and the hits shown for each session, so that a long session does not hide the others. */
export const [LIMIT, PER_SESSION] = [200, 3];

/**
 * The options of a search. Its marks are control characters, which safe texts do not contain.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {{ isAll: boolean, session?: string | undefined }} scope `session`: the file of a session whose hits are all
 * shown
 * @returns {import("../../index.js").SearchOptions}
 */
export const searchOptions = (ctx, { isAll, session }) => ({
	...(session === undefined
		? { ...(isAll ? {} : projectOf(ctx)), ...customDir(ctx), perSession: PER_SESSION }
		: { sessionDir: dirname(session), session }),
	limit: LIMIT,
	mark: [OPEN, CLOSE],
});

/**
 * @type {WeakMap<object, ReturnType<typeof projectScope>>} the answers of git for each context, because a search for
 * each letter would ask again
 */
const projects = new WeakMap();

/**
 * The sessions of this project: of every worktree of the repository, or of the working directory if there is none.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function projectOf(ctx) {
	const known = projects.get(ctx) ?? projectScope(ctx.cwd);
	projects.set(ctx, known);
	return known;
}

/**
 * The session directory that pi was started with, if any. The library finds configured and default directories itself.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function customDir({ sessionManager }) {
	const manager = /** @type {typeof sessionManager & { usesDefaultSessionDir?(): boolean }} */ (sessionManager);
	if (manager.getSessionFile() === undefined || manager.usesDefaultSessionDir?.() !== false) return {};
	const dir = manager.getSessionDir();
	const sessionDir = dirWithSubagent(dir) ?? dir;
	// pi's default directories are `sessions/--project--`.
	return sessionDir !== dir && basename(dirname(sessionDir)) === "sessions" && /^--.*--$/.test(basename(sessionDir))
		? {}
		: { sessionDir };
}

/**
 * For a directory with subagents' sessions: the directory of the session that they belong to. Subagents' sessions are
 * below a folder with that session's name.
 * @param {string} dir the directory of a session
 */
function dirWithSubagent(dir) {
	for (let [folder, above] = [dir, dirname(dir)]; above !== folder; [folder, above] = [above, dirname(above)]) {
		if (existsSync(`${folder}.jsonl`)) return above;
	}
	return undefined;
}

/**
 * The session with an id that begins with `id`. Throws if there is none, or several.
 * @param {typeof import("../../index.js").SessionManager} SessionManager
 * @param {string} id
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function foundSession(SessionManager, id, ctx) {
	const [found, ...others] = id === "" ? [] : SessionManager.findByIdPrefix(id, customDir(ctx));
	if (!found) throw new Error(`No session has an id that begins with ${id}`);
	if (others.some((other) => other.id !== found.id))
		throw new Error(`Several session ids begin with ${id}: use the whole id`);
	return found;
}

/**
 * The text about the subagents' sessions, which a search of one session omits. Undefined if there are none.
 * @param {typeof import("../../index.js").SessionManager} SessionManager
 * @param {string | undefined} session the file of the session
 */
export function subagentsLeftOut(SessionManager, session) {
	const { length } = session === undefined ? [] : SessionManager.filesOf(session).subagents;
	return length === 0 ? undefined : `${counted(length, "session")} of its subagents`;
}

/**
 * The name of the only directory that a command searches; undefined if pi uses its usual directories.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function onlyDir(ctx) {
	const { sessionDir } = customDir(ctx);
	return sessionDir === undefined ? undefined : safeLine(underHome(sessionDir));
}
