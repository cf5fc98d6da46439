// Finding one session: by file name, by the catalog, by headers, and never by reading a whole file.
import { closeSync, openSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, header, message, scratch, user, writeSession } from "../support/store.js";
import { listed, session, store, tick } from "./store.js";

const { SessionManager } = api;

test("findById finds by name, by the catalog and by headers, and only what is there", async () => {
	const { dir } = store(0);
	for (let n = 0; n < 100; n++) session(dir, n);
	const named = writeSession(dir, [header({ id: "named", cwd: "/project" })], "2025-01-01_named.jsonl");
	expect(SessionManager.findById("/project", "named")).toBe(named);
	expect(SessionManager.findById("/project", "s-42")).toBe(join(dir, "42.jsonl"));
	await tick();
	await listed();
	// The catalog knows them now, and what it knows is held against the files.
	expect(SessionManager.findById("/project", "s-42")).toBe(join(dir, "42.jsonl"));
	renameSync(join(dir, "42.jsonl"), join(dir, "moved.jsonl"));
	expect(SessionManager.findById("/project", "s-42")).toBe(join(dir, "moved.jsonl"));
	writeSession(dir, [header({ id: "new in place" })], "7.jsonl");
	expect(SessionManager.findById("/project", "s-7")).toBeUndefined();
	expect(SessionManager.findById("/project", "new in place")).toBe(join(dir, "7.jsonl"));
	rmSync(join(dir, "moved.jsonl"));
	expect(SessionManager.findById("/project", "s-42")).toBeUndefined();
	expect(SessionManager.findById("/project", "s")).toBeUndefined();
	// A name alone is no session.
	writeFileSync(join(dir, "x_lies.jsonl"), `${JSON.stringify(header({ id: "truth" }))}\n`);
	expect(SessionManager.findById("/project", "lies")).toBeUndefined();
	expect(SessionManager.findById("/project", "truth")).toBe(join(dir, "x_lies.jsonl"));
});

test.runIf(process.platform === "linux")("no whole file is read to find one", () => {
	const dir = scratch();
	for (let n = 0; n < 4; n++) {
		const path = writeSession(dir, [header({ id: `s-${n}`, cwd: "/here" }), message("m", null, user("x"))], `${n}.jsonl`);
		const file = openSync(path, "a");
		writeSync(file, `${JSON.stringify(message("big", "m", user("y".repeat(8 << 20))))}\n`);
		closeSync(file);
		utimesSync(path, 1_700_000_000 + n, 1_700_000_000 + n);
	}
	const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
	const before = bytesRead();
	expect(SessionManager.findById("/here", "s-2", dir)).toBe(join(dir, "2.jsonl"));
	expect(SessionManager.findById("/here", "none", dir)).toBeUndefined();
	expect(api.findMostRecentSession(dir)).toBe(join(dir, "3.jsonl"));
	expect(api.findMostRecentSession(dir, "/elsewhere")).toBeNull();
	expect(bytesRead() - before).toBeLessThan(1 << 20);
});
