// Splits the content of an entry into parts, which each view shows in its own way. Any program may have written the
// file, so a field may be missing or have another type than declared, and each field is converted by `asText`.
import { asText } from "./text.mjs";

/**
 * @typedef {object} Part
 * @property {"text" | "thinking" | "call" | "output" | "image" | "note"} kind
 * @property {string} text
 * @property {string} [title] the name of the tool or section, or the type of the image
 * @property {boolean} [failed] whether the tool or the command failed
 */

/** @typedef {Record<string, any>} Loose an entry or a message whose fields may have any type */

/**
 * The role of a message, or the type of another entry.
 * @param {Loose} entry
 * @returns {string}
 */
export function roleOf(entry) {
	if (entry.type !== "message") return asText(entry.type);
	return typeof entry.message?.role === "string" ? entry.message.role : "message";
}

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

/** @type {Record<string, (message: Loose) => Part[]>} */
const messageParts = {
	assistant: (message) => [
		...contentParts(message.content),
		...(message.errorMessage
			? [{ kind: /** @type {const} */ ("note"), text: asText(message.errorMessage), failed: true }]
			: []),
		...(message.stopReason === "aborted" || message.stopReason === "length"
			? [{ kind: /** @type {const} */ ("note"), text: `(ended: ${message.stopReason})` }]
			: []),
	],
	toolResult: (message) => [
		...nestedCalls(message.nestedCalls),
		...contentParts(message.content).map((part) =>
			part.kind === "text"
				? {
						...part,
						kind: /** @type {const} */ ("output"),
						title: asText(message.toolName),
						failed: Boolean(message.isError),
					}
				: part,
		),
	],
	bashExecution: (message) => [
		{ kind: "call", title: "!", text: asText(message.command) },
		{
			kind: "output",
			title: "!",
			text: asText(message.output),
			failed: typeof message.exitCode === "number" && message.exitCode !== 0,
		},
	],
	system: (message) => [
		...contentParts(message.content),
		...Object.entries(message.sections ?? {}).map(([name, text]) => ({
			kind: /** @type {const} */ ("output"),
			title: name,
			text: text === null ? "(removed)" : asText(text),
		})),
		...toolNames("tools added", message.toolsAdded),
		...toolNames("tools removed", message.toolsRemoved),
	],
	branchSummary: (message) => contentParts(message.summary),
	compactionSummary: (message) => contentParts(message.summary),
};

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
		return call?.error ? [...parts, { kind: "output", title, text: asText(call.error), failed }] : parts;
	});
}

/**
 * @param {string} what
 * @param {unknown} tools
 * @returns {Part[]}
 */
function toolNames(what, tools) {
	if (!Array.isArray(tools) || tools.length === 0) return [];
	return [{ kind: "note", text: `${what}: ${tools.map((tool) => asText(tool?.name)).join(", ")}` }];
}

/** @param {string} text @returns {Part[]} */
const note = (text) => [{ kind: "note", text }];

/** @type {Record<string, (entry: Loose) => Part[]>} */
const entryParts = {
	thinking_level_change: (entry) => note(`thinking level ${asText(entry.thinkingLevel)}`),
	model_change: (entry) => note(`model ${asText(entry.provider)}/${asText(entry.modelId)}`),
	usage: (entry) =>
		note(
			`${asText(entry.kind)}: ` +
				`${asText(entry.provider)}/${asText(entry.model)}${entry.note ? `, ${asText(entry.note)}` : ""}`,
		),
	compaction: (entry) => [...note(`summary of ${asText(entry.tokensBefore)} tokens`), ...contentParts(entry.summary)],
	branch_summary: (entry) => [
		...note(`of the branch that ended at ${asText(entry.fromId)}`),
		...contentParts(entry.summary),
	],
	context_edit: (entry) =>
		entry.replacement
			? [...note(`replaces ${asText(entry.targetId)} in the context`), ...contentParts(entry.replacement.content)]
			: note(`removes ${asText(entry.targetId)} from the context`),
	custom: (entry) => note(`${asText(entry.customType)} ${asText(entry.data)}`.trim()),
	custom_message: (entry) => [...note(asText(entry.customType)), ...contentParts(entry.content)],
	label: (entry) =>
		note(
			entry.label
				? `labels ${asText(entry.targetId)}: ${asText(entry.label)}`
				: `removes the label of ${asText(entry.targetId)}`,
		),
	session_info: (entry) => note(entry.name ? `names the session: ${asText(entry.name)}` : "removes the session's name"),
};

/** The fields of every entry. */
const BASE = new Set(["type", "id", "parentId", "timestamp"]);

/**
 * The whole content of an entry.
 * @param {Loose} entry
 * @returns {Part[]}
 */
export function partsOf(entry) {
	if (entry.type === "message") {
		const message = entry.message ?? {};
		if (typeof message !== "object" || Array.isArray(message)) return note(asText(message));
		return own(messageParts, message.role)?.(message) ?? contentParts(message.content);
	}
	const known = own(entryParts, entry.type);
	if (known) return known(entry);
	// For an unknown kind: its own fields as JSON.
	return note(asText(Object.fromEntries(Object.entries(entry).filter(([key]) => !BASE.has(key)))));
}

/**
 * @template T
 * @param {Record<string, T>} table
 * @param {unknown} key
 */
const own = (table, key) => (typeof key === "string" && Object.hasOwn(table, key) ? table[key] : undefined);

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
