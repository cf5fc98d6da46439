// The tables of /costs, from reports of any size.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
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
