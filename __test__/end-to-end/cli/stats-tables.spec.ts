// The tables of `pi-sessions stats`: their rows, days, widths and formats.
import { expect, test } from "vitest";
import { good, goodJson, put, run, world } from "../../support/cli.js";
import { entry, type Json, message, user } from "../../support/scratch.js";
import { call, spent, usage } from "./spent.js";

// Regression: by day, a year of sessions was a thousand lines, and the total was only at the beginning.
test("a long time has rows of weeks or months", async () => {
	const at = world();
	const calls = (days: number): Json[] =>
		Array.from({ length: days }, (_, day) =>
			message(`d${day}`, day === 0 ? null : `d${day - 1}`, call(usage(1, 1, 0.01), Date.UTC(2024, 0, 1 + day, 12))),
		);
	for (const [days, period, rows] of [
		[92, "day", 92],
		[93, "week", 14],
		[644, "week", 92],
		[645, "month", 22],
	] as const) {
		const out = await good(at, ["stats", put(at, `s-${days}`, calls(days))]);
		const table = out.split(`Tokens and cost by ${period}\n`)[1]?.split("\n\n")[0]?.split("\n") ?? [];
		expect(table).toHaveLength(rows + 2);
		expect(table.at(-1)).toMatch(new RegExp(`^total +${days} `));
		expect(out).toMatch(new RegExp(`In all\\n${days} entries, .*; ${days} model calls, .*\\n$`));
	}
	expect(await good(at, ["stats", "s-645", "--by", "day"])).toContain("2024-01-02");
});

test("--by, --since and --until select one table", async () => {
	const at = world();
	put(at, "s-1", spent);
	put(at, "s-2", [message("a", null, call(usage(1, 1, 2), Date.UTC(2025, 1, 3)))], { cwd: "/other" });
	const rows = async (...args: string[]): Promise<unknown> =>
		(await goodJson(at, ["stats", "--all", ...args])).rows.map(
			({ calls, cost, models: _, input: __, output: ___, cacheRead: ____, cacheWrite: _____, ...key }: any) => [
				...Object.values(key),
				calls,
				Number(cost.toFixed(9)),
			],
		);
	expect(await rows("--by", "month")).toEqual([
		["2025-01", 5, 0.9],
		["2025-02", 1, 2],
	]);
	expect(await rows("--by", "week")).toEqual([
		["2024-12-30", 5, 0.9],
		["2025-02-03", 1, 2],
	]);
	expect(await rows("--by", "project")).toEqual([
		["/other", 1, 2],
		[at.cwd, 5, 0.9],
	]);
	expect(await rows("--by", "session")).toMatchObject(
		[
			[expect.stringContaining("s-2"), "s-2", "/other", "(no messages)", 1, 2],
			[expect.stringContaining("s-1"), "s-1", at.cwd, "go", 5, 0.9],
		].map((row) => expect.arrayContaining(row.slice(1, 3))),
	);
	expect(await rows("--by", "day", "--since", "2025-01-02", "--until", "2025-01-02")).toEqual([
		["2025-01-02", 2, 0.26],
	]);
	expect(await rows("--by", "model", "--since", "2025-01-03T00:00:00.000Z")).toEqual([
		["acme/large", 2, 2.1],
		["(compaction)", 1, 0.04],
	]);
	expect(await rows("--by", "day", "--since", "1d")).toEqual([]);
	const out = await good(at, ["stats", "--all", "--by", "month"]);
	expect(out).toMatch(/2025-02 +1 +1 +1 +10 +1 +\$2\.00$/m);
	expect(out).not.toContain("Largest entries");
	expect(await good(at, ["stats", "--all", "--since", "2025-02-01"])).toMatch(
		/^2 sessions; 1 model call in this time, \$2\.00\n/,
	);
	for (const [args, text] of [
		[["--by", "year"], "Allowed choices are model, day, week, month, project, session"],
		[["--csv", "--json"], "--csv cannot be combined with --json"],
	] as const)
		expect(await run(at, ["stats", "--all", ...args])).toMatchObject({
			code: 2,
			err: expect.stringContaining(args.includes("--json" as never) ? "--csv" : text),
		});
});

