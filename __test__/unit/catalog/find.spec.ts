// Finds one session by its header, whatever file names and the catalog contain, and never reads a whole file.
import { appendFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bytesRead } from "../../support/open-files.js";
import { runtime } from "../../support/runtime.js";
import { api, header, message, scratch, user, writeSession } from "../../support/scratch.js";
import { testIf } from "../../support/windows.js";
import { agentDir, listed, reference, session, tick } from "./agent-dir.js";

const { SessionManager } = api;

test("findById reads headers, whatever the files' names", () => {
	const { dir } = agentDir(0);
	for (let n = 0; n < 100; n++) session(dir, n);
	const named = writeSession(dir, [header({ id: "named", cwd: "/project" })], "2025-01-01_named.jsonl");
	expect(SessionManager.findById("/project", "named")).toBe(named);
	expect(SessionManager.findById("/project", "s-42")).toBe(join(dir, "42.jsonl"));
	renameSync(join(dir, "42.jsonl"), join(dir, "moved.jsonl"));
	expect(SessionManager.findById("/project", "s-42")).toBe(join(dir, "moved.jsonl"));
	writeSession(dir, [header({ id: "new in place" })], "7.jsonl");
	expect(SessionManager.findById("/project", "s-7")).toBeUndefined();
	expect(SessionManager.findById("/project", "new in place")).toBe(join(dir, "7.jsonl"));
	rmSync(join(dir, "moved.jsonl"));
	expect(SessionManager.findById("/project", "s-42")).toBeUndefined();
	expect(SessionManager.findById("/project", "s")).toBeUndefined();
	// A name without a header is not a session.
	writeFileSync(join(dir, "x_lies.jsonl"), `${JSON.stringify(header({ id: "truth" }))}\n`);
	expect(SessionManager.findById("/project", "lies")).toBeUndefined();
	expect(SessionManager.findById("/project", "truth")).toBe(join(dir, "x_lies.jsonl"));
});

testIf(process.platform === "linux", "only Linux says what a process has read")(
	"no whole file is read to find one",
	() => {
		const dir = scratch();
		for (let n = 0; n < 4; n++) {
			const path = writeSession(
				dir,
				[header({ id: `s-${n}`, cwd: "/here" }), message("m", null, user("x"))],
				`${n}.jsonl`,
			);
			appendFileSync(path, `${JSON.stringify(message("big", "m", user("y".repeat(8 << 20))))}\n`);
			utimesSync(path, 1_700_000_000 + n, 1_700_000_000 + n);
		}
		const before = bytesRead();
		expect(SessionManager.findById("/here", "s-2", dir)).toBe(join(dir, "2.jsonl"));
		expect(SessionManager.findById("/here", "none", dir)).toBeUndefined();
		expect(api.findMostRecentSession(dir)).toBe(join(dir, "3.jsonl"));
		expect(api.findMostRecentSession(dir, "/elsewhere")).toBeNull();
		expect(bytesRead() - before).toBeLessThan(1 << 20);
	},
);

// Regression: the result was another file, because of the catalog or a file's name.
test("of two files with one id findById returns pi's", async () => {
	const { dir } = agentDir(0);
	for (let n = 10; n < 90; n++) session(dir, n);
	const put = (name: string, cwd = "/project") => writeSession(dir, [header({ id: "twice", cwd })], name);
	const both = () => {
		const found = SessionManager.findById("/project", "twice", dir);
		// pi returns the first file in the order of the directory, which Bun does not sort.
		if (runtime !== "bun") expect(found).toBe(reference.SessionManager.findById("/project", "twice", dir));
		return found;
	};
	const last = put("z.jsonl");
	await tick();
	await listed();
	expect(both()).toBe(last);
	// The catalog does not know this session.
	expect(put("50a.jsonl")).toBe(both());
	// The file whose name contains the id is probably the session, but here another file comes before it.
	put("88_twice.jsonl");
	expect(both()).toBe(join(dir, "50a.jsonl"));
	expect(put("0.jsonl")).toBe(both());
	// A session of another project, because only a given directory is filtered.
	expect(put("-.jsonl", "/other")).toBe(both());
	const given = scratch();
	for (const [name, cwd] of [
		["a", "/other"],
		["b", "/project"],
		["c_twice", "/project"],
	] as const) {
		writeSession(given, [header({ id: "twice", cwd })], `${name}.jsonl`);
	}
	expect(SessionManager.findById("/project", "twice", given)).toBe(join(given, "b.jsonl"));
	if (runtime !== "bun")
		expect(reference.SessionManager.findById("/project", "twice", given)).toBe(join(given, "b.jsonl"));
});
