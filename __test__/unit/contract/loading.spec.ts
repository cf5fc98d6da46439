// Which lines are the header, entries, damage; what opening leaves untouched.
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
	api,
	caught,
	entry,
	header,
	ids,
	linesOf,
	message,
	opened,
	read,
	scratch,
	snapshot,
	text,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

describe("a file whose first line that parses is not a header", () => {
	const NO_SESSION: Record<string, string> = {
		text: "just some notes\nmore\n",
		"a number first": `5\n${text([header()])}`,
		"null first": `null\n${text([header()])}`,
		"an entry first": text([message("a", null), header()]),
		"a header without id": text([{ type: "session", version: 3 }]),
		"a header whose id is a number": text([header({ id: 5 })]),
		"a list": "[]\n",
		"blank lines": "\n \n\t\n",
	};
	for (const [name, content] of Object.entries(NO_SESSION)) {
		test(`is refused and left as it is: ${name}`, () => {
			const dir = scratch();
			const file = join(dir, "no-session.jsonl");
			writeFileSync(file, content, { mode: 0o644 });
			const before = snapshot(dir);
			const error = caught(() => api.SessionManager.open(file));
			expect(error.message).toBe(`Session file is not a valid pi session: ${file}`);
			expect(api.loadEntriesFromFile(file)).toEqual([]);
			expect(snapshot(dir)).toEqual(before);
		});
	}
});

test("lines that do not parse may be before the header, and stay there", () => {
	const file = writeSession(scratch(), ["garbage {", "", header(), message("a", null)]);
	const manager = api.SessionManager.open(file);
	expect(manager.getSessionId()).toBe("s-1");
	manager.appendCustomEntry("x");
	expect(linesOf(file).slice(0, 2)).toEqual(["garbage {", ""]);
	expect(api.loadEntriesFromFile(file)).toHaveLength(3);
});

test("a missing file has no entries, and opening it makes none", () => {
	const dir = scratch();
	const file = join(dir, "later.jsonl");
	expect(api.loadEntriesFromFile(file)).toEqual([]);
	const manager = api.SessionManager.open(file);
	expect(manager.getSessionFile()).toBe(file);
	manager.appendCustomEntry("x");
	expect(existsSync(file)).toBe(false);
	manager.appendMessage(user());
	expect(linesOf(file)).toHaveLength(3);
});

test("an empty file gets its header at once, and a line for every append", () => {
	const file = writeSession(scratch(), []);
	const manager = api.SessionManager.open(file);
	expect(read(file)).toBe(text([manager.getHeader() as any]));
	manager.appendThinkingLevelChange("low");
	expect(linesOf(file)).toHaveLength(2);
});

test("a later line of type session is not an entry", () => {
	const { manager } = opened([message("a", null), header({ id: "other" }), message("b", "a")]);
	expect(ids(manager.getEntries())).toEqual(["a", "b"]);
	expect(manager.getSessionId()).toBe("s-1");
	expect(manager.getEntryCount()).toBe(2);
});

test("the leaf is the last entry, whatever comes after it", () => {
	const { manager } = opened([message("a", null), message("b", "a"), message("c", "a"), "torn {", "7"]);
	expect(manager.getLeafId()).toBe("c");
	expect(ids(manager.getBranch())).toEqual(["a", "c"]);
});

test("a line that is not JSON, no object, or has no string id is damaged: skipped, and kept in the file", () => {
	const damaged = ["{torn", "5", "null", '"text"', "[]", '{"type":"custom"}', '{"type":"custom","id":7}', "{}"];
	const { manager, file } = opened([message("a", null), ...damaged, message("b", "a")]);
	expect(ids(manager.getEntries())).toEqual(["a", "b"]);
	expect(manager.getEntryCount()).toBe(2);
	expect(ids(manager.getBranch())).toEqual(["a", "b"]);
	manager.appendCustomEntry("x");
	expect(linesOf(file).slice(2, -2)).toEqual(damaged);
});

test("a damaged last line leaves the leaf where it was", () => {
	const { manager } = opened([message("a", null), '{"type":"message","parentId":"a"}', "null"]);
	expect(manager.getLeafId()).toBe("a");
	expect(manager.appendCustomEntry("x")).toBe(manager.getLeafId());
	expect(manager.getLeafEntry()?.parentId).toBe("a");
});

test("a message entry without a message object stays in the tree and contributes no message", () => {
	for (const body of [{}, { message: null }, { message: "text" }, { message: 5 }]) {
		const { manager } = opened([message("a", null), entry("message", "b", "a", body), message("c", "b")]);
		expect(ids(manager.getBranch())).toEqual(["a", "b", "c"]);
		expect(manager.buildSessionContext().messages).toHaveLength(2);
		expect(manager.buildSessionProjection().entries[1]?.messages).toEqual([]);
		manager.appendCompaction("s", "b", 1);
		expect(manager.buildSessionContext().messages).toHaveLength(2);
	}
});

