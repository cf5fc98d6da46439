import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chartWith, FILES, readmeWith } from "../../../bench/readme.mjs";
import { root } from "../../support/scratch.js";

test("the README's table and chart are of one run", () => {
	const results = JSON.parse(readFileSync(join(root, FILES.results), "utf8"));
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
