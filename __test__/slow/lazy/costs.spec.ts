// Measures reads, writes and memory from outside: bytes that must not be read are damaged, and the system counts the
// calls.
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import {
	api,
	assistant,
	entry,
	header,
	type Json,
	LOAD,
	message,
	scratch,
	user,
	writeSession,
} from "../../support/scratch.js";
import { long, openLazy } from "../../unit/lazy/support.js";

/** Overwrites the lines of these entries in place with bytes that no reader accepts. */
function harm(file: string, ids: readonly string[]): void {
	const text = readFileSync(file, "utf8");
	const fd = openSync(file, "r+");
	let at = 0;
	for (const line of text.split("\n")) {
		const length = Buffer.byteLength(line);
		if (ids.some((id) => line.includes(`"id":"${id}"`))) writeSync(fd, Buffer.alloc(length, "#"), 0, length, at);
		at += length + 1;
	}
	closeSync(fd);
}

const ids = Array.from({ length: 40 }, (_, at) => `m${at}`);
const chain = (): Json[] =>
	ids.map((id, at) => message(id, ids[at - 1] ?? null, at % 2 ? assistant(long(id)) : user(long(id))));

test("one entry is made by itself", () => {
	const file = writeSession(scratch(), [header(), ...chain()]);
	const manager = openLazy(file);
	harm(
		file,
		ids.filter((id) => id !== "m7"),
	);
	expect(manager.getEntry("m7")).toMatchObject({
		id: "m7",
		message: { content: [{ type: "text", text: long("m7") }] },
	});
	expect(() => manager.getEntry("m8")).toThrow("Session file changed underneath");
});

test("a branch is made without its siblings", () => {
	const file = writeSession(scratch(), [
		header(),
		...chain(),
		message("s", "m3", user("aside")),
		message("t", "s", user("on")),
	]);
	const manager = openLazy(file);
	harm(file, ids.slice(4));
	expect(manager.getBranch("t").map((one) => one.id)).toEqual(["m0", "m1", "m2", "m3", "s", "t"]);
});

test("a limited branch reads none of its older entries", () => {
	const file = writeSession(scratch(), [header(), ...chain()]);
	const manager = openLazy(file);
	harm(file, ids.slice(0, 30));
	expect(manager.getBranch(undefined, { limit: 10 }).map((one) => one.id)).toEqual(ids.slice(30));
});

test("the context reads no entry before its compaction", () => {
	const compaction = entry("compaction", "c", "m39", { summary: "so far", firstKeptEntryId: "m30", tokensBefore: 5 });
	const file = writeSession(scratch(), [header(), ...chain(), compaction, message("n", "c", user("on"))]);
	const manager = openLazy(file);
	harm(file, ids.slice(0, 30));
	const { messages } = manager.buildSessionContext();
	expect(messages.map((one) => one.role)).toEqual([
		"compactionSummary",
		...Array(5).fill(["user", "assistant"]).flat(),
		"user",
	]);
	expect(manager.buildContextEntries()).toHaveLength(12);
});

