// `pi-sessions redact`.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { SessionManager } from "../../../index.js";
import { bin, good, goodJson, put, putBelow, run, world } from "../../support/cli.js";
import {
	countsOtherFiles,
	countsOtherLines,
	endsForEndlessFiles,
	FORK,
	failsForUnreadableFolders,
	ID,
	ignoresPipes,
	redactsEverywhere,
	removesTemporaryFiles,
	SECRET,
	tellsOfTheCatalog,
} from "../../support/redaction.js";
import { message, user } from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

const command = {
	bin,
	run,
	good,
	notReached: "files, backups and catalogs of other machines",
};

test("redact removes a text from session, backup and copies", async () => {
	await redactsEverywhere(command);
});

// Regression: the exit code was 0, and the second run said that the text was gone.
test("redact fails while the catalog may contain the text", async () => {
	await tellsOfTheCatalog(command);
});

// Regression: only files beside the redacted session were removed, and the command said that the text was gone. Later,
// only files beside a session were removed, and a dry run did not name them.
test("redact removes killed processes' temporary files from all session directories", async () => {
	await removesTemporaryFiles(command);
});

// Regression: each of them was a failure with exit code 1, but a dry run ended with 0.
test("files without the text are counted, and no failure", async () => {
	await countsOtherFiles(command);
});

// Regression: they were counted as "without", because only copies of the redacted entries were searched.
test("files with the text in own lines are only named", async () => {
	await countsOtherLines(command);
});

// Regression: the command did not end, and the session was not redacted.
testWith("links")("redact ends beside endless or very large files", async () => {
	await endsForEndlessFiles(command);
});

// Regression: it was counted as a file without the text, and the exit code was 0.
test("a folder that cannot be read fails", async () => {
	await failsForUnreadableFolders(command);
});

// Regression: it failed each time, with exit code 1.
testWith("pipes")("a pipe named like a session file is no failure", async () => {
	await ignoresPipes(command);
});

// Regression: the command ended with "Maximum call stack size exceeded".
test("redact reads subagents' folders of any depth", async () => {
	const at = world();
	const file = put(at, ID, [message("a", null, user(SECRET))]);
	const folder = file.replace(/\.jsonl$/, "");
	mkdirSync(join(folder, ...Array.from({ length: 1900 }, () => "r")), { recursive: true });
	try {
		const { code, out } = await run(at, ["redact", "0194aaaa", "--text", "hunter2"]);
		expect([code, out]).toEqual([0, expect.stringContaining(`redacted  ${file}: 1 line\n`)]);
		expect(readFileSync(file, "utf8")).not.toContain("hunter2");
	} finally {
		execFileSync("rm", ["-rf", folder]);
	}
});

// Regression: they were not searched, and no line said so.
test("redact removes a text from subagents' sessions and copies", async () => {
	const at = world();
	const [secret, more] = [
		message("b", null, user(SECRET)),
		message("c", "b", user("hunter2, which the subagent was told")),
	];
	const [own, others] = [
		putBelow(put(at, ID, [secret]), "abc/run-0/own", { id: "own" }, [secret, more]),
		putBelow(put(at, FORK, [message("x", null, user("hello"))]), "abc/run-0/others", { id: "others" }, [secret, more]),
	];
	const out = await good(at, ["redact", ID, "--text", "hunter2"]);
	for (const file of [own, others]) expect(out).toContain(file);
	expect([own, others].map((file) => readFileSync(file, "utf8").match(/hunter2[^"]*/g))).toEqual([
		null,
		["hunter2, which the subagent was told"],
	]);
	writeFileSync(own, readFileSync(own, "utf8").replace("[redacted]", "swordfish"));
	expect(await good(at, ["redact", ID, "--text", "swordfish"])).toContain(own);
});

// Regression: pi had deleted the file of the other session, so its folder was not searched, and the command reported no
// rest.
test("redact reaches subagents whose parent session was deleted", async () => {
	const at = world();
	const secret = message("b", null, user(SECRET));
	const deleted = put(at, FORK, [secret]);
	const orphan = putBelow(deleted, "r1/run-0/session", { id: "orphan" }, [secret]);
	rmSync(deleted);
	put(at, ID, [secret]);
	expect(await good(at, ["redact", ID, "--text", "hunter2"])).toContain(orphan);
	expect(readFileSync(orphan, "utf8")).not.toContain("hunter2");
});

// Regression: the session was listed twice, also among the other files, because its path was compared as it was typed.
testWith("links")("redact counts a session once, however its directory is spelled", async () => {
	const at = world();
	const [home, dir] = [at.env.HOME as string, dirname(put(at, ID, [message("b", null, user(SECRET))]))];
	const copy = put(at, FORK, [message("b", null, user(SECRET))]);
	renameSync(dir, join(home, "s2"));
	symlinkSync("s2", join(home, "link"));
	const inHome = { ...at, cwd: home };
	for (const args of [
		["--dir", "s2", ID],
		["--dir", "link", ID],
		["--dir", "link", join("s2", basename(copy).replace(FORK, ID))],
	]) {
		const asked = ["redact", ...args, "--text", "hunter2", "--dry-run"];
		const out = await good(inHome, asked);
		expect(out.match(/^would redact/gm), args.join(" ")).toHaveLength(2);
		expect(out).toContain("1 other session file searched: 1 to redact, ");
		const { file, files, others } = await goodJson(inHome, asked);
		expect([files.map((one: any) => one.file).includes(file), others]).toEqual([true, 1]);
	}
	// A link beside it is the same session, too. Its id alone would name both.
	const name = basename(copy).replace(FORK, ID);
	symlinkSync(name, join(home, "s2", "also.jsonl"));
	const named = ["redact", "--dir", "s2", join("s2", name), "--text", "hunter2"];
	const { file, files } = await goodJson(inHome, named);
	expect(files.map((one: any) => basename(one.file))).not.toContain("also.jsonl");
	expect(files).toContainEqual(expect.objectContaining({ file, lines: 1 }));
});

test("a locked session's error says who has it", async () => {
	const at = world();
	const manager = SessionManager.open(put(at, ID, [message("a", null, user(SECRET))]), { lock: "exclusive" });
	const { code, out } = await run(at, ["redact", "0194aaaa", "--text", "hunter2"]);
	expect([code, out]).toEqual([
		1,
		expect.stringMatching(`locked by process ${process.pid}: [\\s\\S]*another process has locked the session: end it`),
	]);
	manager.close();
	expect(await good(at, ["redact", "0194aaaa", "--text", "hunter2"])).toContain("1 line");
});

test("redact fails and counts lines that keep the text", async () => {
	const at = world();
	put(at, ID, [message("a", null, user(SECRET))]);
	const { code, out } = await run(at, ["redact", "0194aaaa", "--text", "0194"]);
	expect([code, out]).toEqual([
		1,
		expect.stringContaining("1 line still contains the text where it cannot be replaced: in a header"),
	]);
});
