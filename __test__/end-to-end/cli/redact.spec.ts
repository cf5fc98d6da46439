// `pi-sessions redact`.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { SessionManager } from "../../../index.js";
import { bin, good, put, run, world } from "../../support/cli.js";
import { FORK, ID, redactsEverywhere, SECRET, tellsOfTheCatalog } from "../../support/redaction.js";
import { header, message, user } from "../../support/scratch.js";

const command = {
	bin,
	run,
	good,
	notReached: "files, backups and catalogs of other machines",
	nothing: "Nothing to redact in ",
	catalog: "the catalog may still contain the text",
};

test("a text leaves the session, its backup and copies of its entries, and the command says what it cannot reach", async () => {
	await redactsEverywhere(command);
});

// Regression: the exit code was 0, and the second run said that nothing of it was left.
test("as long as the catalog may still hold it the exit code is 1, also of a run that finds nothing more in the files", async () => {
	await tellsOfTheCatalog(command);
});

// Regression: only those beside the redacted session went, and the command said that nothing was left; later, only those
// beside any session, and a dry run did not name them.
test("temporary files of killed processes go from every directory of sessions, also where no session is", async () => {
	const at = world();
	const file = put(at, ID, [message("a", null, user(SECRET))]);
	const [dir, name] = [dirname(file), `.pi-session-${"0123456789abcdef".repeat(2)}.tmp`];
	const others = ["--other--", "--third--", "--empty--", "--other--/gone/run-0"].map((one) => join(dirname(dir), one));
	for (const other of others) mkdirSync(other, { recursive: true });
	// A session, and a file that is none.
	writeFileSync(join(others[0] as string, "x.jsonl"), `${JSON.stringify(header({ id: "x" }))}\n`);
	writeFileSync(join(others[1] as string, "x.jsonl"), "");
	const left = [dir, ...others].map((one) => join(one, name));
	for (const path of left) writeFileSync(path, readFileSync(file));
	const clean = join(dir, ".pi-session-1.tmp");
	writeFileSync(clean, "nothing of it");
	const said = (verb: string, out: string): number =>
		out.match(new RegExp(`^${verb} {2}\\S+: 1 temporary file of killed processes$`, "gm"))?.length ?? 0;
	const planned = await good(at, ["redact", "0194aaaa", "--text", "hunter2", "--dry-run"]);
	expect([said("would remove", planned), left.every((path) => existsSync(path))]).toEqual([left.length, true]);
	const done = await good(at, ["redact", "0194aaaa", "--text", "hunter2"]);
	expect([said("removed", done), left.some((path) => existsSync(path))]).toEqual([left.length, false]);
	// Of an entry, too, whose session has it no more.
	writeFileSync(left[3] as string, `${JSON.stringify(message("b", null, user("of an entry")))}\n`);
	put(at, FORK, [message("b", null, user("of an entry"))]);
	const { files } = JSON.parse(await good(at, ["redact", FORK, "--entry", "b", "--json"]));
	expect(files).toContainEqual(expect.objectContaining({ file: others[2], temporaryFiles: [left[3]] }));
});

// Regression: each of them was a failure, with exit code 1, and a dry run ended with 0.
test("files that do not have the text are no failures, and one line counts them", async () => {
	const at = world();
	const file = put(at, ID, [message("a", null, user("hello")), message("b", "a", user(SECRET))]);
	put(at, FORK, [message("a", null, user("hello"))]);
	const dir = dirname(file);
	writeFileSync(join(dir, "empty.jsonl"), "");
	writeFileSync(join(dir, "other.jsonl"), '{"isSidechain":false,"type":"user","message":{"content":"hello"}}\n');
	symlinkSync("gone", join(dir, "link.jsonl"));
	const asked = ["redact", "0194aaaa", "--text", "hunter2"];
	const planned = await run(at, [...asked, "--dry-run"]);
	expect([planned.code, planned.err]).toEqual([0, ""]);
	expect(planned.out).toContain("4 other session files searched: 0 with the text, 4 without\n");
	expect(planned.out).not.toContain("failed");
	writeFileSync(join(dir, "other.jsonl"), '{"id":"b","text":"hunter\\u0032"}\n');
	for (const more of [["--dry-run"], []]) {
		const { code, out } = await run(at, [...asked, ...more]);
		expect(code).toBe(1);
		expect(out).toMatch(/^failed {2}\S+other\.jsonl: Session file is not a valid pi session/m);
		expect(out).toContain("4 other session files searched: 0 with the text, 3 without, 1 failed\n");
	}
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
	expect(readFileSync(join(dir, "other.jsonl"), "utf8")).toContain("hunter\\u0032");
});

// Regression: the command ended with "Maximum call stack size exceeded".
test("folders of subagents may be as deep as a path can be", async () => {
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

// Regression: they were not looked at, and nobody said so.
test("a text leaves the sessions of a session's subagents, and copies of its entries in those of another one", async () => {
	const at = world();
	const below = (path: string, name: string, lines: object[]) => {
		const folder = join(path.replace(/\.jsonl$/, ""), "abc", "run-0");
		mkdirSync(folder, { recursive: true });
		const file = join(folder, `${name}.jsonl`);
		writeFileSync(file, [header({ id: name }), ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
		return file;
	};
	const [secret, more] = [
		message("b", null, user(SECRET)),
		message("c", "b", user("hunter2, which the subagent was told")),
	];
	const [own, others] = [
		below(put(at, ID, [secret]), "own", [secret, more]),
		below(put(at, FORK, [message("x", null, user("hello"))]), "others", [secret, more]),
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

test("of a session that another process has alone the command says who has it and what to do", async () => {
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

test("what stands where it cannot be replaced is said, and the exit code is 1", async () => {
	const at = world();
	put(at, ID, [message("a", null, user(SECRET))]);
	const { code, out } = await run(at, ["redact", "0194aaaa", "--text", "0194"]);
	expect([code, out]).toEqual([
		1,
		expect.stringContaining("1 line still contains the text where it cannot be replaced: in a header"),
	]);
});
