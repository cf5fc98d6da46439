// A message's role, content and timestamp are really read, from lines and from the caller's objects alike: each of them
// makes a difference that can be seen.
import { existsSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
	api,
	assistant,
	caught,
	entry,
	header,
	type Json,
	loose,
	message,
	opened,
	scratch,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";
import { timesOf } from "../../support/times.js";

/** The same message read from a line, from the caller's object, and by the function over plain lists. */
const contexts = (body: unknown): any[] => {
	const fromLine = opened([message("a", null, body)]).manager;
	const fromObject = api.SessionManager.inMemory("/x");
	loose(fromObject).appendMessage?.(body);
	const plain = api.buildSessionContext([message("a", null, body) as any]);
	return [fromLine.buildSessionContext(), fromObject.buildSessionContext(), plain];
};

/** What a list shows of a session with these messages. */
async function listed(...bodies: unknown[]) {
	const dir = scratch();
	writeSession(dir, [header(), ...bodies.map((body, at) => message(`m${at}`, null, body))]);
	const [info] = await api.SessionManager.list("/somewhere", dir);
	return info as NonNullable<typeof info>;
}

describe("role", () => {
	test("an assistant's message names the model of the context, another role's does not", () => {
		for (const context of contexts(assistant()))
			expect(context.model).toEqual({ provider: "faux-provider", modelId: "faux-model" });
		for (const context of contexts(assistant("hi", { role: "user" }))) expect(context.model).toBeNull();
	});

	test("null content becomes a list for user, assistant and toolResult, a text for system, and stays for others", () => {
		const content = (role: string): unknown[] =>
			contexts({ role, content: null, timestamp: 1 }).map((context) => context.messages[0].content);
		for (const role of ["user", "assistant", "toolResult"]) expect(content(role)).toEqual([[], [], []]);
		expect(content("system")).toEqual(["", "", ""]);
		for (const role of ["custom", "bashExecution", "invented", "User"])
			expect(content(role)).toEqual([null, null, null]);
	});

	test("system messages leave the kept range of a compaction, others stay", () => {
		for (const [role, kept] of [
			["system", 0],
			["user", 1],
			["invented", 1],
		] as const) {
			const body = { role, content: "x", timestamp: 1 };
			const { manager } = opened([
				message("a", null, body),
				entry("compaction", "c", "a", { summary: "s", firstKeptEntryId: "a", tokensBefore: 1 }),
			]);
			expect(manager.buildContextEntries()).toHaveLength(1 + kept);
		}
	});

	test("only a user's or an assistant's message makes a new session's file", () => {
		for (const [body, makes] of [
			[user(), true],
			[assistant(), true],
			[toolResult(), false],
			[{ role: "system", content: "s", timestamp: 1 }, false],
			[{ role: "bashExecution", command: "ls", timestamp: 1 }, false],
			[{ role: "custom", content: "user", timestamp: 1 }, false],
			[{ content: "no role" }, false],
		] as const) {
			const manager = api.SessionManager.create("/x", scratch());
			loose(manager).appendMessage?.(body);
			expect(existsSync(manager.getSessionFile() as string)).toBe(makes);
		}
	});

	test("only messages of user, assistant and toolResult can be edited", () => {
		for (const role of ["user", "assistant", "toolResult"]) {
			const { manager } = opened([message("a", null, { role, content: "x", timestamp: 1 })]);
			expect(manager.appendContextEdit("a", null)).toBe(manager.getLeafId());
		}
		for (const role of [
			"system",
			"bashExecution",
			"custom",
			"branchSummary",
			"compactionSummary",
			"invented",
			5,
			null,
		]) {
			const { manager } = opened([message("a", null, { role, content: "x", timestamp: 1 })]);
			expect(caught(() => manager.appendContextEdit("a", null)).message).toBe(
				"Entry a does not contribute editable model content",
			);
		}
	});

	test("a list counts every role, and takes texts and times only from users and assistants", async () => {
		const info = await listed(
			{ role: "toolResult", content: "tool", timestamp: 9e12 },
			assistant("said"),
			{ role: "custom", content: "custom", timestamp: 9e12 },
			user("asked"),
			{ role: "system", content: "system", timestamp: 9e12 },
		);
		expect(info.messageCount).toBe(5);
		expect(info.allMessagesText).toBe("said asked");
		expect(info.firstMessage).toBe("asked");
		expect(info.modified.getTime()).toBe(1735689601000);
	});

	test("is read however its key and value are written; the last one counts", async () => {
		const dir = scratch();
		const odd = (body: string, id: string): string =>
			`{"type":"message","id":"${id}","parentId":null,"timestamp":"t","message":${body}}`;
		const file = writeSession(dir, [
			header(),
			odd('{"r\\u006fle":"\\u0075ser","content":"one","timestamp":5}', "a"),
			odd('{"role":"user","content":"two","role":"invented"}', "b"),
			odd('{"role":"invented","content":"\\ud83d three","role":"user"}', "c"),
		]);
		const [info] = await api.SessionManager.list("/somewhere", dir);
		expect(info?.allMessagesText).toBe("one \ud83d three");
		const manager = api.SessionManager.open(file);
		for (const [id, editable] of [
			["a", true],
			["b", false],
			["c", true],
		] as const) {
			manager.branch(id);
			if (editable) manager.appendContextEdit(id, null);
			else expect(() => manager.appendContextEdit(id, null)).toThrow(/editable/);
		}
	});
});

describe("content", () => {
	test("that is there reaches the context as the very object, that is missing on a copy", () => {
		for (const body of [user("x"), user([]), user("")]) {
			const manager = api.SessionManager.inMemory("/x");
			manager.appendMessage(body);
			expect(manager.buildSessionContext().messages[0]).toBe(body);
		}
		for (const fields of [{ content: null }, { content: undefined }, {}] as Json[]) {
			const body: any = { role: "user", extra: { kept: 1 }, ...fields, timestamp: 5 };
			const manager = api.SessionManager.inMemory("/x");
			const id = manager.appendMessage(body);
			const [made] = manager.buildSessionContext().messages as any[];
			expect(made).toEqual({ ...body, content: [] });
			expect(made.extra).toBe(body.extra);
			expect((manager.getEntry(id) as any).message).toBe(body);
			expect(body.content).toBe(fields.content);
		}
	});

	test("gives a list its texts: a text, or the text blocks joined by spaces", async () => {
		const blocks = [
			{ type: "text", text: "one" },
			{ type: "image", data: "no", mimeType: "image/png" },
			{ type: "thinking", thinking: "no", text: "no" },
			{ type: "text", text: "two" },
		];
		expect((await listed(user(blocks))).firstMessage).toBe("one two");
		expect((await listed(user("plain"), user(blocks))).allMessagesText).toBe("plain one two");
		expect((await listed(user([]), user(""), user("third"))).firstMessage).toBe("third");
		expect((await listed(assistant("only"))).firstMessage).toBe("(no messages)");
		expect((await listed()).firstMessage).toBe("(no messages)");
	});

	test("that is null or missing hides no session from the list", async () => {
		for (const content of [null, undefined, 5, {}, true, [null], [5, "x", [], { type: "text" }]]) {
			const info = await listed(user("before"), { role: "user", content, timestamp: 1 }, user("after"));
			expect(info.messageCount).toBe(3);
			expect(info.firstMessage).toBe("before");
			expect(info.allMessagesText.startsWith("before")).toBe(true);
			expect(info.allMessagesText.endsWith("after")).toBe(true);
		}
	});
});

describe("timestamp", () => {
	test("of a message is when a session was last active; without a number the entry's counts", async () => {
		const at = async (timestamp: unknown): Promise<number> =>
			(await listed({ role: "user", content: "x", timestamp })).modified.getTime();
		expect(await at(1800000000123)).toBe(1800000000123);
		for (const odd of ["1800000000123", null, undefined, {}])
			expect(await at(odd)).toBe(Date.parse("2025-01-01T00:00:00.000Z"));
	});

	test("of the newest message counts, wherever it stands", async () => {
		const info = await listed(
			user("a", { timestamp: 30 }),
			assistant("b", { timestamp: 50 }),
			user("c", { timestamp: 40 }),
		);
		expect(info.modified.getTime()).toBe(50);
	});

	test("without any activity gives way to the header's, and that to the file's", async () => {
		expect((await listed(toolResult())).modified.toISOString()).toBe("2025-01-01T00:00:00.000Z");
		const dir = scratch();
		writeSession(dir, [header({ timestamp: "no date" })]);
		const [info] = await api.SessionManager.list("/somewhere", dir);
		const { mtimeMs } = statSync(info?.path as string);
		expect(timesOf(mtimeMs)).toContain(info?.modified.getTime());
		expect(info?.created.getTime()).toBeNaN();
	});

	test("of an entry is read as V8 reads dates, and becomes the ms of a built message", () => {
		for (const timestamp of [
			"2024-02-30T00:00:00Z",
			"Tue Mar 01 2022 10:00:00 GMT+0100",
			"2024-06-01 10:00",
			"1 Jan 2023",
			5,
			null,
			true,
		]) {
			const { manager } = opened([
				{ ...entry("custom_message", "a", null, { customType: "x", content: "y" }), timestamp },
			]);
			const [made] = manager.buildSessionContext().messages as any[];
			expect(made.timestamp).toBe(new Date(timestamp as string).getTime());
		}
	});
});
