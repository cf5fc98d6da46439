// What the model sees. Every rule is shown on a manager and on the functions over plain lists.
import { describe, expect, test } from "vitest";
import {
	api,
	assistant,
	caught,
	entry,
	ids,
	inMemory,
	type Json,
	loose,
	message,
	opened,
	shape,
	system,
	toolResult,
	user,
} from "../../support/scratch.js";

const compaction = (id: string, parentId: string, firstKeptEntryId: unknown, fields: Json = {}) =>
	entry("compaction", id, parentId, { summary: `summary ${id}`, firstKeptEntryId, tokensBefore: 9, ...fields });

/** The context entries at the last of these lines, which manager and plain function must agree on. */
function contextOf(lines: Json[]): string[] {
	const { manager } = opened(lines);
	const plain = ids(api.buildContextEntries(lines as any));
	expect(ids(manager.buildContextEntries())).toEqual(plain);
	expect(
		ids(
			api.buildContextEntries(lines as any, (lines.at(-1) as any).id, new Map(lines.map((one: any) => [one.id, one]))),
		),
	).toEqual(plain);
	expect(shape(manager.buildSessionProjection())).toBe(shape(api.buildSessionProjection(lines as any)));
	expect(shape(manager.buildSessionContext())).toBe(shape(api.buildSessionContext(lines as any)));
	return plain;
}

/** A chain: each line below the one before. */
const chain = (...lines: Json[]): Json[] =>
	// As a file would give them: without undefined.
	JSON.parse(JSON.stringify(lines.map((line, at) => ({ ...line, parentId: lines[at - 1]?.id ?? null }))));

test("without a compaction the context is the whole path", () => {
	expect(contextOf(chain(message("a", null), entry("custom", "b", null), message("c", null)))).toEqual(["a", "b", "c"]);
});

test("the newest compaction comes first, then what it kept without system messages, then all after it", () => {
	const lines = chain(
		message("a", null),
		message("b", null),
		message("s1", null, system({ content: "kept range" })),
		message("c", null),
		compaction("x", "", "b"),
		message("s2", null, system({ content: "after" })),
		message("d", null),
	);
	expect(contextOf(lines)).toEqual(["x", "b", "c", "s2", "d"]);
});

test("an unknown, null or missing first kept entry keeps nothing; so does the compaction's own id", () => {
	for (const kept of ["unknown", null, undefined, 5, "x", "d"]) {
		const lines = chain(message("a", null), message("b", null), compaction("x", "", kept), message("d", null));
		expect(contextOf(lines)).toEqual(["x", "d"]);
	}
});

test("an older compaction inside the kept range stays an entry and contributes no message", () => {
	const lines = chain(
		message("a", null),
		compaction("x", "", "a"),
		message("b", null),
		compaction("y", "", "x"),
		message("c", null),
	);
	expect(contextOf(lines)).toEqual(["y", "x", "b", "c"]);
	const projection = opened(lines).manager.buildSessionProjection();
	expect(projection.entries.map((one) => one.messages.length)).toEqual([1, 0, 1, 1]);
});

test("the first kept entry may be one that gives no message", () => {
	expect(
		contextOf(
			chain(
				message("a", null),
				entry("label", "l", null, { targetId: "a", label: "x" }),
				message("b", null),
				compaction("x", "", "l"),
			),
		),
	).toEqual(["x", "l", "b"]);
});

test("built messages have these fields, with the entry's time in ms", () => {
	const time = Date.parse("2025-01-01T00:00:00.000Z");
	const { manager } = opened(
		chain(
			compaction("x", "", "x", { systemMessage: { role: "system", content: "prompt", timestamp: 1 } }),
			entry("custom_message", "m", null, { customType: "t", content: "c", display: false, details: { d: 1 } }),
			entry("custom_message", "n", null, { customType: "t", display: true }),
			entry("branch_summary", "b", null, { fromId: "root", summary: "left" }),
			entry("branch_summary", "e", null, { fromId: "root", summary: "" }),
			...["custom", "label", "session_info", "usage", "model_change", "thinking_level_change", "invented"].map((type) =>
				entry(type, `no-${type}`, null),
			),
		),
	);
	expect(manager.buildSessionContext().messages.map(shape)).toEqual(
		[
			{ role: "system", content: "prompt", timestamp: 1 },
			{ role: "compactionSummary", summary: "summary x", tokensBefore: 9, timestamp: time },
			{ role: "custom", customType: "t", content: "c", display: false, details: { d: 1 }, timestamp: time },
			{ role: "custom", customType: "t", content: [], display: true, details: undefined, timestamp: time },
			{ role: "branchSummary", summary: "left", fromId: "root", timestamp: time },
		].map(shape),
	);
});

