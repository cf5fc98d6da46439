// What is a directory's own: its files, what is wrong with them, and writers that die.
import { execFileSync } from "node:child_process";
import fs, { appendFileSync, cpSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { conformanceCases } from "../../../lib/store/conformance.js";
import { DirectoryStore, StoreError, loadAll, openStore } from "../../../lib/store/index.js";
import { SESSION, append, emptyDirectory, entries, entry, header, ids, library } from "../../support/lines.js";

const { encodeBatch } = createRequire(library)("./segment.js");

afterEach(() => vi.restoreAllMocks());

const open = (path: string, host = "a") => new DirectoryStore({ path, host });
const filesOf = (path: string): string[] =>
	(readdirSync(path, { recursive: true, withFileTypes: true }) as fs.Dirent[])
		.filter((file) => file.isFile())
		.map((file) => join(file.parentPath, file.name).slice(path.length + 1))
		.sort();
const segment = (host: string, count: number) => `sessions/${SESSION}/${host}/${String(count).padStart(10, "0")}.lines`;
const failure = async (work: Promise<unknown>): Promise<StoreError> => {
	const error = await work.then(
		() => undefined,
		(thrown) => thrown,
	);
	expect(error).toBeInstanceOf(StoreError);
	return error as StoreError;
};

test("each host writes below its own name, and no name tells the time", async () => {
	const path = emptyDirectory();
	const { cursor: first } = await append(open(path, "laptop"), entries("a", 1));
	await append(open(path, "Build.Box"), entries("b", 1));
	const { cursor } = await append(open(path, "laptop"), entries("c", 1), first);
	expect(filesOf(path)).toEqual([segment("laptop", 1), segment("laptop", 2), segment("~build.~box", 1), "store.json"]);
	expect(await open(path, "laptop").load(SESSION, cursor)).toMatchObject({ lines: [{ host: "Build.Box" }], comesAfter: false });
});

test("a segment is a session file after its first line, so that its lines can be had without this package", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 2));
	const [, ...lines] = readFileSync(join(path, segment("a", 1)), "utf8").split("\n");
	expect(lines).toEqual([header(), ...entries("a", 2), ""].map(String));
});

test("a segment has its name once it is on the disk, and the append ends once its name is", async () => {
	const path = emptyDirectory();
	const store = open(path);
	const { cursor } = await append(store, entries("a", 1));
	const steps: string[] = [];
	const [openFile, link] = [fs.promises.open, fs.promises.link];
	vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		const file = await (openFile as any)(...args);
		const sync = file.sync.bind(file);
		file.sync = async () => {
			await sync();
			steps.push(args[1] === "wx" ? "content" : "folder");
		};
		return file;
	});
	vi.spyOn(fs.promises, "link").mockImplementation(async (...args) => {
		steps.push("name");
		return link(...args);
	});
	await append(store, entries("b", 1), cursor);
	// The mark of the store was there.
	expect(steps).toEqual(["content", "name", "folder"]);
});

// Regression: it failed although it was stored.
test.each(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EBADF"])("where directories cannot be synchronised an append succeeds (%s)", async (code) => {
	const path = emptyDirectory();
	const openFile = fs.promises.open;
	vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		const file = await (openFile as any)(...args);
		if (args[1] === undefined && (await file.stat()).isDirectory()) file.sync = () => Promise.reject(Object.assign(new Error("fsync"), { code }));
		return file;
	});
	expect((await append(open(path), entries("a", 1))).stored).toBe(1);
});

// Regression: it named one, another one each time.
test("the message of a failure names no draft", async () => {
	const path = emptyDirectory();
	const store = open(path);
	await append(store, entries("a", 1));
	const denied = (name: string) => Object.assign(new Error(`EACCES: permission denied, open '${name}'`), { code: "EACCES" });
	vi.spyOn(fs.promises, "open").mockImplementation((name) => Promise.reject(denied(String(name))));
	const { code, message } = await failure(append(store, entries("b", 1)));
	const folder = join(path, "sessions", SESSION, "a");
	expect([code, message]).toEqual(["denied", `${path}: access is denied (EACCES: permission denied, open '${folder}')`]);
});

test("files and directories are open to whom the directory is open to", async () => {
	const path = emptyDirectory();
	fs.chmodSync(path, 0o770);
	const before = process.umask(0);
	try {
		await append(open(path), entries("a", 1));
	} finally {
		process.umask(before);
	}
	expect(fs.statSync(join(path, "sessions", SESSION)).mode & 0o777).toBe(0o770);
	expect(fs.statSync(join(path, segment("a", 1))).mode & 0o777).toBe(0o660);
});

