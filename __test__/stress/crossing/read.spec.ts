// Values in a file are read as JSON.parse reads them, in single entries and in batches, with bodies and without.
import fc from "fast-check";
import { expect, test } from "vitest";
import { count } from "../../support/counts.mjs";
import { api, header, scratch, shape, writeSession } from "../../support/scratch.js";

const seed = Number(process.env.PSN_SEED ?? 20250607);
const AT_ONCE = 20;
const numRuns = Math.ceil(count("crossings") / AT_ONCE);

const NUMBERS = [
	...["0", "-0", "-0.0", "-0e9", "1", "-1", "1.0", "1.50", "1E2", "1e+2", "1e-2", "4294967296", "1735689600123"],
	...["9007199254740993", "12345678901234567890", "-9223372036854775809", "1e999", "-1e999", "1e-999", "5e-324"],
	...["2.2250738585072011e-308", "0.1", "0.30000000000000004", "1.7976931348623159e308", "123456789.000000001"],
];
const PIECES = [
	...[
		"a",
		"/",
		"line of output, ",
		"QUJDREVG+/==",
		"\u007f",
		"é",
		"ÿ",
		"Ā",
		"日本語の文章",
		"🙂",
		"\u2028",
		"\ufeff",
		"\uffff",
	],
	...['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u00e9", "\\u00FF", "\\u0100", "\\u65e5"],
	...[
		"\\ud83d",
		"\\ude00",
		"\\ud83d\\ude00",
		"\\uD83D\\uDE00",
		"\\ude00\\ud83d",
		"\\ud83dx",
		"\\ud83d\\n",
		"\\u007f",
		"\\u0061",
	],
];
const KEYS = [
	...[
		"a",
		"content",
		"text",
		"\\u0061",
		"10",
		"2",
		"-1",
		"01",
		"4294967294",
		"4294967295",
		"__proto__",
		"\\u005f_proto__",
	],
	...["constructor", "", "toString", "length", "toJSON", "é", "\\ud83d", "\u007f"],
];
// After JSON.parse of Node 24 and 26 has read this key, it reads other keys wrong:
// https://github.com/nodejs/node/issues/63785
const POISON = '"\\\\"';

const spaces = fc.constantFrom("", "", "", "", "", " ", "\t", "\r", "  ");
const string = fc
	.array(
		fc.tuple(fc.constantFrom(...PIECES), fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 300 }))),
		{ maxLength: 6 },
	)
	.map((pieces) => `"${pieces.map(([piece, times]) => piece.repeat(times)).join("")}"`);

const { value, block } = fc.letrec<{ value: string; block: string }>((tie) => {
	const list = (item: fc.Arbitrary<string>, open: string, close: string): fc.Arbitrary<string> =>
		fc
			.array(
				fc.tuple(spaces, item, spaces).map((parts) => parts.join("")),
				{ maxLength: 5 },
			)
			.map((items) => `${open}${items.join(",")}${close}`);
	const key = fc
		.oneof(
			{ weight: 4, arbitrary: fc.constantFrom(...KEYS).map((key) => `"${key}"`) },
			{ weight: 1, arbitrary: string },
		)
		.map((key) => (key === POISON ? '""' : key));
	const field = fc.tuple(key, spaces, tie("value")).map(([key, space, value]) => `${key}${space}:${space}${value}`);
	const scalar = fc.constantFrom("true", "false", "null", ...NUMBERS);
	return {
		value: fc.oneof(
			{ maxDepth: 5, depthSize: "small" },
			string,
			scalar,
			list(tie("value"), "[", "]"),
			list(field, "{", "}"),
			{ weight: 2, arbitrary: tie("block") },
		),
		// The usual fields of messages.
		block: fc.oneof(
			string.map((text) => `{"type":"text","text":${text}}`),
			string.map((text) => `{"type":"thinking","thinking":${text},"thinkingSignature":"abc"}`),
			string.map((text) => `{"type":"image","data":${text},"mimeType":"image/png"}`),
			fc
				.tuple(string, tie("value"))
				.map(
					([text, value]) =>
						`{"type":"toolCall","id":"c","name":"write","arguments":{"path":"a","content":${text},"more":${value}}}`,
				),
		),
	};
});
const DEEP = 130;
const LONG = 256 << 10;
const content = fc.oneof(
	{ weight: 10, arbitrary: string },
	{
		weight: 10,
		arbitrary: fc.array(block, { minLength: 1, maxLength: 4 }).map((blocks) => `[${blocks.join(",")}]`),
	},
	{ weight: 10, arbitrary: value },
	// Values that serde leaves to JSON.parse, or nearly: nested deeply, and of 256 KiB with and without escapes.
	{ weight: 1, arbitrary: value.map((value) => "[".repeat(DEEP) + value + "]".repeat(DEEP)) },
	{
		weight: 1,
		arbitrary: fc
			.tuple(fc.integer({ min: -1, max: 1 }), fc.constantFrom("", "\\n", "é"))
			.map(([more, begin]) => `"${begin.padEnd(LONG + more - 2 - (Buffer.byteLength(begin) - begin.length), "x")}"`),
	},
);

const line = fc
	.tuple(fc.boolean(), content, fc.oneof(fc.constant("1"), value))
	.map(([isMessage, content, details]) =>
		isMessage
			? (id: number) =>
					`{"type":"message","id":"e${id}","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"toolResult","content":${content},"details":${details}}}`
			: (id: number) =>
					`{"type":"custom","customType":"t","data":${content},"more":${details},"id":"e${id}","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z"}`,
	);

test(`${numRuns} sessions of random lines are read like JSON.parse`, { timeout: 3_600_000 }, () => {
	const dir = scratch();
	const property = fc.property(fc.array(line, { minLength: 1, maxLength: AT_ONCE, size: "max" }), (makers) => {
		const lines = makers.map((make, at) => make(at));
		const file = writeSession(dir, [header(), ...lines]);
		const wanted = lines.map((line) => shape(JSON.parse(line)));
		expect(api.SessionManager.open(file).getEntries().map(shape)).toEqual(wanted);
		expect(api.loadEntriesFromFile(file).slice(1).map(shape)).toEqual(wanted);
		const alone = api.SessionManager.open(file);
		expect(shape(alone.getEntry(`e${lines.length - 1}`))).toBe(wanted.at(-1));
	});
	fc.assert(property, { seed, numRuns });
});
