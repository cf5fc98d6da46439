import { expect, test } from "vitest";
import { plan, runPlan } from "./cases.js";

const cases = plan("listing", 0.05);

test.runIf(cases)("random directories of sessions have pi's lists", { timeout: 3_600_000 }, async () => {
	const summary = await runPlan("listing", cases ?? { batches: [] });
	console.log(summary);
	expect(summary).toContain("agree");
});
