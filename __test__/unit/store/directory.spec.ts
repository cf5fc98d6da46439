// What is a directory's own: its files, what is wrong with them, and writers that die.
import fs, { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { DirectoryStore, StoreError, loadAll, openStore } from "../../../lib/store/index.js";
import { SESSION, append, emptyDirectory, entries, entry, header, headerFileOf, ids, library, logOf } from "../../support/lines.js";

const { encodeBatch } = createRequire(library)("./log-batches.js");

afterEach(() => vi.restoreAllMocks());

const open = (path: string, host = "a") => new DirectoryStore({ path, host });
const filesOf = (path: string): string[] =>
	(readdirSync(path, { recursive: true, withFileTypes: true }) as fs.Dirent[])
		.filter((file) => file.isFile())
		.map((file) => join(file.parentPath, file.name).slice(path.length + 1).replaceAll(sep, "/"))
		.sort();
const [MARK, PROJECT, HEADER] = ["store.json", `sessions/${SESSION}`, headerFileOf()];
const failure = async (work: Promise<unknown>): Promise<StoreError> => {
	const error = await work.then(
		() => undefined,
		(thrown) => thrown,
	);
	expect(error).toBeInstanceOf(StoreError);
	return error as StoreError;
};

// Regression: the numbers of deletions were the arguments of one call, which takes some 120,000.
test("a session may have been deleted any number of times", () => {
	const { listingsOf, deletedPath } = createRequire(library)("./log-names.js");
	const objects = Array.from({ length: 200_000 }, (_, at) => ({ path: deletedPath("lines/none/", SESSION, at + 1), size: 0, modified: new Date(at) }));
	expect(listingsOf(objects)).toMatchObject([{ session: SESSION, generation: 200_001, deleted: new Date(199_999), hosts: new Map() }]);
});

test("each host writes below its own name, and no name tells the time", async () => {
	const path = emptyDirectory();
	const { cursor: first } = await append(open(path, "laptop"), entries("a", 1));
	await append(open(path, "Build.Box"), entries("b", 1));
	const { cursor } = await append(open(path, "laptop"), entries("c", 1), first);
	expect(filesOf(path)).toEqual([logOf("laptop"), logOf("Build.Box"), HEADER, PROJECT, MARK].sort());
	expect(logOf("Build.Box")).toMatch(/\/~build\.~box\.00000001\.lines$/);
	expect(await open(path, "laptop").load(SESSION, cursor)).toMatchObject({ lines: [{ host: "Build.Box" }], comesAfter: false });
});

test("a log has lines of entries after the line that describes a batch, so that they can be had without this package", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), entries("a", 2));
	await append(open(path), entries("b", 1), cursor);
	const [first, ...lines] = readFileSync(join(path, logOf("a")), "utf8").split("\n");
	expect(JSON.parse(first as string)).toMatchObject({ session: SESSION, host: "a", clock: 1, bytes: 90 });
	expect(lines).toEqual([...entries("a", 2).map(String), expect.stringContaining('"clock":2'), ...entries("b", 1).map(String), ""]);
	expect(readFileSync(join(path, HEADER), "utf8")).toBe(`${header()}`);
});

// Regression: the deletion stopped halfway each time, after the lines were gone.
test("a draft of another user's, which is not to be removed, keeps no session from being deleted", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	const draft = join(path, "lines/none/.draft-x");
	writeFileSync(draft, "x");
	fs.utimesSync(draft, 0, 0);
	const { rm } = fs.promises;
	const denied = () => Promise.reject(Object.assign(new Error("EPERM: operation not permitted, unlink"), { code: "EPERM" }));
	vi.spyOn(fs.promises, "rm").mockImplementation((name, options) => (name === draft ? denied() : rm(name, options)));
	await open(path).delete(SESSION);
	expect(filesOf(path)).not.toContain(logOf("a"));
});

// Regression: the end of a deletion that was interrupted removed what had been put back since.
test("a deletion leaves what was put back meanwhile", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	const folder = dirname(join(path, logOf("a")));
	const { link } = fs.promises;
	vi.spyOn(fs.promises, "link").mockImplementationOnce(async (from, mark) => {
		await link(from, mark);
		cpSync(folder, folder.replace(/\.1$/, ".2"), { recursive: true });
	});
	await open(path).delete(SESSION);
	expect(filesOf(path).filter((file) => file.endsWith(".lines"))).toEqual([logOf("a").replace(".1/", ".2/")]);
});

