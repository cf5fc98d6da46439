// Several processes on one session: all entries are there, all lines are complete, no id occurs twice.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { run, runTogether } from "../support/children.js";
import { count } from "../support/counts.mjs";
import { loadReference } from "../support/reference.js";
import { api, header, jsonLines, message, root, scratch, user, writeSession } from "../support/scratch.js";

const { SessionManager } = api;

/** Appends entries, and prints their ids. */
const WRITER = `
	const [file, name, count] = args;
	const manager = SessionManager.open(file);
	const ids = [];
	begin();
	for (let n = 0; n < count; n++) {
		ids.push(manager.appendMessage({ role: "user", content: name + " " + n + " " + "x".repeat((n * 37) % 300), timestamp: 1 }));
	}
	say(ids.join("\\n"));
`;

/**
 * All lines are complete, all ids occur once, all acknowledged entries are there, and each entry of a writer is below
 * its former one.
 */
function expectAll(file: string, writers: readonly string[][]): void {
	const text = readFileSync(file, "utf8");
	expect(text.endsWith("\n")).toBe(true);
	const [first, ...entries] = jsonLines(file);
	expect(first.type).toBe("session");
	const ids = entries.map((one) => one.id);
	expect(new Set(ids).size).toBe(ids.length);
	const byId = new Map(entries.map((one) => [one.id, one]));
	for (const [number, writer] of writers.entries()) {
		for (const [n, id] of writer.entries()) {
			const entry = byId.get(id);
			expect(entry?.message.content.startsWith(`writer ${number} ${n} `), `writer ${number}, entry ${n}`).toBe(true);
			// A writer begins below the leaf that the file had when it was opened.
			if (n > 0) expect(entry.parentId).toBe(writer[n - 1]);
			else expect(byId.has(entry.parentId)).toBe(true);
		}
	}
	expect(ids.length).toBe(1 + writers.reduce((sum, writer) => sum + writer.length, 0));
	const report = SessionManager.verify(file);
	expect(report).toMatchObject({ ok: true, entries: ids.length, damaged: [], duplicateIds: [] });
	expect(
		SessionManager.open(file)
			.getEntries()
			.map((one) => one.id),
	).toEqual(ids);
}

test("eight processes append many entries to one session", async () => {
	const file = writeSession(scratch(), [header(), message("root", null, user("begin"))]);
	const watcher = SessionManager.open(file);
	const entries = count("crowd_entries");
	const ends = await runTogether(
		Array.from({ length: 8 }, (_, number) => ({ script: WRITER, args: [file, `writer ${number}`, entries] })),
	);
	for (const { code, errors } of ends) expect(code, errors).toBe(0);
	const all = ends.map(({ lines }) => lines);
	expectAll(file, all);
	// A manager that only watched reads all entries, and its leaf stays.
	watcher.reload();
	expect(watcher.getLeafId()).toBe("root");
	expect(watcher.getEntryCount()).toBe(8 * entries + 1);
	const id = watcher.appendMessage(user("after all"));
	expect(watcher.getEntry(id)?.parentId).toBe("root");
	const [grown] = watcher.getDiagnostics().foreignChanges;
	expect(grown).toMatchObject({ kind: "grown", entries: 8 * entries });
});

test("two processes each of ours and pi's share a session", async () => {
	await loadReference();
	const file = writeSession(scratch(), [header(), message("root", null, user("begin"))]);
	const pi = join(root, "scripts/reference/pi/dist/core/session-manager.js");
	const PI = `
		const [file, name, count, module] = args;
		const reference = await import(require("node:url").pathToFileURL(module).href);
		const manager = reference.SessionManager.open(file);
		const ids = [];
		begin();
		for (let n = 0; n < count; n++) {
			ids.push(manager.appendMessage({ role: "user", content: name + " " + n + " ", timestamp: 1 }));
			if (n % 50 === 0) await new Promise((done) => setImmediate(done));
		}
		say(ids.join("\\n"));`;
	const entries = Math.ceil(count("crowd_entries") / 4);
	const ends = await runTogether(
		[WRITER, WRITER, PI, PI].map((script, number) => ({ script, args: [file, `writer ${number}`, entries, pi] })),
	);
	for (const { code, errors } of ends) expect(code, errors).toBe(0);
	const all = ends.map(({ lines }) => lines);
	expectAll(file, all);
});

test("four processes with one empty file begin one session", async () => {
	for (let round = 0; round < 5; round++) {
		const file = join(scratch(), "empty.jsonl");
		writeFileSync(file, "");
		const script = `
			const manager = SessionManager.open(args[0]);
			manager.appendMessage({ role: "user", content: "x", timestamp: 1 });
			say(manager.getSessionId());`;
		const ends = await Promise.all(Array.from({ length: 4 }, () => run(script, [file])));
		for (const { code, errors } of ends) expect(code, errors).toBe(0);
		const lines = readFileSync(file, "utf8")
			.split("\n")
			.filter((line) => line.trim() !== "");
		const headers = lines.map((line) => JSON.parse(line)).filter((one) => one.type === "session");
		expect(headers).toHaveLength(1);
		expect(lines).toHaveLength(5);
		for (const { lines: said } of ends) expect(said).toEqual([headers[0].id]);
	}
});

// Regression: each process migrated it, and they lost each other's entries.
test("processes that open one old file migrate it once", async () => {
	for (let round = 0; round < 4; round++) {
		const old = [
			{ type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/somewhere" },
			...Array.from({ length: 1500 }, (_, n) => ({ type: "message", message: user(`${n} ${"x".repeat(300)}`) })),
		];
		const file = writeSession(scratch(), old);
		const original = readFileSync(file, "utf8");
		const script = `
			begin();
			const manager = SessionManager.open(args[0]);
			const ids = [manager.appendCustomEntry("one")];
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
			ids.push(manager.appendCustomEntry("two"));
			if (manager.getBranch().length < 1502) throw new Error("the branch has " + manager.getBranch().length);
			say(ids.join("\\n"));`;
		const ends = await runTogether(Array.from({ length: 4 }, () => ({ script, args: [file] })));
		for (const { code, errors } of ends) expect(code, errors).toBe(0);
		expect(SessionManager.verify(file)).toMatchObject({ ok: true, entries: 1508 });
		const ids = new Set(
			SessionManager.open(file)
				.getEntries()
				.map((one) => one.id),
		);
		expect(ends.flatMap(({ lines }) => lines).filter((id) => !ids.has(id))).toEqual([]);
		expect(readdirSync(dirname(file)).sort()).toEqual(["session.jsonl", "session.jsonl.v1.bak"]);
		expect(readFileSync(`${file}.v1.bak`, "utf8")).toBe(original);
	}
});
