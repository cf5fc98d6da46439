// pi's SDK on our session manager, passed as the documented `sessionManager` option, with no hook anywhere.
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

const roles = (run: Run, index: number) =>
	run.lines(run.sessionFiles()[index]).flatMap((line) => (line.type === "message" ? [line.message.role] : []));

describe("createAgentSession({ sessionManager })", () => {
	it(
		"holds a conversation with tools, and continues it after reopening",
		scenario("conversation", (run) => {
			expect(run.sessionFiles()).toHaveLength(1);
			const expected = [
				"system",
				"user",
				"assistant",
				"user",
				"assistant",
				"toolResult",
				"toolResult",
				"assistant",
				"bashExecution",
				"user",
				"assistant",
			];
			expect(roles(run, 0)).toEqual(expected);
		}),
	);

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
		"navigates the tree, labels, and forks into files",
		scenario("tree", (run) => {
			const files = run.sessionFiles();
			expect(files).toHaveLength(3);
			const [source, fork, copy] = files.map((file) => run.lines(file));
			expect(source.some((line) => line.type === "branch_summary")).toBe(true);
			expect(fork[0].parentSession).toBe(files[0]);
			expect(copy[0].parentSession).toBe(files[0]);
			expect(roles(run, 1).slice(-2)).toEqual(["user", "assistant"]);
		}),
	);

	it(
		"forks in memory on the manager it was given",
		scenario("inMemory", (run) => {
			expect(run.sessionFiles()).toEqual([]);
		}),
	);

	it(
		"previews and appends what an extension proposes at a turn's end",
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
