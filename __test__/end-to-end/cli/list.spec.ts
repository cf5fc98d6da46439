// The table of `pi-sessions list`: unique ids, and many rows.
import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { good, goodJson, lines, put, putBelow, run, runInTerminal, world } from "../../support/cli.js";
import { entry, message, user } from "../../support/scratch.js";

const say = (text: string) => [message("a", null, user(text))];
/** The column of ids. */
const ids = (out: string): string[] =>
	lines(out)
		.slice(1)
		.filter((line) => /\bsaid \S+$/.test(line))
		.map((line) => line.split(/ {2,}/)[0] ?? "");

test("list counts the subagents' sessions of a session", async () => {
	const at = world();
	put(at, "s-alone", say("said alone"));
	expect(await good(at, ["list"])).not.toContain("SUBAGENTS");
	const main = put(at, "s-main", say("said main"));
	for (const id of ["run-0", "run-1"]) putBelow(main, `r1/${id}/session`, { id });
	expect(await good(at, ["list"])).toMatch(/SUBAGENTS {2}NAME[\s\S]* 2 {2}said main$/m);
	expect(await goodJson(at, ["list"])).toMatchObject([
		{ id: "s-main", subagents: 2 },
		{ id: "s-alone", subagents: 0 },
	]);
	// Regression: they were not checked.
	expect((await run(at, ["verify", "--all"])).out).toContain("4 session files: 4 good");
	expect(await good(at, ["show", "run-1"])).toContain("run-1");
});

// Regression: `list` counted every file with the ending, but `delete` and `stats` only sessions.
test("list, delete and stats count the same sessions of subagents", async () => {
	const at = world();
	const path = put(at, "s-main", say("said main"));
	utimesSync(path, 1e9, 1e9);
	const helper = putBelow(path, "helper", { id: "helper" }, say("said below"));
	const [log, empty] = ["log", "empty"].map((name) => join(dirname(helper), `${name}.jsonl`)) as [string, string];
	writeFileSync(log, '{"event":"started"}\n');
	writeFileSync(empty, "");
	for (const file of [helper, log, empty]) utimesSync(file, 1e9, 1e9);
	expect((await goodJson(at, ["list"]))[0].subagents).toBe(1);
	expect((await goodJson(at, ["stats"])).subagents).toBe(1);
	expect((await run(at, ["delete", "s-main", "--yes"], { PATH: "" })).out).toContain("1 subagent ");
	put(at, "s-main", say("said main"));
	expect((await goodJson(at, ["list"]))[0].subagents).toBe(0);
});

// Regression: no session had this name.
test("a subagent's session is found by its name", async () => {
	const at = world();
	const main = put(at, "s-main", say("said main"));
	const named = entry("session_info", "n", "a", { name: "The helper" });
	putBelow(main, "r1/helper-1", { id: "helper-1" }, [...say("said helper-1"), named]);
	putBelow(main, "r1/helper-2", { id: "helper-2" }, say("said helper-2"));
	expect(await good(at, ["show", "The helper"])).toContain("said helper-1");
	expect(await run(at, ["show", "The other"])).toMatchObject({
		code: 1,
		err: expect.stringContaining("No session has the name"),
	});
	putBelow(main, "r1/helper-3", { id: "helper-3" }, [...say("said again"), named]);
	expect((await run(at, ["show", "The helper"])).err).toContain('"The helper" is the name of 2 sessions:');
});