/** The rights of everything below a directory, by path: of files without the right to execute. */
const modesOf = (path: string) =>
	(readdirSync(path, { recursive: true }) as string[]).map((name) => {
		const stat = fs.statSync(join(path, name));
		return `${name} ${(stat.mode & 0o3777).toString(8)} ${stat.isDirectory() ? "folder" : "file"}`;
	});

// Regression: the umask was taken from them, and the second user was refused.
test.skipIf(process.platform === "win32").each([0o022, 0o077])("files and directories have the rights of the directory whatever the umask is (%o)", async (umask) => {
	const path = emptyDirectory();
	fs.chmodSync(path, 0o2770);
	const before = process.umask(umask);
	try {
		await append(open(path), entries("a", 1));
	} finally {
		process.umask(before);
	}
	expect(modesOf(path).filter((one) => !/ (2770 folder|660 file)$/.test(one))).toEqual([]);
	expect(modesOf(path).length).toBeGreaterThan(3);
});

/** Appends as another user of this system. */
function appendAs(uid: number, gid: number, umask: number, path: string, host: string, line: Buffer): void {
	const code = `
		process.umask(${umask});
		const { DirectoryStore } = require(${JSON.stringify(library)});
		const store = new DirectoryStore({ path: ${JSON.stringify(path)}, host: ${JSON.stringify(host)} });
		const append = { header: Buffer.from(${JSON.stringify(String(header()))}), lines: [Buffer.from(${JSON.stringify(String(line))})], project: "shop" };
		store.append(${JSON.stringify(SESSION)}, append).then(() => store.claim(${JSON.stringify(SESSION)}, { ttl: 60_000, force: true })).then(() => store.claim(${JSON.stringify(SESSION)}, { ttl: 0 })).catch((error) => {
			console.error(error.message);
			process.exit(1);
		});`;
	execFileSync(process.execPath, ["-e", code], { uid, gid, stdio: "pipe" });
}

// Only the system's administrator can be two users.
test.skipIf(process.getuid?.() !== 0).each([[0o022, 0o077], [0o077, 0o022]])("two users of one group share a directory (umask %o and %o)", async (one, other) => {
	const path = emptyDirectory();
	fs.chownSync(path, 60_001, 60_000);
	fs.chmodSync(path, 0o2770);
	appendAs(60_001, 60_000, one, path, "alice", entry("a"));
	appendAs(60_002, 60_000, other, path, "bob", entry("b"));
	appendAs(60_001, 60_000, one, path, "alice", entry("c"));
	expect(ids(await loadAll(open(path), SESSION)).sort()).toEqual(["a", "b", "c"]);
	// Each may remove what the other one made.
	execFileSync(process.execPath, ["-e", `const { DirectoryStore } = require(${JSON.stringify(library)}); new DirectoryStore({ path: ${JSON.stringify(path)}, host: "bob" }).delete(${JSON.stringify(SESSION)}).catch(() => process.exit(1))`], { uid: 60_002, gid: 60_000, stdio: "pipe" });
	expect(filesOf(path)).toEqual(["store.json"]);
});

/** As where the system tells no types: whoever asks for them looks at each file, and fails as a whole if one is gone. */
function withoutTypes(afterNames: (folder: string) => void): void {
	const { readdir, lstat } = fs.promises;
	vi.spyOn(fs.promises, "readdir").mockImplementation((async (folder: string, options?: { withFileTypes?: boolean }) => {
		const names = await readdir(folder);
		afterNames(folder.replace(/\/$/, ""));
		if (!options?.withFileTypes) return names;
		return Promise.all(names.map(async (name) => Object.assign(await lstat(join(folder, name)), { name })));
	}) as never);
}

// Regression: the folder counted as empty, and of two processes of a host one lost an acknowledged line.
test("where the system tells no types of files, one that goes does not hide the others", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	const other = open(path, "b");
	const { cursor } = await append(other, entries("b", 1));
	const folder = join(path, "sessions", SESSION, "b");
	writeFileSync(join(folder, "0000000009.going"), "");
	withoutTypes((read) => {
		if (read === folder) rmSync(join(folder, "0000000009.going"), { force: true });
	});
	expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual(["a0", "b0"]);
	writeFileSync(join(folder, "0000000009.going"), "");
	expect((await append(other, entries("c", 1), cursor)).stored).toBe(1);
	expect((await open(path, "reader").list()).sessions).toMatchObject([{ hosts: ["a", "b"] }]);
});

