// Lines at the edge of JSON. That values are read as JSON.parse reads them, __test__/stress/crossing shows.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, entry, header, jsonLines, linesOf, opened, scratch, shape, text, user } from "../../support/scratch.js";

/** A custom entry whose `data` is this JSON text, as a line. */
const line = (data: string, id = "e1"): string =>
	`{"type":"custom","customType":"x","data":${data},"id":"${id}","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z"}`;

/** Nested lists, the innermost empty. */
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

function depthOf(value: unknown): number {
	let depth = 0;
	for (let at = value; Array.isArray(at); at = at[0]) depth++;
	return depth;
}

test("100,000-deep nesting opens", () => {
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

test("a line of a million open brackets is damage", () => {
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

test("only \\n ends a line", () => {
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

test("ids and parents are compared without their escapes", () => {
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

test("unknown types and fields survive every call in order", () => {
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