describe("ids", () => {
	// Regression: a shown beginning of an id also selected sessions of other directories.
	test("are unique among all sessions, not only among rows", async () => {
		const at = world();
		put(at, "0194aaaa-1111-7000-8000-000000000001", say("said here"));
		put(at, "0194aaaa-1111-7000-9000-000000000001", say("said there"), { cwd: "/other" });
		for (const args of [["list"], ["list", "--all", "--limit", "1"]]) {
			const [id = ""] = ids(await good(at, args));
			expect(id).toMatch(/^0194aaaa-1111-7000-[89]$/);
			expect(await good(at, ["show", id])).toContain(id);
		}
	});

	test("are cut to what there is room for", async () => {
		const at = world();
		const long = "shared-beginning-of-more-than-thirty-six-letters";
		for (const end of ["-1", "-2"]) put(at, `${long}${end}`, say(`said ${end}`));
		for (const [columns, most] of [
			["120", 36],
			["60", 36],
			["30", 24],
			["20", 14],
		] as const) {
			const out = await good(at, ["list"], { COLUMNS: columns });
			for (const line of lines(out).slice(1, 3)) expect(line.split(/ {2,}/)[0]).toBe(`${long.slice(0, most - 1)}…`);
			for (const line of lines(out)) expect(line.length).toBeLessThanOrEqual(Number(columns));
		}
		expect((await goodJson(at, ["list"])).map(({ id }: any) => id)).toContain(`${long}-2`);
	});
});

test("all rows of a long table have the same columns", async () => {
	const at = world();
	const count = 450;
	for (let index = 0; index < count; index++)
		put(at, `s-${index}`, say(`${index % 3 === 0 ? "日本語" : "word"} ${"x".repeat(index % 50)}`));
	const out = lines(await good(at, ["list"]));
	expect(out).toHaveLength(count + 1);
	expect(out.filter((line) => line.startsWith("ID"))).toHaveLength(1);
	// The rows form one table: each column begins where it does in the first row.
	const begins = (line = ""): number => /\S+ +\S+ +\d+ B +\d+ {2}/.exec(line)?.[0].length ?? -1;
	expect(new Set(out.slice(1).map(begins))).toEqual(new Set([begins(out[1])]));
	expect(out[0]?.indexOf("NAME OR")).toBe(begins(out[1]));
});

test("a terminal shows the column titles on every screen", async () => {
	const at = world();
	for (let index = 0; index < 90; index++) put(at, `s-${index}`, say("word"));
	const out = (await runInTerminal(at, ["list", "--no-pager"], { NO_COLOR: "1" })).out
		.replace(/\u001b\[[\d;?]*[A-Za-z]|\u001b[78]/g, "")
		.replaceAll("\r", "");
	// The terminal has 40 lines.
	expect(lines(out).flatMap((line, at) => (/ID +AGE/.test(line) ? [at] : []))).toEqual([0, 39, 78]);
	expect(out.match(/^s-/gm)).toHaveLength(90);
});

describe("--dir", () => {
	// Regression: it was an empty list.
	test("is an error of each reading command if missing", async () => {
		const at = world();
		put(at, "s-1", say("word"));
		for (const args of [
			["list"],
			["list", "--all"],
			["search", "word"],
			["stats", "--all"],
			["verify", "--all"],
			["show"],
			["show", "s-1"],
		]) {
			expect(await run(at, [...args, "--dir", "/nope"]), args.join(" ")).toEqual({
				code: args[0] === "search" ? 2 : 1,
				out: "",
				err: "Error: The directory of --dir does not exist: /nope\n",
			});
		}
		// The environment may name a directory that does not exist yet.
		expect(await good(at, ["list"], { PI_CODING_AGENT_SESSION_DIR: "/nope" })).toContain("No sessions for");
	});

	test("is created by a command that writes there", async () => {
		const at = world();
		const path = put(at, "s-1", say("word"));
		await good(at, ["fork", path, "--dir", "./forked"]);
		expect(readdirSync(join(at.cwd, "forked"))).toHaveLength(1);
	});

	test("without --all lists the working directory's sessions, and says so", async () => {
		const at = world();
		const dir = dirname(put(at, "s-1", say("word")));
		expect(lines(await good(at, ["list", "--dir", dir], { COLUMNS: "1000" })).at(-1)).toBe(
			`Only the sessions of ${at.cwd}; --all lists all of ${dir}`,
		);
		expect(await good(at, ["list", "--dir", dir, "--all"])).not.toContain("Only the sessions");
		expect(await good(at, ["list", "--dir", dir, "--cwd", "/other"])).toBe(
			`No sessions for /other (session directory ${dir}); --all lists the sessions of every directory\n`,
		);
	});
});
