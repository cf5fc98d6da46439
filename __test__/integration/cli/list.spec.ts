// `pi-sessions list`, and the ways in which a command selects a session.
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { branched, good, goodJson, lines, put, putBelow, run, world } from "../../support/cli.js";
import { api, type Json, message, root, user } from "../../support/scratch.js";

describe("list", () => {
	test("prints this directory's sessions, the newest activity first", async () => {
		const at = world();
		const hour = 3_600_000;
		put(at, "0194aaaa-1111-7000-8000-000000000001", [
			message("a", null, user("first words", { timestamp: Date.now() - 3 * hour })),
		]);
		put(
			at,
			"0194aaaa-1112-7000-8000-000000000002",
			branched.map((one) => ({
				...one,
				message: one.message && { ...(one.message as Json), timestamp: Date.now() - 50 * hour },
			})),
		);
		put(at, "elsewhere", [message("a", null, user("another folder"))], { cwd: "/other" });
		const [head, ...rows] = lines(await good(at, ["list"]));
		expect(head).toMatch(/^ID +AGE +SIZE +MSGS +NAME OR FIRST MESSAGE$/);
		expect(rows).toHaveLength(2);
		expect(rows[0]).toMatch(/^0194aaaa-1111 +3h +\d+ B +1 +first words$/);
		expect(rows[1]).toMatch(/^0194aaaa-1112 +2d +[\d.]+ KiB +7 +The parser$/);
	});

	test("--all lists every directory's, --cwd another's, --limit fewer", async () => {
		const at = world();
		put(at, "here", [message("a", null, user("here"))]);
		const other = resolve(at.cwd, "/other");
		put(at, "there", [message("a", null, user("there"))], { cwd: other });
		const all = await good(at, ["list", "--all"]);
		expect(all).toContain("FOLDER");
		expect(all).toMatch(new RegExp(`there +.* ${other.replaceAll("\\", "\\\\")} +there`));
		expect(lines(await good(at, ["list", "--cwd", "/other"]))).toHaveLength(2);
		const limited = lines(await good(at, ["list", "--all", "--limit", "1"]));
		expect(limited).toHaveLength(3);
		expect(limited[2]).toBe("1 older session not shown; --limit all shows all");
		expect(await goodJson(at, ["list", "--all", "--limit", "0"])).toEqual([]);
		expect(await goodJson(at, ["list", "--all", "--limit", "all"])).toHaveLength(2);
		expect(await run(at, ["list", "--limit", "some"])).toMatchObject({
			code: 2,
			err: expect.stringContaining("Expected a whole number or all."),
		});
	});

	test("--dir, and pi's own variable, name another session directory", async () => {
		const at = world();
		const dir = dirname(put(at, "kept", [message("a", null, user("kept apart"))], { cwd: "/kept" }));
		expect(await good(at, ["list", "--all", "--dir", dir])).toContain("kept apart");
		expect(await good(at, ["list", "--all"], { PI_CODING_AGENT_SESSION_DIR: dir })).toContain("kept apart");
		expect(await good(at, ["list", "--dir", dir])).toContain("No sessions for");
	});

	test("--json gives what the library lists, and the size", async () => {
		const at = world();
		const path = put(at, "s-json", branched);
		const [session] = await goodJson(at, ["list"]);
		expect(session).toMatchObject({
			path,
			id: "s-json",
			cwd: at.cwd,
			name: "The parser",
			messageCount: 7,
			firstMessage: "What is wrong with the parser?",
		});
		expect(session.bytes).toBe(statSync(path).size);
		expect(await goodJson(world(), ["list"])).toEqual([]);
	});

	// Regression: --json read all texts of all sessions, and did not print them.
	test("--json reads no text of a session", async () => {
		const at = world();
		put(at, "s-texts", branched);
		const guard = join(at.cwd, "guard.mjs");
		const code = `import { createRequire } from "node:module";
			const { SessionManager } = createRequire(import.meta.url)(${JSON.stringify(join(root, "index.js"))});
			const list = SessionManager.listAll;
			const unread = { enumerable: true, configurable: true, get() { throw new Error("the texts were read"); } };
			SessionManager.listAll = async (...args) => (await list.apply(SessionManager, args)).map((info) => Object.defineProperty(info, "allMessagesText", unread));`;
		writeFileSync(guard, code);
		const env = { NODE_OPTIONS: `--import=${pathToFileURL(guard)}` };
		const [session] = await goodJson(at, ["list", "--all"], env);
		expect(Object.keys(session)).toEqual([
			"path",
			"id",
			"cwd",
			"name",
			"created",
			"modified",
			"messageCount",
			"firstMessage",
			"bytes",
			"subagents",
		]);
		expect(await good(at, ["list", "--all"], env)).toContain("The parser");
	});
});

