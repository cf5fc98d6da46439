// The tools and the skill in the real pi: off by default, turned on and then called by a model.
import { expect, test } from "vitest";
import { assistant, type Json, user } from "../../support/scratch.js";
import { print, put, said, type World, world } from "./pi.js";

const toolNames = (at: World): string[] =>
	((at.server.requests[0]?.body.tools ?? []) as Json[]).map((tool) => (tool.function as Json).name as string);

// Regression: the skill, which describes the tools, was in every system prompt.
test("without the setting the model has no tool or skill", async () => {
	const at = await world([{ text: "Hello." }]);
	expect((await print(at, "Hi")).stdout).toBe("Hello.\n");
	expect(toolNames(at)).not.toContain("search_sessions");
	expect(JSON.stringify(at.server.requests[0]?.body)).not.toContain("session-search");
});

test("with the setting the model searches and reads sessions", async () => {
	const steps = [
		{ toolCalls: [{ id: "call-1", name: "search_sessions", arguments: { query: "quince" } }] },
		{ toolCalls: [{ id: "call-2", name: "read_session", arguments: { session: "0194-pie", entry: "b" } }] },
		{ toolCalls: [{ id: "call-3", name: "read_session", arguments: { session: "0194-none", entry: "b" } }] },
		{ text: "At 180 degrees." },
	];
	const at = await world(steps, { "pi-session-native": { tools: true } });
	put(at, "0194-pie", [
		said("a", null, user("How do we bake the quince pie?"), 50),
		said("b", "a", assistant("Bake it at 180 degrees."), 50),
	]);
	const { stdout, code } = await print(at, "At what heat do we bake the quince pie?");
	expect({ stdout, code }).toEqual({ stdout: "At 180 degrees.\n", code: 0 });
	expect(toolNames(at)).toEqual(expect.arrayContaining(["search_sessions", "read_session"]));
	expect(JSON.stringify(at.server.requests[0]?.body)).toContain("session-search/SKILL.md");
	const results = ((at.server.requests[3]?.body.messages ?? []) as Json[])
		.filter(({ role }) => role === "tool")
		.map(({ content }) => JSON.stringify(content));
	expect(results[0]).toContain('session 0194-pie \\"How do we bake the quince pie?\\"\\n  entry a');
	// The present session contains the same question, and is omitted.
	expect(results[0]).not.toContain("At what heat");
	expect(results[1]).toContain("Bake it at 180 degrees.");
	expect(results[2]).toContain("No session has an id that begins with 0194-none");
});
