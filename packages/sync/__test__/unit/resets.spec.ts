// Machines whose store has lost lines that they have seen: it was created anew, a session was deleted, or a
// synchronised directory is incomplete for a while.
import {
	appendFileSync,
	cpSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { loadAll } from "../../lib/index.js";
import { append, entry, ids, library, logOf, SESSION } from "../support/lines.js";
import { idsIn, text, world } from "../support/machines.js";
import { systemError } from "../support/opened-files.js";

const { deletedPath, folderOf } = createRequire(library)("./logs/log-names.js");
const { Notes } = createRequire(library)("./machine/notes.js");
afterEach(() => vi.restoreAllMocks());

/** Removes the content of a store in a directory, as if another disk were mounted. */
const STORED = ["lines", "sessions", "store.json"];
const empty = (path: string) => {
	for (const name of STORED) rmSync(join(path, name), { recursive: true });
};

test("a new store at the address is filled again", async () => {
	const { path, machine, synced } = world();
	const [a, b] = await synced([entry("x")], "a", "b");
	empty(path);
	expect(await machine("a").sync.push()).toMatchObject([{ bytes: readFileSync(a.file).length, lag: 0 }]);
	expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x"]);
	// The other machine continues with its lines.
	appendFileSync(b.file, text(entry("y")));
	const again = machine("b");
	expect(await again.sync.pull()).toMatchObject([{ added: 0, problems: [] }]);
	expect(await again.sync.push()).toMatchObject([{ lag: 0 }]);
	expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x", "y"]);
});

// Regression: after each mount of such a drive every session counted as unstored.
test("another inode with the same bytes counts as stored", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	await a.sync.push();
	cpSync(a.file, `${a.file}.copy`);
	renameSync(`${a.file}.copy`, a.file);
	expect(await a.sync.lagOf({ session: SESSION, file: a.file })).toBe(0);
	writeFileSync(a.file, readFileSync(a.file, "utf8").replace('"x"', '"y"'));
	expect(await a.sync.lagOf({ session: SESSION, file: a.file })).toBe(readFileSync(a.file).length);
});

// Regression: such a cursor was always refused.
test("a note with another store's cursor is ignored", async () => {
	const { path, machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	await a.sync.push();
	const notes = new Notes(a.notes, path, a.dir);
	const spoil = () => notes.set(SESSION, { ...notes.get(SESSION), cursor: '{"life":1,"hosts":{}}' });
	await spoil();
	expect(await machine("a").sync.push()).toMatchObject([{ lag: 0 }]);
	await spoil();
	appendFileSync(a.file, text(entry("y")));
	expect(await machine("a").sync.push()).toMatchObject([{ lag: 0 }]);
	await spoil();
	await append(machine("b").store, [entry("z")]);
	expect(await machine("a").sync.pull()).toMatchObject([{ added: 1 }]);
	expect(ids(await loadAll(machine("r").store, SESSION)).sort()).toEqual(["x", "y", "z"]);
});

test("an incomplete note is ignored", async () => {
	const { path, machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	await a.sync.push();
	await append(machine("b").store, [entry("z")]);
	const notes = new Notes(a.notes, path, a.dir);
	await notes.forget(SESSION);
	// Its cursor has passed the other host's line, which is missing in the file.
	await machine("a").sync.push();
	expect(notes.get(SESSION)).toMatchObject({ mustReload: true });
	await notes.set(SESSION, { ...notes.get(SESSION), mustReload: undefined, needsAll: true });
	expect(await machine("a").sync.pull()).toMatchObject([{ added: 1 }]);
});

test("the next push replaces an unreadable note, or fails", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	await a.sync.push();
	const [note] = readdirSync(a.notes, { recursive: true })
		.map((name) => join(a.notes, String(name)))
		.filter((path) => path.endsWith(`${SESSION}.json`)) as [string];
	const fs = createRequire(library)("node:fs");
	const open = fs.openSync;
	const load = vi.spyOn(a.store, "load");
	const denied = vi.spyOn(fs, "openSync").mockImplementation((path: unknown, ...rest: unknown[]) => {
		if (path === note) throw systemError("EACCES", "permission denied");
		return open(path, ...rest);
	});
	const pushed = async () => [
		(await a.again().push())[0]?.error,
		load.mock.calls.filter(([, after]) => after === undefined).length,
	];
	expect(await pushed()).toEqual([undefined, 1]);
	denied.mockRestore();
	expect(await pushed()).toEqual([undefined, 1]);
	rmSync(note);
	mkdirSync(note);
	expect(await a.again().push()).toMatchObject([
		{ session: SESSION, error: { message: expect.stringContaining(note) } },
	]);
});

test("a store without its mark yet is no other store", async () => {
	const { path, machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	await a.sync.push();
	renameSync(join(path, "store.json"), join(path, "aside"));
	const again = machine("a");
	await again.sync.pull();
	const append = vi.spyOn(again.store, "append");
	expect(await again.sync.push()).toMatchObject([{ bytes: 0, lag: 0 }]);
	expect(append).not.toHaveBeenCalled();
});

test("a push of new lines does not list the store", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	await a.sync.push();
	appendFileSync(a.file, text(entry("y")));
	const again = machine("a");
	const list = vi.spyOn(again.store, "list");
	expect(await again.sync.push()).toMatchObject([{ lag: 0 }]);
	expect(list).not.toHaveBeenCalled();
});

test("appends succeed while another host's log is missing", async () => {
	const { path, synced } = world();
	const [a, b] = await synced([entry("a1")], "a", "b");
	await b.addAndPush(entry("b1"));
	await a.sync.pull();
	const folder = join(path, logOf("b", { project: "shop" }));
	renameSync(folder, join(path, "aside"));
	appendFileSync(a.file, text(entry("a2")));
	expect(await a.pushFile()).toBeUndefined();
	renameSync(join(path, "aside"), folder);
	appendFileSync(a.file, text(entry("a3")));
	expect(await a.pushFile()).toBeUndefined();
	for (const { sync } of [a, b]) await sync.pull();
	for (const { file } of [a, b]) expect(idsIn(file)).toEqual(["a1", "b1", "a2", "a3"]);
});

test("a deleted session is stored again after its restore", async () => {
	const { path, machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	await a.sync.push();
	await a.store.delete(SESSION);
	appendFileSync(a.file, text(entry("y")));
	expect(await a.pushFile()).toMatchObject({
		code: "deleted",
		message: expect.stringContaining("was deleted from the store"),
	});
	// The next push of a command reports it once more, and the one after it does not fail and stores nothing.
	expect(await a.sync.push()).toMatchObject([{ error: { code: "deleted" } }]);
	expect((await a.sync.push())[0]?.error).toBeUndefined();
	expect((await a.store.list()).sessions).toEqual([]);
	// As a restored backup.
	rmSync(join(path, deletedPath({ folder: folderOf("shop"), session: SESSION })));
	expect(await a.pushFile()).toBeUndefined();
	expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x", "y"]);
});

// Regression: it was reported as deleted, and was not stored again.
test("a missing session is stored again and later joined", async () => {
	const { path, machine, synced } = world();
	const [a, b] = await synced([entry("x")], "a", "b");
	await b.addAndPush(entry("b"));
	const [folder, aside] = [join(path, dirname(logOf("a", { project: "shop" }))), join(path, "aside")];
	renameSync(folder, aside);
	appendFileSync(a.file, text(entry("y")));
	expect(await a.again().push()).toMatchObject([{ lag: 0 }]);
	// Then there are two copies of its own log, and the older one comes late.
	cpSync(aside, folder, { recursive: true });
	appendFileSync(a.file, text(entry("z")));
	for (const { again } of [a, b, a, b]) {
		await again().push();
		await again().pull();
	}
	expect(idsIn(a.file).sort()).toEqual(["b", "x", "y", "z"]);
	expect(idsIn(b.file)).toEqual(idsIn(a.file));
	expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(idsIn(a.file));
});

test("a session file that vanishes delays no other push", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("x"));
	const local = await a.sync.local();
	vi.spyOn(a.sync, "local").mockResolvedValue([
		{ session: "gone", file: join(a.dir, "gone.jsonl"), cwd: undefined },
		...local,
	]);
	const pushed = await a.sync.push();
	expect(pushed.map(({ session, lag, error }) => [session, lag, error])).toEqual([
		["gone", 0, undefined],
		[SESSION, 0, undefined],
	]);
	expect(ids(await loadAll(a.store, SESSION))).toEqual(["x"]);
});

