// The tables of /costs, of reports of any size.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root } from "../../support/scratch.js";

const { table } = await import(pathToFileURL(join(root, "lib/extension/costs-table.mjs")).href);

const sum = (cost: number) => ({ calls: 1, input: 10, output: 2, cacheRead: 0, cacheWrite: 0, cost });

// Regression: the numbers of all rows were arguments of one call, which do not fit on the stack.
test.each(["session", "project"])("a report of 200,000 rows by %s has its table, with columns as wide as their widest cell", (by) => {
	const rows = Array.from({ length: 200_000 }, (_, n) => ({ key: `/project-${n}`, id: `id-${n}`, title: `Session ${n}`, ...sum(n === 150_000 ? 1_234_567 : 1) }));
	const lines: string[] = table({ by: { [by]: rows }, total: sum(9_999_999) }, by, 80);
	expect(lines).toHaveLength(200_002);
	expect(lines[150_001]).toMatch(/150000 .* \$1,234,567\.00$/);
	expect(lines.at(-1)).toMatch(/^total .* \$9,999,999\.00$/);
	expect(new Set(lines.map((line) => line.length)).size).toBe(1);
});
