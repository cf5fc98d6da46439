// `pi-sessions show`: the conversation, for reading.
import { stripVTControlCharacters } from "node:util";
import { partsOf, roleOf } from "../shared/entries.mjs";
import { clip, counted, safeBlock, safeLine, size, widthOf, wrapped } from "../shared/text.mjs";
import { columns, paint, writeJsonList, writePaged } from "./output.mjs";
import { resumeLines } from "./resume.mjs";
import { findEntry, ID_COLUMNS, openReadOnly, sessionPath } from "./sessions.mjs";
import { paintRole } from "./tree-lines.mjs";

/** @typedef {import("../shared/entries.mjs").Part} Part */
/** @typedef {import("../../index.js").SessionManager} Manager */
/** @typedef {import("../../index.js").SessionEntry} SessionEntry */
/**
 * @typedef {{ cwd?: string, dir?: string, json?: boolean, full?: boolean, leaf?: string, limit?: number, pager?:
 * boolean }} Options
 */

/** Lines of a tool's output that are shown unless all are asked for. */
const OUTPUT_LINES = 4;
/** Columns of a tool's name, at most. */
const TITLE = 100;
/** Lines of a message that are shown unless all are asked for: a log that was pasted as a message need not be read. */
const TEXT_LINES = 200;
/** What an entry may hold much of. */
const BODIES = ["message", "content", "data", "details"];

/**
 * @param {string | undefined} query
 * @param {Options} options
 */
export async function show(query, options) {
	const path = await sessionPath(query, options);
	const opened = openReadOnly(path);
	const leaf = options.leaf === undefined ? undefined : findEntry(opened, options.leaf).id;
	if (options.json) {
		const head = { path, header: opened.getHeader(), leafId: leaf ?? opened.getLeafId() };
		return await writeJsonList(head, "entries", branchOf(opened, leaf, options.limit ?? Infinity));
	}
	/** @type {Manager | undefined} */
	let unread = opened;
	const lines = () => {
		// Entries that were shown are emptied, so showing them again takes another manager.
		const manager = unread ?? openReadOnly(path);
		unread = undefined;
		return conversation(manager, path, leaf, options);
	};
	await writePaged(lines, options);
}

/**
 * The newest entries of a branch; all without a limit. An entry is emptied when the next one is asked for: the manager
 * would keep the texts of the whole session, which it reads when they are looked at.
 * @param {Manager} manager
 * @param {string | undefined} leaf
 * @param {number} limit
 */
function* branchOf(manager, leaf, limit) {
	for (const entry of manager.getBranch(leaf, { limit })) {
		yield entry;
		for (const key of BODIES) if (Object.hasOwn(entry, key)) Object.assign(entry, { [key]: undefined });
	}
}

/**
 * @param {Manager} manager
 * @param {string} path
 * @param {string | undefined} leaf
 * @param {Options} options
 */
