// Redaction files, which ensure that a redacted line does not come back.
import fs, { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, parse, relative, sep } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { testWith } from "../../../../__test__/support/windows.js";
import { emptyDirectory, entry, hashOf, header, library, logOf, SESSION, said } from "../support/lines.js";
import { idsIn, lined, linesIn, text, world } from "../support/machines.js";
import { changeOpenedFiles } from "../support/opened-files.js";

const { StoreError } = createRequire(library)("./base/errors.js");
const { callHere } = createRequire(library)("./machine/local-sessions.js");
const { loadAll } = createRequire(library)("./base/load-all.js");
const { redactFile } = createRequire(library)("./sync/redact-files.js");
const { RedactionFile } = createRequire(library)("./sync/redaction-file.js");
const { setPrivate } = createRequire(library)("./machine/settings.js");
const { writeSmall } = createRequire(library)("./machine/small-file.js");
afterEach(() => vi.restoreAllMocks());

const line = (digit: string) => ({ hash: digit.repeat(64), line: entry("redacted") });
const redactionFileIn = (notes: string) => new RedactionFile(notes, { session: SESSION, file: "/sessions/one.jsonl" });

/** The only file in a directory of notes. */
const fileIn = (notes: string) =>
	join(
		notes,
		readdirSync(notes, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith(".json")) as string,
	);

/** The files and folders that are synced, and the renames, while a function runs. */
async function stepsOf(work: () => Promise<unknown>): Promise<string[]> {
	const steps: string[] = [];
	const { rename } = fs.promises;
	changeOpenedFiles((file, name) => {
		const sync = file.sync.bind(file);
		file.sync = () => sync().then(() => void steps.push(`sync ${name}`));
	});
	vi.spyOn(fs.promises, "rename").mockImplementation((from, to) =>
		rename(from, to).then(() => void steps.push(`rename ${from}`)),
	);
	await work();
	return steps;
}

// Regression: nothing was synced, and after a power failure the next pull brought redacted lines back.
testWith("syncs")("a redaction file is on the disk before it counts", async () => {
	const notes = join(emptyDirectory(), "notes");
	const steps = await stepsOf(() => redactionFileIn(notes).add([line("1")]));
	const folder = dirname(fileIn(notes));
	const draft = steps[0]?.replace("sync ", "");
	expect(steps).toEqual([
		`sync ${draft}`,
		`rename ${draft}`,
		...[folder, dirname(folder), notes, dirname(notes)].map((one) => `sync ${one}`),
	]);
});

// Regression: this worked only if Node has an option that is newer than the oldest supported release.
testWith("syncs")("private marks are on the disk before they count", async () => {
	const agent = emptyDirectory();
	const [synced, renamed, ...folders] = await stepsOf(() => setPrivate(agent, SESSION, true));
	expect([synced?.replace("sync", "rename"), folders]).toEqual([renamed, [`sync ${agent}`]]);
});

// Regression: the root directory is its own parent, so a redaction file was synced for ever.
testWith("syncs")("notes may be in the root of a file system", async () => {
	const dir = emptyDirectory();
	const { root } = parse(dir);
	const notes = join(root, relative(root, dir).split(sep)[0] as string);
	await writeSmall(join(dir, "note.json"), "[]", dirname(notes));
	expect(readFileSync(join(dir, "note.json"), "utf8")).toBe("[]");
});

// Regression: they stayed for ever, even the draft of the settings, which contains the store's password.
test("a write removes drafts that are a day old", async () => {
	const dir = emptyDirectory();
	const [old, young, ...others] = [
		".pi-session-native-draft-01",
		".pi-session-native-draft-02",
		"x.json.bak",
		"auth.json.0123456789ab",
	].map((name) => join(dir, name)) as [string, string];
	for (const path of [old, young, ...others]) writeFileSync(path, "secret");
	for (const path of [old, ...others]) fs.utimesSync(path, 0, 0);
	await writeSmall(join(dir, "x.json"), "{}");
	expect([old, young, ...others].filter((path) => fs.existsSync(path))).toEqual([young, ...others]);
});

