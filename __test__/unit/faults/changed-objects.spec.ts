// The file of a new session is written from the entry objects, which the caller may have changed. The lines contain the
// changes, but the tree stays the same.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { api, caught, ids, jsonLines, scratch, user } from "../../support/scratch.js";

const { SessionManager } = api;

/** A session of three entries without a file, after `change` has changed its objects. */
function changed(change: (entries: any[], header: any) => void) {
	const manager = SessionManager.create("/c", scratch());
	for (const n of [1, 2, 3]) manager.appendCustomEntry("x", { n });
	const before = ids(manager.getEntries());
	change(manager.getEntries(), manager.getHeader());
	return { manager, file: manager.getSessionFile() as string, before };
}

test("changed ids, parents and types of objects are not written", () => {
	const { manager, file, before } = changed((entries, header) => {
		entries[1].id = "hacked00";
		entries[2].parentId = "nowhere";
		entries[0].type = "session";
		entries[1].data = { n: "changed" };
		header.id = "another";
	});
	const last = manager.appendMessage(user("four"));
	const [first, ...lines] = jsonLines(file);
	expect(first.id).toBe(manager.getSessionId());
	expect(lines.map((line) => [line.type, line.id, line.parentId, line.data?.n])).toEqual([
		["custom", before[0], null, 1],
		["custom", before[1], before[0], "changed"],
		["custom", before[2], before[1], 3],
		["message", last, before[2], undefined],
	]);
	expect(SessionManager.verify(file)).toMatchObject({ ok: true, entries: 4 });
	expect(manager.getEntryCount()).toBe(4);
	manager.appendMessage(user("five"));
	manager.reload();
	expect(manager.getEntryCount()).toBe(5);
	expect(manager.getDiagnostics()).toMatchObject({ duplicateIds: [], orphans: [] });
});

test("an object without an object as JSON is an error", () => {
	const { manager, file, before } = changed((entries) => {
		entries[1].toJSON = () => 5;
	});
	expect(caught(() => manager.appendMessage(user("four"))).message).toBe(
		`Entry ${before[1]} cannot be written: its JSON is not an object`,
	);
	expect(existsSync(file)).toBe(false);
	expect(ids(manager.getBranch())).toEqual(before);
	(manager.getEntries()[1] as any).toJSON = () => undefined;
	expect(caught(() => manager.appendMessage(user("four"))).message).toBe(
		`Entry ${before[1]} has no JSON text: its toJSON gave undefined`,
	);
	delete (manager.getEntries()[1] as any).toJSON;
	const last = manager.appendMessage(user("four"));
	expect(
		jsonLines(file)
			.slice(1)
			.map((line) => line.id),
	).toEqual([...before, last]);
});
