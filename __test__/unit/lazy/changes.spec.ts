// All ways in which JavaScript changes an object, before its large values are read and after. Lazy entries end as plain
// entries and pi's entries do.
import { describe, expect, test } from "vitest";
import { caught, header, message, scratch, user, writeSession } from "../../support/scratch.js";
import { CHANGES, FIXED } from "./changes.js";
import { agrees, long, openLazy, remains, remainsFixed, sampleFile, waiting, waits } from "./support.js";

describe("before the first look", () => {
	for (const [name, change] of Object.entries(CHANGES)) test(name, () => agrees(sampleFile(), change));
	for (const [name, change] of Object.entries(FIXED)) test(name, () => agrees(sampleFile(), change, remainsFixed));
});

describe("after the first look", () => {
	for (const [name, change] of Object.entries({ ...CHANGES, ...FIXED })) {
		test(name, () =>
			agrees(sampleFile(), (object) => {
				expect(Object.values(object).length).toBeGreaterThan(0);
				return change(object);
			}),
		);
	}
});

describe("a value of one entry in another", () => {
	test("moves as it does between plain ones", () => {
		const [one, other] = openLazy(sampleFile()).getEntries() as any[];
		const [first, second] = [one.message.content, other.message.content];
		[one.message.content, other.message.content] = [second, first];
		expect([one.message.content, other.message.content]).toEqual([second, first]);
		one.message = other.message;
		expect(one.message.content).toBe(first);
	});

	test("a message in another entry keeps its own values", () => {
		const [one, other] = openLazy(sampleFile()).getEntries() as any[];
		other.message = one.message;
		expect(waiting(other)).toEqual(["message.content"]);
		expect(other.message.content).toBe(long("ascii"));
	});
});

test("a failed assignment leaves the value to be read", () => {
	const one = openLazy(sampleFile()).getEntries()[0] as any;
	Object.freeze(one.message);
	expect(caught(() => (one.message.content = 1))).toBeInstanceOf(TypeError);
	expect(one.message.content).toBe(long("ascii"));
});

test("two managers of one file have entries of their own", () => {
	const file = sampleFile();
	const [one, other] = [openLazy(file), openLazy(file)].map((manager) => manager.getEntries()[2] as any);
	one.message.content.push("mine");
	expect(waits(other.message, "content")).toBe(true);
	expect(other.message.content).toHaveLength(1);
});

test("setters on Object.prototype are not run when entries are made", () => {
	const file = writeSession(scratch(), [header(), message("a", null, user(long("x"), { watched: 1 }))]);
	const seen: unknown[] = [];
	Object.defineProperty(Object.prototype, "watched", { set: (value) => void seen.push(value), configurable: true });
	try {
		const one = openLazy(file).getEntries()[0] as any;
		expect(waiting(one)).toEqual(["message.content"]);
		expect(Object.keys(one.message)).toContain("watched");
		expect(remains(one.message)).toContain('"watched":1');
	} finally {
		delete (Object.prototype as any).watched;
	}
	expect(seen).toEqual([]);
});

test("the reader of a value is neither shown nor forged", () => {
	const one = openLazy(sampleFile()).getEntries()[0] as any;
	const { get } = Object.getOwnPropertyDescriptor(one.message, "content") as { get(): unknown };
	const inspected = Symbol.for("nodejs.util.inspect.custom");
	let asked: unknown;
	const thief = { [inspected]: (question: unknown) => void (asked = question) };
	expect(() => get.call(thief)).toThrow("content was taken from its entry");
	const cell = one.message[inspected](asked);
	expect(Object.values(cell)).not.toContainEqual(expect.objectContaining({ source: expect.anything() }));
	const forged = { ...cell, source: process.stdout, row: 2 ** 31, id: "e0" };
	expect(() => get.call({ [inspected]: () => forged })).toThrow("content was taken from its entry");
	expect(one.message.content).toBe(long("ascii"));
});

test("keys of Object.prototype stay own keys beside large values", () => {
	const own = '{"__proto__":{"polluted":1},"constructor":2,"role":"user","toString":"s","hasOwnProperty":0';
	const line = `{"type":"message","id":"a","parentId":null,"message":${own},"content":"${long("x")}"},"__proto__":[3]}`;
	const file = writeSession(scratch(), [header(), line]);
	agrees(file, (object) => [Object.keys(object), object.polluted]);
	const one = openLazy(file).getEntries()[0] as any;
	expect(waiting(one)).toEqual(["message.content"]);
	expect(remains(one)).toBe(remains(JSON.parse(line)));
});
