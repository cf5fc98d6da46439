// `pi-sessions tree`: draws the branches of a session.
import { UsageError } from "./errors.mjs";
import { write, writeJsonList, writePaged } from "./output.mjs";
import { openReadOnly, sessionPath } from "./sessions.mjs";
import { treeLines, treeRows } from "./tree-lines.mjs";

/** The default of `--limit`. */
const LINES = 12;

/**
 * @param {string | undefined} query
 * @param {{ cwd?: string, dir?: string, json?: boolean, limit?: number, user?: boolean, pager?: boolean }} options
 */
export async function tree(query, options) {
	if (options.user && options.json) throw new UsageError("--user cannot be combined with --json");
	const path = await sessionPath(query, options);
	const manager = openReadOnly(path);
	if (options.json) {
		const head = { path, id: manager.getSessionId(), leafId: manager.getLeafId() };
		return await writeJsonList(head, "entries", treeRows(manager));
	}
	if (manager.getEntryCount() === 0) return await write("No entries yet\n");
	const limit = options.limit ?? (options.user ? Infinity : LINES);
	await writePaged(() => treeLines(manager, limit, Boolean(options.user)), options);
}
