import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { put, run, type World, world } from "../../support/cli.js";
import { api, assistant, type Json, message, snapshot, user } from "../../support/scratch.js";

const COMMANDS = ["show", "show --json", "tree --limit all", "stats", "export --full"];

/** JSON values of other types than expected. */
const VALUES: unknown[] = [
	null,
	true,
	0,
	-0.5,
	1e308,
	8.64e15 + 1,
	"",
	" ",
	"text",
	"\u001b[2J\u0007\u200b",
	"x".repeat(3000),
	[],
	[[]],
	[null],
	[1, "two"],
	{},
	{ a: 1 },
	{ toString: 1, valueOf: 2, toJSON: 3 },
	{ length: 1e9 },
	{ type: "text", text: { b: 2 } },
	"2025-01-01T00:00:00.000Z",
	"__proto__",
];

const usage = {
	input: 1,
	output: 1,
	cacheRead: 1,
	cacheWrite: 1,
	totalTokens: 4,
	cost: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, total: 4 },
};
const blocks = [
	{ type: "text", text: "said" },
	{ type: "thinking", thinking: "thought", redacted: false },
	{ type: "toolCall", id: "c", name: "bash", arguments: { command: "ls" } },
	{ type: "image", mimeType: "image/png", data: "AAAA" },
];
/** An entry of every kind, and a message of every role, with every field that a view reads. */
const KINDS: Json[] = [
	...["user", "assistant", "toolResult", "system", "bashExecution", "branchSummary", "compactionSummary", "custom"].map(
		(role) => ({
			type: "message",
			message: {
				role,
				content: blocks,
				timestamp: 1,
				provider: "p",
				model: "m",
				usage,
				stopReason: "length",
				errorMessage: "e",
				toolName: "t",
				isError: true,
				command: "c",
				output: "o",
				exitCode: 1,
				summary: "s",
				sections: { a: "b" },
				toolsAdded: [{ name: "n" }],
				toolsRemoved: [{ name: "n" }],
			},
		}),
	),
	{ type: "thinking_level_change", thinkingLevel: "high" },
	{ type: "model_change", provider: "p", modelId: "m" },
	{ type: "usage", kind: "k", provider: "p", model: "m", usage, note: "n" },
	{
		type: "compaction",
		summary: "s",
		firstKeptEntryId: "x",
		tokensBefore: 1,
		usage,
		details: {},
		fromHook: true,
		systemMessage: {},
	},
	{ type: "branch_summary", fromId: "x", summary: "s", usage },
	{ type: "context_edit", targetId: "x", replacement: { content: blocks } },
	{ type: "label", targetId: "o0", label: "l" },
	{ type: "session_info", name: "n" },
	{ type: "custom", customType: "c", data: { d: 1 } },
	{ type: "custom_message", customType: "c", content: blocks, display: true },
	{ type: "invented_later", field: 1 },
];

/** The places of values in a value, as lists of keys. */
function placesIn(value: unknown, path: (string | number)[] = []): (string | number)[][] {
	if (value === null || typeof value !== "object") return [path];
	const below = Object.entries(value).flatMap(([key, one]) =>
		placesIn(one, [...path, Array.isArray(value) ? Number(key) : key]),
	);
	return path.length === 0 ? below : [path, ...below];
}

/** A copy with another value at one place. */
function withValue(whole: Json, path: readonly (string | number)[], value: unknown): Json {
	const copy = structuredClone(whole);
	let at: any = copy;
	for (const key of path.slice(0, -1)) at = at?.[key];
	// The place may not exist any more, because a value above it was replaced.
	if (at !== null && typeof at === "object") at[path.at(-1) as string] = value;
	return copy;
}

/** Entries in one path, and labels on some of them. */
function chained(bodies: readonly Json[]): Json[] {
	return bodies.map((body, index) => ({
		id: `o${index}`,
		parentId: index === 0 ? null : `o${index - 1}`,
		timestamp: "2025-01-01T00:00:00.000Z",
		...body,
		...(body.type === "label" && body.targetId === "o0" ? { targetId: `o${Math.max(0, index - 1)}` } : {}),
	}));
}

async function allShow(at: World, path: string, what: string): Promise<void> {
	for (const command of COMMANDS) {
		const [first = "", ...rest] = command.split(" ");
		const { code, out, err } = await run(at, [first, path, ...rest]);
		expect({ what, command, code, err }).toEqual({ what, command, code: 0, err: "" });
		expect(out).not.toContain("[object Object]");
		if (command.includes("json")) continue;
		expect(out.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b]/)).toBeNull();
	}
}

