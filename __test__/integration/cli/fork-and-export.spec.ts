// `pi-sessions fork` and `pi-sessions export`.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { branched, good, goodJson, lines, put, run, world } from "../../support/cli.js";
import { api, entry, message, modeOf, user } from "../../support/scratch.js";
import { isWindows } from "../../support/windows.js";

describe("fork", () => {
	test("copies a whole session into another directory", async () => {
		const at = world();
		const source = put(at, "s-fork", branched);
		const target = join(at.cwd, "elsewhere");
		mkdirSync(target);
		const before = readFileSync(source, "utf8");
		const made = await goodJson(at, ["fork", "s-fork", "--into", target, "--name", "A copy"]);
		expect(made).toMatchObject({ cwd: target, parentSession: source, entries: 12 });
		expect(readFileSync(source, "utf8")).toBe(before);
		const copy = api.SessionManager.open(made.path);
		expect(copy.getHeader()).toMatchObject({ id: made.id, cwd: target, parentSession: source });
		expect(copy.getSessionName()).toBe("A copy");
		expect(copy.getEntries().slice(0, 11)).toEqual(api.SessionManager.open(source).getEntries());
	});

	test("copies the path to one entry", async () => {
		const at = world();
		const source = put(at, "s-fork", branched);
		const path = lines(await good(at, ["fork", source, "--entry", "e4"]))[0] as string;
		expect(
			api.SessionManager.open(path)
				.getEntries()
				.map(({ id, type }) => (type === "label" ? type : id)),
		).toEqual(["e0", "e1", "e2", "e3", "e4", "label"]);
	});

	// Regression: a mistyped name created a session that pi cannot continue.
	test("into a directory that is not there is refused", async () => {
		const at = world();
		const source = put(at, "s-fork", branched);
		writeFileSync(join(at.cwd, "file"), "");
		for (const into of ["/nonexistent/dir", "file"])
			expect(await run(at, ["fork", source, "--into", into])).toMatchObject({
				code: 1,
				out: "",
				err: `Error: The directory of --into does not exist: ${into}\n`,
			});
		expect(readdirSync(join(at.agent, "sessions"))).toHaveLength(1);
	});

	test("refuses what would make no session", async () => {
		const at = world();
		put(at, "s-fork", branched);
		expect(await run(at, ["fork", "s-fork", "--entry", "e0"])).toMatchObject({
			code: 1,
			err: expect.stringContaining("no message of the user or the model"),
		});
		expect(await run(at, ["fork", "s-fork", "--entry", "e4", "--into", "/x"])).toMatchObject({ code: 2 });
	});
});

describe("export", () => {
	test("writes the conversation as Markdown", async () => {
		const at = world();
		put(at, "s-export", branched);
		const out = await good(at, ["export"]);
		expect(out).toContain("# The parser\n\nSession `s-export`, begun 2025-01-01T00:00:00.000Z, in `");
		expect(out).toContain("\n## Assistant (before mending)\n\n> Two things. Shall I mend them?\n");
		expect(out).toContain("\n## Tool\n\n**read**:\n\n```\nline 1 of the log\n");
		expect(out).not.toContain("Only the first");
		expect(await good(at, ["export", "--leaf", "e4"])).toContain("Only the first");
	});

	test("no tool's text ends its fence, no name makes markup", async () => {
		const at = world();
		put(at, "s-fence", [
			message("a", null, user("go")),
			message("b", "a", {
				role: "toolResult",
				toolName: "*x*",
				content: [{ type: "text", text: "```\n````\n# not a heading" }],
			}),
			entry("session_info", "c", "b", { name: "<b>*name*</b>" }),
		]);
		const out = await good(at, ["export"]);
		expect(out).toContain("`````\n```\n````\n# not a heading\n`````\n");
		expect(out).toContain("# \\<b\\>\\*name\\*\\</b\\>\n");
		expect(out).toContain("**\\*x\\***:");
	});

	test("writes a session: the branch, or everything with --all", async () => {
		const at = world();
		const source = put(at, "s-export", branched);
		const all = join(at.cwd, "all.jsonl");
		expect(await good(at, ["export", source, "--all", "-o", all])).toBe("");
		if (!isWindows) expect(modeOf(all)).toBe(0o600);
		expect(readFileSync(all, "utf8")).toBe(readFileSync(source, "utf8"));
		const branch = join(at.cwd, "branch.jsonl");
		await good(at, ["export", source, "--leaf", "e4", "-o", branch]);
		const manager = api.SessionManager.open(branch);
		expect(manager.getSessionId()).toBe("s-export");
		expect(manager.getEntries().map(({ id }) => id)).toEqual(["e0", "e1", "e2", "e3", "e4"]);
		expect((await good(at, ["export", source, "--json"])).split("\n")).toHaveLength(11);
	});

	test("overwrites only with --force, and refuses contradicting options", async () => {
		const at = world();
		const source = put(at, "s-export", branched);
		const out = join(at.cwd, "talk.md");
		await good(at, ["export", source, "-o", out]);
		expect(await run(at, ["export", source, "-o", out])).toMatchObject({
			code: 1,
			err: expect.stringContaining("The file already exists"),
		});
		await good(at, ["export", source, "-o", out, "--force", "--full"]);
		expect(readFileSync(out, "utf8")).toContain("line 30 of the log");
		for (const args of [
			["--all"],
			["--format", "md", "--json"],
			["--all", "--leaf", "e4", "--format", "jsonl"],
			["--format", "pdf"],
			["--full", "--format", "jsonl"],
		])
			expect((await run(at, ["export", source, ...args])).code).toBe(2);
	});

	// Regression: `export` wrote Markdown to talk.html, and exited with 0.
	test("refuses a name that says another format than it writes", async () => {
		const at = world();
		const source = put(at, "s-export", branched);
		for (const name of ["talk.HTM", "talk.json", "talk.docx"]) {
			const { code, err } = await run(at, ["export", source, "-o", name]);
			expect({ name, code, err }).toEqual({ name, code: 2, err: expect.stringContaining("add --format") });
			if (name.startsWith("talk.h")) expect(err).toContain("pi --export");
		}
		expect(readdirSync(at.cwd)).toEqual([]);
		for (const args of [
			["-o", "talk.html", "--format", "md"],
			["-o", "talk.txt"],
			["-o", "talk.json", "--json"],
		])
			await good(at, ["export", source, ...args]);
	});
});
