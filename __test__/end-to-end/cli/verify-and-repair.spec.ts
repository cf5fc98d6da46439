// `pi-sessions verify` and `repair`, which show the library's reports about damaged files.
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { branched, put, run, runWithoutRights, world } from "../../support/cli.js";
import { anyManager, message, modeOf, text, user } from "../../support/scratch.js";

/** A file with a damaged line, an orphan, an id that occurs twice, and an unterminated last line. */
function damaged(at: ReturnType<typeof world>): string {
	const path = put(at, "s-bad", [
		message("a", null),
		message("b", "gone"),
		'{"type":"mess',
		message("a", "b", user("again")),
	]);
	writeFileSync(path, readFileSync(path, "utf8").slice(0, -1));
	return path;
}

describe("verify", () => {
	test("names each fault by its line and exits with 1", async () => {
		const at = world();
		const good = put(at, "s-good", branched);
		const bad = damaged(at);
		const before = readFileSync(bad, "utf8");
		const { code, out, err } = await run(at, ["verify", "s-good", bad]);
		expect({ code, err }).toEqual({ code: 1, err: "" });
		expect(out).toContain(`good  ${good}  11 entries, `);
		expect(out).toContain(`faulty  ${bad}  3 entries, `);
		expect(out).toMatch(/^ {2}line 4 is damaged \(bytes \d+ to \d+\): /m);
		expect(out).toContain("  line 3: the parent of entry b does not exist: gone\n");
		expect(out).toContain("  several lines have the id a: lines 2, 5\n");
		expect(out).toContain("  the final newline is missing\n");
		expect(readFileSync(bad, "utf8")).toBe(before);
		expect((await run(at, ["verify", "s-good"])).code).toBe(0);
	});

	test("--json gives the library's reports, --all those of every session", async () => {
		const at = world();
		const path = damaged(at);
		put(at, "s-good", branched, { cwd: "/other" });
		const { code, out } = await run(at, ["verify", path, "--json"]);
		expect(code).toBe(1);
		expect(JSON.parse(out)).toEqual([JSON.parse(JSON.stringify(anyManager.verify(path)))]);
		const all = await run(at, ["verify", "--all", "--json"]);
		expect(
			JSON.parse(all.out)
				.map(({ sessionId, ok }: any) => `${sessionId} ${ok}`)
				.sort(),
		).toEqual(["s-bad false", "s-good true"]);
	});
});

describe("repair", () => {
	test("mends a file and keeps it as it was", async () => {
		const at = world();
		const path = damaged(at);
		const before = readFileSync(path, "utf8");
		const { code, out } = await run(at, ["repair", path]);
		expect(code).toBe(0);
		expect(out).toMatch(/^ {2}line 4: /m);
		expect(out).toContain(`good  ${path}`);
		const [, backup] = /^The original file is kept as (.*)$/m.exec(out) ?? [];
		expect(readFileSync(backup as string, "utf8")).toBe(before);
		expect(await run(at, ["verify", path])).toMatchObject({ code: 0 });
		expect((await run(at, ["repair", path])).out).toContain("Nothing to repair");
	});

	test("--dry-run changes nothing", async () => {
		const at = world();
		const path = damaged(at);
		const before = readFileSync(path, "utf8");
		expect(await run(at, ["repair", path, "--dry-run"])).toMatchObject({
			code: 1,
			out: expect.stringContaining("line 4 is damaged"),
		});
		expect(readFileSync(path, "utf8")).toBe(before);
		expect(existsSync(join(`${path}.bak`))).toBe(false);
	});

	test("--json gives the library's report", async () => {
		const at = world();
		const path = damaged(at);
		const { code, out } = await run(at, ["repair", path, "--json"]);
		expect(code).toBe(0);
		expect(JSON.parse(out)).toMatchObject({
			path,
			before: { ok: false },
			after: { ok: true },
			backup: expect.stringContaining(path),
		});
	});
});

