// Reports of damage: `getDiagnostics`, `verify`, `repair`.
import { appendFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import {
	api,
	caught,
	entry,
	header,
	ids,
	inMemory,
	jsonLines,
	message,
	oldSession,
	scratch,
	snapshot,
	user,
	writeSession,
} from "../../support/scratch.js";

const { SessionManager } = api;

const TORN = '{"type":"message","id":"torn","parentId":"b","timestamp":"2025';
const broken = (): string =>
	writeSession(scratch(), [
		header(),
		message("a", null, user("one")),
		message("b", "a", user("two")),
		TORN,
		message("c", "torn", user("three")),
		"null",
		message("d", "nowhere", user("four")),
		message("e", "f", user("five")),
		message("f", "e", user("six")),
		message("a", "d", user("seven")),
	]);

const FINDINGS = {
	orphans: [
		{ line: 5, id: "c", parentId: "torn" },
		{ line: 7, id: "d", parentId: "nowhere" },
	],
	duplicateIds: [{ id: "a", lines: [2, 10], count: 2 }],
	cycles: [{ ids: ["e", "f"], count: 2 }],
	totals: { damaged: 2, orphans: 2, duplicateIds: 1, cycles: 1 },
};

function damagedOf(file: string): unknown[] {
	const start = readFileSync(file, "utf8").indexOf(TORN);
	const second = readFileSync(file, "utf8").indexOf("\nnull\n") + 1;
	return [
		{ line: 4, start, end: start + TORN.length, reason: "not valid JSON" },
		{ line: 6, start: second, end: second + 4, reason: "valid JSON but no object" },
	];
}

test("an open session tells what is wrong with it", () => {
	const file = broken();
	const manager = SessionManager.open(file);
	expect(manager.getDiagnostics()).toEqual({
		path: file,
		damaged: damagedOf(file),
		repairs: [],
		foreignChanges: [],
		...FINDINGS,
	});
	appendFileSync(file, `${JSON.stringify(entry("custom", "late", "gone"))}\nmore damage`);
	manager.reload();
	const { damaged, orphans, foreignChanges } = manager.getDiagnostics();
	expect(orphans.at(-1)).toEqual({ line: 11, id: "late", parentId: "gone" });
	expect(foreignChanges).toMatchObject([{ kind: "grown", count: 1, entries: 1 }]);
	expect(damaged).toHaveLength(2);
	manager.appendCustomEntry("x");
	expect(manager.getDiagnostics().damaged.at(-1)).toMatchObject({ line: 12, reason: "not valid JSON" });
});

test("a session without a file has empty diagnostics", () => {
	const lists = { damaged: [], orphans: [], duplicateIds: [], cycles: [] };
	const totals = { damaged: 0, orphans: 0, duplicateIds: 0, cycles: 0 };
	const nothing = { ...lists, repairs: [], foreignChanges: [], totals };
	expect(inMemory().getDiagnostics()).toEqual({ path: null, ...nothing });
	const made = SessionManager.create("/somewhere", scratch());
	made.appendCustomEntry("x");
	expect(made.getDiagnostics()).toEqual({ path: made.getSessionFile(), ...nothing });
	const adopted = SessionManager.inMemory("/x", undefined, [header(), message("a", "gone")] as never);
	expect(adopted.getDiagnostics().orphans).toEqual([{ line: 2, id: "a", parentId: "gone" }]);
});

test("a migration is told as a repair", () => {
	const old = oldSession();
	const [repair] = SessionManager.open(old).getDiagnostics().repairs;
	expect(repair).toMatchObject({ count: 1 });
	expect(repair?.what).toContain("migrated");
});

test("verify reports and changes nothing", () => {
	const file = broken();
	const before = snapshot(dirname(file));
	const report = SessionManager.verify(file);
	expect(report).toEqual({
		path: file,
		ok: false,
		otherFormat: null,
		version: 3,
		sessionId: "s-1",
		bytes: readFileSync(file).length,
		lines: 10,
		entries: 7,
		damaged: damagedOf(file),
		...FINDINGS,
		endsWithNewline: true,
		unpairedCalls: [],
	});
	expect(snapshot(dirname(file))).toEqual(before);
	const good = writeSession(scratch(), [header(), message("a", null)]);
	expect(SessionManager.verify(good)).toMatchObject({ ok: true, entries: 1, lines: 2 });
	const old = oldSession();
	expect(SessionManager.verify(old)).toMatchObject({ ok: true, version: 1, entries: 1 });
	const none = writeSession(scratch(), ["no session at all"]);
	expect(SessionManager.verify(none)).toMatchObject({ ok: false, version: null, sessionId: null });
	expect(caught(() => SessionManager.verify("/none/such.jsonl")).code).toBe("ENOENT");
});

test("repair writes a good file that an open manager reads", () => {
	const file = broken();
	const before = readFileSync(file, "utf8");
	const open = SessionManager.open(file);
	const entries = open.getEntries();
	const report = SessionManager.repair(file);
	expect(report.backup).toBe(`${file}.bak`);
	expect(readFileSync(`${file}.bak`, "utf8")).toBe(before);
	expect(report.before.ok).toBe(false);
	expect(report.after).toMatchObject({ ok: true, entries: 7, damaged: [], orphans: [], duplicateIds: [], cycles: [] });
	const [, ...lines] = jsonLines(file);
	expect(lines.map((one) => [one.id, one.parentId]).slice(0, 6)).toEqual([
		["a", null],
		["b", "a"],
		["c", "b"],
		["d", "c"],
		["e", null],
		["f", "e"],
	]);
	expect(lines[6].message.content).toBe("seven");
	expect(report.repairs.map((one) => one.line)).toEqual([4, 5, 6, 7, 8, 10]);
	const id = open.appendMessage(user("after"));
	expect(ids(open.getEntries())).toEqual([...lines.map((one) => one.id), id]);
	expect(open.getEntry("b")).toBe(entries[1]);
	const again = SessionManager.repair(file);
	expect(again).toMatchObject({ backup: null, repairs: [] });
	expect(readdirSync(dirname(file)).sort()).toEqual(["session.jsonl", "session.jsonl.bak"]);
});

test("a closed session keeps its diagnostics without the file", () => {
	const file = writeSession(scratch(), [
		header(),
		"no json",
		message("a", "nowhere"),
		"null",
		"5",
		message("b", "nowhere"),
	]);
	const manager = SessionManager.open(file);
	manager.close();
	rmSync(file);
	const { damaged, orphans } = manager.getDiagnostics();
	expect(damaged.map(({ line }) => line)).toEqual([2, 4, 5]);
	expect(orphans).toEqual([
		{ line: 3, id: "a", parentId: "nowhere" },
		{ line: 6, id: "b", parentId: "nowhere" },
	]);
});

test("reports list the first thousand of each kind", () => {
	const many = Array.from({ length: 1_500 }, (_, at) => at);
	const orphans = many.map((at) => message(`o${at}`, "gone"));
	const twice = many.flatMap((at) => [message(`t${at}`, null), message(`t${at}`, null)]);
	const cycles = many.map((at) => message(`c${at}`, `c${at}`));
	const often = many.map(() => message("often", null));
	const long = many.map((at) => message(`l${at}`, `l${(at + 1) % many.length}`));
	const file = writeSession(scratch(), [
		header(),
		...many.map(() => "x"),
		...long,
		...orphans,
		...cycles,
		...often,
		...twice,
	]);
	const totals = { damaged: 1_500, orphans: 1_500, duplicateIds: 1_501, cycles: 1_501 };
	const manager = SessionManager.open(file);
	for (const report of [SessionManager.verify(file), manager.getDiagnostics()]) {
		const { damaged, orphans, duplicateIds, cycles } = report;
		expect([damaged, orphans, duplicateIds, cycles].map((list) => list.length)).toEqual([1000, 1000, 1000, 1000]);
		expect(report.totals).toEqual(totals);
		expect(orphans[999]).toEqual({ line: 1 + 1500 + 1500 + 1000, id: "o999", parentId: "gone" });
		expect([cycles[0]?.ids.length, cycles[0]?.count]).toEqual([1000, 1500]);
		expect([duplicateIds[0]?.lines.length, duplicateIds[0]?.count]).toEqual([1000, 1500]);
	}
	const { repairs, repairCount, after } = SessionManager.repair(file);
	expect(after).toMatchObject({ ok: true, totals: { damaged: 0, orphans: 0, duplicateIds: 0, cycles: 0 } });
	expect(repairs).toHaveLength(1000);
	expect(repairs.map(({ line }) => line)).toEqual(Array.from({ length: 1000 }, (_, at) => at + 2));
	expect(repairCount).toBeGreaterThan(6_000);
});
