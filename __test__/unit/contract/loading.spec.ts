// Which lines are the header, entries or damage, and what opening does not change.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { api, caught, header, message, scratch, snapshot, text, writeSession } from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

describe("a file whose first parsed line is no header", () => {
	const NO_SESSION: Record<string, string> = {
		text: "just some notes\nmore\n",
		"a number first": `5\n${text([header()])}`,
		"null first": `null\n${text([header()])}`,
		"an entry first": text([message("a", null), header()]),
		"a header without id": text([{ type: "session", version: 3 }]),
		"a header whose id is a number": text([header({ id: 5 })]),
		"a list": "[]\n",
		"blank lines": "\n \n\t\n",
	};
	for (const [name, content] of Object.entries(NO_SESSION)) {
		test(`is refused and left as it is: ${name}`, () => {
			const dir = scratch();
			const file = join(dir, "no-session.jsonl");
			writeFileSync(file, content, { mode: 0o644 });
			const before = snapshot(dir);
			const error = caught(() => api.SessionManager.open(file));
			expect(error.message).toBe(`Session file is not a valid pi session: ${file}`);
			expect(api.loadEntriesFromFile(file)).toEqual([]);
			expect(snapshot(dir)).toEqual(before);
		});
	}
});

test("reading never ends an unterminated last line", async () => {
	for (const last of ['{"type":"custom","id":"b","parentId":"a"}', '{"type":"custom","id":"b","par']) {
		const dir = scratch();
		const file = join(dir, "open.jsonl");
		writeFileSync(file, text([header(), message("a", null)]) + last);
		const before = snapshot(dir);
		const manager = api.SessionManager.open(file);
		manager.getEntries();
		manager.getTree();
		manager.buildSessionContext();
		api.loadEntriesFromFile(file);
		await api.SessionManager.list("/somewhere", dir);
		api.SessionManager.continueRecent("/somewhere", dir);
		expect(snapshot(dir)).toEqual(before);
	}
});

testWith("links")("a link opens its session; a dangling one hides nothing", async () => {
	const dir = scratch();
	mkdirSync(join(dir, "real"));
	const file = writeSession(join(dir, "real"), [header(), message("a", null)]);
	symlinkSync(file, join(dir, "link.jsonl"));
	symlinkSync(join(dir, "nowhere"), join(dir, "dangling.jsonl"));
	const linked = join(dir, "link.jsonl");
	expect(api.SessionManager.open(linked).getEntryCount()).toBe(1);
	expect(api.findMostRecentSession(dir)).toBe(linked);
	expect(api.SessionManager.continueRecent("/somewhere", dir).getSessionFile()).toBe(linked);
	expect(api.SessionManager.findById("/somewhere", "s-1", dir)).toBe(linked);
	expect((await api.SessionManager.list("/somewhere", dir)).map((one) => one.path)).toEqual([linked]);
});
