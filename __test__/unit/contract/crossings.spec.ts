// The values that pi appends, and the values in its files, take the fast way. The engine's own JSON handles only
// unusual values.
import { expect, test } from "vitest";

/** The texts that the engine's JSON writes and parses. */
const texts: { written: string[]; parsed: string[] } = { written: [], parsed: [] };
const { parse, stringify } = JSON;
JSON.stringify = ((...args: Parameters<typeof stringify>) => {
	const text = stringify(...args);
	texts.written.push(text);
	return text;
}) as typeof stringify;
JSON.parse = (text: string, ...rest: []) => {
	texts.parsed.push(text);
	return parse(text, ...rest);
};
// The addon keeps references to the engine's functions when it is loaded.
const { api, assistant, linesOf, loose, message, opened, scratch, toolResult, user } = await import(
	"../../support/scratch.js"
);

/**
 * The texts that the engine's JSON writes and parses during an action: "short", or "long" if a text contains a long
 * string of the value.
 */
function crossings(work: () => void): { written: string[]; parsed: string[] } {
	texts.written = [];
	texts.parsed = [];
	work();
	const size = (text: string): string => (text.length < LONG.length ? "short" : "long");
	return { written: texts.written.map(size), parsed: texts.parsed.map(size) };
}

const LONG = 'line of output, "quoted"\n'.repeat(400);
const MESSAGES = [
	toolResult(LONG),
	toolResult("日本語の文章\n".repeat(400)),
	user([
		{ type: "text", text: "look" },
		{ type: "image", data: "QUJDREVG+/==".repeat(9000), mimeType: "image/png" },
	]),
	assistant("", {
		content: [
			{ type: "thinking", thinking: LONG, thinkingSignature: "abc" },
			{ type: "text", text: "I write it.\ud83d" },
			{ type: "toolCall", id: "c", name: "write", arguments: { path: "a", content: LONG } },
		],
	}),
	{ ...toolResult("short"), details: { diff: LONG, lines: [1, 2, 3] } },
];

test("pi's messages are written the fast way, byte by byte", () => {
	const manager = api.SessionManager.create("/somewhere", scratch());
	manager.appendMessage(user());
	const { written } = crossings(() => {
		for (const one of MESSAGES) manager.appendMessage(one);
	});
	expect(written).toEqual(MESSAGES.map(() => "short"));
	const lines = linesOf(manager.getSessionFile() as string).slice(-MESSAGES.length);
	for (const [at, line] of lines.entries())
		expect(line.endsWith(`,"message":${JSON.stringify(MESSAGES[at])}}`)).toBe(true);
});

test("a value that runs code is left to the engine", () => {
	const manager = api.SessionManager.create("/somewhere", scratch());
	manager.appendMessage(user());
	const odd = [
		{ toJSON: () => LONG },
		new Proxy({ text: LONG }, {}),
		Object.assign(Object.create(null), { text: LONG }),
	];
	const { written } = crossings(() => {
		for (const data of odd) loose(manager).appendCustomEntry?.("t", data);
	});
	expect(written).toEqual(odd.map(() => "long"));
});

test("bodies as pi writes them are read the fast way", () => {
	const { manager } = opened(MESSAGES.map((body, at) => message(`m${at}`, null, body)));
	const entries = manager.getEntries() as any[];
	const { parsed } = crossings(() => {
		expect(entries.map((one) => [one.message.content, one.message.details])).toEqual(
			MESSAGES.map((body) => [body.content, body.details]),
		);
	});
	// serde's strings cannot contain a lone surrogate, so the engine parses the whole body.
	expect(parsed).toEqual(["long"]);
});
