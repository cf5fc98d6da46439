// getOutline: the tree without the contents of entries.
import fc from "fast-check";
import { expect, test } from "vitest";
import { api, assistant, entry, inMemory, message, opened, toolResult, user } from "../../support/scratch.js";

/** Reduces a tree to the fields of an outline. */
const shape = (nodes: any[]): unknown[] =>
	nodes.map(({ entry, children, label, labelTimestamp }) => {
		const { type, id, timestamp, message } = entry;
		// JavaScript reads any value as a time in this way.
		const at = timestamp === undefined ? Number.NaN : new Date(timestamp).getTime();
		return { type, id, at, role: message?.role, label, labelTimestamp, children: shape(children) };
	});

/** The same from `getTree` and `getBranch`, which create all entries. */
const expected = (manager: any) => ({
	tree: shape(manager.getTree()),
	branch: manager.getBranch().map(({ id }: any) => id),
});
const found = (manager: any) => {
	const { tree, branch } = manager.getOutline();
	return { tree: shape(tree), branch };
};

const NAMES = ["a", "b", "c", "d", "\ud800", 'quote"', "日本", ""];
const line = fc.record({
	id: fc.constantFrom(...NAMES),
	parentId: fc.constantFrom(...NAMES, null, undefined, 5),
	timestamp: fc.constantFrom(
		"2025-01-01T00:00:00.000Z",
		"2025-01-02T00:00:00+02:00",
		"Jan 5 2031",
		"never",
		5,
		null,
		undefined,
	),
	rest: fc.constantFrom<any>(
		{ type: "message", message: user() },
		{ type: "message", message: assistant() },
		{ type: "message", message: toolResult() },
		{ type: "message", message: { role: "a role of later" } },
		{ type: "message", message: "no message" },
		{ type: "message" },
		{ type: "label", targetId: "a", label: "first" },
		{ type: "label", targetId: "a" },
		{ type: "compaction", summary: "s", firstKeptEntryId: "a", tokensBefore: 1 },
		{ type: "a type of later" },
		{ type: 5 },
		{},
	),
});

test("an outline is the tree without the entries' contents", () => {
	fc.assert(
		fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
			const { manager, file } = opened(lines.map(({ rest, ...fields }) => ({ ...rest, ...fields })));
			const outline = found(manager);
			const whole = api.SessionManager.open(file);
			expect(outline).toEqual(expected(whole));
			// Entry objects that exist already change nothing.
			expect(found(whole)).toEqual(outline);
		}),
		{ numRuns: 120 },
	);
});

test("an outline has appended entries, labels and the moved leaf", () => {
	for (const manager of [
		inMemory(),
		opened([message("a", null), entry("model_change", "b", "a", { provider: "p", modelId: "m" })]).manager,
	]) {
		const id = manager.appendMessage(user("hello"));
		manager.appendLabelChange(id, "here");
		manager.appendCustomEntry("kind", { some: "data" });
		manager.branch(id);
		expect(found(manager)).toEqual(expected(manager));
		manager.resetLeaf();
		expect(found(manager)).toMatchObject({ branch: [] });
		manager.appendMessage(assistant());
		expect(found(manager)).toEqual(expected(manager));
	}
});

test("an outline makes only entries of unknown kinds", () => {
	const { manager } = opened([message("a", null), { ...entry("later", "b", "a"), more: 1 }]);
	const { tree } = manager.getOutline() as any;
	expect(tree[0].entry).toEqual({
		type: "message",
		id: "a",
		timestamp: (manager.getEntry("a") as any).timestamp,
		message: { role: "user" },
	});
	expect(tree[0].children[0].entry).toBe(manager.getEntry("b"));
});

test("ISO times in an outline are in UTC", () => {
	const { manager } = opened([
		message("a", null, undefined, { timestamp: "2025-01-02T00:00:00+02:00" }),
		message("b", "a", undefined, { timestamp: "Jan 5 2031" }),
	]);
	const { tree } = manager.getOutline();
	expect(tree[0]?.entry.timestamp).toBe("2025-01-01T22:00:00.000Z");
	expect(tree[0]?.children[0]?.entry.timestamp).toBe("Jan 5 2031");
	expect(manager.getEntry("a")?.timestamp).toBe("2025-01-02T00:00:00+02:00");
});
