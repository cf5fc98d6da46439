// The notes of what was redacted here, on which it rests that a redacted line does not come back.
import { createHash } from "node:crypto";
import fs, { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, parse, relative, sep } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { SESSION, emptyDirectory, entry, library } from "../../support/lines.js";
import { text, world } from "../../support/machines.js";
import { testWith } from "../../support/windows.js";

const { StoreError } = createRequire(library)("./errors.js");
const { Notes } = createRequire(library)("./notes.js");
const { RedactedLines } = createRequire(library)("./redacted-lines.js");
const { makePrivate } = createRequire(library)("./settings.js");
const { writeWhole } = createRequire(library)("./small-file.js");
afterEach(() => vi.restoreAllMocks());

const line = (digit: string) => ({ hash: digit.repeat(64), newHash: "f".repeat(64) });

/** The one note of a directory of notes. */
const noteIn = (notes: string) => join(notes, readdirSync(notes, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith(".json")) as string);

/** The files and folders that are synchronised, and the renames, while something is done. */
async function stepsOf(work: () => Promise<unknown>): Promise<string[]> {
	const steps: string[] = [];
	const { open, rename } = fs.promises;
	vi.spyOn(fs.promises, "open").mockImplementation(async (...args) => {
		const file = await open(...args);
		const sync = file.sync.bind(file);
		file.sync = () => sync().then(() => void steps.push(`sync ${args[0]}`));
		return file;
	});
	vi.spyOn(fs.promises, "rename").mockImplementation((from, to) => rename(from, to).then(() => void steps.push(`rename ${from}`)));
	await work();
	return steps;
}

// Regression: nothing was synchronised, and after a power failure the next pull brought redacted lines back.
testWith("syncs")("a note is on the disk before it has its name, and its name once it is kept", async () => {
	const notes = join(emptyDirectory(), "notes");
	const steps = await stepsOf(() => new RedactedLines(notes, "/sessions").add(SESSION, [line("1")]));
	const folder = dirname(noteIn(notes));
	const draft = steps[0]?.replace("sync ", "");
	expect(steps).toEqual([`sync ${draft}`, `rename ${draft}`, ...[folder, dirname(folder), notes, dirname(notes)].map((one) => `sync ${one}`)]);
});

// Regression: it was only where Node knows an option that is newer than the oldest release which this package supports.
testWith("syncs")("the settings are on the disk before they have their name when a session becomes private", async () => {
	const agent = emptyDirectory();
	const [synced, renamed, ...folders] = await stepsOf(() => makePrivate(agent, SESSION));
	expect([synced?.replace("sync", "rename"), folders]).toEqual([renamed, [`sync ${agent}`]]);
});

// Regression: the directory above it is its own parent, and a kept note was synchronised for ever.
testWith("syncs")("a directory of notes may be in the root of the file system", async () => {
	const dir = emptyDirectory();
	const { root } = parse(dir);
	const notes = join(root, relative(root, dir).split(sep)[0] as string);
	await writeWhole(join(dir, "note.json"), "[]", dirname(notes));
	expect(readFileSync(join(dir, "note.json"), "utf8")).toBe("[]");
});

// Regression: each read the note before the other one wrote it, and one of the two was lost.
test("what is redacted of a session at the same time is all kept", async () => {
	const notes = emptyDirectory();
	const lines = [..."12345678"].map(line);
	await Promise.all(lines.map((one) => new RedactedLines(notes, "/sessions").add(SESSION, [one])));
	const hashes = new RedactedLines(notes, "/sessions").of(SESSION).map(({ hash }: { hash: string }) => hash);
	expect(hashes.sort()).toEqual(lines.map(({ hash }) => hash));
});

// Regression: it counted as empty, and was overwritten.
test.each(["", "[{", '{"hash":"1"}', '[{"hash":"1"}]'])("a damaged note (%s) is an error that names it, and stays as it is", async (damaged) => {
	const notes = emptyDirectory();
	const redacted = new RedactedLines(notes, "/sessions");
	await redacted.add(SESSION, [line("1")]);
	const path = noteIn(notes);
	writeFileSync(path, damaged);
	await expect(redacted.add(SESSION, [line("2")])).rejects.toMatchObject({ code: "failed", message: expect.stringContaining(path) });
	expect(readFileSync(path, "utf8")).toBe(damaged);
});

test("with a damaged note nothing of the session goes to the store or comes, and its file is not redacted", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, Buffer.from('{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hunter2"}}'));
	await a.sync.push();
	await new RedactedLines(a.notes, a.dir).add(SESSION, [line("1")]);
	writeFileSync(join(a.notes, "redacted", readdirSync(join(a.notes, "redacted"))[0] as string, `${SESSION}.json`), "");
	const error = { code: "failed", message: expect.stringContaining("is damaged") };
	const before = readFileSync(a.file, "utf8");
	await expect(a.again().redact({ session: SESSION, file: a.file }, { entries: ["a"] })).rejects.toMatchObject(error);
	expect(readFileSync(a.file, "utf8")).toBe(before);
	writeFileSync(a.file, before + text(entry("b")));
	expect(await a.again().push()).toMatchObject([{ error }]);
	expect(await a.again().pull({ session: SESSION })).toMatchObject([{ error }]);
	expect((await a.store.load(SESSION)).lines).toHaveLength(1);
});

// Regression: the store put nothing in the place of the line, this file emptied it with its next pull, and no other machine had the entry.
test("what a process had noted to redact when it was killed is emptied here and in the store", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const secret = Buffer.from('{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hunter2"}}');
	begin(a, secret, entry("b"));
	await new RedactedLines(a.notes, a.dir).add(SESSION, [{ hash: createHash("sha256").update(secret).digest("hex"), newHash: "f".repeat(64) }]);
	expect(await a.again().push()).toMatchObject([{ lag: 0 }]);
	expect(await b.again().pull()).toMatchObject([{ session: SESSION }]);
	const [ours, theirs] = [a.file, b.file].map((file) => readFileSync(file, "utf8").split("\n").slice(1));
	expect(ours?.[0]).toContain('"id":"a"');
	expect(ours?.[0]).not.toContain("hunter2");
	expect(theirs).toEqual(ours);
});

// Regression: processes had one mark, which the first one that succeeded removed.
test("a redaction in a store is marked until it has succeeded, whatever another process does meanwhile", async () => {
	const notes = new Notes(emptyDirectory(), "/store", "/sessions");
	let fail: ((error: Error) => void) | undefined;
	const first = notes.whileRedacting(SESSION, () => new Promise((_, reject) => (fail = reject)));
	await vi.waitFor(() => expect(fail).toBeDefined());
	await notes.whileRedacting(SESSION, async () => {});
	expect(notes.isRedacting(SESSION)).toBe(true);
	fail?.(new StoreError("unreachable", "no answer"));
	await expect(first).rejects.toThrow("no answer");
	expect(notes.isRedacting(SESSION)).toBe(true);
	await notes.whileRedacting(SESSION, async () => {});
	expect(notes.isRedacting(SESSION)).toBe(false);
});

// Regression: the mark stayed for ever.
test.each(["not-found", "deleted"])("a redaction of what the store has not is over (%s)", async (code) => {
	const notes = new Notes(emptyDirectory(), "/store", "/sessions");
	const gone = () => Promise.reject(new StoreError(code, "gone"));
	await expect(notes.whileRedacting(SESSION, gone)).rejects.toThrow("gone");
	expect(notes.isRedacting(SESSION)).toBe(false);
});
