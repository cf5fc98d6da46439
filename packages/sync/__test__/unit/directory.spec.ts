import { createHash } from "node:crypto";
import fs, { cpSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { loadAll } from "../../lib/index.js";
import {
	append,
	emptyDirectory,
	entries,
	entry,
	failure,
	filesOf,
	hashOf,
	header,
	headerFileOf,
	ids,
	logOf,
	openDirectory,
	SESSION,
} from "../support/lines.js";
import { systemError } from "../support/opened-files.js";

afterEach(() => vi.restoreAllMocks());

const [MARK, PROJECT, HEADER] = ["store.json", `sessions/${SESSION}`, headerFileOf()];

test("each host writes below its own name", async () => {
	const path = emptyDirectory();
	const { cursor: first } = await append(openDirectory(path, "laptop"), entries("a", 1));
	await append(openDirectory(path, "Build.Box"), entries("b", 1));
	const { cursor } = await append(openDirectory(path, "laptop"), entries("c", 1), first);
	expect(filesOf(path)).toEqual([logOf("laptop"), logOf("Build.Box"), HEADER, PROJECT, MARK].sort());
	expect(logOf("Build.Box")).toMatch(/\/~build\.~box\.00000001\.lines$/);
	expect(await openDirectory(path, "laptop").load(SESSION, cursor)).toMatchObject({
		lines: [{ host: "Build.Box" }],
		comesAfter: false,
	});
});

test("a log contains plain lines of entries", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), entries("a", 2));
	await append(openDirectory(path), entries("b", 1), cursor);
	const [first, ...lines] = readFileSync(join(path, logOf("a")), "utf8").split("\n");
	expect(JSON.parse(first as string)).toMatchObject({ session: SESSION, host: "a", clock: 1, bytes: 90 });
	expect(lines).toEqual([
		...entries("a", 2).map(String),
		expect.stringContaining('"clock":2'),
		...entries("b", 1).map(String),
		"",
	]);
	expect(readFileSync(join(path, HEADER), "utf8")).toBe(`${header()}`);
});

// Regression: the deletion stopped halfway each time, after it had removed the lines.
test("a draft that cannot be removed stops no deletion", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), entries("a", 1));
	const draft = join(path, "lines/none/.draft-x");
	writeFileSync(draft, "x");
	fs.utimesSync(draft, 0, 0);
	const { rm } = fs.promises;
	const denied = () => Promise.reject(systemError("EPERM", "operation not permitted, unlink"));
	vi.spyOn(fs.promises, "rm").mockImplementation((name, options) => (name === draft ? denied() : rm(name, options)));
	await openDirectory(path).delete(SESSION);
	expect(filesOf(path)).not.toContain(logOf("a"));
});

// Regression: it named only one, a different one each time.
test("the message of a failure names no draft", async () => {
	const path = emptyDirectory();
	const store = openDirectory(path);
	await append(store, entries("a", 1));
	rmSync(join(path, PROJECT));
	const denied = (name: string) => systemError("EACCES", `permission denied, open '${name}'`);
	const openFile = fs.promises.open;
	vi.spyOn(fs.promises, "open").mockImplementation((...args: any[]) =>
		args[1] === "wx" ? Promise.reject(denied(String(args[0]))) : (openFile as any)(...args),
	);
	const { code, message } = await failure(append(openDirectory(path, "c"), entries("b", 1)));
	const folder = join(path, "sessions");
	expect([code, message]).toEqual([
		"denied",
		`${path}: access is denied (EACCES: permission denied, open '${folder}')`,
	]);
});

