import { expect, test } from "vitest";
import { plan, runPlan } from "./cases.js";

const cases = plan("hostile", 0.45);

test.runIf(cases)("random hostile files have pi's results", { timeout: 3_600_000 }, async () => {
	const summary = await runPlan("hostile", cases ?? { batches: [] });
	console.log(summary);
	expect(summary).toContain("agree");
});