// Regression: each read the redaction file before the other one wrote it, and one of the two redactions was lost.
test("simultaneous redactions are all kept", async () => {
	const notes = emptyDirectory();
	const lines = [..."12345678"].map(line);
	await Promise.all(
		lines
			.map(() => redactionFileIn(notes))
			.map((redactionFile, at) => redactionFile.withLock(() => redactionFile.add([lines[at]]))),
	);
	const hashes = redactionFileIn(notes)
		.all()
		.map(({ hash }: { hash: string }) => hash);
	expect(hashes.sort()).toEqual(lines.map(({ hash }) => hash));
});

// Regression: it counted as empty, and was overwritten.
test.each(["", "[{", "[]", '{"lines":[]}', '{"lines":[{"hash":"1"}],"unfinished":[]}'])(
	"a damaged redaction file (%s) stays as it is",
	async (damaged) => {
		const notes = emptyDirectory();
		const redactionFile = redactionFileIn(notes);
		await redactionFile.add([line("1")]);
		const path = fileIn(notes);
		writeFileSync(path, damaged);
		await expect(redactionFile.add([line("2")])).rejects.toMatchObject({
			code: "failed",
			message: expect.stringContaining(path),
		});
		expect(readFileSync(path, "utf8")).toBe(damaged);
	},
);

// Regression: no session of the directory was pushed or pulled.
test("a damaged redaction file stops its own session alone", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, said("a", null, "hunter2"));
	await a.sync.push();
	await new RedactionFile(a.notes, { session: SESSION, file: a.file }).add([line("1")]);
	writeFileSync(join(a.notes, "redacted", readdirSync(join(a.notes, "redacted"))[0] as string, `${SESSION}.json`), "");
	const error = { code: "failed", message: expect.stringContaining("is damaged") };
	const before = readFileSync(a.file, "utf8");
	await expect(a.again().redact({ session: SESSION, file: a.file }, { entries: ["a"] })).rejects.toMatchObject(error);
	expect(readFileSync(a.file, "utf8")).toBe(before);
	writeFileSync(a.file, before + text(entry("b")));
	writeFileSync(join(a.dir, "other.jsonl"), text(header("other"), entry("c")));
	const pushed = await a.again().push();
	expect(pushed.find(({ session }) => session === SESSION)).toMatchObject({ error });
	expect(pushed.filter((one) => one.error === undefined)).toMatchObject([{ session: "other", lag: 0 }]);
	expect(await a.again().pull({ session: SESSION })).toMatchObject([{ error }]);
	expect((await a.store.load(SESSION)).lines).toHaveLength(1);
});

// Regression: the entry lost all its texts, here and in the store.
test("the redactions that a killed process noted are finished", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const said = (content: string) =>
		Buffer.from(
			JSON.stringify({
				type: "message",
				id: "a",
				parentId: null,
				message: { role: "user", content: `\xff ${content}` },
			}),
			"latin1",
		);
	const clean = said("the password is [redacted]");
	begin(a, said("the password is hunter2"), entry("b"));
	const hash = hashOf(said("the password is hunter2"));
	await new RedactionFile(a.notes, { session: SESSION, file: a.file }).add([{ hash, line: clean }]);
	expect(await a.again().push()).toMatchObject([{ lag: 0 }]);
	expect(await b.again().pull()).toMatchObject([{ session: SESSION }]);
	for (const { file } of [a, b])
		expect(readFileSync(file).subarray(-lined(clean, entry("b")).length)).toEqual(lined(clean, entry("b")));
});