describe("a session is named", () => {
	test("by its file, its id's beginning, or as the newest", async () => {
		const at = world();
		const path = put(at, "0194bbbb-1111", branched);
		put(at, "0194cccc-1111", [message("a", null, user("not this"))], { cwd: "/other" });
		for (const name of [[path], ["0194b"], ["0194bbbb-1111"], []])
			expect(await good(at, ["show", ...name])).toContain("What is wrong with the parser?");
	});

	// Regression: without an argument a command used the file that was touched last, but `list` showed the other one
	// first.
	test("by nothing: the first of list, despite file times", async () => {
		const at = world();
		const older = put(at, "older", [message("a", null, { ...user("said first"), timestamp: 1 })]);
		const newer = put(at, "newer", [message("a", null, { ...user("said last"), timestamp: 2 })]);
		const now = new Date();
		utimesSync(newer, 0, 0);
		utimesSync(older, now, now);
		expect((await goodJson(at, ["list"])).map(({ id }: { id: string }) => id)).toEqual(["newer", "older"]);
		expect((await goodJson(at, ["show"])).path).toBe(newer);
		expect((await goodJson(at, ["show", "--dir", dirname(older)])).path).toBe(newer);
		expect((await goodJson(at, ["verify"]))[0].path).toBe(newer);
		expect((await goodJson(at, ["stats", "--by", "session"])).largest[0].session).toBe("newer");
		expect(await good(at, ["export"])).toContain("said last");
		const found = lines(await good(at, ["search", "said", "--json"])).map((line) => JSON.parse(line).id);
		expect(found).toEqual(["newer", "older"]);
		expect((await goodJson(at, ["fork"])).parentSession).toBe(newer);
	});

	// Regression: no command found such a session. pi's /resume deletes only the session's file; after that no command
	// found its subagents' sessions.
	test("by the id of a subagent's session, also without parent", async () => {
		const at = world();
		const main = put(at, "main-1", [message("a", null, user("asks"))]);
		const path = putBelow(main, "r1/run-0/session", { id: "sub-1" }, [message("a", null, user("answers"))]);
		// It ends in the middle of a line.
		appendFileSync(path, "half");
		const isFound = async (...where: string[]): Promise<void> => {
			expect(await good(at, ["show", "sub-"])).toContain("answers");
			expect(await run(at, ["verify", "--all", ...where])).toMatchObject({
				code: 1,
				out: expect.stringContaining(path),
			});
		};
		await isFound();
		const found = api.SessionManager.findByIdPrefix("sub-", { sessionDir: dirname(main) });
		expect(found.map(({ id }) => id)).toEqual(["sub-1"]);
		rmSync(main);
		await isFound();
		await isFound("--dir", dirname(main));
		expect(await good(at, ["search", "answers", "--all"])).toContain("answers");
	});

	test("by an id that is the beginning of another", async () => {
		const at = world();
		put(at, "ab", [message("a", null, user("the short one"))]);
		put(at, "abc", [message("a", null, user("the long one"))]);
		expect(await good(at, ["show", "ab"])).toContain("the short one");
	});

	test("an ambiguous beginning is an error that lists the candidates", async () => {
		const at = world();
		const one = put(at, "0194-one", branched);
		put(at, "0194-two", [message("a", null, user("the other"))], { cwd: "/other" });
		const { code, out, err } = await run(at, ["show", "0194"]);
		expect({ code, out }).toEqual({ code: 1, out: "" });
		expect(lines(err)).toEqual([
			'Error: "0194" is the beginning of 2 session ids:',
			expect.stringMatching(/^ {2}0194-/),
			expect.stringMatching(/^ {2}0194-/),
		]);
		expect(err).toContain("0194-one  The parser");
		const told = JSON.parse((await run(at, ["show", "0194", "--json"])).err);
		expect(told.error.candidates).toContainEqual({ id: "0194-one", path: one });
	});

	// Regression: the files were not shown.
	test("of two sessions with one id the files are shown", async () => {
		const at = world();
		const one = put(at, "same", branched, { name: "one.jsonl" });
		const two = put(at, "same", [message("a", null, user("the other"))], { cwd: "/other" });
		const { code, err } = await run(at, ["show", "same"]);
		expect(code).toBe(1);
		expect(lines(err)[0]).toBe('Error: "same" is the id of 2 sessions:');
		for (const path of [one, two]) expect(lines(err)).toContain(`    ${path}`);
		// If the ids differ, no file is shown.
		put(at, "samewise", branched);
		expect((await run(at, ["show", "samew"])).code).toBe(0);
	});

	test("what is not there is an error that says so", async () => {
		const at = world();
		put(at, "s-1", branched);
		expect(await run(at, ["show", "zzz"])).toMatchObject({
			code: 1,
			err: 'Error: No session has the name "zzz", or an id that begins with it. `pi-sessions list --all` shows all sessions\n',
		});
		expect(await run(at, ["show", "./zzz.jsonl"])).toMatchObject({
			code: 1,
			err: "Error: The file does not exist: ./zzz.jsonl\n",
		});
		expect(await run(at, ["show", "./"])).toMatchObject({ code: 1, err: "Error: Not a file: ./\n" });
		expect(await run(at, ["show", "--cwd", "/nowhere"])).toMatchObject({
			code: 1,
			err: expect.stringContaining(`There is no session for ${resolve(at.cwd, "/nowhere")}`),
		});
		writeFileSync(join(at.cwd, "poem.jsonl"), "no session\n");
		expect(await run(at, ["show", "poem.jsonl"])).toMatchObject({
			code: 1,
			err: expect.stringContaining("is not a valid pi session"),
		});
	});
});

test("~ in --dir=~/x and --cwd=~/x is the home", async () => {
	const at = world();
	const home = at.env.HOME as string;
	const dir = dirname(put(at, "kept", branched, { cwd: join(home, "there") }));
	mkdirSync(join(home, "mine"));
	writeFileSync(join(home, "mine/s.jsonl"), readFileSync(join(dir, "2025-01-01T00-00-00-000Z_kept.jsonl")));
	expect(await good(at, ["list", "--cwd=~/there"])).toContain("The parser");
	expect(await good(at, ["list", "--all", "--dir=~/mine"])).toContain("The parser");
	expect(await good(at, ["verify", "--all", "--dir=~/mine"])).toContain("1 session file: 1 good");
});
