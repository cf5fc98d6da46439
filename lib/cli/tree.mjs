// `pi-sessions tree`: a session's branches, in the terminal or as a page.
import { basename } from "node:path";
import { UsageError } from "./errors.mjs";
import { write, writeJsonList, writePaged } from "./output.mjs";
import { pageFile, refuseWithoutPage } from "./page.mjs";
import { openReadOnly, sessionPath } from "./sessions.mjs";
import { treeLines, treeRows } from "./tree-lines.mjs";
import { writeTreePage } from "./tree-page.mjs";

/** Lines of a run, unless `--limit` says otherwise. */
const LINES = 12;

/**
 * @param {string | undefined} query
 * @param {{ cwd?: string, dir?: string, json?: boolean, limit?: number, user?: boolean, html?: string | true, pager?: boolean, open?: boolean, full?: boolean, maxEntry?: number, force?: boolean }} options
 */
export async function tree(query, options) {
	const file = pageFile(options.html);
	refuseWithoutPage(options.html, { full: options.full, "max-entry": options.maxEntry, force: options.force });
	if (options.full && options.maxEntry !== undefined) throw new UsageError("--full cannot be combined with --max-entry");
	if (options.user && (options.json || options.html !== undefined)) throw new UsageError("--user is for the drawing: it cannot be combined with --json or --html");
	const path = await sessionPath(query, options);
	const manager = openReadOnly(path);
	if (options.html !== undefined) return await writeTreePage(manager, path, file ?? `${basename(path, ".jsonl")}.html`, options);
	if (options.json) {
		const head = { path, id: manager.getSessionId(), leafId: manager.getLeafId() };
		return await writeJsonList(head, "entries", treeRows(manager));
	}
	if (manager.getEntryCount() === 0) return await write("No entries yet\n");
	const limit = options.limit ?? (options.user ? Infinity : LINES);
	await writePaged(() => treeLines(manager, limit, Boolean(options.user)), options);
}
