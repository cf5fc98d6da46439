// A conversation as Markdown. What was said is in quotations, in which HTML is text, and what tools printed is in
// fences: no text can end its block, take in what follows, or pass for a heading of another speaker.
import { partsOf, roleOf } from "../shared/entries.mjs";
import { counted, safeBlock, safeLine, size } from "../shared/text.mjs";
import { withoutHtml } from "./markdown-html.mjs";

/** @typedef {import("../shared/entries.mjs").Part} Part */

/** Lines of a tool's output that are kept unless all are asked for. */
const OUTPUT_LINES = 40;

/** @type {Record<string, string>} */
const NAMES = { user: "User", assistant: "Assistant", toolResult: "Tool", bashExecution: "Command", system: "System" };

/**
 * @param {import("../../index.js").SessionManager} manager
 * @param {import("../../index.js").SessionEntry[]} entries
 * @param {{ full: boolean }} options
 */
export function* markdown(manager, entries, { full }) {
	const header = manager.getHeader();
	yield `# ${inline(manager.getSessionName() ?? "Session")}\n\n`;
	yield `Session ${code(manager.getSessionId())}, begun ${inline(header?.timestamp)}, in ${code(header?.cwd) || "no directory"}\n`;
	for (const entry of entries) {
		const role = roleOf(entry);
		const label = manager.getLabel(entry.id);
		const parts = partsOf(entry);
		if (entry.type === "message" || parts.length > 1) {
			yield `\n## ${inline(Object.hasOwn(NAMES, role) ? (NAMES[role] ?? role) : role)}${label === undefined ? "" : ` (${inline(label)})`}\n`;
		}
		for (const part of parts) {
			const text = part.kind === "call" && part.title !== "!" ? indented(part.text) : part.text;
			yield `\n${partText({ ...part, text: safeBlock(text) }, full)}\n`;
		}
	}
}

/** @param {unknown} text one line, its marks taken as letters */
const inline = (text) => safeLine(text).replace(/[\\`*_[\]<>#|&]/g, "\\$&");

/** @param {unknown} text one line of code; nothing for none */
const code = (text) => (safeLine(text) === "" ? "" : `\`${safeLine(text).replaceAll("`", "'")}\``);

/**
 * A fence longer than any in the text, so that the text cannot end it.
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
 * A quotation: its Markdown counts, and whatever it leaves open (a fence, a list) ends with it.
 * @param {string} text without carriage returns, which end lines of Markdown, too
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
