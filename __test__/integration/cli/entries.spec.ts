// What an entry says, as `show`, the exports and previews show it.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root } from "../../support/scratch.js";

const { partsOf, preview } = await import(pathToFileURL(join(root, "lib/shared/entries.mjs")).href);
const said = (message: unknown) => ({ type: "message", id: "a", parentId: null, message });

// Regression: they were left out.
test("a tool's calls of other tools are shown before what it gave back", () => {
	const calls = [
		{ id: "1", name: "read", arguments: { path: "pear" }, status: "ok", durationMs: 3 },
		{ id: "2", name: "write", argumentsBytes: 70_000, status: "unfinished" },
		{ id: "3", name: "run", arguments: {}, status: "error", error: "no such file" },
		null,
	];
	const entry = said({
		role: "toolResult",
		toolName: "script",
		content: [{ type: "text", text: "done" }],
		nestedCalls: { calls, complete: false },
		isError: false,
	});
	expect(partsOf(entry)).toEqual([
		{ kind: "call", title: "read", text: '{"path":"pear"}', failed: false },
		{ kind: "call", title: "write", text: "(70000 bytes)", failed: false },
		{ kind: "note", text: "(write did not finish)" },
		{ kind: "call", title: "run", text: "{}", failed: true },
		{ kind: "output", title: "run", text: "no such file", failed: true },
		{ kind: "call", title: "", text: "", failed: false },
		{ kind: "output", title: "script", text: "done", failed: false },
	]);
	expect(preview(entry)).toContain('→ read({"path":"pear"})');
	for (const nestedCalls of [null, 7, {}, { calls: "x" }])
		expect(partsOf(said({ role: "toolResult", toolName: "x", content: [], nestedCalls }))).toEqual([]);
});

// Regression: such a call was shown like one that succeeded.
test("a nested call that failed without an error, or did not finish, is said to have", () => {
	const nested = (call: object) =>
		partsOf(
			said({ role: "toolResult", toolName: "x", content: [], nestedCalls: { calls: [{ name: "run", ...call }] } }),
		)
			.slice(1)
			.map(({ text }: { text: string }) => text);
	expect(nested({ status: "ok" })).toEqual([]);
	expect(nested({ status: "error" })).toEqual(["(run failed)"]);
	expect(nested({ status: "error", error: "no such file" })).toEqual(["no such file"]);
	expect(nested({ status: "unfinished" })).toEqual(["(run did not finish)"]);
	expect(nested({ status: "unfinished", error: "stopped" })).toEqual(["stopped", "(run did not finish)"]);
});

test("arguments that are no JSON are shown as the model gave them", () => {
	const block = { type: "toolCall", id: "c", name: "read", arguments: {}, argumentsError: 'not JSON: {"path' };
	expect(partsOf(said({ role: "assistant", content: [block] }))).toEqual([
		{ kind: "call", title: "read", text: 'not JSON: {"path', failed: true },
	]);
});