// Regression: it stayed for ever where nothing was removed.
test("what killed processes left is removed after a day", async () => {
	const path = emptyDirectory();
	const store = open(path);
	await append(store, entries("a", 1));
	await store.claim(SESSION, { ttl: 60_000 });
	const before = new Date(Date.now() - 25 * 3600 * 1000);
	const drafts = [".draft-x", "sessions/.draft-x", "claims/.draft-x", "sessions/.draft-new"];
	for (const draft of drafts) {
		writeFileSync(join(path, draft), "x");
		if (!draft.endsWith("new")) fs.utimesSync(join(path, draft), before, before);
	}
	const other = open(path, "b");
	await other.append("s2", { header: header("s2"), lines: entries("b", 1) });
	await other.claim("s2", { ttl: 60_000 });
	await other.list();
	await open(path).claim(SESSION, { ttl: 60_000 });
	expect(filesOf(path).filter((file) => file.includes(".draft-"))).toEqual(["sessions/.draft-new"]);
});

// Regression: it named one, another one each time.
test("the message of a failure names no draft", async () => {
	const path = emptyDirectory();
	const store = open(path);
	await append(store, entries("a", 1));
	rmSync(join(path, PROJECT));
	const denied = (name: string) => Object.assign(new Error(`EACCES: permission denied, open '${name}'`), { code: "EACCES" });
	const openFile = fs.promises.open;
	vi.spyOn(fs.promises, "open").mockImplementation((...args: any[]) => (args[1] === "wx" ? Promise.reject(denied(String(args[0]))) : (openFile as any)(...args)));
	const { code, message } = await failure(append(open(path, "c"), entries("b", 1)));
	const folder = join(path, "sessions");
	expect([code, message]).toEqual(["denied", `${path}: access is denied (EACCES: permission denied, open '${folder}')`]);
});

test("a batch that a killed process left half written is ignored, and the next append of its host cuts it off", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), entries("a", 1));
	const file = join(path, logOf("a"));
	const [whole, { bytes }] = [readFileSync(file), encodeBatch({ session: SESSION, host: "a", clock: 2, prev: "", lines: entries("torn", 2) })];
	for (const torn of [bytes.subarray(0, 1), bytes.subarray(0, 90), bytes.subarray(0, bytes.indexOf("\n") + 1), bytes.subarray(0, -1), Buffer.alloc(500)]) {
		writeFileSync(file, Buffer.concat([whole, torn]));
		const page = await loadAll(open(path, "reader"), SESSION);
		expect([ids(page), page.problems, page.more]).toEqual([["a0"], [], false]);
		// Neither what is listed nor another host changes it.
		expect((await open(path, "b").list()).sessions).toHaveLength(1);
		await append(open(path, "b"), entries("b", 1));
		expect(readFileSync(file)).toEqual(Buffer.concat([whole, torn]));
		expect((await append(open(path), entries("c", 1), cursor)).stored).toBe(1);
		expect(readFileSync(file, "latin1")).not.toMatch(/torn|\0/);
		expect(ids(await loadAll(open(path, "reader"), SESSION, page.cursor)).sort()).toEqual(["b0", "c0"].slice(page.cursor.includes('"b"') ? 1 : 0));
		rmSync(join(path, logOf("b")));
	}
});

