// How `pi-sessions` behaves towards terminals, pipes and scripts, and that nothing a session says can act on a terminal.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Json, assistant, entry, message, root, user } from "../support/store.js";
import { bin, branched, program, put, run, runInTerminal, runProgram, world } from "./run.js";

const ESC = "\u001b";

describe("colours", () => {
	const coloured = async (work: Promise<{ out: string }>): Promise<boolean> => (await work).out.includes(`${ESC}[`);

	test("are for terminals alone, unless the environment says otherwise", async () => {
		const at = world();
		put(at, "s-1", branched);
		const args = ["tree", "--no-pager"];
		expect(await coloured(run(at, args))).toBe(false);
		expect(await coloured(run(at, args, { CI: "true" }))).toBe(false);
		expect(await coloured(run(at, args, { FORCE_COLOR: "1" }))).toBe(true);
		expect(await coloured(run(at, args, { FORCE_COLOR: "1", NO_COLOR: "1" }))).toBe(false);
		expect(await coloured(runInTerminal(at, args))).toBe(true);
		expect(await coloured(runInTerminal(at, args, { NO_COLOR: "1" }))).toBe(false);
		expect(await coloured(runInTerminal(at, args, { FORCE_COLOR: "0" }))).toBe(false);
		expect(await coloured(runInTerminal(at, args, { TERM: "dumb" }))).toBe(false);
	});

	test("are in no JSON", async () => {
		const at = world();
		put(at, "s-1", branched);
		for (const args of [["list"], ["show"], ["tree"], ["stats"]]) JSON.parse((await run(at, [...args, "--json"], { FORCE_COLOR: "1" })).out);
	});
});

describe("the pager", () => {
	test("is $PAGER, in a terminal, for show and tree", async () => {
		const at = world();
		put(at, "s-1", branched);
		const PAGER = program(at, "pager", "sed 's/^/paged: /'");
		for (const command of ["show", "tree"]) {
			expect((await runInTerminal(at, [command], { PAGER })).out).toContain("paged: ");
			expect((await runInTerminal(at, [command, "--no-pager"], { PAGER })).out).not.toContain("paged: ");
			expect((await run(at, [command], { PAGER })).out).not.toContain("paged: ");
		}
		expect((await runInTerminal(at, ["list"], { PAGER })).out).not.toContain("paged: ");
	});

	test("one that is not there costs nothing but itself", async () => {
		const at = world();
		put(at, "s-1", branched);
		const { code, out } = await runInTerminal(at, ["show"], { PAGER: "no-such-pager-here" });
		expect(code).toBe(0);
		expect(out).toContain("Both are mended");
	});

	test("one that is left early is no failure", async () => {
		const at = world();
		put(at, "s-1", [message("a", null, user("line\n".repeat(100_000)))]);
		const { code, out } = await runInTerminal(at, ["show", "--full"], { PAGER: "head -n 1" });
		expect(code).toBe(0);
		expect(out.split("\n").length).toBeLessThan(5);
	});
});

test("a scan shows its progress in a terminal, and only there", async () => {
	const at = world();
	for (let index = 0; index < 5; index++) put(at, `s-${index}`, branched);
	expect((await runInTerminal(at, ["list"])).out).toMatch(/Reading sessions .*5\/5/);
	expect((await run(at, ["list"])).err).toBe("");
});

test("a terminal's width is kept to", async () => {
	const at = world();
	put(at, "s-1", [message("a", null, user("word ".repeat(100))), message("b", "a", assistant("日本語 ".repeat(100)))]);
	for (const command of ["list", "tree"]) {
		const { out } = await runInTerminal(at, [command, "--no-pager"].slice(0, command === "list" ? 1 : 2), { NO_COLOR: "1" });
		const rows = out.replace(/\r/g, "").split("\n").filter((line) => line.includes("word") || line.includes("日本語"));
		expect(rows.length).toBeGreaterThan(0);
		// Wide letters take two columns.
		for (const row of rows) expect([...row].reduce((sum, letter) => sum + (letter > "\u1100" ? 2 : 1), 0)).toBeLessThanOrEqual(100 + row.split("…").length);
	}
});

test("a reader that leaves early is no failure: pi-sessions … | head", async () => {
	const at = world();
	put(at, "s-1", Array.from({ length: 30_000 }, (_, index) => message(`m${index}`, index === 0 ? null : `m${index - 1}`, user(`step ${index}`))));
	for (const command of ["show", "tree --limit 0", "tree --json", "export", "show --json"]) {
		const line = `set -o pipefail; '${process.execPath}' '${bin}' ${command} | head -n 1`;
		expect(await runProgram("bash", ["-c", line], at), command).toMatchObject({ code: 0, err: "" });
	}
});