test("an append writes once to a file that stays open", () => {
	const dir = scratch();
	mkdirSync(dir, { recursive: true });
	const manager = api.SessionManager.create("/work", dir);
	manager.appendMessage(user("hello"));
	manager.appendMessage(assistant("here"));
	const file = manager.getSessionFile() as string;
	const descriptors = (): string[] => readdirSync("/proc/self/fd").filter((fd) => isOpenOn(fd, file));
	const before = descriptors();
	expect(before).toHaveLength(1);
	const writes = (): number => Number(/^syscw: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
	const from = writes();
	for (let at = 0; at < 1_000; at++)
		manager.appendMessage(user(`more ${at} ${at % 10 === 0 ? long("x", 10_000) : ""}`));
	// The engine may have woken one of its threads meanwhile, which is also a write.
	const made = writes() - from;
	expect(made).toBeGreaterThanOrEqual(1_000);
	expect(made).toBeLessThan(1_100);
	expect(descriptors()).toEqual(before);
	expect(readFileSync(file, "utf8").split("\n")).toHaveLength(1_004);
});

function isOpenOn(fd: string, file: string): boolean {
	try {
		return readlinkSync(`/proc/self/fd/${fd}`) === file;
	} catch {
		return false;
	}
}

/** Runs a script that may collect garbage, in another process. Returns its result. */
function measured(body: string): Record<string, number> {
	const script = `${LOAD}
		process.stdout.write(JSON.stringify((() => {${body}})()));`;
	// Other runtimes have no such flag.
	const node = process.versions.bun || process.versions.deno ? "node" : process.execPath;
	const { stdout, stderr } = spawnSync(node, ["--expose-gc", "-e", script], { encoding: "utf8" });
	expect(stderr).toBe("");
	return JSON.parse(stdout);
}

test("an append makes no entry object; who reads it does", () => {
	const { appended, looked, count } = measured(`
		const COUNT = 50_000;
		const heap = () => (gc(), gc(), process.memoryUsage().heapUsed);
		const message = { role: "user", content: "the same every time", timestamp: 1 };
		const manager = SessionManager.create("/work", ${JSON.stringify(scratch())});
		manager.appendMessage(message);
		const before = heap();
		for (let at = 0; at < COUNT; at++) manager.appendMessage(message);
		const appended = (heap() - before) / COUNT;
		const entries = manager.getEntries();
		return { appended, looked: (heap() - before) / COUNT - appended, count: entries.length };`);
	expect(count).toBe(50_001);
	// An append keeps a slot in the list, and an object with the own fields. A read adds id, parent's id and time.
	expect(appended).toBeLessThan(80);
	expect(looked).toBeGreaterThan(100);
});

test("what an open keeps is the index, not the file", () => {
	const body = [{ type: "text", text: long("x", 100_000) }];
	const lines = Array.from({ length: 600 }, (_, at) =>
		message(`m${at}`, at ? `m${at - 1}` : null, { ...user(""), content: body }),
	);
	const file = writeSession(scratch(), [header(), ...lines]);
	const { opened, looked, peak, count } = measured(`
		const rss = () => (gc(), gc(), process.memoryUsage.rss());
		// Of this program, because getrusage also counts the process from which it was forked.
		const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(require("node:fs").readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
		SessionManager.inMemory("/work").appendMessage({ role: "user", content: "warm", timestamp: 1 });
		const before = rss();
		const manager = SessionManager.open(${JSON.stringify(file)});
		const opened = rss() - before;
		for (const one of manager.getEntries()) if (one.message.role !== "user") throw new Error("no");
		manager.buildSessionContext();
		const looked = rss() - before;
		return { opened, looked, peak: peak() - before, count: manager.getEntryCount() };`);
	expect(count).toBe(600);
	// The file has 60 MB. The reading threads keep their buffers for a while.
	expect(opened).toBeLessThan(15e6);
	expect(looked).toBeLessThan(15e6);
	expect(peak).toBeLessThan(30e6);
});

/** A session of very many small entries: its index is as large as its file. */
function indexed(count: number): string {
	const lines = Array.from({ length: count }, (_, at) => message(`m${at}`, at ? `m${at - 1}` : null, user("x")));
	return writeSession(scratch(), [header(), ...lines]);
}

const LOOPS: Record<string, string> = {
	"opened and dropped": "SessionManager.open(file).getEntryCount();",
	"left for the next by one manager": "manager.setSessionFile(file); manager.getLeafEntry();",
	"forked and dropped": "SessionManager.forkFrom(file, dir, dir).getLeafId();",
	"made in memory and dropped":
		"const made = SessionManager.inMemory('/work'); for (let n = 0; n < 60_000; n++) made.appendCustomEntry('x');",
	"made of entries and dropped": "SessionManager.inMemory('/work', undefined, entries);",
};

for (const [what, work] of Object.entries(LOOPS)) {
	test(`sessions ${what} release their memory within one turn`, () => {
		const file = indexed(60_000);
		const rounds = 24;
		const { one, all } = measured(`
			const rss = () => process.memoryUsage.rss();
			const [file, dir] = ${JSON.stringify([file, scratch()])};
			const before = rss();
			const manager = SessionManager.open(file);
			const one = rss() - before;
			const entries = ${what.includes("entries") ? "manager.getEntries()" : "[]"};
			let most = 0;
			for (let at = 0; at < ${rounds}; at++) {
				${work}
				most = Math.max(most, rss());
			}
			return { one, all: most - before, held: manager.getEntryCount() };`) as { one: number; all: number };
		// Each round used several MB. The sum is smaller, because the engine collects when there is enough to collect.
		expect(one).toBeGreaterThan(5e6);
		expect(all).toBeLessThan(rounds * one * 0.7);
	});
}

test("entries read their bodies after many other sessions were opened", () => {
	const lines = Array.from({ length: 200 }, (_, at) =>
		message(`m${at}`, at ? `m${at - 1}` : null, user(long(`m${at}`))),
	);
	const file = writeSession(scratch(), [header(), ...lines]);
	const { read, more } = measured(`
		const file = ${JSON.stringify(file)};
		const held = [];
		for (let at = 0; at < 200; at++) {
			const manager = SessionManager.open(file);
			if (at % 3 === 0) manager.getEntries();
			held.push(manager.getEntry("m" + at));
			if (at % 10 === 0) gc();
		}
		gc();
		for (let at = 0; at < 50; at++) SessionManager.open(file);
		const read = held.filter(({ id, message }) => message.content.startsWith(id + " ")).length;
		return { read, more: held.filter((one) => JSON.stringify(one).length > 500).length };`);
	expect([read, more]).toEqual([200, 200]);
});
