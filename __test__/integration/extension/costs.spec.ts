// The tables of /costs, from reports of any size.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { root } from "../../support/scratch.js";

const { table } = await import(pathToFileURL(join(root, "lib/extension/costs-table.mjs")).href);

const sum = (cost: number) => ({ calls: 1, input: 10, output: 2, cacheRead: 30, cacheWrite: 4, cost });

// Regression: the numbers of all rows were arguments of one call, which do not fit on the stack.
test("a report of 150,000 rows has its table", () => {
	const rows = Array.from({ length: 150_000 }, (_, n) => ({
		key: `/project-${n}`,
		id: `id-${n}`,
		title: `Session ${n}`,
		...sum(n === 140_000 ? 1_234_567 : 1),
	}));
	const { head, rows: lines, total } = table({ by: { session: rows }, total: sum(9_999_999) }, "session", 80);
	expect(head).toMatch(/^SESSION +CALLS +INPUT +OUTPUT +CACHE READ +CACHE WRITE +COST$/);
	expect(lines).toHaveLength(150_000);
	expect(lines[140_000]).toMatch(/140000 .* \$1,234,567\.00$/);
	expect(total).toMatch(/^total .* \$9,999,999\.00$/);
	expect(new Set(lines.map((line: string) => line.length)).size).toBe(1);
});

describe("a narrow table", () => {
	const rows = [
		{ key: "acme/a-model-with-a-long-name", ...sum(12_345.5), input: 1_234_567_890 },
		{ key: "acme/small", ...sum(0.0123) },
	];
	const drawn = (width: number): { head: string; rows: string[]; total: string; note: string[] } =>
		table({ by: { model: rows }, total: { ...sum(12_345.5123), input: 1_234_567_900 } }, "model", width);

	// Regression: at 40 columns numbers were cut.
	test.each([120, 80, 60, 50, 40, 30])("leaves out columns and cuts no number (%i columns)", (width) => {
		const { head, rows: lines, total, note } = drawn(width);
		for (const line of [head, ...lines, total, ...note]) expect(line.length).toBeLessThanOrEqual(width);
		const titles = head.trim().split(/ {2,}/);
		expect(titles.at(-1)).toBe("COST");
		for (const line of [...lines, total]) expect(line.trim().split(/ {2,}/)).toHaveLength(titles.length);
		expect(lines[0]).toMatch(/\$12,345\.50$/);
		expect(titles.includes("INPUT")).toBe(lines[0]?.includes("1,234,567,890"));
		expect(note.length).toBe(width < 80 ? 1 : 0);
	});

	// Regression: $0.0123 was shown two columns to the left of $12,345.50.
	test("has the points of its costs below each other", () => {
		const { rows: lines, total } = drawn(120);
		const points = [...lines, total].map((line) => line.lastIndexOf("."));
		expect(new Set(points).size).toBe(1);
	});
});