// Regression: each append of the session failed for ever.
test("an own last batch that was never written whole, though its end was, is cut off; one that others follow is not", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), entries("a", 1));
	const file = join(path, logOf("a"));
	const first = readFileSync(file);
	await append(open(path), entries("b", 3), cursor);
	const second = readFileSync(file).subarray(first.length);
	const without = (from: number, to: number) => Buffer.concat([second.subarray(0, from), Buffer.alloc(to - from), second.subarray(to)]);
	const content = second.indexOf("\n") + 1;
	// A power failure left zeros of what was not on the disk: of lines and their ends, or of the beginning.
	for (const damaged of [without(content + 10, second.length - 10), without(0, 60), without(0, content + 10), without(0, second.length - 1)]) {
		writeFileSync(file, Buffer.concat([first, damaged]));
		expect((await loadAll(open(path, "reader"), SESSION)).problems).toHaveLength(1);
		expect((await append(open(path), [...entries("b", 3), entry("c")], cursor)).stored).toBe(4);
		const page = await loadAll(open(path, "reader"), SESSION);
		expect([ids(page), page.problems]).toEqual([["a0", "b0", "b1", "b2", "c"], []]);
		writeFileSync(file, Buffer.concat([first, damaged, encodeBatch({ session: SESSION, host: "a", clock: 3, prev: "x", lines: entries("d", 1) }).bytes]));
		const size = fs.statSync(file).size;
		expect(await failure(append(open(path), [entry("c")], cursor))).toMatchObject({ code: "failed" });
		expect(fs.statSync(file).size).toBe(size);
	}
});

// Regression: lists said that it was there, and every new machine pulled it again and again.
test.each(["delete", "restore"] as const)("a deletion that is stopped before it has removed anything is one for everybody (then %s)", async (then) => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), entries("a", 2));
	const { rm } = fs.promises;
	const spy = vi.spyOn(fs.promises, "rm").mockImplementation((name, options) => (String(name).endsWith(".lines") ? Promise.reject(new Error("stopped")) : rm(name, options)));
	expect((await failure(open(path).delete(SESSION))).message).toContain("stopped");
	spy.mockRestore();
	for (const filter of [{}, { headers: false }, { session: SESSION }]) expect(await open(path, "b").list(filter)).toMatchObject({ sessions: [], deleted: [{ session: SESSION }], problems: [] });
	expect((await open(path, "b").load(SESSION)).lines).toEqual([]);
	for (const after of [cursor, undefined]) expect((await failure(append(open(path), entries("b", 1), after))).code).toMatch(/deleted|reset/);
	if (then === "delete") await open(path).delete(SESSION);
	else await open(path, "b").append(SESSION, { header: header(), lines: entries("c", 1), restores: true });
	expect(ids(await loadAll(open(path), SESSION))).toEqual(then === "delete" ? [] : ["c0"]);
	if (then === "delete") expect(filesOf(path).filter((name) => name.endsWith(".lines"))).toEqual([]);
});

test("no file has the bytes of a redacted line, or of one that was in its place", async () => {
	const path = emptyDirectory();
	const saying = (text: string) => Buffer.from(`{"type":"message","id":"s","text":"${text}"}`);
	const hash = (line: Buffer) => createHash("sha256").update(line).digest("hex");
	const having = (text: string) => filesOf(path).filter((file) => readFileSync(join(path, file)).includes(text));
	const store = open(path);
	const { cursor } = await append(store, [entry("a"), saying("hunter2"), entry("b")]);
	const size = fs.statSync(join(path, logOf("a"))).size;
	await open(path, "b").redact(SESSION, [{ hash: hash(saying("hunter2")), line: saying("masked") }]);
	expect([having("hunter2"), having("masked")]).toEqual([[], [expect.stringContaining(".redacted/")]]);
	// The log has its length, so that its host goes on.
	expect(fs.statSync(join(path, logOf("a"))).size).toBe(size);
	await append(store, [entry("c")], cursor);
	await open(path, "b").redact(SESSION, [{ hash: hash(saying("masked")) }]);
	expect(having("masked")).toEqual([]);
	const page = await loadAll(open(path, "reader"), SESSION);
	expect([ids(page), page.problems]).toEqual([["a", "b", "c"], []]);
	await store.redact(SESSION, [{ hash: hash(entry("a")), line: entry("here") }]);
	await store.delete(SESSION);
	expect(having("here")).toEqual([]);
});

