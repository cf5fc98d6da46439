// What others do to a directory: an older state is put back, sessions are deleted in the middle of an append, names are taken.
import fs, { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { DirectoryStore, loadAll } from "../../../lib/store/index.js";
import { SESSION, append, emptyDirectory, entries, entry, header, ids, library } from "../../support/lines.js";

const { encodeBatch } = createRequire(library)("./segment.js");

afterEach(() => vi.restoreAllMocks());

const open = (path: string, host = "a") => new DirectoryStore({ path, host });
const segment = (host: string, count: number, session = SESSION) => `sessions/${session}/${host}/${String(count).padStart(10, "0")}.lines`;

test("a store that was put back to an older state, and then got as many batches as before, is noticed", async () => {
	const [path, backup] = [emptyDirectory(), emptyDirectory()];
	const { cursor: first } = await append(open(path), [entry("a1")]);
	cpSync(path, backup, { recursive: true });
	const { cursor: lost } = await append(open(path), [entry("a2")], first);
	const { cursor: seen } = await open(path, "b").load(SESSION);
	for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
	cpSync(backup, path, { recursive: true });
	await append(open(path), [entry("a3")], first);
	await expect(open(path, "b").load(SESSION, seen)).rejects.toMatchObject({ code: "reset" });
	await expect(append(open(path), [entry("a4")], lost)).rejects.toMatchObject({ code: "reset" });
	expect(ids(await loadAll(open(path, "b"), SESSION))).toEqual(["a1", "a3"]);
});

test("a directory of another host that is away for a moment stops no append", async () => {
	const path = emptyDirectory();
	await append(open(path, "b"), entries("b", 2));
	const { cursor } = await open(path).load(SESSION);
	const after = (await append(open(path), entries("a", 1), cursor)).cursor;
	const folder = join(path, "sessions", SESSION, "b");
	fs.renameSync(folder, `${folder}.away`);
	const { stored, cursor: later } = await append(open(path), entries("c", 1), after);
	expect(stored).toBe(1);
	fs.renameSync(`${folder}.away`, folder);
	expect(ids(await loadAll(open(path), SESSION, later))).toEqual([]);
	expect(ids(await loadAll(open(path), SESSION))).toEqual(["b0", "b1", "a0", "c0"]);
});

test("an append during which its session was deleted is not acknowledged, and leaves nothing", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), [entry("a1")]);
	const link = fs.promises.link;
	const spy = vi.spyOn(fs.promises, "link").mockImplementation(async (from, to) => {
		spy.mockImplementation(link);
		const draft = readFileSync(from);
		await open(path, "b").delete(SESSION);
		// The directory of the draft is gone, too; on other file systems it would stay.
		mkdirSync(join(path, "sessions", SESSION, "a"), { recursive: true });
		writeFileSync(from, draft);
		return link(from, to);
	});
	await expect(append(open(path), [entry("a2")], cursor)).rejects.toMatchObject({ code: "reset" });
	expect(await open(path).list()).toMatchObject({ sessions: [], problems: [] });
	expect((await append(open(path), [entry("a3")])).stored).toBe(1);
	expect(ids(await loadAll(open(path), SESSION))).toEqual(["a3"]);
});

test("what another machine of the same id wrote is not read again at every append", async () => {
	const path = emptyDirectory();
	const [one, other] = [open(path), open(path)];
	await append(other, entries("x", 1));
	let { cursor: after } = await append(one, entries("y", 1));
	const read = fs.promises.readFile;
	let reads = 0;
	vi.spyOn(fs.promises, "readFile").mockImplementation(async (...args: any[]) => {
		if (String(args[0]).endsWith(".lines")) reads++;
		return (read as any)(...args);
	});
	for (const line of entries("z", 40)) after = (await append(one, [line], after)).cursor;
	expect(reads).toBe(0);
	// A load gives what the cursor has not passed.
	expect(ids(await loadAll(one, SESSION, after))).toContain("x0");
});

