// Splits the content of an entry into parts, by the row of its type or role in the table of kinds. The types of content
// blocks have their cases here, because the table says what a search finds in a block, but not how it is shown. Each
// view shows the parts in its own way. Any program may have written the file, so a field may be missing or have another
// type than declared, and each field is converted by `asText`.
import { createRequire } from "node:module";
import { asText } from "./text.mjs";

/**
 * @typedef {object} Part
 * @property {"text" | "thinking" | "call" | "output" | "image" | "note"} kind
 * @property {string} text
 * @property {string} [title] the name of the tool or section, or the type of the image
 * @property {boolean} [failed] whether the tool or the command failed
 */

/** @typedef {Record<string, any>} Loose an entry or a message whose fields may have any type */

const require = createRequire(import.meta.url);
/** @type {import("../../index.js").EntryKinds | undefined} */
let table;

/** Returns the table of kinds. The addon contains it, and is loaded at the first call. */
export const kinds = () => {
	table ??= /** @type {typeof import("../../index.js")} */ (require("../addon.js")).entryKinds();
	return table;
};

/**
 * The row of a role, or of the type of another entry.
 * @param {string} role
 */
const factsOf = (role) => own(kinds().roles, role) ?? own(kinds().entries, role);

/**
 * The role of a message, or the type of another entry.
 * @param {Loose} entry
 * @returns {string}
 */
export function roleOf(entry) {
	if (entry.type !== "message") return asText(entry.type);
	return typeof entry.message?.role === "string" ? entry.message.role : "message";
}

/** The name of a role for people. @param {string} role */
export const speakerOf = (role) => factsOf(role)?.speaker ?? role;

/** The search scope of the first text of a role. @param {string} role */
export const scopeOf = (role) =>
	factsOf(role)
		?.says.map((one) => ("field" in one ? one.scope : undefined))
		.find(Boolean);

/**
 * @param {unknown} content the content of a message
 * @returns {Part[]}
 */
function contentParts(content) {
	if (!Array.isArray(content)) return asText(content) === "" ? [] : [{ kind: "text", text: asText(content) }];
	return content.map(blockPart).filter((part) => part !== undefined);
}

/**
 * @param {any} block
 * @returns {Part | undefined}
 */
function blockPart(block) {
	switch (block?.type) {
		case "text":
			return { kind: "text", text: asText(block.text) };
		case "thinking":
			return { kind: "thinking", text: block.redacted ? "(withheld by the provider)" : asText(block.thinking) };
		case "toolCall":
			return {
				kind: "call",
				title: asText(block.name),
				text: asText(block.argumentsError ?? block.arguments),
				failed: block.argumentsError !== undefined,
			};
		case "image":
			return { kind: "image", title: asText(block.mimeType), text: asText(block.data) };
		default:
			return block === null || block === undefined ? undefined : { kind: "note", text: asText(block) };
	}
}

/**
 * The calls of a tool to other tools. Their results are not in the session.
 * @param {any} nested
 * @returns {Part[]}
 */
function nestedCalls(nested) {
	if (!Array.isArray(nested?.calls)) return [];
	return nested.calls.flatMap((/** @type {any} */ call) => {
		const title = asText(call?.name);
		const text =
			call?.arguments === undefined && typeof call?.argumentsBytes === "number"
				? `(${call.argumentsBytes} bytes)`
				: asText(call?.arguments);
		const failed = call?.status === "error";
		/** @type {Part[]} */
		const parts = [{ kind: "call", title, text, failed }];
		if (call?.error) parts.push({ kind: "output", title, text: asText(call.error), failed });
		else if (failed) parts.push(...note(`(${title} failed)`));
		if (call?.status === "unfinished") parts.push(...note(`(${title} did not finish)`));
		return parts;
	});
}

/**
 * @param {string} what
 * @param {unknown} tools
 * @returns {Part[]}
 */
function toolNames(what, tools) {
	if (!Array.isArray(tools) || tools.length === 0) return [];
	return note(`${what}: ${tools.map((tool) => asText(tool?.name)).join(", ")}`);
}