test("small segments are folded into one, and the reader of an older list lists again", async () => {
	const path = emptyDirectory();
	const store = open(path);
	let after: string | undefined;
	for (const line of entries("n", 63)) after = (await append(store, [line], after)).cursor;
	expect(filesOf(path)).toHaveLength(64);
	// The reader has its list; before it reads the first segment, that is folded and gone.
	const read = fs.promises.readFile;
	let folding: Promise<unknown> | undefined;
	vi.spyOn(fs.promises, "readFile").mockImplementation(async (...args: any[]) => {
		if (folding === undefined && String(args[0]).endsWith(".lines")) await (folding = append(store, [entry("n63")], after));
		return (read as any)(...args);
	});
	expect(ids(await open(path, "reader").load(SESSION))).toEqual(entries("n", 64).map((_, at) => `n${at}`));
	expect(filesOf(path)).toEqual([`sessions/${SESSION}/a/0000000001-0000000064.lines`, "store.json"]);
});

// Regression: it came back.
test("a session that is deleted while it is folded does not come back", async () => {
	const path = emptyDirectory();
	const store = open(path);
	let after: string | undefined;
	for (const line of entries("n", 63)) after = (await append(store, [line], after)).cursor;
	const read = fs.promises.readFile;
	const spy = vi.spyOn(fs.promises, "readFile").mockImplementation(async (...args: any[]) => {
		const content = await (read as any)(...args);
		if (!String(args[0]).endsWith("0000000064.lines")) return content;
		spy.mockImplementation(read);
		await open(path, "b").delete(SESSION);
		return content;
	});
	await append(store, [entry("n63")], after);
	expect(filesOf(path)).toEqual(["store.json"]);
});

test("a writer that was held up while its batch's number was used and folded writes its lines again", async () => {
	const path = emptyDirectory();
	const [slow, fast] = [open(path), open(path)];
	let { cursor: after } = await append(fast, [entry("first")]);
	const start = after;
	// The slow process looked, and creates its second batch when the fast one has folded that number away.
	const link = fs.promises.link;
	const spy = vi.spyOn(fs.promises, "link").mockImplementation(async (from, to) => {
		if (String(to).endsWith("0000000002.lines")) {
			spy.mockImplementation(link);
			for (const line of entries("n", 70)) after = (await append(fast, [line], after)).cursor;
		}
		return link(from, to);
	});
	expect((await append(slow, [entry("late")], start)).stored).toBe(1);
	const page = await loadAll(open(path, "reader"), SESSION);
	expect(ids(page)).toEqual(["first", ...entries("n", 70).map((_, at) => `n${at}`), "late"]);
	expect(page.problems).toEqual([]);
});

// Regression: Android refuses hard links with EACCES, and no append to a store succeeded there.
describe.each(["EPERM", "EACCES"])("where files have no second names (%s)", (code) => {
	test.each(conformanceCases)("$name", async ({ run }) => {
		vi.spyOn(fs.promises, "link").mockRejectedValue(Object.assign(new Error("not supported"), { code }));
		const path = emptyDirectory();
		await run({ open: async (host) => open(path, host) });
	});
});

