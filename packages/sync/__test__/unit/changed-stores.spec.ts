// Changes of a directory by others: an older state is restored, or sessions are deleted during an append.
import fs, { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, normalize } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { loadAll } from "../../lib/index.js";
import {
	append,
	batchOf,
	emptyDirectory,
	entries,
	entry,
	filesOf,
	hashOf,
	header,
	headerFileOf,
	ids,
	library,
	logOf,
	openDirectory,
	SESSION,
} from "../support/lines.js";
import { isForWriting, systemError } from "../support/opened-files.js";

const { deletedPath, folderOf } = createRequire(library)("./logs/log-names.js");

afterEach(() => vi.restoreAllMocks());

/** The files of sessions except their projects. */
const storedIn = (path: string) => filesOf(path).filter((file) => /^(headers|lines)/.test(file));
const markOf = (session: string) => deletedPath({ folder: folderOf(), session });

const openFile = fs.promises.open;

/** Calls a function once at the next write of a log. */
function beforeWrite(work: () => Promise<unknown>): void {
	const spy = vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		if (isForWriting(args[1]) && String(args[0]).endsWith(".lines")) {
			spy.mockImplementation(openFile);
			await work();
		}
		return (openFile as any)(...args);
	});
}

test("an append leaves nothing if its session is deleted meanwhile", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), [entry("a1")]);
	beforeWrite(() => openDirectory(path, "b").delete(SESSION));
	await expect(append(openDirectory(path), [entry("a2")], cursor)).rejects.toMatchObject({ code: "deleted" });
	expect(await openDirectory(path).list()).toMatchObject({
		sessions: [],
		deleted: [{ session: SESSION }],
		problems: [],
	});
	// The first append of a host creates its log.
	const other = { header: header("other"), lines: [entry("c1")] };
	await openDirectory(path).append("other", other);
	beforeWrite(() => openDirectory(path, "b").delete("other"));
	await expect(openDirectory(path, "c").append("other", other)).rejects.toMatchObject({ code: "deleted" });
	expect(storedIn(path)).toEqual([SESSION, "other"].map(markOf));
});

test.each([
	[
		"followed by an append",
		(path: string) => expect(append(openDirectory(path), [entry("a2")])).rejects.toMatchObject({ code: "deleted" }),
	],
	[
		"followed by a redaction",
		(path: string) => expect(openDirectory(path).redact(SESSION, [])).rejects.toMatchObject({ code: "deleted" }),
	],
])("a killed deletion is finished when it is %s", async (_, next) => {
	const path = emptyDirectory();
	await append(openDirectory(path), [entry("a1")]);
	const { rm } = fs.promises;
	vi.spyOn(fs.promises, "rm").mockImplementation(async (name, options) => {
		if (String(name).endsWith(".lines")) throw systemError("EIO", "killed");
		return rm(name, options);
	});
	await expect(openDirectory(path, "b").delete(SESSION)).rejects.toMatchObject({ code: "unreachable" });
	vi.restoreAllMocks();
	expect(fs.existsSync(join(path, logOf("a")))).toBe(true);
	await next(path);
	expect(await openDirectory(path).list()).toMatchObject({ sessions: [], deleted: [{ session: SESSION }] });
	expect(fs.existsSync(join(path, logOf("a")))).toBe(false);
});

// Regression: it stayed for ever, because the host that had written it only received the error that the session was
// deleted.
test("the next append removes lines stored beside a deletion", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), [entry("a1")]);
	beforeWrite(async () => {
		await openDirectory(path, "b").delete(SESSION);
		vi.spyOn(fs.promises, "readdir").mockRejectedValueOnce(systemError("EIO", "away"));
	});
	await expect(append(openDirectory(path, "c"), [entry("c1")])).rejects.toMatchObject({ code: "unreachable" });
	expect(fs.existsSync(join(path, logOf("c")))).toBe(true);
	await expect(append(openDirectory(path, "c"), [entry("c1")])).rejects.toMatchObject({ code: "deleted" });
	expect(storedIn(path)).toEqual([markOf(SESSION)]);
});

// Regression: the replacement of another line stayed.
test("a redaction during which its session was deleted leaves nothing", async () => {
	const path = emptyDirectory();
	const [secret] = entries("a", 1) as [Buffer];
	await append(openDirectory(path), [secret]);
	const { link } = fs.promises;
	vi.spyOn(fs.promises, "link").mockImplementationOnce(async (...args) => {
		await openDirectory(path, "b").delete(SESSION);
		return link(...args);
	});
	await expect(
		openDirectory(path).redact(SESSION, [{ hash: hashOf(secret), line: entry("redacted") }]),
	).rejects.toMatchObject({
		code: "deleted",
	});
	expect(storedIn(path)).toEqual([markOf(SESSION)]);
});

test("appends do not reread loaded lines of another machine", async () => {
	const path = emptyDirectory();
	const [one, other] = [openDirectory(path), openDirectory(path)];
	await append(other, entries("x", 1));
	const { cursor: before } = await append(one, entries("y", 1));
	const page = await loadAll(one, SESSION, before);
	// The cursor has not passed it, so a load returns it.
	expect(ids(page)).toContain("x0");
	let after = (await append(one, entries("w", 1), page.cursor)).cursor;
	const openFile = fs.promises.open;
	let reads = 0;
	vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		if (!isForWriting(args[1]) && String(args[0]).endsWith(normalize(logOf("a")))) reads++;
		return (openFile as any)(...args);
	});
	for (const line of entries("z", 40)) after = (await append(one, [line], after)).cursor;
	expect(reads).toBe(0);
	await append(other, entries("x", 1));
	await loadAll(one, SESSION, after);
	expect(reads).toBeGreaterThan(0);
});