// Regression: a wrong day was an error only if there was a session, and a limit after the other limit produced an
// empty table.
test("a wrong day or order of days is refused", async () => {
	const at = world();
	const told = async (...args: string[]): Promise<string> => {
		const { code, err } = await run(at, ["stats", ...args]);
		expect(code).toBe(2);
		return err;
	};
	expect(await told("--since", "soon")).toContain(
		'--since must be a day (2025-06-01), days ago (7d) or an ISO time, not "soon"',
	);
	expect(await told("--until", "2025-13-01")).toContain("--until must be a day");
	expect(await told("--since", "2025-06-02", "--until", "2025-06-01")).toContain(
		"--since 2025-06-02 must be before --until 2025-06-01",
	);
	expect(await told("--since", "1d", "--until", "2025-06-01T00:00:00.000Z")).toContain(
		"--since 1d must be before --until 2025-06-01T00:00:00.000Z",
	);
	// One day is a time.
	expect(await run(at, ["stats", "--since", "2025-06-01", "--until", "2025-06-01"])).toMatchObject({
		code: 1,
		err: expect.stringContaining("There is no session for"),
	});
});

test("--csv prints rows without formulas", async () => {
	const at = world();
	put(at, "s-1", [...spent, entry("session_info", "n", "g", { name: '=1+"2"' })]);
	const csv = await good(at, ["stats", "--all", "--csv"]);
	expect(csv.split("\n")).toEqual(
		[
			"day,calls,input,output,cacheRead,cacheWrite,cost",
			'"2025-01-01",1,100,20,10,1,0.5',
			'"2025-01-02",2,101,32,20,2,0.26',
			'"2025-01-03",2,5,5,20,2,0.14',
			"",
		].map((line) => line.replace("0.14", String(0.1 + 0.04))),
	);
	const [head, one] = (await good(at, ["stats", "--all", "--csv", "--by", "session"])).split("\n");
	expect(head).toBe("session,id,cwd,title,calls,input,output,cacheRead,cacheWrite,cost");
	expect(one).toContain(`,"'=1+""2""",5,206,57,50,5,`);
	const signs = ["+", "-", "@", "＝", "＋", "－", "＠"];
	for (const [n, sign] of signs.entries())
		put(at, `s-sign-${n}`, [
			message("a", null, call(usage(1, 1, 1), Date.UTC(2025, 1, n + 1))),
			entry("session_info", "n", "a", { name: `${sign}1` }),
		]);
	const all = await good(at, ["stats", "--all", "--csv", "--by", "session"]);
	for (const sign of signs) expect(all).toContain(`,"'${sign}1",`);
});

test("large sums are grouped, tokens and dollars", async () => {
	const at = world();
	put(at, "s-large", [message("a", null, call(usage(1_234_567, 999, 35_200.754), Date.UTC(2025, 0, 1)))]);
	const out = await good(at, ["stats", "--by", "model"]);
	expect(out).toMatch(/; 1 model call, \$35,200\.75\n/);
	expect(out).toMatch(/acme\/large +1 +1,234,567 +999 +10 +1 +\$35,200\.75\n/);
});

