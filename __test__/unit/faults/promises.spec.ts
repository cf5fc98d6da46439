// The README's table of promises: every row names tests that are there and says how many cases ran. Counts that a run
// alone can tell are held against the table by the tests themselves; here are those that can be counted in the sources.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { promised, promises } from "../../support/promises.js";
import { root } from "../../support/store.js";

const TEST = /^\s*(?:test\(|#\[test\])/gm;
const PRIVATE = /^test\("(?:private by default|ids and names cannot leave)/gm;

/** How many tests there are in a file; of the engine's also in the files of tests that belong to it. */
function count(path: string, kind: RegExp = TEST): number {
	const own = readFileSync(join(root, path), "utf8").match(kind)?.length ?? 0;
	const beside = join(root, path.replace(/\.rs$/, ""));
	if (!path.endsWith(".rs") || !existsSync(beside)) return own;
	const files = readdirSync(beside, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".rs"));
	const inside = files.map((file) => readFileSync(join(beside, file), "utf8").match(kind)?.length ?? 0);
	return inside.reduce((sum, one) => sum + one, own);
}

const underneath = "__test__/unit/faults/file-changes.spec.ts";

test("tests that the table counts are as many", () => {
	const outside = count(underneath) - count(underneath, PRIVATE) + count("__test__/unit/faults/rewritten.spec.ts");
	promised("Grown, deleted", `${outside + count("src/core/session/tests.rs")} tests`);
	promised("An exclusive session", `${count("__test__/unit/faults/locks.spec.ts") + count("src/core/io/lock_file.rs")} tests`);
	const told = count("__test__/unit/faults/diagnostics.spec.ts") + count("src/core/rewrite/repair.rs");
	promised("Damage is told", `${told} tests`);
	expect(count(underneath, PRIVATE)).toBe(2);
	promised("New files are 0600", `${2 + count("__test__/unit/contract/paths.spec.ts")} tests`);
});

test("every row names tests that are there, and how many cases; parts add up to their sum", () => {
	const rows = promises();
	expect(rows.length).toBeGreaterThan(10);
	for (const { promise, test, cases } of rows) {
		const paths = [...test.matchAll(/`([^`]+\.(?:rs|ts)|[^`]*\/[^`.]+)`/g)].map(([, path]) => path as string);
		expect(paths.length, promise).toBeGreaterThan(0);
		for (const path of paths) expect(existsSync(join(root, path)), `${promise}: ${path}`).toBe(true);
		expect(cases, promise).toMatch(/^[\d,]+ /);
		const [sum, parts] = cases.split(": ");
		if (parts === undefined) continue;
		const number = (text: string | undefined): number => Number(text?.match(/[\d,]+/)?.[0].replaceAll(",", ""));
		const added = parts.split("; ").map(number).reduce((all, one) => all + one, 0);
		expect(added, promise).toBe(number(sum));
	}
});
