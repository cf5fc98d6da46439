// Which sessions a command looks at.
import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { projectScope } from "../shared/repository.mjs";
import { CLOSE, OPEN } from "../shared/snippet.mjs";
import { safeLine } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";

/** How many hits are looked for at once, and how many of a session are shown: a long session would hide all others. */
export const [LIMIT, PER_SESSION] = [200, 3];

/**
 * Where a search looks, with marks that text cannot hold.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {{ isAll: boolean, session?: string | undefined }} scope a session's file, to see all hits of one
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
 * @type {WeakMap<object, ReturnType<typeof projectScope>>} what a command or a tool has asked git, which a search of
 * each letter would ask again
 */
const projects = new WeakMap();

/**
 * Which sessions are those of this project: of every worktree of the repository, or else of the working directory.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function projectOf(ctx) {
	const known = projects.get(ctx) ?? projectScope(ctx.cwd);
	projects.set(ctx, known);
	return known;
}

/**
 * A session directory that pi was started with: the library finds the configured and the default one by itself.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function customDir({ sessionManager }) {
	const manager = /** @type {typeof sessionManager & { usesDefaultSessionDir?(): boolean }} */ (sessionManager);
	if (manager.getSessionFile() === undefined || manager.usesDefaultSessionDir?.() !== false) return {};
	const dir = manager.getSessionDir();
	const sessionDir = dirWithSubagent(dir) ?? dir;
	// pi's own place is `sessions/--project--`.
	return sessionDir !== dir && basename(dirname(sessionDir)) === "sessions" && /^--.*--$/.test(basename(sessionDir))
		? {}
		: { sessionDir };
}

/**
 * The directory of the session that a subagent's belongs to, whose files are below a folder with that session's name;
 * undefined for others.
 * @param {string} dir of a session
 */
function dirWithSubagent(dir) {
	for (let [folder, above] = [dir, dirname(dir)]; above !== folder; [folder, above] = [above, dirname(above)]) {
		if (existsSync(`${folder}.jsonl`)) return above;
	}
	return undefined;
}

/**
 * The session that an id, or its beginning, names.
 * @param {typeof import("../../index.js").SessionManager} SessionManager
 * @param {string} id
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function foundSession(SessionManager, id, ctx) {
	const [found, ...others] = id === "" ? [] : SessionManager.findByIdPrefix(id, customDir(ctx));
	if (!found) throw new Error(`There is no session ${id}`);
	if (others.some((other) => other.id !== found.id))
		throw new Error(`Several sessions begin with ${id}: give the whole id`);
	return found;
}

/**
 * The one directory that a command looks at, for people; undefined where pi keeps its sessions in the usual place.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function onlyDir(ctx) {
	const { sessionDir } = customDir(ctx);
	return sessionDir === undefined ? undefined : safeLine(underHome(sessionDir));
}