test("no file contains bytes of redacted lines or earlier replacements", async () => {
	const path = emptyDirectory();
	const saying = (text: string) => Buffer.from(`{"type":"message","id":"s","text":"${text}"}`);
	const having = (text: string) => filesOf(path).filter((file) => readFileSync(join(path, file)).includes(text));
	const store = openDirectory(path);
	const { cursor } = await append(store, [entry("a"), saying("hunter2"), entry("b")]);
	const size = fs.statSync(join(path, logOf("a"))).size;
	await openDirectory(path, "b").redact(SESSION, [{ hash: hashOf(saying("hunter2")), line: saying("masked") }]);
	expect([having("hunter2"), having("masked")]).toEqual([[], [expect.stringContaining(".redacted/")]]);
	// The log keeps its length, so that its host can continue.
	expect(fs.statSync(join(path, logOf("a"))).size).toBe(size);
	await append(store, [entry("c")], cursor);
	await openDirectory(path, "b").redact(SESSION, [{ hash: hashOf(saying("masked")) }]);
	expect(having("masked")).toEqual([]);
	const page = await loadAll(openDirectory(path, "reader"), SESSION);
	expect([ids(page), page.problems]).toEqual([["a", "b", "c"], []]);
	await store.redact(SESSION, [{ hash: hashOf(entry("a")), line: entry("here") }]);
	await store.delete(SESSION);
	expect(having("here")).toEqual([]);
});

// Regression: each load read all redactions of the session.
test("replacements are read only with their redacted lines", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), entries("a", 3));
	await append(openDirectory(path), entries("b", 1), cursor);
	await openDirectory(path).redact(
		SESSION,
		entries("a", 2).map((line, at) => ({ hash: hashOf(line), line: entry(`in-place-${at}`) })),
	);
	const reading = vi.spyOn(fs.promises, "open");
	const read = () => reading.mock.calls.filter(([name]) => String(name).includes(".redacted")).length;
	expect([ids(await openDirectory(path).load(SESSION, cursor)), read()]).toEqual([["b0"], 0]);
	expect([ids(await openDirectory(path).load(SESSION)), read()]).toEqual([["in-place-0", "in-place-1", "a2", "b0"], 2]);
});

test("this release reads and extends a directory of layout 4", async () => {
	const path = emptyDirectory();
	cpSync(join(__dirname, "../support/layouts/4"), path, { recursive: true });
	const store = openDirectory(path, "laptop");
	const { sessions, deleted, problems, store: id } = await store.list({ project: "shop" });
	expect(sessions).toMatchObject([
		{ session: "shared", project: "shop", hosts: ["Desk.top", "laptop"], redactions: 1 },
	]);
	expect(await store.header("shared")).toEqual(header("shared"));
	expect([deleted.map(({ session }) => session), problems, id]).toEqual([
		["deleted"],
		[],
		JSON.parse(readFileSync(join(path, MARK), "utf8")).id,
	]);
	expect(ids(await loadAll(store, "shared"))).toEqual(["a0", "a1", "masked", "b0"]);
	const cursor =
		'{"clock":1,"hosts":{"laptop":[1,0,372,"2daa6d08196f29069437290d9de0dcb43c39479fb9bea1e13c7d9e943a0356fe"]}}';
	expect(ids(await store.load("shared", cursor))).toEqual(["b0"]);
	const shared = { header: header("shared") };
	expect(
		(await store.append("shared", { ...shared, lines: [entry("secret"), entry("a2")], after: cursor })).stored,
	).toBe(1);
	expect((await openDirectory(path, "Desk.top").append("shared", { ...shared, lines: entries("b", 2) })).stored).toBe(
		1,
	);
	expect(ids(await loadAll(store, "shared")).sort()).toEqual(["a0", "a1", "a2", "b0", "b1", "masked"]);
	expect((await failure(store.append("deleted", { header: header("deleted"), lines: entries("c", 1) }))).code).toBe(
		"deleted",
	);
});

