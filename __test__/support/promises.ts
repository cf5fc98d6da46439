// The README's table "Nothing lost" says of each promise how many cases ran for it: it must say what did run.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { root } from "./store.js";

/** A row of the table. */
export interface Promised {
	promise: string;
	test: string;
	cases: string;
}

/** The rows of the table. */
export function promises(): Promised[] {
	const readme = readFileSync(join(root, "README.md"), "utf8");
	const table = readme.split("| promise | test |")[1]?.split("\n\n")[0] ?? "";
	return table
		.split("\n")
		.slice(2)
		.map((row) => {
			const [promise = "", test = "", cases = ""] = row.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, ""));
			return { promise, test, cases };
		});
}

/** A number as the README writes it. */
export const grouped = (count: number): string => count.toLocaleString("en-US");

/** The row that begins so says that this ran: a number and what it counts. */
export function promised(begins: string, ran: string): void {
	const row = promises().find(({ promise }) => promise.startsWith(begins));
	expect(row, `README: no row begins with "${begins}"`).toBeDefined();
	const says = new RegExp(`(?<![\\d,])${ran.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?!\\w)`);
	expect(row?.cases, `README, "${begins}": ${ran} ran`).toMatch(says);
}
