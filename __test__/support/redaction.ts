// The common tests of `pi-sessions redact` and `pi-sync redact`.
import { execFileSync } from "node:child_process";
import {
	chmodSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	readFileSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { put, type Result, runProgram, runWithoutRights, type World, world } from "./cli.js";
import { header, message, scratch, user } from "./scratch.js";

export const ID = "0194aaaa-1111-7000-8000-000000000001";
export const FORK = "0194bbbb-1111-7000-8000-000000000002";
export const SECRET = "the password is hunter2";

/** A command, and the beginning of its list of copies that it cannot reach. */
export interface RedactCommand {
	bin: string;
	run: (at: World, args: string[]) => Promise<Result>;
	good: (at: World, args: string[]) => Promise<string>;
	notReached: string;
}

/** Redacts a text from a session, its backup and copies of its entries. Returns the paths, for further tests. */
export async function redactsEverywhere({ bin, run, good, notReached }: RedactCommand) {
	const at = world();
	const file = put(at, ID, [message("a", null, user("hello")), message("b", "a", user(SECRET))]);
	const copy = put(at, FORK, [
		message("a", null, user("hello")),
		message("b", "a", user(SECRET)),
		message("c", "b", user("hunter2 here, too")),
	]);
	copyFileSync(file, `${file}.bak`);
	const before = [file, copy, `${file}.bak`].map((path) => readFileSync(path, "utf8"));
	expect(await good(at, ["redact", "0194aaaa", "--text", "hunter2", "--dry-run"])).toMatch(
		/would redact {2}\S+: 1 line, 1 backup\n/,
	);
	expect([file, copy, `${file}.bak`].map((path) => readFileSync(path, "utf8"))).toEqual(before);
	const { out: said } = await runProgram(process.execPath, [bin, "redact", "0194aaaa", "--text", "-"], {
		cwd: at.cwd,
		env: at.env as NodeJS.ProcessEnv,
		input: "hunter2\n",
	});
	expect(said).toContain(`Not reached:\n  ${notReached}`);
	expect(said).toContain(
		"a pi that has the session open: until its next entry it shows the text and sends it to the model, so end that pi",
	);
	for (const path of [file, `${file}.bak`]) expect(readFileSync(path, "utf8")).not.toContain("hunter2");
	// In another session only the copied entry is redacted, because the command names one session.
	expect(
		readFileSync(copy, "utf8")
			.split("\n")
			.filter((line) => line.includes("hunter2")),
	).toEqual([expect.stringContaining("hunter2 here, too")]);
	expect(await good(at, ["redact", "0194aaaa", "--text", "hunter2"])).toContain("Nothing to redact in ");
	const { files, notReached: others } = JSON.parse(await good(at, ["redact", FORK, "--entry", "c", "--json"]));
	expect(files).toMatchObject([{ file: copy, lines: 1, left: 0, isCatalogClean: true }]);
	expect(others.length).toBeGreaterThan(2);
	expect(readFileSync(copy, "utf8")).not.toContain("hunter2");
	expect(await good(at, ["show", FORK])).toContain("[redacted]");
	expect((await run(at, ["redact", "0194aaaa"])).code).toBe(2);
	expect((await run(at, ["redact", "0194aaaa", "--text", ""])).code).toBe(2);
	expect((await run(at, ["redact", "0194aaaa", "--entry", "zzz"])).code).toBe(1);
	return { at, file };
}

/** A catalog of a later version, from which this version removes nothing. */
export function laterCatalog(): string {
	const path = join(scratch(), "catalog");
	const page = Buffer.alloc(4096);
	page.write("SQLite format 3\0", "latin1");
	page.writeInt32BE(1_000_000, 60);
	page.writeInt32BE(0x7069_7363, 68);
	writeFileSync(path, page);
	return path;
}

/** A catalog that cannot be written to may contain the text, so each run of the command says so. */
export async function tellsOfTheCatalog({ run }: RedactCommand): Promise<void> {
	const at = world();
	put(at, ID, [message("a", null, user(SECRET))]);
	const named = { ...at, env: { ...at.env, PI_SESSION_NATIVE_CATALOG: laterCatalog() } };
	for (const lines of [/: 1 line/, /: 0 lines|^not changed/]) {
		const { code, out } = await run(named, ["redact", "0194aaaa", "--text", "hunter2"]);
		expect([code, out]).toEqual([1, expect.stringMatching(lines)]);
		expect(out).toContain("the catalog may still contain the text");
	}
}

/** Temporary files of killed processes are removed from each folder that may contain sessions. */
export async function removesTemporaryFiles({ good }: RedactCommand): Promise<void> {
	const at = world();
	const file = put(at, ID, [message("a", null, user(SECRET))]);
	const [dir, name] = [dirname(file), `.pi-session-${"0123456789abcdef".repeat(2)}.tmp`];
	const others = ["--other--", "--third--", "--empty--", "--other--/gone/run-0", "."].map((one) =>
		join(dirname(dir), one),
	);
	for (const other of others) mkdirSync(other, { recursive: true });
	// A session, and a file that is not a session.
	writeFileSync(join(others[0] as string, "x.jsonl"), `${JSON.stringify(header({ id: "x" }))}\n`);
	writeFileSync(join(others[1] as string, "x.jsonl"), "");
	const left = [dir, ...others].map((one) => join(one, name));
	for (const path of left) writeFileSync(path, readFileSync(file));
	const clean = join(dir, `.pi-session-${"1".repeat(32)}.tmp`);
	writeFileSync(clean, "nothing of it");
	const said = (verb: string, out: string): number =>
		out.match(new RegExp(`^${verb} {2}\\S+: 1 temporary file of killed processes$`, "gm"))?.length ?? 0;
	const planned = await good(at, ["redact", "0194aaaa", "--text", "hunter2", "--dry-run"]);
	expect([said("would remove", planned), left.every((path) => existsSync(path))]).toEqual([left.length, true]);
	const done = await good(at, ["redact", "0194aaaa", "--text", "hunter2"]);
	expect([said("removed", done), left.some((path) => existsSync(path))]).toEqual([left.length, false]);
	// The text is also removed from copies of an entry that its session no longer contains.
	writeFileSync(left[3] as string, `${JSON.stringify(message("b", null, user("of an entry")))}\n`);
	put(at, FORK, [message("b", null, user("of an entry"))]);
	const { files } = JSON.parse(await good(at, ["redact", FORK, "--entry", "b", "--json"]));
	expect(files).toContainEqual(expect.objectContaining({ file: others[2], temporaryFiles: [left[3]] }));
}

/** Files without the text are not failures, one line counts them, and a dry run has the same exit code. */
export async function countsOtherFiles({ run }: RedactCommand): Promise<void> {
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
	expect(planned.out).toContain("3 other session files searched: 0 to redact, 3 do not contain the text\n");
	expect(planned.out).not.toContain("failed");
	writeFileSync(join(dir, "other.jsonl"), '{"id":"b","text":"hunter\\u0032"}\n');
	for (const [more, done] of [
		[["--dry-run"], "to redact"],
		[[], "redacted"],
	] as const) {
		const { code, out } = await run(at, [...asked, ...more]);
		expect(code).toBe(1);
		expect(out).toMatch(/^failed {2}\S+other\.jsonl: Session file is not a valid pi session/m);
		expect(out).toContain(`3 other session files searched: 0 ${done}, 2 do not contain the text, 1 failed\n`);
	}
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
	expect(readFileSync(join(dir, "other.jsonl"), "utf8")).toContain("hunter\\u0032");
}

/** Files that contain the text in lines of their own are not counted as files without it. */
export async function countsOtherLines({ run }: RedactCommand): Promise<void> {
	const at = world();
	const file = put(at, ID, [message("a", null, user("hello")), message("b", "a", user(SECRET))]);
	const own = put(at, FORK, [message("x", null, user(SECRET))]);
	const both = put(at, "0194cccc-1111-7000-8000-000000000003", [
		message("b", "a", user(SECRET)),
		message("y", "b", user(SECRET)),
	]);
	put(at, "0194dddd-1111-7000-8000-000000000004", [message("z", null, user("hello"))]);
	const asked = ["redact", "0194aaaa", "--text", "hunter2"];
	const check = async (code: number, rest: string) => {
		for (const [more, done, of] of [
			[["--dry-run"], "1 to redact", "would redact"],
			[[], "1 redacted", "redacted"],
		] as const) {
			const { code: is, out } = await run(at, [...asked, ...more]);
			const stay = "  lines of its own contain the text and stay: redact this session, too\n";
			expect([is, out]).toEqual([code, expect.stringContaining(`not changed  ${own}\n${stay}`)]);
			expect(out).toContain(`${of}  ${both}: 1 line\n${stay}`);
			expect(out).toContain(` searched: ${done}, 1 contains the text only in own lines, ${rest}\n`);
		}
	};
	const before = [file, both].map((path) => readFileSync(path));
	await check(0, "1 does not contain the text");
	expect(readFileSync(both, "utf8").match(/hunter2/g)).toHaveLength(1);
	expect(readFileSync(own, "utf8")).toContain("hunter2");
	// A file of another program is never changed.
	writeFileSync(join(dirname(file), "foreign.jsonl"), '{"foo":"hunter2"}\n');
	for (const [at, path] of [file, both].entries()) writeFileSync(path, before[at] as Buffer);
	await check(1, "1 does not contain the text, 1 failed");
}

/** A folder that cannot be read may contain the text. So it is one failure, and the exit code is 1. */
export async function failsForUnreadableFolders({ bin }: RedactCommand): Promise<void> {
	const at = world();
	const file = put(at, ID, [message("a", null, user("hello")), message("b", "a", user(SECRET))]);
	put(at, FORK, [message("a", null, user("hello"))]);
	const locked = join(dirname(dirname(file)), "--locked--");
	mkdirSync(locked);
	copyFileSync(file, join(locked, "copy.jsonl"));
	chmodSync(locked, 0);
	try {
		for (const [more, counts] of [
			[["--dry-run"], "2 other session files searched: 0 to redact, 1 does not contain the text, 1 failed\n"],
			[[], "2 other session files searched: 0 redacted, 1 does not contain the text, 1 failed\n"],
			// The session no longer contains it, so only folders are searched.
			[[], ""],
		] as const) {
			const { code, out } = await runWithoutRights(at, ["redact", "0194aaaa", "--text", "hunter2", ...more], bin);
			expect([code, out]).toEqual([1, expect.stringContaining(counts)]);
			expect(out.match(/^failed .*/gm)).toEqual([`failed  ${locked}: EACCES: permission denied, scandir '${locked}'`]);
		}
	} finally {
		chmodSync(locked, 0o700);
	}
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
}

/** A pipe with the name of a session file contains nothing. */
export async function ignoresPipes({ good }: RedactCommand): Promise<void> {
	const at = world();
	const file = put(at, ID, [message("a", null, user(SECRET))]);
	execFileSync("mkfifo", [join(dirname(file), "pipe.jsonl")]);
	const out = await good(at, ["redact", "0194aaaa", "--text", "hunter2"]);
	expect(out).not.toContain("failed");
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
}

/** Files of other programs that never end, or are very large, do not prevent the redaction. */
export async function endsForEndlessFiles({ run }: RedactCommand): Promise<void> {
	const at = world();
	const file = put(at, ID, [message("a", null, user(SECRET))]);
	const [endless, sparse] = ["endless.jsonl", "sparse.jsonl"].map((name) => join(dirname(file), name)) as [
		string,
		string,
	];
	if (existsSync("/proc/self/pagemap")) symlinkSync("/proc/self/pagemap", endless);
	writeFileSync(sparse, "");
	truncateSync(sparse, 20 * 2 ** 30);
	const { code, out } = await run(at, ["redact", "0194aaaa", "--text", "hunter2"]);
	expect([code, out.match(/^failed .*/gm)]).toEqual([
		1,
		[`failed  ${sparse}: it is no session, and with 21474836480 bytes too large to be searched`],
	]);
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
}
