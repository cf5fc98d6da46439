import { expect, test } from "vitest";
import { entry, header, type Json, message, scratch, shape, user, writeSession } from "../../support/scratch.js";
import { openLazy } from "./support.js";

const COUNT = 400;
const TEXTS = [
	(at: number) => `plain ascii ${at}, and more of it. `,
	(at: number) => `line ${at}\n\t"quoted" \\ and \u0007\u007f `,
	(at: number) => `Übergrößenträger ${at} `,
	(at: number) => `日本語の文章 ${at} 🙂 `,
	(at: number) => `\ud83d alone ${at} \udc00 `,
];
const text = (at: number): string =>
	(TEXTS[at % TEXTS.length] as (at: number) => string)(at).repeat(40 + ((at * 37) % 300));

/**
 * The possible bodies: text, blocks, data of many small values, and strings that look like the placeholder of a long
 * one.
 */
const CONTENTS: ((at: number) => Json | Json[] | string)[] = [
	(at) => text(at),
	(at) => [{ type: "text", text: text(at) }],
	(at) => [
		{ type: "thinking", thinking: text(at + 1), thinkingSignature: "abc" },
		{
			type: "toolCall",
			id: `call_${at}`,
			name: "write",
			arguments: { path: "a", content: text(at), 7: [1.5, null, true] },
		},
	],
	(at) => Array.from({ length: 300 }, (_, number) => ({ number, name: `n${at}` })),
	(at) => ["\u007f0", "\u007f1", text(at)],
	(at) => ["\u007f", text(at)],
	(at) => `\u007f${text(at)}`,
	(at) => [{ text: text(at), type: "text" }],
	(at) => JSON.parse(`${"[".repeat(100)}${JSON.stringify(text(at))}${"]".repeat(100)}`),
	(at) => JSON.parse(`{"__proto__":${JSON.stringify(text(at))},"b":1,"2":"two","1":${JSON.stringify(text(at + 1))}}`),
];

const ENTRIES = Array.from({ length: COUNT }, (_, at) => {
	const parent = at === 0 ? null : `e${at - 1}`;
	const content = (CONTENTS[at % CONTENTS.length] as (at: number) => Json)(at);
	if (at % 11 === 5) return entry("custom", `e${at}`, parent, { customType: "state", data: content });
	if (at % 13 === 7) return message(`e${at}`, parent, user("short"));
	return message(`e${at}`, parent, {
		role: "toolResult",
		content,
		details: at % 3 === 0 ? { more: text(at + 2) } : 1,
		isError: false,
	});
});

const file = (): string => writeSession(scratch(), [header(), ...ENTRIES]);
const WANTED = ENTRIES.map((one) => shape(JSON.parse(JSON.stringify(one))));

const ascending = Array.from({ length: COUNT }, (_, at) => at);
const ORDERS: Record<string, number[]> = {
	"from the first to the last": ascending,
	"from the last to the first": [...ascending].reverse(),
	"each third, then the others": [...ascending.filter((at) => at % 3 === 0), ...ascending.filter((at) => at % 3 !== 0)],
	"forward with steps back": ascending.flatMap((at) => (at % 50 === 49 ? [at, Math.max(0, at - 70), at] : [at])),
	"one half, then the other": [...ascending.slice(COUNT / 2), ...ascending.slice(0, COUNT / 2)],
	"all over": ascending.map((at) => (at * 181) % COUNT),
};

for (const [name, order] of Object.entries(ORDERS)) {
	test(`entries are read ${name} as they are written`, () => {
		const entries = openLazy(file()).getEntries() as any[];
		for (const at of order) {
			const one = entries[at];
			expect(shape(one), `${at}`).toBe(WANTED[at]);
			expect(one.message === undefined || one.message.content === one.message.content).toBe(true);
		}
		expect(entries.map(shape)).toEqual(WANTED);
	});
}

test("two sessions read in turns keep their values apart", () => {
	const [one, other] = [openLazy(file()), openLazy(file())].map((manager) => manager.getEntries() as any[]) as [
		any[],
		any[],
	];
	for (const at of ascending) {
		expect(shape(one[at])).toBe(WANTED[at]);
		expect(shape(other[COUNT - 1 - at])).toBe(WANTED[COUNT - 1 - at]);
	}
	for (const at of ascending) if (one[at].message) expect(one[at].message).not.toBe(other[at].message);
});