test("a line that is redacted while it is appended is gone, too, though its writer is killed then", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(open(path), [entry("a")]);
	const hash = createHash("sha256").update(entry("secret")).digest("hex");
	const openFile = fs.promises.open;
	let [isOver, begun] = [false, () => {}];
	const written = new Promise<void>((resolve) => (begun = resolve));
	const spy = vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		const file = await (openFile as any)(...args);
		// macOS and Windows open locks with numbers, too.
		if (typeof args[1] !== "number" || isOver || !String(args[0]).endsWith(".lines")) return file;
		isOver = true;
		const write = file.write.bind(file);
		file.write = async (...rest: any[]) => {
			await open(path, "b").redact(SESSION, [{ hash }]);
			await write(...rest);
			await file.close();
			begun();
			return new Promise(() => {});
		};
		return file;
	});
	// It has another directory of locks than the process that follows it, as its locks would end with it.
	const appended = new DirectoryStore({ path, host: "a", locks: join(path, "locks") }).append(SESSION, { header: header(), lines: [entry("secret")], after: cursor });
	// It does not end, but for a failure.
	await Promise.race([written, appended]);
	spy.mockRestore();
	expect((await append(open(path), [entry("b")], cursor)).stored).toBe(1);
	expect(readFileSync(join(path, logOf("a")), "utf8")).not.toContain('"secret"');
	expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual(["a", "b"]);
});

describe("what cannot be used of a log is named, the logs of other hosts are read, and what follows in this one waits for it", () => {
	const damages: [string, RegExp, (bytes: Buffer[]) => Buffer, string[]][] = [
		["no batch", /^it is not a batch$/, ([a, , c]) => Buffer.concat([a, Buffer.from("[1, 2]\n{}\n"), c] as Buffer[]), ["a0", "x0"]],
		["another session's", /^it belongs to session "s2"$/, ([a, , c]) => Buffer.concat([a, encodeBatch({ session: "s2", host: "a", clock: 1, prev: "", lines: [] }).bytes, c] as Buffer[]), ["a0", "x0"]],
		["another host's", /^it belongs to host "b"$/, ([a, , c]) => Buffer.concat([a, encodeBatch({ session: SESSION, host: "b", clock: 1, prev: "", lines: [] }).bytes, c] as Buffer[]), ["a0", "x0"]],
		["its description is changed", /^its checksum is wrong$/, ([a, b, c]) => Buffer.concat([a, Buffer.from(String(b).replace('"clock":2', '"clock":1')), c] as Buffer[]), ["a0", "x0"]],
		["a line is changed", /^its checksum is wrong$/, ([a, b, c]) => Buffer.concat([a, Buffer.from(String(b).replace('"b0"', '"d0"')), c] as Buffer[]), ["a0", "x0", "c0"]],
		["a batch is gone", /^it does not follow the one before it/, ([a, , c]) => Buffer.concat([a, c] as Buffer[]), ["a0", "x0", "c0"]],
	];
	test.each(damages)("%s", async (_, message, damage, there) => {
		const path = emptyDirectory();
		const store = open(path);
		const file = join(path, logOf("a"));
		let [after, batches, size] = [undefined as string | undefined, [] as Buffer[], 0];
		for (const letter of ["a", "b", "c"]) {
			after = (await append(store, entries(letter, 1), after)).cursor;
			batches.push(readFileSync(file).subarray(size));
			size = fs.statSync(file).size;
		}
		await append(open(path, "other"), entries("x", 1));
		writeFileSync(file, damage(batches));
		const page = await loadAll(open(path, "reader"), SESSION);
		expect(ids(page)).toEqual(there);
		expect(page.problems).toEqual([{ session: SESSION, where: expect.stringContaining(logOf("a")), message: expect.stringMatching(message) }]);
		writeFileSync(file, Buffer.concat(batches));
		await append(store, entries("d", 1), after);
		expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual(["a0", "x0", "b0", "c0", "d0"]);
	});

	test("a line that is damaged is stored again by its host", async () => {
		const path = emptyDirectory();
		await append(open(path), entries("a", 2));
		const file = join(path, logOf("a"));
		writeFileSync(file, readFileSync(file, "utf8").replace('"a1"', '"b1"'));
		expect((await append(open(path), entries("a", 2))).stored).toBe(1);
		const page = await loadAll(open(path, "reader"), SESSION);
		expect([ids(page), page.problems.length]).toEqual([["a0", "a1"], 1]);
	});
});

