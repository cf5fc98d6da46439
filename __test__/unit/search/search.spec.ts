// SessionManager.search.
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SearchOptions } from "../../../index.js";
import {
	api,
	assistant,
	entry,
	header,
	type Json,
	message,
	ownAgent,
	scratch,
	setEnv,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";
import { saying, search } from "./saying.js";

const { SessionManager } = api;

test("a hit tells where it is", async () => {
	const dir = scratch();
	const path = writeSession(dir, [
		header({ cwd: "/here" }),
		message("a", null, user("where is the needle")),
		message("b", "a", assistant("in the Needle case"), { timestamp: "2025-03-04T05:06:07.008Z" }),
		entry("session_info", "c", "b", { name: "haystack" }),
	]);
	const [first, second, ...rest] = await search(dir, "needle case");
	expect([second, rest]).toEqual([undefined, []]);
	expect(first).toEqual({
		path,
		id: "s-1",
		name: "haystack",
		firstMessage: "where is the needle",
		cwd: "/here",
		entryId: "b",
		role: "assistant",
		in: "assistant",
		timestamp: "2025-03-04T05:06:07.008Z",
		snippet: "in the «Needle case»",
		hitsInSession: 1,
	});
	const [marked] = await search(dir, "where", { mark: ["<b>", "</b>"] });
	expect(marked?.snippet).toBe("<b>where</b> is the needle");
});

// Regression: in a text of less than 64 KiB one character became three.
test.each([0, 70_000])("a lone surrogate is one U+FFFD (%i characters more)", async (more) => {
	const dir = scratch();
	const line = JSON.stringify(
		entry("custom_message", "c", null, {
			customType: "x",
			content: `needle a\ud83db${" ".repeat(more)}`,
			display: true,
		}),
	);
	writeFileSync(join(dir, "one.jsonl"), `${JSON.stringify(header())}\n${line}\n`);
	const [hit] = await search(dir, "needle", { in: ["custom", "user"] });
	expect(hit?.snippet).toMatch(/^«needle» a\ufffdb/u);
});

// Regression: hits had no id, and the command guessed it from time, role and snippet.
test("entries of version 1 have their read-only number", async () => {
	const dir = scratch();
	const said = (text: unknown): Json => ({
		type: "message",
		timestamp: "2024-06-01T09:00:00.000Z",
		message: { role: "user", content: text, timestamp: 1 },
	});
	const path = writeSession(dir, [
		{ type: "session", id: "old", timestamp: "2024-06-01T09:00:00.000Z", cwd: "/" },
		said("yes zebra please"),
		said("zebra"),
		"torn {",
		"5",
		"",
		{ type: "session", id: "later" },
		{ ...said("zebra with an id"), id: "own" },
		said([
			{ type: "text", text: "long ".repeat(300_000) },
			{ type: "text", text: "zebra at last" },
		]),
		{ type: "compaction", timestamp: "2024-06-01T09:00:00.000Z", summary: "a zebra was seen", firstKeptEntryIndex: 1 },
	]);
	const shown = new Map(
		SessionManager.open(path, { readonly: true })
			.getEntries()
			.map((one) => [one.id, JSON.stringify(one)]),
	);
	expect([...shown.keys()]).toEqual(["00000001", "00000002", "00000003", "00000004", "00000005"]);
	const hits = await search(dir, "zebra");
	expect(hits.map((hit) => hit.entryId).sort()).toEqual([...shown.keys()]);
	for (const { entryId, snippet } of hits)
		expect(shown.get(entryId)).toContain(snippet.replace(/[«»…]/g, "").trim().slice(-12));
	expect((await search(dir, "please zebra")).map((hit) => hit.entryId)).toEqual(["00000001"]);
	expect((await search(dir, "was seen")).map((hit) => hit.entryId)).toEqual(["00000005"]);
});

/** Sets the time at which a session's file was changed, in seconds. */
const changedAt = (path: string, seconds: number): void => utimesSync(path, seconds, seconds);

describe("hits come", () => {
	test("newest session first, then phrase, words, parts of words", async () => {
		const dir = scratch();
		const said = (id: string, ...texts: string[]) =>
			writeSession(
				dir,
				[header({ id }), ...texts.map((text, n) => message(`${id}${n}`, null, user(text)))],
				`${id}.jsonl`,
			);
		const older = said("older", "red green");
		const newer = said("newer", "reddish green", "green, red", "red green", "redgreen", "a green red");
		changedAt(older, 1_000);
		changedAt(newer, 2_000);
		const order = async (options: SearchOptions = {}) =>
			(await search(dir, "red green", options)).map((hit) => hit.entryId);
		expect(await order()).toEqual(["newer2", "newer4", "newer1", "newer3", "newer0", "older0"]);
		expect(await order({ limit: 3 })).toEqual(["newer2", "newer4", "newer1"]);
		expect(await order({ limit: 0 })).toEqual([]);
		expect(await order({ phrase: true })).toEqual(["newer2", "older0"]);
		changedAt(older, 3_000);
		expect(await order({ limit: 2 })).toEqual(["older0", "newer2"]);
	});

	// Regression: after a restore, a sync or touch, old sessions came before new ones, although list had them last.
	test("in the catalog's order, whatever the files' times are", async () => {
		ownAgent();
		setEnv({ PI_SESSION_NATIVE_CATALOG: join(scratch(), "catalog") });
		const dir = scratch();
		const said = (id: string, timestamp: number) =>
			writeSession(dir, [header({ id }), message("a", null, { ...user(`needle of ${id}`), timestamp })], `${id}.jsonl`);
		const [last, first, middle] = [said("last", 3_000), said("first", 1_000), said("middle", 2_000)];
		for (const [path, seconds] of [
			[last, 1],
			[first, 3],
			[middle, 2],
		] as const)
			changedAt(path, seconds * 1_000);
		const order = async (): Promise<string[]> => (await search(dir, "needle")).map((hit) => hit.id);
		expect(await order()).toEqual(["first", "middle", "last"]);
		const listed = (await SessionManager.listAll(dir)).map(({ id }) => id);
		expect([listed, await order()]).toEqual([listed, ["last", "middle", "first"]]);
		changedAt(first, 9_000);
		// A restored file is a new file of the same name.
		const text = readFileSync(middle);
		rmSync(middle);
		writeFileSync(middle, text);
		expect(await order()).toEqual(listed);
		// A session that was written to since then is sorted by its file's time.
		appendFileSync(first, `${JSON.stringify(message("b", "a", user("more")))}\n`);
		expect(await order()).toEqual(["first", "last", "middle"]);
		await SessionManager.listAll(dir);
		expect(await order()).toEqual((await SessionManager.listAll(dir)).map(({ id }) => id));
	});

	test("one for all copies of an entry, or all", async () => {
		const dir = scratch();
		const path = writeSession(dir, [
			header({ id: "first", cwd: "/a" }),
			message("m", null, user("shared words")),
			message("n", "m", assistant("shared too")),
		]);
		const fork = SessionManager.forkFrom(path, "/b", dir);
		const file = fork.getSessionFile() as string;
		fork.appendMessage({ role: "user", content: "shared by the fork", timestamp: 1 });
		changedAt(path, 1_000);
		changedAt(file, 2_000);
		const paths = async (options: SearchOptions = {}) => (await search(dir, "shared", options)).map((hit) => hit.path);
		expect(await paths()).toEqual([file, file, file]);
		expect(await paths({ dedupe: false })).toEqual([file, file, file, path, path]);
		changedAt(path, 3_000);
		expect(await paths()).toEqual([path, path, file]);
		// The copies in a newer session do not count for the limit.
		expect(await paths({ limit: 3 })).toEqual([path, path, file]);
		expect(await paths({ excludeSession: "first" })).toEqual([file, file, file]);
		expect(await paths({ excludeSession: file })).toEqual([path, path]);
	});

	// Regression: a copy of a long line was a second hit, because its snippet came from another piece of the line.
	test("one for all copies of a long line", async () => {
		for (const version of [1, 3]) {
			const dir = scratch();
			const text = `${"ab then some other words and so on. ".repeat(300)}${"filler words ".repeat(30_000)}longerword ab ${"tail words ".repeat(5_000)}`;
			const id = (one: string) => (version === 1 ? {} : { id: one });
			const said = (one: string, content: string) => ({
				type: "message",
				...id(one),
				timestamp: "2025-01-01T00:00:00.000Z",
				message: user(content),
			});
			const longer = said("b", text);
			for (let n = 0; n < 6; n++) {
				writeSession(dir, [header({ id: `s-${n}`, version }), said("a", "z".repeat(n * 50_000)), longer], `${n}.jsonl`);
			}
			for (const query of ["longerword ab", "ab longerword"]) {
				expect(await search(dir, query), `version ${version}`).toHaveLength(1);
				expect(await search(dir, query, { dedupe: false })).toHaveLength(6);
			}
		}
	});
});

describe("options choose", () => {
	/** All kinds of text, each with its word. */
	const everything = (): string => {
		const dir = scratch();
		const call = {
			type: "toolCall",
			id: "t",
			name: "bash",
			arguments: { command: "word of a call", nested: [{ deep: "deepword" }] },
		};
		const said = {
			...assistant(""),
			content: [{ type: "thinking", thinking: "thoughtword" }, { type: "text", text: "word of an assistant" }, call],
		};
		writeSession(dir, [
			header(),
			message("u", null, user("word of a user"), { timestamp: "2025-01-01T00:00:00.000Z" }),
			message("a", "u", said, {
				timestamp: "2025-01-02T00:00:00.000Z",
			}),
			message("t", "a", toolResult("word of a result"), { timestamp: "2025-01-03T00:00:00.000Z" }),
			message("b", "t", { role: "bashExecution", command: "echo word", output: "word\n", exitCode: 0, timestamp: 1 }),
			entry("session_info", "n", "b", { name: "word as a name" }),
			entry("label", "l", "n", { targetId: "u", label: "word as a label" }),
			entry("compaction", "c", "l", { summary: "word of a compaction", firstKeptEntryId: "u", tokensBefore: 1 }),
			entry("branch_summary", "s", "c", { summary: "word of a branch", fromId: "u" }),
			entry("custom", "x", "s", { customType: "word", data: { some: ["word of data"], word: 1 } }),
			entry("custom_message", "y", "x", { customType: "z", content: "word of an extension", display: true }),
			message("e", "y", { ...assistant(""), content: [], stopReason: "error", errorMessage: "429 word overloaded" }),
			entry("context_edit", "r", "e", {
				targetId: "u",
				replacement: { content: [{ type: "text", text: "word of an edit" }] },
			}),
			entry("context_edit", "o", "r", { targetId: "a", replacement: null }),
			message("sys", "y", { role: "system", content: "word of the system", timestamp: 1 }),
		]);
		return dir;
	};
	const entries = async (dir: string, query: string, options: SearchOptions) =>
		(await search(dir, query, options))
			.map((hit) => hit.entryId)
			.sort()
			.join("");

	test("roles and times", async () => {
		const dir = everything();
		const all = ["user", "assistant", "name", "summary", "tool", "thinking", "custom"] as const;
		expect(await entries(dir, "word", { in: all, roles: ["toolResult", "label"] })).toBe("lt");
		expect(await entries(dir, "word", { roles: ["user"] })).toBe("u");
		expect(await entries(dir, "word", { in: all, roles: ["context_edit"] })).toBe("r");
		// Regression: if no kind of text or no role was wanted, all files were read.
		for (const none of [{ in: [] }, { roles: [] }]) {
			const told: number[] = [];
			expect(await search(dir, "word", { ...none, onProgress: (searched) => void told.push(searched) })).toEqual([]);
			expect(told).toEqual([]);
		}
		expect(await entries(dir, "word", { in: all, roles: [] })).toBe("");
		expect(await entries(dir, "word", { in: all, since: "2025-01-02", until: new Date(Date.UTC(2025, 0, 3)) })).toBe(
			"a",
		);
		expect(await entries(dir, "word", { in: ["tool"], since: Date.UTC(2025, 0, 3), roles: ["toolResult"] })).toBe("t");
		expect(await entries(dir, "word", { since: "2125-01-01" })).toBe("");
	});
});

describe("a long session", () => {
	const many = (id: string, count: number, text = "error"): Json[] => [
		header({ id }),
		...Array.from({ length: count }, (_, n) => message(`${id}-${n}`, null, user(`${text} ${n}`))),
	];

	// Regression: a session with many hits hid all others.
	test("hides no other with a limit per session", async () => {
		const dir = scratch();
		const sessions = ["one", "two", "three"].map((id, at) => {
			const path = writeSession(dir, many(id, id === "three" ? 500 : at + 1), `${id}.jsonl`);
			changedAt(path, at * 1_000);
			return path;
		});
		const hits = await search(dir, "error", { perSession: 3, limit: 200 });
		expect(hits.map((hit) => [hit.entryId, hit.hitsInSession])).toEqual([
			["three-499", 500],
			["three-498", 500],
			["three-497", 500],
			["two-1", 2],
			["two-0", 2],
			["one-0", 1],
		]);
		expect(await search(dir, "error", { perSession: 0 })).toEqual([]);
		expect(await search(dir, "error", { perSession: 3, limit: 4 })).toHaveLength(4);
		expect((await search(dir, "error", { session: "two" })).map((hit) => hit.entryId)).toEqual(["two-1", "two-0"]);
		expect((await search(dir, "error", { session: sessions[0] })).map((hit) => hit.entryId)).toEqual(["one-0"]);
		expect(await search(dir, "error", { session: "none" })).toEqual([]);
	});

	test("does not count hits that newer copies have", async () => {
		const dir = scratch();
		const shared = many("first", 100).slice(1);
		const first = writeSession(
			dir,
			[header({ id: "first" }), ...shared, message("own", null, user("errors of its own"))],
			"first.jsonl",
		);
		const fork = writeSession(dir, [header({ id: "fork" }), ...shared], "fork.jsonl");
		changedAt(first, 1_000);
		changedAt(fork, 2_000);
		const found = async (options: SearchOptions) =>
			(await search(dir, "error", options)).map((hit) => [hit.id, hit.entryId, hit.hitsInSession]);
		expect(await found({ perSession: 2 })).toEqual([
			["fork", "first-99", 100],
			["fork", "first-98", 100],
			["first", "own", 1],
		]);
		expect(await found({ perSession: 1, dedupe: false })).toEqual([
			["fork", "first-99", 100],
			["first", "first-99", 101],
		]);
	});
});

describe("sessions of subagents", () => {
	/** A session with two subagents, one of which has a subagent. */
	const family = (): string => {
		const dir = scratch();
		writeSession(dir, [header({ id: "alone", cwd: "/here" }), message("a", null, user("needle alone"))], "alone.jsonl");
		const main = writeSession(
			dir,
			[
				header({ id: "main", cwd: "/here" }),
				message("a", null, user("do it")),
				entry("session_info", "n", "a", { name: "The task" }),
			],
			"main.jsonl",
		);
		mkdirSync(join(dir, "main/r1/run-0/session/x"), { recursive: true });
		writeSession(join(dir, "main/r1/run-0"), [
			header({ id: "deep", cwd: "/elsewhere" }),
			message("a", null, user("needle in run 0")),
		]);
		writeSession(join(dir, "main/r1/run-0/session/x"), [
			header({ id: "deeper", cwd: "/elsewhere" }),
			message("a", null, user("needle below")),
		]);
		changedAt(main, 2_000_000_000);
		return dir;
	};

	// Regression: they were not searched, and no message said so.
	test("are searched after their session", async () => {
		const dir = family();
		const hits = await search(dir, "needle");
		expect(
			hits
				.slice(0, 2)
				.map(({ id }) => id)
				.sort(),
		).toEqual(["deep", "deeper"]);
		expect(hits.slice(2).map(({ id }) => id)).toEqual(["alone"]);
		expect(hits[0]?.owner).toEqual({
			path: join(dir, "main.jsonl"),
			id: "main",
			name: "The task",
			firstMessage: "do it",
			cwd: "/here",
		});
		expect(hits[2]).not.toHaveProperty("owner");
		const ids = async (options: SearchOptions) =>
			(await search(dir, "needle", options))
				.map(({ id }) => id)
				.sort()
				.join();
		expect(await ids({ subagents: false })).toBe("alone");
		// They belong to the directory of their session, whatever their own working directory is.
		expect(await ids({ cwd: "/here" })).toBe("alone,deep,deeper");
		expect(await ids({ cwd: "/elsewhere" })).toBe("");
		expect(await ids({ excludeSession: "main" })).toBe("alone");
		expect(await ids({ excludeSession: join(dir, "main.jsonl") })).toBe("alone");
		expect(await ids({ excludeSession: "deep" })).toBe("alone,deeper");
		expect(await ids({ session: "deep" })).toBe("deep");
		expect(await ids({ session: "main" })).toBe("");
	});

	test("whose session cannot be read are found by themselves", async () => {
		const dir = family();
		writeFileSync(join(dir, "main.jsonl"), "no session\n");
		const hits = await search(dir, "needle");
		expect(hits.map(({ id }) => id).sort()).toEqual(["alone", "deep", "deeper"]);
		expect(hits.every((hit) => !("owner" in hit))).toBe(true);
	});

	// Regression: pi's /resume deletes only the session's file. After that no search found its subagents' sessions.
	test("whose session pi has deleted are found by themselves", async () => {
		const dir = family();
		const name = "2026-01-01T00-00-00-000Z_main";
		renameSync(join(dir, "main"), join(dir, name));
		rmSync(join(dir, "main.jsonl"));
		// Another program's folder.
		mkdirSync(join(dir, "data"));
		writeSession(join(dir, "data"), [header({ id: "data" }), message("a", null, user("needle"))]);
		const found = async (options: SearchOptions = {}) =>
			(await search(dir, "needle", options)).map(({ id, owner }) => `${id} ${owner?.id}`).sort();
		expect(await found()).toEqual(["alone undefined", "deep undefined", "deeper undefined"]);
		expect(await found({ cwd: "/elsewhere" })).toEqual(["deep undefined", "deeper undefined"]);
		expect(await found({ subagents: false })).toEqual(["alone undefined"]);
		const ids = (id: string, options = {}) =>
			api.SessionManager.findByIdPrefix(id, { sessionDir: dir, ...options }).map((session) => session.id);
		expect([ids("deep"), ids("dee"), ids("data")]).toEqual([["deep"], ["deep", "deeper"], []]);
		expect(ids("deep", { cwd: "/here" })).toEqual([]);
		expect(ids("deep", { subagents: false })).toEqual([]);
	});
});

// Regression: it was dropped.
test("white space at the ends of a phrase counts", async () => {
	const dir = saying("a needle here", "needles", "pineneedle", "needle\nnext");
	const phrase = async (query: string) =>
		(await search(dir, query, { phrase: true, mark: ["", ""] })).map((hit) => hit.snippet).sort();
	expect(await phrase("needle ")).toEqual(["a needle here"]);
	expect(await phrase(" needle")).toEqual(["a needle here"]);
	expect(await phrase("needle\n")).toEqual(["needle next"]);
	expect(await phrase("needle")).toHaveLength(4);
	expect(await phrase(" ")).toEqual([]);
});