// Regression: the table contained $Infinity.
test("tables print the largest and smallest sums", async () => {
	const of = (id: string, amount: number, day: number, model: string): Json =>
		message(id, null, {
			...call(
				{ input: amount, output: amount, cacheRead: amount, cacheWrite: amount, cost: { total: amount } },
				Date.UTC(2025, 0, day, 12),
			),
			model,
		});
	const cases: [string, number[], string][] = [
		["huge", [1.7e308, 1.7e308, 1e308], "$1.7e+308"],
		["tiny", [Number.MIN_VALUE, Number.MIN_VALUE, Number.MIN_VALUE], "$0.0000"],
	];
	for (const [name, amounts, cost] of cases) {
		const at = world();
		put(
			at,
			"s-costs",
			amounts.map((amount, day) => of(`e${day}`, amount, 1 + day, `m${day}`)),
		);
		// Without cost the bars show tokens.
		put(
			at,
			"s-free",
			amounts
				.map((amount, day) => of(`f${day}`, amount, 1 + day, `m${day}`))
				.map((one: any) => ({
					...one,
					message: { ...one.message, usage: { ...one.message.usage, cost: { total: 0 } } },
				})),
		);
		expect(await good(at, ["stats", "s-free"]), name).not.toMatch(/NaN|Infinity|∞|undefined/);
		for (const by of [[], ["--by", "model"], ["--by", "session"]]) {
			const told = await good(at, ["stats", "s-costs", ...by]);
			expect(told, name).toContain(cost);
			expect(told, name).not.toMatch(/NaN|Infinity|∞/);
		}
		expect((await run(at, ["stats", "s-costs", "--csv", "--by", "model"])).out, name).not.toMatch(/NaN|Infinity/);
	}
});

test("long names are cut in the middle", async () => {
	const at = world();
	const dirs = ["one", "two"].map((name) => `/home/somebody/${"projects/".repeat(6)}${name}`);
	const one = (n: number): Json =>
		message("a", null, { ...call(usage(1, 1, 1), Date.UTC(2025, 0, n)), model: `${"very-".repeat(12)}large-${n}` });
	for (const [index, cwd] of dirs.entries()) put(at, `s-${index}`, [one(index + 1)], { cwd });
	for (const [by, names, ends] of [
		["project", dirs, ["/one", "/two"]],
		["model", [1, 2].map((n) => `acme/${"very-".repeat(12)}large-${n}`), ["-1", "-2"]],
	] as const) {
		const rows = async (wide: string): Promise<string[]> =>
			(await good(at, ["stats", "--all", "--by", by], { COLUMNS: wide }))
				.split("\n")
				.filter((line) => line.includes("$1.00"));
		expect((await rows("160")).map((line) => line.split(" ")[0]).sort()).toEqual([...names].sort());
		for (const wide of ["60", "40"]) {
			const cut = await rows(wide);
			expect(cut.every((line) => line.length <= Number(wide))).toBe(true);
			const shown = cut.map((line) => line.split(" ")[0] as string).sort();
			for (const [index, name] of shown.entries())
				expect(name).toMatch(new RegExp(`^${(names[0] as string).slice(0, 3)}[^…]*…[^…]*${ends[index]}$`));
		}
	}
});

// Regression: at 80 columns the table showed only the beginnings of ids, which are equal for sessions of one day, and
// no names.
test("--by session shows names, and ids where there is room", async () => {
	const at = world();
	const ids = ["0195a1b2-c3d4-7e5f-8a9b-000000000001", "0195a1b2-c3d4-7e5f-8a9b-000000000002"] as const;
	put(at, ids[0], [...spent, entry("session_info", "n", "g", { name: "Release notes" })]);
	put(at, ids[1], [
		message("a", null, user("Plan the garden")),
		message("b", "a", call(usage(1, 1, 2000), Date.UTC(2025, 1, 3))),
	]);
	for (const wide of [160, 80, 40]) {
		const out = await good(at, ["stats", "--all", "--by", "session"], { COLUMNS: String(wide) });
		for (const name of ["Plan the garden", "Release notes"]) expect(out).toMatch(new RegExp(`^${name} .*\\$`, "m"));
		for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(wide);
		for (const id of ids) expect(out.includes(id)).toBe(wide === 160);
		// A cost has two or four digits after its point, and the points are aligned.
		const costs = out.split("\n").filter((line) => /^(Plan|Release|total)/.test(line));
		expect(new Set(costs.map((line) => line.indexOf(".", line.indexOf("$")))).size).toBe(1);
	}
});
