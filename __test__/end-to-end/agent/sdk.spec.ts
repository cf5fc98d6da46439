// pi's SDK on our session manager, in the longer scenarios: compaction, retries, extensions, sessions in memory.
import { describe, expect, it } from "vitest";
import { type Run, sameOnBoth } from "../../support/agent/runs.js";

const scenario = (name: string, expected: (run: Run) => void) => () =>
	sameOnBoth({
		steps: [],
		act: async (run) => {
			await run.sdk(name);
			expected(run);
		},
	});

describe("createAgentSession({ sessionManager })", () => {
	it(
		"compacts twice and works on",
		scenario("compaction", (run) => {
			const lines = run.lines(run.sessionFiles()[0]);
			const summaries = lines.filter((line) => line.type === "compaction").map((line) => line.summary);
			expect(summaries[0]).toContain("Summary of the start.");
			expect(summaries[1]).toContain("Summary of all.");
		}),
	);

	it(
		"forks in memory on the manager it was given",
		scenario("inMemory", (run) => {
			expect(run.sessionFiles()).toEqual([]);
		}),
	);

	it(
		"previews and appends an extension's proposal at a turn's end",
		scenario("boundaries", (run) => {
			const lines = run.lines(run.sessionFiles()[0]);
			const edit = lines.find((line) => line.type === "context_edit");
			expect(edit?.replacement).toEqual({ content: [{ type: "text", text: "cut short" }] });
		}),
	);

	it(
		"retries after a failure and leaves the failed answer out",
		scenario("recovery", (run) => {
			const texts = run.lines(run.sessionFiles()[0]).map((line) => line.message?.content?.[0]?.text);
			expect(texts).toContain("Half an ans");
			expect(texts).toContain("The whole answer.");
		}),
	);
});
