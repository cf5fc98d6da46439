// Appended values are written as JSON.stringify writes them: the same bytes or the same error, and the caller's code
// runs in the same order.

import { closeSync, openSync, readSync } from "node:fs";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { count } from "../../support/counts.mjs";
import { api, loose, scratch, user } from "../../support/scratch.js";
import { build, json, type Recipe, value } from "./values.js";

const seed = Number(process.env.PSN_SEED ?? 20250607);
const numRuns = count("crossings");

/** A session's file. Each call returns the text that was written since the last call. */
function session() {
	const manager = api.SessionManager.create("/somewhere", scratch());
	manager.appendMessage(user());
	const fd = openSync(manager.getSessionFile() as string, "r");
	onTestFinished(() => closeSync(fd));
	const buffer = Buffer.alloc(1 << 20);
	const written = (): string => {
		let text = "";
		for (let size = -1; size !== 0; text += buffer.toString("utf8", 0, size)) size = readSync(fd, buffer);
		return text;
	};
	written();
	return { manager, written };
}

/** The result or the error of a call, as text. */
function outcome(work: () => string): string {
	try {
		return work();
	} catch (error) {
		return String(error);
	}
}

function check(arbitrary: fc.Arbitrary<Recipe>, wrap: "data" | "message"): void {
	const { manager, written } = session();
	const property = fc.property(arbitrary, (recipe) => {
		const [wanted, found]: string[][] = [[], []];
		const own = (log: string[]): any => build(recipe, log);
		const expected = outcome(() =>
			wrap === "data"
				? JSON.stringify({ type: "custom", customType: "t", data: own(wanted) })
				: JSON.stringify({ message: { role: "toolResult", content: own(wanted), details: own(wanted) } }),
		);
		const given = outcome(() => {
			if (wrap === "data") loose(manager).appendCustomEntry?.("t", own(found));
			else loose(manager).appendMessage?.({ role: "toolResult", content: own(found), details: own(found) });
			const line = written();
			const from = wrap === "data" ? 0 : line.indexOf('"message":{');
			const to = wrap === "data" ? line.lastIndexOf(',"id":"') : line.length - 2;
			return `${wrap === "data" ? "" : "{"}${line.slice(from, to)}}`;
		});
		expect(given).toBe(expected);
		expect(found).toEqual(wanted);
		expect(written()).toBe("");
	});
	fc.assert(property, { seed, numRuns });
}

test(`${numRuns} values of every kind are written like JSON.stringify`, { timeout: 3_600_000 }, () => {
	check(value, "data");
});

test(`${numRuns} messages of plain values are written like JSON.stringify`, { timeout: 3_600_000 }, () => {
	check(json, "message");
});
