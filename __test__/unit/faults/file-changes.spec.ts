// The file changes under an open manager (docs/durability.md): no line of ours or of others is overwritten, entries
// keep their objects, and the manager reports the change.
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	api,
	caught,
	header,
	ids,
	jsonLines,
	linesOf,
	message,
	modeOf,
	oldSession,
	opened,
	scratch,
	text,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";
import { kinds, replace } from "./files.js";

const { SessionManager } = api;
const begun = () => opened([message("a", null, user("one")), message("b", "a", user("two"))]);

test("reload and append read the lines of other writers", () => {
	const { manager, file } = begun();
	const before = manager.getEntries();
	appendFileSync(file, text([message("theirs", "b", user("three"))]));
	manager.reload();
	expect(ids(manager.getEntries())).toEqual(["a", "b", "theirs"]);
	expect(manager.getLeafId()).toBe("b");
	expect(
		manager
			.getEntries()
			.slice(0, 2)
			.every((one, at) => one === before[at]),
	).toBe(true);
	appendFileSync(file, text([message("more", "theirs", user("four"))]));
	const id = manager.appendMessage(user("ours"));
	expect(manager.getEntry(id)?.parentId).toBe("b");
	expect(ids(manager.getEntries())).toEqual(["a", "b", "theirs", "more", id]);
	expect(manager.getDiagnostics().foreignChanges).toMatchObject([{ kind: "grown", count: 2, entries: 2 }]);
});

describe("a deleted file", () => {
	// Regression: when a viewer was closed, it wrote a session again that its user had deleted.
	test("a closed viewer does not restore a deleted session", () => {
		const { manager, file } = opened([message("a", null)]);
		manager.getEntries();
		rmSync(file);
		manager.close();
		expect(existsSync(file)).toBe(false);
		const writer = opened([message("a", null)]);
		const id = writer.manager.appendMessage(user("mine"));
		rmSync(writer.file);
		writer.manager.close();
		expect(ids(SessionManager.open(writer.file).getEntries())).toEqual(["a", id]);
	});

	test("a session deleted while closed is not written again", () => {
		const { manager, file } = begun();
		rmSync(file);
		manager.appendMessage(user("after"));
		expect(
			jsonLines(file)
				.slice(0, 3)
				.map((one) => one.id),
		).toEqual(["s-1", "a", "b"]);
		expect(linesOf(file)).toHaveLength(4);
		manager.getEntries();
		manager.close();
		rmSync(file);
		const error = caught(() => manager.appendMessage(user("more")));
		expect(error).toMatchObject({ code: "ERR_SESSION_DELETED", path: file });
		expect(existsSync(file)).toBe(false);
		expect(manager.getEntryCount()).toBe(3);
		// The entries in memory can be written to a new session.
		expect(linesOf(manager.createBranchedSession(manager.getLeafId() as string) as string)).toHaveLength(4);
	});
});

describe("replaced or cut", () => {
	test("by the same session: our entries are added", () => {
		const { manager, file } = begun();
		const own = manager.appendMessage(user("ours"));
		const [a, b, ours] = manager.getEntries();
		const theirs = message("theirs", "b", user("three"));
		replace(file, text([header(), message("a", null, user("one")), message("b", "a", user("two")), theirs]));
		const id = manager.appendMessage(user("after"));
		expect(jsonLines(file).map((one) => one.id)).toEqual(["s-1", "a", "b", "theirs", own, id]);
		expect(ids(manager.getEntries())).toEqual(["a", "b", "theirs", own, id]);
		expect(manager.getEntry(id)?.parentId).toBe(own);
		expect(manager.getEntry("theirs")).toEqual(theirs);
		expect([manager.getEntry("a"), manager.getEntry("b"), manager.getEntry(own)]).toEqual([a, b, ours]);
		expect(manager.getEntry("a")).toBe(a);
		expect(manager.getEntry(own)).toBe(ours);
		expect(kinds(manager)).toContain("replaced");
		expect(ids(manager.getBranch())).toEqual(["a", "b", own, id]);
	});

	test("large bodies are still read from the old file", () => {
		const large = "x".repeat(50_000);
		const { manager, file } = opened([message("a", null, user(large)), message("b", "a", user(`${large}!`))]);
		const [a] = manager.getEntries() as any[];
		manager.appendMessage(user("ours"));
		replace(file, text([header(), message("0", null, user("before")), message("b", "a", user(`${large}!`))]));
		manager.appendMessage(user("after"));
		expect(a.message.content).toBe(large);
		expect((manager.getEntry("b") as any).message.content).toBe(`${large}!`);
		expect(manager.getEntry("a")).toBeUndefined();
	});
});