/** @param {string} text @returns {Part[]} */
const note = (text) => [{ kind: "note", text }];

/**
 * Fills a sentence of the table with the fields of an entry or a message.
 * @param {string} sentence
 * @param {Loose} of
 */
const filled = (sentence, of) =>
	sentence
		.replace(/\[(.*?)\]/g, (_, /** @type {string} */ optional) =>
			[...optional.matchAll(/\{(\w+)\}/g)].every(([, field]) => of[/** @type {string} */ (field)]) ? optional : "",
		)
		.replace(/\{(\w+)\}/g, (_, /** @type {string} */ field) => asText(of[field]))
		.trim();

/**
 * @param {import("../../index.js").Sentence} one
 * @param {Loose} of
 * @returns {Part[]}
 */
function sentencePart({ sentence, on, values, otherwise }, of) {
	const isSo = on === undefined || (values === undefined ? Boolean(of[on]) : values.includes(of[on]));
	const shown = isSo ? sentence : otherwise;
	return shown === undefined ? [] : note(filled(shown, of));
}

/**
 * @param {import("../../index.js").SaidText} said
 * @param {Loose} of
 * @returns {Part[]}
 */
function textParts({ field, form, part, title = "", failed }, of) {
	/** @type {any} */
	const value = field.split(".").reduce((object, key) => object?.[key], of);
	if (part === undefined) return [];
	if (form === "calls") return nestedCalls(value);
	if (form === "tools") return toolNames(title, value);
	if (form === "sections") {
		return Object.entries(value ?? {}).map(([name, text]) => ({
			kind: "output",
			title: name,
			text: text === null ? "(removed)" : asText(text),
		}));
	}
	if (part === "text") return contentParts(value);
	if (part === "note" && !value) return [];
	const about = {
		...(title === "" ? {} : { title: filled(title, of) }),
		...(failed === undefined ? {} : { failed: Boolean(of[failed]) }),
	};
	const parts =
		form === "content" ? contentParts(value) : [{ kind: /** @type {const} */ ("text"), text: asText(value) }];
	return parts.map((one) => (one.kind === "text" ? { ...one, ...about, kind: part } : one));
}

/** The fields of every entry. */
const BASE = new Set(["type", "id", "parentId", "timestamp"]);

/**
 * The whole content of an entry.
 * @param {Loose} entry
 * @returns {Part[]}
 */
export function partsOf(entry) {
	const isMessage = entry.type === "message";
	const of = isMessage ? (entry.message ?? {}) : entry;
	if (typeof of !== "object" || Array.isArray(of)) return note(asText(of));
	const facts = isMessage ? own(kinds().roles, of.role) : own(kinds().entries, of.type);
	if (facts) return facts.says.flatMap((one) => ("field" in one ? textParts(one, of) : sentencePart(one, of)));
	if (isMessage) return contentParts(of.content);
	// For an unknown kind: its own fields as JSON.
	return note(asText(Object.fromEntries(Object.entries(entry).filter(([key]) => !BASE.has(key)))));
}

/**
 * @template T
 * @param {Record<string, T>} rows
 * @param {unknown} key
 */
const own = (rows, key) => (typeof key === "string" && Object.hasOwn(rows, key) ? rows[key] : undefined);

/**
 * The beginning of an entry's text.
 * @param {Loose} entry
 */
export function preview(entry) {
	return partsOf(entry)
		.map(({ kind, title, text, failed }) => {
			const beginning = text.slice(0, 2000);
			if (kind === "call") return title === "!" ? `$ ${beginning}` : `→ ${title}(${beginning})`;
			if (kind === "image") return `[${title || "image"}]`;
			if (kind === "output" && title && title !== "!") return `${title}${failed ? " failed" : ""}: ${beginning}`;
			return kind === "thinking" ? `(thinking: ${beginning})` : beginning;
		})
		.filter(Boolean)
		.join(" ");
}
