// The files that `pi-sessions delete` deletes, and the files that it keeps.
import {
	appendFileSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	renameSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	agreeAfter,
	good,
	goodJson,
	program,
	put,
	putBelow,
	run,
	runInTerminal,
	type World,
	world,
} from "../../support/cli.js";
import { laterCatalog } from "../../support/redaction.js";
import { api, header, message, text, user } from "../../support/scratch.js";

const said = (words: string, time: string): ReturnType<typeof message> =>
	message("a", null, { ...user(words), timestamp: Date.parse(time) });

/** A session whose last write was long ago. */
function old(at: World, id: string, words = id, time = "2025-01-01T00:00:00.000Z"): string {
	const path = put(at, id, [said(words, time)]);
	utimesSync(path, 1e9, 1e9);
	return path;
}

/** A session with a backup, subagents, and files with similar names that do not belong to it. */
function family(at: World): { path: string; own: string[]; others: string[] } {
	const path = old(at, "family", "what was said");
	const folder = path.replace(".jsonl", "");
	const subagent = putBelow(path, "abc/run-0/session", { id: "child" }, [said("below", "2025-01-01T00:00:00.000Z")]);
	utimesSync(subagent, 1e9, 1e9);
	const backup = `${path}.v1.bak`;
	const others = [`${path}.txt`, `${folder}-2.jsonl`];
	for (const file of [backup, ...others]) writeFileSync(file, "x");
	return { path, own: [path, folder, backup], others };
}

