// Every error has a code for programs, and the path that it is about. Messages are held against pi's elsewhere.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionManager as Manager } from "../../../index.js";
import { api, caught, root, scratch } from "../../support/scratch.js";

const { SessionManager } = api;

const user = (content: string): any => ({ role: "user", content, timestamp: 1 });

/** A session with two messages and its file. */
function session(): { manager: Manager; file: string; dir: string } {
	const dir = scratch();
	const manager = SessionManager.create("/project", dir);
	manager.appendMessage(user("one"));
	manager.appendMessage(user("two"));
	return { manager, file: manager.getSessionFile() as string, dir };
}

/** What a program sees of an error. */
const told = (work: () => unknown): unknown => {
	const { code, path } = caught(work);
	return { code, path };
};

test("an unknown entry", () => {
	const { manager } = session();
	for (const work of [
		() => manager.branch("nope"),
		() => manager.appendLabelChange("nope", "label"),
		() => manager.createBranchedSession("nope"),
		() => manager.appendContextEdit("nope", null),
		() => manager.branchWithSummary("nope", "summary"),
	])
		expect(told(work)).toEqual({ code: "ERR_ENTRY_NOT_FOUND", path: undefined });
});

test("an entry that a context edit cannot apply to", () => {
	const { manager } = session();
	const [first] = manager.getEntries();
	const custom = manager.appendCustomEntry("note");
	expect(told(() => manager.appendContextEdit(custom, null))).toEqual({
		code: "ERR_ENTRY_NOT_EDITABLE",
		path: undefined,
	});
	manager.branch(first?.id as string);
	expect(told(() => manager.appendContextEdit(custom, null))).toEqual({
		code: "ERR_ENTRY_NOT_EDITABLE",
		path: undefined,
	});
});

test("arguments that cannot be used", () => {
	const { manager, file, dir } = session();
	const calls: (() => unknown)[] = [
		() => manager.appendContextEdit("x", 5 as any),
		() => SessionManager.create("/project", dir, { id: "not/an/id" }),
		() => SessionManager.create("/project", dir, { durability: "disk" } as any),
		() => manager.onAppend(5 as any),
		() => SessionManager.open(5 as any),
		() => SessionManager.merge(file, { session: manager.getSessionId(), lines: new Uint8Array([10]) }),
	];
	for (const work of calls) expect(told(work), String(work)).toEqual({ code: "ERR_INVALID_ARGUMENT", path: undefined });
});

test("a file that is not a session", () => {
	const path = join(scratch(), "x.jsonl");
	writeFileSync(path, '{"type":"other"}\n');
	for (const work of [() => SessionManager.open(path), () => SessionManager.forkFrom(path, "/elsewhere", scratch())])
		expect(told(work)).toEqual({ code: "ERR_SESSION_INVALID", path });
});

test("a session that another manager has locked", () => {
	const { manager, file } = session();
	manager.close();
	const holder = SessionManager.open(file, { lock: "exclusive" });
	expect(told(() => SessionManager.open(file, { lock: "exclusive" }))).toEqual({
		code: "ERR_SESSION_LOCKED",
		path: file,
	});
	holder.close();
});

test("a session file that another session has replaced", () => {
	const { manager, file } = session();
	const other = session();
	rmSync(file);
	writeFileSync(file, readFileSync(other.file));
	expect(told(() => manager.appendMessage(user("three")))).toEqual({ code: "ERR_SESSION_CHANGED", path: file });
});

test("errors of the operating system have Node's codes", () => {
	const dir = scratch();
	const path = join(dir, "missing.jsonl");
	expect(caught(() => SessionManager.verify(path))).toMatchObject({ code: "ENOENT", path, syscall: "open", errno: -2 });
	mkdirSync(join(dir, "folder.jsonl"));
	expect(caught(() => SessionManager.open(join(dir, "folder.jsonl")))).toMatchObject({
		code: "EISDIR",
		path: join(dir, "folder.jsonl"),
	});
});

