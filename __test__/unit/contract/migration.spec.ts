// Files of versions 1 and 2.
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { loadReference } from "../../support/reference.js";
import {
	anyManager,
	api,
	assistant,
	caught,
	header,
	type Json,
	jsonLines,
	linesOf,
	lockedOut,
	read,
	scratch,
	shape,
	snapshot,
	text,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

const SEED = 20250101;
const reference = await loadReference();

/** A header of version 1, which contains no version. */
const oldHeader = (): Json => {
	const { version, ...rest } = header({ provider: "p", modelId: "m", thinkingLevel: "low" });
	return rest;
};

const old = (type: string, fields: Json): Json => ({ type, timestamp: "2025-01-01T00:00:01.000Z", ...fields });
const said = (body: unknown): Json => old("message", { message: body });

/** A file of version 1 with about a thousand lines: every kind of that time, and damage. */
function generated(): string {
	const r = new Random(SEED);
	const lines: (Json | string)[] = [oldHeader()];
	while (lines.length < 1000) {
		const n = lines.length;
		const past = lines.filter((line) => typeof line !== "string").length;
		lines.push(
			r.weighted<() => Json | string>([
				[20, () => said(user(`question ${n} ${r.chance(0.3) ? "naïve \ud83d 日本" : ""}`))],
				[20, () => said(assistant(`answer ${n}`))],
				[10, () => said(toolResult(`output ${n}`))],
				[5, () => said({ role: "hookMessage", customType: "x", content: `hook ${n}`, display: true, timestamp: n })],
				[3, () => old("thinking_level_change", { thinkingLevel: "high" })],
				[3, () => old("model_change", { provider: "p", modelId: `m-${n}` })],
				[2, () => old("compaction", { summary: `s ${n}`, firstKeptEntryIndex: r.int(past), tokensBefore: n })],
				[
					1,
					() =>
						old("compaction", {
							summary: "s",
							firstKeptEntryIndex: r.pick([-1, 1.5, 5000, "3", null]),
							tokensBefore: n,
						}),
				],
				[2, () => old("invented", { 9: 1, b: { role: "hookMessage" }, z: [-0.5, 1e21] })],
				[1, () => old("custom", { id: "had one", parentId: 5, data: n })],
				[1, () => `{"type":"message","torn":${n}`],
				[1, () => ""],
			])(),
		);
	}
	return text(lines);
}

/** Values with positions in place of their ids, so that two migrations can be compared. */
function withoutIds(values: any[]): string[] {
	const places = new Map(values.map((value, at) => [value.id, `#${at}`]));
	const placed = (id: unknown): unknown => (typeof id === "string" ? (places.get(id) ?? id) : id);
	return values.map((value) => {
		const renamed = Object.entries(value).map(([key, field]) => {
			const isId = key === "id" || key === "parentId" || key === "firstKeptEntryId";
			return [key, isId && value.type !== "session" ? placed(field) : field];
		});
		return shape(Object.fromEntries(renamed));
	});
}

const inputs: Record<string, string> = { [`a generated file (seed ${SEED})`]: generated() };
// The path of a real session of an old format.
const sample = process.env.PI_SESSION_SAMPLE;
if (sample) inputs[`the sample ${basename(sample)}`] = readFileSync(sample, "utf8");

for (const [name, content] of Object.entries(inputs)) {
	describe(`migrating ${name}`, () => {
		test("gives the entries of pi's migration", () => {
			const file = join(scratch(), "old.jsonl");
			writeFileSync(file, content);
			const manager = api.SessionManager.open(file);
			const want = reference.parseSessionEntries?.(content) as Json[];
			reference.migrateSessionEntries?.(want);
			expect(withoutIds([manager.getHeader(), ...manager.getEntries()])).toEqual(withoutIds(want));
			expect(new Set(manager.getEntries().map((one) => one.id)).size).toBe(want.length - 1);
			const ours = api.parseSessionEntries(content);
			api.migrateSessionEntries(ours);
			expect(withoutIds(ours)).toEqual(withoutIds(want));
		});

		test("keeps the original, and happens once", () => {
			const dir = scratch();
			const file = join(dir, "old.jsonl");
			writeFileSync(file, content);
			const first = api.SessionManager.open(file);
			const entries = first.getEntries().map(shape);
			expect(read(`${file}.v1.bak`)).toBe(content);
			const before = snapshot(dir);
			expect(readdirSync(dir).sort()).toEqual(["old.jsonl", "old.jsonl.v1.bak"]);
			const second = api.SessionManager.open(file);
			expect(second.getEntries().map(shape)).toEqual(entries);
			expect(snapshot(dir)).toEqual(before);
		});

		test("writes the bytes that pi writes", () => {
			const dir = scratch();
			const file = join(dir, "old.jsonl");
			writeFileSync(file, content);
			api.SessionManager.open(file);
			const want = reference.parseSessionEntries?.(content) as Json[];
			reference.migrateSessionEntries?.(want);
			const isJson = (line: string): boolean => line !== "" && !line.startsWith('{"type":"message","torn"');
			const normal = (lines: string[], values: any[]): string[] =>
				lines.map((line) => {
					const places = new Map(values.map((value, at) => [value.id, `#${at}`]));
					return line.replace(
						/"(id|parentId|firstKeptEntryId)":"([0-9a-f]{8})"/g,
						(_, key, id) => `"${key}":${places.get(id)}`,
					);
				});
			const got = linesOf(file).filter(isJson);
			expect(
				normal(
					got,
					got.map((line) => JSON.parse(line)),
				),
			).toEqual(
				normal(
					want.map((value) => JSON.stringify(value)),
					want,
				),
			);
		});
	});
}

testWith("links")("through a link the file behind it is migrated", () => {
	const dir = scratch();
	const file = writeSession(scratch(), [oldHeader(), said(user())]);
	const original = read(file);
	const link = join(dir, "link.jsonl");
	symlinkSync(file, link);
	const manager = api.SessionManager.open(link);
	expect(manager.getSessionFile()).toBe(link);
	expect(lstatSync(link).isSymbolicLink()).toBe(true);
	expect(jsonLines(file)[0].version).toBe(3);
	expect(read(`${file}.v1.bak`)).toBe(original);
	manager.appendMessage(user());
	expect(linesOf(file)).toHaveLength(3);
});

test("an earlier backup is not overwritten", () => {
	const file = writeSession(scratch(), [oldHeader(), said(user())]);
	writeFileSync(`${file}.v1.bak`, "of before");
	api.SessionManager.open(file);
	expect(read(`${file}.v1.bak`)).toBe("of before");
	expect(jsonLines(file)[0].version).toBe(3);
});

test("a list or a search migrates nothing", async () => {
	const dir = scratch();
	const file = writeSession(dir, [oldHeader(), said(user("q"))]);
	const before = snapshot(dir);
	const [info] = await api.SessionManager.list("/somewhere", dir);
	expect([info?.messageCount, info?.firstMessage]).toEqual([1, "q"]);
	expect(api.SessionManager.findById("/somewhere", "s-1", dir)).toBe(file);
	expect(api.loadEntriesFromFile(file)[1]).not.toHaveProperty("id");
	expect(snapshot(dir)).toEqual(before);
});

test("in memory old entries are migrated in place", () => {
	const old1: any[] = [oldHeader(), said(user())];
	const manager = api.SessionManager.inMemory("/x", undefined, old1);
	expect(manager.getEntries()[0]).toBe(old1[1]);
	expect(old1[1].id).toMatch(/^[0-9a-f]{8}$/);
	expect(old1[0].version).toBe(3);
	const bare: any = { type: "message", id: "a", parentId: null, timestamp: "t", message: { role: "hookMessage" } };
	anyManager.inMemory?.("/x", undefined, [bare]);
	expect(bare.message.role).toBe("hookMessage");
});

testWith("modes")("a migration that cannot write changes nothing", async () => {
	const dir = scratch();
	const file = writeSession(dir, [oldHeader(), said(user())]);
	mkdirSync(join(dir, "locked"));
	const before = snapshot(dir);
	// No file can be created beside it.
	chmodSync(dir, 0o555);
	const error = await lockedOut(join(dir, "locked"), () => caught(() => api.SessionManager.open(file)));
	chmodSync(dir, 0o755);
	expect(error.message).toContain(file);
	expect(snapshot(dir)).toEqual(before);
});

// Regression: they lost their conversation without a word.
test("migrating frozen entries is a TypeError, as in pi", () => {
	const old = () => [
		Object.freeze({ type: "session", id: "s", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/w" }),
		Object.freeze({ type: "message", message: { role: "user", content: "Hi" } }),
	];
	for (const migrate of [api.migrateSessionEntries, reference.migrateSessionEntries]) {
		const entries = old();
		expect(() => migrate(entries as any)).toThrow(TypeError);
		expect(Object.hasOwn(entries[1] as object, "id")).toBe(false);
	}
	expect(() => api.SessionManager.inMemory("/w", undefined, old() as any)).toThrow(TypeError);
});

// The difference is documented in docs/moving-from-pi.md.
test("numbers keep their text, which pi writes again", () => {
	const lines = [
		JSON.stringify(oldHeader()),
		'{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"q","timestamp":1.50}}',
	];
	const [own, pi] = [api, reference].map((one: any) => {
		const path = writeSession(scratch(), lines);
		one.SessionManager.open(path);
		return read(path).trimEnd().split("\n")[1] as string;
	}) as [string, string];
	expect([own, pi].map((line) => /"timestamp":([^"}]+)\}/.exec(line)?.[1])).toEqual(["1.50", "1.5"]);
	expect(withoutIds([JSON.parse(own)])).toEqual(withoutIds([JSON.parse(pi)]));
});
