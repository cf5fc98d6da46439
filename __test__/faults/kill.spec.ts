// A writer killed at random moments. More kills: `npm run kills -- --kills 5000`.
import { expect, test } from "vitest";
import { scratch } from "../support/store.js";
import { killLoop } from "./kill-loop.mjs";

const SEED = Number(process.env.PSN_SEED ?? 20251121);

test("a writer killed at random moments loses nothing that it acknowledged", async () => {
	console.log(`kill loop: seed ${SEED}`);
	const total = await killLoop({ kills: 60, seed: SEED, scratch: scratch(), each: 20 });
	console.log(`kill loop: ${JSON.stringify(total)}`);
	expect(total.kills).toBe(60);
	expect(total.acknowledged).toBeGreaterThan(1_000);
});
