// `branchWithSummary` and `createBranchedSession`.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { expect, test } from "vitest";
import {
	api,
	clockAt,
	entry,
	header,
	ids,
	inMemory,
	jsonLines,
	loose,
	message,
	opened,
	scratch,
	shape,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";

const label = (id: string, parentId: string | null, targetId: string, text?: string) => ({
	...entry("label", id, parentId, { targetId, label: text }),
	timestamp: `time of ${id}`,
});

test("branchWithSummary names the leaf left behind, or root", () => {
	const manager = inMemory();
	const first = manager.appendMessage(user());
	const second = manager.appendMessage(user());
	const one: any = manager.getEntry(manager.branchWithSummary(first, "tried"));
	expect([one.fromId, one.parentId, one.summary]).toEqual([second, first, "tried"]);
	const two: any = manager.getEntry(manager.branchWithSummary(null, "again"));
	expect([two.fromId, two.parentId]).toEqual([one.id, null]);
	manager.resetLeaf();
	const three: any = manager.getEntry(manager.branchWithSummary(first, "from nothing"));
	expect(three.fromId).toBe("root");
	expect(manager.getLeafId()).toBe(three.id);
});

test("a branch moves only the leaf", () => {
	const { manager, file } = opened([message("a", null), message("b", "a")]);
	manager.branch("a");
	expect([manager.getLeafId(), manager.getEntryCount()]).toEqual(["a", 2]);
	const id = manager.appendCustomEntry("x");
	expect(jsonLines(file).at(-1)).toMatchObject({ id, parentId: "a" });
	manager.resetLeaf();
	expect(manager.getEntry(manager.appendCustomEntry("x"))?.parentId).toBeNull();
});

test("a branched session holds the path to the entry, under a new header that names the file left", () => {
	clockAt("2025-06-07T08:09:10.111Z");
	const { manager, file } = opened([message("a", null), message("b", "a"), message("c", "a")]);
	const path = manager.createBranchedSession("b") as string;
	expect(manager.getSessionFile()).toBe(path);
	expect(basename(path)).toBe(`2025-06-07T08-09-10-111Z_${manager.getSessionId()}.jsonl`);
	const expected = header({
		id: manager.getSessionId(),
		timestamp: "2025-06-07T08:09:10.111Z",
		cwd: resolve("/somewhere"),
		parentSession: file,
	});
	expect(shape(manager.getHeader())).toBe(shape(expected));
	expect(jsonLines(path)).toEqual([expected, message("a", null), message("b", "a")]);
	expect(manager.getLeafId()).toBe("b");
	expect(jsonLines(file)).toHaveLength(4);
});

test("label entries leave the path and their children are chained anew", () => {
	const { manager } = opened([
		message("a", null),
		label("l1", "a", "gone", "x"),
		label("l2", "l1", "gone", "y"),
		message("b", "l2"),
		label("l3", "b", "gone", "z"),
		message("c", "l3"),
	]);
	const path = manager.createBranchedSession("c") as string;
	expect(jsonLines(path).slice(1)).toEqual([message("a", null), message("b", "a"), message("c", "b")]);
	expect(ids(manager.getBranch())).toEqual(["a", "b", "c"]);
});

test("a compaction whose first kept entry was a label points at the next kept entry", () => {
	const compaction = (id: string, parentId: string, firstKeptEntryId: string) =>
		entry("compaction", id, parentId, { summary: "s", firstKeptEntryId, tokensBefore: 1 });
	const { manager } = opened([
		message("a", null),
		label("l1", "a", "a", "x"),
		label("l2", "l1", "a", "y"),
		message("b", "l2"),
		compaction("c1", "b", "l1"),
		compaction("c2", "c1", "b"),
		compaction("c3", "c2", "c3"),
		compaction("c4", "c3", "unknown"),
	]);
	const path = manager.createBranchedSession("c4") as string;
	const kept = jsonLines(path).map((one) => one.firstKeptEntryId);
	expect(kept.filter(Boolean)).toEqual(["b", "b", "c3", "unknown"]);
	expect(
		manager
			.getEntries()
			.map((one: any) => one.firstKeptEntryId)
			.filter(Boolean),
	).toEqual(["b", "b", "c3", "unknown"]);
});

test("labels of the path are written again after it, in the order first set since last cleared, with their own times", () => {
	const { manager } = opened([
		...[message("a", null), message("b", "a"), message("c", "b"), message("off", "a")],
		label("l1", null, "c", "first c"),
		label("l2", null, "a", "first a"),
		label("l3", null, "off", "not on the path"),
		label("l4", null, "b", "b"),
		label("l5", null, "c", "second c"),
		label("l6", null, "a", ""),
		label("l7", null, "a", "second a"),
	]);
	const path = manager.createBranchedSession("c") as string;
	const labels = jsonLines(path).slice(4);
	expect(labels.map((one) => [one.targetId, one.label, one.timestamp])).toEqual([
		["c", "second c", "time of l5"],
		["b", "b", "time of l4"],
		["a", "second a", "time of l7"],
	]);
	expect(labels.map((one) => one.parentId)).toEqual(["c", labels[0].id, labels[1].id]);
	expect(manager.getLeafId()).toBe(labels[2].id);
	expect(["a", "b", "c", "off"].map((id) => manager.getLabel(id))).toEqual(["second a", "b", "second c", undefined]);
	for (const one of labels)
		expect(Object.keys(one)).toEqual(["type", "id", "parentId", "timestamp", "targetId", "label"]);
});

test("the path's entries are new objects around the same payloads", () => {
	const manager = inMemory();
	const [body, data] = [user(), { d: 1 }];
	const first = manager.appendMessage(body);
	const second = manager.appendCustomEntry("x", data);
	const before = [first, second].map((id) => manager.getEntry(id));
	manager.createBranchedSession(second);
	const after = [first, second].map((id) => manager.getEntry(id) as any);
	for (const at of [0, 1]) {
		expect(after[at]).not.toBe(before[at]);
		expect(shape(after[at])).toBe(shape(before[at]));
	}
	expect([after[0].message, after[1].data]).toEqual([body, data]);
	expect(after[0].message).toBe(body);
	expect(after[1].data).toBe(data);
	expect(manager.getEntries()[0]).toBe(after[0]);
});

test("in memory the manager moves too, without a parent session", () => {
	const manager = inMemory();
	const first = manager.appendMessage(user());
	manager.appendMessage(user());
	const before = manager.getSessionId();
	expect(manager.createBranchedSession(first)).toBeUndefined();
	expect(manager.getSessionId()).not.toBe(before);
	expect(manager.getHeader()?.parentSession).toBeUndefined();
	expect(ids(manager.getEntries())).toEqual([first]);
});

test("without conversation on the path the file waits for it", () => {
	const dir = scratch();
	const source = writeSession(dir, [
		header(),
		message("a", null, toolResult()),
		message("b", "a"),
		entry("custom", "c", "a"),
	]);
	const manager = api.SessionManager.open(source);
	const path = manager.createBranchedSession("c") as string;
	expect(existsSync(path)).toBe(false);
	expect(readdirSync(dir)).toEqual(["session.jsonl"]);
	manager.appendCustomEntry("x");
	expect(existsSync(path)).toBe(false);
	manager.appendMessage(user());
	expect(jsonLines(path).map((one) => one.type)).toEqual(["session", "message", "custom", "custom", "message"]);
	expect(jsonLines(path)[0].parentSession).toBe(source);
});

test("a branched session goes on in its own file and can be branched again", () => {
	const { manager, file } = opened([message("a", null), message("b", "a")]);
	const one = manager.createBranchedSession("a") as string;
	const id = manager.appendMessage(user("more"));
	const two = manager.createBranchedSession(id) as string;
	expect(jsonLines(one)).toHaveLength(3);
	expect(jsonLines(two).slice(1)).toEqual(jsonLines(one).slice(1));
	expect(jsonLines(two)[0].parentSession).toBe(one);
	expect(new Set([file, one, two]).size).toBe(3);
});

test("undefined and null branch at the leaf; before the first entry there is nothing to branch", () => {
	for (const given of [undefined, null]) {
		const { manager } = opened([message("a", null), message("b", "a")]);
		loose(manager).createBranchedSession?.(given);
		expect(ids(manager.getEntries())).toEqual(["a", "b"]);
		manager.resetLeaf();
		expect(() => loose(manager).createBranchedSession?.(given)).toThrow(`Entry ${given} not found`);
	}
});

test("a fork holds every entry of the source, on all branches, under a header that names it", () => {
	const dir = join(scratch(), "new");
	const { manager, file } = opened([
		message("a", null),
		message("b", "a"),
		"torn {",
		message("c", "a"),
		header({ id: "later" }),
	]);
	manager.branch("b");
	const fork = api.SessionManager.forkFrom(file, "/target/./dir/..", dir, { id: "my-fork" });
	expect(ids(fork.getEntries())).toEqual(["a", "b", "c"]);
	expect(fork.getLeafId()).toBe("c");
	expect([fork.getCwd(), fork.getSessionDir(), fork.getSessionId()]).toEqual([resolve("/target"), dir, "my-fork"]);
	expect(shape(fork.getHeader())).toBe(
		shape(
			header({ id: "my-fork", timestamp: fork.getHeader()?.timestamp, cwd: resolve("/target"), parentSession: file }),
		),
	);
});

test("a fork of a missing, empty or other file is the reference's error, and makes no session", () => {
	const dir = scratch();
	const target = join(dir, "target");
	const empty = writeSession(dir, [], "empty.jsonl");
	const other = writeSession(dir, ["notes"], "other.jsonl");
	for (const source of [join(dir, "missing.jsonl"), empty, other]) {
		expect(() => api.SessionManager.forkFrom(source, "/x", target)).toThrow(
			`Cannot fork: source session file is empty or invalid: ${source}`,
		);
	}
	expect(existsSync(target)).toBe(false);
});

// Regression: it needed that file, which was closed and gone.
test("a branch of entries that were all made here does not need the old file", () => {
	const dir = scratch();
	const manager = api.SessionManager.create("/somewhere", dir);
	const id = manager.appendMessage(user("one"));
	manager.appendMessage(user("two"));
	// As many others as may be open at once, and more.
	const others = Array.from({ length: 600 }, (_, n) => {
		const other = api.SessionManager.create("/somewhere", dir, { id: `other-${n}` });
		other.appendMessage(user("x"));
		return other;
	});
	rmSync(manager.getSessionFile() as string);
	const file = manager.createBranchedSession(id) as string;
	expect(jsonLines(file)).toHaveLength(2);
	expect(manager.getEntries()).toHaveLength(1);
	for (const other of others) other.close();
});
