// What a list reads of a message: role, content and timestamp. The random histories beside pi's read all else.
import { statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { api, assistant, header, message, scratch, toolResult, user, writeSession } from "../../support/scratch.js";
import { timesOf } from "../../support/times.js";

/** What a list shows of a session with these messages. */
async function listed(...bodies: unknown[]) {
	const dir = scratch();
	writeSession(dir, [header(), ...bodies.map((body, at) => message(`m${at}`, null, body))]);
	const [info] = await api.SessionManager.list("/somewhere", dir);
	return info as NonNullable<typeof info>;
}

describe("role", () => {
	test("a list counts every role, and shows two", async () => {
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

	test("is read however it is written", async () => {
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
	test("gives a list its texts, joined by spaces", async () => {
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

	test("that is null or missing hides no session", async () => {
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
	test("of a message is the session's last activity", async () => {
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

	test("without any activity is the header's, else the file's", async () => {
		expect((await listed(toolResult())).modified.toISOString()).toBe("2025-01-01T00:00:00.000Z");
		const dir = scratch();
		writeSession(dir, [header({ timestamp: "no date" })]);
		const [info] = await api.SessionManager.list("/somewhere", dir);
		const { mtimeMs } = statSync(info?.path as string);
		expect(timesOf(mtimeMs)).toContain(info?.modified.getTime());
		expect(info?.created.getTime()).toBeNaN();
	});
});