test("lines that are not entries, and headers that lie, are named and skipped", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	const put = (session: string, host: string, said: Buffer | undefined, lines: Buffer[]) => {
		mkdirSync(join(path, dirname(logOf(host, { session }))), { recursive: true });
		writeFileSync(join(path, logOf(host, { session })), encodeBatch({ session, host, clock: 1, prev: "", lines }).bytes);
		if (said) writeFileSync(join(path, headerFileOf(session)), said);
	};
	put(SESSION, "liar", undefined, [Buffer.from("no JSON"), entry("x"), Buffer.from('{"type":"session","id":"y"}')]);
	put("s2", "liar", header(SESSION), [entry("x")]);
	put("s3", "liar", undefined, [entry("x")]);
	const page = await open(path, "reader").load(SESSION);
	expect(ids(page)).toEqual(["a0", "x"]);
	expect(page.problems.map(({ where, message }) => `${where}: ${message}`)).toEqual([
		`${logOf("liar")}, line 1 of the batch at 0: it is not an entry`,
		`${logOf("liar")}, line 3 of the batch at 0: it is not an entry`,
	]);
	const { sessions, problems } = await open(path, "reader").list();
	expect(sessions.map(({ session, header: said }) => [session, String(said)])).toEqual([[SESSION, String(header())]]);
	expect(problems.map(({ session, message }) => `${session}: ${message}`).sort()).toEqual([
		"s3: its header is missing",
		`s2: the header is that of session "${SESSION}"`,
	].sort());
});

test("names that no host made are nobody's", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	const folder = dirname(logOf("a"));
	for (const name of [".DS_Store", "a.00000002.sync-conflict-20250601.lines", "a.1.lines", "-.00000001.lines", "a.00000000.lines", ".draft-x"]) writeFileSync(join(path, folder, name), "x");
	for (const other of ["lines/none/..x.1", "lines/none/A.1", "lines/none/s4", "lines/none/s5.x", "lines/none/s6.redacted"]) {
		mkdirSync(join(path, other), { recursive: true });
		cpSync(join(path, logOf("a")), join(path, other, "a.00000001.lines"));
	}
	const page = await open(path, "reader").load(SESSION);
	expect([ids(page), page.problems]).toEqual([["a0"], []]);
	expect((await open(path).list()).sessions).toHaveLength(1);
});