test("a batch whose clock cannot be right is named, and ends nobody else's count", async () => {
	const path = emptyDirectory();
	await append(open(path), [entry("a1")]);
	const meta = { session: SESSION, host: "broken", count: 1, prev: "", header: header(), lines: [entry("x")] };
	mkdirSync(join(path, "sessions", SESSION, "broken"));
	writeFileSync(join(path, segment("broken", 1)), encodeBatch({ ...meta, clock: Number.MAX_SAFE_INTEGER }).bytes);
	const page = await open(path).load(SESSION);
	expect(page.problems).toEqual([{ session: SESSION, where: `${segment("broken", 1)}, batch 1`, message: "its clock cannot be right" }]);
	await append(open(path), [entry("a2")], page.cursor);
	expect(ids(await open(path, "reader").load(SESSION))).toEqual(["a1", "a2"]);
	// The last one that is taken for right: what would come after it is refused, and not acknowledged.
	writeFileSync(join(path, segment("broken", 1)), encodeBatch({ ...meta, clock: 2 ** 52 }).bytes);
	const { cursor } = await open(path).load(SESSION);
	await expect(append(open(path), [entry("a3")], cursor)).rejects.toMatchObject({ code: "failed", message: `Session ${SESSION}: the clock of its batches has come to its end` });
});

test("a name that is taken by what cannot be read is an error that names it", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), [entry("a1")]);
	symlinkSync("nowhere", join(path, segment("a", 2)));
	await expect(append(open(path), [entry("a2")], cursor)).rejects.toMatchObject({ code: "failed", message: `Session ${SESSION}: ${segment("a", 2)} is taken, but cannot be read` });
});

test("a list of a project reads nothing of the sessions of others", async () => {
	const path = emptyDirectory();
	const of = (session: string, project: string) => open(path).append(session, { header: header(session), lines: [entry("x")], project });
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
	expect((await open(path, "b").list({ project: "github.com/me/shop" })).sessions.map(({ session }) => session)).toEqual(["mine"]);
	expect(read.some((one) => one.includes("mine"))).toBe(true);
	expect(read.filter((one) => one.includes("theirs"))).toEqual([]);
	expect((await open(path, "b").list({ project: "../odd \u001f name" })).sessions.map(({ session }) => session)).toEqual(["theirs"]);
	for (const session of ["mine", "theirs"]) await open(path).delete(session);
	expect(fs.existsSync(join(path, "projects"))).toBe(false);
});

test("a fold that failed is not tried at every append", async () => {
	const path = emptyDirectory();
	const store = open(path);
	let after: string | undefined;
	const link = fs.promises.link;
	let tries = 0;
	vi.spyOn(fs.promises, "link").mockImplementation(async (from, to) => {
		if (/\d-\d/.test(String(to).split("/").at(-1) ?? "")) {
			tries++;
			throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
		}
		return link(from, to);
	});
	for (const line of entries("n", 130)) after = (await append(store, [line], after)).cursor;
	expect(tries).toBe(2);
	expect(ids(await loadAll(open(path), SESSION))).toHaveLength(130);
});

test("a store has an id of its own, and one that was made anew has another", async () => {
	const path = emptyDirectory();
	expect((await open(path).list()).store).toBeUndefined();
	const store = open(path);
	await append(store, [entry("a")]);
	const { store: first } = await open(path, "b").list();
	expect(first).toMatch(/^[0-9a-f-]{36}$/);
	expect((await store.list({ session: SESSION })).store).toBe(first);
	for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
	expect((await store.list()).store).toBeUndefined();
	await append(store, [entry("a")]);
	const { store: second } = await open(path, "b").list();
	expect(second).toMatch(/^[0-9a-f-]{36}$/);
	expect(second).not.toBe(first);
});

test("an append during which another host deleted the session does not bring it back", async () => {
	const path = emptyDirectory();
	await append(open(path, "b"), entries("b", 3));
	const { cursor } = await open(path).load(SESSION);
	const link = fs.promises.link;
	const spy = vi.spyOn(fs.promises, "link").mockImplementation(async (from, to) => {
		if (!String(to).endsWith(".lines")) return link(from, to);
		spy.mockImplementation(link);
		await open(path, "b").delete(SESSION);
		return link(from, to);
	});
	await expect(append(open(path), [entry("a1")], cursor)).rejects.toMatchObject({ code: "reset" });
	expect((await open(path).list()).sessions).toEqual([]);
});