describe("the most damaged files", () => {
	/**
	 * Session directories with four files without a readable header, in a folder of pi and in a folder of another
	 * program.
	 */
	function damagedStore(): { at: ReturnType<typeof world>; bad: string[]; good: string } {
		const at = world();
		const good = put(at, "s-good", branched);
		const other = put(at, "s-other", branched, { cwd: "/other" });
		const bad = [
			[join(dirname(good), "empty.jsonl"), ""],
			[join(dirname(good), "headless.jsonl"), text([message("a", null, user("no header"))])],
			[join(dirname(good), "zeros.jsonl"), "\0".repeat(1000)],
			[join(dirname(other), "torn.jsonl"), '{"type":"session","version":3,"id":"torn'],
		] as const;
		for (const [path, content] of bad) writeFileSync(path, content);
		writeFileSync(join(dirname(good), "not-a-session.txt"), "no");
		return { at, bad: bad.map(([path]) => path).sort(), good };
	}

	// Regression: `verify --all` did not mention files without a readable header.
	test("verify --all names files without a readable header", async () => {
		const { at, bad, good } = damagedStore();
		const { code, out, err } = await run(at, ["verify", "--all"]);
		expect({ code, err }).toEqual({ code: 1, err: "" });
		const named = [...out.matchAll(/^(?:faulty {2}| {2})(\/[^\s:]+)/gm)].map(([, path]) => path);
		expect(named.sort()).toEqual(bad);
		expect(out).toContain("4 session files: 2 good, 2 faulty, 0 unreadable\n2 other files, not pi sessions:\n");
		// Undamaged sessions, which may be thousands, are only counted.
		expect(out).not.toMatch(/^good/m);
		const reports = JSON.parse((await run(at, ["verify", "--all", "--json"])).out);
		expect(
			reports
				.filter(({ ok }: any) => !ok)
				.map(({ path }: any) => path)
				.sort(),
		).toEqual(bad);
		expect(JSON.parse((await run(at, ["verify", "--all", "--json", "--dir", dirname(good)])).out)).toHaveLength(4);
	});

	test("an unreadable directory or dead link hides no others", async () => {
		const { at, bad, good } = damagedStore();
		symlinkSync("gone", join(dirname(good), "link.jsonl"));
		mkdirSync(join(dirname(good), "folder.jsonl"));
		const locked = dirname(bad.find((path) => path.endsWith("torn.jsonl")) as string);
		const mode = modeOf(locked);
		chmodSync(locked, 0);
		onTestFinished(() => chmodSync(locked, mode));
		const { code, out, err } = await runWithoutRights(at, ["verify", "--all"]);
		expect({ code, err }).toEqual({ code: 1, err: "" });
		expect(out).toContain(`unreadable  ${locked}: EACCES`);
		expect(out).toContain(`unreadable  ${join(dirname(good), "link.jsonl")}: ENOENT`);
		expect(out).toContain("4 session files: 1 good, 1 faulty, 2 unreadable");
		const sums = await runWithoutRights(at, ["stats", "--all"]);
		expect(sums.out).toContain("1 session, 11 entries");
		expect(sums).toMatchObject({
			code: 1,
			err: expect.stringContaining(`EACCES: permission denied, scandir '${locked}'`),
		});
	});

	// Regression: `stats --all` omitted them without a message.
	test("stats --all says that it leaves them out", async () => {
		const { at, bad } = damagedStore();
		const { code, out, err } = await run(at, ["stats", "--all"]);
		expect(code).toBe(1);
		expect(out.replace(/\s+/g, " ")).toMatch(
			/^2 sessions, 22 entries, .* Not added: .*4 files or directories that cannot be read or are not sessions\./,
		);
		expect(err.split("\n").filter(Boolean)).toHaveLength(4);
		for (const path of bad) expect(err).toContain(path);
		const told = JSON.parse((await run(at, ["stats", "--all", "--json"])).out);
		expect(told.sessions).toBe(2);
		expect(told.unreadable.map(({ path }: any) => path).sort()).toEqual(bad);
	});
});

// Regression: entries of version 1 have no ids. So without its header line the file was reported as not a session of
// pi.
test("a version 1 session without its header is faulty", async () => {
	const at = world();
	const path = put(at, "s-old", []);
	const lines = [user("a question"), { role: "hookMessage", content: "x" }].map((message) =>
		JSON.stringify({ type: "message", timestamp: "2025-01-01T00:00:00.000Z", message }),
	);
	writeFileSync(path, `${lines.join("\n")}\n`);
	expect(await run(at, ["verify", "--all"])).toMatchObject({
		code: 1,
		out: expect.stringContaining("1 session file: 0 good, 1 faulty, 0 unreadable"),
	});
	expect(await run(at, ["stats", "--all"])).toMatchObject({ code: 1, err: expect.stringContaining(path) });
	expect(await run(at, ["repair", path])).toMatchObject({
		code: 1,
		err: expect.stringContaining("cannot be repaired"),
	});
	expect(readFileSync(path, "utf8")).toBe(`${lines.join("\n")}\n`);
	// Another program's lines with such a message.
	writeFileSync(
		path,
		'{"type":"message","message":{"role":"developer","content":"x"}}\n{"type":"message","message":5}\n',
	);
	expect((await run(at, ["verify", "--all"])).code).toBe(0);
});