describe("a segment that cannot be used is named, those of other hosts are read, and its own host's wait for it", () => {
	const damages: [string, RegExp, (path: string) => void][] = [
		["missing", /^it is missing$/, (path) => rmSync(join(path, segment("a", 2)))],
		["cut off", /^it is cut off$/, (path) => truncateSync(join(path, segment("a", 2)), fs.statSync(join(path, segment("a", 2))).size - 5)],
		["empty", /^it is cut off$/, (path) => truncateSync(join(path, segment("a", 2)), 0)],
		["changed", /^its checksum is wrong$/, (path) => {
			const text = readFileSync(join(path, segment("a", 2)), "utf8");
			writeFileSync(join(path, segment("a", 2)), text.replace("b0", "c0"));
		}],
		["too long", /^it holds more than its name says$/, (path) => appendFileSync(join(path, segment("a", 2)), "{}\n")],
		["no segment", /^it is not a segment$/, (path) => writeFileSync(join(path, segment("a", 2)), "[1, 2]\n{}\n")],
		["another host's", /^it belongs to host "other"$/, (path) => cpSync(join(path, segment("other", 1)), join(path, segment("a", 2)))],
		["another session's", /^it belongs to session "s2"$/, (path) => cpSync(join(path, "sessions/s2/a/0000000001.lines"), join(path, segment("a", 2)))],
		["another batch", /^it holds batch 1 where 2 should be$/, (path) => cpSync(join(path, segment("a", 1)), join(path, segment("a", 2)))],
	];
	test.each(damages)("%s", async (name, message, damage) => {
		const path = emptyDirectory();
		const store = open(path);
		let after: string | undefined;
		for (const letter of ["a", "b", "c"]) after = (await append(store, entries(letter, 1), after)).cursor;
		await append(open(path, "other"), entries("x", 1));
		await store.append("s2", { header: header("s2"), lines: entries("y", 1) });
		const whole = readFileSync(join(path, segment("a", 2)));
		damage(path);
		const page = await loadAll(open(path, "reader"), SESSION);
		// What follows what was appended whole may still be used.
		expect(ids(page)).toEqual(name === "too long" ? ["a0", "x0", "b0"] : ["a0", "x0"]);
		expect(page.problems).toEqual([{ session: SESSION, where: segment("a", 2), message: expect.stringMatching(message) }]);
		// Its host goes on, as it knows what it wrote.
		await append(store, entries("d", 1), after);
		writeFileSync(join(path, segment("a", 2)), whole);
		expect(ids(await loadAll(open(path, "reader"), SESSION, page.cursor)).slice(-2)).toEqual(["c0", "d0"]);
		expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual(["a0", "x0", "b0", "c0", "d0"]);
	});
});

test("lines that are not entries, and headers that lie, are named and skipped", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	const put = (session: string, host: string, said: Buffer, lines: Buffer[]) => {
		const { bytes } = encodeBatch({ session, host, count: 1, clock: 1, prev: "", header: said, lines });
		mkdirSync(join(path, "sessions", session, host), { recursive: true });
		writeFileSync(join(path, "sessions", session, host, "0000000001.lines"), bytes);
	};
	put(SESSION, "liar", header("../../etc"), [Buffer.from("no JSON"), entry("x"), Buffer.from('{"type":"session","id":"y"}')]);
	put("s2", "liar", header(SESSION), [entry("x")]);
	const page = await open(path, "reader").load(SESSION);
	expect(ids(page)).toEqual(["a0", "x"]);
	expect(page.problems.map(({ where, message }) => `${where}: ${message}`)).toEqual([
		`${segment("liar", 1)}, line 1 of batch 1: it is not an entry`,
		`${segment("liar", 1)}, line 3 of batch 1: it is not an entry`,
	]);
	const { sessions, problems } = await open(path, "reader").list();
	expect(sessions.map(({ session, header: said }) => [session, String(said)])).toEqual([[SESSION, String(header())]]);
	expect(problems.map(({ session, message }) => `${session}: ${message}`).sort()).toEqual([
		`${SESSION}: the header is that of session "../../etc"`,
		`s2: the header is that of session "${SESSION}"`,
	].sort());
});

test("names that no host made are nobody's", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	for (const name of [".DS_Store", "0000000002.sync-conflict-20250601.lines", "2.lines", "0000000003-0000000002.lines", "0000000000.lines", ".draft-x"])
		writeFileSync(join(path, "sessions", SESSION, "a", name), "x");
	for (const folder of ["sessions/..x/a", "sessions/A/b", `sessions/${SESSION}/-`]) {
		mkdirSync(join(path, folder), { recursive: true });
		cpSync(join(path, segment("a", 1)), join(path, folder, "0000000001.lines"));
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
		expect(await failure(append(open(path, "b"), entries("b", 1)))).toMatchObject({ code: "unreachable", retryable: true });
		expect(fs.existsSync(path)).toBe(false);
	});

	test("a newer release wrote it", async () => {
		const path = emptyDirectory();
		writeFileSync(join(path, "store.json"), '{"store":"pi-session-native","version":2}');
		for (const work of [() => append(open(path), entries("a", 1)), () => open(path).load(SESSION), () => open(path).list(), () => open(path).delete(SESSION)])
			expect(await failure(work())).toMatchObject({ code: "newer-schema", retryable: false, message: expect.stringContaining("layout 2, this release knows 1") });
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
			file.writeFile = async (bytes: Buffer) => {
				await file.write(bytes.subarray(0, bytes.length / 2));
				throw Object.assign(new Error(`${system}: it does not work`), { code: system });
			};
			return file;
		});
		expect(await failure(append(store, entries("b", 1), cursor))).toMatchObject({ code, retryable, message: expect.stringContaining(system) });
		spy.mockRestore();
		expect(filesOf(path)).toEqual([segment("a", 1), "store.json"]);
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

