// A session is open while another process redacts its file: the removed text is no longer read, copied or written.
import { execFileSync } from "node:child_process";
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { api, LOAD, linesOf, message, opened, read, scratch, user } from "../../support/scratch.js";

const { SessionManager } = api;
const SECRET = "hunter2";
const LARGE = `${"x".repeat(5_000)} ${SECRET}`;

/** Redacts a file in another process. */
function redact(file: string, replacement?: string): void {
	const script = `${LOAD} SessionManager.redact(${JSON.stringify(file)}, ${JSON.stringify({ text: SECRET, replacement })})`;
	execFileSync(process.execPath, ["-e", script]);
	expect(read(file)).not.toContain(SECRET);
}

const begun = () =>
	opened([
		message("a", null, user(`${SECRET}, short`)),
		message("b", "a", user(LARGE)),
		message("c", "b", user("stays")),
	]);
const shown = (value: unknown): string => JSON.stringify(value);

// Regression: minutes after the redaction each of these calls still returned the text of the old file.
for (const [name, get] of [
	["getEntries", (manager: any) => manager.getEntries()],
	["getBranch", (manager: any) => manager.getBranch()],
	["getTree", (manager: any) => manager.getTree()],
	["getEntry", (manager: any) => [manager.getEntry("a"), manager.getEntry("b")]],
	["buildSessionContext", (manager: any) => manager.buildSessionContext()],
] as const) {
	test(`${name} gives what the redacted file says`, () => {
		const { manager, file } = begun();
		redact(file);
		expect(shown(get(manager))).not.toContain(SECRET);
		expect(manager.getEntryCount()).toBe(3);
	});
}

test("a large value read after the redaction is redacted", () => {
	const { manager, file } = begun();
	const entries = manager.getEntries() as any[];
	redact(file);
	expect(entries[1].message.content).toBe(LARGE.replace(SECRET, "[redacted]"));
	expect(shown(manager.getEntries())).not.toContain(SECRET);
	expect(manager.getEntry("c")).toBe(entries[2]);
});

test("a large value is redacted after an append, too", () => {
	const { manager, file } = begun();
	const entries = manager.getEntries() as any[];
	redact(file);
	manager.appendMessage(user("more"));
	expect(entries[1].message.content).toBe(LARGE.replace(SECRET, "[redacted]"));
});

for (const entries of ["unread", "read"]) {
	test(`a branch of ${entries} entries contains no redacted text`, () => {
		const { manager, file } = begun();
		if (entries === "read") expect(shown(manager.getEntries())).toContain(SECRET);
		redact(file);
		const branch = manager.createBranchedSession("c") as string;
		expect(linesOf(branch)).toHaveLength(4);
		expect(read(branch)).not.toContain(SECRET);
		expect(shown(manager.getEntries())).not.toContain(SECRET);
	});
}

// Regression: if the file was replaced twice during one branch, the call failed.
test("a branch is made while others replace the file", () => {
	const { manager, file } = begun();
	const now = Date.now;
	let left = 3;
	vi.spyOn(Date, "now").mockImplementation(() => {
		if (left-- > 0) {
			copyFileSync(file, `${file}.new`);
			renameSync(`${file}.new`, file);
		}
		return now();
	});
	try {
		expect(linesOf(manager.createBranchedSession("c") as string)).toHaveLength(4);
		expect(left).toBeLessThan(0);
	} finally {
		vi.restoreAllMocks();
	}
});

test("a fork contains no redacted text", () => {
	const { manager, file } = begun();
	expect(shown(manager.getEntries())).toContain(SECRET);
	redact(file);
	const fork = SessionManager.forkFrom(file, "/elsewhere", scratch());
	expect(read(fork.getSessionFile() as string)).not.toContain(SECRET);
	expect(manager.getEntryCount()).toBe(3);
});

// Regression: if the line had the same length, the object of an entry that was appended here did not change.
test("an appended entry is redacted, even at the same length", () => {
	for (const replacement of [undefined, "*".repeat(SECRET.length)]) {
		const { manager, file } = opened([message("a", null)]);
		const id = manager.appendMessage(user(`mine: ${SECRET}`));
		const kept = manager.appendMessage(user("kept"));
		const object = manager.getEntry(kept);
		redact(file, replacement);
		manager.appendMessage(user("after"));
		expect(shown(manager.getEntries())).not.toContain(SECRET);
		expect(manager.getEntry(kept)).toBe(object);
		expect(read(manager.createBranchedSession(kept) as string)).not.toContain(SECRET);
		expect(manager.getEntry(id)).toBeDefined();
	}
});

test("entries of a deleted file are read as before", () => {
	const { manager, file } = begun();
	rmSync(file);
	expect(shown(manager.getEntries())).toContain(SECRET);
});
