// Generates the entries of an invented conversation, with pi's fields in pi's order. Sizes follow the mix in
// generate.mjs.
import { fillers } from "./filler.mjs";
import { seeded } from "./random.mjs";

const API = "anthropic-messages";
const PROVIDER = "anthropic";
const MODEL = "claude-sonnet-4-5";
const TOOLS = ["bash", "read", "edit", "write", "grep"];

// The bytes of a line without its filler.
const BARE = { user: 190, assistant: 700, toolResult: 330 };
const BIG_FROM = 4096;
const BIG_MAX = 400_000;

/**
 * Sizes of lines by role. `small` and `big` are mean numbers of bytes; in the mix one line in five is big. The turns
 * below determine the number of lines of each role (1 : 8 : 7), so these means determine the shares of the bytes.
 */
const SIZES = {
	mixed: {
		meanLine: 6_144,
		bigShare: 0.2,
		user: { small: 750, big: 11_800 },
		assistant: { small: 1_500, big: 23_600 },
		toolResult: { small: 1_730, big: 28_200 },
	},
	small: {
		meanLine: 600,
		bigShare: 0,
		user: { small: 260, big: 0 },
		assistant: { small: 850, big: 0 },
		toolResult: { small: 450, big: 0 },
	},
};

const STEPS_PER_TURN = 7;
const IMAGE_BYTES = 390_000;

const cost = (tokens, price) => Number(((tokens * price) / 1_000_000).toFixed(6));

/** An endless invented conversation. */
export function transcript(shape) {
	return new Conversation(shape).entries();
}

class Conversation {
	#random;
	#fill;
	#mix;
	#isSmall;
	#compactEvery;
	/** The share of tool results that are images. */
	#imageShare;
	#ids = new Set();
	#clock;
	#leaf = null;
	#sinceCompaction = 0;
	#contextTokens = 12_000;
	/** The beginnings of the last turns: the user's entry and the leaf before it. */
	#turns = [];
	#systemMessage;

