// What each command of `pi-sessions` gives, in a pipe.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { branched, good, goodJson, lines, put, run, world } from "../../support/cli.js";
import { api, assistant, entry, header, type Json, message, modeOf, root, text, user } from "../../support/scratch.js";
import { isWindows } from "../../support/windows.js";

describe("list", () => {
	test("is a table of this directory's sessions, the newest activity first", async () => {
		const at = world();
		const hour = 3_600_000;
		put(at, "0194aaaa-1111-7000-8000-000000000001", [
			message("a", null, user("first words", { timestamp: Date.now() - 3 * hour })),
		]);
		put(
			at,
			"0194aaaa-1112-7000-8000-000000000002",
			branched.map((one) => ({
				...one,
				message: one.message && { ...(one.message as Json), timestamp: Date.now() - 50 * hour },
			})),
		);
		put(at, "elsewhere", [message("a", null, user("another folder"))], { cwd: "/other" });
		const [head, ...rows] = lines(await good(at, ["list"]));
		expect(head).toMatch(/^ID +AGE +SIZE +MSGS +NAME OR FIRST MESSAGE$/);
		expect(rows).toHaveLength(2);
		expect(rows[0]).toMatch(/^0194aaaa-1111 +3h +\d+ B +1 +first words$/);
		expect(rows[1]).toMatch(/^0194aaaa-1112 +2d +[\d.]+ KiB +7 +The parser$/);
	});

	test("--all lists every directory's, --cwd another's, --limit fewer", async () => {
		const at = world();
		put(at, "here", [message("a", null, user("here"))]);
		const other = resolve(at.cwd, "/other");
		put(at, "there", [message("a", null, user("there"))], { cwd: other });
		const all = await good(at, ["list", "--all"]);
		expect(all).toContain("FOLDER");
		expect(all).toMatch(new RegExp(`there +.* ${other.replaceAll("\\", "\\\\")} +there`));
		expect(lines(await good(at, ["list", "--cwd", "/other"]))).toHaveLength(2);
		const limited = lines(await good(at, ["list", "--all", "--limit", "1"]));
		expect(limited).toHaveLength(3);
		expect(limited[2]).toBe("1 older session not shown; --limit all shows all");
		expect(await goodJson(at, ["list", "--all", "--limit", "0"])).toEqual([]);
		expect(await goodJson(at, ["list", "--all", "--limit", "all"])).toHaveLength(2);
		expect(await run(at, ["list", "--limit", "some"])).toMatchObject({
			code: 2,
			err: expect.stringContaining("Expected a whole number or all."),
		});
	});

	test("--dir, and pi's own variable, name another session directory", async () => {
		const at = world();
		const dir = dirname(put(at, "kept", [message("a", null, user("kept apart"))], { cwd: "/kept" }));
		expect(await good(at, ["list", "--all", "--dir", dir])).toContain("kept apart");
		expect(await good(at, ["list", "--all"], { PI_CODING_AGENT_SESSION_DIR: dir })).toContain("kept apart");
		expect(await good(at, ["list", "--dir", dir])).toContain("No sessions for");
	});

	test("--json gives what the library lists, and the size", async () => {
		const at = world();
		const path = put(at, "s-json", branched);
		const [session] = await goodJson(at, ["list"]);
		expect(session).toMatchObject({
			path,
			id: "s-json",
			cwd: at.cwd,
			name: "The parser",
			messageCount: 7,
			firstMessage: "What is wrong with the parser?",
		});
		expect(session.bytes).toBe(statSync(path).size);
		expect(await goodJson(world(), ["list"])).toEqual([]);
	});

	// Regression: --json read every text of every session, and left it out.
	test("--json reads no text of a session", async () => {
		const at = world();
		put(at, "s-texts", branched);
		const guard = join(at.cwd, "guard.mjs");
		const code = `import { createRequire } from "node:module";
			const { SessionManager } = createRequire(import.meta.url)(${JSON.stringify(join(root, "index.js"))});
			const list = SessionManager.listAll;
			const unread = { enumerable: true, configurable: true, get() { throw new Error("the texts were read"); } };
			SessionManager.listAll = async (...args) => (await list.apply(SessionManager, args)).map((info) => Object.defineProperty(info, "allMessagesText", unread));`;
		writeFileSync(guard, code);
		const env = { NODE_OPTIONS: `--import=${pathToFileURL(guard)}` };
		const [session] = await goodJson(at, ["list", "--all"], env);
		expect(Object.keys(session)).toEqual([
			"path",
			"id",
			"cwd",
			"name",
			"created",
			"modified",
			"messageCount",
			"firstMessage",
			"bytes",
			"subagents",
		]);
		expect(await good(at, ["list", "--all"], env)).toContain("The parser");
	});

	test("shows enough of each id to tell it from the others", async () => {
		const at = world();
		put(at, "shared-beginning-of-ids-1", [message("a", null, user("one"))]);
		put(at, "shared-beginning-of-ids-2", [message("a", null, user("two"))]);
		const out = await good(at, ["list"]);
		expect(out).toMatch(/^shared-beginning-of-ids-1 /m);
		expect(out).toMatch(/^shared-beginning-of-ids-2 /m);
	});
});

