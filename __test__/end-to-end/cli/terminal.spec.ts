// `pi-sessions` in terminals, pipes and scripts. No text of a session has an effect on a terminal.
import { describe, expect, test } from "vitest";
import { bin, branched, program, put, run, runInTerminal, runProgram, type World, world } from "../../support/cli.js";
import { assistant, entry, type Json, message, user } from "../../support/scratch.js";

const ESC = "\u001b";

describe("colours", () => {
	const coloured = async (work: Promise<{ out: string }>): Promise<boolean> => (await work).out.includes(`${ESC}[`);

	test("are for terminals alone, unless the environment says otherwise", async () => {
		const at = world();
		// A session that is selected by its path needs no search, which would draw a progress bar.
		const args = ["tree", put(at, "s-1", branched), "--no-pager"];
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
		for (const args of [["list"], ["show"], ["tree"], ["stats"]])
			JSON.parse((await run(at, [...args, "--json"], { FORCE_COLOR: "1" })).out);
	});
});

describe("the pager", () => {
	test("is $PAGER, in a terminal, for what is long", async () => {
		const at = world();
		put(at, "s-1", branched);
		const PAGER = program(at, "pager", "sed 's/^/paged: /'");
		for (const command of ["show", "tree", "list", "stats"]) {
			expect((await runInTerminal(at, [command], { PAGER })).out).toContain("paged: ");
			expect((await runInTerminal(at, [command, "--no-pager"], { PAGER })).out).not.toContain("paged: ");
			expect((await run(at, [command], { PAGER })).out).not.toContain("paged: ");
		}
		expect((await runInTerminal(at, ["verify"], { PAGER })).out).not.toContain("paged: ");
	});

	// Regression: a terminal that can only show lines got a pager and a progress bar.
	test("is not started in a dumb terminal", async () => {
		const at = world();
		put(at, "s-1", branched);
		const { out } = await runInTerminal(at, ["list"], {
			TERM: "dumb",
			PAGER: program(at, "pager", "sed 's/^/paged: /'"),
		});
		expect(out).toContain("The parser");
		expect(out).not.toMatch(/paged: |Reading sessions|\u001b/);
	});

	test("one that is not there costs nothing but itself", async () => {
		const at = world();
		put(at, "s-1", branched);
		const { code, out } = await runInTerminal(at, ["show"], { PAGER: "no-such-pager-here" });
		expect(code).toBe(0);
		expect(out).toContain("Both are mended");
	});

	test("one that is left early is not a failure", async () => {
		const at = world();
		put(at, "s-1", [message("a", null, user("line\n".repeat(100_000)))]);
		const { code, out } = await runInTerminal(at, ["show", "--full"], { PAGER: "head -n 1" });
		expect(code).toBe(0);
		expect(out.split("\n").length).toBeLessThan(5);
	});
});

test("a scan shows its progress only in a terminal", async () => {
	const at = world();
	for (let index = 0; index < 5; index++) put(at, `s-${index}`, branched);
	expect((await runInTerminal(at, ["list", "--no-pager"])).out).toMatch(/Reading sessions .*5\/5/);
	expect((await run(at, ["list"])).err).toBe("");
});

test("a terminal's width is kept to", async () => {
	const at = world();
	const path = put(at, "s-1", [
		message("a", null, user("word ".repeat(100))),
		message("b", "a", assistant("日本語 ".repeat(100))),
	]);
	// A session that is selected by its path draws no progress bar, whose characters would be part of the first row.
	for (const args of [["list"], ["tree", path]]) {
		const { out } = await runInTerminal(at, [...args, "--no-pager"], { NO_COLOR: "1" });
		const rows = out
			.replace(/\r/g, "")
			.split("\n")
			.filter((line) => line.includes("word") || line.includes("日本語"));
		expect(rows.length).toBeGreaterThan(0);
		// Wide letters take two columns.
		for (const row of rows)
			expect([...row].reduce((sum, letter) => sum + (letter > "\u1100" ? 2 : 1), 0)).toBeLessThanOrEqual(
				100 + row.split("…").length,
			);
	}
});

