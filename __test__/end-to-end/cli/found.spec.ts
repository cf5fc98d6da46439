// Commands on a session that was found: continuing it in pi, selecting it by its name, renaming it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { branched, good, goodJson, lines, put, run, runInTerminal, type World, world } from "../../support/cli.js";
import { api, entry, type Json, linesOf, message, user } from "../../support/scratch.js";

const say = (text: string): Json[] => [message("a", null, user(text))];
const named = (name: string): Json[] => [...say("hello"), entry("session_info", "n", "a", { name })];
/** The lines of a terminal without cursor movements. */
const shown = (out: string): string[] =>
	lines(out.replace(/\u001b\[[\d;?]*[A-Za-z]|\u001b[78]/g, "").replaceAll("\r", ""));
const inTerminal = async (at: World, args: string[], columns = 300): Promise<string[]> =>
	shown((await runInTerminal(at, args, { NO_COLOR: "1", PAGER: "cat" }, columns)).out);

describe("the line that goes on with a session", () => {
	test("names an id where pi looks, else a file", async () => {
		const at = world();
		put(at, "0194aaaa-1111", branched);
		const there = put(at, "0194bbbb-1111", say("elsewhere"), { cwd: "/it's other" });
		expect((await inTerminal(at, ["show", "0194a"])).at(-1)).toBe("Resume: pi --session 0194aaaa-1111");
		expect((await inTerminal(at, ["list"])).at(-1)).toBe("Resume: pi --session 0194aaaa-1111");
		expect((await inTerminal(at, ["list", "--all"])).at(-1)).toMatch(/^Resume \(the first\): pi --session /);
		const quoted = `pi --session '${there.replaceAll("'", "'\\''")}'`;
		expect((await inTerminal(at, ["show", "0194b"])).at(-1)).toBe(`Resume: ${quoted}`);
		expect((await inTerminal(at, ["show", "0194b"], 30)).slice(-2)).toEqual(["Resume:", quoted]);
		const dir = dirname(put(at, "0194cccc-1111", say("kept"), { name: "kept.jsonl" }));
		expect((await inTerminal(at, ["show", "0194c", "--dir", dir])).at(-1)).toBe(
			`Resume: pi --session ${join(dir, "kept.jsonl")}`,
		);
		const hits = await inTerminal(at, ["search", "--all", "parser", "elsewhere"]);
		expect(hits.join()).not.toContain("Resume");
		expect((await inTerminal(at, ["search", "parser"])).filter((line) => line.startsWith("  Resume"))).toEqual([
			"  Resume: pi --session 0194aaaa-1111",
		]);
	});

	test("is for a terminal alone", async () => {
		const at = world();
		put(at, "s-1", branched);
		for (const args of [["list"], ["show"], ["search", "parser"]]) {
			expect(await good(at, args)).not.toContain("pi --session");
			expect((await runInTerminal(at, [...args, "--json"])).out).not.toContain("pi --session");
		}
	});

	test("is missing if a name contains control characters", async () => {
		const at = world();
		const path = join(at.cwd, "red\u001b[31m.jsonl");
		writeFileSync(path, readFileSync(put(at, "red\u001b[31m; reboot", say("hello"))));
		for (const args of [
			["show", path],
			["list", "--dir", at.cwd],
		]) {
			const out = await inTerminal(at, args);
			expect(out.join()).toContain("hello");
			expect(out.join()).not.toContain("Resume");
		}
	});
});

describe("a name", () => {
	test("finds the only session that has it", async () => {
		const at = world();
		put(at, "s-1", named("The parser"), { cwd: "/other" });
		put(at, "s-2", named("fix src/parser.ts"));
		put(at, "s-3", named("src"));
		mkdirSync(join(at.cwd, "src"));
		for (const name of ["The parser", "fix src/parser.ts", "src"])
			expect((await good(at, ["show", name])).split("\n")[0]).toBe(name);
		expect((await run(at, ["show", "The"])).err).toBe(
			'Error: No session has the name "The", or an id that begins with it. `pi-sessions list --all` shows all sessions\n',
		);
	});

	test("of several sessions is an error; ids come first", async () => {
		const at = world();
		put(at, "s-1", named("twice"));
		put(at, "s-2", named("twice"));
		put(at, "s-3", named("s-1"));
		const { code, err } = await run(at, ["show", "twice"]);
		expect(code).toBe(1);
		expect(lines(err)).toEqual([
			'Error: "twice" is the name of 2 sessions:',
			expect.stringMatching(/^ {2}s-[12] {2}twice$/),
			expect.stringMatching(/^ {2}s-[12] {2}twice$/),
		]);
		expect(await good(at, ["show", "s-1"])).toMatch(/^twice\n/);
	});
});

describe("rename", () => {
	test("sets and removes a name as pi's /name does", async () => {
		const at = world();
		const path = put(at, "s-1", say("hello"));
		const before = linesOf(path);
		expect(await good(at, ["rename", "s-1", "The parser"])).toBe("s-1  The parser\n");
		expect(linesOf(path).slice(0, before.length)).toEqual(before);
		expect(JSON.parse(linesOf(path).at(-1) as string)).toMatchObject({
			type: "session_info",
			parentId: "a",
			name: "The parser",
		});
		expect(api.SessionManager.open(path).getSessionName()).toBe("The parser");
		expect(await goodJson(at, ["rename", "The parser", "again"])).toEqual({ path, id: "s-1", name: "again" });
		expect(await good(at, ["rename", "s-1", ""])).toBe("s-1  (no name)\n");
		expect((await goodJson(at, ["list"]))[0].name).toBeUndefined();
	});

	test("prints no name as it is", async () => {
		const at = world();
		put(at, "s-1", say("hello"));
		expect(await good(at, ["rename", "s-1", "red\u001b[31m\u202e"])).toBe("s-1  red\\u202e\n");
	});
});