// Regression: the cursor was compared with the sizes in the list. So it was refused, and everything was loaded again,
// or nothing could be loaded.
describe("what was stored since a list", () => {
	test("by a host of an earlier page, is loaded", async () => {
		const path = emptyDirectory();
		const large = Buffer.from(`{"type":"message","id":"large","text":"${"x".repeat(9 << 20)}"}`);
		const { cursor } = await append(openDirectory(path), [large]);
		await append(openDirectory(path, "b"), entries("b", 1));
		const reader = openDirectory(path, "reader");
		const { sessions } = await reader.list();
		await append(openDirectory(path), entries("a", 1), cursor);
		expect(ids(await loadAll(reader, SESSION, undefined, sessions[0]))).toEqual(["large", "b0", "a0"]);
	});

	test("by this host, is passed by its cursor", async () => {
		const path = emptyDirectory();
		const store = openDirectory(path);
		const { cursor } = await append(store, entries("a", 1));
		const { sessions } = await store.list();
		const { cursor: later } = await append(store, entries("b", 1), cursor);
		await append(openDirectory(path, "other"), entries("x", 1), later);
		expect(ids(await store.load(SESSION, later, sessions[0]))).toEqual(["x0"]);
	});
});

// Regression: a second call found nothing to move.
test("a move that was interrupted is completed by repeating it", async () => {
	const path = emptyDirectory();
	const store = openDirectory(path);
	await store.append(SESSION, { header: header(SESSION), lines: [entry("a")], project: "old" });
	const all = async () => (await store.list()).sessions.map(({ project }) => project);
	const listed = async (project: string) => (await store.list({ project })).sessions.length;
	const folderOf = (project: string) => createHash("sha256").update(project).digest("hex").slice(0, 32);
	const mark = (project: string) => join(path, "lines", folderOf(project), `from.${folderOf("old")}`);
	const kept = join(emptyDirectory(), "mark");
	await store.move("old", "first");
	// It was interrupted before the mark of the earlier project was removed.
	cpSync(mark("first"), kept);
	await store.move("first", "second");
	cpSync(kept, mark("first"));
	utimesSync(mark("first"), 1, 1);
	expect([await all(), await listed("second")]).toEqual([["first"], 1]);
	await store.move("first", "second");
	expect([await all(), await listed("first"), await listed("second")]).toEqual([["second"], 0, 1]);
});

// Regression: a log was read into one buffer, of up to 2 GiB.
test("a long log is read and redacted in portions", async () => {
	const path = emptyDirectory();
	const long = (id: string, bytes: number) =>
		Buffer.from(`{"type":"message","id":"${id}","text":"${"x".repeat(bytes)}"}`);
	const ended = [long("a", 3 << 20), long("b", 3 << 20), long("c", 3 << 20), long("d", 20 << 20), entry("e")];
	for (const line of ended) await append(openDirectory(path), [line]);
	const alloc = vi.spyOn(Buffer, "alloc");
	const page = await loadAll(openDirectory(path, "reader"), SESSION);
	expect([ids(page), page.problems]).toEqual([["a", "b", "c", "d", "e"], []]);
	const lengths = alloc.mock.calls.map(([length]) => length);
	// The sizes of a, b and c, and the portions that grow until they contain d.
	expect(Math.max(...lengths)).toBeLessThan(32 << 20);
	expect(lengths.find((length) => length > 1 << 20)).toBeLessThanOrEqual(8 << 20);
	// The first batch is damaged, and the others contain redacted lines.
	const log = join(path, logOf("a"));
	const file = fs.openSync(log, "r+");
	fs.writeSync(file, "?", 2);
	fs.closeSync(file);
	const hashes = ended.slice(2).map((line) => ({ hash: hashOf(line) }));
	await openDirectory(path, "b").redact(SESSION, hashes);
	const kept = readFileSync(log);
	expect(ended.map((line) => kept.includes(line))).toEqual([true, true, false, false, false]);
	const damaged = await loadAll(openDirectory(path, "reader"), SESSION);
	expect([ids(damaged), damaged.problems]).toEqual([[], [expect.objectContaining({ session: SESSION })]]);
});