test("labels replay in file order; an empty or missing one clears", () => {
	const label = (id: string, targetId: string, value?: unknown) => entry("label", id, null, { targetId, label: value });
	const { manager } = opened([
		...["a", "b", "c", "d"].map((id) => message(id, null)),
		label("1", "a", "first"),
		label("2", "a", "second"),
		label("3", "b", "gone"),
		label("4", "b", ""),
		label("5", "c", "gone"),
		label("6", "c"),
		label("7", "d", "d"),
		label("8", "not there", "kept"),
	]);
	expect(["a", "b", "c", "d", "not there"].map((id) => manager.getLabel(id))).toEqual([
		...["second", undefined, undefined, "d", "kept"],
	]);
});

test("a header above 1 MiB is found by all calls", async () => {
	const dir = scratch();
	const file = writeSession(dir, [header({ extra: "x".repeat((1 << 20) + 5) }), message("a", null)]);
	const { SessionManager } = api;
	expect(SessionManager.open(file).getCwd()).toBe(resolve("/somewhere"));
	expect(SessionManager.findById("/somewhere", "s-1", dir)).toBe(file);
	expect(api.findMostRecentSession(dir)).toBe(file);
	expect(api.findMostRecentSession(dir, "/somewhere")).toBe(file);
	expect(SessionManager.continueRecent("/somewhere", dir).getSessionFile()).toBe(file);
	expect((await SessionManager.list("/somewhere", dir)).map((one) => one.path)).toEqual([file]);
	expect(api.loadEntriesFromFile(file)).toHaveLength(2);
});

test("reading never changes a file whose last line is not ended", async () => {
	for (const last of ['{"type":"custom","id":"b","parentId":"a"}', '{"type":"custom","id":"b","par']) {
		const dir = scratch();
		const file = join(dir, "open.jsonl");
		writeFileSync(file, text([header(), message("a", null)]) + last);
		const before = snapshot(dir);
		const manager = api.SessionManager.open(file);
		manager.getEntries();
		manager.getTree();
		manager.buildSessionContext();
		api.loadEntriesFromFile(file);
		await api.SessionManager.list("/somewhere", dir);
		api.SessionManager.continueRecent("/somewhere", dir);
		expect(snapshot(dir)).toEqual(before);
	}
});

test("an unterminated last line is ended before the first append, whether it parses or not", () => {
	for (const [last, parent] of [
		['{"type":"custom","id":"b","parentId":"a"}', "b"],
		['{"type":"custom","id":"b","par', "a"],
		["", "a"],
	] as const) {
		const file = join(scratch(), "open.jsonl");
		const start = text([header(), message("a", null)]);
		writeFileSync(file, last === "" ? start.slice(0, -1) : start + last);
		const manager = api.SessionManager.open(file);
		const id = manager.appendCustomEntry("x");
		manager.appendCustomEntry("y");
		expect(manager.getEntry(id)?.parentId).toBe(parent);
		expect(read(file).startsWith(last === "" ? start : `${start}${last}\n{`)).toBe(true);
		expect(JSON.stringify(api.SessionManager.open(file).getEntries())).toBe(JSON.stringify(manager.getEntries()));
	}
});

test("an entry is one object in every read, and the arrays are fresh", () => {
	const { manager } = opened([message("a", null), message("b", "a")]);
	const b = manager.getEntry("b");
	expect(manager.getEntries()[1]).toBe(b);
	expect(manager.getLeafEntry()).toBe(b);
	expect(manager.getBranch()[1]).toBe(b);
	expect(manager.getChildren("a")[0]).toBe(b);
	expect(manager.buildContextEntries()[1]).toBe(b);
	expect(manager.getTree()[0]?.children[0]?.entry).toBe(b);
	manager.getEntries().length = 0;
	manager.getBranch().reverse();
	manager.getTree()[0]?.children.pop();
	expect(ids(manager.getEntries())).toEqual(["a", "b"]);
	expect(ids(manager.getBranch())).toEqual(["a", "b"]);
	expect(manager.getHeader()).toBe(manager.getHeader());
});

test("parseSessionEntries keeps every value that parses, and takes any text", () => {
	expect(api.parseSessionEntries('5\nnull\n{"a":1}\ntorn{\n\n [] \r\n"x"')).toEqual([5, null, { a: 1 }, [], "x"]);
	expect(api.parseSessionEntries("")).toEqual([]);
});

testWith("links")("a link to a session opens it; a dangling one hides nothing", async () => {
	const dir = scratch();
	mkdirSync(join(dir, "real"));
	const file = writeSession(join(dir, "real"), [header(), message("a", null)]);
	symlinkSync(file, join(dir, "link.jsonl"));
	symlinkSync(join(dir, "nowhere"), join(dir, "dangling.jsonl"));
	const linked = join(dir, "link.jsonl");
	expect(api.SessionManager.open(linked).getEntryCount()).toBe(1);
	expect(api.findMostRecentSession(dir)).toBe(linked);
	expect(api.SessionManager.continueRecent("/somewhere", dir).getSessionFile()).toBe(linked);
	expect(api.SessionManager.findById("/somewhere", "s-1", dir)).toBe(linked);
	expect((await api.SessionManager.list("/somewhere", dir)).map((one) => one.path)).toEqual([linked]);
});
