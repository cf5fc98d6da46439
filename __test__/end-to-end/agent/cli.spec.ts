// pi's command line with the hook: one process for each command, and a scripted model on 127.0.0.1. pi alone must do
// the same.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Run, sameOnBoth, WAYS } from "../../support/agent/runs.js";

const call = (id: string, name: string, args: Record<string, unknown>) => ({ id, name, arguments: args });
const messages = (run: Run, file: string) =>
	run.lines(file).flatMap((line) => (line.type === "message" ? [line.message] : []));
const said = (run: Run, file: string) =>
	messages(run, file).flatMap((message) =>
		message.role === "user" ? [message.content.map((part: any) => part.text).join("")] : [],
	);

describe.each(WAYS)("pi on our session manager, $name", (way) => {
	it("answers a first prompt, continues, calls tools and exports", () =>
		sameOnBoth(
			{
				steps: [
					{ thinking: "A greeting.", text: "Good morning, Zoë \u{1f44b}" },
					{ text: "Yes, the second prompt." },
					{
						text: "Let me look.",
						toolCalls: [
							call("call_1", "read", { path: "notes.md" }),
							call("call_2", "bash", { command: "printf 'a\\rb \\360\\237\\230\\200'; exit 3" }),
						],
					},
					{
						toolCalls: [
							call("call_3", "write", { path: "out.md", content: "written\n" }),
							call("call_4", "read", { path: "missing.md" }),
						],
					},
					{ text: "Done, one call back is due." },
					{ text: "As events." },
				],
				act: async (run) => {
					expect(await run.pi(["-p", "Good morning"])).toMatchObject({
						code: 0,
						stdout: "Good morning, Zoë \u{1f44b}\n",
					});
					expect(await run.pi(["-p", "--continue", "Do you remember?"])).toMatchObject({ code: 0 });
					expect(await run.pi(["-p", "-c"], { input: "What do the notes say?\u2028And then?" })).toMatchObject({
						code: 0,
					});
					expect(readFileSync(join(run.work, "out.md"), "utf8")).toBe("written\n");
					const events = await run.pi(["--mode", "json", "-c", "Tell me in events"]);
					expect(events.stdout).toContain('"type":"agent_settled"');
					expect(run.sessionFiles()).toHaveLength(1);
					const [file] = run.sessionFiles();
					expect(said(run, file)).toEqual([
						"Good morning",
						"Do you remember?",
						"What do the notes say?\u2028And then?",
						"Tell me in events",
					]);
					const results = messages(run, file).filter((message) => message.role === "toolResult");
					expect(results.map((result) => result.isError)).toEqual([false, true, false, true]);
					expect(JSON.stringify(results[0].content)).toContain("call Zoë back");
					await run.pi(["--export", file, "page.html"]);
					expect(existsSync(join(run.work, "page.html"))).toBe(true);
				},
			},
			way,
		));
});

