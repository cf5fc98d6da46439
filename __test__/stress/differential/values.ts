// Values that a caller may put into an entry. Each is created from a seed, so that the two sides get equal but separate
// values, and cannot pass a test by sharing an object.
import type { Random } from "./random.js";

const TEXTS = [
	"",
	" ",
	"hello world",
	"line one\nline two\r\nline three",
	'tab\tquote"backslash\\slash/',
	"naïve café Ωmega",
	"日本語のテキスト",
	"emoji 👩‍👩‍👧 and 𝒳",
	"lone high \ud83d end",
	"lone low \udc00 end",
	"reversed \udc00\ud83d pair",
	"separators \u2028 and \u2029",
	"nul \u0000 bell \u0007 del \u007f",
	"nel \u0085 bom \ufeff nbsp \u00a0",
	"\ufffd\uffff",
	"__proto__",
	"constructor",
	"1e999",
] as const;

export function text(r: Random): string {
	if (r.chance(0.1)) return `${r.pick(TEXTS)}${r.hex(r.between(1, 60))}${r.pick(TEXTS)}`;
	// Larger than a body that is parsed at its first use.
	if (r.chance(0.02)) return r.pick(TEXTS.slice(2)).repeat(r.between(200, 600));
	return r.pick(TEXTS);
}

/** A text of about the size from which a value is read at its first use, sometimes much longer. */
export function largeText(r: Random): string {
	const length = r.chance(0.8) ? r.between(480, 620) : r.between(1000, 9000);
	let made = r.chance(0.5) ? "x".repeat(length - 30) : "";
	while (made.length < length) made += `${r.pick(TEXTS)}${r.hex(9)}`;
	return made;
}

const NUMBERS = [
	0,
	-0,
	1,
	-1,
	42,
	0.1,
	1.5e-7,
	2 ** 31,
	2 ** 32,
	2 ** 53,
	-(2 ** 53),
	1e21,
	1e-7,
	1.7976931348623157e308,
	5e-324,
	1700000000123,
];

export function number(r: Random): number {
	return r.chance(0.3) ? r.between(-1000, 100000) / r.pick([1, 1, 3, 7, 1000]) : r.pick(NUMBERS);
}

class Coordinates {
	constructor(
		readonly x: number,
		readonly y: number,
	) {}
}

/** Values that JSON.stringify treats specially. */
const PECULIAR: readonly ((r: Random) => unknown)[] = [
	() => undefined,
	() => Number.NaN,
	() => Number.POSITIVE_INFINITY,
	(r) => new Date(1700000000000 + r.int(1000000)),
	() => new Date(Number.NaN),
	(r) => ({ toJSON: () => ({ from: "toJSON", n: 1 }), hidden: r.int(9) }),
	() => ({ toJSON: (key: string) => `key ${key}` }),
	() => ({ gone: { toJSON: () => undefined }, kept: 1 }),
	() => new Coordinates(1, 2),
	() => new Map([["a", 1]]),
	() => new Set([1]),
	() => () => 1,
	() => Symbol("s"),
	() => /x/g,
	() => [new Number(3), new String("boxed"), new Boolean(false)],
	() => [undefined, () => 1, Symbol("s")],
	() => new Array(3),
	() => new Uint8Array([1, 2, 3]),
	() => Object.assign(Object.create(null) as object, { bare: true }),
	() => Object.create({ inherited: 1 }) as object,
	() => Object.freeze({ frozen: [1, 2] }),
	() => Object.defineProperty({ seen: 1 }, "hidden", { value: 2, enumerable: false }),
	() => ({ [Symbol("key")]: 1, named: 2 }),
	() => ({
		get computed() {
			return "by a getter";
		},
	}),
];

/** Objects whose keys JavaScript sorts or treats specially. */
const ODD_KEYS: readonly (() => unknown)[] = [
	() => ({ b: 1, 10: "ten", a: 2, 2: "two", "-1": 3, "01": 4, 4294967294: 5, 4294967295: 6 }),
	() => JSON.parse('{"__proto__":{"polluted":true},"x":1}') as unknown,
	() => JSON.parse('{"__proto__":null,"constructor":1,"toString":"s","hasOwnProperty":0}') as unknown,
	() => ({ "": "empty key", " ": "space", "\ud83d": "lone key", é: 1, "a\u2028b": 2 }),
	() => ({ type: "message", id: "x", parentId: "y", message: { role: "user" } }),
];

export function nested(r: Random, depth: number): unknown {
	let value: unknown = r.int(10);
	for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { d: value };
	return value;
}

/** Any JSON value. */
export function plain(r: Random, depth = 3): unknown {
	if (depth === 3 && r.chance(0.12))
		return r.pick([
			() => largeText(r),
			() => ({ lines: [largeText(r)], content: text(r) }),
			() => ({ small: text(r), below: { details: { data: largeText(r) } } }),
			() => Array.from({ length: 60 }, () => text(r)),
		])();
	if (depth > 0 && r.chance(0.45)) {
		if (r.chance(0.4)) return Array.from({ length: r.int(4) }, () => plain(r, depth - 1));
		if (r.chance(0.2)) return r.pick(ODD_KEYS)();
		return Object.fromEntries(
			Array.from({ length: r.int(4) }, (_, i) => [`${r.pick(["a", "z", "key ", "7"])}${i}`, plain(r, depth - 1)]),
		);
	}
	return r.weighted<() => unknown>([
		[5, () => text(r)],
		[4, () => number(r)],
		[1, () => true],
		[1, () => false],
		[1, () => null],
	])();
}

/** Any value on which JSON.stringify does not throw. */
export function anything(r: Random): unknown {
	if (r.chance(0.25)) {
		const peculiar = r.pick(PECULIAR)(r);
		return r.chance(0.5) ? peculiar : { before: 1, peculiar, after: [peculiar] };
	}
	if (r.chance(0.02)) return nested(r, r.between(100, 1500));
	return plain(r);
}

/** Values on which JSON.stringify throws. An append of them to a file must fail and change nothing. */
export function unwritable(r: Random): unknown {
	const cycle: Record<string, unknown> = { name: "cycle" };
	cycle.self = cycle;
	return r.pick([
		cycle,
		{ big: 1n },
		{
			toJSON() {
				throw new RangeError("toJSON refuses");
			},
		},
		{
			get trap(): never {
				throw new RangeError("getter refuses");
			},
		},
	]);
}
