// Every error has a code for programs, and the path that it concerns. Other tests compare messages with pi's.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
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

/** The properties of an error that a program reads. */
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
		() => api.assertValidSessionId("not/an/id"),
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
	const path = join(scratch(), "missing.jsonl");
	expect(caught(() => SessionManager.verify(path))).toMatchObject({ code: "ENOENT", path, syscall: "open", errno: -2 });
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

// Regression: the error named a lock file.
test("a session directory that is a file", () => {
	const dir = join(scratch(), "file");
	writeFileSync(dir, "");
	const manager = SessionManager.create("/project", dir);
	expect(told(() => manager.appendMessage(user("one")))).toEqual({
		// Windows has no other error.
		code: process.platform === "win32" ? "ENOENT" : "ENOTDIR",
		path: expect.stringMatching(/\.jsonl$/),
	});
});
