// What `pi-sessions redact` and `pi-sync redact` have in common.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { put, type Result, runProgram, type World, world } from "./cli.js";
import { message, scratch, user } from "./scratch.js";

export const ID = "0194aaaa-1111-7000-8000-000000000001";
export const FORK = "0194bbbb-1111-7000-8000-000000000002";
export const SECRET = "the password is hunter2";

/** A command, and how it says a few things. */
export interface RedactCommand {
	bin: string;
	run: (at: World, args: string[]) => Promise<Result>;
	good: (at: World, args: string[]) => Promise<string>;
	notReached: string;
	nothing: string;
	catalog: string;
}

/** A text leaves a session, its backup and copies of its entries. Returns where, for further tests. */
export async function redactsEverywhere({ bin, run, good, notReached, nothing }: RedactCommand) {
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
	expect(said).toContain("a pi that has the session open");
	for (const path of [file, `${file}.bak`]) expect(readFileSync(path, "utf8")).not.toContain("hunter2");
	// In another session only the copied entry is redacted, because the command names one session.
	expect(
		readFileSync(copy, "utf8")
			.split("\n")
			.filter((line) => line.includes("hunter2")),
	).toEqual([expect.stringContaining("hunter2 here, too")]);
	expect(await good(at, ["redact", "0194aaaa", "--text", "hunter2"])).toContain(nothing);
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

/** A catalog that cannot be written to may contain the text: the command says so at every run. */
export async function tellsOfTheCatalog({ run, catalog }: RedactCommand): Promise<void> {
	const at = world();
	put(at, ID, [message("a", null, user(SECRET))]);
	const named = { ...at, env: { ...at.env, PI_SESSION_NATIVE_CATALOG: join(scratch(), "catalog") } };
	const page = Buffer.alloc(4096);
	page.write("SQLite format 3\0", "latin1");
	page.writeInt32BE(1_000_000, 60);
	page.writeInt32BE(0x7069_7363, 68);
	writeFileSync(named.env.PI_SESSION_NATIVE_CATALOG, page);
	for (const lines of ["1 line", "0 lines"]) {
		const { code, out } = await run(named, ["redact", "0194aaaa", "--text", "hunter2"]);
		expect([code, out]).toEqual([1, expect.stringContaining(lines)]);
		expect(out).toContain(catalog);
	}
}
