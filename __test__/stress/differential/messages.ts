// Messages of all roles, valid and invalid.
import type { Random } from "./random.js";
import { anything, largeText, number, plain, text } from "./values.js";

type Fields = Record<string, unknown>;

export interface MessageOptions {
	/** Content that is neither text nor blocks. The reference fails to list such a session. */
	oddContent: boolean;
	/** Also creates values that only exist in memory (undefined, Date, toJSON ...). Without it, only JSON values. */
	inMemory: boolean;
}

const TOOL_NAMES = ["read", "write", "edit", "bash", "7", "__proto__", ""];
const SECTION_NAMES = ["style", "tools", "rules", "3", "1", "__proto__"];

function extra(r: Random, options: MessageOptions): unknown {
	return options.inMemory ? anything(r) : plain(r);
}

export function textBlock(r: Random): Fields {
	const block: Fields = { type: "text", text: r.chance(0.1) ? largeText(r) : text(r) };
	if (r.chance(0.1)) block.textSignature = text(r);
	return block;
}

function block(r: Random): Fields {
	return r.weighted<() => Fields>([
		[6, () => textBlock(r)],
		[1, () => ({ type: "image", data: r.hex(r.chance(0.3) ? 600 : 24), mimeType: "image/png" })],
		[1, () => ({ type: "thinking", thinking: text(r), thinkingSignature: r.hex(8) })],
		[2, () => ({ type: "toolCall", id: `call_${r.hex(4)}`, name: r.pick(TOOL_NAMES), arguments: plain(r) })],
		[1, () => ({ type: "text" })],
		[1, () => ({ text: "no type" })],
	])();
}

/** Text, blocks, or with `oddContent` any value. */
export function content(r: Random, options: MessageOptions): unknown {
	if (options.oddContent && r.chance(0.2))
		return r.pick([null, undefined, 0, 5, true, { text: "object" }, { length: 1 }]);
	if (r.chance(0.05)) return null;
	if (r.chance(0.08)) return largeText(r);
	if (r.chance(0.4)) return text(r);
	return Array.from({ length: r.int(4) }, () => block(r));
}

export function usage(r: Random): Fields {
	return {
		input: r.int(1e6),
		output: r.int(1e4),
		cacheRead: r.chance(0.5) ? 0 : number(r),
		cacheWrite: 0,
		totalTokens: r.int(2e6),
		cost: { input: number(r), output: 0.1, cacheRead: 0, cacheWrite: 0, total: number(r) },
	};
}

function tool(r: Random): Fields {
	const result: Fields = {
		name: r.pick(TOOL_NAMES),
		description: text(r),
		parameters: { type: "object", properties: plain(r) },
	};
	if (r.chance(0.05)) delete result.name;
	return result;
}

function systemMessage(r: Random, options: MessageOptions): Fields {
	// In this role only texts are joined, so other content would only be a caller's error.
	const message: Fields = {
		role: "system",
		content: r.chance(0.6) ? text(r) : Array.from({ length: r.int(3) }, () => textBlock(r)),
	};
	if (r.chance(0.05)) message.content = null;
	if (r.chance(0.5)) {
		message.sections = r.chance(0.1)
			? r.pick([null, {}])
			: Object.fromEntries(
					Array.from({ length: r.between(1, 3) }, () => [
						r.pick(SECTION_NAMES),
						r.weighted<unknown>([
							[5, text(r)],
							[3, null],
							[1, ""],
							[options.oddContent ? 1 : 0, plain(r)],
						]),
					]),
				);
	}
	if (r.chance(0.4)) message.toolsAdded = r.chance(0.05) ? null : Array.from({ length: r.int(3) }, () => tool(r));
	if (r.chance(0.3))
		message.toolsRemoved = r.chance(0.05)
			? null
			: Array.from({ length: r.int(3) }, () => ({ name: r.pick(TOOL_NAMES) }));
	return message;
}

const ROLES: Record<string, (r: Random, options: MessageOptions) => Fields> = {
	user: (r, o) => ({ role: "user", content: content(r, o) }),
	assistant: (r, o) => ({
		role: "assistant",
		content: content(r, o),
		api: "faux",
		provider: r.pick(["anthropic", "openai", "faux"]),
		model: r.pick(["m-1", "m-2", text(r)]),
		usage: usage(r),
		stopReason: r.pick(["stop", "toolUse", "error", "aborted"]),
	}),
	toolResult: (r, o) => ({
		role: "toolResult",
		toolCallId: `call_${r.hex(4)}`,
		toolName: r.pick(TOOL_NAMES),
		content: content(r, o),
		details: extra(r, o),
		isError: r.chance(0.2),
	}),
	system: systemMessage,
	bashExecution: (r, o) => ({
		role: "bashExecution",
		command: text(r),
		output: text(r),
		exitCode: r.pick([0, 1, undefined]),
		cancelled: false,
		truncated: r.chance(0.5),
		extra: extra(r, o),
	}),
	custom: (r, o) => ({
		role: "custom",
		customType: text(r),
		content: content(r, o),
		display: r.chance(0.5),
		details: extra(r, o),
	}),
	branchSummary: (r) => ({ role: "branchSummary", summary: text(r), fromId: "root" }),
	compactionSummary: (r) => ({ role: "compactionSummary", summary: text(r), tokensBefore: r.int(1e5) }),
	hookMessage: (r, o) => ({ role: "hookMessage", customType: text(r), content: content(r, o), display: true }),
	invented: (r, o) => ({ role: "invented", content: content(r, o), payload: extra(r, o) }),
};

/** Roles by their frequency, with the conversation most often. */
const ROLE_WEIGHTS: readonly (readonly [number, string])[] = [
	[8, "user"],
	[8, "assistant"],
	[4, "toolResult"],
	[4, "system"],
	[1, "bashExecution"],
	[2, "custom"],
	[1, "branchSummary"],
	[1, "compactionSummary"],
	[2, "hookMessage"],
	[1, "invented"],
];

export function message(r: Random, options: MessageOptions, role?: string): Fields {
	const result = (ROLES[role ?? r.weighted(ROLE_WEIGHTS)] as (r: Random, o: MessageOptions) => Fields)(r, options);
	r.weighted<() => void>([
		[
			12,
			() => {
				result.timestamp = 1700000000000 + r.int(1e9);
			},
		],
		[1, () => {}],
		[
			1,
			() => {
				result.timestamp = r.pick([0, -5, 1.5, null, "2024-05-05T05:05:05.000Z", 253402300800000]);
			},
		],
	])();
	if (r.chance(0.08)) delete result.content;
	if (r.chance(0.15)) result[r.pick(["note", "0", "meta", "__proto_"])] = extra(r, options);
	if (options.oddContent && r.chance(0.04)) result.role = r.pick([undefined, null, 5, "", "User"]);
	if (options.inMemory && r.chance(0.1)) return Object.freeze(result);
	return result;
}
