// `pi-sync redact` and `delete` with each kind of store.
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { good, put, team } from "../support/cli.js";
import { openDirectory, SESSION, said, storedLines } from "../support/lines.js";
import { linesIn } from "../support/machines.js";
import { inBucket, inDirectory, inPostgres } from "../support/shared-stores.js";

const SECRET = said("b", "a", "the password is hunter2");
const HELLO = said("a", null, "hello").toString();
const CLEAN = said("b", "a", "the password is [redacted]");

describe.each([
	["PostgreSQL", inPostgres],
	["a bucket", inBucket],
	["a directory", inDirectory],
])("%s", (_, start) => {
	// Regression: the session was no longer found.
	test("the command finishes an interrupted deletion", async () => {
		const { address, env, open, backupOfLines, holds } = await start();
		const at = team({ address, env }).laptop;
		put(at, SESSION, [HELLO, SECRET.toString()]);
		await good(at, ["push"]);
		const linesBack = await backupOfLines();
		await good(at, ["delete", SESSION, "--yes"]);
		await linesBack();
		expect(await holds("hunter2")).toBe(true);
		expect(await storedLines(open("reader"))).toEqual([]);
		expect(await good(at, ["delete", SESSION, "--yes"])).toContain("deleted");
		expect(await holds("hunter2")).toBe(false);
	});

	test("the command redacts stored lines that were edited here", async () => {
		const { address, env, open } = await start();
		const [{ laptop, desktop }, store] = [team({ address, env }), open("reader")];
		const file = put(laptop, SESSION, [HELLO, SECRET.toString(), said("c", "b", "hunter2, again").toString()]);
		await good(laptop, ["push"]);
		await good(desktop, ["pull"]);
		const edited = [HELLO, said("b", "a", "the password is gone").toString(), said("c", "b", "it, again").toString()];
		writeFileSync(file, [readFileSync(file, "utf8").split("\n")[0], ...edited, ""].join("\n"));
		expect(await good(laptop, ["redact", SESSION, "--text", "hunter2", "--dry-run"])).toContain(
			": 2 lines in the store",
		);
		expect((await storedLines(store)).join()).toContain("hunter2");
		expect(await good(laptop, ["redact", SESSION, "--text", "hunter2"])).toContain(": 2 lines in the store");
		expect(await storedLines(store)).toEqual(edited);
		for (const at of [laptop, desktop]) {
			await good(at, ["sync"]);
			const [path] = JSON.parse(await good(at, ["list", "--json"])) as [{ path: string }];
			expect(linesIn(path.path)).toEqual(edited);
		}
		expect(await storedLines(store)).toEqual(edited);
		expect(await good(laptop, ["redact", SESSION, "--text", "hunter2"])).toContain("Nothing to redact in ");
	});
});

// Regression: the command with the store found nothing, and the next pull brought the secret back.
test("the next command with the store finishes an offline redaction", async () => {
	for (const next of [["push"], ["pull"], ["redact", SESSION, "--text", "hunter2"]]) {
		const { store: path, laptop } = team();
		const store = openDirectory(path, "reader");
		const file = put(laptop, SESSION, [HELLO, SECRET.toString()]);
		await good(laptop, ["push"]);
		expect(await good(laptop, ["redact", SESSION, "--text", "hunter2"], { PI_SYNC_STORE: undefined })).toContain(
			"stores: none is named",
		);
		expect((await storedLines(store)).join()).toContain("hunter2");
		await good(laptop, next);
		if (next[0] === "pull") await good(laptop, ["pull", SESSION]);
		expect(await storedLines(store), next[0]).toEqual([HELLO, CLEAN.toString()]);
		await good(laptop, ["sync"]);
		expect(linesIn(file)).toEqual([HELLO, CLEAN.toString()]);
		expect(await storedLines(store)).toEqual([HELLO, CLEAN.toString()]);
	}
});