describe("a session is named", () => {
	test("by its file, by the beginning of its id, or not at all: the newest of the directory", async () => {
		const at = world();
		const path = put(at, "0194bbbb-1111", branched);
		put(at, "0194cccc-1111", [message("a", null, user("not this"))], { cwd: "/other" });
		for (const name of [[path], ["0194b"], ["0194bbbb-1111"], []])
			expect(await good(at, ["show", ...name])).toContain("What is wrong with the parser?");
	});

	// Regression: without an argument the file that was touched last was taken, and list put the other one first.
	test("not at all: the first of list, whatever the files' times are", async () => {
		const at = world();
		const older = put(at, "older", [message("a", null, { ...user("said first"), timestamp: 1 })]);
		const newer = put(at, "newer", [message("a", null, { ...user("said last"), timestamp: 2 })]);
		const now = new Date();
		utimesSync(newer, 0, 0);
		utimesSync(older, now, now);
		expect((await goodJson(at, ["list"])).map(({ id }: { id: string }) => id)).toEqual(["newer", "older"]);
		for (const more of [[], ["--dir", dirname(older)]]) {
			expect((await goodJson(at, ["show", ...more])).path).toBe(newer);
			expect((await goodJson(at, ["tree", ...more])).path).toBe(newer);
			expect((await goodJson(at, ["verify", ...more]))[0].path).toBe(newer);
			expect((await goodJson(at, ["stats", "--by", "session", ...more])).largest[0].session).toBe("newer");
			expect(await good(at, ["export", ...more])).toContain("said last");
		}
		const found = lines(await good(at, ["search", "said", "--json"])).map((line) => JSON.parse(line).id);
		expect(found).toEqual(["newer", "older"]);
		expect((await goodJson(at, ["fork"])).parentSession).toBe(newer);
	});

	// Regression: nothing found such a session, and nothing said so.
	test("by the id of a subagent's session, which verify --all reads as well", async () => {
		const at = world();
		const main = put(at, "main-1", [message("a", null, user("asks"))]);
		const folder = join(main.replace(/\.jsonl$/, ""), "r1/run-0");
		mkdirSync(folder, { recursive: true });
		const path = join(folder, "session.jsonl");
		writeFileSync(path, `${text([header({ id: "sub-1" }), message("a", null, user("answers"))])}half`);
		expect(await good(at, ["show", "sub-"])).toContain("answers");
		const found = api.SessionManager.findByIdPrefix("sub-", { sessionDir: dirname(main) });
		expect(found.map(({ id }) => id)).toEqual(["sub-1"]);
		expect(await run(at, ["verify", "--all"])).toMatchObject({ code: 1, out: expect.stringContaining(path) });
	});

	// Regression: /resume of pi deletes only the session's file; then no command found its subagents' sessions.
	test("by the id of a subagent's session whose own session pi has deleted", async () => {
		const at = world();
		const main = put(at, "main-1", [message("a", null, user("asks"))]);
		const folder = join(main.replace(/\.jsonl$/, ""), "r1/run-0");
		mkdirSync(folder, { recursive: true });
		const path = join(folder, "session.jsonl");
		writeFileSync(path, `${text([header({ id: "sub-1" }), message("a", null, user("answers"))])}half`);
		rmSync(main);
		expect(await good(at, ["show", "sub-"])).toContain("answers");
		expect(await good(at, ["search", "answers", "--all"])).toContain("answers");
		for (const where of [[], ["--dir", dirname(main)]])
			expect(await run(at, ["verify", "--all", ...where])).toMatchObject({
				code: 1,
				out: expect.stringContaining(path),
			});
	});

	test("by an id that is the beginning of another", async () => {
		const at = world();
		put(at, "ab", [message("a", null, user("the short one"))]);
		put(at, "abc", [message("a", null, user("the long one"))]);
		expect(await good(at, ["show", "ab"])).toContain("the short one");
	});

	test("an ambiguous beginning is an error that lists the candidates", async () => {
		const at = world();
		const one = put(at, "0194-one", branched);
		put(at, "0194-two", [message("a", null, user("the other"))], { cwd: "/other" });
		const { code, out, err } = await run(at, ["show", "0194"]);
		expect({ code, out }).toEqual({ code: 1, out: "" });
		expect(lines(err)).toEqual([
			'Error: "0194" is the beginning of 2 session ids:',
			expect.stringMatching(/^ {2}0194-/),
			expect.stringMatching(/^ {2}0194-/),
		]);
		expect(err).toContain("0194-one  The parser");
		const told = JSON.parse((await run(at, ["show", "0194", "--json"])).err);
		expect(told.error.candidates).toContainEqual({ id: "0194-one", path: one });
	});

	// Regression: the files were not shown.
	test("of two sessions with one id the files are shown, by which they can be named", async () => {
		const at = world();
		const one = put(at, "same", branched, { name: "one.jsonl" });
		const two = put(at, "same", [message("a", null, user("the other"))], { cwd: "/other" });
		const { code, err } = await run(at, ["show", "same"]);
		expect(code).toBe(1);
		expect(lines(err)[0]).toBe('Error: "same" is the id of 2 sessions:');
		for (const path of [one, two]) expect(lines(err)).toContain(`    ${path}`);
		// Of ids that differ the ids say enough.
		put(at, "samewise", branched);
		expect((await run(at, ["show", "samew"])).code).toBe(0);
	});

	test("what is not there is an error that says so", async () => {
		const at = world();
		put(at, "s-1", branched);
		expect(await run(at, ["show", "zzz"])).toMatchObject({
			code: 1,
			err: 'Error: No session has an id that begins with "zzz", or this name. `pi-sessions list --all` shows all sessions\n',
		});
		expect(await run(at, ["show", "./zzz.jsonl"])).toMatchObject({
			code: 1,
			err: "Error: The file does not exist: ./zzz.jsonl\n",
		});
		expect(await run(at, ["show", "./"])).toMatchObject({ code: 1, err: "Error: Not a file: ./\n" });
		expect(await run(at, ["show", "--cwd", "/nowhere"])).toMatchObject({
			code: 1,
			err: expect.stringContaining(`There is no session for ${resolve(at.cwd, "/nowhere")}`),
		});
		writeFileSync(join(at.cwd, "poem.jsonl"), "no session\n");
		expect(await run(at, ["show", "poem.jsonl"])).toMatchObject({
			code: 1,
			err: expect.stringContaining("is not a valid pi session"),
		});
	});
});

