// What sessions of subagents used counts for the session that they are below.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Json, api, assistant, header, lockedOut, message, ownAgent, scratch, setEnv, user, writeSession } from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

const { usage } = api.SessionManager;

const spent = (cost: number, at: number, model = "large"): Json =>
	assistant("done", {
		...{ provider: "acme", model, timestamp: at },
		usage: { input: 10, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 30, cost: { input: 0, output: cost, cacheRead: 0, cacheWrite: 0, total: cost } },
	});
const at = (hour: number): number => Date.UTC(2025, 0, 1, hour);

/** A directory with a session of $2 and, below it, runs of $7 and $1; another session of $3. */
function sessions(dir: string): { main: string; other: string; run: string } {
	const main = writeSession(dir, [header({ id: "main", cwd: "/project" }), message("a", null, user()), message("b", "a", spent(2, at(1)))], "2025_main.jsonl");
	const other = writeSession(dir, [header({ id: "other", cwd: "/other" }), message("a", null, spent(3, at(9)))], "2025_other.jsonl");
	const run = join(dir, "2025_main", "abc", "run-0");
	mkdirSync(run, { recursive: true });
	writeSession(run, [header({ id: "sub", cwd: "/elsewhere", timestamp: "2025-01-02T00:00:00.000Z" }), message("x", null, spent(7, at(30), "small"))]);
	mkdirSync(join(dir, "2025_main", "abc", "run-1"));
	// It began with the session's own entries.
	writeSession(join(dir, "2025_main", "abc", "run-1"), [header({ id: "copy", cwd: "/project", timestamp: "2025-01-02T00:00:00.000Z" }), message("b", null, spent(2, at(1))), message("y", "b", spent(1, at(31)))]);
	return { main, other, run };
}

const rows = (report: any, by: string) => report.by[by].map(({ key, cost, calls, subagents }: any) => ({ key, cost, calls, ...(by === "session" ? { subagents } : {}) }));

describe("sessions of subagents", () => {
	test("are counted, copies once, in the row of the session that they are below, from the files and from the catalog", async () => {
		const { agent } = ownAgent();
		setEnv({ PI_SESSION_NATIVE_CATALOG: undefined });
		const dir = join(agent, "sessions/--project--");
		mkdirSync(dir, { recursive: true });
		const { main, other } = sessions(dir);
		for (const how of ["files", "catalog"]) {
			const report = await usage({ by: ["session", "project", "model", "day"], utc: true });
			expect(report, how).toMatchObject({ sessions: 2, subagents: 2, total: { calls: 4, cost: 13 }, leftOut: { files: [] } });
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
		const { subagentFiles } = (await import("../../../lib/shared/session-dir.mjs" as string)) as { subagentFiles: (file: string) => string[] };
		const report = await usage({ path: main, by: "session" });
		expect(subagentFiles(main)).toHaveLength(5);
		expect(report.subagents).toBe(5);
	});

	test("follow the session: by its file, its working directory, its session directory", async () => {
		ownAgent();
		const dir = scratch();
		const { main } = sessions(dir);
		const costs = async (options: Json) => (await usage(options as any)).total.cost;
		expect(await costs({ path: main })).toBe(10);
		expect(await costs({ cwd: "/project", sessionDir: dir })).toBe(10);
		expect(await costs({ cwd: "/elsewhere", sessionDir: dir })).toBe(0);
		expect(await costs({ cwd: "/other", sessionDir: dir })).toBe(3);
		expect(await costs({ sessionDir: dir, since: "2025-01-02" })).toBe(8);
		rmSync(main);
		expect(await costs({ sessionDir: dir })).toBe(3);
	});

	test("are by themselves where their session cannot be read", async () => {
		ownAgent();
		const dir = scratch();
		const { main } = sessions(dir);
		writeFileSync(main, "no session\n");
		const report = await usage({ sessionDir: dir, by: "session" });
		expect(report).toMatchObject({ sessions: 3, subagents: 0, total: { cost: 13 }, leftOut: { files: [{ path: main }] } });
	});

	testWith("links")("are not searched for behind links; other files are not missed, folders that cannot be read are named", async () => {
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
		expect(hidden).toMatchObject({ total: { cost: 6 }, leftOut: { files: [{ path: run, error: expect.stringContaining("EACCES") }] } });
	});
});