test("a batch with an impossible clock stops nobody else", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), [entry("a1")]);
	const putBatch = (clock: number) =>
		writeFileSync(join(path, logOf("broken")), batchOf([entry("x")], { host: "broken", clock }));
	putBatch(Number.MAX_SAFE_INTEGER);
	const page = await openDirectory(path).load(SESSION);
	expect(page.problems).toEqual([
		{ session: SESSION, where: `${logOf("broken")}, batch at 0`, message: "its clock cannot be right" },
	]);
	await append(openDirectory(path), [entry("a2")], page.cursor);
	expect(ids(await openDirectory(path, "reader").load(SESSION))).toEqual(["a1", "a2"]);
	// The last accepted one. An append after it is refused, and not acknowledged.
	putBatch(2 ** 52);
	const { cursor } = await openDirectory(path).load(SESSION);
	await expect(append(openDirectory(path), [entry("a3")], cursor)).rejects.toMatchObject({
		code: "failed",
		message: `Session ${SESSION}: the clock of its batches cannot grow any more`,
	});
});

// Regression: appends continued, but nobody stored the header again.
test("the next appending process restores a missing header", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), [entry("a1")]);
	rmSync(join(path, headerFileOf()));
	const problem = { session: SESSION, where: headerFileOf(), message: "its header is missing" };
	await expect(openDirectory(path, "b").header(SESSION)).rejects.toMatchObject({
		code: "failed",
		message: `${problem.where}: ${problem.message}`,
	});
	await append(openDirectory(path), [entry("a2")], cursor);
	expect(await openDirectory(path, "b").header(SESSION)).toEqual(header());
});

test("a header restored beside a deletion does not stay", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), [entry("a1")]);
	rmSync(join(path, headerFileOf()));
	const { link } = fs.promises;
	vi.spyOn(fs.promises, "link").mockImplementationOnce(async (...args) => {
		await openDirectory(path, "b").delete(SESSION);
		return link(...args);
	});
	await expect(append(openDirectory(path), [entry("a2")], cursor)).rejects.toMatchObject({ code: "deleted" });
	expect(readdirSync(join(path, "headers"))).toEqual([]);
});

test("a second append does not look for the header", async () => {
	const path = emptyDirectory();
	const store = openDirectory(path);
	const { cursor } = await append(store, [entry("a1")]);
	rmSync(join(path, headerFileOf()));
	await append(store, [entry("a2")], cursor);
	expect(fs.existsSync(join(path, headerFileOf()))).toBe(false);
});

test("a list of a project reads no other sessions", async () => {
	const path = emptyDirectory();
	const of = (session: string, project: string) =>
		openDirectory(path).append(session, { header: header(session), lines: [entry("x")], project });
	await of("mine", "github.com/me/shop");
	await of("theirs", "../odd \u001f name");
	const read: string[] = [];
	for (const name of ["open", "readFile", "readdir"] as const) {
		const original = fs.promises[name] as (...args: any[]) => any;
		vi.spyOn(fs.promises, name).mockImplementation(async (...args: any[]) => {
			read.push(String(args[0]));
			return original(...args);
		});
	}
	expect(
		(await openDirectory(path, "b").list({ project: "github.com/me/shop" })).sessions.map(({ session }) => session),
	).toEqual(["mine"]);
	expect(read.some((one) => one.includes("mine"))).toBe(true);
	expect(read.filter((one) => one.includes("theirs"))).toEqual([]);
	expect(
		(await openDirectory(path, "b").list({ project: "../odd \u001f name" })).sessions.map(({ session }) => session),
	).toEqual(["theirs"]);
	for (const session of ["mine", "theirs"]) await openDirectory(path).delete(session);
});

test("a recreated store has another id", async () => {
	const path = emptyDirectory();
	expect((await openDirectory(path).list()).store).toBeUndefined();
	const store = openDirectory(path);
	await append(store, [entry("a")]);
	const { store: first } = await openDirectory(path, "b").list();
	expect(first).toMatch(/^[0-9a-f-]{36}$/);
	expect((await store.list({ session: SESSION })).store).toBe(first);
	for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
	expect((await store.list()).store).toBeUndefined();
	await append(store, [entry("a")]);
	const { store: second } = await openDirectory(path, "b").list();
	expect(second).toMatch(/^[0-9a-f-]{36}$/);
	expect(second).not.toBe(first);
});

test("a large damaged batch delays no lines of other hosts", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), [
		Buffer.from(JSON.stringify({ type: "message", id: "large", parentId: null, text: "y".repeat(9 << 20) })),
	]);
	await append(openDirectory(path, "b"), [entry("b1")]);
	const file = join(path, logOf("a"));
	const bytes = readFileSync(file);
	bytes[bytes.length - 100] ^= 1;
	writeFileSync(file, bytes);
	const page = await loadAll(openDirectory(path), SESSION);
	expect([ids(page), page.problems.map(({ message }) => message)]).toEqual([["b1"], ["its checksum is wrong"]]);
});
