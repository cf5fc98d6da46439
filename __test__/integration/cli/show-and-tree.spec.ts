// `pi-sessions show` and `pi-sessions tree`.
import { describe, expect, test } from "vitest";
import { branched, good, goodJson, lines, put, run, world } from "../../support/cli.js";
import { api, assistant, entry, type Json, message, user } from "../../support/scratch.js";

describe("show", () => {
	test("gives the branch of the leaf, tool output folded", async () => {
		const at = world();
		put(at, "s-show", branched);
		const out = await good(at, ["show"]);
		expect(lines(out)[0]).toBe("The parser");
		expect(out).toContain("assistant e2 2025-01-01T00:00:00.000Z [before mending]\nTwo things. Shall I mend them?\n");
		expect(out).toContain(
			"← read\n  line 1 of the log\n  line 2 of the log\n  line 3 of the log\n  line 4 of the log\n    … 26 more lines (--full)\n",
		);
		expect(out).not.toContain("Only the first");
		expect(await good(at, ["show", "--full"])).toContain("  line 30 of the log\n");
	});

	test("counts the lines that it folds, whatever ends them", async () => {
		const at = world();
		const output = (id: string, parent: string | null, text: string): Json =>
			message(id, parent, {
				role: "toolResult",
				toolCallId: "c",
				toolName: "read",
				content: [{ type: "text", text }],
				isError: false,
				timestamp: 1,
			});
		put(at, "s-lines", [
			output("1", null, "one\r\ntwo\r\nthree\r\n\u001b[31mfour\u001b[0m\r\nfive\r\nsix\r\n"),
			output("2", "1", "a\nb\u2028c\u2029d\ne\n"),
			output("3", "2", "a\u2028b\nc\rc\nd\ne\nf\u2029"),
		]);
		const out = await good(at, ["show"]);
		expect(out).toContain("  one\n  two\n  three\n  four\n    … 2 more lines (--full)\n");
		expect(out).toContain("  a\n  b\n  c\n  d\n  e\n\n");
		expect(out).toContain("  a\n  b\n  c␍c\n  d\n    … 2 more lines (--full)\n");
	});

	test("gives another branch with --leaf, fewer entries with --limit", async () => {
		const at = world();
		put(at, "s-show", branched);
		expect(await good(at, ["show", "--leaf", "e4"])).toContain("Done with the first");
		expect(await good(at, ["show", "--leaf", "before mending"])).not.toContain("Only the first");
		const short = await good(at, ["show", "--limit", "2"]);
		expect(short).toContain("Earlier entries are not shown; --limit all shows all");
		expect(short).toContain("Both are mended");
		expect(short).not.toContain("Both, please");
		// Regression: the line was missing if no entry was shown.
		expect(await good(at, ["show", "--limit", "0"])).toContain("Earlier entries are not shown; --limit all shows all");
		expect(await run(at, ["show", "--leaf", "e"])).toMatchObject({
			code: 1,
			err: expect.stringContaining('"e" is the beginning of 11 entry ids'),
		});
	});

	test("a branch of several batches is complete and in order", async () => {
		const at = world();
		const long = Array.from({ length: 300 }, (_, index) =>
			message(`e${index}`, index === 0 ? null : `e${index - 1}`, user(`text ${index}`)),
		);
		const told = async (name: string, all: Json[]) => {
			const path = put(at, name, all);
			const ids = api.SessionManager.open(path)
				.getBranch()
				.map(({ id }) => id);
			expect((await goodJson(at, ["show", path])).entries.map(({ id }: { id: string }) => id)).toEqual(ids);
			const texts = lines(await good(at, ["show", path])).filter((line) => line.startsWith("text "));
			expect(texts).toHaveLength(ids.length);
			return texts;
		};
		expect(await told("long", long)).toEqual(long.map((_, index) => `text ${index}`));
		expect(
			(
				await told("repeated", [
					...long,
					message("e40", "e100", user("text again")),
					message("end", "e60", user("text end")),
				])
			).at(-1),
		).toBe("text end");
		await told("empty", [
			...long.slice(0, 50),
			message("", "e49", user("text empty")),
			message("last", "", user("text last")),
		]);
	});

	test("shows every kind of entry and content", async () => {
		const at = world();
		const odd: Json[] = [
			message("1", null, { role: "user", content: null }),
			message("2", "1", {
				role: "assistant",
				content: [
					{ type: "thinking", thinking: "let me think" },
					{ type: "toolCall", id: "c", name: "bash", arguments: { command: "ls" } },
					null,
					7,
					{ type: "new" },
				],
				stopReason: "error",
				errorMessage: "overloaded",
			}),
			message("3", "2", {
				role: "toolResult",
				toolName: "bash",
				content: [
					{ type: "text", text: "no such file" },
					{ type: "image", mimeType: "image/png", data: "AAAA" },
				],
				isError: true,
			}),
			message("4", "3", { role: "bashExecution", command: "make", output: "done", exitCode: 0 }),
			message("5", "4", {
				role: "system",
				content: "",
				sections: { tools: "read, write", skills: null },
				toolsAdded: [{ name: "grep" }],
			}),
			entry("compaction", "6", "5", { summary: "All before.", firstKeptEntryId: "6", tokensBefore: 1234 }),
			entry("custom", "7", "6", { customType: "ext", data: { count: 1 } }),
			entry("custom_message", "8", "7", { customType: "ext", content: "for the model", display: true }),
			entry("context_edit", "9", "8", { targetId: "1", replacement: null }),
			entry("usage", "10", "9", { kind: "warm", provider: "acme", model: "large" }),
			entry("thinking_level_change", "11", "10", { thinkingLevel: "high" }),
			entry("invented_later", "12", "11", { field: { deep: [1] } }),
			message("13", "12", undefined),
			message("14", "13", { role: "constructor", content: { not: "text" } }),
			entry("toString", "15", "14"),
		];
		put(at, "s-odd", odd);
		const out = await good(at, ["show"]);
		for (const text of [
			"let me think",
			'→ bash {"command":"ls"}',
			"overloaded",
			"← bash failed\n  no such file",
			"[image/png, 3 B]",
			"$ make",
			"read, write",
			"(removed)",
			"tools added: grep",
		])
			expect(out).toContain(text);
		for (const text of [
			"summary of 1234 tokens",
			"All before.",
			'ext {"count":1}',
			"for the model",
			"removes 1 from the context",
			"warm: acme/large",
			"thinking level high",
			'{"field":{"deep":[1]}}',
			'{"not":"text"}',
		])
			expect(out).toContain(text);
		expect((await goodJson(at, ["show"])).entries).toEqual(odd.map((one) => JSON.parse(JSON.stringify(one))));
	});
});

