// What is in a file reaches JavaScript exactly as JSON.parse gives it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { api, entry, header, jsonLines, linesOf, opened, scratch, shape, text, user } from "../../support/scratch.js";

/** A custom entry whose `data` is this JSON text, as a line. */
const line = (data: string, id = "e1"): string =>
	`{"type":"custom","customType":"x","data":${data},"id":"${id}","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z"}`;

const CASES: Record<string, string> = {
	"a lone high surrogate": '"cut \\ud83d"',
	"a lone low surrogate": '"\\udc00 rest"',
	"surrogates the wrong way round": '"\\udc00\\ud83d"',
	"a surrogate pair in escapes": '"\\ud83d\\ude00"',
	"a lone surrogate in a key": '{"a\\ud83d":1}',
	"numbers beyond a double": "[1e999,-1e999,1e-999]",
	"negative zero": "[-0,-0.0,-0e5,0]",
	"integers above 2^32": "[4294967296,1735689600123,9007199254740993]",
	"integers beyond a double's": "[12345678901234567890,-18446744073709551617,100000000000000000000000]",
	"doubles to the last bit": "[0.1,0.30000000000000004,5e-324,1.7976931348623157e308,123456789.123456789]",
	"a number halfway between two doubles":
		"[9007199254740993.0,1.00000000000000011102230246251565404236316680908203125]",
	"keys that repeat": '{"a":1,"b":2,"a":3}',
	"keys with escapes": '{"\\u0061\\n":1,"\\u0062":2}',
	"keys that repeat once unescaped": '{"a":1,"\\u0061":2}',
	"__proto__ as a key": '{"__proto__":{"x":1},"a":1}',
	"__proto__ escaped and repeated": '{"\\u005f_proto__":1,"__proto__":null}',
	"keys that look like indexes": '{"b":1,"10":2,"2":3,"a":4,"-1":5,"01":6,"4294967295":7,"4294967294":8}',
	"names of Object.prototype": '{"constructor":1,"toString":2,"hasOwnProperty":3,"valueOf":4}',
	"empty keys and values": '{"":"","a":{},"b":[],"c":null}',
	"escapes of all kinds": '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u2028"',
	"line separators that end no line": '"a\u2028b\u2029c\u0085d"',
	"a bare carriage return between tokens": '{"a":\r1}',
	"characters of four bytes": '"𝒳👩‍👩‍👧"',
};

describe("reads as JSON.parse does:", () => {
	for (const [name, json] of Object.entries(CASES)) {
		// With a character that is not ASCII in it, a line takes another way to its object.
		for (const [kind, data] of [
			["alone", json],
			["beside text that is not ASCII", `[${json},"é"]`],
		] as const) {
			test(`${name}, ${kind}`, () => {
				const { manager } = opened([line(data)]);
				const want = JSON.parse(line(data));
				expect(shape(manager.getEntry("e1"))).toBe(shape(want));
				expect(shape(manager.getEntries())).toBe(shape([want]));
				expect(shape(api.loadEntriesFromFile(manager.getSessionFile() as string)[1])).toBe(shape(want));
				expect(shape(api.parseSessionEntries(line(data)))).toBe(shape([want]));
			});
		}
	}
});

/** Nested lists, the innermost empty. */
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

function depthOf(value: unknown): number {
	let depth = 0;
	for (let at = value; Array.isArray(at); at = at[0]) depth++;
	return depth;
}

test("100,000-deep nesting opens, in data and in a message's content, with text that is ASCII or not", () => {
	const deep = nested(100_000);
	const { manager, file } = opened([
		line(deep, "e1"),
		line(deep, "e2").replace('"x"', '"é"'),
		`{"type":"message","id":"m1","parentId":null,"timestamp":"t","message":{"role":"user","content":${deep}}}`,
		entry("custom", "e3", "m1"),
	]);
	expect(manager.getEntryCount()).toBe(4);
	expect(depthOf((manager.getEntry("e1") as any).data)).toBe(100_000);
	expect(depthOf((manager.getEntry("e2") as any).data)).toBe(100_000);
	expect(depthOf((manager.buildSessionContext().messages[0] as any).content)).toBe(100_000);
	expect(depthOf((api.loadEntriesFromFile(file)[1] as any).data)).toBe(100_000);
});

test("100,000-deep nesting survives migration, fork and branching byte for byte", () => {
	const dir = scratch();
	const deep = nested(100_000);
	const file = join(dir, "old.jsonl");
	const old = `{"type":"message","message":{"role":"user","content":${deep}}}`;
	writeFileSync(file, text([header({ version: 1 }), old]));
	const manager = api.SessionManager.open(file);
	expect(linesOf(file)[1]).toContain(`"content":${deep}}`);
	const fork = api.SessionManager.forkFrom(file, "/elsewhere", dir);
	expect(linesOf(fork.getSessionFile() as string)[1]).toBe(linesOf(file)[1]);
	const branched = manager.createBranchedSession(manager.getLeafId() as string) as string;
	expect(linesOf(branched)[1]).toContain(`"content":${deep}}`);
});