test("~ in --dir=~/x and --cwd=~/x is the home, as in pi", async () => {
	const at = world();
	const home = at.env.HOME as string;
	const dir = dirname(put(at, "kept", branched, { cwd: join(home, "there") }));
	mkdirSync(join(home, "mine"));
	writeFileSync(join(home, "mine/s.jsonl"), readFileSync(join(dir, "2025-01-01T00-00-00-000Z_kept.jsonl")));
	expect(await good(at, ["list", "--cwd=~/there"])).toContain("The parser");
	expect(await good(at, ["list", "--all", "--dir=~/mine"])).toContain("The parser");
	expect(await good(at, ["verify", "--all", "--dir=~/mine"])).toContain("1 session file: 1 good");
});

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

	test("gives another branch with --leaf, by id, its beginning or a label; the newest entries with --limit", async () => {
		const at = world();
		put(at, "s-show", branched);
		expect(await good(at, ["show", "--leaf", "e4"])).toContain("Done with the first");
		expect(await good(at, ["show", "--leaf", "before mending"])).not.toContain("Only the first");
		const short = await good(at, ["show", "--limit", "2"]);
		expect(short).toContain("Earlier entries are not shown; --limit all shows all");
		expect(short).toContain("Both are mended");
		expect(short).not.toContain("Both, please");
		expect(await run(at, ["show", "--leaf", "e"])).toMatchObject({
			code: 1,
			err: expect.stringContaining('"e" is the beginning of 11 entry ids'),
		});
	});

	test("a branch of several batches is complete and in order, also with repeated or empty ids", async () => {
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

	test("shows every kind of entry and of content, whatever its fields hold", async () => {
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
		for (const command of ["tree", "stats", "export"]) await good(at, [command]);
		expect((await goodJson(at, ["show"])).entries).toEqual(odd.map((one) => JSON.parse(JSON.stringify(one))));
	});
});

