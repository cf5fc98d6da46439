// Sessions in memory, of the caller's own objects.
import { resolve } from "node:path";
import { expect, test } from "vitest";
import {
	anyManager,
	api,
	caught,
	enter,
	entry,
	header,
	ids,
	message,
	opened,
	scratch,
	shape,
	user,
} from "../../support/scratch.js";

test("entries are adopted as they are: the same objects, unchanged", () => {
	const { manager } = opened([message("a", null), entry("invented", "b", "a", { "9": 1, z: -0 }), message("c", "b")]);
	const given: any[] = [manager.getHeader(), ...manager.getBranch()];
	const before = given.map(shape);
	const copy = api.SessionManager.inMemory("/x", undefined, given);
	expect(copy.getHeader()).toBe(given[0]);
	expect(copy.getEntries()).toHaveLength(3);
	for (const [at, one] of copy.getEntries().entries()) expect(one).toBe(given[at + 1]);
	copy.appendMessage(user());
	copy.branch("a");
	copy.getTree();
	expect(given.slice(0, 4).map(shape)).toEqual(before);
	expect([manager.getEntryCount(), copy.getEntryCount()]).toEqual([3, 4]);
});

test("frozen entries are adopted", () => {
	const given = [header(), message("a", null)].map((one) => Object.freeze(one)) as any[];
	const manager = api.SessionManager.inMemory("/x", undefined, given);
	expect(manager.getEntry("a")).toBe(given[1]);
	expect(manager.getEntry(manager.appendCustomEntry("x"))?.parentId).toBe("a");
});

test("the header's id wins over the options', and the given cwd over the header's", () => {
	const manager = api.SessionManager.inMemory("/mine", { id: "option" }, [header(), message("a", null)] as any[]);
	expect([manager.getSessionId(), manager.getCwd()]).toEqual(["s-1", resolve("/mine")]);
});

test("without a header they follow a new one, with the options' id", () => {
	const a = message("a", null) as any;
	const manager = api.SessionManager.inMemory("/mine", { id: "option", parentSession: "/p" }, [a]);
	expect(manager.getSessionId()).toBe("option");
	expect(manager.getHeader()).toMatchObject({
		type: "session",
		version: 3,
		id: "option",
		cwd: resolve("/mine"),
		parentSession: "/p",
	});
	expect(manager.getEntries()).toEqual([a]);
	expect(manager.getLeafEntry()).toBe(a);
});

test("an empty list counts as no list", () => {
	for (const none of [[], undefined, null]) {
		const manager = anyManager.inMemory?.("/x", { id: "fresh" }, none);
		expect([manager.getSessionId(), manager.getEntryCount(), manager.getLeafId()]).toEqual(["fresh", 0, null]);
	}
});

test("a session in memory has no file and no directory, and never gets them", () => {
	const dir = scratch();
	enter(dir);
	const manager = api.SessionManager.inMemory();
	expect([manager.getCwd(), manager.getSessionDir(), manager.isPersisted()]).toEqual([dir, "", false]);
	manager.appendMessage(user());
	expect(manager.getSessionFile()).toBeUndefined();
	expect(manager.newSession()).toBeUndefined();
	expect(manager.getEntryCount()).toBe(0);
});

test("labels, names and the leaf are those of the adopted entries", () => {
	const given = [
		header(),
		message("a", null),
		entry("label", "l", "a", { targetId: "a", label: "here" }),
		entry("session_info", "n", "l", { name: "named" }),
	];
	const manager = api.SessionManager.inMemory("/x", undefined, given as any[]);
	expect([manager.getLabel("a"), manager.getSessionName(), manager.getLeafId()]).toEqual(["here", "named", "n"]);
	expect(ids(manager.getBranch())).toEqual(["a", "l", "n"]);
});

test("what is not a list of objects is refused by name", () => {
	for (const bad of ["text", { length: 1 }, [null], [header(), undefined], [header(), null], [undefined]]) {
		const error = caught(() => anyManager.inMemory?.("/x", undefined, bad));
		expect(error).toBeInstanceOf(TypeError);
		expect(error.message).toContain("entries");
	}
});
