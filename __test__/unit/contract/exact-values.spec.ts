// Lines at the limits of JSON. __test__/stress/crossing shows that values are read as JSON.parse reads them.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, entry, header, linesOf, opened, scratch, text } from "../../support/scratch.js";

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
