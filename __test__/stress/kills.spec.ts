// A writer killed at random moments. More kills: `npm run kills`.
import { expect, test } from "vitest";
import { count } from "../support/counts.mjs";
import { scratch } from "../support/scratch.js";
import { DAMAGE, isCut, killLoop } from "./kill-loop.mjs";

const SEED = Number(process.env.PSN_SEED ?? 20251121);

test("a writer killed at any moment loses no acknowledged entry", async () => {
	console.log(`kill loop: seed ${SEED}`);
	const kills = count("kills");
	const total = await killLoop({ kills, seed: SEED, scratch: scratch(), each: 20 });
	console.log(`kill loop: ${JSON.stringify(total)}`);
	expect(total.kills).toBe(kills);
	// Every third writer has the lock. For half of those, another writer tries to get it meanwhile.
	expect(total.locked).toBeGreaterThan(kills / 10);
	expect(total.refused).toBeGreaterThan(kills / 30);
	// Some actions are repairs, and the copies that these kept are complete.
	expect(total.kept).toBeGreaterThan(0);
	// The other process replaces its file, unless it has the lock.
	expect(total.rewritten).toBeGreaterThan(kills);
	expect(total.acknowledged).toBeGreaterThan(kills * 15);
});

test("half a line counts as cut only at the end", () => {
	const line =
		'{"type":"message","id":"00a0000f","parentId":null,"timestamp":"2025-11-21T09:00:00.123Z",' +
		'"message":{"role":"user","content":"xxx","timestamp":1}}';
	for (let at = 1; at < line.length; at++) {
		expect(isCut(line.slice(0, at)), `cut at ${at}`).toBe(true);
		expect(isCut(line.slice(0, at) + line), `cut at ${at}, fused with a whole line`).toBe(false);
	}
	expect(isCut(line)).toBe(false);
});

/**
 * Regression: a writer was killed during a write, which left 4,737 bytes of a line, up to the end of a page of memory.
 * The other process appended its damaged line to them, and was killed before the repair. The loop then found a line
 * that no writer writes.
 */
test("the loop's own damage is not a cut line", () => {
	const half =
		'{"type":"message","id":"00a0000f","parentId":null,"timestamp":"2025-11-21T09:00:00.123Z","message":{"ro';
	const lines = `${half}${DAMAGE}`.split("\n").filter((line) => line !== "");
	expect(lines.map((line) => isCut(line))).toEqual([true, true]);
});
