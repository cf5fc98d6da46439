// The sums of `pi-sessions stats`: the cost of sessions, and the parts that fill them.
import { statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { good, goodJson, put, run, world } from "../../support/cli.js";
import { assistant, type Json, linesOf, message, user } from "../../support/scratch.js";
import { call, spent, usage } from "./spent.js";

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
	expect(out).toContain("7 entries, 4.9 KiB; 5 model calls, $0.9000");
	expect(out).toMatch(/acme\/large +3 +200 +50 +30 +3 +\$0\.8500/);
	expect(out).toMatch(/2025-01-02 +2 +101 +32 +20 +2 +\$0\.2600$/m);
	expect(out).toMatch(/Largest entries\n *SIZE +KIND +ENTRY +TEXT\n3\.\d KiB +user +g +x+…?\n/);
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

test("each kind of wrong usage is counted apart", async () => {
	const at = world();
	const odd = (id: string, more: Json, own: Json = {}, timestamp?: unknown): Json =>
		message(
			id,
			null,
			{ ...call({ ...usage(1, 1, 1), ...more }, Date.UTC(2025, 0, 1)), ...own },
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
