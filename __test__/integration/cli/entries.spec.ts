// The texts of entries, as `show` and `tree` print them.
import { expect, test } from "vitest";
import { good, put, world } from "../../support/cli.js";
import { message } from "../../support/scratch.js";

const result = (id: string, parent: string | null, nestedCalls: unknown, text = "done") =>
	message(id, parent, { role: "toolResult", toolName: "script", content: [{ type: "text", text }], nestedCalls });

// Regression: such calls were left out, and a call that failed without an error was shown like one that succeeded.
test("a tool's nested calls are shown before its output", async () => {
	const at = world();
	const calls = [
		{ id: "1", name: "read", arguments: { path: "pear" }, status: "ok", durationMs: 3 },
		{ id: "2", name: "write", argumentsBytes: 70_000, status: "unfinished" },
		{ id: "3", name: "run", arguments: {}, status: "error", error: "no such file" },
		null,
		{ id: "4", name: "run", status: "error" },
		{ id: "5", name: "run", status: "unfinished", error: "stopped" },
	];
	put(at, "s-calls", [result("a", null, { calls, complete: false }), message("b", "a")]);
	expect(await good(at, ["show"])).toContain(
		[
			...['→ read {"path":"pear"}', "→ write (70000 bytes)", "(write did not finish)"],
			...["→ run {}", "← run failed", "  no such file", "→", "→ run", "(run failed)"],
			...["→ run", "← run", "  stopped", "(run did not finish)", "← script", "  done", ""],
		].join("\n"),
	);
	expect(await good(at, ["tree", "--limit", "all"])).toContain('→ read({"path":"pear"})');
	for (const [n, odd] of [null, 7, {}, { calls: "x" }].entries()) {
		const path = put(at, `s-${n}`, [result("a", null, odd)]);
		expect(await good(at, ["show", path])).toMatch(/^toolResult a .*Z\n← script\n {2}done\n/m);
	}
});

test("arguments that are no JSON are shown unchanged", async () => {
	const at = world();
	const call = { type: "toolCall", id: "c", name: "read", arguments: {}, argumentsError: 'not JSON: {"path' };
	put(at, "s-odd", [message("a", null, { role: "assistant", content: [call] })]);
	expect(await good(at, ["show"])).toContain('→ read not JSON: {"path\n');
});
