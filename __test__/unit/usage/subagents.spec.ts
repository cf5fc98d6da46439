// The usage of subagents' sessions is added to the session that they belong to.
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { everySessionFile, subagentFiles } from "../../../session-files.mjs";
import {
	api,
	header,
	type Json,
	lockedOut,
	message,
	ownAgent,
	root,
	scratch,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";
import { at, call, rows } from "./calls.js";

const { usage } = api.SessionManager;

/** A directory with a session of $2 and two runs of its subagents ($7 and $1), and another session of $3. */
function sessions(dir: string): { main: string; other: string; run: string } {
	const main = writeSession(
		dir,
		[header({ id: "main", cwd: "/project" }), message("a", null, user()), message("b", "a", call(2, at(1)))],
		"2025_main.jsonl",
	);
	const other = writeSession(
		dir,
		[header({ id: "other", cwd: "/other" }), message("a", null, call(3, at(9)))],
		"2025_other.jsonl",
	);
	const run = join(dir, "2025_main", "abc", "run-0");
	mkdirSync(run, { recursive: true });
	writeSession(run, [
		header({ id: "sub", cwd: "/elsewhere", timestamp: "2025-01-02T00:00:00.000Z" }),
		message("x", null, call(7, at(30), { model: "small" })),
	]);
	mkdirSync(join(dir, "2025_main", "abc", "run-1"));
	// It begins with the session's own entries.
	writeSession(join(dir, "2025_main", "abc", "run-1"), [
		header({ id: "copy", cwd: "/project", timestamp: "2025-01-02T00:00:00.000Z" }),
		message("b", null, call(2, at(1))),
		message("y", "b", call(1, at(31))),
	]);
	return { main, other, run };
}

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
		const one = [header({ id: "odd" }), message("o", null, call(100, at(2)))];
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
		writeSession(join(dir, "node_modules"), [header({ id: "no" }), message("a", null, call(100, at(2)))]);
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
		const sub = [header({ id: "sub", cwd: "/there" }), message("a", null, call(5, at(1)))];
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
		writeSession(linked, [header({ id: "far" }), message("a", null, call(100, at(2)))]);
		symlinkSync(linked, join(run, "link"));
		symlinkSync(join(linked, "session.jsonl"), join(run, "link.jsonl"));
		symlinkSync(dir, join(run, "loop"));
		writeFileSync(join(run, "artifact.jsonl"), '{"event":"start"}\n');
		mkdirSync(join(run, "folder.jsonl"));
		mkdirSync(join(dir, "stray"));
		writeSession(join(dir, "stray"), [header({ id: "stray" }), message("a", null, call(100, at(3)))]);
		expect(await usage({ sessionDir: dir })).toMatchObject({ total: { cost: 13 }, leftOut: { files: [] } });
		const hidden = await lockedOut(run, () => usage({ sessionDir: dir }));
		expect(hidden).toMatchObject({
			total: { cost: 6 },
			leftOut: { files: [{ path: run, error: expect.stringContaining("EACCES") }] },
		});
	});
});
