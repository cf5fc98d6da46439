// Draws the nodes of `getTree()`. A chain stays in its column, and only a fork indents, so that a long conversation
// does not wander off to the right; for the same reason nothing here recurses into children.
import { bold, clip, columns, cyan, dim, green, oneLine, yellow } from "./paint.mjs";

const textOf = (content) => {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content.map(partText).filter(Boolean).join(" ");
};

function partText(part) {
	if (part?.type === "text") return part.text ?? "";
	if (part?.type === "thinking") return `(thinking: ${part.thinking ?? ""})`;
	if (part?.type === "toolCall") return `→ ${part.name}(${JSON.stringify(part.arguments) ?? ""})`;
	return part?.type ? `[${part.type}]` : "";
}

const messageText = {
	bashExecution: (message) => `$ ${message.command} ⏎ ${message.output ?? ""}`,
	toolResult: (message) => `${message.toolName ?? ""}${message.isError ? " failed" : ""}: ${textOf(message.content)}`,
	system: (message) => textOf(message.content) || `sections: ${Object.keys(message.sections ?? {}).join(", ")}`,
};

const entryText = {
	thinking_level_change: (entry) => entry.thinkingLevel,
	model_change: (entry) => `${entry.provider}/${entry.modelId}`,
	usage: (entry) => `${entry.kind} ${entry.provider}/${entry.model}`,
	compaction: (entry) => `${entry.tokensBefore} tokens: ${entry.summary}`,
	branch_summary: (entry) => entry.summary,
	context_edit: (entry) => (entry.replacement ? `replaces ${entry.targetId}` : `leaves out ${entry.targetId}`),
	custom: (entry) => `${entry.customType} ${JSON.stringify(entry.data) ?? ""}`,
	custom_message: (entry) => `${entry.customType}: ${textOf(entry.content)}`,
	label: (entry) => `${entry.label ?? "(cleared)"} on ${entry.targetId}`,
	session_info: (entry) => entry.name,
};

/** What an entry is called in the drawing, and its text. */
export function describe(entry) {
	if (entry.type !== "message") return { role: entry.type, text: String(entryText[entry.type]?.(entry) ?? "") };
	const message = entry.message ?? {};
	const text = messageText[message.role]?.(message) ?? textOf(message.content ?? message.summary);
	return { role: message.role ?? "message", text: text || (message.errorMessage ? `(${message.errorMessage})` : "") };
}

function* rows(roots) {
	const waiting = [];
	const fork = (nodes, indent) => {
		for (const [index, node] of [...nodes.entries()].reverse()) {
			const last = index === nodes.length - 1;
			waiting.push({ node, first: `${indent}${last ? "└─" : "├─"}`, rest: `${indent}${last ? "  " : "│ "}` });
		}
	};
	if (roots.length === 1) waiting.push({ node: roots[0], first: "", rest: "" });
	else fork(roots, "");
	while (waiting.length > 0) {
		const { node: start, first, rest } = waiting.pop();
		let node = start;
		let indent = first;
		for (;;) {
			yield { node, indent };
			indent = rest;
			if (node.children.length !== 1) break;
			node = node.children[0];
		}
		fork(node.children, rest);
	}
}

const paintRole = { user: green, assistant: cyan, toolResult: yellow };

/** The tree line by line: `●` on the active branch, `○` off it, the leaf marked. */
export function* drawTree(roots, { leafId, activeIds }) {
	for (const { node, indent } of rows(roots)) {
		const { role, text } = describe(node.entry);
		const active = activeIds.has(node.entry.id);
		const label = node.label ? ` [${clip(oneLine(node.label), 40)}]` : "";
		const marks = `${label}${node.entry.id === leafId ? " ◀ leaf" : ""}`;
		const room = columns() - indent.length - role.length - marks.length - 4;
		const body = clip(oneLine(text), Math.max(20, room));
		const name = (paintRole[role] ?? dim)(role);
		yield `${dim(indent)}${active ? "●" : "○"} ${name} ${active ? body : dim(body)}${bold(marks)}`;
	}
}