/** From its `at`th change on nothing reaches the file system any more, as if the process had been killed there. */
function dieAt(at: number): { died: Promise<void> } {
	let changes = 0;
	let dead: () => void;
	const died = new Promise<void>((resolve) => (dead = resolve));
	const never = new Promise<never>(() => {});
	const step = (): boolean => {
		changes++;
		if (changes >= at) dead();
		return changes >= at;
	};
	for (const name of ["link", "mkdir", "rm", "rmdir", "rename"] as const) {
		const real = fs.promises[name] as (...args: any[]) => Promise<any>;
		vi.spyOn(fs.promises, name as any).mockImplementation((...args: any[]) => (step() ? never : real(...args)));
	}
	const openFile = fs.promises.open as (...args: any[]) => Promise<any>;
	vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		if (args[1] !== "wx") return openFile(...args);
		if (step()) return never;
		const file = await openFile(...args);
		const write = file.writeFile.bind(file);
		file.writeFile = async (bytes: Buffer) => {
			if (!step()) return write(bytes);
			await file.write(bytes.subarray(0, bytes.length / 2));
			await file.close();
			return never;
		};
		return file;
	});
	return { died };
}

test("a writer killed at any change leaves old or new, and the append is repeated once", async () => {
	const before = emptyDirectory();
	let after: string | undefined;
	// One more batch than these, and small ones are folded.
	for (const line of entries("n", 63)) after = (await append(open(before), [line], after)).cursor;
	const old = entries("n", 63).map((_, at) => `n${at}`);
	let [finished, kills, seenNew] = [false, 0, 0];
	// The small ones are removed one like the other, so that not each of them is a place of its own.
	for (let at = 1; !finished; at += at < 20 ? 1 : 5) {
		const path = emptyDirectory();
		cpSync(before, path, { recursive: true });
		const { died } = dieAt(at);
		const work = append(open(path), entries("x", 2), after).then(() => (finished = true));
		await Promise.race([work, died]);
		await new Promise((resolve) => setImmediate(resolve));
		vi.restoreAllMocks();
		kills++;
		const page = await loadAll(open(path, "reader"), SESSION);
		expect(page.problems, `killed at change ${at}`).toEqual([]);
		const isNew = page.lines.length > old.length;
		seenNew += Number(isNew);
		expect(ids(page), `killed at change ${at}`).toEqual(isNew ? [...old, "x0", "x1"] : old);
		expect((await append(open(path), entries("x", 2), after)).stored, `killed at change ${at}`).toBe(isNew ? 0 : 2);
		expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual([...old, "x0", "x1"]);
	}
	expect(kills).toBeGreaterThan(25);
	expect(kills - seenNew).toBeGreaterThan(5);
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

// Regression: it had neither, and an append said that the session was gone.
test("a list that is made while another process folds has the small segments or the large one", async () => {
	const path = emptyDirectory();
	const store = open(path);
	const { cursor: first } = await append(store, entries("a", 1));
	const { cursor } = await append(store, entries("b", 1), first);
	const folder = join(path, "sessions", SESSION, "a");
	const read = fs.promises.readdir;
	let folds = 0;
	vi.spyOn(fs.promises, "readdir").mockImplementation(async (...args: any[]) => {
		const names = await (read as any)(...args);
		if (`${args[0]}`.replace(/\/$/, "") === folder && folds++ === 0) {
			const small = [1, 2].map((count) => join(path, segment("a", count)));
			writeFileSync(join(folder, "0000000001-0000000002.lines"), Buffer.concat(small.map((file) => readFileSync(file))));
			for (const file of small) rmSync(file);
		}
		return names;
	});
	expect((await append(store, entries("c", 1), cursor)).stored).toBe(1);
	expect(folds).toBeGreaterThan(1);
	expect(ids(await loadAll(open(path, "reader"), SESSION))).toEqual(["a0", "b0", "c0"]);
});

test.skipIf(process.platform !== "linux")("a file whose name is no text does not keep a list from ending", async () => {
	const path = emptyDirectory();
	await append(open(path), entries("a", 1));
	writeFileSync(Buffer.concat([Buffer.from(join(path, "sessions", SESSION, "a/")), Buffer.from([0xff, 0xfe])]), "x");
	expect((await open(path).list()).sessions).toHaveLength(1);
});
