// When a session gets its file, the content of this file, and who may read it.
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
	api,
	failing,
	header,
	jsonLines,
	linesOf,
	message,
	modeOf,
	ownAgent,
	read,
	scratch,
	stateOf,
	user,
	writeSession,
} from "../../support/scratch.js";
import { dirName, testWith } from "../../support/windows.js";

/** A new session with some set-up entries and no conversation. */
function fresh(dir = scratch()) {
	const manager = api.SessionManager.create("/somewhere", dir);
	return { manager, dir, file: manager.getSessionFile() as string };
}

function _openUmask(): void {
	const before = process.umask(0);
	onTestFinished(() => {
		process.umask(before);
	});
}

test("a file of the same name is never overwritten", () => {
	const { manager, dir, file } = fresh();
	manager.appendCustomEntry("x");
	writeFileSync(file, "someone else's");
	const error = failing(manager, dir, () => manager.appendMessage(user()));
	expect(error.code).toBe("EEXIST");
	expect(error.message).toContain(file);
	expect(read(file)).toBe("someone else's");
	rmSync(file);
	manager.appendMessage(user());
	expect(linesOf(file)).toHaveLength(3);
});

test("a first write into a missing directory changes nothing", () => {
	const outer = scratch();
	const { manager, dir, file } = fresh(join(outer, "sessions"));
	manager.appendCustomEntry("x");
	renameSync(dir, `${dir}-away`);
	const error = failing(manager, outer, () => manager.appendMessage(user()));
	expect(error.code).toBe("ENOENT");
	expect(error.message).toContain(file);
	renameSync(`${dir}-away`, dir);
	manager.appendMessage(user());
	expect(linesOf(file)).toHaveLength(3);
	expect(linesOf(file)).toEqual([manager.getHeader(), ...manager.getEntries()].map((one) => JSON.stringify(one)));
});

test("an unwritable entry stops the first write without trace", () => {
	const { manager, dir, file } = fresh();
	const data: Record<string, unknown> = { big: 1n };
	manager.appendCustomEntry("x", data);
	manager.appendCustomEntry("y");
	const error = failing(manager, dir, () => manager.appendMessage(user()));
	expect(error).toBeInstanceOf(TypeError);
	expect(error.message).toContain("BigInt");
	expect(existsSync(file)).toBe(false);
	data.big = "1";
	manager.appendMessage(user());
	expect(linesOf(file)).toHaveLength(4);
});

test("an append that cannot be written changes nothing", () => {
	const dir = scratch();
	// It is noticed before the first write, so that no handle is open yet.
	const file = writeSession(dir, [header(), message("a", null)]);
	const manager = api.SessionManager.open(file);
	const outside = join(scratch(), "away.jsonl");
	const before = stateOf(manager);
	renameSync(file, outside);
	mkdirSync(file);
	let error: any;
	try {
		manager.appendCustomEntry("x");
	} catch (thrown) {
		error = thrown;
	}
	expect(error.message).toContain(file);
	rmSync(file, { recursive: true });
	renameSync(outside, file);
	expect(stateOf(manager)).toEqual(before);
	const id = manager.appendCustomEntry("x");
	expect(jsonLines(file).at(-1)).toMatchObject({ id, parentId: "a" });
});

test("getDefaultSessionDir only names the directory with `create: false`", () => {
	const { agent } = ownAgent();
	const named = api.getDefaultSessionDir("/some/where", undefined, { create: false });
	expect(named).toBe(join(agent, "sessions", dirName("/some/where")));
	expect(existsSync(agent)).toBe(false);
	const elsewhere = join(scratch(), "agent");
	expect(api.getDefaultSessionDir("/x", elsewhere, { create: false })).toBe(join(elsewhere, "sessions", dirName("/x")));
	expect(existsSync(elsewhere)).toBe(false);
	// Without this option the mode is pi's.
	for (const options of [undefined, {}, { create: undefined }, { create: true }, null] as never[]) {
		const dir = join(scratch(), "agent");
		expect(existsSync(api.getDefaultSessionDir("/x", dir, options))).toBe(true);
	}
});

testWith("modes")("the modes of files and directories that exist stay", () => {
	const dir = scratch();
	chmodSync(dir, 0o755);
	const empty = writeSession(dir, [], "empty.jsonl");
	const full = writeSession(dir, [header()], "full.jsonl");
	for (const file of [empty, full]) chmodSync(file, 0o644);
	for (const file of [empty, full]) api.SessionManager.open(file).appendMessage(user());
	api.SessionManager.create("/x", dir).appendMessage(user());
	expect([empty, full, dir].map(modeOf)).toEqual([0o644, 0o644, 0o755]);
});

test("a bad id leaves the session as it was", () => {
	const { manager, dir } = fresh();
	manager.appendMessage(user());
	for (const id of ["", "-a", "a-", "a b", "a/b", "ä", "."]) {
		const error = failing(manager, dir, () => manager.newSession({ id }));
		expect(error.message).toBe(
			"Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and end with an alphanumeric character",
		);
	}
	for (const id of ["a", "A.b_c-9"]) expect(api.assertValidSessionId(id)).toBeUndefined();
});
