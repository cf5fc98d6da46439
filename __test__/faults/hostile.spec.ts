// Hostile arguments, in a process whose end, time and memory can be seen. Longer: PSN_ROUNDS=200000 PSN_SEED=1.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const SEED = Number(process.env.PSN_SEED ?? 20251121);
const ROUNDS = Number(process.env.PSN_ROUNDS ?? 4_000);

test("every method with hostile values: a result or an error, bounded memory, whole files", () => {
	const script = join(__dirname, "hostile-calls.mjs");
	const { status, signal, stdout, stderr } = spawnSync(
		process.execPath,
		["--max-old-space-size=1500", script, String(SEED), String(ROUNDS)],
		{ encoding: "utf8", timeout: 110_000 + ROUNDS * 20 },
	);
	expect({ status, signal }, `seed ${SEED}: ${stderr.slice(-2_000)}`).toEqual({ status: 0, signal: null });
	const told = JSON.parse(stdout.trim().split("\n").at(-1) as string);
	console.log(`hostile calls: seed ${SEED}, ${JSON.stringify(told)}`);
	expect(told).toMatchObject({ calls: ROUNDS, thrownOthers: 0, missed: [] });
	expect(told.results).toBeGreaterThan(ROUNDS / 10);
	expect(told.errors).toBeGreaterThan(ROUNDS / 10);
	expect(told.files).toBeGreaterThan(10);
	expect(told.peakMB).toBeLessThan(2_000);
});