test("thinking level and model are the last on the whole path, what a compaction dropped included", () => {
	const lines = chain(
		entry("thinking_level_change", "t", null, { thinkingLevel: "high" }),
		message("a", null, assistant("x", { provider: "p1", model: "m1" })),
		entry("model_change", "c", null, { provider: "p2", modelId: "m2" }),
		compaction("x", "", "x"),
	);
	const context = opened(lines).manager.buildSessionContext();
	expect([context.thinkingLevel, context.model]).toEqual(["high", { provider: "p2", modelId: "m2" }]);
	lines.push(
		...chain(message("b", null, assistant("y", { provider: "p3", model: "m3" }))).map((one) => ({
			...one,
			parentId: "x",
		})),
	);
	expect(opened(lines).manager.buildSessionContext().model).toEqual({ provider: "p3", modelId: "m3" });
	const none = inMemory().buildSessionContext();
	expect(shape(none)).toBe(shape({ messages: [], thinkingLevel: "off", model: null }));
});

test("an assistant message without provider and model still sets the model", () => {
	const { manager } = opened([
		entry("model_change", "c", null, { provider: "p", modelId: "m" }),
		message("a", "c", { role: "assistant", content: [] }),
	]);
	expect(shape(manager.buildSessionContext().model)).toBe('{"provider":undefined,"modelId":undefined}');
});

describe("identity:", () => {
	test("the messages of a projection are the very objects of its entries, and the stored ones where nothing was built", () => {
		const lines = chain(
			message("a", null),
			entry("custom_message", "b", null, { content: "x" }),
			compaction("c", "", "a"),
			message("d", null),
		);
		for (const projection of [
			opened(lines).manager.buildSessionProjection(),
			api.buildSessionProjection(lines as any),
		]) {
			const own = projection.entries.flatMap((one) => one.messages);
			expect(projection.messages).toHaveLength(own.length);
			for (const [at, one] of own.entries()) expect(projection.messages[at]).toBe(one);
			expect(projection.messages.at(-1)).toBe((projection.entries.at(-1) as any).sourceEntry.message);
			expect(Object.keys(projection)).toEqual(["entries", "messages", "thinkingLevel", "model"]);
		}
	});

	test("one projection's stored messages are the next one's, after appends too", () => {
		const { manager } = opened(chain(message("a", null), message("b", null)));
		const before = manager.buildSessionProjection().messages;
		const body = user();
		manager.appendMessage(body);
		const after = manager.buildSessionProjection().messages;
		expect([after[0] === before[0], after[1] === before[1], after[2] === body]).toEqual([true, true, true]);
		expect(manager.buildSessionContext().messages[0]).toBe(before[0]);
		expect(manager.buildSessionProjection().entries[0]?.sourceEntry).toBe(manager.getEntry("a"));
	});

	test("a replaced message is a copy that shares all but its content", () => {
		const manager = inMemory();
		const body = assistant();
		const id = manager.appendMessage(body);
		manager.appendContextEdit(id, { content: "short" });
		const [made] = manager.buildSessionContext().messages as any[];
		expect(made).not.toBe(body);
		expect(made.usage).toBe(body.usage);
		expect(shape(made)).toBe(shape({ ...body, content: [{ type: "text", text: "short" }] }));
		expect(body.content[0].text).toBe("hi");
	});

	test("what the caller changes in a message shows in the next read", () => {
		const manager = inMemory();
		const body = user("before");
		manager.appendMessage(body);
		body.content = "after";
		expect((manager.buildSessionContext().messages[0] as any).content).toBe("after");
	});
});

