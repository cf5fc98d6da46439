// The tools that the extension adds for the model, in this process.
import { mkdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { openFilesOf } from "../../support/open-files.js";
import {
	api,
	assistant,
	entry,
	header,
	type Json,
	message,
	root,
	scratch,
	snapshot,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";
import { agentDir } from "../../unit/catalog/agent-dir.js";

const { definitions, readSession, searchSessions } = await import(
	pathToFileURL(join(root, "lib/extension/tools.mjs")).href
);

afterEach(() => api.setAgentDir(undefined));

const piOf = (agent: string) => ({ getAgentDir: () => agent });
const ctx = (file?: string) => ({
	cwd: "/project",
	sessionManager: {
		getSessionFile: () => file,
		getSessionId: () => "none",
		usesDefaultSessionDir: () => true,
		getSessionDir: () => "",
	},
});
const textOf = (result: any): string => result.content[0].text;
const search = async (agent: string, params: Json, file?: string): Promise<string> =>
	textOf(await searchSessions(piOf(agent), params, undefined, ctx(file)));

test("both definitions are below 1,000 bytes and read-only", () => {
	const sent = Object.values<any>(definitions).map(({ name, description, parameters }) => ({
		type: "function",
		function: { name, description, parameters },
	}));
	expect(Buffer.byteLength(JSON.stringify(sent))).toBeLessThan(1000);
	for (const { annotations } of Object.values<any>(definitions))
		expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
	expect(Buffer.byteLength(readFileSync(join(root, "skills/session-search/SKILL.md")))).toBeLessThan(2500);
});

describe("search_sessions", () => {
	test("finds words in other sessions and writes nothing", async () => {
		const { agent, dir } = agentDir();
		await search(agent, { query: "question" });
		const before = snapshot(join(agent, "sessions"));
		const here = await search(agent, { query: "question" });
		expect(here).toContain('session s-10 "question 10"\n  entry a 2025-01-01T00:00:00.000Z user: question 10');
		expect(here).not.toContain("s-3 ");
		expect(await search(agent, { query: "question", all: true })).toContain(
			'session s-3 "question 3" in /other\n  entry a 2025-01-01T00:00:00.000Z user: question 3',
		);
		expect(await search(agent, { query: "question 10" }, join(dir, "10.jsonl"))).toBe(
			"Nothing found in the sessions of this project; set all to search every project.",
		);
		expect(snapshot(join(agent, "sessions"))).toEqual(before);
	});

	test("answers in 6,000 characters at most, safe for a terminal", async () => {
		const { agent, dir } = agentDir(1);
		const hits = Array.from({ length: 60 }, (_, n) =>
			message(`e${n}`, null, user(`needle \u001b[2J\u202e ${"long words ".repeat(50)} ${n}`)),
		);
		writeSession(dir, [header({ id: "long", cwd: "/project" }), ...hits], "long.jsonl");
		const text = await search(agent, { query: "needle", session: "long" });
		expect(text.length).toBeGreaterThan(4000);
		expect(text.length).toBeLessThanOrEqual(6000);
		expect(text).toMatch(/\(\d+ more of 60 hits: use rarer words\)$/);
		expect(text).not.toMatch(/[\u001b\u202e]/);
	});

	// Regression: a model got only the hits of one long session.
	test("shows some hits of each session, and more of one", async () => {
		const { agent, dir } = agentDir(3);
		const hits = Array.from({ length: 40 }, (_, n) => message(`e${n}`, null, user(`question again ${n}`)));
		writeSession(
			dir,
			[
				header({ id: "long", cwd: "/project" }),
				...hits,
				entry("session_info", "n", null, { name: "A long\n\u001b[1mtalk" }),
			],
			"long.jsonl",
		);
		mkdirSync(join(dir, "long/run"), { recursive: true });
		writeSession(join(dir, "long/run"), [
			header({ id: "helper", cwd: "/else" }),
			message("a", null, user("question of a helper")),
		]);
		const text = await search(agent, { query: "question" });
		expect(text).toMatch(
			/^session long "A long talk"\n {2}entry e39 [\s\S]*\n {2}entry e37 .*\n {2}\(37 more of 40 hits in this session; set session to see them\)\nsession helper "question of a helper", of a subagent of session long\n/,
		);
		expect(text.match(/^session /gm)).toHaveLength(5);
		expect((await search(agent, { query: "question", session: "lon" })).match(/^ {2}entry /gm)).toHaveLength(40);
		await expect(search(agent, { query: "question", session: "nowhere" })).rejects.toThrow(
			"No session has an id that begins with nowhere",
		);
	});

	// Regression: if there were more than sixty hits, no session said that it has more, and one session seemed to have
	// only sixty.
	test("counts the hits that are not shown", async () => {
		const { agent, dir } = agentDir(0);
		const said = (id: string, count: number, words: string) =>
			writeSession(
				dir,
				[
					header({ id, cwd: "/project" }),
					...Array.from({ length: count }, (_, n) =>
						message(`e${n}`, n === 0 ? null : `e${n - 1}`, user(`${words} ${n}`)),
					),
				],
				`${id}.jsonl`,
			);
		for (let n = 0; n < 21; n++) said(`s-${n}`, 5, `needle of ${n}:`);
		said("long", 65, "thorn");
		const text = await search(agent, { query: "needle" });
		expect(text.match(/^session /gm)).toHaveLength(20);
		expect(text.match(/^ {2}\(2 more of 5 hits in this session; set session to see them\)$/gm)).toHaveLength(20);
		expect(text).toMatch(/\n\(more hits: use rarer words\)$/);
		const ofOne = await search(agent, { query: "thorn", session: "long" });
		expect(ofOne.match(/^ {2}entry /gm)).toHaveLength(60);
		expect(ofOne).toMatch(/\n\(5 more of 65 hits: use rarer words\)$/);
	});

	// Regression: the result did not say that they are left out.
	test("counts the subagents that a session's search leaves out", async () => {
		const { agent, dir } = agentDir(1);
		mkdirSync(join(dir, "0/run"), { recursive: true });
		writeSession(join(dir, "0/run"), [header({ id: "helper" }), message("a", null, user("needle"))]);
		expect(await search(agent, { query: "needle", session: "s-0" })).toBe(
			"Nothing found in this session. Not searched: 1 session of its subagents.",
		);
	});

	test("lists sessions in order despite file times", async () => {
		const { agent, dir } = agentDir(1);
		const said = (id: string, timestamp: number) =>
			writeSession(
				dir,
				[header({ id, cwd: "/project" }), message("a", null, { ...user(`needle of ${id}`), timestamp })],
				`${id}.jsonl`,
			);
		const [newer, older] = [said("newer", 2_000), said("older", 1_000)];
		utimesSync(newer, 1_000, 1_000);
		utimesSync(older, 2_000, 2_000);
		await api.SessionManager.list("/project", dir);
		const text = await search(agent, { query: "needle" });
		expect(text.match(/^session \w+/gm)).toEqual(["session newer", "session older"]);
	});

	test("an empty query is an error", async () => {
		const { agent } = agentDir(1);
		for (const query of ["", "  "]) await expect(search(agent, { query })).rejects.toThrow("The query is empty");
	});

	test("can be aborted", async () => {
		const { agent } = agentDir(1);
		await expect(
			searchSessions(piOf(agent), { query: "question" }, AbortSignal.abort(new Error("stop")), ctx()),
		).rejects.toThrow("stop");
	});
});

describe("read_session", () => {
	// Regression: the tool searched only the default directory.
	test("reads what search_sessions found, and leaves no file open", async () => {
		const { agent } = agentDir(1);
		const dir = scratch();
		const path = writeSession(
			dir,
			[header({ id: "0194-elsewhere", cwd: "/project" }), message("a", null, user("needle of elsewhere"))],
			"elsewhere.jsonl",
		);
		const elsewhere = {
			cwd: "/project",
			sessionManager: {
				getSessionFile: () => join(dir, "open.jsonl"),
				getSessionId: () => "none",
				usesDefaultSessionDir: () => false,
				getSessionDir: () => dir,
			},
		};
		expect(textOf(await searchSessions(piOf(agent), { query: "needle" }, undefined, elsewhere))).toContain(
			'session 0194-elsewhere "needle of elsewhere"\n  entry a ',
		);
		expect(textOf(readSession(piOf(agent), { session: "0194-elsewhere", entry: "a" }, elsewhere))).toContain(
			"needle of elsewhere",
		);
		expect(() => readSession(piOf(agent), { session: "0194-elsewhere", entry: "z" }, elsewhere)).toThrow(
			"contains no entry z",
		);
		expect(() => readSession(piOf(agent), { session: "s-0", entry: "a" }, elsewhere)).toThrow(
			"No session has an id that begins with s-0",
		);
		expect(openFilesOf("self")).not.toContain(path);
	});

	test("returns messages around an entry, at most 12,000 characters", () => {
		const { agent, dir } = agentDir(1);
		const long = "word ".repeat(10_000);
		const entries = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map((id, at, all) =>
			message(id, all[at - 1] ?? null, at % 2 ? assistant(`${id}: ${long}`) : user(`${id}: ${long}\u001b[2J`)),
		);
		writeSession(dir, [header({ id: "0194-long", cwd: "/project" }), ...entries], "long.jsonl");
		const text = textOf(readSession(piOf(agent), { session: "0194-l", entry: "e" }, ctx()));
		expect(text.length).toBeLessThanOrEqual(12_000);
		expect(text.length).toBeGreaterThan(9_000);
		expect([...text.matchAll(/^\[(\w+) (\w) /gm)].map(([, role, id]) => `${role} ${id}`)).toEqual([
			"assistant b",
			"user c",
			"assistant d",
			"user e",
			"assistant f",
			"user g",
			"assistant h",
		]);
		expect(text).toMatch(/… \(\d+ characters more\)/);
		expect(text).not.toContain("\u001b");
	});

	test("names what is not there, or not the only one", () => {
		const { agent, dir } = agentDir(12);
		const read = (session: string, entry: string) => () => readSession(piOf(agent), { session, entry }, ctx());
		expect(read("nothing", "a")).toThrow("No session has an id that begins with nothing");
		expect(read("", "a")).toThrow("No session has an id that begins with ");
		expect(read("s-0", "z")).toThrow("Session s-0 contains no entry z");
		expect(read("s-", "a")).toThrow("Several session ids begin with s-: use the whole id");
		writeSession(
			dir,
			[header({ id: "tool", cwd: "/project" }), message("a", null, toolResult("only output"))],
			"tool.jsonl",
		);
		expect(textOf(readSession(piOf(agent), { session: "tool", entry: "a" }, ctx()))).toContain("only output");
	});
});