/** Calls of every static and function with an argument that cannot be used; `dir` is a directory. */
const WRONG: Record<string, (dir: string) => unknown[]> = {
	assertValidSessionId: () => ["not/an/id"],
	buildContextEntries: () => [5],
	buildSessionContext: () => [[5]],
	buildSessionProjection: () => [[], "a", 5],
	continueRecent: (dir) => ["/project", dir, { wrong: 1 }],
	create: () => [5],
	filesOf: () => [5],
	findById: () => [5, "id"],
	findByIdPrefix: () => [5],
	findMostRecentSession: () => [5],
	forget: () => [5],
	forkFrom: () => [5, "/project"],
	getConfiguredSessionDir: () => ["/project", { onWarning: 5 }],
	getDefaultSessionDir: () => ["/project", 5],
	getLatestCompactionEntry: () => [[5]],
	inMemory: () => [5],
	isLocked: () => ["null\0byte"],
	list: () => [5],
	listAll: (dir) => [dir, () => {}, 5],
	loadEntriesFromFile: () => [5],
	merge: (dir) => [join(dir, "x.jsonl"), { session: "s", lines: "text" }],
	migrateSessionEntries: () => [[5]],
	move: (dir) => [join(dir, "x.jsonl"), { from: "/project" }],
	open: (dir) => [join(dir, "x.jsonl"), { readonly: "yes" }],
	parseSessionEntries: () => [5],
	projectContextEntry: () => [null],
	readSessionHeader: () => [5],
	readTexts: () => [5],
	redact: (dir) => [join(dir, "x.jsonl"), { text: 5 }],
	redactLines: () => [["text"], { text: "x" }],
	repair: () => [5],
	search: () => ["words", { limit: -1 }],
	sessionEntryToContextMessages: () => [undefined],
	setAgentDir: () => [5],
	setParentSession: (dir) => [join(dir, "x.jsonl"), 5],
	tryLockFile: () => [5],
	usage: () => [{ by: "year" }],
	verify: () => [5],
	withoutEscapeSequences: () => [5],
};

test("every static and function: a wrong argument is an error with a code", async () => {
	const holders: Record<string, any>[] = [api, SessionManager as any];
	const all = holders.flatMap((holder) =>
		Object.getOwnPropertyNames(holder).filter((name) => typeof holder[name] === "function"),
	);
	const calls = all.filter((name) => !["SessionManager", "prototype", "entryKinds"].includes(name));
	expect(Object.keys(WRONG)).toEqual(calls.sort());
	for (const [name, args] of Object.entries(WRONG)) {
		const call = holders.map((holder) => holder[name]).find((value) => value !== undefined);
		const error = await Promise.resolve()
			.then(() => call(...args(scratch())))
			.then(
				() => undefined,
				(reason: unknown) => reason,
			);
		expect(error, name).toBeInstanceOf(name === "assertValidSessionId" ? Error : TypeError);
		expect(error, name).toMatchObject({ code: "ERR_INVALID_ARGUMENT" });
	}
});

test("every method: on anything but a manager it is a TypeError with a code", () => {
	const { prototype } = SessionManager as any;
	const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
	expect(names.length).toBeGreaterThan(40);
	for (const name of names) {
		const error = caught(() => Reflect.apply(prototype[name], {}, []));
		expect(error, name).toMatchObject({ name: "TypeError", code: "ERR_INVALID_ARGUMENT" });
	}
	expect(caught(() => new (SessionManager as any)())).toMatchObject({
		name: "TypeError",
		code: "ERR_INVALID_ARGUMENT",
	});
});

test("the codes are those of the declarations", () => {
	const declared = [
		...(
			/export type SessionErrorCode =([^;]*);/.exec(readFileSync(join(root, "index.d.ts"), "utf8"))?.[1] ?? ""
		).matchAll(/"(ERR_\w+)"/g),
	].map(([, code]) => code);
	const core = readFileSync(join(root, "crates/session-core/src/base/error.rs"), "utf8");
	const named = [...core.matchAll(/= "(ERR_\w+)"/g)].map(([, code]) => code);
	expect(declared.length).toBeGreaterThan(5);
	expect(declared.sort()).toEqual(named.sort());
});