// Regression: it never was.
test("a push succeeds after two restores during the one before", async () => {
	const { path, machine, synced } = world();
	const [a, b] = await synced([entry("root")], "a", "b");
	const [stored, older, newer] = [join(path, "lines"), join(path, "older"), join(path, "newer")];
	cpSync(stored, older, { recursive: true });
	await b.addAndPush(entry("b1"));
	await a.addAndPush(entry("a1"));
	cpSync(stored, newer, { recursive: true });
	await a.addAndPush(entry("a2"));
	const restore = (from: string) => {
		rmSync(stored, { recursive: true });
		cpSync(from, stored, { recursive: true });
	};
	const backups = [newer, older];
	const append = a.store.append.bind(a.store);
	vi.spyOn(a.store, "append").mockImplementation((session, lines) => {
		const from = backups.shift();
		if (from) restore(from);
		return append(session, lines);
	});
	appendFileSync(a.file, text(entry("a3")));
	expect(await a.pushFile()).toMatchObject({ code: "reset" });
	expect(await a.pushFile()).toBeUndefined();
	expect(backups).toEqual([]);
	expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(expect.arrayContaining(["root", "a1", "a2", "a3"]));
});

// Regression: it came back.
test("a session that is deleted during a push stays deleted", async () => {
	const { path, synced } = world();
	const [a, b] = await synced([entry("root")], "a", "b");
	await b.addAndPush(entry("b1"));
	await a.addAndPush(entry("a1"));
	// The push is refused while the log of b still exists. After a complete load the lines are gone, too.
	let isDeleting = false;
	const list = a.store.list.bind(a.store);
	vi.spyOn(a.store, "list").mockImplementation(async (filter) => {
		const listed = await list(filter);
		if (isDeleting) {
			isDeleting = false;
			await b.store.delete(SESSION);
		}
		return listed;
	});
	appendFileSync(a.file, text(entry("a2")));
	rmSync(join(path, logOf("a", { project: "shop" })));
	isDeleting = true;
	expect(await a.again().push()).toMatchObject([
		{ error: { code: "deleted", message: expect.stringContaining("was deleted from the store") } },
	]);
	expect((await b.store.list()).sessions).toEqual([]);
});
