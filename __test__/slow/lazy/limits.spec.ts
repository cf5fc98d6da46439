// Values that are longer than a string of V8. The limit depends on the engine. If a value is below its limit, it is
// read like all others.
import { constants } from "node:buffer";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appendRepeated, assistant, caught, header, ids, message, scratch, text, user } from "../../support/scratch.js";
import { openLazy, waiting } from "../../unit/lazy/support.js";

/** V8's limit is 2^29 - 24 characters, the limit of Bun's engine is 2^31 - 1. */
const OVER = 536_870_888 + 1;
const isOver = OVER > constants.MAX_STRING_LENGTH;
const MB = 1 << 20;

/** Writes a session whose second entry contains that many bytes of text in place of `<long>`. */
function sessionWith(line: string, parts: readonly number[], join_ = "", filled = "all work and no play "): string {
	const file = join(scratch(), "session.jsonl");
	const [before, after] = line.split("<long>") as [string, string];
	writeFileSync(file, text([header(), message("a", null, user("before"))]) + before);
	for (const [at, length] of parts.entries()) {
		if (at > 0) appendFileSync(file, join_);
		appendRepeated(file, filled, length);
	}
	appendFileSync(file, `${after}\n${text([message("c", "b", assistant("after"))])}`);
	return file;
}

test("a session with a text over the limit opens", () => {
	const line = JSON.stringify(message("b", "a", { role: "user", content: "<long>", timestamp: 5, note: "kept" }));
	const file = sessionWith(line, [OVER]);
	const manager = openLazy(file);
	expect(ids(manager.getEntries())).toEqual(["a", "b", "c"]);
	const one = manager.getEntry("b") as any;
	expect([one.message.role, one.message.timestamp, one.message.note, one.parentId]).toEqual(["user", 5, "kept", "a"]);
	expect(manager.getBranch()).toHaveLength(3);
	expect(manager.buildSessionContext().messages[1]).toBe(one.message);
	if (!isOver) {
		expect(one.message.content).toHaveLength(OVER);
		expect(one.message.content.startsWith("all work and no play all")).toBe(true);
	}
	for (let turn = 0; turn < 2 && isOver; turn++) {
		const error = caught(() => one.message.content);
		expect(error).toBeInstanceOf(Error);
		expect(error.message).toContain("message.content");
		expect(error.message).toMatch(/\bb\b/);
		expect(error.message).toContain(String(OVER + 2));
		expect(error.message).toContain(file);
	}
	expect(waiting(one)).toEqual(isOver ? ["message.content"] : []);
	// The session still works, and so do the calls that do not need the entry's text.
	const id = manager.appendMessage(user("goes on"));
	expect(manager.getLeafId()).toBe(id);
	one.message.content = "cut";
	expect(JSON.stringify(one)).toContain('"content":"cut"');
	expect((manager.getEntry("c") as any).message.content[0].text).toBe("after");
});

test("a list of texts over the limit together is read", () => {
	const line = JSON.stringify(message("b", "a", { role: "toolResult", content: ["<long>"], toolName: "read" }));
	const parts = Array.from({ length: 9 }, (_, at) => 60 * MB + at);
	const file = sessionWith(line, parts, '","');
	const one = openLazy(file).getEntry("b") as any;
	expect(waiting(one)).toEqual(["message.content"]);
	expect(one.message.content.map((part: string) => part.length)).toEqual(parts);
	expect(one.message.content[8].startsWith("all work and no play all")).toBe(true);
	expect(one.message.content).toBe(one.message.content);
});

test("a summary over the limit is an entry's error", () => {
	const { message: _, ...rest } = message("b", "a") as any;
	const line = JSON.stringify({ ...rest, type: "branch_summary", fromId: "root", summary: "<long>" });
	const file = sessionWith(line, [OVER]);
	const manager = openLazy(file);
	expect(manager.getEntryCount()).toBe(3);
	expect((manager.getEntry("a") as any).message.content).toBe("before");
	for (const read of [() => manager.getEntry("b"), () => manager.getEntries()]) {
		if (!isOver) {
			const one = [read()].flat().find(({ id }: any) => id === "b") as any;
			expect(one.summary).toHaveLength(OVER);
			continue;
		}
		const error = caught(read);
		expect(error).toBeInstanceOf(Error);
		expect(error.message).toMatch(/entry b\b/);
		expect(error.message).toContain(file);
		expect(error.message).toMatch(/5368\d{5}/);
	}
	expect((manager.getEntry("c") as any).message.content[0].text).toBe("after");
	expect(manager.getLeafId()).toBe("c");
	expect(manager.appendMessage(user("goes on"))).toBe(manager.getLeafId());
	expect(manager.getBranch("a")).toEqual([manager.getEntry("a")]);
	expect(manager.getEntryCount()).toBe(4);
});

test("an error names the entry of too many short texts", () => {
	const line = JSON.stringify(message("b", "a", { role: "toolResult", content: ["<long>"], toolName: "read" }));
	const file = sessionWith(line, [33 * 16 * MB], "", 'not long","');
	const one = openLazy(file).getEntry("b") as any;
	expect(waiting(one)).toEqual(["message.content"]);
	// An engine with longer strings would create some fifty million values, which takes minutes.
	if (!isOver) return;
	const error = caught(() => one.message.content);
	expect(error.message).toContain("message.content");
	expect(error.message).toMatch(/\bb\b/);
	expect(error.message).toContain(file);
	expect((openLazy(file).getEntry("c") as any).message.content[0].text).toBe("after");
});
