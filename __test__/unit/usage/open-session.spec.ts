// `getUsage` of an open session: the sums of its file, which each append updates.
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { SessionManager, UsageReport } from "../../../index.js";
import { bytesRead } from "../../support/open-files.js";
import {
	api,
	header,
	type Json,
	linesOf,
	message,
	ownAgent,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testIf } from "../../support/windows.js";
import { call } from "./calls.js";

const by = ["model", "day", "project"] as const;
/** Bodies of entries are read at their first use, and one of these lines is long. */
const lines = (): Json[] => [
	header({ cwd: resolve("/project") }),
	message("a", null, user("x".repeat(5000))),
	message("b", "a", call(0.1, 1)),
	message("c", "b", call(0.2, 86_400_000, { model: "small" })),
	message("d", "a", call(-1, 7)),
];

async function ofFile(path: string): Promise<UsageReport<(typeof by)[number]>> {
	setEnv({ PI_SESSION_NATIVE_CATALOG: "off" });
	return await api.SessionManager.usage({ path, by });
}
const sums = ({ total, by, entries, bytes, leftOut: { files: _, ...left } }: UsageReport<any>) => ({
	total,
	by,
	entries,
	bytes,
	left,
});

test("is the file's, with later appends of all writers", async () => {
	const path = writeSession(scratch(), lines());
	const manager = api.SessionManager.open(path);
	const first = manager.getUsage({ by });
	expect(first).toMatchObject({
		sessions: 1,
		entries: 4,
		total: { calls: 3, cost: 0.1 + 0.2 },
		leftOut: { negative: 1, damagedLines: 0 },
	});
	expect(sums(first)).toEqual(sums(await ofFile(path)));
	// The bodies of the largest entries are in the file.
	expect(first.largest).toEqual((await ofFile(path)).largest);
	expect(first.largest[0]?.entryId).toBe("a");
	manager.appendMessage(call(0.4, 9));
	expect(manager.getUsage({ by }).total).toMatchObject({ calls: 4, cost: 0.1 + 0.2 + 0.4 });
	// Another process writes. The next append reads its lines.
	appendFileSync(path, `${JSON.stringify(message("e", "d", call(0.8, 11)))}\n`);
	manager.appendMessage(user("on"));
	expect(sums(manager.getUsage({ by }))).toEqual(sums(await ofFile(path)));
	expect(manager.getUsage({ by }).total.calls).toBe(5);
	// A report with another limit starts anew.
	expect(manager.getUsage({ largest: 150 }).largest).toHaveLength(7);
	expect(manager.getUsage({ since: 8, until: 10 }).total).toMatchObject({ calls: 1, cost: 0.4 });
});

test("a last line without its newline counts its bytes", async () => {
	const path = writeSession(scratch(), lines());
	const text = readFileSync(path, "utf8");
	for (const end of ["\n", "\r\n"]) {
		writeFileSync(path, text.trimEnd().replaceAll("\n", end));
		const manager = api.SessionManager.open(path);
		const same = async () => {
			const [own, file] = [manager.getUsage({ by }), await ofFile(path)];
			expect([own.bytes, own.largest]).toEqual([file.bytes, file.largest]);
			return own.bytes;
		};
		const before = await same();
		expect(before).toBe(statSync(path).size - Buffer.byteLength(linesOf(path)[0] as string) - 1);
		expect(await same()).toBe(before);
		manager.appendMessage(user("on"));
		expect(await same()).toBeGreaterThan(before);
	}
});

// Regression: the sums were Infinity, and leftOut.infinite was 0.
test("an amount that makes a sum infinite is left out", async () => {
	const { agent } = ownAgent();
	mkdirSync(agent, { recursive: true });
	const huge = [
		header({ cwd: resolve("/project") }),
		message("a", null, call(1.7e308, 1)),
		message("b", "a", call(1.7e308, 2)),
		message("c", "b", call(0.5, 3)),
	];
	const path = writeSession(scratch(), huge);
	const manager = api.SessionManager.open(path);
	const report = manager.getUsage({ by });
	expect(report).toMatchObject({ total: { calls: 3, input: 3, cost: 1.7e308 }, leftOut: { infinite: 1 } });
	expect(report.by.model).toMatchObject([{ calls: 3, input: 3, cost: 1.7e308 }]);
	expect(sums(await ofFile(path))).toEqual(sums(report));
	setEnv({ PI_SESSION_NATIVE_CATALOG: undefined });
	// The first report reads the file into the catalog, the second uses the catalog.
	for (let time = 0; time < 2; time++)
		expect(sums(await api.SessionManager.usage({ sessionDir: dirname(path), by }))).toEqual(sums(report));
	expect(existsSync(join(agent, "session-catalog.sqlite"))).toBe(true);
});

