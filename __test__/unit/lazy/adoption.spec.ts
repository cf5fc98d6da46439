// Sessions in memory that are created from another session's entries.
import { expect, test } from "vitest";
import { anyManager, api, shape, user } from "../../support/scratch.js";
import { openLazy, openReference, sampleFile, waiting } from "./support.js";

test("a session in memory adopts entries without reading large values", () => {
	const file = sampleFile();
	const source = openLazy(file);
	const held = source.getBranch("e9");
	const before = held.map(waiting);
	const given = [source.getHeader(), ...held] as any[];
	const copy = api.SessionManager.inMemory("/somewhere", undefined, given);
	expect(held.map(waiting)).toEqual(before);
	expect(copy.getEntries()).toHaveLength(10);
	for (const [at, one] of copy.getEntries().entries()) expect(one).toBe(held[at]);
	copy.getTree();
	copy.buildContextEntries();
	copy.appendMessage(user("goes on"));
	copy.branch("e3");
	expect(held.map(waiting)).toEqual(before);
	expect(copy.getBranch().map(shape)).toEqual(openReference(file).getBranch("e3").map(shape));
});

test("an empty list counts as no list", () => {
	for (const none of [[], undefined, null]) {
		const manager = anyManager.inMemory?.("/x", { id: "fresh" }, none);
		expect([manager.getSessionId(), manager.getEntryCount(), manager.getLeafId()]).toEqual(["fresh", 0, null]);
	}
});