describe("tree", () => {
	test("draws branches, labels and the leaf; only the side branch indents", async () => {
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

	// Regression: of 77 folded user messages nothing said how to see them.
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
		// The newest, as far as the limit goes.
		expect(out.filter((line) => line.includes("question"))).toHaveLength(11);
		expect(out.at(-1)).toBe("79 entries hidden; --limit all shows all, --user shows all user messages");
		expect(lines(await good(at, ["tree", "--user"]))).toHaveLength(50);
	});

	test("folds long runs and keeps what matters in them; --limit all shows all", async () => {
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

	test("a fork of hundreds of branches becomes a line and the newest of them", async () => {
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

	test("an empty session has nothing to draw; several roots stand beside each other", async () => {
		const at = world();
		const path = put(at, "s-none", []);
		expect(await good(at, ["tree", path])).toBe("No entries yet\n");
		const roots = put(at, "s-roots", [message("a", null, user("one root")), message("b", null, user("another"))]);
		expect(lines(await good(at, ["tree", roots]))).toEqual(["├─○ a user one root", "● b user another ◀ leaf"]);
	});
});

describe("fork", () => {
	test("copies a whole session, also into another directory, under a name", async () => {
		const at = world();
		const source = put(at, "s-fork", branched);
		const target = join(at.cwd, "elsewhere");
		mkdirSync(target);
		const before = readFileSync(source, "utf8");
		const made = await goodJson(at, ["fork", "s-fork", "--into", target, "--name", "A copy"]);
		expect(made).toMatchObject({ cwd: target, parentSession: source, entries: 12 });
		expect(readFileSync(source, "utf8")).toBe(before);
		const copy = api.SessionManager.open(made.path);
		expect(copy.getHeader()).toMatchObject({ id: made.id, cwd: target, parentSession: source });
		expect(copy.getSessionName()).toBe("A copy");
		expect(copy.getEntries().slice(0, 11)).toEqual(api.SessionManager.open(source).getEntries());
	});

	test("copies the path to one entry", async () => {
		const at = world();
		const source = put(at, "s-fork", branched);
		const path = lines(await good(at, ["fork", source, "--entry", "e4"]))[0] as string;
		expect(
			api.SessionManager.open(path)
				.getEntries()
				.map(({ id, type }) => (type === "label" ? type : id)),
		).toEqual(["e0", "e1", "e2", "e3", "e4", "label"]);
	});

	// Regression: a name with a mistake in it made a session that pi cannot go on with.
	test("into a directory that is not there is refused", async () => {
		const at = world();
		const source = put(at, "s-fork", branched);
		writeFileSync(join(at.cwd, "file"), "");
		for (const into of ["/nonexistent/dir", "file"])
			expect(await run(at, ["fork", source, "--into", into])).toMatchObject({
				code: 1,
				out: "",
				err: `Error: The directory of --into does not exist: ${into}\n`,
			});
		expect(readdirSync(join(at.agent, "sessions"))).toHaveLength(1);
	});

	test("refuses what would make no session", async () => {
		const at = world();
		put(at, "s-fork", branched);
		expect(await run(at, ["fork", "s-fork", "--entry", "e0"])).toMatchObject({
			code: 1,
			err: expect.stringContaining("no message of the user or the model"),
		});
		expect(await run(at, ["fork", "s-fork", "--entry", "e4", "--into", "/x"])).toMatchObject({ code: 2 });
		const v1 = put(at, "old", [{ type: "message", timestamp: "2024-01-01T00:00:00.000Z", message: user("old") }], {
			header: { version: undefined },
		});
		expect(await run(at, ["fork", v1, "--entry", "x"])).toMatchObject({ code: 1 });
		expect(readdirSync(dirname(v1)).filter((name) => name.includes("old"))).toHaveLength(1);
	});
});

describe("export", () => {
	test("writes the conversation as Markdown", async () => {
		const at = world();
		put(at, "s-export", branched);
		const out = await good(at, ["export"]);
		expect(out).toContain("# The parser\n\nSession `s-export`, begun 2025-01-01T00:00:00.000Z, in `");
		expect(out).toContain("\n## Assistant (before mending)\n\n> Two things. Shall I mend them?\n");
		expect(out).toContain("\n## Tool\n\n**read**:\n\n```\nline 1 of the log\n");
		expect(out).not.toContain("Only the first");
		expect(await good(at, ["export", "--leaf", "e4"])).toContain("Only the first");
	});

	test("no text of a tool ends the fence it is in, and no name makes markup", async () => {
		const at = world();
		put(at, "s-fence", [
			message("a", null, user("go")),
			message("b", "a", {
				role: "toolResult",
				toolName: "*x*",
				content: [{ type: "text", text: "```\n````\n# not a heading" }],
			}),
			entry("session_info", "c", "b", { name: "<b>*name*</b>" }),
		]);
		const out = await good(at, ["export"]);
		expect(out).toContain("`````\n```\n````\n# not a heading\n`````\n");
		expect(out).toContain("# \\<b\\>\\*name\\*\\</b\\>\n");
		expect(out).toContain("**\\*x\\***:");
	});

	test("writes JSON lines that are a session: the branch, or with --all the whole", async () => {
		const at = world();
		const source = put(at, "s-export", branched);
		const all = join(at.cwd, "all.jsonl");
		expect(await good(at, ["export", source, "--all", "-o", all])).toBe("");
		if (!isWindows) expect(modeOf(all)).toBe(0o600);
		expect(readFileSync(all, "utf8")).toBe(readFileSync(source, "utf8"));
		const branch = join(at.cwd, "branch.jsonl");
		await good(at, ["export", source, "--leaf", "e4", "-o", branch]);
		const manager = api.SessionManager.open(branch);
		expect(manager.getSessionId()).toBe("s-export");
		expect(manager.getEntries().map(({ id }) => id)).toEqual(["e0", "e1", "e2", "e3", "e4"]);
		expect((await good(at, ["export", source, "--json"])).split("\n")).toHaveLength(11);
	});

	test("writes over no file unless told to, and refuses what does not go together", async () => {
		const at = world();
		const source = put(at, "s-export", branched);
		const out = join(at.cwd, "talk.md");
		await good(at, ["export", source, "-o", out]);
		expect(await run(at, ["export", source, "-o", out])).toMatchObject({
			code: 1,
			err: expect.stringContaining("The file already exists"),
		});
		await good(at, ["export", source, "-o", out, "--force", "--full"]);
		expect(readFileSync(out, "utf8")).toContain("line 30 of the log");
		for (const args of [
			["--all"],
			["--format", "md", "--json"],
			["--all", "--leaf", "e4", "--format", "jsonl"],
			["--format", "pdf"],
			["--full", "--format", "jsonl"],
		])
			expect((await run(at, ["export", source, ...args])).code).toBe(2);
	});

	// Regression: Markdown was written into talk.html, with status 0.
	test("refuses a name that says another format than it writes", async () => {
		const at = world();
		const source = put(at, "s-export", branched);
		for (const name of ["talk.html", "talk.HTM", "talk.pdf", "talk.json", "talk.docx"]) {
			const { code, err } = await run(at, ["export", source, "-o", name]);
			expect({ name, code, err }).toEqual({ name, code: 2, err: expect.stringContaining("add --format") });
			if (name.startsWith("talk.h")) expect(err).toContain("pi --export");
		}
		expect(readdirSync(at.cwd)).toEqual([]);
		for (const args of [
			["-o", "talk.html", "--format", "md"],
			["-o", "talk.txt"],
			["-o", "talk"],
			["-o", "talk.json", "--json"],
		])
			await good(at, ["export", source, ...args]);
	});
});