describe("a store that cannot be used says why", () => {
	test("it is not there, or an unmounted drive", async () => {
		const path = join(emptyDirectory(), "drive");
		for (const work of [() => append(open(path), entries("a", 1)), () => open(path).load(SESSION), () => open(path).list()]) {
			const error = await failure(work());
			expect(error).toMatchObject({ code: "unreachable", retryable: true });
			expect(error.message).toContain(`${path}: there is no such directory`);
		}
		expect(fs.existsSync(path)).toBe(false);
	});

	// Regression: it was made, and written to.
	test("a drive that is unmounted in the middle of an append is not made as a directory", async () => {
		const path = join(emptyDirectory(), "drive");
		mkdirSync(path);
		await append(open(path), entries("a", 1));
		const { mkdir } = fs.promises;
		vi.spyOn(fs.promises, "mkdir").mockImplementationOnce((async (...args: Parameters<typeof mkdir>) => {
			rmSync(path, { recursive: true });
			return mkdir(...args);
		}) as typeof mkdir);
		expect(await failure(open(path, "b").append("s2", { header: header("s2"), lines: entries("b", 1), project: "shop" }))).toMatchObject({ code: "unreachable", retryable: true });
		expect(fs.existsSync(path)).toBe(false);
	});

	test("a newer release wrote it, or an older one than the first", async () => {
		const path = emptyDirectory();
		writeFileSync(join(path, "store.json"), '{"store":"pi-session-native","version":4}');
		for (const work of [() => append(open(path), entries("a", 1)), () => open(path).load(SESSION), () => open(path).list(), () => open(path).delete(SESSION)])
			expect(await failure(work())).toMatchObject({ code: "newer-schema", retryable: false, message: expect.stringContaining("layout 4, this release knows 3") });
		writeFileSync(join(path, "store.json"), '{"store":"pi-session-native","version":1}');
		expect(await failure(open(path).list())).toMatchObject({ code: "unsupported", message: expect.stringContaining("push again") });
		expect(filesOf(path)).toEqual(["store.json"]);
	});

	test("it is something else", async () => {
		const path = emptyDirectory();
		writeFileSync(join(path, "store.json"), '{"name":"a shop"}');
		expect((await failure(append(open(path), entries("a", 1)))).message).toContain("is not that of a store of sessions");
	});

	test.each([
		["ENOSPC", "full", true],
		["EROFS", "read-only", false],
		["EACCES", "denied", false],
		["EIO", "unreachable", true],
	])("the system says %s: nothing of the append is seen, and it may be repeated", async (system, code, retryable) => {
		const path = emptyDirectory();
		const store = open(path);
		const { cursor } = await append(store, entries("a", 1));
		const openFile = fs.promises.open;
		const spy = vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
			const file = await (openFile as any)(...args);
			// Half of it was written.
			const write = file.write.bind(file);
			file.write = async (bytes: Buffer, from: number, length: number, at: number) => {
				await write(bytes, from, length >> 1, at);
				throw Object.assign(new Error(`${system}: it does not work`), { code: system });
			};
			return file;
		});
		expect(await failure(append(store, entries("b", 1), cursor))).toMatchObject({ code, retryable, message: expect.stringContaining(system) });
		spy.mockRestore();
		expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual(["a0"]);
		expect((await append(store, entries("b", 1), cursor)).stored).toBe(1);
	});

	test("an address of another kind, or none", async () => {
		expect(await failure(openStore("gopher://me:secret@host/x", { host: "a" }))).toMatchObject({ code: "invalid", message: expect.stringContaining("gopher:") });
		const error = await failure(openStore("postgres://me:secret@[bad/x", { host: "a" }));
		expect(error.code).toBe("invalid");
		expect(`${error.stack}${JSON.stringify(error)}${error.cause}`).not.toContain("secret");
	});
});

test("an address of a file and a path lead to the same directory", async () => {
	const path = emptyDirectory();
	await append(await openStore(path, { host: "a" }), entries("a", 1));
	expect(ids(await (await openStore(`file://${path}`, { host: "b" })).load(SESSION))).toEqual(["a0"]);
});

/** From its `at`th change on nothing reaches the file system any more, as if the process had been killed there, or the disk were full. */
function dieAt(at: number, isFull = false): { died: Promise<void> } {
	let changes = 0;
	let dead: () => void;
	const died = new Promise<void>((resolve) => (dead = resolve));
	const full = () => Promise.reject(Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" }));
	const never = (): Promise<never> => (isFull ? full() : new Promise(() => {}));
	const step = (): boolean => {
		changes++;
		if (changes >= at) dead();
		return changes >= at;
	};
	for (const name of ["link", "mkdir", "rm", "rmdir", "rename"] as const) {
		const real = fs.promises[name] as (...args: any[]) => Promise<any>;
		vi.spyOn(fs.promises, name as any).mockImplementation((...args: any[]) => (step() ? never() : real(...args)));
	}
	const openFile = fs.promises.open as (...args: any[]) => Promise<any>;
	vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		if (typeof args[1] !== "number" && !["wx", "ax", "r+"].includes(args[1])) return openFile(...args);
		if (typeof args[1] !== "number" && args[1] !== "r+" && step()) return never();
		const file = await openFile(...args);
		const [write, writeFile, truncate] = [file.write.bind(file), file.writeFile.bind(file), file.truncate.bind(file)];
		file.writeFile = async (bytes: Buffer) => {
			if (!step()) return writeFile(bytes);
			await write(bytes.subarray(0, bytes.length / 2));
			return never();
		};
		file.write = async (bytes: Buffer, from: number, length: number, at: number) => {
			if (!step()) return write(bytes, from, length, at);
			await write(bytes, from, length >> 1, at);
			return never();
		};
		file.truncate = async (length: number) => (step() ? never() : truncate(length));
		return file;
	});
	return { died };
}

