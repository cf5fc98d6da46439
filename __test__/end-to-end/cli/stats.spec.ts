// `pi-sessions stats`: the cost of sessions, and the parts that fill them.
import { statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { good, goodJson, put, run, world } from "../../support/cli.js";
import { assistant, entry, type Json, linesOf, message, user } from "../../support/scratch.js";

describe("stats", () => {
	const usage = (input: number, output: number, total: number): Json => ({
		input,
		output,
		cacheRead: 10,
		cacheWrite: 1,
		totalTokens: input + output + 11,
		cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total },
	});
	const spent: Json[] = [
		message("a", null, user("go")),
		message("b", "a", {
			...assistant("one"),
			provider: "acme",
			model: "large",
			usage: usage(100, 20, 0.5),
			timestamp: Date.UTC(2025, 0, 1, 12),
		}),
		message("c", "a", {
			...assistant("left behind"),
			provider: "acme",
			model: "large",
			usage: usage(100, 30, 0.25),
			timestamp: Date.UTC(2025, 0, 2, 23, 30),
		}),
		message("d", "b", {
			...assistant("two"),
			provider: "other",
			model: "small",
			usage: usage(1, 2, 0.01),
			timestamp: Date.UTC(2025, 0, 2, 12),
		}),
		entry("usage", "e", "d", {
			kind: "warm",
			provider: "acme",
			model: "large",
			usage: usage(0, 0, 0.1),
			timestamp: "2025-01-03T00:00:00.000Z",
		}),
		entry("compaction", "f", "e", {
			summary: "s",
			firstKeptEntryId: "f",
			tokensBefore: 1,
			usage: usage(5, 5, 0.04),
			timestamp: "2025-01-03T00:00:00.000Z",
		}),
		message("g", "f", user("x".repeat(3000))),
	];

	test("adds up tokens and cost of all branches", async () => {
		const at = world();
		put(at, "s-stats", spent);
		const told = await goodJson(at, ["stats"]);
		expect(told.total).toMatchObject({ calls: 5, input: 206, output: 57, cacheRead: 50, cacheWrite: 5 });
		expect(told.total.cost).toBeCloseTo(0.9, 9);
		expect(told.models.map(({ model, calls, cost }: any) => [model, calls, Number(cost.toFixed(9))])).toEqual([
			["acme/large", 3, 0.85],
			["(compaction)", 1, 0.04],
			["other/small", 1, 0.01],
		]);
		expect(told.days.map(({ day, calls }: any) => [day, calls])).toEqual([
			["2025-01-01", 1],
			["2025-01-02", 2],
			["2025-01-03", 2],
		]);
	});

	test("days are those of the clock", async () => {
		const at = world();
		put(at, "s-stats", spent);
		const { days } = await goodJson(at, ["stats"], { TZ: "Asia/Tokyo" });
		expect(days.map(({ day, calls }: any) => `${day} ${calls}`)).toEqual([
			"2025-01-01 1",
			"2025-01-02 1",
			"2025-01-03 3",
		]);
	});

	test("names the largest entries", async () => {
		const at = world();
		const path = put(at, "s-stats", spent);
		const told = await goodJson(at, ["stats"]);
		expect(told.largest).toHaveLength(7);
		expect(told.largest[0]).toMatchObject({ id: "g", role: "user", session: "s-stats" });
		// All lines except the header are entries.
		expect(told.bytes).toBe(statSync(path).size - Buffer.byteLength(linesOf(path)[0] as string) - 1);
		const out = await good(at, ["stats"]);
		expect(out).toContain("7 entries, 5.0 KiB; 5 model calls, $0.9000");
		expect(out).toMatch(/acme\/large +3 +200 +50 +30 +3 +\$0\.8500/);
		expect(out).toMatch(/2025-01-02 +2 +101 +32 +20 +2 +\$0\.2600$/m);
		expect(out).toMatch(/Largest entries\n *SIZE +KIND +ENTRY +TEXT\n3\.\d KiB +user +g +x+…?\n/);
	});

	// Regression: by day, a year of sessions was a thousand lines, and the total was only at the beginning.
	test("a long time has rows of weeks or months", async () => {
		const at = world();
		const calls = (days: number): Json[] =>
			Array.from({ length: days }, (_, day) =>
				message(`d${day}`, day === 0 ? null : `d${day - 1}`, {
					...assistant("on"),
					provider: "acme",
					model: "large",
					usage: usage(1, 1, 0.01),
					timestamp: Date.UTC(2024, 0, 1 + day, 12),
				}),
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
			expect((await goodJson(at, ["stats", `s-${days}`])).days).toHaveLength(days);
		}
		expect(await good(at, ["stats", "s-645", "--by", "day"])).toContain("2024-01-02");
	});

	test("--all adds up every session", async () => {
		const at = world();
		put(at, "s-1", spent);
		put(
			at,
			"s-2",
			spent.map((one) => ({ ...one, timestamp: "2025-02-01T00:00:00.000Z" })),
			{ cwd: "/other" },
		);
		const told = await goodJson(at, ["stats", "--all"]);
		expect(told).toMatchObject({ sessions: 2, entries: 14, total: { calls: 10 } });
		expect(await good(at, ["stats", "--all"])).toContain("2 sessions, 14 entries");
	});

	// Regression: --all counted a forked session of version 1 again.
	test("--all counts a forked version 1 session once", async () => {
		const at = world();
		const old = (text: string): Json => ({
			type: "message",
			timestamp: "2024-01-01T00:00:00.000Z",
			message: {
				...assistant(text),
				provider: "acme",
				model: "large",
				usage: usage(100, 20, 0.5),
				timestamp: Date.UTC(2024, 0, 1),
			},
		});
		// Two equal calls in one file are two calls.
		const path = put(
			at,
			"s-old",
			[{ type: "message", timestamp: "2024-01-01T00:00:00.000Z", message: user("go") }, old("one"), old("two")],
			{ header: { version: undefined } },
		);
		expect((await goodJson(at, ["stats", path])).total).toMatchObject({ calls: 2, cost: 1 });
		const fork = await goodJson(at, ["fork", path]);
		const [, { id }] = (await goodJson(at, ["show", fork.path])).entries;
		await good(at, ["fork", fork.path, "--entry", id]);
		expect(await goodJson(at, ["stats", "--all"])).toMatchObject({
			sessions: 3,
			entries: 8,
			total: { calls: 2, cost: 1 },
			models: [{ calls: 2 }],
			days: [{ calls: 2 }],
		});
	});

	test("--by, --since and --until select one table", async () => {
		const at = world();
		put(at, "s-1", spent);
		put(
			at,
			"s-2",
			[
				message("a", null, {
					...assistant("later"),
					provider: "acme",
					model: "large",
					usage: usage(1, 1, 2),
					timestamp: Date.UTC(2025, 1, 3),
				}),
			],
			{ cwd: "/other" },
		);
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
			[["--since", "soon"], '--since must be a day (2025-06-01), days ago (7d) or an ISO time, not "soon"'],
			[["--until", "2025-02-30"], "--until must be a day"],
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
		for (const sign of ["+", "-", "@", "＝", "＋", "－", "＠"]) {
			put(at, "s-1", [...spent, entry("session_info", "n", "g", { name: `${sign}1` })]);
			expect((await good(at, ["stats", "--all", "--csv", "--by", "session"])).split("\n")[1]).toContain(
				`,"'${sign}1",5,206,`,
			);
		}
	});

	test("large sums are grouped, tokens and dollars", async () => {
		const at = world();
		put(at, "s-large", [
			message("a", null, {
				...assistant("x"),
				provider: "acme",
				model: "large",
				usage: usage(1_234_567, 999, 35_200.754),
				timestamp: Date.UTC(2025, 0, 1),
			}),
		]);
		const out = await good(at, ["stats", "--by", "model"]);
		expect(out).toMatch(/; 1 model call, \$35,200\.75\n/);
		expect(out).toMatch(/acme\/large +1 +1,234,567 +999 +10 +1 +\$35,200\.75\n/);
	});

	// Regression: the table contained $Infinity.
	test("tables print the largest and smallest sums", async () => {
		const of = (id: string, amount: number, day: number, model: string): Json =>
			message(id, null, {
				...assistant("x"),
				provider: "acme",
				model,
				usage: { input: amount, output: amount, cacheRead: amount, cacheWrite: amount, cost: { total: amount } },
				timestamp: Date.UTC(2025, 0, day, 12),
			});
		const cases: [string, number[], string][] = [
			["huge", [1.7e308, 1.7e308, 1e308], "$1.7e+308"],
			["largest", [Number.MAX_VALUE, 1, Number.MIN_VALUE], "$1.7976931348623157e+308"],
			["tiny", [Number.MIN_VALUE, Number.MIN_VALUE, Number.MIN_VALUE], "$0.0000"],
			["many tokens", [1e300, 2e300, 3e300], "$6e+300"],
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

	test("each kind of wrong usage is counted apart", async () => {
		const at = world();
		const odd = (id: string, more: Json, own: Json = {}, timestamp?: unknown): Json =>
			message(
				id,
				null,
				{
					...assistant("x"),
					provider: "acme",
					model: "large",
					usage: { ...usage(1, 1, 1), ...more },
					timestamp: Date.UTC(2025, 0, 1),
					...own,
				},
				timestamp === undefined ? {} : { timestamp },
			);
		const entries = [
			odd("a", { input: "5" }),
			odd("b", { output: -1 }),
			odd("c", { cacheRead: "1e999" }),
			odd("d", { cacheWrite: undefined }),
			odd("e", { cost: null }),
			odd("f", { cost: "free" }),
			odd("g", { audio: 7 }),
			odd("h", {}, { provider: "", model: undefined }),
			odd("i", {}, { model: 7 }),
			odd("j", {}, { timestamp: "later" }, "never"),
		];
		const path = put(
			at,
			"s-odd",
			entries.map((one) => JSON.stringify(one).replace('"1e999"', "1e999")),
		);
		const { leftOut, total, models, days } = await goodJson(at, ["stats"]);
		expect(leftOut).toEqual({
			withoutUsage: 0,
			missing: 2,
			notNumbers: 2,
			negative: 1,
			infinite: 1,
			unknownKinds: 1,
			withoutModel: 2,
			withoutTime: 1,
			damagedLines: 0,
		});
		expect(total).toMatchObject({ calls: 10, input: 9, output: 9, cost: 8 });
		expect(models.map(({ model, calls }: any) => [model, calls]).sort()).toEqual([
			["(no model)", 1],
			["acme/(no model)", 1],
			["acme/large", 8],
		]);
		expect(days.map(({ day, calls }: any) => [day, calls])).toEqual([
			["(no date)", 1],
			["2025-01-01", 9],
		]);
		// A call without a time may or may not be in the period: it is not added, and a line says so.
		const since = await goodJson(at, ["stats", "--since", "2020-01-01"]);
		expect([since.total.calls, since.leftOut.withoutTime]).toEqual([9, 1]);
		expect(await good(at, ["stats", "--since", "2020-01-01"])).toMatch(/Not added: [^.]*1 call without a time\./);
		const told =
			"Not added: 2 calls with amounts missing, 2 calls with amounts that are not numbers, 1 call with amounts below 0, 1 call with amounts too large to add up, 1 call with amounts of unknown kinds. Of those added: 2 calls without a model's name, 1 call without a time.";
		expect((await good(at, ["stats"])).replace(/\s+/g, " ")).toContain(told);
		// Rows for programs have no place for it.
		expect(await run(at, ["stats", "--csv"])).toMatchObject({
			out: expect.stringMatching(/^day,/),
			err: expect.stringMatching(/^Not added: 2 calls with amounts missing, .*\.\n$/),
		});
		expect(await goodJson(at, ["stats", "--all"])).toMatchObject({ leftOut, total });
		expect(await goodJson(at, ["stats", path])).toMatchObject({ leftOut, total });
	});

	// Regression: it said of calls that were not added that they were added without a model's name and without a time.
	test("a call without usage is not added", async () => {
		const at = world();
		const bare = { role: "assistant", content: [] };
		put(at, "s-bare", [...spent, message("h", "g", bare), message("i", "h", bare, { timestamp: "never" })]);
		const { leftOut, total } = await goodJson(at, ["stats"]);
		expect(leftOut).toMatchObject({ withoutUsage: 2, withoutModel: 0, withoutTime: 0 });
		expect(total.calls).toBe(5);
		const out = await good(at, ["stats"]);
		expect(out).toContain("Not added: 2 calls without usage.\n");
		expect(out).not.toContain("Of those added");
	});

	test("long names are cut in the middle", async () => {
		const at = world();
		const dirs = ["one", "two"].map((name) => `/home/somebody/${"projects/".repeat(6)}${name}`);
		const one = (n: number): Json =>
			message("a", null, {
				...assistant("x"),
				provider: "acme",
				model: `${"very-".repeat(12)}large-${n}`,
				usage: usage(1, 1, 1),
				timestamp: Date.UTC(2025, 0, n),
			});
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
			for (const wide of ["100", "60", "40"]) {
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
			message("b", "a", {
				...assistant("x"),
				provider: "acme",
				model: "large",
				usage: usage(1, 1, 2000),
				timestamp: Date.UTC(2025, 1, 3),
			}),
		]);
		for (const wide of [160, 80, 60, 40]) {
			const out = await good(at, ["stats", "--all", "--by", "session"], { COLUMNS: String(wide) });
			for (const name of ["Plan the garden", "Release notes"]) expect(out).toMatch(new RegExp(`^${name} .*\\$`, "m"));
			for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(wide);
			for (const id of ids) expect(out.includes(id)).toBe(wide === 160);
			// A cost has two or four digits after its point, and the points are aligned.
			const costs = out.split("\n").filter((line) => /^(Plan|Release|total)/.test(line));
			expect(new Set(costs.map((line) => line.indexOf(".", line.indexOf("$")))).size).toBe(1);
		}
	});

	// Regression: the exit code was 1 for files that `verify --all` does not report as faults.
	test("other files are named, and only damaged sessions fail", async () => {
		const at = world();
		const dir = dirname(put(at, "s-1", spent));
		writeFileSync(join(dir, "poem.jsonl"), "no session\n");
		writeFileSync(join(dir, "empty.jsonl"), "");
		writeFileSync(join(dir, "notes.txt"), "not looked at");
		for (const args of [[], ["--by", "model"], ["--csv"]]) {
			const { code, out, err } = await run(at, ["stats", "--all", ...args]);
			expect({ args, code }).toEqual({ args, code: 0 });
			expect(out).not.toBe("");
			expect(err).toContain(join(dir, "poem.jsonl"));
			expect(err).not.toContain("notes.txt");
		}
		const { code, out } = await run(at, ["stats", "--all", "--json"]);
		const { unreadable, total } = JSON.parse(out);
		expect({ code, calls: total.calls }).toEqual({ code: 0, calls: 5 });
		expect(unreadable.map(({ path, otherFormat }: any) => [path, otherFormat])).toEqual([
			[join(dir, "empty.jsonl"), "an empty file"],
			[join(dir, "poem.jsonl"), "a file without a pi header or pi entries"],
		]);
		const torn = join(dir, "torn.jsonl");
		writeFileSync(torn, `{"type":"sess\n${JSON.stringify(message("a", null))}\n`);
		expect(await run(at, ["stats", "--all"])).toMatchObject({ code: 1, err: expect.stringContaining(torn) });
		expect(await run(at, ["stats", join(dir, "poem.jsonl")])).toMatchObject({
			code: 1,
			out: "",
			err: expect.stringContaining("not a valid pi session"),
		});
	});
});
