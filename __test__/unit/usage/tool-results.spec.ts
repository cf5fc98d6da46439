// The usage in the result of a tool that ran a subagent: counted if no session of the subagent has it.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	api,
	header,
	type Json,
	message,
	ownAgent,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { at, call, rows } from "./calls.js";

const { usage } = api.SessionManager;

/** The result of a tool that ran a subagent, which called a model twice. */
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
	usage: { input: 2, output: 4, cacheRead: 6, cacheWrite: 8, totalTokens: 20, cost: { total: cost } },
});

describe("the result of a tool that ran a subagent", () => {
	const parentLines = (details: unknown): Json[] => [
		header({ id: "main", cwd: "/project", timestamp: "2025-01-01T00:00:00.000Z" }),
		message("a", null, user()),
		message("b", "a", call(2, at(1))),
		message("c", "b", ran(0.5, 5, details)),
	];
	const childLines = (more: Json = {}): Json[] => [
		header({ id: "child", cwd: "/elsewhere", timestamp: "2025-01-01T01:30:00.000Z", ...more }),
		message("x", null, call(0.2, at(2), { model: "small" })),
		message("y", "x", call(0.3, at(3), { model: "small" })),
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

	// Regression: of an id with `_`, only the text after the last `_` was looked for in the names of files.
	test("is not added if the named id contains _", async () => {
		const dir = scratch();
		const main = join(dir, "2025_main.jsonl");
		writeSession(dir, parentLines({ sessionId: "my_child" }), "2025_main.jsonl");
		writeSession(dir, childLines({ id: "my_child" }), "2025-01-01_my_child.jsonl");
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
				message("a", null, call(4, at(999))),
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
				message("d", "c", call(16, at(2000))),
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
			[header({ id: "grandchild", timestamp: "2025-01-01T02:10:00.000Z" }), message("g", null, call(0.25, at(3)))],
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
			[...parentLines(undefined).slice(0, 3), message("c", "b", result), message("d", "c", call(1, at(6)))],
			"2025_main.jsonl",
		);
		for (const [number, name] of names.entries()) {
			mkdirSync(run(name), { recursive: true });
			writeSession(run(name), [
				header({ id: name, timestamp: "2025-01-01T01:30:00.000Z" }),
				// It begins with a copy of the session's entries.
				message("b", null, call(2, at(1))),
				message("x", "b", call(0.3, at(2) + number)),
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