describe("narrow terminals", () => {
	const WIDTHS = [20, 40, 80, 100];
	/** The columns of a line. Wide letters and emoji take two. */
	const widthOf = (line: string): number =>
		[...new Intl.Segmenter().segment(line)].reduce(
			(sum, { segment }) =>
				sum +
				(/[\u1100-\u115f\u2e80-\uffe0]|\p{Extended_Pictographic}/u.test(segment) && !"●○◀⋮".includes(segment) ? 2 : 1),
			0,
		);
	const usage = {
		input: 123_456,
		output: 23_456,
		cacheRead: 12_345_678,
		cacheWrite: 1_234_567,
		totalTokens: 1,
		cost: { total: 12.5 },
	};

	/** Sessions with many digits, long and wide names, deep forks, and a long folder. */
	function wideWorld(): { at: World; path: string; name: (path: string) => boolean } {
		const at = world();
		const deep: Json[] = [message("root", null, user("begin 日本語 ".repeat(9)))];
		for (let index = 0; index < 400; index++) {
			const parent = index === 0 ? "root" : `m${(index - 1) >> 1}`;
			deep.push(
				message(`m${index}`, parent, {
					...assistant(`say ${"word ".repeat(40)}`),
					provider: "a-provider-of-models",
					model: "with-a-long-name-1.5",
					usage,
					content: [
						{ type: "text", text: "👨‍👩‍👧‍👦 ".repeat(20) },
						{ type: "toolCall", name: "a_tool_with_a_long_name", arguments: { x: "y".repeat(300) } },
					],
				}),
			);
		}
		deep.push(
			entry("label", "l", "m399", { targetId: "m399", label: "a label of some length, 日本語" }),
			entry("session_info", "i", "l", { name: "a name of some length ".repeat(5) }),
		);
		const path = put(at, "0194aaaa-1111-7000-8000-000000000001", deep);
		put(at, "0194aaaa-1112-7000-8000-000000000002", branched, { cwd: "/a/folder/with/a/long/path/to/it" });
		return { at, path, name: (line) => line.includes("/") || line.includes(at.agent) };
	}

	// Regression: the table was wider.
	test.each(["list --no-pager --all", "tree --no-pager --limit all", "stats --no-pager", "search --all parser"])(
		"%s is no wider than the terminal",
		async (command) => {
			const { at } = wideWorld();
			for (const columns of WIDTHS) {
				const { code, out } = await runInTerminal(at, command.split(" "), { NO_COLOR: "1" }, columns);
				expect(code).toBe(0);
				// The progress is overwritten and cleared.
				const rows = out
					.replace(/\u001b\[[\d;?]*[A-Za-z]|\u001b[78]/g, "")
					.split(/\r?\n/)
					.map((line) => line.split("\r").at(-1) ?? "")
					.filter((line) => !/^(Reading|Adding|Searching)/.test(line));
				expect(rows.length).toBeGreaterThan(1);
				// Texts that users copy are not shortened.
				expect({
					columns,
					wide: rows.filter((row) => widthOf(row) > columns && !/^ *pi --session /.test(row)),
				}).toEqual({
					columns,
					wide: [],
				});
			}
		},
	);

	test("COLUMNS counts where there is no terminal", async () => {
		const { at } = wideWorld();
		for (const command of ["tree --limit all", "stats", "list --all"]) {
			const { out } = await run(at, command.split(" "), { COLUMNS: "20" });
			expect(out.split("\n").filter((row) => widthOf(row) > 20)).toEqual([]);
		}
	});

	test("show and verify never cut texts and paths", async () => {
		const { at, path, name } = wideWorld();
		for (const columns of WIDTHS) {
			const shown = (await runInTerminal(at, ["show", path, "--no-pager"], { NO_COLOR: "1" }, columns)).out.replaceAll(
				"\r",
				"",
			);
			expect(shown).toContain(path);
			const said = (line: string): boolean =>
				name(line) ||
				line.startsWith("pi --session ") ||
				line.includes("👨‍👩‍👧‍👦 👨‍👩‍👧‍👦 👨‍👩‍👧‍👦 👨‍👩‍👧‍👦") ||
				line.startsWith("begin") ||
				/^0194aaaa|^names the session|^labels m399/.test(line) ||
				/^2025-01-01T[\d:.]+Z$/.test(line);
			expect({ columns, wide: shown.split("\n").filter((line) => widthOf(line) > columns && !said(line)) }).toEqual({
				columns,
				wide: [],
			});
			expect((await runInTerminal(at, ["verify", path], { NO_COLOR: "1" }, columns)).out).toContain(path);
		}
	});
});

describe("what cannot be seen", () => {
	// Regression: invisible characters reached the terminal.
	test("invisible characters do not reach the terminal", async () => {
		const at = world();
		const hidden =
			"zero\u200bwidth \ufeffbom tag\u{e0041}\u{e0042} word\u2060joiner latin\u200djoined soft\u00adhyphen filler\u3164 selectors\u{e0100}\u{e0101} annotation\ufff9";
		put(at, "s-1", [message("a", null, user(hidden)), entry("session_info", "b", "a", { name: hidden })]);
		for (const command of [
			"show",
			"list",
			"tree",
			"export",
			"show --json",
			"list --json",
			"export --format jsonl",
			"search zero",
		]) {
			const { out } = await run(at, command.split(" "), { COLUMNS: "500" });
			expect(out).toContain("zero\\u200bwidth");
			expect(out).toContain("\\udb40\\udc41\\udb40\\udc42");
			expect(out.match(/[\p{Default_Ignorable_Code_Point}\ufff9]/u)).toBeNull();
		}
		expect(JSON.parse((await run(at, ["show", "--json"])).out).entries[0].message.content).toBe(hidden);
	});

	test("but what is written with them stays whole", async () => {
		const at = world();
		const whole = "👨‍👩‍👧‍👦 ❤️ ❤️‍🔥 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏳️‍🌈 👩🏽‍🚀 می‌خواهم क्‍ष 葛󠄀";
		put(at, "s-1", [message("a", null, user(whole))]);
		for (const command of ["show", "list", "tree", "export"])
			expect((await run(at, command.split(" "), { COLUMNS: "500" })).out).toContain(whole);
	});
});

test("a reader that ends early is no failure", async () => {
	const at = world();
	put(
		at,
		"s-1",
		Array.from({ length: 5_000 }, (_, index) =>
			message(`m${index}`, index === 0 ? null : `m${index - 1}`, user(`step ${index}`)),
		),
	);
	for (const command of ["show", "tree --json", "export"]) {
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
		message("c", "b", {
			role: "toolResult",
			toolName: evil,
			content: [
				{ type: "text", text: evil },
				{ type: "image", mimeType: evil, data: evil },
			],
			isError: true,
		}),
		message("d", "c", {
			role: evil,
			content: [{ type: "toolCall", name: evil, arguments: { [evil]: evil } }, { type: evil }],
		}),
		entry(evil, "e", "d", { field: evil }),
		entry("label", "f", "e", { targetId: "d", label: evil }),
		message("g", "f", user("x"), { timestamp: evil }),
		entry("custom_message", "h", "g", { customType: evil, content: evil, display: true }),
		entry("session_info", "i", "h", { name: evil }),
	];
	// Our own sequences: colours, and those of a table or the progress.
	const allowed = new RegExp(`${ESC}\\[(?:\\d+(?:;\\d+)*m|\\?25[lh]|\\?7[lh]|\\d*[GKJ])|${ESC}[78]`, "g");
	const bad = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e]/;

	test.each(["list --all", "show", "tree", "stats", "export", "export --format jsonl", "show --json", "tree --json"])(
		"%s",
		async (command) => {
			const at = world();
			put(at, `id${evil}`, lines, { header: { cwd: at.cwd, id: `id${evil}`, timestamp: evil }, name: "s.jsonl" });
			for (const { out, err } of [
				await run(at, command.split(" ")),
				await runInTerminal(at, [...command.split(" ")], { PAGER: "cat" }),
			]) {
				expect(out.length).toBeGreaterThan(10);
				expect(`${out}${err}`.replace(allowed, "").match(bad)).toBeNull();
			}
		},
	);

	test("errors", async () => {
		const at = world();
		put(at, `id${evil}`, lines, { name: "s.jsonl" });
		put(at, `id${evil}2`, lines, { name: "t.jsonl" });
		put(at, "other", lines, { name: "u.jsonl" });
		for (const args of [
			["show", "id"],
			["show", evil.replaceAll("\u0000", "")],
			["show", "./no\u001b[31m.jsonl"],
			["complete", "pi-sessions", "show", ""],
		]) {
			const { out, err } = await run(at, args);
			expect(`${out}${err}`).not.toBe("");
			expect(`${out}${err}`.match(bad)).toBeNull();
		}
	});
});

