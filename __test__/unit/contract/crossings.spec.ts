// What pi appends and what is in its files crosses by the fast way: the engine's own JSON takes only what is odd.
import { expect, test } from "vitest";
import { api, assistant, linesOf, loose, message, opened, scratch, toolResult, user } from "../../support/scratch.js";

const crossings = (api as any)[Symbol.for("pi-session-native.crossings")] as Record<string, number>;

/** What an action adds to the counters. */
function counted(work: () => void): Record<string, number> {
	const before = { ...crossings };
	work();
	return Object.fromEntries(Object.keys(before).map((key) => [key, (crossings[key] as number) - (before[key] as number)]));
}

const LONG = "line of output, \"quoted\"\n".repeat(400);
const MESSAGES = [
	toolResult(LONG),
	toolResult("日本語の文章\n".repeat(400)),
	user([{ type: "text", text: "look" }, { type: "image", data: "QUJDREVG+/==".repeat(9000), mimeType: "image/png" }]),
	assistant("", {
		content: [
			{ type: "thinking", thinking: LONG, thinkingSignature: "abc" },
			{ type: "text", text: "I write it.\ud83d" },
			{ type: "toolCall", id: "c", name: "write", arguments: { path: "a", content: LONG } },
		],
	}),
	{ ...toolResult("short"), details: { diff: LONG, lines: [1, 2, 3] } },
];

test("messages as pi appends them are written the fast way, and to the byte", () => {
	const manager = api.SessionManager.create("/somewhere", scratch());
	manager.appendMessage(user());
	const count = counted(() => {
		for (const one of MESSAGES) manager.appendMessage(one);
	});
	expect(count).toMatchObject({ written: MESSAGES.length, writtenByEngine: 0 });
	const lines = linesOf(manager.getSessionFile() as string).slice(-MESSAGES.length);
	for (const [at, line] of lines.entries()) expect(line.endsWith(`,"message":${JSON.stringify(MESSAGES[at])}}`)).toBe(true);
});

test("a value with code in it is left to the engine", () => {
	const manager = api.SessionManager.create("/somewhere", scratch());
	manager.appendMessage(user());
	const odd = [{ toJSON: () => LONG }, new Proxy({ text: LONG }, {}), Object.assign(Object.create(null), { text: LONG })];
	const count = counted(() => {
		for (const data of odd) loose(manager).appendCustomEntry?.("t", data);
	});
	expect(count).toMatchObject({ written: odd.length, writtenByEngine: odd.length });
});

test("bodies as pi writes them are read the fast way", () => {
	const { manager } = opened(MESSAGES.map((body, at) => message(`m${at}`, null, body)));
	const entries = manager.getEntries() as any[];
	const count = counted(() => {
		expect(entries.map((one) => [one.message.content, one.message.details])).toEqual(
			MESSAGES.map((body) => [body.content, body.details]),
		);
	});
	expect(count).toMatchObject({ parsed: MESSAGES.length, parsedByEngine: 0 });
});