test("makes no entry objects", async () => {
	const path = writeSession(scratch(), lines());
	const parse = JSON.parse;
	const manager = api.SessionManager.open(path);
	let parsed = 0;
	JSON.parse = (...args) => {
		parsed++;
		return parse(...args);
	};
	try {
		manager.getUsage();
	} finally {
		JSON.parse = parse;
	}
	expect(parsed).toBe(0);
	expect(
		linesOf(path)
			.slice(1)
			.map((line) => JSON.parse(line)),
	).toEqual(structuredClone(manager.getEntries()));
});

test("of sessions in memory, new and exchanged ones", async () => {
	const memory = api.SessionManager.inMemory("/project", undefined, lines() as any);
	const file = api.SessionManager.open(writeSession(scratch(), lines()));
	expect(sums(memory.getUsage({ by }))).toEqual(sums(file.getUsage({ by })));
	expect(memory.getUsage().largest[0]).toMatchObject({ entryId: "a", offset: 0 });
	memory.appendMessage(call(0.5, 3));
	expect(memory.getUsage().total.calls).toBe(4);
	const fresh: SessionManager = api.SessionManager.create("/project", scratch());
	expect(fresh.getUsage()).toMatchObject({ sessions: 1, entries: 0, bytes: 0, total: { calls: 0 }, largest: [] });
	fresh.appendMessage(call(0.5, 3));
	expect(fresh.getUsage().total.calls).toBe(1);
	fresh.newSession();
	expect(fresh.getUsage().total.calls).toBe(0);
	fresh.setSessionFile(writeSession(scratch(), lines(), "other.jsonl"));
	expect(fresh.getUsage().total.calls).toBe(3);
});

test("of an old session is that of its migrated entries", () => {
	const old = [
		{ type: "session", id: "s", timestamp: "2024-01-01T00:00:00.000Z", cwd: "/project" },
		{ type: "message", timestamp: "2024-01-01T00:00:00.000Z", message: call(0.5, 1) },
	];
	const manager = api.SessionManager.open(writeSession(scratch(), old, "old.jsonl"));
	expect(manager.getUsage().total).toMatchObject({ calls: 1, cost: 0.5 });
});

test("names keep quotes, newlines and lone surrogates", async () => {
	const odd = (name: string) => `${name} "\n\ud83d`;
	const path = writeSession(scratch(), [
		header({ cwd: odd("/cwd") }),
		message(odd("id"), null, call(0.5, 1, { model: odd("model") })),
		{ ...message("b", odd("id"), user("x")), type: odd("kind") },
	]);
	const manager = api.SessionManager.open(path);
	// The directory of an open session is a path, which cannot contain lone surrogates.
	for (const [report, cwd] of [
		[manager.getUsage({ by }), manager.getCwd()],
		[await ofFile(path), odd("/cwd")],
	] as const) {
		expect(report.by.model).toMatchObject([{ key: `acme/${odd("model")}`, calls: 1, cost: 0.5 }]);
		expect(report.by.project).toMatchObject([{ key: cwd, models: [{ key: `acme/${odd("model")}` }] }]);
		expect(report.largest.map(({ entryId }) => entryId)).toContain(odd("id"));
	}
	const { by: bySession } = await api.SessionManager.usage({ path, by: ["session"] });
	expect(bySession.session).toMatchObject([{ key: path, cwd: odd("/cwd"), subagents: 0, calls: 1 }]);
});

testIf(process.platform === "linux", "only Linux tells how many bytes a process has read")(
	"a later call reads only entries appended since",
	() => {
		const path = writeSession(scratch(), [
			header(),
			...Array.from({ length: 400 }, (_, n) => message(`m${n}`, null, user("x".repeat(10_000)))),
		]);
		const manager = api.SessionManager.open(path);
		const readBy = (work: () => unknown) => {
			const before = bytesRead();
			work();
			return bytesRead() - before;
		};
		expect(readBy(() => manager.getUsage())).toBeGreaterThan(4_000_000);
		manager.appendMessage(call(0.1, 9));
		expect(readBy(() => expect(manager.getUsage().total.calls).toBe(1))).toBeLessThan(100_000);
	},
);