test("a line of a million open brackets is damage, not the end of the process", () => {
	const { manager } = opened(["[".repeat(1_000_000), '{"a":'.repeat(1_000_000), entry("custom", "e1", null)]);
	expect(manager.getEntries().map((one) => one.id)).toEqual(["e1"]);
});

test("invalid UTF-8 becomes U+FFFD and the line still counts", () => {
	const dir = scratch();
	const file = join(dir, "bytes.jsonl");
	const bad = [[0xff], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0xbd], [0xc0, 0xaf], [0xe2, 0x28, 0xa1]];
	const rows = bad.map((bytes, at) => {
		const [before, after] = line('"a|b"', `e${at}`).split("|") as [string, string];
		return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(`${after}\n`)]);
	});
	writeFileSync(file, Buffer.concat([Buffer.from(text([header()])), ...rows]));
	const manager = api.SessionManager.open(file);
	expect(manager.getEntryCount()).toBe(bad.length);
	for (const [at, bytes] of bad.entries()) {
		expect((manager.getEntry(`e${at}`) as any).data).toBe(`a${Buffer.from(bytes).toString("utf8")}b`);
	}
});

test("only \\n ends a line: a bare CR, U+2028, U+2029 and U+0085 do not, and a CR before it is white space", () => {
	const dir = scratch();
	const file = join(dir, "ends.jsonl");
	const one = line('"a\u2028b\u2029c\u0085"', "e1");
	writeFileSync(file, `${JSON.stringify(header())}\r\n${one}\r\n \r\n${line("1", "e2")}\r${line("2", "e3")}\n`);
	const manager = api.SessionManager.open(file);
	expect(manager.getEntries().map((two) => two.id)).toEqual(["e1"]);
	expect((manager.getEntry("e1") as any).data).toBe("a\u2028b\u2029c\u0085");
});

test("white space that JSON does not know makes a line damaged", () => {
	const { manager } = opened([`\u00a0${line("1", "e1")}`, `\ufeff${line("1", "e2")}`, `\t ${line("1", "e3")} \t`]);
	expect(manager.getEntries().map((one) => one.id)).toEqual(["e3"]);
});

test("ids and parents are compared as the strings they mean, not as they are written", () => {
	const { manager } = opened([
		'{"type":"custom","id":"\\u0061b","parentId":null}',
		'{"type":"custom","id":"cd","parentId":"a\\u0062"}',
		'{"type":"custom","id":"\\ud83d","parentId":"cd"}',
		'{"type":"custom","id":"é","parentId":"\\ud83d"}',
	]);
	expect(manager.getBranch().map((one) => one.id)).toEqual(["ab", "cd", "\ud83d", "é"]);
	expect(manager.getEntry("\ud83d")).toBe(manager.getEntries()[2]);
	expect(manager.getEntry("\ufffd")).toBeUndefined();
});

test("a repeated id, parent or type counts as its last", () => {
	const { manager } = opened([
		'{"type":"custom","id":"a","parentId":null}',
		'{"type":"label","type":"custom","id":"x","parentId":"x","id":"b","parentId":"a"}',
	]);
	expect(manager.getBranch().map((one) => `${one.type} ${one.id}`)).toEqual(["custom a", "custom b"]);
});

test("unknown types and fields survive open, append, branch and fork, in place and in order", () => {
	const odd = '{"type":"invented","id":"i1","parentId":null,"zz":{"9":1,"1":-0},"timestamp":"t","more":[1e5,1.0]}';
	const known =
		'{"x-first":1,"type":"message","id":"m1","parentId":"i1","timestamp":"2025-01-01T00:00:00.000Z","message":{"new":{"k":1.50},"role":"user","content":"q"},"last":null}';
	const { manager, file } = opened([odd, known]);
	manager.appendMessage(user());
	expect(linesOf(file).slice(1, 3)).toEqual([odd, known]);
	expect(manager.getBranch()[0]).toEqual(JSON.parse(odd));
	const fork = api.SessionManager.forkFrom(file, "/elsewhere", scratch()).getSessionFile() as string;
	expect(linesOf(fork).slice(1, 3)).toEqual([odd, known]);
	const fresh = api.SessionManager.open(file);
	const branched = fresh.createBranchedSession("m1") as string;
	expect(jsonLines(branched).slice(1).map(shape)).toEqual([odd, known].map((one) => shape(JSON.parse(one))));
	expect(fresh.getEntries().map(shape)).toEqual([odd, known].map((one) => shape(JSON.parse(one))));
});
