// Hostile arguments, in a process whose end, time and memory are checked. Longer: PSN_HOSTILE_CALLS=200000 PSN_SEED=1.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { count } from "../support/counts.mjs";

const SEED = Number(process.env.PSN_SEED ?? 20251121);
const ROUNDS = count("hostile_calls");

test("hostile arguments cause results or errors, never broken files", () => {
	const script = join(__dirname, "hostile-calls.mjs");
	const { status, signal, stdout, stderr } = spawnSync(
		process.execPath,
		["--expose-gc", "--max-old-space-size=1500", script, String(SEED), String(ROUNDS)],
		{ encoding: "utf8", timeout: 500_000 + ROUNDS * 20 },
	);
	expect({ status, signal }, `seed ${SEED}: ${stderr.slice(-2_000)}`).toEqual({ status: 0, signal: null });
	const told = JSON.parse(stdout.trim().split("\n").at(-1) as string);
	console.log(`hostile calls: seed ${SEED}, ${JSON.stringify(told)}`);
	expect(told).toMatchObject({ calls: ROUNDS, thrownOthers: 0, missed: [], outside: [], uncoded: [] });
	expect(told.results).toBeGreaterThan(ROUNDS / 10);
	expect(told.errors).toBeGreaterThan(ROUNDS / 10);
	expect(told.files).toBeGreaterThan(ROUNDS / 200);
	// The heap may grow to 1,500 MB, because an object of a million keys takes 48 MB once it is read from its file, and
	// each manager may have several. Outside of the heap, a few copies of the largest lines are in use at once.
	expect(told.peakMB).toBeLessThan(2_000);
	// When the managers are collected, their memory is, too.
	expect(told.leftMB).toBeLessThan(100);
});