describe("deletes", () => {
	test("a session with backups, subagents and its catalog row", async () => {
		const at = world();
		const { path, own, others } = family(at);
		const left = old(at, "left");
		await good(at, ["list"]);
		const catalog = (): string =>
			readdirSync(at.agent)
				.filter((name) => name.startsWith("session-catalog"))
				.map((name) => readFileSync(join(at.agent, name), "latin1"))
				.join("");
		expect(catalog()).toContain("what was said");
		expect(await goodJson(at, ["delete", "family", "--dry-run"])).toEqual({
			dryRun: true,
			sessions: [{ path, id: "family", files: [own[2], own[1], path], stays: [] }],
		});
		for (const file of own) expect(existsSync(file)).toBe(true);
		const out = await good(at, ["delete", "family", "--yes"], { PATH: "" });
		expect(out).toMatch(/1 subagent, 1 backup/);
		expect(out).toContain(`deleted  ${path}\n`);
		for (const file of own) expect(existsSync(file), file).toBe(false);
		for (const file of [left, ...others]) expect(existsSync(file), file).toBe(true);
		expect(catalog().includes("what was said")).toBe(false);
	});

	test("all files in one call of pi's trash command", async () => {
		const at = world();
		const { own } = family(at);
		const bin = join(at.cwd, "bin");
		mkdirSync(bin);
		program({ ...at, cwd: bin }, "trash", `mv "$@" '${at.cwd}'; echo "$#" > '${join(at.cwd, "calls")}'`);
		const PATH = `${bin}:${process.env.PATH}`;
		expect(await good(at, ["delete", "family", "--yes"], { PATH })).toContain("moved to the trash  ");
		for (const file of own)
			expect([existsSync(file), existsSync(join(at.cwd, file.split("/").at(-1) as string))]).toEqual([false, true]);
		expect(readFileSync(join(at.cwd, "calls"), "utf8")).toBe("3\n");
	});

	// Regression: if `trash` failed to move a file, it was deleted permanently, although the question mentioned the
	// trash.
	test("nothing permanently if `trash` leaves files", async () => {
		const at = world();
		const { path, own } = family(at);
		const bin = join(at.cwd, "bin");
		mkdirSync(bin);
		const PATH = `${bin}:${process.env.PATH}`;
		const trash = (script: string): string => program({ ...at, cwd: bin }, "trash", script);
		for (const script of [
			"echo no trash here >&2; exit 1",
			"echo no trash here >&2",
			'rm "$1"; echo no trash here >&2',
		]) {
			trash(script);
			const { code, out } = await run(at, ["delete", "family", "--yes"], { PATH });
			expect(code).toBe(1);
			expect(out).toContain(`not deleted  ${path}: the command trash left `);
			expect(out).toContain(`${path}: no trash here\n`);
		}
		// The first path is the backup.
		expect(own.map((file) => existsSync(file))).toEqual([true, true, false]);
		trash('rm -r "$@"; exit 1');
		expect(await good(at, ["delete", "family", "--yes"], { PATH })).toContain(`deleted  ${path}\n`);
		expect(existsSync(path)).toBe(false);
	});

	test("sessions by their last message, not by file times", async () => {
		const at = world();
		const days = (count: number): string => new Date(Date.now() - count * 86_400_000).toISOString();
		const [ancient, young] = [old(at, "ancient", "long ago", days(100)), old(at, "young", "just now", days(80))];
		const elsewhere = put(at, "elsewhere", [said("there", days(200))], { cwd: "/else" });
		utimesSync(elsewhere, 1e9, 1e9);
		const shown = await good(at, ["delete", "--older-than", "90d", "--dry-run"]);
		expect(shown).toContain("long ago");
		expect(shown).not.toMatch(/just now|there/);
		expect((await goodJson(at, ["delete", "--all", "--older-than", "90d", "--dry-run"])).sessions).toHaveLength(2);
		await good(at, ["delete", "--older-than", "90d", "--yes"]);
		expect([ancient, young, elsewhere].map(existsSync)).toEqual([false, true, true]);
		expect(await good(at, ["delete", "--older-than", "90d"])).toMatch(/^No session of .* is older than 90d\n$/);
	});

	// Regression: no line said that the target of a session's link stays.
	test("a link, and names its target, which stays", async () => {
		const at = world();
		const elsewhere = join(at.cwd, "elsewhere.jsonl");
		writeFileSync(elsewhere, text([header({ id: "linked" }), said("linked", "2025-01-01T00:00:00.000Z")]));
		utimesSync(elsewhere, 1e9, 1e9);
		const link = join(dirname(old(at, "other")), "linked.jsonl");
		symlinkSync(elsewhere, link);
		const target = realpathSync(elsewhere);
		expect((await goodJson(at, ["delete", "linked", "--dry-run"])).sessions).toEqual([
			{ path: link, id: "linked", files: [link], stays: [], target },
		]);
		const out = await good(at, ["delete", "linked", "--yes"], { PATH: "" });
		expect(out).toContain(`${link} is a link. The file that it leads to stays: ${target}\n`);
		expect(out).toContain(`deleted  ${link}\n`);
		expect([existsSync(link), existsSync(elsewhere)]).toEqual([false, true]);
	});

	// Regression: a folder with this name counted as the command, so the deletion failed.
	test("permanently if `trash` is a folder or not executable", async () => {
		const at = world();
		for (const make of [mkdirSync, (path: string) => writeFileSync(path, "")]) {
			const { path } = family(at);
			const bin = mkdtempSync(join(at.cwd, "bin-"));
			make(join(bin, "trash"));
			expect(await good(at, ["delete", "family", "--yes"], { PATH: bin })).toContain(`deleted  ${path}\n`);
			expect(existsSync(path)).toBe(false);
		}
	});

	test("a subagent's session once if its parent is named, too", async () => {
		const at = world();
		const { path } = family(at);
		expect(await good(at, ["delete", "family", "child", "--yes"], { PATH: "" })).toMatch(/^deleted {2}.*$/m);
		expect(existsSync(path)).toBe(false);
	});

	test("with exit code 1 if the catalog keeps its text", async () => {
		const at = world();
		const path = old(at, "s-1");
		const { code, out } = await run(at, ["delete", "s-1", "--yes"], {
			PATH: "",
			PI_SESSION_NATIVE_CATALOG: laterCatalog(),
		});
		expect([code, existsSync(path)]).toEqual([1, false]);
		expect(out).toContain("the catalog may still contain its first message");
	});

	test("a file without a readable header, by its path", async () => {
		const at = world();
		const path = join(at.cwd, "damaged.jsonl");
		writeFileSync(path, "not a session");
		utimesSync(path, 1e9, 1e9);
		await good(at, ["delete", path, "--yes"]);
		expect(existsSync(path)).toBe(false);
	});
});

