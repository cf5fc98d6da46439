// The tree, and ids and parents that make no tree.
import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
	api,
	entry,
	flat,
	header,
	ids,
	linesOf,
	message,
	opened,
	scratch,
	text,
	user,
	writeSession,
} from "../../support/scratch.js";

const tree = (nodes: any[]): unknown => nodes.map((node) => [node.entry.id, ...(tree(node.children) as unknown[])]);

test("children are sorted by time, roots are not", () => {
	const at = (id: string, parentId: string | null, timestamp: unknown) => ({ ...message(id, parentId), timestamp });
	const { manager } = opened([
		at("r2", null, "2025-02-01T00:00:00.000Z"),
		at("r1", null, "2025-01-01T00:00:00.000Z"),
		at("late", "r1", "2025-01-03"),
		at("tie1", "r1", "2025-01-02T00:00:00.000Z"),
		at("odd", "r1", "1 Jan 2025 12:00 UTC"),
		at("tie2", "r1", "2025-01-02T01:00:00.000+01:00"),
		at("number", "r1", 5),
		at("null", "r1", null),
	]);
	expect(tree(manager.getTree())).toEqual([
		["r2"],
		["r1", ["null"], ["number"], ["odd"], ["tie1"], ["tie2"], ["late"]],
	]);
});

test("an orphan and its own parent are roots", () => {
	const { manager } = opened([message("a", "a"), message("b", "gone"), message("c", null), message("d", "a")]);
	expect(tree(manager.getTree())).toEqual([["a", ["d"]], ["b"], ["c"]]);
	expect(ids(manager.getBranch("a"))).toEqual(["a"]);
});

test("a tree 100,000 deep is walked without recursion", () => {
	const lines = Array.from({ length: 100_000 }, (_, at) => entry("custom", `n${at}`, at === 0 ? null : `n${at - 1}`));
	const { manager } = opened(lines);
	expect(manager.getBranch()).toHaveLength(100_000);
	let depth = 0;
	for (let [node] = manager.getTree() as any[]; node; node = node.children[0]) depth++;
	expect(depth).toBe(100_000);
	expect(manager.buildContextEntries()).toHaveLength(100_000);
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

test("a hundred thousand siblings and labels are no matter", () => {
	const many = Array.from({ length: 50_000 }, (_, at) => message(`m${at}`, "a"));
	const labels = Array.from({ length: 50_000 }, (_, at) =>
		entry("label", `l${at}`, null, { targetId: `m${at}`, label: `${at}` }),
	);
	const manager = api.SessionManager.open(writeSession(scratch(), [header(), message("a", null), ...many, ...labels]));
	expect(manager.getChildren("a")).toHaveLength(50_000);
	expect(manager.getLabel("m49999")).toBe("49999");
	expect((manager.getTree() as any[])[0].children).toHaveLength(50_000);
});
