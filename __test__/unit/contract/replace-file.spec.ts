// Files that are replaced. Windows refuses this while another program has one of the two open.
import fs, { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
// It loads the addon of this system before a test pretends to be Windows.
import { root, scratch } from "../../support/scratch.js";

const require = createRequire(import.meta.url);
const ofStores = require("../../../packages/sync/lib/base/replace-file.js");
const { readSettings, setPrivate } = require("../../../packages/sync/lib/machine/settings.js");
const moduleOf = (path: string) => import(pathToFileURL(join(root, "lib", path)).href);
const { replaceFile } = await moduleOf("shared/replace-file.mjs");
const { writeText } = await moduleOf("cli/files.mjs");

afterEach(() => {
	vi.restoreAllMocks();
});

const isOn = (platform: NodeJS.Platform) => vi.spyOn(process, "platform", "get").mockReturnValue(platform);
const failure = (code: string) => Object.assign(new Error(`${code}: rename`), { code });

/** Two files, and a call that replaces the second by the first. */
function drafts(): { draft: string; full: string } {
	const dir = scratch();
	const [draft, full] = [join(dir, "draft"), join(dir, "full")];
	writeFileSync(draft, "new");
	writeFileSync(full, "old");
	return { draft, full };
}

/** Makes the next renames fail, this many. Returns the number of renames. */
function refuse(times: number, code = "EPERM"): () => number {
	let calls = 0;
	const { rename } = fs.promises;
	vi.spyOn(fs.promises, "rename").mockImplementation(async (from, to) => {
		if (++calls <= times) throw failure(code);
		return rename(from, to);
	});
	return () => calls;
}

describe("a file is replaced", () => {
	test.each(["EPERM", "EACCES", "EBUSY"])("%s on Windows: it is tried again", async (code) => {
		isOn("win32");
		const { draft, full } = drafts();
		const calls = refuse(3, code);
		await replaceFile(draft, full);
		expect([readFileSync(full, "utf8"), calls()]).toEqual(["new", 4]);
	});

	test("one that stays open is an error, and unchanged", async () => {
		isOn("win32");
		const { draft, full } = drafts();
		const calls = refuse(Infinity);
		await expect(replaceFile(draft, full)).rejects.toThrow("EPERM: rename");
		expect([readFileSync(draft, "utf8"), readFileSync(full, "utf8"), calls()]).toEqual(["new", "old", 100]);
	});

	test.each([
		["win32", "ENOSPC"],
		["linux", "EPERM"],
		["darwin", "EBUSY"],
	] as const)("on %s %s is an error at once", async (platform, code) => {
		isOn(platform);
		const { draft, full } = drafts();
		const calls = refuse(1, code);
		await expect(replaceFile(draft, full)).rejects.toThrow(code);
		expect(calls()).toBe(1);
	});

	test("one that was open at first has the new text", async () => {
		const { draft, full } = drafts();
		const reader = openSync(full, "r");
		const { rename: real } = fs.promises;
		vi.spyOn(fs.promises, "rename").mockImplementationOnce((from, to) =>
			real(from, to).finally(() => closeSync(reader)),
		);
		await replaceFile(draft, full);
		expect(readFileSync(full, "utf8")).toBe("new");
	});
});

test("in a store a name that others took is theirs", async () => {
	isOn("win32");
	const { draft, full } = drafts();
	const calls = refuse(1);
	let asked = 0;
	expect(await ofStores.replaceFile(draft, full, async () => ++asked === 1)).toBe(false);
	expect([readFileSync(full, "utf8"), asked, calls()]).toEqual(["old", 2, 1]);
});

// Regression: only replacing files of directory stores was repeated.
describe("what is refused twice is written all the same", () => {
	let calls: () => number;

	beforeEach(() => {
		isOn("win32");
		calls = refuse(2);
	});

	test("a session that is marked as private", async () => {
		const agent = scratch();
		await setPrivate(agent, "a", true);
		expect([readSettings(agent).private, calls()]).toEqual([["id:a"], 3]);
	});

	test.each([false, true])("a file that the command writes, with force: %s", async (force) => {
		const path = join(scratch(), "out");
		if (force) writeFileSync(path, "old");
		// A file system without links.
		vi.spyOn(fs, "linkSync").mockImplementation(() => {
			throw failure("EPERM");
		});
		await writeText(path, ["new"], { force, source: join(scratch(), "session.jsonl") });
		expect([readFileSync(path, "utf8"), calls()]).toEqual(["new", 3]);
	});
});

// Regression: the file existed first, empty, and stayed so if the command was killed.
test("a new file gets its name when it is complete", async () => {
	const path = join(scratch(), "out");
	const { linkSync } = fs;
	const seen: boolean[] = [];
	vi.spyOn(fs, "linkSync").mockImplementation((from, to) => {
		seen.push(fs.existsSync(path), readFileSync(from, "utf8") === "new");
		linkSync(from, to);
	});
	await writeText(path, ["new"], { force: false, source: join(scratch(), "session.jsonl") });
	expect([seen, readFileSync(path, "utf8"), fs.readdirSync(join(path, ".."))]).toEqual([[false, true], "new", ["out"]]);
});

// Regression: the error named the temporary file, and the command failed although the file was complete.
test("a temporary file that stays is no failure", async () => {
	const path = join(scratch(), "out");
	vi.spyOn(fs, "rmSync").mockImplementation(() => {
		throw failure("EPERM");
	});
	await writeText(path, ["new"], { force: false, source: join(scratch(), "session.jsonl") });
	expect(readFileSync(path, "utf8")).toBe("new");
});

// Regression: a part of the path was replaced by the temporary file's.
test("an error names a path with dollar signs", async () => {
	const path = join(scratch(), "c$&d");
	vi.spyOn(fs, "linkSync").mockImplementation((draft) => {
		throw Object.assign(new Error(`open '${String(draft)}'`), { code: "EPERM" });
	});
	vi.spyOn(fs.promises, "rename").mockImplementation(async (draft) => {
		throw new Error(`rename '${String(draft)}'`);
	});
	const written = writeText(path, ["new"], { force: false, source: join(scratch(), "session.jsonl") });
	await expect(written).rejects.toThrow(`rename '${path}'`);
});