describe("leaves alone", () => {
	test("a session written within the last minute, without --force", async () => {
		const at = world();
		const fresh = put(at, "fresh", [said("now", "2025-01-01T00:00:00.000Z")]);
		const { path } = family(at);
		const now = new Date();
		utimesSync(path.replace(".jsonl", "/abc/run-0/session.jsonl"), now, now);
		for (const args of [
			["delete", "fresh", "family", "--yes"],
			["delete", "fresh", "family", "--dry-run"],
			["delete", "--older-than", "90d", "--yes"],
		]) {
			const { code, out } = await run(at, args);
			expect(code).toBe(1);
			expect(out.match(/not deleted .*it was written within the last minute. Add --force to delete it/g)).toHaveLength(
				2,
			);
		}
		expect([fresh, path].map(existsSync)).toEqual([true, true]);
		await good(at, ["delete", "fresh", "family", "--yes", "--force"]);
		expect([fresh, path].map(existsSync)).toEqual([false, false]);
	});

	// Regression: the preview said that the link's target stays, and then the only copy was deleted.
	test("a link replaced by its target after the preview", async () => {
		const at = world();
		const link = old(at, "linked");
		const target = join(at.cwd, "real.jsonl");
		renameSync(link, target);
		symlinkSync(target, link);
		const { code, out } = await runInTerminal(
			at,
			["delete", "linked"],
			{ PATH: "" },
			300,
			agreeAfter(() => renameSync(target, link)),
		);
		expect(out).toContain(`The file that it leads to stays: ${realpathSync(at.cwd)}/real.jsonl`);
		expect(out).toContain(`${link}: it changed after it was listed`);
		expect([code, existsSync(link)]).toEqual([1, true]);
	});

	// Regression: if a link's target changed meanwhile, and both files had the same size and time, it was not noticed.
	test("a link that leads to another file after the preview", async () => {
		const at = world();
		const link = old(at, "linked");
		const [first, second] = ["first.jsonl", "second.jsonl"].map((name) => join(at.cwd, name)) as [string, string];
		renameSync(link, first);
		copyFileSync(first, second);
		utimesSync(second, 1e9, 1e9);
		symlinkSync(first, link);
		const relink = (): void => {
			rmSync(link);
			symlinkSync(second, link);
		};
		const { code, out } = await runInTerminal(at, ["delete", "linked"], { PATH: "" }, 300, agreeAfter(relink));
		expect(out).toContain("it changed after it was listed");
		expect([code, existsSync(link)]).toEqual([1, true]);
	});

	test("a session that another process has locked, without --force", async () => {
		const at = world();
		const path = old(at, "locked");
		const holder = api.SessionManager.open(path, { lock: "exclusive" });
		try {
			expect(await run(at, ["delete", "locked", "--yes"])).toMatchObject({
				code: 1,
				out: expect.stringContaining("another process has its lock"),
			});
			expect(existsSync(path)).toBe(true);
		} finally {
			holder.close();
		}
	});

	// Regression: the minute since the last write was checked only before the question, which may be open for minutes.
	test("a session changed after the preview, without --force", async () => {
		const at = world();
		const [used, grown, same] = ["used", "grown", "same"].map((id) => old(at, id)) as [string, string, string];
		const { path: parent } = family(at);
		const change = (): void => {
			appendFileSync(used, text([message("b", "a")]));
			for (const [file, seconds] of [
				[grown, 1e9],
				[join(parent.replace(".jsonl", ""), "abc/run-0/session.jsonl"), 2e9],
			] as const) {
				appendFileSync(file, text([message("b", "a")]));
				utimesSync(file, seconds, seconds);
			}
		};
		const args = ["delete", "used", "grown", "same", "family"];
		const env = { PATH: "/usr/bin:/bin", COLUMNS: "300" };
		const { code, out } = await runInTerminal(at, args, env, 300, agreeAfter(change));
		expect(code).toBe(1);
		expect(out).toContain(`${used}: it was written within the last minute`);
		for (const path of [grown, parent]) expect(out).toContain(`${path}: it changed after it was listed`);
		expect([used, grown, same, parent].map((path) => existsSync(path))).toEqual([true, true, false, true]);
		const forced = ["delete", "used", "--force"];
		await runInTerminal(
			at,
			forced,
			env,
			300,
			agreeAfter(() => appendFileSync(used, "\n")),
		);
		expect(existsSync(used)).toBe(false);
	});

	test("a file added to the session's folder after the preview", async () => {
		const at = world();
		const { path } = family(at);
		const notes = join(path.replace(".jsonl", ""), "notes.txt");
		const put = agreeAfter(() => writeFileSync(notes, "mine"));
		const { out } = await runInTerminal(at, ["delete", "family"], { PATH: "/usr/bin:/bin" }, 300, put);
		expect(out).toContain(`stays: ${notes}, which is not a session`);
		expect([path, notes].map((file) => existsSync(file))).toEqual([false, true]);
	});

	test("other files in a folder named like the session", async () => {
		const at = world();
		const path = join(at.cwd, "notes.jsonl");
		writeFileSync(path, text([header({ id: "n" }), said("notes", "2025-01-01T00:00:00.000Z")]));
		mkdirSync(join(at.cwd, "notes"));
		writeFileSync(join(at.cwd, "notes/mine.txt"), "mine");
		writeFileSync(join(at.cwd, "notes/sub.jsonl"), text([header({ id: "sub" })]));
		for (const file of [path, join(at.cwd, "notes/sub.jsonl")]) utimesSync(file, 1e9, 1e9);
		await good(at, ["delete", "notes.jsonl", "--yes"]);
		expect(readdirSync(at.cwd)).toEqual(["notes"]);
		expect(readdirSync(join(at.cwd, "notes"))).toEqual(["mine.txt"]);
	});

	// Regression: a subagent's session with a torn header stayed, and no line named the remaining files.
	test("other programs' files in a session's folder, and names them", async () => {
		const at = world();
		const { path, own } = family(at);
		const run0 = join(own[1] as string, "abc/run-0");
		const [torn, events, page] = ["torn.jsonl", "events.jsonl", "page.html"].map((name) => join(run0, name)) as [
			string,
			string,
			string,
		];
		const line = `${JSON.stringify(said("hi", "2025-01-01T00:00:00.000Z"))}\n`;
		writeFileSync(torn, `{"type":"sess\n${line}`);
		writeFileSync(events, '{"event":"start"}\n');
		writeFileSync(page, "<p>");
		for (const file of [torn, events, page]) utimesSync(file, 1e9, 1e9);
		const stays = `stays: ${events}, which is not a session\n`;
		expect(await good(at, ["delete", "family", "--dry-run"])).toContain(stays);
		const out = await good(at, ["delete", "family", "--yes"]);
		expect(out).toContain(`  ${stays}`);
		expect(out).toContain(`  stays: ${page}, which is not a session`);
		expect(readdirSync(run0).sort()).toEqual(["events.jsonl", "page.html"]);
		expect(existsSync(path)).toBe(false);
	});

	// Regression: lines about 300 remaining files hid the question.
	test("many files in a session's folder, and counts them", async () => {
		const at = world();
		const { own } = family(at);
		const folder = own[1] as string;
		for (let n = 0; n < 11; n++) writeFileSync(join(folder, `${n}_out.md`), "x");
		const stays = `stay: 11 files in ${folder}, which are not sessions\n`;
		const preview = await good(at, ["delete", "family", "--dry-run"]);
		expect([preview.includes(stays), preview.includes("_out.md")]).toEqual([true, false]);
		expect((await goodJson(at, ["delete", "family", "--dry-run"])).sessions[0].stays).toHaveLength(11);
		expect(await good(at, ["delete", "family", "--yes"])).toContain(`  ${stays}`);
		expect(readdirSync(folder)).toContain("0_out.md");
	});

	test("everything, where nobody answers, or the answer is no", async () => {
		const at = world();
		const path = old(at, "s-1");
		expect(await run(at, ["delete", "s-1"])).toMatchObject({ code: 2, err: expect.stringContaining("Add --yes") });
		const asked = await runInTerminal(at, ["delete", "s-1"], { PATH: "/usr/bin:/bin" }, 100, "n\n");
		expect(asked).toMatchObject({
			code: 1,
			out: expect.stringMatching(/Delete this session permanently\? \[y\/N\][\s\S]*Nothing was changed/),
		});
		expect(existsSync(path)).toBe(true);
		// Regression: the command waited for an answer to a question that nobody saw.
		const noTerminal = { NODE_OPTIONS: "--import=data:text/javascript,process.stderr.isTTY=false" };
		const unseen = await runInTerminal(at, ["delete", "s-1"], noTerminal, 100, "y\n");
		expect(unseen).toMatchObject({ code: 2, out: expect.stringContaining("there is no terminal to ask") });
		expect(existsSync(path)).toBe(true);
	});
});

test("what does not go together is refused", async () => {
	const at = world();
	old(at, "s-1");
	for (const args of [
		[],
		["--all"],
		["s-1", "--older-than", "9d"],
		["s-1", "--all"],
		["--older-than", "soon"],
		["s-1", "--json"],
	])
		expect(await run(at, ["delete", ...args])).toMatchObject({ code: 2, out: "" });
	expect(await run(at, ["delete", "s-1", "nope", "--yes"])).toMatchObject({
		code: 1,
		err: expect.stringContaining("nope"),
	});
	expect(await good(at, ["list"])).toContain("s-1");
});