test("flush and close leave a manager usable", () => {
	const { manager, file } = begun();
	manager.close();
	manager.close();
	manager.flush();
	manager.appendCustomEntry("x");
	manager.close();
	expect(ids(manager.getEntries())).toHaveLength(3);
	expect(linesOf(file)).toHaveLength(4);
	const dir = scratch();
	const made = SessionManager.create("/somewhere", dir);
	made.appendCustomEntry("x");
	for (const call of ["flush", "close", "reload"] as const) made[call]();
	expect(() => statSync(made.getSessionFile() as string)).toThrow();
	made.appendMessage(user());
	expect(linesOf(made.getSessionFile() as string)).toHaveLength(3);
	for (const call of ["flush", "close", "reload"] as const) SessionManager.inMemory("/x")[call]();
});

testWith("modes")("migrations and repairs keep the mode, also of their backups", () => {
	const old = oldSession();
	chmodSync(old, 0o640);
	SessionManager.open(old);
	expect(modeOf(old)).toBe(0o640);
	appendFileSync(old, "torn");
	// Deno's `appendFileSync` sets the mode of an existing file.
	chmodSync(old, 0o640);
	SessionManager.repair(old);
	expect([old, `${old}.bak`, `${old}.v1.bak`].map(modeOf)).toEqual([0o640, 0o640, 0o640]);
	expect(readFileSync(`${old}.bak`, "utf8").endsWith("torn")).toBe(true);
});

// Regression: a deleted file was written again without its mode.
testWith("modes")("a deleted file that is written again has its mode", () => {
	const call: Record<string, (manager: ReturnType<typeof SessionManager.open>) => unknown> = {
		append: (manager) => manager.appendCustomEntry("x"),
		flush: (manager) => manager.flush(),
		reload: (manager) => manager.reload(),
		close: (manager) => manager.close(),
	};
	for (const [name, again] of Object.entries(call)) {
		const file = writeSession(scratch(), [header(), message("a", null)]);
		chmodSync(file, 0o664);
		const manager = SessionManager.open(file);
		// `close` writes the file again if entries were appended.
		manager.appendCustomEntry("mine");
		rmSync(file);
		again(manager);
		expect([name, modeOf(file)]).toEqual([name, 0o664]);
	}
});

test("ids and names cannot leave the session directory", () => {
	const outer = scratch();
	const dir = join(outer, "sessions");
	mkdirSync(dir);
	for (const id of ["../up", "..", "a/b", "a\\b", "/abs", "a\0b", `${"x".repeat(5)}/`]) {
		expect(caught(() => SessionManager.create("/x", dir, { id })).message).toMatch(/^Session id must be/);
	}
	const manager = SessionManager.create("/x", dir, { id: "a..b" });
	manager.appendSessionInfo("../../name");
	manager.appendMessage(user());
	expect(dirname(manager.getSessionFile() as string)).toBe(dir);
	expect(manager.getSessionName()).toBe("../../name");
	const hostile = writeSession(outer, [header({ id: "../../evil" }), message("a", null)]);
	const copy = SessionManager.open(hostile, dir);
	expect(dirname(copy.createBranchedSession("a") as string)).toBe(dir);
	expect(dirname(SessionManager.forkFrom(hostile, "../../x", dir).getSessionFile() as string)).toBe(dir);
});

// Regression: an entry whose object differs from its JSON counted as a change of the file.
test("entries with a toJSON of their own change no file", () => {
	const gives = (json: unknown): any => ({ ...user(), toJSON: () => json });
	const appends: Record<string, (manager: ReturnType<typeof begun>["manager"]) => unknown> = {
		"a label that is no number in JSON": (manager) => manager.appendLabelChange("a", Number.POSITIVE_INFINITY as any),
		"a label without JSON": (manager) => manager.appendLabelChange("a", (() => "x") as any),
		"a summary without JSON": (manager) => manager.appendCompaction((() => "x") as any, "a", 5),
		"another role": (manager) => manager.appendMessage(gives({ ...user(), role: "assistant" })),
		"no content": (manager) => manager.appendMessage(gives({ role: "user" })),
		"a text": (manager) => manager.appendMessage(gives("a text")),
	};
	for (const [name, append] of Object.entries(appends)) {
		const { manager, file } = begun();
		append(manager);
		const before = manager.getEntries();
		// The next check reads the whole file.
		utimesSync(file, 5, 5);
		manager.reload();
		expect(
			manager.getEntries().every((one, at) => one === before[at]),
			name,
		).toBe(true);
		expect(kinds(manager), name).toEqual([]);
	}
});
