// pi's SDK on our session manager, which it gets as its documented option `sessionManager`, without a hook.
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
});