describe("views of odd files show", () => {
	test("each field of each kind with each value in turn", async () => {
		const at = world();
		const odd = KINDS.flatMap((kind) =>
			placesIn(kind)
				.filter((place) => place.join() !== "type")
				.flatMap((place) => VALUES.map((value) => withValue(kind, place, value))),
		);
		const base = ["timestamp", "parentId", "type"].flatMap((field) =>
			VALUES.map((value) => ({ ...KINDS[1], [field]: value })),
		);
		expect(odd.length).toBeGreaterThan(3000);
		await allShow(at, put(at, "s-odd", chained(odd)), "fields");
		await allShow(at, put(at, "s-base", chained(base)), "fields that all entries have");
	});

	test("many at once, in the header too", async () => {
		const seed = Number(process.env.PSN_SEED ?? 1);
		const random = new Random(seed);
		for (let round = 0; round < 2; round++) {
			const at = world();
			const bodies = Array.from({ length: 60 }, () => {
				const kind = random.pick(KINDS);
				const places = placesIn(kind);
				return Array.from({ length: 1 + random.int(4) }).reduce(
					(one: Json) => withValue(one, random.pick(places), random.pick(VALUES)),
					kind,
				);
			});
			const fields = Object.fromEntries(
				["cwd", "timestamp", "parentSession", "version", "provider"]
					.filter(() => random.int(3) > 0)
					.map((field) => [field, random.pick(VALUES)]),
			);
			const header = "version" in fields && random.int(2) > 0 ? { ...fields, version: 3 } : fields;
			const path = put(at, "s-odd", chained([...bodies, { type: "session_info", name: random.pick(VALUES) }]), {
				header,
			});
			const before = snapshot(dirname(path));
			await allShow(at, path, `seed ${seed}, round ${round}: ${JSON.stringify(header)}`);
			expect((await run(at, ["list", "--all"])).code).toBe(0);
			expect(snapshot(dirname(path))).toEqual(before);
		}
	});

	test("JSON that is nested too deeply to be written again", async () => {
		const at = world();
		const deep = `{"type":"custom","id":"d","parentId":"a","timestamp":"2025-01-01T00:00:00.000Z","customType":"c","data":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
		const path = put(at, "s-deep", [message("a", null, user("above")), deep]);
		for (const command of ["show", "tree", "stats", "export"])
			expect(await run(at, [command, path])).toMatchObject({
				code: 0,
				err: "",
				out: expect.stringMatching(/above|2 entries/),
			});
		expect(await run(at, ["show", path, "--json"])).toMatchObject({
			code: 1,
			err: expect.stringContaining("The session contains a value that is nested too deeply to be written as JSON"),
		});
	});
});

describe("a file of version 1", () => {
	const said = (role: string, text: string): Json => ({
		type: "message",
		timestamp: "2024-01-01T00:00:00.000Z",
		message: role === "user" ? user(text) : assistant(text),
	});
	const old: Json[] = [
		said("user", "one"),
		said("assistant", "two"),
		{
			type: "compaction",
			timestamp: "2024-01-01T00:00:00.000Z",
			summary: "before",
			firstKeptEntryIndex: 2,
			tokensBefore: 5,
		},
		said("user", "three"),
		said("assistant", "four"),
	];

	// Regression: each command showed other ids.
	test("shows its entries with the same ids at each look", async () => {
		const at = world();
		const path = put(at, "old", old, { header: { version: undefined } });
		const before = snapshot(dirname(path));
		const ids = ["00000001", "00000002", "00000003", "00000004", "00000005"];
		const of = async (...args: string[]): Promise<any> => JSON.parse((await run(at, [...args, "--json"])).out);
		expect((await of("show", path)).entries.map(({ id }: Json) => id)).toEqual(ids);
		expect((await of("tree", path)).entries.map(({ id }: Json) => id)).toEqual(ids);
		expect((await of("show", path)).entries[2].firstKeptEntryId).toBe("00000002");
		expect((await run(at, ["tree", path])).out).toContain("● 00000004 user three");
		const shown = (await run(at, ["show", path, "--leaf", "00000002"])).out;
		expect(shown).toContain("two");
		expect(shown).not.toContain("three");
		expect((await run(at, ["export", path, "--leaf", "00000002"])).out).not.toContain("three");
		expect(snapshot(dirname(path))).toEqual(before);
	});

	test("forks only as a whole", async () => {
		const at = world();
		const path = put(at, "old", old, { header: { version: undefined } });
		expect(await run(at, ["fork", path, "--entry", "00000004"])).toMatchObject({
			code: 1,
			err: "Error: --entry cannot be used with a file of version 1. Fork the whole session, and then the fork\n",
		});
		const whole = JSON.parse((await run(at, ["fork", path, "--json"])).out);
		const [, , , { id }] = api.SessionManager.open(whole.path, { readonly: true }).getEntries() as [any, any, any, any];
		const made = JSON.parse((await run(at, ["fork", whole.path, "--entry", id, "--name", "again", "--json"])).out);
		expect(made).toMatchObject({ parentSession: whole.path, cwd: at.cwd, entries: 5 });
		const fork = api.SessionManager.open(made.path);
		expect(fork.getSessionName()).toBe("again");
		expect(fork.buildSessionContext().messages.map(({ role }) => role)).toEqual([
			"compactionSummary",
			"assistant",
			"user",
		]);
	});
});