	constructor({ seed, sizes, compactEvery, imageShare, wideShare, start }) {
		this.#random = seeded(seed);
		this.#fill = fillers(seed + 1, wideShare);
		this.#mix = SIZES[sizes];
		this.#isSmall = sizes === "small";
		this.#compactEvery = compactEvery;
		this.#clock = start;
		// Images are tool results (7 of 16 lines), as many as their share of the bytes needs.
		const imageLines =
			(imageShare * this.#mix.meanLine) / (IMAGE_BYTES * (1 - imageShare) + imageShare * this.#mix.meanLine);
		this.#imageShare = Math.min(1, (imageLines * 16) / 7);
		this.#systemMessage = systemMessage(this.#fill.text(this.#isSmall ? 0 : 2_000), start);
	}

	*entries() {
		yield this.#entry("model_change", { provider: PROVIDER, modelId: MODEL });
		yield this.#entry("thinking_level_change", { thinkingLevel: "medium" });
		yield this.#message(() => this.#systemMessage);
		for (;;) {
			yield* this.#aside();
			yield* this.#goBack();
			yield* this.#turn();
			if (
				this.#compactEvery > 0 &&
				this.#sinceCompaction >= this.#compactEvery - STEPS_PER_TURN &&
				this.#turns.length > 0
			)
				yield this.#compaction();
		}
	}

	/** Entries between turns: settings, names, labels, data of extensions. */
	*#aside() {
		const [random, fill] = [this.#random, this.#fill];
		if (random.chance(0.05)) yield this.#entry("model_change", { provider: PROVIDER, modelId: MODEL });
		if (random.chance(0.05))
			yield this.#entry("thinking_level_change", { thinkingLevel: random.pick(["low", "medium", "high"]) });
		if (random.chance(0.02))
			yield this.#entry("usage", { kind: "cache_warm", provider: PROVIDER, model: MODEL, usage: this.#usage() });
		if (random.chance(0.02)) yield this.#entry("session_info", { name: `Work on ${random.hex(6)}` });
		if (random.chance(0.03) && this.#turns.length > 0)
			yield this.#entry("label", { targetId: this.#turns.at(-1).id, label: `mark ${random.hex(4)}` });
		if (random.chance(0.1)) {
			const list = fill.text(this.#isSmall ? 40 : 1_500);
			yield { type: "custom", customType: "todo", data: { list }, ...this.#place() };
		}
		if (random.chance(0.02)) {
			const content = fill.text(120);
			yield {
				type: "custom_message",
				customType: "notice",
				content,
				display: true,
				details: undefined,
				...this.#place(),
			};
		}
	}

	/** Sometimes the user goes back a few turns and asks again; the old entries become a side branch. */
	*#goBack() {
		if (!this.#random.chance(0.03) || this.#turns.length <= 3) return;
		const fromId = this.#leaf;
		this.#leaf = this.#turns.at(-3).before;
		this.#turns = this.#turns.slice(0, -3);
		if (this.#random.chance(0.5))
			yield this.#entry("branch_summary", { fromId, summary: this.#fill.text(900), fromHook: false });
	}

	/** A question of the user, and the work of the agent. */
	*#turn() {
		const before = this.#leaf;
		const content = [{ type: "text", text: this.#fill.text(this.#room("user")) }];
		yield this.#message((timestamp) => ({ role: "user", content, timestamp }));
		this.#turns.push({ id: this.#leaf, before });
		for (let step = 0; step < STEPS_PER_TURN; step++) {
			const tool = this.#random.pick(TOOLS);
			const { entry, callId } = this.#assistant(tool);
			yield entry;
			yield this.#toolResult(tool, callId);
		}
		yield this.#assistant(undefined).entry;
	}

	#assistant(tool) {
		const [random, fill] = [this.#random, this.#fill];
		const bytes = this.#room("assistant");
		const content = [];
		const thinks = random.chance(0.7);
		if (thinks)
			content.push({
				type: "thinking",
				thinking: fill.text(bytes * 0.25),
				thinkingSignature: fill.base64(bytes * 0.1),
			});
		const rest = thinks ? bytes * 0.65 : bytes;
		// Arguments of `read` and `grep` are short, so large calls use long words.
		const inArguments = tool && tool !== "read" && tool !== "grep" ? rest * 0.7 : 0;
		if (rest > inArguments) content.push({ type: "text", text: fill.text(rest - inArguments) });
		const callId = `toolu_01${random.hex(22)}`;
		if (tool)
			content.push({ type: "toolCall", id: callId, name: tool, arguments: this.#toolArguments(tool, inArguments) });
		const entry = this.#message((timestamp) => ({
			role: "assistant",
			content,
			api: API,
			provider: PROVIDER,
			model: MODEL,
			usage: this.#usage(),
			stopReason: tool ? "toolUse" : "stop",
			timestamp,
			responseId: `msg_01${random.hex(22)}`,
		}));
		return { entry, callId };
	}

	#toolArguments(tool, bytes) {
		const [random, fill] = [this.#random, this.#fill];
		const path = `src/${random.hex(4)}/${random.hex(6)}.ts`;
		if (tool === "bash") return { command: fill.text(bytes) };
		if (tool === "write") return { path, content: fill.text(bytes) };
		if (tool === "edit") return { path, oldText: fill.text(bytes / 2), newText: fill.text(bytes / 2) };
		return { path, limit: random.between(20, 2_000) };
	}

	#toolResult(tool, toolCallId) {
		const [random, fill] = [this.#random, this.#fill];
		const image = random.chance(this.#imageShare);
		const bytes = this.#room("toolResult");
		const content = image
			? [
					{ type: "text", text: "Read image file [image/png]" },
					{ type: "image", data: fill.base64(IMAGE_BYTES * (0.5 + random.unit())), mimeType: "image/png" },
				]
			: [{ type: "text", text: fill.text(tool === "edit" ? bytes * 0.1 : bytes) }];
		const details =
			tool === "edit" && !image
				? { diff: fill.text(bytes * 0.9), firstChangedLine: random.between(1, 900) }
				: undefined;
		return this.#message((timestamp) => ({
			role: "toolResult",
			toolCallId,
			toolName: tool,
			content,
			details,
			isError: random.chance(0.04),
			timestamp,
		}));
	}

	#compaction() {
		const kept = this.#turns.at(-2) ?? this.#turns.at(-1);
		const tokensBefore = this.#contextTokens;
		this.#contextTokens = 30_000;
		const compacted = this.#entry("compaction", {
			summary: this.#fill.text(5_000),
			firstKeptEntryId: kept.id,
			tokensBefore,
			details: { readFiles: [`src/${this.#random.hex(6)}.ts`], modifiedFiles: [] },
			usage: this.#usage(),
			fromHook: false,
		});
		compacted.systemMessage = { ...this.#systemMessage, timestamp: this.#clock };
		this.#sinceCompaction = 0;
		this.#turns = [];
		return compacted;
	}

	#entry(type, fields) {
		return { type, ...this.#place(), ...fields };
	}

	#message(fields) {
		return { type: "message", ...this.#place(), message: fields(this.#clock - 5) };
	}

	#place() {
		this.#clock += this.#random.between(400, 9_000);
		this.#sinceCompaction++;
		const parentId = this.#leaf;
		this.#leaf = this.#id();
		return { id: this.#leaf, parentId, timestamp: new Date(this.#clock).toISOString() };
	}

	#id() {
		for (;;) {
			const candidate = this.#random.hex(8);
			if (this.#ids.has(candidate)) continue;
			this.#ids.add(candidate);
			return candidate;
		}
	}

	/** The bytes of filler for the next line of a role. */
	#room(role) {
		const { small, big } = this.#mix[role];
		if (this.#random.chance(this.#mix.bigShare))
			return BIG_FROM - BARE[role] + 200 + this.#random.exponential(big - BIG_FROM - 200, BIG_MAX);
		return this.#random.exponential(small - BARE[role], BIG_FROM - BARE[role] - 200);
	}

	#usage() {
		const input = this.#random.between(2, 40);
		const output = this.#random.between(40, 1_800);
		const cacheRead = this.#contextTokens;
		const cacheWrite = this.#random.between(100, 4_000);
		this.#contextTokens += cacheWrite;
		const price = {
			input: cost(input, 3),
			output: cost(output, 15),
			cacheRead: cost(cacheRead, 0.3),
			cacheWrite: cost(cacheWrite, 3.75),
		};
		const total = Number((price.input + price.output + price.cacheRead + price.cacheWrite).toFixed(6));
		return {
			input,
			output,
			cacheRead,
			cacheWrite,
			totalTokens: input + output + cacheRead + cacheWrite,
			cost: { ...price, total },
		};
	}
}

const systemMessage = (project, timestamp) => ({
	role: "system",
	content: "You are a coding agent. You read, run, edit and write.",
	sections: { project, date: "Today is a day like any other." },
	toolsAdded: TOOLS.map((name) => ({
		name,
		description: `The ${name} tool.`,
		parameters: { type: "object", properties: { path: { type: "string" } }, required: [] },
	})),
	timestamp,
});
