import { expect, test } from "vitest";
import { plan, runPlan } from "./cases.js";

const cases = plan("operations", 0.5);

test.runIf(cases)(
	"random operations on managers of both kinds: pi's session manager and ours agree",
	{ timeout: 3_600_000 },
	async () => {
		const summary = await runPlan("operations", cases ?? { batches: [] });
		console.log(summary);
		expect(summary).toContain("agree");
	},
);
