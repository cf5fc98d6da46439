// The tree, and ids and parents that form no tree.
import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { api, flat, ids, linesOf, message, opened, scratch, text, user } from "../../support/scratch.js";

const tree = (nodes: any[]): unknown => nodes.map((node) => [node.entry.id, ...(tree(node.children) as unknown[])]);

test("an orphan and its own parent are roots", () => {
	const { manager } = opened([message("a", "a"), message("b", "gone"), message("c", null), message("d", "a")]);
	expect(tree(manager.getTree())).toEqual([["a", ["d"]], ["b"], ["c"]]);
	expect(ids(manager.getBranch("a"))).toEqual(["a"]);
});

describe("duplicate ids", () => {
	const lines = () => [
		message("a", null, user("first")),
		message("b", "a", user("child")),
		message("a", null, user("second")),
		message("c", "a", user("other child")),
	];

	test("an id means its last entry; getEntries gives every line", () => {
		const { manager } = opened(lines());
		expect(manager.getEntries().map((one: any) => one.message.content)).toEqual([
			"first",
			"child",
			"second",
			"other child",
		]);
		expect((manager.getEntry("a") as any).message.content).toBe("second");
		expect(manager.getBranch("b").map((one: any) => one.message.content)).toEqual(["second", "child"]);
		expect(manager.getEntryCount()).toBe(3);
	});

	test("in the tree every entry stands once", () => {
		const { manager } = opened(lines());
		const nodes = flat(manager.getTree());
		expect(nodes).toHaveLength(4);
		expect(new Set(nodes)).toEqual(new Set(manager.getEntries()));
	});

	test("that make a cycle end all the same", () => {
		const { manager } = opened([message("a", null), message("b", "a"), message("a", "b"), message("c", "a")]);
		expect(ids(manager.getBranch())).toEqual(["b", "a", "c"]);
		expect(flat(manager.getTree())).toHaveLength(4);
		expect(manager.buildSessionContext().messages).toHaveLength(3);
	});
});

describe("cycles of parents", () => {
	const lines = () => [
		message("x", "z"),
		message("y", "x"),
		message("z", "y"),
		message("tail", "z"),
		message("a", null),
	];

	test("a walk stops before it would visit an entry twice", () => {
		const { manager } = opened(lines());
		expect(ids(manager.getBranch("tail"))).toEqual(["x", "y", "z", "tail"]);
		expect(ids(manager.getBranch("x"))).toEqual(["y", "z", "x"]);
		manager.branch("tail");
		expect(manager.buildContextEntries()).toHaveLength(4);
		expect(manager.buildSessionProjection().messages).toHaveLength(4);
	});

	test("the tree has every entry once", () => {
		const { manager } = opened(lines());
		expect(tree(manager.getTree())).toEqual([["x", ["y", ["z", ["tail"]]]], ["a"]]);
	});

	test("the functions over plain lists end as well", () => {
		const entries = lines() as any[];
		expect(ids(api.buildContextEntries(entries, "tail"))).toEqual(["x", "y", "z", "tail"]);
		expect(api.buildSessionContext(entries, "x").messages).toHaveLength(3);
		const byId = new Map(entries.map((one) => [one.id, one]));
		expect(api.buildSessionProjection(entries, "y", byId).entries).toHaveLength(3);
	});

	test("can be appended to, branched from, forked and migrated", () => {
		const { manager, file } = opened(lines());
		manager.branch("tail");
		manager.appendCompaction("s", "y", 1);
		const path = manager.createBranchedSession("tail") as string;
		expect(linesOf(path)).toHaveLength(5);
		expect(ids(manager.getBranch())).toEqual(["x", "y", "z", "tail"]);
		expect(manager.getEntry("x")?.parentId).toBeNull();
		expect(api.SessionManager.forkFrom(file, "/x", scratch()).getEntryCount()).toBe(6);
	});
});

test("a foreign entry with the leaf's id is the leaf", () => {
	for (const take of ["reload", "append"] as const) {
		const { manager, file } = opened([message("a", null), message("b", "a"), message("c", "b")]);
		expect(ids(manager.getBranch())).toEqual(["a", "b", "c"]);
		appendFileSync(file, text([message("c", "a", user("theirs"))]));
		if (take === "reload") manager.reload();
		else manager.branch((manager.appendMessage(user("ours")), "c"));
		expect(manager.getLeafId()).toBe("c");
		const leaf = manager.getLeafEntry() as any;
		expect(leaf.message.content).toBe("theirs");
		expect(manager.getEntry("c")).toBe(leaf);
		for (const branch of [manager.getBranch(), manager.getBranch("c"), manager.buildContextEntries()]) {
			expect(ids(branch)).toEqual(["a", "c"]);
			expect(branch[1]).toBe(leaf);
		}
		expect(manager.getEntries()).toHaveLength(take === "reload" ? 4 : 5);
	}
});