// Regression: `repair` made sessions from files of other programs, and `verify --all` reported them as damaged.
test("files of other programs are no damaged sessions", async () => {
	const at = world();
	const dir = dirname(put(at, "s-good", branched));
	const format4 = join(dir, "format-4.jsonl");
	writeFileSync(format4, '{"v":4,"kind":"header","id":"x","cwd":"/"}\n[{"type":"message","id":"a"}]\n');
	const bare = join(dir, "bare.jsonl");
	writeFileSync(bare, '{"id":"x"}\n');
	const all = await run(at, ["verify", "--all"]);
	expect(all).toMatchObject({ code: 0, err: "" });
	expect(all.out).toContain(
		`2 other files, not pi sessions:\n  ${bare}: a file without a pi header or pi entries\n  ${format4}: a session of pi-agent-core in format 4\n`,
	);
	expect(await run(at, ["verify", format4])).toMatchObject({
		code: 1,
		out: expect.stringContaining(`not a pi session  ${format4}: `),
	});
	const before = readFileSync(format4, "utf8");
	expect(await run(at, ["repair", format4])).toMatchObject({
		code: 1,
		err: expect.stringContaining("not a valid pi session but a session of pi-agent-core in format 4"),
	});
	expect(readFileSync(format4, "utf8")).toBe(before);
	expect(existsSync(`${format4}.bak`)).toBe(false);
});

// Regression: after a session of last year was repaired or renamed, `pi --continue` continued it.
test("repairs, migrations and new names keep the file's time", async () => {
	const at = world();
	const lastYear = new Date(1_700_000_000_000);
	const aged = (path: string): string => {
		utimesSync(path, lastYear, lastYear);
		return path;
	};
	const bad = aged(damaged(at));
	expect(await run(at, ["repair", bad])).toMatchObject({ code: 0 });
	const named = aged(put(at, "s-named", branched));
	expect(await run(at, ["rename", named, "a name"])).toMatchObject({ code: 0 });
	const old = put(at, "s-old", []);
	writeFileSync(
		old,
		text([
			{ type: "session", id: "s-old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/" },
			{ type: "message", timestamp: "2025-01-01T00:00:00.000Z", message: user("x") },
		]),
	);
	expect(await run(at, ["rename", aged(old), "another"])).toMatchObject({ code: 0 });
	expect(existsSync(`${old}.v1.bak`)).toBe(true);
	expect([bad, named, old].map((path) => statSync(path).mtimeMs)).toEqual([1, 1, 1].map(() => lastYear.getTime()));
});

test("verify notes a tool call without a result", async () => {
	const at = world();
	const call = {
		role: "assistant",
		content: [{ type: "toolCall", id: "call_1", name: "bash", arguments: {} }],
		stopReason: "toolUse",
		timestamp: 1,
	};
	const path = put(at, "s-call", [message("a", null, user("x")), message("b", "a", call)]);
	const { code, out } = await run(at, ["verify", path]);
	expect([code, out]).toEqual([
		0,
		expect.stringContaining(
			"  note: line 3 contains a tool call without a result in the context: call_1. A provider may refuse the conversation\n",
		),
	]);
	expect((await run(at, ["verify", "--all"])).out).toContain(
		"0 unreadable\n1 session with notes; verify a single session to see them\n",
	);
});

// Regression: `verify a b nope` did not print the reports of a and b.
test("verify reports good sessions beside a missing one", async () => {
	const at = world();
	const good = put(at, "s-good", branched);
	const bad = damaged(at);
	const { code, out, err } = await run(at, ["verify", "s-good", "nope", bad]);
	expect({ code, err }).toEqual({ code: 1, err: "" });
	expect(out).toContain(`good  ${good}`);
	expect(out).toContain(
		'unreadable  nope: No session has the name "nope", or an id that begins with it. `pi-sessions list --all` shows all sessions\n',
	);
	expect(out).toContain(`faulty  ${bad}`);
	const reports = JSON.parse((await run(at, ["verify", "s-good", "nope", bad, "--json"])).out);
	expect(reports.map(({ path, ok }: any) => [path, ok])).toEqual([
		[good, true],
		["nope", false],
		[bad, false],
	]);
	expect(await run(at, ["verify", "nope"])).toMatchObject({
		code: 1,
		out: "",
		err: expect.stringContaining("Error: No session"),
	});
});
