// `lock: "exclusive"`: one writer, known by its process; gone with it; nothing that pi would notice.
import { readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { loadReference } from "../support/peer.js";
import { api, caught, header, linesOf, message, scratch, setEnv, user, writeSession } from "../support/store.js";
import { ended, saying, start } from "./children.js";

const { SessionManager } = api;
const file = (): string => writeSession(scratch(), [header(), message("a", null)]);
const exclusive = { lock: "exclusive" } as const;
const openExclusive = (path: string) => SessionManager.open(path, undefined, undefined, exclusive);

const HOLDER = `
	const manager = SessionManager.open(args[0], undefined, undefined, { lock: "exclusive" });
	say("holding " + process.pid);
	process.stdin.on("data", () => {
		manager.appendCustomEntry("held");
		say("appended");
	});
	process.stdin.resume();
	globalThis.kept = manager;
`;

test("a second writer is refused with the holder's process; the holder goes on; a crash ends the lock", async () => {
	const path = file();
	const before = SessionManager.open(path);
	before.appendCustomEntry("early");
	const child = start(HOLDER, [path]);
	const pid = (await saying(child, "holding")).split(" ")[1] as string;
	expect(Number(pid)).toBe(child.pid);
	expect(SessionManager.isLocked(path)).toBe(true);
	expect(caught(() => openExclusive(path)).message).toBe(`Session file is locked by process ${pid}: ${path}`);
	// Without a lock of one's own reading is free, writing is not.
	const reader = SessionManager.open(path);
	expect(reader.getEntryCount()).toBe(2);
	const lines = linesOf(path);
	expect(caught(() => reader.appendCustomEntry("x")).message).toContain(`process ${pid}`);
	expect(linesOf(path)).toEqual(lines);
	expect(reader.getEntryCount()).toBe(2);
	child.stdin?.write("go\n");
	await saying(child, "appended");
	expect(caught(() => before.appendCustomEntry("late")).message).toContain(`process ${pid}`);
	expect(linesOf(path)).toHaveLength(lines.length + 1);
	const end = ended(child);
	child.kill("SIGKILL");
	await end;
	expect(SessionManager.isLocked(path)).toBe(false);
	reader.appendCustomEntry("x");
	const next = openExclusive(path);
	expect(SessionManager.isLocked(path)).toBe(true);
	next.appendCustomEntry("y");
	next.close();
	expect(SessionManager.isLocked(path)).toBe(false);
	expect(readdirSync(dirname(path))).toEqual(["session.jsonl"]);
});

test("in one process too; close lets go, the next append takes it again", () => {
	const path = file();
	const first = openExclusive(path);
	expect(caught(() => openExclusive(path)).message).toContain(`process ${process.pid}`);
	first.close();
	const second = openExclusive(path);
	expect(caught(() => first.appendCustomEntry("x")).message).toContain(`process ${process.pid}`);
	second.close();
	first.appendCustomEntry("x");
	expect(caught(() => second.appendCustomEntry("y")).message).toContain(`process ${process.pid}`);
	expect(first.getEntryCount()).toBe(2);
});

test("pi neither sees the lock nor is kept from anything", async () => {
	const { SessionManager: Pi } = (await loadReference()) as any;
	const dir = scratch();
	const manager = SessionManager.create("/somewhere", dir, exclusive);
	manager.appendMessage(user("ours"));
	const path = manager.getSessionFile() as string;
	expect(readdirSync(dir).filter((name) => name.endsWith(".jsonl"))).toHaveLength(1);
	const theirs = Pi.open(path);
	const id = theirs.appendMessage(user("theirs"));
	expect(await Pi.list("/somewhere", dir)).toHaveLength(1);
	expect(Pi.continueRecent("/somewhere", dir).getSessionFile()).toBe(path);
	manager.appendMessage(user("ours again"));
	expect(manager.getEntry(id)).toBeDefined();
	expect(linesOf(path)).toHaveLength(4);
});

test("the lock goes with the manager to another session, and with the file's links", () => {
	const dir = scratch();
	const manager = SessionManager.create("/somewhere", dir, exclusive);
	manager.appendMessage(user("one"));
	const first = manager.getSessionFile() as string;
	manager.setSessionFile(first);
	expect(SessionManager.isLocked(first)).toBe(true);
	const branched = manager.createBranchedSession(manager.getLeafId() as string) as string;
	expect([first, branched].map((path) => SessionManager.isLocked(path))).toEqual([false, true]);
	manager.newSession();
	manager.appendMessage(user("two"));
	const last = manager.getSessionFile() as string;
	expect([branched, last].map((path) => SessionManager.isLocked(path))).toEqual([false, true]);
	symlinkSync(last, join(dir, "link.jsonl"));
	expect(SessionManager.isLocked(join(dir, "link.jsonl"))).toBe(true);
	expect(caught(() => openExclusive(join(dir, "link.jsonl"))).message).toContain(`process ${process.pid}`);
	manager.close();
	expect(readdirSync(dir).every((name) => name.endsWith(".jsonl"))).toBe(true);
});

test("every static takes the options, the environment gives them where they do not", () => {
	const dir = scratch();
	const made = SessionManager.create("/somewhere", dir, { id: "one", lock: "exclusive", durability: "fsync" });
	made.appendMessage(user("x"));
	const path = made.getSessionFile() as string;
	expect(SessionManager.isLocked(path)).toBe(true);
	made.close();
	const recent = SessionManager.continueRecent("/somewhere", dir, exclusive);
	expect(recent.getSessionFile()).toBe(path);
	expect(SessionManager.isLocked(path)).toBe(true);
	recent.close();
	const fork = SessionManager.forkFrom(path, "/elsewhere", dir, { id: "two", lock: "exclusive" });
	expect(SessionManager.isLocked(fork.getSessionFile() as string)).toBe(true);
	expect(SessionManager.inMemory("/x", exclusive).isPersisted()).toBe(false);
	setEnv({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const byEnvironment = SessionManager.open(path);
	expect(SessionManager.isLocked(path)).toBe(true);
	byEnvironment.close();
	expect(SessionManager.open(path, undefined, undefined, { lock: "none" }).getEntryCount()).toBe(1);
	expect(SessionManager.isLocked(path)).toBe(false);
});

test("options that do not exist are refused by name", () => {
	const path = file();
	for (const [options, text] of [
		[{ lock: "shared" }, 'options.lock must be "none" or "exclusive", not "shared"'],
		[{ durability: "" }, 'options.durability must be "os" or "fsync", not ""'],
		[{ durability: 5 }, "options.durability must be a string"],
		[{ lock: true }, "options.lock must be a string"],
	] as const) {
		for (const call of [
			() => SessionManager.open(path, undefined, undefined, options as never),
			() => SessionManager.create("/x", scratch(), options as never),
			() => SessionManager.continueRecent("/x", scratch(), options as never),
			() => SessionManager.forkFrom(path, "/x", scratch(), options as never),
		]) {
			const error = caught(call);
			expect(error).toBeInstanceOf(TypeError);
			expect(error.message).toBe(text);
		}
	}
	setEnv({ PI_SESSION_NATIVE_DURABILITY: "maybe" });
	expect(caught(() => SessionManager.open(path)).message).toBe(
		'PI_SESSION_NATIVE_DURABILITY must be "os" or "fsync", not "maybe"',
	);
	expect(linesOf(path)).toHaveLength(2);
});