// Regression: the backup of a migration kept the entry's text, because the entry has another line there.
test.each(["push", "redact"] as const)("the next %s finishes a redaction in the backups", async (next) => {
	const { machine, begin } = world();
	const a = machine("a");
	const said = (ids: string, content: string) =>
		Buffer.from(`{"type":"message",${ids}"timestamp":"1","message":{"role":"user","content":"${content}"}}`);
	const ids = '"id":"a","parentId":null,';
	begin(a, said(ids, "hunter2"), entry("b"));
	const backup = `${a.file}.v1.bak`;
	writeFileSync(backup, lined(said("", "hunter2"), said("", "hunter2").fill("2", 28, 29)));
	const local = { session: SESSION, file: a.file };
	const stopped = () => Promise.reject(new Error("stopped"));
	await expect(
		redactFile(a.file, { entries: ["a"] }, { redactionFile: new RedactionFile(a.notes, local), call: stopped }),
	).rejects.toThrow("stopped");
	for (const file of [a.file, backup]) expect(readFileSync(file, "utf8")).toContain("hunter2");
	if (next === "push") await a.again().push();
	else await a.again().redact(local, { text: "something else" });
	expect(readFileSync(a.file)).toEqual(lined(header(), said(ids, "[redacted]"), entry("b")));
	expect(readFileSync(backup)).toEqual(lined(said("", "[redacted]"), said("", "hunter2").fill("2", 28, 29)));
});

// Regression: it was noted after the change, and if another line was gone by then, it was not noted at all.
test.each(["before the file is changed", "in the moment in which it is changed"])(
	"a line appended during a redaction is noted (%s)",
	async (when) => {
		const { machine, begin } = world();
		const a = machine("a");
		begin(a, entry("a"), said("b", null, "hunter2"));
		const redactionFile = new RedactionFile(a.notes, { session: SESSION, file: a.file });
		const hashes = [said("b", null, "hunter2"), said("c", null, "hunter2")].map((line) => hashOf(line)).sort();
		const noted = () =>
			redactionFile
				.all()
				.map(({ hash }: { hash: string }) => hash)
				.sort();
		const isEarly = when.startsWith("before");
		const add = redactionFile.add.bind(redactionFile);
		vi.spyOn(redactionFile, "add").mockImplementationOnce(async (lines) => {
			if (isEarly) appendFileSync(a.file, text(said("c", null, "hunter2")));
			return add(lines);
		});
		const call = async (name: string, file: string, input: object) => {
			if (isEarly) expect(noted()).toEqual(hashes);
			else begin(a, entry("a"), said("c", null, "hunter2"));
			return callHere(name, file, input);
		};
		await redactFile(a.file, { text: "hunter2" }, { redactionFile, call });
		expect(readFileSync(a.file, "utf8")).not.toContain("hunter2");
		expect(noted()).toEqual(hashes);
	},
);

// Regression: a line was converted to text and back, so the files differed, and both lost all texts of the entry.
test("a redacted line keeps bytes that are not UTF-8", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const said = (content: string, parent = "null") =>
		Buffer.from(
			`{"type":"message","id":"b","parentId":${parent},"timestamp":"1","message":{"role":"user","content":"\xff ${content}"}}`,
			"latin1",
		);
	const fork = join(b.dir, "2025-06-01T10-00-00-000Z_fork.jsonl");
	begin(a, entry("a"), said("the password is hunter2"));
	mkdirSync(b.dir);
	writeFileSync(fork, lined(header("fork"), entry("a"), said("the password is hunter2", '"a"')));
	await a.sync.push();
	await b.sync.pull();
	expect((await a.again().redact({ session: SESSION, file: a.file }, { text: "hunter2" })).error).toBeUndefined();
	expect(await b.again().pull()).toMatchObject([{ redacted: 1 }, { session: "fork", redacted: 1 }]);
	const lines = (file: string) => readFileSync(file, "latin1").split("\n").slice(1);
	const clean = [entry("a"), said("the password is [redacted]"), ""].map((line) => line.toString("latin1"));
	expect([lines(a.file), lines(b.file)]).toEqual([clean, clean]);
	expect(lines(fork)[1]).toBe(said("the password is [redacted]", '"a"').toString("latin1"));
	expect((await loadAll(a.store, SESSION)).lines.map(({ line }: { line: Buffer }) => line.toString("latin1"))).toEqual(
		clean.slice(0, 2),
	);
});

test("the redaction file contains only a line's last replacement", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, said("a", null, "hunter2 and swordfish"));
	const local = { session: SESSION, file: a.file };
	for (const text of ["hunter2", "swordfish"]) await a.again().redact(local, { text });
	const lines = new RedactionFile(a.notes, local).all().map(({ line }: { line: Buffer }) => line.toString());
	expect(lines).toEqual(Array(2).fill(readFileSync(a.file, "utf8").split("\n")[1]));
});

