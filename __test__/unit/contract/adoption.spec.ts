import { expect, test } from "vitest";
import { anyManager, api, caught, enter, header, scratch, user } from "../../support/scratch.js";

test("an empty list counts as no list", () => {
	for (const none of [[], undefined, null]) {
		const manager = anyManager.inMemory?.("/x", { id: "fresh" }, none);
		expect([manager.getSessionId(), manager.getEntryCount(), manager.getLeafId()]).toEqual(["fresh", 0, null]);
	}
});

test("a session in memory never gets a file", () => {
	const dir = scratch();
	enter(dir);
	const manager = api.SessionManager.inMemory();
	expect([manager.getCwd(), manager.getSessionDir(), manager.isPersisted()]).toEqual([dir, "", false]);
	manager.appendMessage(user());
	expect(manager.getSessionFile()).toBeUndefined();
	expect(manager.newSession()).toBeUndefined();
	expect(manager.getEntryCount()).toBe(0);
});

test("only a list of objects is accepted", () => {
	for (const bad of ["text", { length: 1 }, [null], [header(), undefined], [header(), null], [undefined]]) {
		const error = caught(() => anyManager.inMemory?.("/x", undefined, bad));
		expect(error).toBeInstanceOf(TypeError);
		expect(error.message).toContain("entries");
	}
});
