import { expect, test } from "vitest";
import { plan, runPlan } from "./cases.js";

const cases = plan("operations", 0.5);

test.runIf(cases)("random operations have pi's results", { timeout: 3_600_000 }, async () => {
	const summary = await runPlan("operations", cases ?? { batches: [] });
	console.log(summary);
	expect(summary).toContain("agree");
});