// Regression: it was acknowledged, and no host could read it, for it did not follow what had taken that place.
test("an append during which its session was deleted, and stored anew by another process of this host, is not acknowledged", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), [entry("a1")]);
	const link = fs.promises.link;
	const spy = vi.spyOn(fs.promises, "link").mockImplementation(async (from, to) => {
		if (!String(to).endsWith(".lines")) return link(from, to);
		spy.mockImplementation(link);
		const draft = readFileSync(from);
		await open(path, "b").delete(SESSION);
		await append(open(path), entries("longer", 2));
		writeFileSync(from, draft);
		return link(from, to);
	});
	await expect(append(open(path), [entry("a2")], cursor)).rejects.toMatchObject({ code: "reset" });
	const page = await loadAll(open(path), SESSION);
	expect([ids(page), page.problems]).toEqual([["longer0", "longer1"], []]);
});

test("what is appended while a session is deleted is deleted, too", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), [entry("a1")]);
	const remove = fs.promises.rm;
	const spy = vi.spyOn(fs.promises, "rm").mockImplementation(async (...args) => {
		if (!String(args[0]).endsWith(".lines")) return remove(...args);
		spy.mockImplementation(remove);
		await append(open(path), [entry("a2")], cursor);
		return remove(...args);
	});
	await open(path, "b").delete(SESSION);
	expect(await open(path).list()).toMatchObject({ sessions: [], problems: [] });
	expect(fs.existsSync(join(path, "sessions"))).toBe(false);
});

test("a large damaged segment keeps no lines of other hosts back", async () => {
	const path = emptyDirectory();
	await append(open(path), [Buffer.from(JSON.stringify({ type: "message", id: "large", parentId: null, text: "y".repeat(9 << 20) }))]);
	await append(open(path, "b"), [entry("b1")]);
	const file = join(path, segment("a", 1));
	const bytes = readFileSync(file);
	bytes[bytes.length - 100] ^= 1;
	writeFileSync(file, bytes);
	const page = await loadAll(open(path), SESSION);
	expect([ids(page), page.problems.map(({ message }) => message)]).toEqual([["b1"], ["its checksum is wrong"]]);
});

test("a claim whose next number cannot be used ends with an error", async () => {
	const path = emptyDirectory();
	await append(open(path), [entry("a1")]);
	mkdirSync(join(path, "sessions", SESSION, ".claims"));
	writeFileSync(join(path, "sessions", SESSION, ".claims", "9999999999.json"), "{}");
	await expect(open(path).claim(SESSION, { ttl: 1000 })).rejects.toMatchObject({ code: "failed", message: expect.stringContaining("its claim cannot be changed") });
});

// Regression: it made the whole session unreadable.
test("one batch that was replaced by another valid one is named, and what follows it is read", async () => {
	const [path, twin] = [emptyDirectory(), emptyDirectory()];
	await append(open(path, "b"), [entry("b1")]);
	let after = (await append(open(path), [entry("a1")])).cursor;
	cpSync(path, twin, { recursive: true });
	await append(open(twin), [entry("t2")], after);
	for (const line of entries("x", 3)) after = (await append(open(path), [line], after)).cursor;
	cpSync(join(twin, segment("a", 2)), join(path, segment("a", 2)));
	const read = async () => {
		const page = await loadAll(open(path, "reader"), SESSION);
		expect(new Set(ids(page))).toEqual(new Set(["b1", "a1", "t2", "x1", "x2"]));
		expect(page.problems).toHaveLength(1);
		expect(page.problems[0]).toMatchObject({ where: expect.stringContaining("batch 3"), message: "it does not follow the one before it, which was replaced" });
		return page;
	};
	await read();
	// Who has seen the later ones goes on, also when they are folded.
	for (const line of entries("x", 70).slice(3)) after = (await append(open(path), [line], after)).cursor;
	const folded = readdirSync(join(path, "sessions", SESSION, "a")).filter((name) => name.includes("-"));
	expect(folded).toHaveLength(1);
	const page = await loadAll(open(path, "reader"), SESSION);
	expect(page.problems).toHaveLength(1);
	expect(page.lines).toHaveLength(1 + 2 + 69);
});
