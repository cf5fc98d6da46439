// `pi-sessions show`: prints a conversation.
import { partsOf, roleOf } from "../shared/entries.mjs";
import { clip, counted, safeBlock, safeLine, size, widthOf, withoutEscapeSequences, wrapped } from "../shared/text.mjs";
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

/** Lines of tool output that are shown without `--full`. */
const OUTPUT_LINES = 4;
/** Largest width of a tool's name, in columns. */
const TITLE = 100;
/** Lines of a message that are shown without `--full`, because users paste long logs into messages. */
const TEXT_LINES = 200;
/** The fields of an entry that may be large. */
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
		// `branchOf` empties entries, so a second run needs another manager.
		const manager = unread ?? openReadOnly(path);
		unread = undefined;
		return conversation(manager, path, leaf, options);
	};
	await writePaged(lines, options);
}

/**
 * Yields the newest entries of a branch, all without a limit. It empties each entry before it yields the next, because
 * the manager would otherwise keep the texts of the whole session in memory.
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
	// The user may copy an id, so ids are not cut and get a line of their own if necessary.
	for (const line of about.join("  ").length <= columns() ? [about.join("  ")] : about) yield paint.dim(line);
	yield paint.dim(safeLine(path));
	/** The lines about hidden entries, of which `id` is the newest. @param {string | null} id */
	const earlier = (id) =>
		limit < Infinity && manager.getEntry(id ?? "")
			? wrapped("Earlier entries are not shown; --limit all shows all", columns()).map((line) => paint.dim(line))
			: [];
	let isFirst = true;
	for (const entry of branchOf(manager, leaf, limit)) {
		if (isFirst) yield* earlier(entry.parentId);
		isFirst = false;
		const lines = partsOf(entry).flatMap((part) => partLines(part, full));
		yield "";
		const head = headOf(entry, manager.getLabel(entry.id));
		const [only = ""] = lines;
		// A short note is on the line of its title.
		const quiet =
			entry.type !== "message" &&
			lines.length === 1 &&
			!only.includes("\n") &&
			widthOf(withoutEscapeSequences(`${head}  ${only}`)) <= columns();
		yield* quiet ? [`${head}  ${only}`] : [head, ...lines];
	}
	// With `--limit 0` there is no entry.
	if (isFirst) yield* earlier(leaf ?? manager.getLeafId());
	const resumed = resumeLines({ path, id: manager.getSessionId(), cwd: manager.getCwd() }, options);
	yield* resumed.length > 0 ? ["", ...resumed] : [];
}

/**
 * The role, id, time and label of an entry; fewer of these if the terminal is narrow.
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
 * The text of a part, in pieces of one or more lines.
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
 * Returns a function that changes each line of a text.
 * @param {(line: string) => string} change
 * @returns {(text: string) => string}
 */
const eachLine = (change) => (text) => text.split("\n").map(change).join("\n");

/**
 * The first lines of a text, made safe for a terminal. Lines beyond the limit are only counted.
 * @param {string} text
 * @param {number} limit
 * @param {string} [indent]
 * @returns {string[]} the lines as one text, and a line with the number of hidden lines if there are any
 */
function folded(text, limit, indent = "") {
	// The check is faster than `replace`, because V8 does not search a Latin-1 string for these characters.
	const lined = text.includes("\u2028") || text.includes("\u2029") ? text.replace(/[\u2028\u2029]/g, "\n") : text;
	let [count, end] = [1, text.length];
	for (let at = limit === Infinity ? -1 : lined.indexOf("\n"); at >= 0; at = lined.indexOf("\n", at + 1)) {
		if (count++ === limit) end = at;
	}
	// The line with the number would be as long as one hidden line, so we hide two or more.
	if (count <= limit + 1) return [safeBlock(lined)];
	const shown = lined.slice(0, lined[end - 1] === "\r" ? end - 1 : end);
	return [safeBlock(shown), `${indent}… ${counted(count - limit, "more line")} (--full)`];
}