function* conversation(manager, path, leaf, options) {
	const { full = false, limit = Infinity } = options;
	const header = manager.getHeader();
	yield paint.bold(clip(manager.getSessionName() ?? "(no name)", columns()));
	const about = [clip(manager.getSessionId(), ID_COLUMNS), safeLine(header?.timestamp), safeLine(header?.cwd)].filter(
		Boolean,
	);
	// Ids, which may be copied, are not cut; if need be they get their own line.
	for (const line of about.join("  ").length <= columns() ? [about.join("  ")] : about) yield paint.dim(line);
	yield paint.dim(safeLine(path));
	let isFirst = true;
	for (const entry of branchOf(manager, leaf, limit)) {
		if (isFirst && limit < Infinity && manager.getEntry(entry.parentId ?? "")) {
			for (const line of wrapped("Earlier entries are not shown; --limit all shows all", columns()))
				yield paint.dim(line);
		}
		isFirst = false;
		const lines = partsOf(entry).flatMap((part) => partLines(part, full));
		yield "";
		const head = headOf(entry, manager.getLabel(entry.id));
		const [only = ""] = lines;
		// A note shares the line of its title if it fits.
		const quiet =
			entry.type !== "message" &&
			lines.length === 1 &&
			!only.includes("\n") &&
			widthOf(stripVTControlCharacters(`${head}  ${only}`)) <= columns();
		yield* quiet ? [`${head}  ${only}`] : [head, ...lines];
	}
	const resumed = resumeLines({ path, id: manager.getSessionId(), cwd: manager.getCwd() }, options);
	yield* resumed.length > 0 ? ["", ...resumed] : [];
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
	let space = width - widthOf(role) - widthOf(id) - 1;
	const named = label === undefined ? "" : `[${clip(label, Math.min(60, Math.max(3, space - 3)))}]`;
	space -= widthOf(named) + 1;
	const time = clip(entry.timestamp, 24);
	const timed = widthOf(time) < space ? ` ${time}` : "";
	return `${paintRole(role)} ${paint.dim(`${id}${timed}`)}${named === "" ? "" : paint.bold(` ${named}`)}`;
}

/**
 * The lines of a part, in texts of one or more of them.
 * @param {Part} part
 * @param {boolean} full
 * @returns {string[]}
 */
function partLines(part, full) {
	const { kind, text, title = "", failed } = part;
	switch (kind) {
		case "text":
			return folded(text, full ? Infinity : TEXT_LINES);
		case "note":
			return folded(text, full ? Infinity : OUTPUT_LINES).map(eachLine(failed ? paint.red : paint.dim));
		case "thinking":
			return folded(text, full ? Infinity : OUTPUT_LINES).map(eachLine((line) => paint.dim(paint.italic(line))));
		case "image":
			return [paint.dim(`[${clip(title || "image", TITLE)}, ${size(Math.floor((text.length * 3) / 4))}]`)];
		case "call": {
			if (title === "!") return [`$ ${safeBlock(text)}`];
			const name = clip(title, full ? TITLE : columns() - 3);
			return [
				paint.yellow(`→ ${name} ${full ? safeBlock(text) : clip(text, columns() - widthOf(name) - 3)}`.trimEnd()),
			];
		}
		case "output": {
			const lines = folded(text.replace(/(?:\r\n|[\n\u2028\u2029])$/, ""), full ? Infinity : OUTPUT_LINES, "  ");
			const name =
				title === "!" || title === ""
					? []
					: [paint.dim(`← ${clip(title, TITLE)}${failed ? paint.red(" failed") : ""}`)];
			return [...name, ...lines.map(eachLine((line) => paint.dim(`  ${line}`)))];
		}
	}
}

/**
 * Changes each line of a text.
 * @param {(line: string) => string} change
 * @returns {(text: string) => string}
 */
const eachLine = (change) => (text) => text.split("\n").map(change).join("\n");

/**
 * The first lines of a text made safe, and how many more there are. Those that are not shown are only counted.
 * @param {string} text
 * @param {number} limit
 * @param {string} [indent]
 * @returns {string[]} the lines as one text, and the line that tells of more
 */
function folded(text, limit, indent = "") {
	// Asking first is faster: a text without other characters than Latin letters has none of them, which takes no look at
	// it.
	const lined = text.includes("\u2028") || text.includes("\u2029") ? text.replace(/[\u2028\u2029]/g, "\n") : text;
	let [count, end] = [1, text.length];
	for (let at = limit === Infinity ? -1 : lined.indexOf("\n"); at >= 0; at = lined.indexOf("\n", at + 1)) {
		if (count++ === limit) end = at;
	}
	// A fold takes a line as well, so a single line is never folded.
	if (count <= limit + 1) return [safeBlock(lined)];
	const shown = lined.slice(0, lined[end - 1] === "\r" ? end - 1 : end);
	return [safeBlock(shown), `${indent}… ${counted(count - limit, "more line")} (--full)`];
}
