// The chart that the benchmark draws of its results.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, scratch } from "../../support/scratch.js";

const rows = [
	{ case: "open-128mb", title: "open, 128 MB", pi: 1_000, ours: 10, ratio: 100 },
	{ case: "warm getLeafId", title: 'warm reads: "<getLeafId> & more"', pi: 0.0001, ours: 0.0002, ratio: 0.5 },
	{ case: "failed", title: "one that failed", pi: 12 },
];

function drawn(...results: object[]): { status: number | null; stderr: string; svg: () => string } {
	const dir = scratch();
	const files = results.map((of, at) => join(dir, `${at}.json`));
	for (const [at, file] of files.entries()) writeFileSync(file, JSON.stringify(results[at]));
	const to = join(dir, "chart.svg");
	const { status, stderr } = spawnSync(process.execPath, [join(root, "bench/chart.mjs"), to, ...files], { encoding: "utf8" });
	return { status, stderr, svg: () => readFileSync(to, "utf8") };
}

test("a bar for each case that both sides did: names escaped, to the right where ours is faster, for light and dark", () => {
	const { status, stderr, svg } = drawn({ rows: rows.slice(0, 1) }, { rows: rows.slice(1) });
	expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
	const bars = [...svg().matchAll(/<rect class="(\w+)" x="(\d+)" y="\d+" width="(\d+)"/g)].map(([, kind, x, width]) => ({ kind, from: Number(x), to: Number(x) + Number(width) }));
	expect(bars.map(({ kind }) => kind)).toEqual(["faster", "slower"]);
	const one = Number(/class="one" d="M(\d+)/.exec(svg())?.[1]);
	expect(bars[0]).toMatchObject({ from: one });
	expect(bars[1]).toMatchObject({ to: one });
	// A hundred times is two powers of ten, twice is three tenths of one.
	const [faster, slower] = bars.map(({ from, to }) => to - from) as [number, number];
	expect(faster / slower).toBeCloseTo(2 / Math.log10(2), 0);
	for (const text of ["open, 128 MB", "100×", "1.00 s → 10.0 ms", "warm reads: &#34;&#60;getLeafId&#62; &#38; more&#34;", "0.5×", "100 ns → 200 ns"]) expect(svg()).toContain(`>${text}</text>`);
	expect(svg()).not.toContain("one that failed");
	expect(svg()).toContain("prefers-color-scheme: dark");
});

test("a chart of nothing is an error", () => {
	const { status, stderr } = drawn({ rows: rows.slice(2) });
	expect(status).not.toBe(0);
	expect(stderr).toContain("No case was measured on both sides");
});

test("the README's chart is one that the benchmark draws", () => {
	const svg = readFileSync(join(root, "docs/benchmarks.svg"), "utf8");
	expect(svg).toContain("Time of pi 1.5.2 divided by time of pi-session-native");
	expect(svg.match(/<rect class="faster"/g)?.length).toBeGreaterThan(5);
});