test("a redacted line leaves an incomplete batch of the store", async () => {
	const { path, machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const secret = said("b", "a", "hunter2");
	const log = join(path, logOf("a", { project: "shop" }));
	for (const spoil of [
		(batch: Buffer) => batch.subarray(0, -1),
		(batch: Buffer) => batch.fill(0, 0, 20),
		(batch: Buffer) => Buffer.concat([batch.subarray(0, -30), Buffer.alloc(30)]),
	]) {
		begin(a, entry("a"));
		await a.again().push();
		const [before, note] = [readFileSync(log), readFileSync(fileIn(a.notes))];
		appendFileSync(a.file, text(secret));
		await a.again().push();
		// The power fails before the append is acknowledged.
		writeFileSync(log, Buffer.concat([before, spoil(readFileSync(log).subarray(before.length))]));
		writeFileSync(fileIn(a.notes), note);
		expect((await a.again().redact({ session: SESSION, file: a.file }, { text: "hunter2" })).error).toBeUndefined();
		expect(await a.again().push()).toMatchObject([{ lag: 0 }]);
		expect(readFileSync(log, "utf8")).not.toContain("hunter2");
		await b.again().pull();
		expect(idsIn(b.file)).toEqual(["a", "b"]);
		expect(readFileSync(b.file, "utf8")).toContain("[redacted]");
		for (const name of ["lines", "sessions", "notes-a", "notes-b", "a", "b"])
			rmSync(join(path, name), { recursive: true });
	}
});

test("the next push sends redactions of another process", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, said("a", null, "hunter2"), said("b", null, "swordfish"));
	await a.pushFile();
	for (const [at, secret] of ["hunter2", "swordfish"].entries()) {
		const again = machine("a");
		vi.spyOn(again.store, "redact").mockRejectedValue(new StoreError("unreachable", "away"));
		expect((await again.sync.redact({ session: SESSION, file: a.file }, { text: secret })).error?.message).toBe("away");
		appendFileSync(a.file, text(entry(`c${at}`)));
		expect(await a.pushFile()).toBeUndefined();
		const { lines } = await a.store.load(SESSION);
		expect(lines).toHaveLength(3 + at);
		expect(lines.map(({ line }) => line.toString()).join()).not.toContain(secret);
	}
});

// Regression: the redaction was sent to the store only if there was a file, and the store returned the line to the new
// file.
test("a redacted line does not return into a deleted file", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, said("a", null, "hunter2"));
	await a.sync.push();
	vi.spyOn(a.store, "redact").mockRejectedValueOnce(new StoreError("unreachable", "away"));
	expect((await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" })).error?.message).toBe("away");
	rmSync(a.file);
	expect(await a.again().pull({ session: SESSION })).toMatchObject([{ isNew: true, added: 1 }]);
	expect(readFileSync(a.file, "utf8")).toContain("[redacted]");
});

// Regression: it stayed unfinished for ever, and each push repeated it.
test.each(["not-found", "deleted"])("a redaction of an absent session is finished (%s)", async (code) => {
	const redactionFile = new RedactionFile(
		emptyDirectory(),
		{ session: SESSION, file: "/sessions/one.jsonl" },
		"/store",
	);
	await expect(redactionFile.redactInStore(() => Promise.reject(new StoreError(code, "gone")))).rejects.toThrow("gone");
	expect(redactionFile.isUnfinished()).toBe(false);
});

// Regression: all stores shared the lock of the directory. If one did not answer, no other store received the redaction
// for two minutes.
test.each([
	["another store", "/other", SESSION],
	["another session", "/away", "other"],
])("while a store does not answer, %s is told", async (_, store, session) => {
	const folder = emptyDirectory();
	const redactionFile = (address: string, id: string) =>
		new RedactionFile(folder, { session: id, file: "/sessions/one.jsonl" }, address);
	let answer: (() => void) | undefined;
	const first = redactionFile("/away", SESSION).redactInStore(() => new Promise<void>((resolve) => (answer = resolve)));
	await vi.waitFor(() => expect(answer).toBeDefined());
	await redactionFile(store, session).redactInStore(async () => {});
	expect(redactionFile("/away", SESSION).isUnfinished()).toBe(true);
	answer?.();
	await first;
	expect(redactionFile("/away", SESSION).isUnfinished()).toBe(false);
});