test.each([0, 3])("a writer killed at any change leaves old or new, and the append is repeated once (after %i lines)", async (count) => {
	const before = emptyDirectory();
	let after: string | undefined;
	for (const line of entries("n", count)) after = (await append(open(before), [line], after)).cursor;
	const old = entries("n", count).map((_, at) => `n${at}`);
	let [finished, kills] = [false, 0];
	for (let at = 1; !finished; at++) {
		const path = emptyDirectory();
		cpSync(before, path, { recursive: true });
		const { died } = dieAt(at);
		// The locks of a process end with it; this one's is not over.
		const store = new DirectoryStore({ path, host: "a", locks: join(path, `locks-${at}`) });
		const work = store.append(SESSION, { header: header(), lines: entries("x", 2), after }).then(() => (finished = true));
		await Promise.race([work, died]);
		await new Promise((resolve) => setTimeout(resolve, 5));
		vi.restoreAllMocks();
		kills++;
		const page = await loadAll(open(path, "reader"), SESSION);
		expect(page.problems, `killed at change ${at}`).toEqual([]);
		const isNew = page.lines.length > old.length;
		expect(ids(page), `killed at change ${at}`).toEqual(isNew ? [...old, "x0", "x1"] : old);
		expect((await append(open(path), entries("x", 2), after)).stored, `killed at change ${at}`).toBe(isNew ? 0 : 2);
		expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual([...old, "x0", "x1"]);
	}
	// A log that is there is written at one place.
	expect(kills).toBeGreaterThan(count === 0 ? 10 : 1);
});

test.each([false, true])("a deletion that is stopped at any change is one for everybody or for nobody, and the next one finishes it (full disk: %s)", async (isFull) => {
	const before = emptyDirectory();
	const hash = createHash("sha256").update(entry("a1")).digest("hex");
	await append(open(before), entries("a", 3));
	await open(before).redact(SESSION, [{ hash, line: entry("masked") }]);
	let [finished, stops] = [false, 0];
	const outcomes = new Set<string>();
	for (let at = 1; !finished; at++) {
		const path = emptyDirectory();
		cpSync(before, path, { recursive: true });
		const { died } = dieAt(at, isFull);
		const store = new DirectoryStore({ path, host: "a", locks: join(path, `locks-${at}`) });
		let error: unknown;
		const work = store.delete(SESSION).then(() => (finished = true), (thrown) => (error = thrown));
		await (isFull ? work : Promise.race([work, died]));
		await new Promise((resolve) => setTimeout(resolve, 5));
		vi.restoreAllMocks();
		stops++;
		if (isFull && !finished) expect(error, `stopped at change ${at}`).toMatchObject({ code: "full" });
		const { sessions, deleted, problems } = await open(path, "b").list();
		expect([sessions.length + deleted.length, problems], `stopped at change ${at}`).toEqual([1, []]);
		outcomes.add(deleted.length > 0 ? "deleted" : "there");
		expect(ids(await loadAll(open(path, "b"), SESSION))).toEqual(deleted.length > 0 ? [] : ["a0", "masked", "a2"]);
		await open(path).delete(SESSION);
		expect((await open(path, "b").list()).deleted).toMatchObject([{ session: SESSION }]);
		expect(filesOf(path).filter((name) => name.endsWith(".lines") || readFileSync(join(path, name)).includes("masked"))).toEqual([]);
	}
	expect([stops > 5, [...outcomes].sort()]).toEqual([true, ["deleted", "there"]]);
});

test("a directory that was put back to an older state is noticed by who saw the newer one", async () => {
	const path = emptyDirectory();
	const store = open(path);
	const { cursor } = await append(store, entries("a", 1));
	const backup = `${path}.backup`;
	cpSync(path, backup, { recursive: true });
	const seen = (await append(store, entries("b", 1), cursor)).cursor;
	rmSync(path, { recursive: true });
	renameSync(backup, path);
	expect((await failure(store.load(SESSION, seen))).code).toBe("reset");
	// Even if it has grown to the same number of batches and beyond.
	await append(store, entries("c", 1), cursor);
	await append(store, entries("d", 1));
	expect((await failure(store.load(SESSION, seen))).code).toBe("reset");
	expect(ids(await store.load(SESSION, cursor))).toEqual(["c0", "d0"]);
});
