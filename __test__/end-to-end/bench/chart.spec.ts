import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CASES } from "../../../bench/cases.mjs";
import { chartWith, FILES, ROUNDS, ROWS, readmeWith } from "../../../bench/readme.mjs";
import { root } from "../../support/scratch.js";

describe("the README's figures", () => {
	const results = JSON.parse(readFileSync(join(root, FILES.results), "utf8"));

	test("are of one run: table, chart and results agree", () => {
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

	test("are not written if a side failed", () => {
		expect(() => readmeWith("# README", results)).toThrow("README.md does not contain the lines");
		expect(() => chartWith({ ...results, rows: results.rows.slice(1) })).toThrow("was not measured on both sides");
	});
});