// Regression: the store had the redaction, and the same push then stored the redacted line beside the old one.
test("a store restored during a push gets its redactions first", async () => {
	const { path, machine, begin } = world();
	const a = machine("a");
	begin(a, said("a", null, "hunter2"));
	await a.sync.push();
	const [lines, backup] = [join(path, "lines"), join(path, "backup")];
	cpSync(lines, backup, { recursive: true });
	await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
	appendFileSync(a.file, text(entry("b")));
	vi.spyOn(a.store, "append").mockImplementationOnce(async () => {
		rmSync(lines, { recursive: true });
		cpSync(backup, lines, { recursive: true });
		throw new StoreError("reset", "set back");
	});
	expect(await a.sync.push()).toMatchObject([{ lag: 0 }]);
	const stored = (await a.store.load(SESSION)).lines.map(({ line }) => line.toString());
	expect(stored).toEqual(linesIn(a.file));
});

// Regression: the processes had one mark, and the first one that succeeded removed it.
test("a redaction is unfinished until the store has succeeded", async () => {
	const folder = emptyDirectory();
	const inStore = (name: string) => new RedactionFile(folder, { session: SESSION, file: "/sessions/one.jsonl" }, name);
	let fail: ((error: Error) => void) | undefined;
	const first = inStore("/store").redactInStore(() => new Promise((_, reject) => (fail = reject)));
	await vi.waitFor(() => expect(fail).toBeDefined());
	const order: string[] = [];
	const say = (what: string) => order.push(`${what}, unfinished: ${inStore("/store").isUnfinished()}`);
	const second = inStore("/store").redactInStore(async () => void say("second"));
	say("first");
	fail?.(new StoreError("unreachable", "no answer"));
	await expect(first).rejects.toThrow("no answer");
	await second;
	expect(order).toEqual(["first, unfinished: true", "second, unfinished: true"]);
	expect(inStore("/store").isUnfinished()).toBe(false);
	await expect(
		inStore("/store").redactInStore(() => Promise.reject(new StoreError("unreachable", "no answer"))),
	).rejects.toThrow("no answer");
	await inStore("/other").redactInStore(async () => {});
	expect([inStore("/store").isUnfinished(), inStore("/other").isUnfinished()]).toEqual([true, false]);
});

// Regression: its replacement was kept for the stores, which refuse it, and the session was neither pushed nor pulled
// any more.
test("a line without an id is redacted like its entry", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	const said = (ids: string) =>
		Buffer.from(
			`{"type":"message",${ids}"timestamp":"2025-06-01T09:00:00.000Z","message":{"role":"user","content":"hunter2"}}`,
		);
	begin(a, entry("a"), said('"id":"b","parentId":"a",'));
	await a.sync.push();
	await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
	for (const goesOn of [() => a.again().push(), () => a.again().pull({ session: SESSION })]) {
		appendFileSync(a.file, text(said(""), entry("c")));
		for (const { error } of await goesOn()) expect(error).toBeUndefined();
		expect(readFileSync(a.file, "utf8")).not.toContain("hunter2");
	}
});

// Regression: the text stayed in the file, beside its replacement from the pull.
test("the next push or pull redacts a restored file", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	begin(a, entry("a"), said("b", "a", "hunter2"));
	await a.again().push();
	const before = readFileSync(a.file);
	expect((await a.again().redact({ session: SESSION, file: a.file }, { text: "hunter2" })).error).toBeUndefined();
	await a.again().pull();
	for (const goesOn of [() => a.again().push(), () => a.again().pull()]) {
		writeFileSync(a.file, before);
		for (const { error } of await goesOn()) expect(error).toBeUndefined();
		expect(readFileSync(a.file, "utf8")).not.toContain("hunter2");
		await a.again().push();
		await b.again().pull();
		for (const { file } of [a, b]) expect(idsIn(file)).toEqual(["a", "b"]);
	}
});
