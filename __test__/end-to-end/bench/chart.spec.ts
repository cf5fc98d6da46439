// The chart that the benchmark draws of its results.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CASES } from "../../../bench/cases.mjs";
import { chartWith, FILES, ROUNDS, ROWS, readmeWith } from "../../../bench/readme.mjs";
import { root, scratch } from "../../support/scratch.js";

const rows = [
	{ case: "open-128mb", title: "open, 128 MB", pi: 1_000, ours: 10, ratio: 100 },
	{ case: "warm getLeafId", title: 'warm reads: "<getLeafId> & more"', pi: 0.0001, ours: 0.0002, ratio: 0.5 },
	{ case: "failed", title: "one that failed", pi: 12 },
];

function drawn(...results: object[]): { status: number | null; stderr: string; svg: () => string } {
	const dir = scratch();
	const files = results.map((_, at) => join(dir, `${at}.json`));
	for (const [at, file] of files.entries()) writeFileSync(file, JSON.stringify(results[at]));
	const to = join(dir, "chart.svg");
	const { status, stderr } = spawnSync(process.execPath, [join(root, "bench/chart.mjs"), to, ...files], {
		encoding: "utf8",
	});
	return { status, stderr, svg: () => readFileSync(to, "utf8") };
}

test("a bar for each case that both sides did: names escaped, to the right where ours is faster, for light and dark", () => {
	const { status, stderr, svg } = drawn({ rows: rows.slice(0, 1) }, { rows: rows.slice(1) });
	expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
	const bars = [...svg().matchAll(/<rect class="(\w+)" x="(\d+)" y="\d+" width="(\d+)"/g)].map(
		([, kind, x, width]) => ({ kind, from: Number(x), to: Number(x) + Number(width) }),
	);
	expect(bars.map(({ kind }) => kind)).toEqual(["faster", "slower"]);
	const one = Number(/class="one" d="M(\d+)/.exec(svg())?.[1]);
	expect(bars[0]).toMatchObject({ from: one });
	expect(bars[1]).toMatchObject({ to: one });
	// A hundred times is two powers of ten, twice is three tenths of one.
	const [faster, slower] = bars.map(({ from, to }) => to - from) as [number, number];
	expect(faster / slower).toBeCloseTo(2 / Math.log10(2), 0);
	for (const text of [
		"open, 128 MB",
		"100×",
		"1.00 s → 10.0 ms",
		"warm reads: &#34;&#60;getLeafId&#62; &#38; more&#34;",
		"0.5×",
		"100 ns → 200 ns",
	])
		expect(svg()).toContain(`>${text}</text>`);
	expect(svg()).not.toContain("one that failed");
	expect(svg()).toContain("prefers-color-scheme: dark");
});

test("a chart of nothing is an error", () => {
	const { status, stderr } = drawn({ rows: rows.slice(2) });
	expect(status).not.toBe(0);
	expect(stderr).toContain("No case was measured on both sides");
});

describe("the README's figures", () => {
	const results = JSON.parse(readFileSync(join(root, FILES.results), "utf8"));

	test("are of one run: its table, its chart and the results agree, with machine, date and commit", () => {
		const readme = readFileSync(join(root, FILES.readme), "utf8");
		expect(readme).toBe(readmeWith(readme, results));
		const svg = readFileSync(join(root, FILES.chart), "utf8");
		expect(svg).toBe(chartWith(results));
		expect(svg.match(/<rect class="faster"/g)?.length).toBeGreaterThan(5);
		for (const text of [readme, svg])
			expect(text).toMatch(
				/pi \d+\.\d+\.\d+, Node \d+\.\d+\.\d+, \d+ cores \(.+\), \d{4}-\d{2}-\d{2}, commit [0-9a-f]{10}/,
			);
	});

	test("are of cases that there are, each measured", () => {
		for (const { case: name } of ROWS) {
			expect(CASES.map((one) => one.name)).toContain(name);
			expect(ROUNDS.get(name)).toBeGreaterThan(0);
		}
	});

	test("are not written where a side failed, or where the README has no place for them", () => {
		expect(() => readmeWith("# README", results)).toThrow("README.md does not contain the lines");
		expect(() => chartWith({ ...results, rows: results.rows.slice(1) })).toThrow("was not measured on both sides");
	});
});