describe("what a session says never acts on the terminal", () => {
	// Title, colour, cursor, clipboard, hyperlink, C1 forms, DEL, a bell, a direction override, a lone surrogate.
	const evil = `a${ESC}]0;owned\u0007b${ESC}[31mc${ESC}[2J${ESC}]52;c;ZXZpbA==\u0007d${ESC}]8;;http://x\u0007e\u009b31mf\u009d0;x\u009cg\u007fh\u0007i\u202ej\ud800k${ESC}`;
	const lines: Json[] = [
		message(evil, null, user(evil)),
		message("b", evil, { ...assistant(evil), provider: evil, model: evil, errorMessage: evil }),
		message("c", "b", { role: "toolResult", toolName: evil, content: [{ type: "text", text: evil }, { type: "image", mimeType: evil, data: evil }], isError: true }),
		message("d", "c", { role: evil, content: [{ type: "toolCall", name: evil, arguments: { [evil]: evil } }, { type: evil }] }),
		entry(evil, "e", "d", { field: evil }),
		entry("label", "f", "e", { targetId: "d", label: evil }),
		message("g", "f", user("x"), { timestamp: evil }),
		entry("custom_message", "h", "g", { customType: evil, content: evil, display: true }),
		entry("session_info", "i", "h", { name: evil }),
	];
	// Our own: colours, and what a table or a progress bar needs.
	const allowed = new RegExp(`${ESC}\\[(?:\\d+(?:;\\d+)*m|\\?25[lh]|\\?7[lh]|\\d*[GKJ])|${ESC}[78]`, "g");
	const bad = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e]/;

	test.each(["list", "list --all", "show", "show --full", "tree", "stats", "export", "export --format jsonl", "show --json", "tree --json", "list --json", "stats --json"])("%s", async (command) => {
		const at = world();
		put(at, `id${evil}`, lines, { header: { cwd: at.cwd, id: `id${evil}`, timestamp: evil }, name: "s.jsonl" });
		for (const { out, err } of [await run(at, command.split(" ")), await runInTerminal(at, [...command.split(" ")], { PAGER: "cat" })]) {
			expect(out.length).toBeGreaterThan(10);
			expect(`${out}${err}`.replace(allowed, "").match(bad)).toBeNull();
		}
	});

	test("errors", async () => {
		const at = world();
		put(at, `id${evil}`, lines, { name: "s.jsonl" });
		put(at, `id${evil}2`, lines, { name: "t.jsonl" });
		put(at, "other", lines, { name: "u.jsonl" });
		for (const args of [["show", "id"], ["show", evil.replaceAll("\u0000", "")], ["show", "./no\u001b[31m.jsonl"], ["complete-ids"]]) {
			const { out, err } = await run(at, args);
			expect(`${out}${err}`).not.toBe("");
			expect(`${out}${err}`.match(bad)).toBeNull();
		}
	});
});

describe("use", () => {
	test("--help of every command has examples that the command line accepts", async () => {
		const at = world();
		const { out } = await run(at, ["--help"]);
		const names = [...out.matchAll(/^ {2}(\w+)(?:\|\w+)? [[<]/gm)].map(([, name]) => name as string).filter((name) => name !== "help");
		expect(names).toEqual(["list", "show", "tree", "search", "stats", "verify", "repair", "fork", "export", "completion"]);
		for (const name of names) {
			const help = await run(at, [name, "--help"]);
			expect(help.code).toBe(0);
			expect(help.out).toMatch(new RegExp(`Examples:\n {2}\\$ .*pi-sessions ${name}`));
		}
	});

	test("exit codes: 0 good, 1 failed, 2 wrong use", async () => {
		const at = world();
		put(at, "s-1", branched);
		const codes = async (...all: string[][]): Promise<unknown[]> => Promise.all(all.map(async (args) => (await run(at, args)).code));
		expect(await codes(["list"], ["--help"], ["help", "show"], ["--version"])).toEqual([0, 0, 0, 0]);
		expect(await codes(["show", "nothing"], ["tree", "./nothing.jsonl"])).toEqual([1, 1]);
		expect(await codes([], ["nothing"], ["show", "a", "b"], ["list", "--limit", "many"], ["search"], ["search", " "], ["repair"], ["show", "--nothing"], ["completion", "tcsh"])).toEqual(Array(9).fill(2));
	});

	test("an error is one line, JSON where output is", async () => {
		const at = world();
		expect((await run(at, ["show", "nothing"])).err).toMatch(/^Error: .*\n$/);
		expect(JSON.parse((await run(at, ["show", "nothing", "--json"])).err)).toEqual({ error: { message: expect.stringContaining("nothing") } });
	});

	test("--version is the package's", async () => {
		const { version } = (await import("../../package.json")).default;
		expect((await run(world(), ["--version"])).out).toBe(`${version}\n`);
	});
});

test("the command's sources are typed", async () => {
	const tsc = join(root, "node_modules/typescript/bin/tsc");
	const complaints = await new Promise((resolve) => {
		execFile(process.execPath, [tsc, "-p", join(__dirname, "tsconfig.json"), "--pretty", "false"], (error, stdout) => resolve(error ? stdout || error.message : ""));
	});
	expect(complaints).toBe("");
});