describe("use", () => {
	// Regression: the last line was written with its escape sequences.
	test("--help is as wide as the terminal", async () => {
		for (const COLUMNS of ["60", "80", "100"]) {
			const wide = (await run(world(), ["--help"], { COLUMNS })).out
				.split("\n")
				.filter((line) => line.length > Number(COLUMNS));
			expect({ COLUMNS, wide }).toEqual({ COLUMNS, wide: [] });
		}
	});

	// Regression: an unset variable (`--into "$dir"`) meant the working directory, or the default.
	test("an option that names something must not be empty", async () => {
		const at = world();
		put(at, "s-1", branched);
		for (const line of [
			"list --cwd",
			"list --dir",
			"show --leaf",
			"fork --into",
			"fork --entry",
			"export --output",
			"export --leaf",
			"redact s-1 --entry",
		]) {
			const { code, err } = await run(at, [...line.split(" "), ""]);
			expect({ line, code, err }).toEqual({
				line,
				code: 2,
				err: expect.stringMatching(/^error: option .* It must not be empty\./),
			});
		}
	});

	test("exit codes: 0 good, 1 failed, 2 usage error", async () => {
		const at = world();
		put(at, "s-1", branched);
		const codes = async (...all: string[][]): Promise<unknown[]> =>
			Promise.all(all.map(async (args) => (await run(at, args)).code));
		expect(await codes(["list"], ["--help"], ["help", "show"], ["--version"])).toEqual([0, 0, 0, 0]);
		expect(await codes(["show", "nothing"], ["tree", "./nothing.jsonl"])).toEqual([1, 1]);
		expect(await codes(["help"], ["help", "list"])).toEqual([0, 0]);
		expect((await run(at, ["help", "list"])).out).toBe((await run(at, ["list", "--help"])).out);
		expect(
			await codes(
				[],
				["nothing"],
				["show", "a", "b"],
				["list", "--limit", "many"],
				["search"],
				["search", " "],
				["repair"],
				["show", "--nothing"],
				["completion", "tcsh"],
				["help", "nothing"],
			),
		).toEqual(Array(10).fill(2));
	});

	test("an error is one line, JSON where output is", async () => {
		const at = world();
		expect((await run(at, ["show", "nothing"])).err).toMatch(/^Error: .*\n$/);
		expect(JSON.parse((await run(at, ["show", "nothing", "--json"])).err)).toEqual({
			error: { message: expect.stringContaining("nothing") },
		});
	});

	// Regression: with --json a usage error was plain text.
	test("a usage error with --json is told in JSON", async () => {
		const at = world();
		const told = async (...args: string[]): Promise<unknown> => {
			const { code, out, err } = await run(at, args);
			expect({ code, out }).toEqual({ code: 2, out: "" });
			return JSON.parse(err);
		};
		expect(await told("show", "--json", "--bogus")).toEqual({ error: { message: "unknown option '--bogus'" } });
		expect(await told("repair", "--json")).toEqual({ error: { message: "missing required argument 'session'" } });
		expect(await told("list", "--json", "--limit", "many")).toEqual({
			error: { message: expect.stringContaining("Expected a whole number or all") },
		});
		expect(await told("nothing", "--json")).toEqual({ error: { message: "unknown command 'nothing'" } });
		expect((await run(at, ["show", "--bogus"])).err).toBe(
			"error: unknown option '--bogus'\n(see pi-sessions show --help)\n",
		);
		for (const name of ["move", "rename"])
			expect((await run(at, [name])).err).toContain(`(see pi-sessions ${name} --help)`);
		// An argument that only looks like the option.
		expect((await run(at, ["show", "--", "--json", "more"])).err).toMatch(/^error: too many arguments/);
	});

	// Regression: `help nope` printed the whole help, and with --json "(outputHelp)".
	test("help names an unknown command", async () => {
		const at = world();
		expect(await run(at, ["help", "nope"])).toEqual(await run(at, ["nope"]));
		expect((await run(at, ["help", "nope"])).err).toMatch(/^error: unknown command 'nope'\n/);
		expect(await run(at, ["help", "nothing", "--json"])).toMatchObject({
			code: 2,
			err: '{"error":{"message":"unknown command \'nothing\'"}}\n',
		});
		for (const args of [["help"], ["help", "help"], ["help", "list"]])
			expect(await run(at, args)).toMatchObject({
				code: 0,
				err: "",
				out: expect.stringMatching(/^Usage: pi-sessions/),
			});
	});

	// Regression: the terminal broke lines of errors inside words.
	test("errors are wrapped at words in a terminal", async () => {
		const at = world();
		for (const id of ["s-1", "s-2"]) put(at, id, branched);
		for (const args of [
			["show", "The parser"],
			["show", "s-1", "--some-unknown-option", "--another-option"],
		]) {
			const piped = (await run(at, args)).err;
			const { out } = await runInTerminal(at, args, { TERM: "dumb" }, 30);
			const words = out.split(/\s+/).filter(Boolean);
			expect(words).toEqual(piped.split(/\s+/).filter(Boolean));
			for (const line of out.split("\r\n")) expect(line.length <= 30 || !line.trim().includes(" "), line).toBe(true);
		}
	});

	// Regression: the commands accepted and ignored it.
	test("stats and verify --all refuse the name of a session", async () => {
		const at = world();
		put(at, "s-1", branched);
		for (const command of ["stats", "verify"])
			expect(await run(at, [command, "nope", "--all"])).toMatchObject({
				code: 2,
				out: "",
				err: expect.stringMatching(/^Error: --all cannot be combined with/),
			});
	});

	test("--version is the package's", async () => {
		const { version } = (await import("../../../package.json")).default;
		expect((await run(world(), ["--version"])).out).toBe(`${version}\n`);
	});
});
