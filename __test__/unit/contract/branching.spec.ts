// `branchWithSummary` and `createBranchedSession`.
import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { api, entry, jsonLines, message, opened, scratch, user } from "../../support/scratch.js";

const label = (id: string, parentId: string | null, targetId: string, text?: string) => ({
	...entry("label", id, parentId, { targetId, label: text }),
	timestamp: `time of ${id}`,
});

test("a compaction that kept a label first keeps the next", () => {
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

test("labels of the path follow it in order", () => {
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

// Regression: it needed that file, which was closed and gone.
test("a branch of own entries does not need the file", () => {
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
