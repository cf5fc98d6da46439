// The usage of subagents' sessions is added to the session that they belong to.
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { everySessionFile, subagentFiles } from "../../../session-files.mjs";
import {
	api,
	assistant,
	header,
	type Json,
	lockedOut,
	message,
	ownAgent,
	root,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

const { usage } = api.SessionManager;

const spent = (cost: number, at: number, model = "large"): Json =>
	assistant("done", {
		...{ provider: "acme", model, timestamp: at },
		usage: {
			input: 10,
			output: 20,
			cacheRead: 0,
			cacheWrite: 0,
			totalTokens: 30,
			cost: { input: 0, output: cost, cacheRead: 0, cacheWrite: 0, total: cost },
		},
	});
const at = (hour: number): number => Date.UTC(2025, 0, 1, hour);

/** A directory with a session of $2 and two runs of its subagents ($7 and $1), and another session of $3. */
function sessions(dir: string): { main: string; other: string; run: string } {
	const main = writeSession(
		dir,
		[header({ id: "main", cwd: "/project" }), message("a", null, user()), message("b", "a", spent(2, at(1)))],
		"2025_main.jsonl",
	);
	const other = writeSession(
		dir,
		[header({ id: "other", cwd: "/other" }), message("a", null, spent(3, at(9)))],
		"2025_other.jsonl",
	);
	const run = join(dir, "2025_main", "abc", "run-0");
	mkdirSync(run, { recursive: true });
	writeSession(run, [
		header({ id: "sub", cwd: "/elsewhere", timestamp: "2025-01-02T00:00:00.000Z" }),
		message("x", null, spent(7, at(30), "small")),
	]);
	mkdirSync(join(dir, "2025_main", "abc", "run-1"));
	// It begins with the session's own entries.
	writeSession(join(dir, "2025_main", "abc", "run-1"), [
		header({ id: "copy", cwd: "/project", timestamp: "2025-01-02T00:00:00.000Z" }),
		message("b", null, spent(2, at(1))),
		message("y", "b", spent(1, at(31))),
	]);
	return { main, other, run };
}

const rows = (report: any, by: string) =>
	report.by[by].map(({ key, cost, calls, subagents }: any) => ({
		key,
		cost,
		calls,
		...(by === "session" ? { subagents } : {}),
	}));

describe("sessions of subagents", () => {
	test("are counted once, in the row of their session", async () => {
		const { agent } = ownAgent();
		const dir = join(agent, "sessions/--project--");
		mkdirSync(dir, { recursive: true });
		const { main, other } = sessions(dir);
		for (const how of ["files", "catalog"]) {
			const report = await usage({ by: ["session", "project", "model", "day"], utc: true });
			expect(report, how).toMatchObject({
				sessions: 2,
				subagents: 2,
				total: { calls: 4, cost: 13 },
				leftOut: { files: [] },
			});
			expect(rows(report, "session")).toEqual([
				{ key: main, cost: 10, calls: 3, subagents: 2 },
				{ key: other, cost: 3, calls: 1, subagents: 0 },
			]);
			expect(rows(report, "project")).toEqual([
				{ key: "/project", cost: 10, calls: 3 },
				{ key: "/other", cost: 3, calls: 1 },
			]);
			expect(rows(report, "model")).toEqual([
				{ key: "acme/small", cost: 7, calls: 1 },
				{ key: "acme/large", cost: 6, calls: 3 },
			]);
			expect(rows(report, "day")).toEqual([
				{ key: "2025-01-01", cost: 5, calls: 2 },
				{ key: "2025-01-02", cost: 8, calls: 2 },
			]);
		}
	});

	test("are the files in which redaction looks for copies, too", async () => {
		ownAgent();
		const dir = scratch();
		const { main, run } = sessions(dir);
		const below = join(dir, "2025_main");
		const one = [header({ id: "odd" }), message("o", null, spent(100, at(2)))];
		writeSession(below, one, "direct.jsonl");
		writeSession(run, one, "notes.txt");
		for (const folder of ["folder.jsonl", "a/b/c/d"]) {
			mkdirSync(join(below, folder), { recursive: true });
			writeSession(join(below, folder), one, "deep.jsonl");
		}
		symlinkSync(run, join(below, "linked"), "junction");
		const report = await usage({ path: main, by: "session" });
		expect(subagentFiles(main)).toHaveLength(5);
		expect(report.subagents).toBe(5);
	});

	test("follow the session by its file and its directories", async () => {
		ownAgent();
		const dir = scratch();
		const { main } = sessions(dir);
		const costs = async (options: Json) => (await usage(options as any)).total.cost;
		expect(await costs({ path: main })).toBe(10);
		expect(await costs({ cwd: "/project", sessionDir: dir })).toBe(10);
		expect(await costs({ cwd: "/elsewhere", sessionDir: dir })).toBe(0);
		expect(await costs({ cwd: "/other", sessionDir: dir })).toBe(3);
		expect(await costs({ sessionDir: dir, since: "2025-01-02" })).toBe(8);
	});

	// Regression: pi deletes only the session's file. After that no report contained the usage of its subagents.
	test("are by themselves after pi deleted their session's file", async () => {
		ownAgent();
		const dir = scratch();
		const { main } = sessions(dir);
		const name = "2025-01-01T00-00-00-000Z_main";
		renameSync(join(dir, "2025_main"), join(dir, name));
		mkdirSync(join(dir, "node_modules"));
		writeSession(join(dir, "node_modules"), [header({ id: "no" }), message("a", null, spent(100, at(2)))]);
		rmSync(main);
		const report = await usage({ sessionDir: dir, by: ["session", "project"] });
		expect(report).toMatchObject({ sessions: 3, subagents: 0, total: { cost: 13 }, leftOut: { files: [] } });
		expect(rows(report, "session")).toContainEqual({
			key: join(dir, name, "abc/run-0/session.jsonl"),
			cost: 7,
			calls: 1,
			subagents: 0,
		});
		const costs = async (cwd: string) => (await usage({ cwd, sessionDir: dir })).total.cost;
		expect([await costs("/elsewhere"), await costs("/project")]).toEqual([7, 3]);
	});

	// Regression: each folder in pi's own directories counted as a session's folder, and the recordings in
	// `subagent-artifacts` were second sessions with the subagents' ids.
	test("are not recordings, nor files in folders named after years", async () => {
		const { agent } = ownAgent();
		const dir = join(agent, "sessions/--project--");
		const main = "2026-01-01T00-00-00-000Z_main";
		const sub = [header({ id: "sub", cwd: "/there" }), message("a", null, spent(5, at(1)))];
		const recorded = [header({ id: "sub" }), { type: "agent_start" }, { type: "agent_end" }];
		for (const [folder, lines] of [
			[`${main}/r1`, sub],
			["subagent-artifacts", recorded],
			["2024_photos/backup/deep", sub],
			["2026-01-01T00-00-00-000Z_", sub],
		] as const) {
			mkdirSync(join(dir, folder), { recursive: true });
			writeSession(join(dir, folder), lines as Json[]);
		}
		const file = join(dir, main, "r1/session.jsonl");
		for (const _ of ["files", "catalog"])
			expect(await usage({})).toMatchObject({ sessions: 1, total: { cost: 5 }, leftOut: { damagedLines: 0 } });
		expect((await usage({ sessionDir: dir })).sessions).toBe(1);
		expect(api.SessionManager.findByIdPrefix("su").map(({ path }) => path)).toEqual([file]);
		const verified = execFileSync(process.execPath, [join(root, "bin/pi-sessions.mjs"), "verify", "--all", "--json"]);
		expect(JSON.parse(verified.toString()).map(({ path }: { path: string }) => path)).toEqual([file]);
		// A redaction searches there, too, because the recordings repeat the subagents' texts.
		expect(everySessionFile()).toContain(join(dir, "subagent-artifacts/session.jsonl"));
	});

	test("are by themselves where their session cannot be read", async () => {
		ownAgent();
		const dir = scratch();
		const { main } = sessions(dir);
		writeFileSync(main, "no session\n");
		const report = await usage({ sessionDir: dir, by: "session" });
		expect(report).toMatchObject({
			sessions: 3,
			subagents: 0,
			total: { cost: 13 },
			leftOut: { files: [{ path: main }] },
		});
	});

	testWith("links")("are not searched behind links, and unreadable folders are named", async () => {
		ownAgent();
		const dir = scratch();
		const { run } = sessions(dir);
		const linked = scratch();
		writeSession(linked, [header({ id: "far" }), message("a", null, spent(100, at(2)))]);
		symlinkSync(linked, join(run, "link"));
		symlinkSync(join(linked, "session.jsonl"), join(run, "link.jsonl"));
		symlinkSync(dir, join(run, "loop"));
		writeFileSync(join(run, "artifact.jsonl"), '{"event":"start"}\n');
		mkdirSync(join(run, "folder.jsonl"));
		mkdirSync(join(dir, "stray"));
		writeSession(join(dir, "stray"), [header({ id: "stray" }), message("a", null, spent(100, at(3)))]);
		expect(await usage({ sessionDir: dir })).toMatchObject({ total: { cost: 13 }, leftOut: { files: [] } });
		const hidden = await lockedOut(run, () => usage({ sessionDir: dir }));
		expect(hidden).toMatchObject({
			total: { cost: 6 },
			leftOut: { files: [{ path: run, error: expect.stringContaining("EACCES") }] },
		});
	});
});

/** The result of a tool that ran a subagent, with the subagent's usage. */
const ran = (cost: number, hour: number, details: unknown): Json => ({
	...{
		role: "toolResult",
		toolCallId: "t",
		toolName: "subagent",
		content: [],
		isError: false,
		details,
		timestamp: at(hour),
	},
	usage: { input: 20, output: 40, cacheRead: 0, cacheWrite: 0, totalTokens: 60, cost: { total: cost } },
});

describe("the result of a tool that ran a subagent", () => {
	const parentLines = (details: unknown): Json[] => [
		header({ id: "main", cwd: "/project", timestamp: "2025-01-01T00:00:00.000Z" }),
		message("a", null, user()),
		message("b", "a", spent(2, at(1))),
		message("c", "b", ran(0.5, 5, details)),
	];
	const childLines = (more: Json = {}): Json[] => [
		header({ id: "child", cwd: "/elsewhere", timestamp: "2025-01-01T01:30:00.000Z", ...more }),
		message("x", null, spent(0.2, at(2), "small")),
		message("y", "x", spent(0.3, at(3), "small")),
	];
	const all = ["session", "project", "model", "day"] as const;

	/** The reports of a directory: from files, then twice from a catalog. */
	async function reports(dir: string): Promise<any[]> {
		ownAgent();
		const found: any[] = [];
		for (const catalog of ["off", join(scratch(), "catalog"), undefined]) {
			if (catalog !== undefined) setEnv({ PI_SESSION_NATIVE_CATALOG: catalog });
			found.push(await usage({ sessionDir: dir, by: all, utc: true }));
		}
		return found;
	}

	/** Expects $2.50 in three calls, all in the session `main`, for a report of all sessions and of `main`. */
	async function expectOnce(dir: string, main: string): Promise<void> {
		for (const report of [...(await reports(dir)), await usage({ path: main, by: all, utc: true })]) {
			expect(report).toMatchObject({
				sessions: 1,
				subagents: 1,
				total: { calls: 3, cost: 2.5 },
				leftOut: { files: [] },
			});
			expect(rows(report, "session")).toEqual([{ key: main, cost: 2.5, calls: 3, subagents: 1 }]);
			expect(rows(report, "project")).toEqual([{ key: "/project", cost: 2.5, calls: 3 }]);
			expect(rows(report, "model")).toEqual([
				{ key: "acme/large", cost: 2, calls: 1 },
				{ key: "acme/small", cost: 0.5, calls: 2 },
			]);
		}
	}

	// Regression: the subagent's usage was added twice, from the result and from its session.
	test("is not added if the subagent's session is below it", async () => {
		const dir = scratch();
		const run = join(dir, "2025_main", "r1", "run-0");
		const file = join(run, "session.jsonl");
		const main = writeSession(
			dir,
			parentLines({ mode: "single", results: [{ agent: "scout", usage: { cost: 0.5 }, sessionFile: file }] }),
			"2025_main.jsonl",
		);
		mkdirSync(run, { recursive: true });
		writeSession(run, childLines(), "session.jsonl");
		await expectOnce(dir, main);
	});

	// Regression: as above, and the subagent's session had its own row.
	test.each([
		["by its file", (dir: string) => ({ sessionFile: join(dir, "2025-01-01_child.jsonl") })],
		["by its id", () => ({ sessionId: "child" })],
		["by one of several ids", () => ({ children: [{ childSessionId: "gone" }, { sessionIds: ["child"] }] })],
	])("is not added if a session beside is named %s", async (_, details) => {
		const dir = scratch();
		const main = join(dir, "2025_main.jsonl");
		writeSession(dir, parentLines(details(dir)), "2025_main.jsonl");
		writeSession(dir, childLines({ parentSession: main }), "2025-01-01_child.jsonl");
		await expectOnce(dir, main);
	});

	test("is not added after both sessions were moved", async () => {
		const dir = scratch();
		const main = writeSession(
			dir,
			parentLines({ results: [{ sessionFile: "/old/sessions/2025_main/r1/session.jsonl" }] }),
			"2025_main.jsonl",
		);
		mkdirSync(join(dir, "2025_main/r1"), { recursive: true });
		writeSession(join(dir, "2025_main/r1"), childLines(), "session.jsonl");
		await expectOnce(dir, main);
	});

	// Regression: after both were moved, a file whose name does not contain the session's id was not found.
	test.each(["2025_child.jsonl", "child.jsonl", "scout-run.jsonl"])(
		"is not added after a move with their directory: %s",
		async (name) => {
			const dir = scratch();
			const main = writeSession(dir, parentLines({ sessionFile: `/old/--project--/${name}` }), "2025_main.jsonl");
			writeSession(dir, childLines(), name);
			await expectOnce(dir, main);
		},
	);

	test("is added if no existing session is named", async () => {
		for (const details of [
			undefined,
			null,
			"child",
			{ agentId: "child" },
			{ sessionFile: 5, sessionId: "" },
			{ sessionFile: "/gone/2025_x.jsonl" },
			{ a: { b: { c: { d: { e: { f: { sessionId: "child" } } } } } } },
		]) {
			const dir = scratch();
			const main = writeSession(dir, parentLines(details), "2025_main.jsonl");
			writeSession(dir, childLines({ parentSession: main }), "2025_child.jsonl");
			for (const report of await reports(dir)) {
				expect(report, JSON.stringify(details)).toMatchObject({
					sessions: 2,
					subagents: 0,
					total: { calls: 4, cost: 3 },
				});
				expect(report.by.model.map(({ key }: any) => key)).toContain("(tool subagent)");
			}
			expect((await usage({ path: main })).total.cost).toBe(2.5);
		}
	});

	test("is added if it names itself or an older session", async () => {
		const dir = scratch();
		const main = writeSession(dir, parentLines({ sessionId: "child" }), "2025_main.jsonl");
		// The subagent's tools name the session that started it, and itself.
		const child = writeSession(
			dir,
			[
				...childLines(),
				message("z", "y", ran(1, 4, { sessionId: "main", sessionFile: join(dir, "2025_child.jsonl") })),
			],
			"2025_child.jsonl",
		);
		const other = writeSession(
			dir,
			[
				header({ id: "other", timestamp: "2025-02-01T00:00:00.000Z" }),
				message("a", null, spent(4, at(999))),
				message("b", "a", ran(8, 1000, { sessionFile: main })),
			],
			"2025_other.jsonl",
		);
		for (const report of await reports(dir)) {
			expect(report).toMatchObject({ sessions: 2, subagents: 1, total: { cost: 15.5 } });
			expect(rows(report, "session")).toEqual([
				{ key: other, cost: 12, calls: 2, subagents: 0 },
				{ key: main, cost: 3.5, calls: 4, subagents: 1 },
			]);
		}
		expect((await usage({ path: main })).total.cost).toBe(3.5);
		expect(await usage({ path: child, by: "session" })).toMatchObject({
			sessions: 1,
			subagents: 0,
			total: { cost: 1.5 },
		});
	});

	test("is not added in a fork, even without its source", async () => {
		const dir = scratch();
		const main = writeSession(dir, parentLines({ sessionId: "child" }), "2025_main.jsonl");
		writeSession(dir, childLines({ parentSession: main }), "2025_child.jsonl");
		const forked = parentLines({ sessionId: "child" }).slice(1);
		const fork = writeSession(
			dir,
			[
				header({ id: "fork", cwd: "/project", timestamp: "2025-03-01T00:00:00.000Z", parentSession: main }),
				...forked,
				message("d", "c", spent(16, at(2000))),
			],
			"2025_fork.jsonl",
		);
		for (const report of await reports(dir)) expect(report.total.cost).toBe(18.5);
		expect((await usage({ path: fork })).total.cost).toBe(18.5);
		rmSync(main);
		for (const report of await reports(dir)) {
			expect(report).toMatchObject({ sessions: 1, subagents: 1, total: { cost: 18.5 } });
			expect(rows(report, "session")).toEqual([{ key: fork, cost: 18.5, calls: 4, subagents: 1 }]);
		}
	});

	test("is not added if a subagent has run another", async () => {
		const dir = scratch();
		const main = writeSession(dir, parentLines({ sessionId: "child" }), "2025_main.jsonl");
		// The first result contains the usage of both.
		const child = [...childLines(), message("z", "y", ran(0.25, 4, { sessionId: "grandchild" }))];
		writeSession(dir, child, "2025_child.jsonl");
		writeSession(
			dir,
			[header({ id: "grandchild", timestamp: "2025-01-01T02:10:00.000Z" }), message("g", null, spent(0.25, at(3)))],
			"2025_grandchild.jsonl",
		);
		for (const report of [...(await reports(dir)), await usage({ path: main, by: all })]) {
			expect(report).toMatchObject({ sessions: 1, subagents: 2, total: { calls: 4, cost: 2.75 } });
			expect(rows(report, "session")).toEqual([{ key: main, cost: 2.75, calls: 4, subagents: 2 }]);
		}
	});

	// Regression: if one file was there, the result was not added, so the cost of the two missing files was lost.
	test("counts with the part that is in no remaining session", async () => {
		const dir = scratch();
		const names = ["one", "two", "three"];
		const run = (name: string) => join(dir, "2025_main", "r1", name);
		const details = { results: names.map((name) => ({ sessionFile: join(run(name), "session.jsonl") })) };
		const result = ran(0.9, 5, details);
		const main = writeSession(
			dir,
			[...parentLines(undefined).slice(0, 3), message("c", "b", result), message("d", "c", spent(1, at(6)))],
			"2025_main.jsonl",
		);
		for (const [number, name] of names.entries()) {
			mkdirSync(run(name), { recursive: true });
			writeSession(run(name), [
				header({ id: name, timestamp: "2025-01-01T01:30:00.000Z" }),
				// It begins with a copy of the session's entries.
				message("b", null, spent(2, at(1))),
				message("x", "b", spent(0.3, at(2) + number)),
			]);
		}
		const costs = async () => {
			const found = [...(await reports(dir)), await usage({ path: main })];
			return found.map(({ total }) => [Number(total.cost.toFixed(9)), total.calls]);
		};
		const four = <T>(value: T): T[] => [value, value, value, value];
		expect(await costs()).toEqual(four([3.9, 5]));
		// The call of the result replaces the calls of the missing sessions.
		rmSync(run("one"), { recursive: true });
		expect(await costs()).toEqual(four([3.9, 5]));
		rmSync(run("two"), { recursive: true });
		expect(await costs()).toEqual(four([3.9, 4]));
		rmSync(run("three"), { recursive: true });
		expect(await costs()).toEqual(four([3.9, 3]));
	});

	test("counts for the working directory of its session", async () => {
		const dir = scratch();
		const main = writeSession(dir, parentLines({ sessionId: "child" }), "2025_main.jsonl");
		writeSession(dir, childLines(), "2025_child.jsonl");
		ownAgent();
		const costs = async (cwd: string) => (await usage({ cwd, sessionDir: dir })).total.cost;
		expect([await costs("/project"), await costs("/elsewhere")]).toEqual([2.5, 0]);
		expect((await usage({ path: main, since: "2025-01-01T02:15:00.000Z", until: "2025-01-02" })).total.cost).toBe(0.3);
	});
});