describe("context edits", () => {
	test("the newest one on the path counts: null leaves the entry out, content replaces", () => {
		const { manager } = opened(chain(message("a", null, user("one")), message("b", null, user("two"))));
		manager.appendContextEdit("a", null);
		expect(manager.buildSessionContext().messages).toHaveLength(1);
		const replaced = manager.appendContextEdit("a", { content: "again" });
		expect((manager.buildSessionContext().messages[0] as any).content).toBe("again");
		manager.branch("b");
		expect((manager.buildSessionContext().messages[0] as any).content).toBe("one");
		expect(manager.getEntry(replaced)).toBeDefined();
	});

	test("a text is one block for assistant and toolResult, and stays a text for user and custom_message", () => {
		const { manager } = opened(
			chain(
				message("u", null),
				message("a", null, assistant()),
				message("t", null, toolResult()),
				entry("custom_message", "c", null, { content: "x" }),
			),
		);
		const blocks = [{ type: "text", text: "new" }];
		for (const [id, stored] of Object.entries({ u: "new", a: blocks, t: blocks, c: "new" })) {
			const edit: any = manager.getEntry(manager.appendContextEdit(id, { content: "new" }));
			expect(edit.replacement).toEqual({ content: stored });
		}
		expect(manager.buildSessionContext().messages.map((one: any) => one.content)).toEqual([
			"new",
			blocks,
			blocks,
			"new",
		]);
	});

	test("are refused in this order: replacement, unknown id, not on the branch, not editable", () => {
		const { manager } = opened([
			message("a", null),
			message("off", "a"),
			entry("custom", "c", "a"),
			message("s", "c", system({})),
		]);
		const refused = (id: unknown, replacement: unknown): string =>
			caught(() => loose(manager).appendContextEdit?.(id, replacement)).message;
		const bad = "Context edit replacement must be null or contain string/array content";
		for (const replacement of [undefined, 5, "text", {}, { content: 5 }, { content: null }, { content: {} }, []]) {
			expect(refused("nope", replacement)).toBe(bad);
			expect(refused("a", replacement)).toBe(bad);
		}
		expect(refused("nope", null)).toBe("Entry nope not found");
		expect(refused("off", null)).toBe("Entry off is not on the active branch");
		expect(refused("c", { content: [] })).toBe("Entry c does not contribute editable model content");
		expect(refused("s", { content: "x" })).toBe("Entry s does not contribute editable model content");
		expect(manager.getLeafId()).toBe("s");
		manager.resetLeaf();
		expect(refused("a", null)).toBe("Entry a is not on the active branch");
	});

	test("only replace content of the roles user, assistant, toolResult and custom", () => {
		const edit = entry("context_edit", "e", null, { targetId: "a", replacement: { content: "new" } }) as any;
		for (const role of ["user", "assistant", "toolResult", "custom"]) {
			const [made] = api.projectContextEntry(message("a", null, { role, content: "old" }) as any, edit) as any[];
			expect(made.content).not.toBe("old");
		}
		for (const role of ["system", "bashExecution", "invented"]) {
			const body = { role, content: "old" };
			expect(api.projectContextEntry(message("a", null, body) as any, edit)[0]).toBe(body);
		}
		const summary = entry("branch_summary", "a", null, { summary: "s", fromId: "root" }) as any;
		expect((api.projectContextEntry(summary, edit)[0] as any).summary).toBe("s");
		expect(api.projectContextEntry(summary, { ...edit, replacement: null })).toEqual([]);
		expect(api.projectContextEntry(summary, undefined)).toHaveLength(1);
	});

	test("an edit that a compaction left behind no longer counts", () => {
		const edit = entry("context_edit", "e", null, { targetId: "k", replacement: null });
		expect(
			opened(chain(message("k", null), edit, compaction("x", "", "k"))).manager.buildSessionContext().messages,
		).toHaveLength(1);
		const lines = chain(edit, message("k", null), compaction("x", "", "k"));
		expect(opened(lines).manager.buildSessionContext().messages).toHaveLength(2);
	});
});

describe("the functions over plain lists", () => {
	const lines = chain(message("a", null), message("b", null)) as any[];

	test("take null for nothing, an unknown or missing leaf for the last entry", () => {
		expect(api.buildContextEntries(lines, null)).toEqual([]);
		expect(api.buildSessionContext(lines, null)).toEqual({ messages: [], thinkingLevel: "off", model: null });
		for (const leaf of [undefined, "nope", ""]) expect(ids(api.buildContextEntries(lines, leaf))).toEqual(["a", "b"]);
		expect(ids(api.buildContextEntries(lines, "a"))).toEqual(["a"]);
		expect(api.buildSessionProjection([])).toEqual({ entries: [], messages: [], thinkingLevel: "off", model: null });
	});

	test("ask the caller's map instead of the list if one is given", () => {
		const other = { ...lines[0], message: user("from the map") };
		const byId = new Map<string, any>([["a", other]]);
		expect(api.buildContextEntries(lines, "a", byId)[0]).toBe(other);
		expect(ids(api.buildContextEntries(lines, "b", byId))).toEqual(["a", "b"]);
		expect(ids(api.buildContextEntries(lines, undefined, new Map()))).toEqual(["b"]);
	});

	test("give back the caller's own entries and messages", () => {
		const [entryA] = api.buildContextEntries(lines, "a");
		expect(entryA).toBe(lines[0]);
		expect(api.sessionEntryToContextMessages(lines[0])[0]).toBe(lines[0].message);
		expect(api.getLatestCompactionEntry([...lines, compaction("x", "b", "a") as any, lines[0]])).toMatchObject({
			id: "x",
		});
	});
});
