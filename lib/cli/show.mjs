// `pi-sessions show`: the conversation, for reading.
import { stripVTControlCharacters } from "node:util";
import { paintRole } from "./tree-lines.mjs";
import { partsOf, roleOf } from "./entries.mjs";
import { columns, paint, writeJsonList, writePaged } from "./output.mjs";
import { ID_COLUMNS, findEntry, openReadOnly, sessionPath } from "./sessions.mjs";
import { clip, counted, safeBlock, safeLine, size, widthOf, wrapped } from "./text.mjs";

/** @typedef {import("./entries.mjs").Part} Part */
/** @typedef {import("./library.mjs").Manager} Manager */
/** @typedef {import("./library.mjs").SessionEntry} SessionEntry */
/** @typedef {{ cwd?: string, dir?: string, json?: boolean, full?: boolean, leaf?: string, limit: number, pager?: boolean }} Options */

/** Lines of a tool's output that are shown unless all are asked for. */
const OUTPUT_LINES = 4;
/** Columns of a tool's name, at most. */
const TITLE = 100;
/** Characters that end a line like `\n`. */
const LINE_END = /\r\n|[\u2028\u2029]/g;
/** Lines of a message that are shown unless all are asked for: a log that was pasted as a message need not be read. */
const TEXT_LINES = 200;

/**
 * @param {string | undefined} query
 * @param {Options} options
 */
export async function show(query, options) {
	const path = await sessionPath(query, options);
	const manager = openReadOnly(path);
	const leaf = options.leaf === undefined ? undefined : findEntry(manager, options.leaf).id;
	// A window of a huge session makes only the entries that it shows.
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
	const about = [clip(manager.getSessionId(), ID_COLUMNS), safeLine(header?.timestamp), safeLine(header?.cwd)].filter(Boolean);
	// Ids, which may be copied, are not cut; if need be they get their own line.
	for (const line of about.join("  ").length <= columns() ? [about.join("  ")] : about) yield paint.dim(line);
	yield paint.dim(safeLine(path));
	if (entries[0] && manager.getEntry(entries[0].parentId ?? "")) {
		for (const line of wrapped("Earlier entries are not shown; --limit 0 shows all", columns())) yield paint.dim(line);
	}
	for (const entry of entries) {
		const lines = partsOf(entry).flatMap((part) => partLines(part, full));
		yield "";
		const head = headOf(entry, manager.getLabel(entry.id));
		const [only = ""] = lines;
		// A note shares the line of its title if there is room.
		const quiet = entry.type !== "message" && lines.length === 1 && widthOf(stripVTControlCharacters(`${head}  ${only}`)) <= columns();
		yield* quiet ? [`${head}  ${only}`] : [head, ...lines];
	}
}

/**
 * Who speaks, the entry's id, its time and label; where the terminal is narrow, less of it.
 * @param {SessionEntry} entry
 * @param {unknown} label
 */
function headOf(entry, label) {
	const width = columns();
	const role = clip(roleOf(entry), Math.min(24, Math.floor(width / 2)));
	const id = clip(entry.id, Math.min(36, width - widthOf(role) - 1));
	let room = width - widthOf(role) - widthOf(id) - 1;
	const named = label === undefined ? "" : `[${clip(label, Math.min(60, Math.max(3, room - 3)))}]`;
	room -= widthOf(named) + 1;
	const time = clip(entry.timestamp, 24);
	const timed = widthOf(time) < room ? ` ${time}` : "";
	return `${paintRole(role)} ${paint.dim(`${id}${timed}`)}${named === "" ? "" : paint.bold(` ${named}`)}`;
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
			return folded(text, full ? Infinity : TEXT_LINES, "");
		case "note":
			return folded(text, full ? Infinity : OUTPUT_LINES, "").map((line) => (failed ? paint.red(line) : paint.dim(line)));
		case "thinking":
			return folded(text, full ? Infinity : OUTPUT_LINES, "").map((line) => paint.dim(paint.italic(line)));
		case "image":
			return [paint.dim(`[${clip(title || "image", TITLE)}, ${size(Math.floor((text.length * 3) / 4))}]`)];
		case "call": {
			if (title === "!") return [`$ ${safeBlock(text)}`];
			const name = clip(title, full ? TITLE : columns() - 3);
			return [paint.yellow(`→ ${name} ${full ? safeBlock(text) : clip(text, columns() - widthOf(name) - 3)}`.trimEnd())];
		}
		case "output": {
			const lines = folded(text.replace(/(?:\r\n|[\n\u2028\u2029])$/, ""), full ? Infinity : OUTPUT_LINES, "  ");
			const name = title === "!" || title === "" ? [] : [paint.dim(`← ${clip(title, TITLE)}${failed ? paint.red(" failed") : ""}`)];
			return [...name, ...lines.map((line) => paint.dim(`  ${line}`))];
		}
	}
}

/**
 * The first lines of a text made safe, and how many more there are. Those that are not shown are only counted.
 * @param {string} text
 * @param {number} limit
 * @param {string} indent
 */
function folded(text, limit, indent) {
	const lined = text.replace(LINE_END, "\n");
	let [count, end] = [1, text.length];
	for (let at = lined.indexOf("\n"); at >= 0; at = lined.indexOf("\n", at + 1)) {
		if (count++ === limit) end = at;
	}
	// A fold takes a line as well, so a single line is never folded.
	if (count <= limit + 1) return safeBlock(lined).split("\n");
	return [...safeBlock(lined.slice(0, end)).split("\n"), `${indent}… ${counted(count - limit, "more line")} (--full)`];
}