// Older releases run the steps above, and the steps of RPC mode.
describe.each(WAYS.slice(-1))("pi on our session manager, $name", (way) => {
	it("finds and creates sessions by id, refuses a bad id", () =>
		sameOnBoth(
			{
				steps: [{ text: "One." }, { text: "Two." }, { text: "Three." }],
				act: async (run) => {
					const first = await run.pi(["--session-id", "daily.2024_a-1", "--name", "Daily", "-p", "first"]);
					expect(first.stderr).toContain("creating a new session");
					await run.pi(["--session-id", "daily.2024_a-1", "-p", "second"]);
					await run.pi(["--session", "daily", "-p", "third"]);
					const files = run.sessionFiles();
					expect(files).toHaveLength(1);
					expect(basename(files[0])).toMatch(/Z_daily\.2024_a-1\.jsonl$/);
					expect(said(run, files[0])).toEqual(["first", "second", "third"]);
					expect(run.lines(files[0]).find((line) => line.type === "session_info")?.name).toBe("Daily");
					expect(await run.pi(["--session-id", "-bad-", "-p", "x"])).toMatchObject({ code: 1 });
					expect(await run.pi(["--session", "nowhere", "-p", "x"])).toMatchObject({ code: 1 });
				},
			},
			way,
		));

	it("forks by path and by id, into another directory too", () =>
		sameOnBoth(
			{
				steps: [{ text: "Origin." }, { text: "First fork." }, { text: "Second fork." }],
				act: async (run) => {
					const elsewhere = join(run.root, "elsewhere");
					mkdirSync(elsewhere);
					await run.pi(["--session-id", "origin", "-p", "start"]);
					const [origin] = run.sessionFiles();
					const before = readFileSync(origin, "utf8");
					await run.pi(["--fork", origin, "-p", "by path"], { cwd: elsewhere });
					await run.pi(["--fork", "origin", "--session-id", "copy", "-p", "by id"]);
					expect(await run.pi(["--fork", "origin", "--session-id", "copy", "-p", "again"])).toMatchObject({ code: 1 });
					expect(await run.pi(["--fork", "nothing", "-p", "x"])).toMatchObject({ code: 1 });
					const files = run.sessionFiles();
					expect(files).toHaveLength(3);
					expect(readFileSync(origin, "utf8")).toBe(before);
					for (const fork of files.slice(1)) expect(run.lines(fork)[0].parentSession).toBe(origin);
					expect(run.lines(files[1])[0].cwd).toBe(elsewhere);
					expect(said(run, files[2])).toEqual(["start", "by id"]);
				},
			},
			way,
		));

	it("opens a file of the first version", () =>
		sameOnBoth(
			{
				steps: [{ text: "Old friends." }],
				act: async (run) => {
					const file = join(run.work, "old.jsonl");
					const at = (second: number) => `2025-11-20T10:00:0${second}.000Z`;
					const lines = [
						{
							type: "session",
							id: "old",
							timestamp: at(0),
							cwd: run.work,
							provider: "loopback",
							modelId: "scripted",
							thinkingLevel: "off",
						},
						{
							type: "message",
							timestamp: at(1),
							message: { role: "user", content: "from long ago", timestamp: 1763632801000 },
						},
						{
							type: "message",
							timestamp: at(2),
							message: {
								role: "hookMessage",
								customType: "x",
								content: "hook",
								display: true,
								timestamp: 1763632802000,
							},
						},
						{
							type: "compaction",
							timestamp: at(3),
							summary: "An old summary",
							firstKeptEntryIndex: 1,
							tokensBefore: 5000000000,
						},
						{
							type: "message",
							timestamp: at(4),
							message: { role: "user", content: [{ type: "text", text: "and after" }], timestamp: 1763632804000 },
							extra: { kept: -0 },
						},
					];
					for (const line of lines) appendFileSync(file, `${JSON.stringify(line)}\n`);
					expect(await run.pi(["--session", file, "-p", "hello again"])).toMatchObject({ code: 0 });
					const [header, ...entries] = run.lines(file);
					expect(header.version).toBe(3);
					expect(entries.every((entry) => typeof entry.id === "string")).toBe(true);
					expect(entries[2].firstKeptEntryId).toBe(entries[0].id);
				},
			},
			way,
		));

	it("stores a failed prompt and refuses bad files", () =>
		sameOnBoth(
			{
				steps: [{ status: 400, error: "no such luck" }, { text: "Now it works." }],
				act: async (run) => {
					const failed = await run.pi(["-p", "will fail"]);
					expect(failed.code).toBe(1);
					expect(failed.stderr).toContain("no such luck");
					const [file] = run.sessionFiles();
					expect(said(run, file)).toEqual(["will fail"]);
					await run.pi(["-p", "-c", "once more"]);
					const noSession = join(run.work, "not-a-session.jsonl");
					writeFileSync(noSession, '{"type":"message"}\n');
					for (const args of [
						["--session", noSession],
						["--fork", noSession],
						["--fork", join(run.work, "missing.jsonl")],
					]) {
						expect(await run.pi([...args, "-p", "x"])).toMatchObject({ code: 1 });
					}
					expect((await run.pi(["--export", noSession])).code).toBe(1);
					expect((await run.pi(["--export", join(run.work, "missing.jsonl")])).code).toBe(1);
					expect(readFileSync(noSession, "utf8")).toBe('{"type":"message"}\n');
				},
			},
			way,
		));

	it("needs a conversation for a file, and obeys --session-dir", () =>
		sameOnBoth(
			{
				steps: [{ text: "Forgotten." }, { text: "Kept elsewhere." }, { text: "Found again." }],
				act: async (run) => {
					await run.pi(["--no-session", "-p", "forget this"]);
					await run.pi(["--list-models"]);
					expect(run.sessionFiles()).toEqual([]);
					const own = join(run.work, "own");
					await run.pi(["--session-dir", own, "-p", "keep this"]);
					await run.pi(["--session-dir", own, "-c", "-p", "and this"]);
					expect(run.sessionFiles()).toEqual([]);
					expect(run.server.requests.at(-1)?.body.messages.filter((message) => message.role === "user")).toHaveLength(
						2,
					);
				},
			},
			way,
		));
});
