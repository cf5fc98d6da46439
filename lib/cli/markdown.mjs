// Writes a conversation as Markdown. Messages become quotations with escaped HTML, tool output becomes fenced code. So
// no text can end its block, include the text after it, or look like a heading of another speaker.
import { partsOf, roleOf, speakerOf } from "../shared/entries.mjs";
import { counted, safeBlock, safeLine, size } from "../shared/text.mjs";
import { withoutHtml } from "./markdown-html.mjs";

/** @typedef {import("../shared/entries.mjs").Part} Part */

/** Lines of tool output that are exported without `--full`. */
const OUTPUT_LINES = 40;

/** Who speaks. @param {import("../../index.js").SessionEntry} entry */
function headingOf(entry) {
	const speaker = speakerOf(roleOf(entry));
	return speaker.slice(0, 1).toUpperCase() + speaker.slice(1);
}

/**
 * @param {import("../../index.js").SessionManager} manager
 * @param {import("../../index.js").SessionEntry[]} entries
 * @param {{ full: boolean }} options
 */
export function* markdown(manager, entries, { full }) {
	const header = manager.getHeader();
	yield `# ${inline(manager.getSessionName() ?? "Session")}\n\n`;
	const cwd = code(header?.cwd) || "no directory";
	yield `Session ${code(manager.getSessionId())}, begun ${inline(header?.timestamp)}, in ${cwd}\n`;
	for (const entry of entries) {
		const label = manager.getLabel(entry.id);
		const parts = partsOf(entry);
		if (entry.type === "message" || parts.length > 1) {
			yield `\n## ${inline(headingOf(entry))}${label === undefined ? "" : ` (${inline(label)})`}\n`;
		}
		for (const part of parts) {
			const text = part.kind === "call" && part.title !== "!" ? indented(part.text) : part.text;
			yield `\n${partText({ ...part, text: safeBlock(text) }, full)}\n`;
		}
	}
}

/** One line with its Markdown characters escaped. @param {unknown} text */
const inline = (text) => safeLine(text).replace(/[\\`*_[\]<>#|&]/g, "\\$&");

/** One line of code; empty for an empty text. @param {unknown} text */
const code = (text) => (safeLine(text) === "" ? "" : `\`${safeLine(text).replaceAll("`", "'")}\``);

/**
 * Fenced code. The fence is longer than any fence in the text, so that the text cannot end it.
 * @param {string} text
 * @param {string} [language]
 */
function fenced(text, language = "") {
	let longest = 2;
	for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length);
	const fence = "`".repeat(longest + 1);
	return `${fence}${language}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}`;
}

/**
 * A quotation. Its Markdown is kept, and a fence or list that it does not close ends with it.
 * @param {string} text must not contain carriage returns, because these end lines in Markdown, too
 */
const quoted = (text) => `> ${text.replaceAll("\n", "\n> ")}`;

/**
 * @param {Part} part
 * @param {boolean} full
 */
function partText({ kind, text, title = "", failed }, full) {
	switch (kind) {
		case "text":
			return quoted(withoutHtml(text));
		case "thinking":
			return `*thinking*\n\n${quoted(withoutHtml(text))}`;
		case "note":
			return `*${inline(text)}*`;
		case "image":
			return `*image, ${inline(title)}, ${size(Math.floor((text.length * 3) / 4))}*`;
		case "call":
			return title === "!" ? fenced(text, "sh") : `Calls **${inline(title)}**:\n\n${fenced(text, "json")}`;
		case "output": {
			const lines = text.split("\n");
			const cut = !full && lines.length > OUTPUT_LINES + 1;
			const shown = cut ? lines.slice(0, OUTPUT_LINES).join("\n") : text;
			const name = title === "" || title === "!" ? "" : `**${inline(title)}**${failed ? " failed" : ""}:\n\n`;
			return `${name}${fenced(shown)}${cut ? `\n\n*${counted(lines.length - OUTPUT_LINES, "more line")}*` : ""}`;
		}
	}
}

/** @param {string} json */
function indented(json) {
	try {
		return JSON.stringify(JSON.parse(json), null, 2);
	} catch {
		return json;
	}
}
