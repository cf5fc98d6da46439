// Entries that were returned, changed and then copied to a new session, and appends in which the caller's code moves
// the manager. Each test is named after the event.
import { writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { entry, header, type Json, scratch, user, writeSession } from "../../support/scratch.js";
import { openLazy, Reference, waits } from "./support.js";

const long = (word: string) => [{ type: "text", text: `${word} `.repeat(600) }];
const said = (content: unknown): Json => ({ message: user(content, { timestamp: 1 }) });
const lineOf = (id: string, parentId: string | null, more: Json): Json => entry("message", id, parentId, more);
const written = (path: string, lines: Json[]): string =>
	writeSession(dirname(path), [header(), ...lines], basename(path));
const file = (): string =>
	written(join(scratch(), "s.jsonl"), [lineOf("a", null, said(long("a"))), lineOf("b", "a", said(long("b")))]);

function branchedAfter(change: (message: any, other: any, entry: any) => void): void {
	const manager = openLazy(file());
	const [one, two] = manager.getEntries() as any[];
	change(one.message, two.message, one);
	const path = manager.createBranchedSession("b") as string;
	const written = Reference.open(path).getEntries();
	expect(JSON.stringify(written)).toBe(JSON.stringify(manager.getEntries()));
	expect(written.length).toBe(2);
}

// Regression: it wrote the old content.
test("a branch writes the new content of a sealed message", () => {
	branchedAfter((message) => {
		Object.seal(message);
		message.content = "changed";
	});
});

// Regression: it wrote the old text.
test("a branch writes the changed text of a frozen message", () => {
	branchedAfter((message) => {
		Object.freeze(message);
		message.content[0].text = "changed";
	});
});

// Regression: it wrote the entry's own content.
test("a branch writes another entry's message in its new entry", () => {
	branchedAfter((_message, other, entry) => {
		entry.message = other;
	});
});

// Regression: it counted as a value that was not read.
test("a branch writes a 0 that the caller wrote", () => {
	branchedAfter((message) => {
		message.content = 0;
	});
});

// Regression: the caller's code received a 0.
test("a toJSON sees another entry's content", () => {
	const seen: unknown[] = [];
	branchedAfter((message, other) => {
		message.toJSON = function () {
			seen.push(typeof other.content);
			return { role: "user", content: "said by toJSON", timestamp: 1 };
		};
	});
	expect(new Set(seen)).toEqual(new Set(["object"]));
});

for (const way of ["toJSON", "getter"]) {
	// Regression: it was lost.
	test(`a message whose ${way} leaves the session is refused`, () => {
		const other = file();
		const manager = openLazy(file());
		const message: any = { role: "user", timestamp: 1 };
		const go = () => manager.setSessionFile(other);
		if (way === "toJSON") message.toJSON = () => (go(), { role: "user", content: "x", timestamp: 1 });
		else Object.defineProperty(message, "content", { enumerable: true, get: () => (go(), "x") });
		const append = () => manager.appendMessage(message);
		expect(append).toThrow(
			expect.objectContaining({
				name: "TypeError",
				code: "ERR_INVALID_ARGUMENT",
				message: "The manager went to another session while a value was written",
			}),
		);
		expect(manager.getEntries().map((one) => one.id)).toEqual(["a", "b"]);
		const id = manager.appendMessage({ role: "user", content: "after", timestamp: 1 });
		expect((manager.getEntry(id) as any).message.content).toBe("after");
		expect(Reference.open(other).getEntries().length).toBe(3);
	});
}

// Regression: if a message had become longer in place, a branch wrote a truncated line of it.
test("a branch writes no cut line of an edited message", () => {
	for (const more of ["?", "??", " and more"]) {
		for (const label of [false, true]) {
			const lines = (text: string): Json[] => [
				lineOf("a", null, said("hello")),
				...(label ? [{ ...lineOf("l", "a", {}), type: "label", targetId: "a", label: "here" }] : []),
				lineOf("b", label ? "l" : "a", { message: { role: "assistant", content: text, timestamp: 2 } }),
				lineOf("c", "b", said("after")),
			];
			const path = written(join(scratch(), "s.jsonl"), lines("question"));
			const manager = openLazy(path);
			written(path, lines(`question${more}`));
			// It is a change by another writer like any other, and is read.
			const branch = manager.createBranchedSession("b") as string;
			for (const one of [manager, openLazy(branch), Reference.open(branch)]) {
				const entries = one.getBranch("b") as any[];
				expect(entries.map(({ id }) => id)).toEqual(["a", "b"]);
				expect(entries[1].message.content).toBe(`question${more}`);
			}
		}
	}
});

// Regression: their parent was an entry of another session.
test("a changed id keeps the children in a branch", () => {
	const lines = [lineOf("a", null, said("one")), lineOf("b", "a", { message: { role: "assistant", content: "two" } })];
	const manager = openLazy(written(join(scratch(), "s.jsonl"), [...lines, lineOf("c", "b", said(long("three")))]));
	(manager.getEntry("b") as any).id = "bb";
	const path = manager.createBranchedSession("c") as string;
	for (const one of [manager, openLazy(path), Reference.open(path)]) {
		expect(one.getBranch().map((entry) => [entry.id, entry.parentId])).toEqual([
			["a", null],
			["b", "a"],
			["c", "b"],
		]);
	}
});

// Regression: it did.
test("a sealed entry's new value stays out of the branch", () => {
	const custom = { ...lineOf("b", "a", { customType: "x", data: { text: long("data") } }), type: "custom" };
	const manager = openLazy(written(join(scratch(), "s.jsonl"), [lineOf("a", null, said("hi")), custom]));
	const old = Object.seal(manager.getEntry("b") as any);
	manager.createBranchedSession("b");
	old.data = "changed";
	expect(old.data).toBe("changed");
	expect((manager.getEntry("b") as any).data).toEqual({ text: long("data") });
});

// Regression: it dropped them.
test("a branch keeps the symbols of an unread entry", () => {
	const custom = { ...lineOf("b", "a", { customType: "x", data: { text: long("data") } }), type: "custom" };
	const manager = openLazy(written(join(scratch(), "s.jsonl"), [lineOf("a", null, said("hi")), custom]));
	const tag = Symbol("tag");
	(manager.getEntry("b") as any)[tag] = 1;
	manager.createBranchedSession("b");
	expect((manager.getEntry("b") as any)[tag]).toBe(1);
	expect(waits(manager.getEntry("b"), "data")).toBe(true);
});

// Regression: a context edit read the content that it replaces.
test("a context edit does not read what it replaces", () => {
	const custom = {
		...lineOf("b", "a", { customType: "x", content: long("note"), display: true }),
		type: "custom_message",
	};
	const lines = [lineOf("a", null, said(long("one"))), custom, lineOf("c", "b", said("three"))];
	const path = written(join(scratch(), "s.jsonl"), lines);
	const [ours, pis] = [openLazy(path), Reference.open(written(join(scratch(), "s.jsonl"), lines))].map((manager) => {
		const contexts: unknown[] = [];
		for (const replacement of [{ content: "short" }, { content: [{ type: "text", text: "blocks" }] }, null]) {
			for (const id of ["a", "b"]) manager.appendContextEdit(id, replacement as any);
			contexts.push(
				JSON.stringify(manager.buildSessionContext().messages),
				JSON.stringify(manager.buildSessionProjection().messages),
			);
		}
		return { manager, contexts };
	}) as any[];
	expect(ours.contexts).toEqual(pis.contexts);
	expect(waits(ours.manager.getEntry("a").message, "content")).toBe(true);
	expect(waits(ours.manager.getEntry("b"), "content")).toBe(true);
});

// Regression: printing the log failed.
test("a log shows the error of an unreadable body", () => {
	const path = written(join(scratch(), "s.jsonl"), [lineOf("a", null, said(long("one")))]);
	const [one] = openLazy(path).getEntries();
	written(path, [lineOf("b", null, said(long("other")))]);
	expect(inspect(one)).toContain("content: [Error: Session file changed underneath: ");
	expect(() => (one as any).message.content).toThrow("Session file changed underneath");
});

// Regression: it read and wrote all bodies, and returned entries depended on that file.
test("a second branch reads no body", () => {
	const lines = Array.from({ length: 6 }, (_, at) =>
		lineOf(
			`m${at}`,
			at ? `m${at - 1}` : null,
			at % 2 ? { message: { role: "assistant", content: long(`m${at}`) } } : said(long(`m${at}`)),
		),
	);
	const path = written(join(scratch(), "s.jsonl"), lines);
	const manager = openLazy(path);
	const left = (): number => (manager.getEntries() as any[]).filter((one) => waits(one.message, "content")).length;
	expect(left()).toBe(6);
	for (let time = 0; time < 3; time++) {
		const before = manager.getSessionFile() as string;
		const branch = manager.createBranchedSession("m5") as string;
		expect(left()).toBe(6);
		// The old files are no longer needed.
		writeFileSync(before, "gone\n");
		expect((Reference.open(branch).getEntries() as any[]).map((one) => one.message.content)).toEqual(
			lines.map((_, at) => long(`m${at}`)),
		);
	}
	expect((manager.getEntries() as any[]).map((one) => one.message.content)).toEqual(
		lines.map((_, at) => long(`m${at}`)),
	);
});

// Regression: they were errors.
test("the name and a compaction see a file's change", () => {
	const info = { type: "session_info", id: "n", parentId: "b", timestamp: "2025-01-01T00:00:00.000Z", name: "called" };
	const of = (text: string): Json[] => [
		lineOf("a", null, said(text)),
		lineOf("b", "a", { message: { role: "system", content: "be" } }),
		info,
	];
	for (const ask of [
		(manager: any) => manager.getSessionName(),
		(manager: any) => manager.appendCompaction("so far", "a", 5).length,
	]) {
		const path = written(join(scratch(), "s.jsonl"), of("one"));
		const manager = openLazy(path);
		written(path, of("one more word"));
		expect(ask(manager)).toBe(ask(openLazy(written(join(scratch(), "s.jsonl"), of("one more word")))));
	}
});