describe("tree", () => {
	test("draws branches, labels and the leaf, and indents side branches", async () => {
		const at = world();
		put(at, "s-tree", branched.slice(0, -1));
		expect(lines(await good(at, ["tree"]))).toEqual([
			"● e0 model_change model acme/large",
			"● e1 user What is wrong with the parser?",
			"● e2 assistant Two things. Shall I mend them? [before mending]",
			"├─○ e3 user Only the first",
			"│ ○ e4 assistant Done with the first",
			"● e5 branch_summary of the branch that ended at e4 The first was mended.",
			"● e6 label labels e2: before mending",
			"● e7 user Both, please",
			expect.stringMatching(/^● e8 toolResult read: line 1 of the log .*…$/),
			"● e9 assistant Both are mended ◀ leaf",
		]);
	});

	test("--user draws the user messages alone, on their branches", async () => {
		const at = world();
		put(at, "s-tree", branched);
		expect(lines(await good(at, ["tree", "--user"]))).toEqual([
			"● e1 user What is wrong with the parser?",
			"├─○ e3 user Only the first",
			"● e7 user Both, please",
		]);
		expect(await good(at, ["tree", "--user", "--limit", "1"])).toContain("e7");
		put(at, "s-none", [message("a", null, assistant("hello"))], { cwd: "/other" });
		expect(await good(at, ["tree", "--user", "s-none"])).toBe("No user messages yet\n");
		expect((await run(at, ["tree", "s-tree", "--user", "--json"])).code).toBe(2);
	});

	// Regression: no line said how to see 77 folded user messages.
	test("says how to see user messages that were folded", async () => {
		const at = world();
		put(
			at,
			"s-talk",
			Array.from({ length: 100 }, (_, index) =>
				message(
					`m${index}`,
					index === 0 ? null : `m${index - 1}`,
					index % 2 === 0 ? user(`question ${index}`) : assistant("answer"),
				),
			),
		);
		const out = lines(await good(at, ["tree"]));
		// The newest entries, up to the limit.
		expect(out.filter((line) => line.includes("question"))).toHaveLength(11);
		expect(out.at(-1)).toBe("79 entries hidden; --limit all shows all, --user shows all user messages");
		expect(lines(await good(at, ["tree", "--user"]))).toHaveLength(50);
	});

	test("folds long runs but shows users, labels and the leaf", async () => {
		const at = world();
		const run: Json[] = [message("m0", null, user("begin"))];
		for (let index = 1; index < 100; index++)
			run.push(
				message(
					`m${index}`,
					`m${index - 1}`,
					index % 20 === 0 ? user(`question ${index}`) : assistant(`answer ${index}`),
				),
			);
		run.push(entry("label", "l", "m99", { targetId: "m33", label: "here" }));
		put(at, "s-long", run);
		const out = lines(await good(at, ["tree", "--limit", "8"]));
		expect(out.filter((line) => !line.startsWith("⋮"))).toHaveLength(9);
		for (const shown of ["m0 user begin", "question 80", "m33 assistant answer 33 [here]", "◀ leaf"])
			expect(out.join("\n")).toContain(shown);
		expect(out[1]).toBe("⋮ 19 entries: 19 assistant");
		expect(out.at(-1)).toBe("93 entries hidden; --limit all shows all, --user shows all user messages");
		expect(lines(await good(at, ["tree", "--limit", "all"]))).toHaveLength(101);
	});

	test("hundreds of branches become one line and the newest ones", async () => {
		const at = world();
		put(at, "s-wide", [
			message("r", null, user("root")),
			...Array.from({ length: 300 }, (_, index) => message(`w${index}`, "r", user(`try ${index}`))),
		]);
		const out = lines(await good(at, ["tree", "--limit", "3"]));
		expect(out).toEqual([
			"● r user root",
			"├─⋮ 296 older branches, 296 entries",
			"├─○ w296 user try 296",
			"├─○ w297 user try 297",
			"├─○ w298 user try 298",
			"● w299 user try 299 ◀ leaf",
			"296 entries hidden; --limit all shows all, --user shows all user messages",
		]);
	});

	test("--json gives every entry in the order of the drawing", async () => {
		const at = world();
		put(at, "s-tree", branched);
		const { leafId, entries } = await goodJson(at, ["tree"]);
		expect(leafId).toBe("e10");
		expect(entries.map(({ id }: Json) => id)).toEqual([
			"e0",
			"e1",
			"e2",
			"e3",
			"e4",
			"e5",
			"e6",
			"e7",
			"e8",
			"e9",
			"e10",
		]);
		expect(entries[2]).toMatchObject({
			parentId: "e1",
			role: "assistant",
			depth: 0,
			children: 2,
			active: true,
			leaf: false,
			label: "before mending",
		});
		expect(entries[3]).toMatchObject({ depth: 1, active: false, text: "Only the first" });
	});

	test("draws nothing for an empty session, and several roots", async () => {
		const at = world();
		const path = put(at, "s-none", []);
		expect(await good(at, ["tree", path])).toBe("No entries yet\n");
		expect(lines(await good(at, ["show", path]))[0]).toBe("(no name)");
		const roots = put(at, "s-roots", [message("a", null, user("one root")), message("b", null, user("another"))]);
		expect(lines(await good(at, ["tree", roots]))).toEqual(["├─○ a user one root", "● b user another ◀ leaf"]);
	});
});
