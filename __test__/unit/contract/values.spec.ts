// The two ways from JSON to objects agree: lines that are ASCII go one way, other lines another. Both must give what
// JSON.parse gives, key order, -0 and all.
import { expect, test } from "vitest";
import { caseSeed, Random } from "../../stress/differential/random.js";
import { api, opened, shape } from "../../support/scratch.js";

const SEED = 20250607;
const ROUNDS = 40;
const LINES = 50;

const NUMBERS = [
	...[
		"0",
		"-0",
		"-0.0",
		"-0e9",
		"1",
		"-1",
		"1.0",
		"1E2",
		"1e+2",
		"1e-2",
		"4294967296",
		"1735689600123",
		"9007199254740993",
	],
	...["12345678901234567890", "-9223372036854775809", "1e999", "-1e999", "1e-999", "5e-324", "2.2250738585072011e-308"],
	...["0.1", "0.30000000000000004", "1.7976931348623157e308", "1.7976931348623159e308", "123456789.000000001"],
];

const CHARACTERS = [
	"a",
	"Z",
	" ",
	"/",
	"é",
	"日",
	"𝒳",
	"\u2028",
	"\u007f",
	"\ufeff",
	"\uffff",
	"__proto__",
	"constructor",
];
const ESCAPES = [
	'\\"',
	"\\\\",
	"\\/",
	"\\b",
	"\\f",
	"\\n",
	"\\r",
	"\\t",
	"\\u0000",
	"\\u00e9",
	"\\ud83d",
	"\\ude00",
	"\\ud83d\\ude00",
	"\\u0061",
];
const KEYS = [
	'"a"',
	'"b"',
	'"\\u0061"',
	'"10"',
	'"2"',
	'"-1"',
	'"01"',
	'"4294967294"',
	'"4294967295"',
	'"__proto__"',
	'"\\u005f_proto__"',
	'"constructor"',
	'""',
	'"toString"',
	'"length"',
];
// A key with which JSON.parse of Node 24 and 26 later reads other keys wrong:
// https://github.com/nodejs/node/issues/63785
const POISON = '"\\\\"';

/** JSON text; with `ascii` none of it lies beyond. */
function json(r: Random, ascii: boolean, depth: number): string {
	const space = (): string => (r.chance(0.1) ? r.pick([" ", "\t", "\r", "  "]) : "");
	const string = (): string => {
		let text = "";
		for (let length = r.int(6); length > 0; length--) {
			const character = r.pick(CHARACTERS);
			text += r.chance(0.4) || (ascii && /[^\x00-\x7f]/.test(character)) ? r.pick(ESCAPES) : character;
		}
		return `"${text}"`;
	};
	const list = (item: () => string): string =>
		Array.from({ length: r.int(5) }, () => space() + item() + space()).join(",");
	if (depth > 0 && r.chance(0.5)) {
		if (r.chance(0.4)) return `[${list(() => json(r, ascii, depth - 1))}]`;
		const key = (): string => {
			const text = r.chance(0.7) ? r.pick(KEYS) : string();
			return text === POISON ? '""' : text;
		};
		return `{${list(() => `${key()}${space()}:${space()}${json(r, ascii, depth - 1)}`)}}`;
	}
	if (r.chance(0.02)) return "[".repeat(200) + "]".repeat(200);
	return r.weighted<() => string>([
		[5, string],
		[5, () => r.pick(NUMBERS)],
		[1, () => r.pick(["true", "false", "null"])],
	])();
}

const line = (id: string, data: string, more: string): string =>
	`{"type":"custom","id":"${id}","parentId":null,"data":${data}${more}}`;

for (const [kind, ascii] of [
	["ASCII", true],
	["any", false],
] as const) {
	test(`${ROUNDS * LINES} values of ${kind} text agree with JSON.parse both ways (seed ${SEED})`, () => {
		for (let round = 0; round < ROUNDS; round++) {
			const seed = caseSeed(SEED, round);
			const r = new Random(seed);
			const texts = Array.from({ length: LINES }, () => json(r, ascii, 5));
			const plain = texts.map((data, at) => line(`p${at}`, data, ""));
			const marked = texts.map((data, at) => line(`m${at}`, data, ',"mark":"é"'));
			const { manager, file } = opened([...plain, ...marked]);
			const single = api.SessionManager.open(file);
			const loaded = api.loadEntriesFromFile(file).slice(1);
			const all = manager.getEntries();
			for (const [at, text] of [...plain, ...marked].entries()) {
				const want = shape(JSON.parse(text));
				const where = `seed ${seed}, line ${text}`;
				expect(shape(all[at]), where).toBe(want);
				expect(shape(loaded[at]), where).toBe(want);
				// Alone, not among its neighbours.
				if (at % 7 === 0) expect(shape(single.getEntry((all[at] as any).id)), where).toBe(want);
			}
			for (const at of texts.keys()) {
				const [one, other] = [all[at] as any, all[at + LINES] as any];
				expect(shape(one.data)).toBe(shape(other.data));
			}
		}
	});
}

// Bodies are read by themselves, by serde or, what it refuses, by JSON.parse.
test(`${ROUNDS * 10} bodies agree with JSON.parse (seed ${SEED})`, () => {
	for (let round = 0; round < ROUNDS; round++) {
		const seed = caseSeed(SEED, round);
		const r = new Random(seed);
		const long = JSON.stringify(r.pick(["x", "é", "日本", '\n"', "𝒳"]).repeat(600));
		const bodies = Array.from({ length: 10 }, () => {
			const odd = r.chance(0.3)
				? `,${r.pick(['"\\ud83d"', "1e999", `${"[".repeat(130)}${"]".repeat(130)}`, `[${"0,".repeat(5_000)}{"a":[]}]`])}`
				: "";
			return `[${json(r, r.chance(0.5), 5)},${long}${odd},${json(r, r.chance(0.5), 3)}]`;
		});
		const { manager } = opened(bodies.map((body, at) => line(`b${at}`, body, "")));
		for (const [at, body] of bodies.entries()) {
			expect(shape((manager.getEntry(`b${at}`) as any).data), `seed ${seed}, body ${body.slice(0, 500)}`).toBe(
				shape(JSON.parse(body)),
			);
		}
	}
});

test(`what was read is written back as JSON.stringify writes it (seed ${SEED})`, () => {
	const r = new Random(SEED);
	const texts = Array.from({ length: 300 }, (_, at) =>
		line(`e${at}`, json(r, r.chance(0.5), 4), r.chance(0.5) ? ',"mark":"é"' : ""),
	);
	const { manager } = opened([
		...texts,
		'{"type":"message","id":"z","parentId":"e0","message":{"role":"user","content":"x"}}',
	]);
	const copy = api.SessionManager.inMemory("/x", undefined, [manager.getHeader() as any, ...manager.getEntries()]);
	expect(JSON.stringify(copy.getEntries())).toBe(
		JSON.stringify([...texts.map((text) => JSON.parse(text)), manager.getEntry("z")]),
	);
});
