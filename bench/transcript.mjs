// Entries of a made-up conversation, one after another, in the shapes and with the keys in the order in which pi
// writes them. Sizes follow the mix that generate.mjs states.
import { fillers } from "./filler.mjs";
import { seeded } from "./random.mjs";

const API = "anthropic-messages";
const PROVIDER = "anthropic";
const MODEL = "claude-sonnet-4-5";
const TOOLS = ["bash", "read", "edit", "write", "grep"];

// Bytes that a line takes without its filler.
const BARE = { user: 190, assistant: 700, toolResult: 330 };
const BIG_FROM = 4096;
const BIG_MAX = 400_000;

/**
 * How large lines are, by role. `small` and `big` are the mean bytes of a line of each sort; in the mix one line in
 * five is big, and since the roles' shares of the lines are given by the turns below (1 : 8 : 7), these means give the
 * roles' shares of the bytes.
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

export function* transcript({ seed, sizes, compactEvery, imageShare, wideShare, start }) {
	const random = seeded(seed);
	const fill = fillers(seed + 1, wideShare);
	const mix = SIZES[sizes];
	const ids = new Set();
	let clock = start;
	let leaf = null;
	let sinceCompaction = 0;
	let contextTokens = 12_000;
	/** Where the last turns began: the user's entry and the leaf before it. */
	let turns = [];

	function id() {
		for (;;) {
			const candidate = random.hex(8);
			if (!ids.has(candidate)) {
				ids.add(candidate);
				return candidate;
			}
		}
	}

	function place() {
		clock += random.between(400, 9_000);
		sinceCompaction++;
		const parentId = leaf;
		leaf = id();
		return { id: leaf, parentId, timestamp: new Date(clock).toISOString() };
	}

	const entry = (type, fields) => ({ type, ...place(), ...fields });
	const message = (fields) => ({ type: "message", ...place(), message: fields(clock - 5) });

	/** Bytes of filler for the next line of a role. */
	function room(role) {
		const { small, big } = mix[role];
		if (random.chance(mix.bigShare)) {
			return BIG_FROM - BARE[role] + 200 + random.exponential(big - BIG_FROM - 200, BIG_MAX);
		}
		return random.exponential(small - BARE[role], BIG_FROM - BARE[role] - 200);
	}

	function usage() {
		const input = random.between(2, 40);
		const output = random.between(40, 1_800);
		const cacheRead = contextTokens;
		const cacheWrite = random.between(100, 4_000);
		contextTokens += cacheWrite;
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

	function toolArguments(tool, bytes) {
		const path = `src/${random.hex(4)}/${random.hex(6)}.ts`;
		if (tool === "bash") return { command: fill.text(bytes) };
		if (tool === "write") return { path, content: fill.text(bytes) };
		if (tool === "edit") return { path, oldText: fill.text(bytes / 2), newText: fill.text(bytes / 2) };
		return { path, limit: random.between(20, 2_000) };
	}

	function assistant(tool) {
		const bytes = room("assistant");
		const content = [];
		const thinks = random.chance(0.7);
		if (thinks) {
			content.push({
				type: "thinking",
				thinking: fill.text(bytes * 0.25),
				thinkingSignature: fill.base64(bytes * 0.1),
			});
		}
		const rest = thinks ? bytes * 0.65 : bytes;
		// What `read` and `grep` are asked is short: then the words are long.
		const inArguments = tool && tool !== "read" && tool !== "grep" ? rest * 0.7 : 0;
		if (rest > inArguments) content.push({ type: "text", text: fill.text(rest - inArguments) });
		const callId = `toolu_01${random.hex(22)}`;
		if (tool) content.push({ type: "toolCall", id: callId, name: tool, arguments: toolArguments(tool, inArguments) });
		const entry = message((timestamp) => ({
			role: "assistant",
			content,
			api: API,
			provider: PROVIDER,
			model: MODEL,
			usage: usage(),
			stopReason: tool ? "toolUse" : "stop",
			timestamp,
			responseId: `msg_01${random.hex(22)}`,
		}));
		return { entry, callId };
	}

	// Images come as tool results, 7 lines of 16, often enough to make up their share of the bytes.
	const imageLines = (imageShare * mix.meanLine) / (IMAGE_BYTES * (1 - imageShare) + imageShare * mix.meanLine);
	const imageAmongResults = Math.min(1, (imageLines * 16) / 7);

	function toolResult(tool, toolCallId) {
		const image = random.chance(imageAmongResults);
		const bytes = room("toolResult");
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
		return message((timestamp) => ({
			role: "toolResult",
			toolCallId,
			toolName: tool,
			content,
			details,
			isError: random.chance(0.04),
			timestamp,
		}));
	}

	const systemMessage = (timestamp) => ({
		role: "system",
		content: "You are a coding agent. You read, run, edit and write.",
		sections: { project: fill.text(sizes === "small" ? 0 : 2_000), date: "Today is a day like any other." },
		toolsAdded: TOOLS.map((name) => ({
			name,
			description: `The ${name} tool.`,
			parameters: { type: "object", properties: { path: { type: "string" } }, required: [] },
		})),
		timestamp,
	});
	const firstSystemMessage = systemMessage(start);

	function compaction() {
		const kept = turns.at(-2) ?? turns.at(-1);
		const tokensBefore = contextTokens;
		contextTokens = 30_000;
		const compacted = entry("compaction", {
			summary: fill.text(5_000),
			firstKeptEntryId: kept.id,
			tokensBefore,
			details: { readFiles: [`src/${random.hex(6)}.ts`], modifiedFiles: [] },
			usage: usage(),
			fromHook: false,
		});
		compacted.systemMessage = { ...firstSystemMessage, timestamp: clock };
		sinceCompaction = 0;
		turns = [];
		return compacted;
	}

	/** What is between turns: settings, names, marks, data of extensions. */
	function* aside() {
		if (random.chance(0.05)) yield entry("model_change", { provider: PROVIDER, modelId: MODEL });
		if (random.chance(0.05)) {
			yield entry("thinking_level_change", { thinkingLevel: random.pick(["low", "medium", "high"]) });
		}
		if (random.chance(0.02)) {
			yield entry("usage", { kind: "cache_warm", provider: PROVIDER, model: MODEL, usage: usage() });
		}
		if (random.chance(0.02)) yield entry("session_info", { name: `Work on ${random.hex(6)}` });
		if (random.chance(0.03) && turns.length > 0) {
			yield entry("label", { targetId: turns.at(-1).id, label: `mark ${random.hex(4)}` });
		}
		if (random.chance(0.1)) {
			const list = fill.text(sizes === "small" ? 40 : 1_500);
			yield { type: "custom", customType: "todo", data: { list }, ...place() };
		}
		if (random.chance(0.02)) {
			yield {
				type: "custom_message",
				customType: "notice",
				content: fill.text(120),
				display: true,
				details: undefined,
				...place(),
			};
		}
	}

	yield entry("model_change", { provider: PROVIDER, modelId: MODEL });
	yield entry("thinking_level_change", { thinkingLevel: "medium" });
	yield message(() => firstSystemMessage);

	for (;;) {
		yield* aside();
		// Now and then the user goes back a few turns and says it differently: the old way stays as a side branch.
		if (random.chance(0.03) && turns.length > 3) {
			const fromId = leaf;
			leaf = turns.at(-3).before;
			turns = turns.slice(0, -3);
			if (random.chance(0.5)) yield entry("branch_summary", { fromId, summary: fill.text(900), fromHook: false });
		}
		const before = leaf;
		const asked = [{ type: "text", text: fill.text(room("user")) }];
		yield message((timestamp) => ({ role: "user", content: asked, timestamp }));
		turns.push({ id: leaf, before });
		for (let step = 0; step < STEPS_PER_TURN; step++) {
			const tool = random.pick(TOOLS);
			const call = assistant(tool);
			yield call.entry;
			yield toolResult(tool, call.callId);
		}
		yield assistant(undefined).entry;
		if (compactEvery > 0 && sinceCompaction >= compactEvery - STEPS_PER_TURN && turns.length > 0) yield compaction();
	}
}
