// `pi-sessions show`: the conversation, for reading.
import { paintRole } from "./drawing.mjs";
import { partsOf, roleOf } from "./entries.mjs";
import { columns, paint, writeJsonList, writePaged } from "./output.mjs";
import { entryNamed, openReadOnly, sessionPath } from "./sessions.mjs";
import { clip, counted, safeBlock, safeLine, size } from "./text.mjs";

/** @typedef {import("./entries.mjs").Part} Part */
/** @typedef {import("./library.mjs").Manager} Manager */
/** @typedef {import("./library.mjs").SessionEntry} SessionEntry */
/** @typedef {{ cwd?: string, dir?: string, json?: boolean, full?: boolean, leaf?: string, limit: number, pager?: boolean }} Options */

/** Lines of a tool's output that are shown unless all are asked for. */
const OUTPUT_LINES = 4;
/** Lines of what was said, likewise: whoever pasted a log as a message did not mean to read it. */
const TEXT_LINES = 200;

/**
 * @param {string | undefined} query
 * @param {Options} options
 */
export async function show(query, options) {
	const path = await sessionPath(query, options);
	const manager = openReadOnly(path);
	const leaf = options.leaf === undefined ? undefined : entryNamed(manager, options.leaf).id;
	// A window of a huge session makes only what it shows.
	const entries = manager.getBranch(leaf, options.limit > 0 ? { limit: options.limit } : undefined);
	if (options.json) {
		const head = { path, header: manager.getHeader(), leafId: leaf ?? manager.getLeafId() };
		return await writeJsonList(head, "entries", entries);
	}
	await writePaged(() => conversation(manager, path, entries, Boolean(options.full)), options);
}

/**
 * @param {Manager} manager
 * @param {string} path
 * @param {SessionEntry[]} entries
 * @param {boolean} full
 */
function* conversation(manager, path, entries, full) {
	const header = manager.getHeader();
	yield paint.bold(clip(manager.getSessionName() ?? "(no name)", columns()));
	yield paint.dim(safeLine(`${manager.getSessionId()}  ${header?.timestamp ?? ""}  ${header?.cwd ?? ""}`));
	yield paint.dim(safeLine(path));
	if (entries[0] && manager.getEntry(entries[0].parentId ?? "")) yield paint.dim("Earlier entries are not shown; --limit 0 shows all");
	for (const entry of entries) {
		const lines = partsOf(entry).flatMap((part) => partLines(part, full));
		const label = manager.getLabel(entry.id);
		const head = `${paintRole(clip(roleOf(entry), 24))} ${paint.dim(`${clip(entry.id, 36)} ${clip(String(entry.timestamp), 24)}`)}`;
		// What only notes something needs no room of its own.
		const quiet = entry.type !== "message" && lines.length === 1;
		yield "";
		yield `${head}${label === undefined ? "" : paint.bold(` [${clip(label, 60)}]`)}${quiet ? `  ${lines[0]}` : ""}`;
		if (!quiet) yield* lines;
	}
}

/**
 * @param {Part} part
 * @param {boolean} full
 * @returns {string[]}
 */
function partLines(part, full) {
	const { kind, text, title = "", failed } = part;
	switch (kind) {
		case "text":
			return fold(safeBlock(text).split("\n"), full ? Infinity : TEXT_LINES, "");
		case "note":
			return fold(safeBlock(text).split("\n"), full ? Infinity : OUTPUT_LINES, "").map((line) => (failed ? paint.red(line) : paint.dim(line)));
		case "thinking":
			return fold(safeBlock(text).split("\n"), full ? Infinity : OUTPUT_LINES, "").map((line) => paint.dim(paint.italic(line)));
		case "image":
			return [paint.dim(`[${safeLine(title || "image")}, ${size(Math.floor((text.length * 3) / 4))}]`)];
		case "call": {
			if (title === "!") return [`$ ${safeBlock(text)}`];
			const call = `→ ${safeLine(title)} ${full ? safeBlock(text) : clip(text, Math.max(40, columns() - title.length - 4))}`;
			return [paint.yellow(call)];
		}
		case "output": {
			const lines = fold(safeBlock(text).replace(/\n$/, "").split("\n"), full ? Infinity : OUTPUT_LINES, "  ");
			const name = title === "!" || title === "" ? [] : [paint.dim(`← ${safeLine(title)}${failed ? paint.red(" failed") : ""}`)];
			return [...name, ...lines.map((line) => paint.dim(`  ${line}`))];
		}
	}
}

/**
 * The first lines, and how many more there are.
 * @param {string[]} lines
 * @param {number} limit
 * @param {string} indent
 */
function fold(lines, limit, indent) {
	if (lines.length <= limit + 1) return lines;
	return [...lines.slice(0, limit), `${indent}… ${counted(lines.length - limit, "more line")} (--full)`];
}
