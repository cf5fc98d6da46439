// What is a directory's own: its files, and what is wrong with them.
import { execFileSync } from "node:child_process";
import fs, { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { testIf } from "../../../../__test__/support/windows.js";
import { loadAll } from "../../lib/index.js";
import {
	append,
	batchOf,
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
import { changeOpenedFiles, systemError } from "../support/opened-files.js";

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

// Regression: the deletion stopped halfway each time, after the lines were gone.
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

// Regression: it named one, another one each time.
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
	// The log has its length, so that its host goes on.
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

// Regression: each load read all that was ever redacted of the session.
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

// Regression: the cursor was compared with the sizes of the list, so that it was refused, and everything was loaded, or
// nothing could be.
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

// Regression: it ended at the first damage, and said that all was done.
test("a redacted line leaves damaged logs and batches", async () => {
	const secret = Buffer.from('{"type":"message","id":"s","text":"hunter2"}');
	const hash = hashOf(secret);
	const batches = entries("a", 3).map((line, at) => batchOf([line, secret], { clock: at + 1 }));
	const [first, second, third] = batches as [Buffer, Buffer, Buffer];
	const glued = Buffer.from(String(second).replace('}\n{"type":"message","id":"s"', '} {"type":"message","id":"s"'));
	const logs = {
		"a batch after damage": [first, Buffer.from("[1, 2]\n{}\n"), second],
		"the damaged batch": [first, Buffer.from(String(second).replace('"clock"', '"clocc"')), third],
		"two lines in one": [first, glued, third],
	};
	for (const [name, parts] of Object.entries(logs)) {
		const path = emptyDirectory();
		await append(openDirectory(path), entries("a", 1));
		const file = join(path, logOf("a"));
		const before = Buffer.concat(parts);
		writeFileSync(file, before);
		await openDirectory(path, "b").redact(SESSION, [{ hash }]);
		const after = readFileSync(file);
		expect([name, String(after).includes("hunter"), after.length]).toEqual([name, false, before.length]);
		for (const line of name === "two lines in one" ? [] : [entry("a0"), entry("a1")])
			expect(String(after).includes(String(line))).toBe(String(before).includes(String(line)));
	}
});

// Regression: another host overwrote it by what it had read, and an append may have put another batch there meanwhile.
test("only its host removes a torn end with redacted lines", async () => {
	const secret = Buffer.from('{"type":"message","id":"s","text":"hunter2"}');
	const hash = hashOf(secret);
	const path = emptyDirectory();
	await append(openDirectory(path), entries("a", 1));
	const file = join(path, logOf("a"));
	const torn = batchOf([secret], { clock: 2 });
	appendFileSync(file, torn.subarray(0, -2));
	const before = readFileSync(file);
	await openDirectory(path, "b").redact(SESSION, [{ hash }]);
	expect(readFileSync(file)).toEqual(before);
	await append(openDirectory(path), [entry("next")]);
	expect(String(readFileSync(file))).not.toContain("hunter");
	expect((await loadAll(openDirectory(path, "b"), SESSION)).lines).toHaveLength(2);
});

// Regression: the batch looked torn. So nobody named it, a redaction left secrets in the batches after it, and the next
// append of its host cut all of them off.
test.each([
	["the newline that ends a batch", (log: string) => log.replace('"a1","parentId":null}\n', '"a1","parentId":null}\v')],
	["its number of bytes", (log: string) => log.replace(/("clock":2,"bytes":)\d/, "$19")],
])("a flipped bit in %s is no torn end", async (_, flip) => {
	const path = emptyDirectory();
	const file = join(path, logOf("a"));
	let after: string | undefined;
	for (const line of entries("a", 4)) after = (await append(openDirectory(path), [line], after)).cursor;
	const whole = readFileSync(file, "utf8");
	const damaged = flip(whole);
	expect([damaged.length, damaged === whole]).toEqual([whole.length, false]);
	writeFileSync(file, damaged);
	const page = await loadAll(openDirectory(path, "b"), SESSION);
	expect([ids(page), page.problems]).toEqual([["a0"], [expect.objectContaining({ session: SESSION })]]);
	expect(await failure(append(openDirectory(path), [entry("next")]))).toMatchObject({ code: "failed" });
	expect(readFileSync(file, "utf8")).toBe(damaged);
	const hashes = [entry("a1"), entry("a3")].map((line) => ({ hash: hashOf(line) }));
	await openDirectory(path, "b").redact(SESSION, hashes);
	const redacted = readFileSync(file, "utf8");
	expect(["a0", "a1", "a2", "a3"].filter((id) => redacted.includes(`"${id}"`))).toEqual(["a0", "a2"]);
	expect(await failure(append(openDirectory(path), [entry("next")]))).toMatchObject({ code: "failed" });
	// The batches after the damage wait until somebody restores the byte.
	const restored = redacted.replace("\v", "\n").replace(/("clock":2,"bytes":)9/, "$14");
	writeFileSync(file, restored);
	expect((await append(openDirectory(path), [entry("next")], after)).stored).toBe(1);
	expect(ids(await loadAll(openDirectory(path, "b"), SESSION))).toEqual(["a0", "a2", "next"]);
});

describe("an unusable batch is named, and only the rest of its log waits", () => {
	const damages: [string, RegExp, (bytes: Buffer[]) => Buffer, string[]][] = [
		[
			"no batch",
			/^it is not a batch$/,
			([a, , c]) => Buffer.concat([a, Buffer.from("[1, 2]\n{}\n"), c] as Buffer[]),
			["a0", "x0"],
		],
		[
			"another session's",
			/^it belongs to session "s2"$/,
			([a, , c]) => Buffer.concat([a, batchOf([], { session: "s2" }), c] as Buffer[]),
			["a0", "x0"],
		],
		[
			"another host's",
			/^it belongs to host "b"$/,
			([a, , c]) => Buffer.concat([a, batchOf([], { host: "b" }), c] as Buffer[]),
			["a0", "x0"],
		],
		[
			"its description is changed",
			/^its checksum is wrong$/,
			([a, b, c]) => Buffer.concat([a, Buffer.from(String(b).replace('"clock":2', '"clock":1')), c] as Buffer[]),
			["a0", "x0"],
		],
		[
			"a line is changed",
			/^its checksum is wrong$/,
			([a, b, c]) => Buffer.concat([a, Buffer.from(String(b).replace('"b0"', '"d0"')), c] as Buffer[]),
			["a0", "x0", "c0"],
		],
		[
			"a batch is gone",
			/^it does not follow the batch before it/,
			([a, , c]) => Buffer.concat([a, c] as Buffer[]),
			["a0", "x0", "c0"],
		],
	];
	test.each(damages)("%s", async (_, message, damage, there) => {
		const path = emptyDirectory();
		const store = openDirectory(path);
		const file = join(path, logOf("a"));
		let [after, batches, size] = [undefined as string | undefined, [] as Buffer[], 0];
		for (const letter of ["a", "b", "c"]) {
			after = (await append(store, entries(letter, 1), after)).cursor;
			batches.push(readFileSync(file).subarray(size));
			size = fs.statSync(file).size;
		}
		await append(openDirectory(path, "other"), entries("x", 1));
		writeFileSync(file, damage(batches));
		const page = await loadAll(openDirectory(path, "reader"), SESSION);
		expect(ids(page)).toEqual(there);
		expect(page.problems).toEqual([
			{ session: SESSION, where: expect.stringContaining(logOf("a")), message: expect.stringMatching(message) },
		]);
		writeFileSync(file, Buffer.concat(batches));
		await append(store, entries("d", 1), after);
		expect(ids(await loadAll(openDirectory(path, "reader"), SESSION))).toEqual(["a0", "x0", "b0", "c0", "d0"]);
	});

	test("its host stores a damaged line again", async () => {
		const path = emptyDirectory();
		await append(openDirectory(path), entries("a", 2));
		const file = join(path, logOf("a"));
		writeFileSync(file, readFileSync(file, "utf8").replace('"a1"', '"b1"'));
		expect((await append(openDirectory(path), entries("a", 2))).stored).toBe(1);
		const page = await loadAll(openDirectory(path, "reader"), SESSION);
		expect([ids(page), page.problems.length]).toEqual([["a0", "a1"], 1]);
	});
});

// Regression: lists gave the one, and appends, deletions and redactions went to the other.
test("lines in the folder of another project are left out", async () => {
	const [path, synchronised] = [emptyDirectory(), emptyDirectory()];
	const put = (at: string, host: string, project: string) =>
		openDirectory(at, host).append(SESSION, { header: header(), lines: [entry(host)], project });
	await put(path, "a", "new");
	await put(synchronised, "b", "old");
	cpSync(join(synchronised, "lines"), join(path, "lines"), { recursive: true });
	const [own, other] = ["new", "old"].map((project) => logOf("x", { project }).slice(0, "lines/".length + 33));
	const problem = {
		session: SESSION,
		where: PROJECT,
		message: `it names the project "new", whose lines are in ${own}, but there are lines in ${other}`,
	};
	const listed = async () => {
		const { sessions, problems } = await openDirectory(path).list();
		return [sessions.map(({ session, project }) => [session, project]), problems];
	};
	expect(await listed()).toEqual([[[SESSION, "new"]], [problem]]);
	// Of two other sessions, the names of their projects are read before.
	for (const project of ["new", "old"])
		await openDirectory(path).append(`0-${project}`, { header: header(`0-${project}`), lines: [entry("x")], project });
	expect(await listed()).toEqual([
		[
			["0-new", "new"],
			["0-old", "old"],
			[SESSION, "new"],
		],
		[problem],
	]);
	for (const project of ["new", "old"]) await openDirectory(path).delete(`0-${project}`);
	await openDirectory(path).move("new", "newer");
	for (const project of ["new", "newer"])
		expect(await openDirectory(path).list({ project })).toMatchObject({
			sessions: [{ session: SESSION, project }],
			problems: [],
		});
	expect(await openDirectory(path).list({ session: SESSION })).toMatchObject({
		sessions: [{ project: "newer", hosts: ["a"] }],
		problems: [],
	});
	rmSync(join(path, PROJECT));
	const missing = { session: SESSION, where: PROJECT, message: "it is missing" };
	expect(await listed()).toEqual([[], [missing, missing]]);
	await openDirectory(path).append("after", { header: header("after"), lines: [entry("x")], project: "new" });
	expect(await listed()).toEqual([[["after", "newer"]], [missing, missing]]);
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
	// Those of a, b and c, and the portions that grow until they contain d.
	expect(Math.max(...lengths)).toBeLessThan(32 << 20);
	expect(lengths.find((length) => length > 1 << 20)).toBeLessThanOrEqual(8 << 20);
	// The first batch is damaged, the others have lines that are redacted.
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

test("names that no host made are nobody's", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), entries("a", 1));
	const folder = dirname(logOf("a"));
	for (const name of [
		".DS_Store",
		"a.00000002.sync-conflict-20250601.lines",
		"a.1.lines",
		"-.00000001.lines",
		"a.00000000.lines",
		".draft-x",
	])
		writeFileSync(join(path, folder, name), "x");
	for (const other of [
		"lines/none/..x.1",
		"lines/none/A.1",
		"lines/none/s4",
		"lines/none/s5.x",
		"lines/none/s6.redacted",
	]) {
		mkdirSync(join(path, other), { recursive: true });
		cpSync(join(path, logOf("a")), join(path, other, "a.00000001.lines"));
	}
	const page = await openDirectory(path, "reader").load(SESSION);
	expect([ids(page), page.problems]).toEqual([["a0"], []]);
	expect((await openDirectory(path).list()).sessions).toHaveLength(1);
});

describe("a store that cannot be used says why", () => {
	// Regression: it was made, and written to.
	test("an unmounted drive is not created as a directory", async () => {
		const path = join(emptyDirectory(), "drive");
		mkdirSync(path);
		await append(openDirectory(path), entries("a", 1));
		const { mkdir } = fs.promises;
		vi.spyOn(fs.promises, "mkdir").mockImplementationOnce((async (...args: Parameters<typeof mkdir>) => {
			rmSync(path, { recursive: true });
			return mkdir(...args);
		}) as typeof mkdir);
		expect(
			await failure(
				openDirectory(path, "b").append("s2", { header: header("s2"), lines: entries("b", 1), project: "shop" }),
			),
		).toMatchObject({ code: "unreachable", retryable: true });
		expect(fs.existsSync(path)).toBe(false);
	});

	test("its layout is newer, or older than the first release", async () => {
		const path = emptyDirectory();
		writeFileSync(join(path, "store.json"), '{"store":"pi-session-native","version":5}');
		for (const work of [
			() => append(openDirectory(path), entries("a", 1)),
			() => openDirectory(path).load(SESSION),
			() => openDirectory(path).list(),
			() => openDirectory(path).delete(SESSION),
		])
			expect(await failure(work())).toMatchObject({
				code: "newer-schema",
				retryable: false,
				message: expect.stringContaining(
					"layout 5, and this release reads only layout 4: install a newer pi-session-sync",
				),
			});
		writeFileSync(join(path, "store.json"), '{"store":"pi-session-native","version":3}');
		// Regression: it asked to empty the place, and did not say what is lost with that.
		expect(await failure(openDirectory(path).list())).toMatchObject({
			code: "unsupported",
			message: expect.stringMatching(/push again from each machine.*lines that no machine has any more are then lost$/),
		});
		expect(filesOf(path)).toEqual(["store.json"]);
	});

	test("the directory is not a store", async () => {
		const path = emptyDirectory();
		writeFileSync(join(path, "store.json"), '{"name":"a shop"}');
		expect((await failure(append(openDirectory(path), entries("a", 1)))).message).toContain(
			"does not belong to a store of sessions",
		);
	});

	test.each([
		["ENOSPC", "full", true],
		["EROFS", "read-only", false],
		["EACCES", "denied", false],
		["EIO", "unreachable", true],
	])("the system says %s: the append can be repeated", async (system, code, retryable) => {
		const path = emptyDirectory();
		const store = openDirectory(path);
		const { cursor } = await append(store, entries("a", 1));
		const spy = changeOpenedFiles((file) => {
			// Half of it was written.
			const write = file.write.bind(file);
			file.write = async (bytes: Buffer, from: number, length: number, at: number) => {
				await write(bytes, from, length >> 1, at);
				throw systemError(system);
			};
		});
		expect(await failure(append(store, entries("b", 1), cursor))).toMatchObject({
			code,
			retryable,
			message: expect.stringContaining(system),
		});
		spy.mockRestore();
		expect(ids(await loadAll(openDirectory(path, "reader"), SESSION))).toEqual(["a0"]);
		expect((await append(store, entries("b", 1), cursor)).stored).toBe(1);
	});
});

// Regression: Node ended with SIGABRT.
test("a log that is too long is an error", async () => {
	const path = emptyDirectory();
	const store = openDirectory(path);
	await append(store, entries("a", 1));
	truncateSync(join(path, logOf("a")), 3 * 2 ** 30);
	expect(await failure(openDirectory(path, "b").load(SESSION))).toMatchObject({
		code: "failed",
		message: expect.stringContaining(logOf("a")),
	});
});

// Regression: lists, pulls and pushes waited for ever; later, a session whose log was a pipe was missing in every list.
testIf(process.platform !== "win32", "Windows has no such pipes")("a pipe instead of a file is an error", async () => {
	const path = emptyDirectory();
	const store = openDirectory(path);
	await append(store, entries("a", 1));
	for (const name of [`sessions/${SESSION}`, headerFileOf(), logOf("a")]) {
		const kept = readFileSync(join(path, name));
		rmSync(join(path, name));
		execFileSync("mkfifo", [join(path, name)]);
		const other = openDirectory(path, "b");
		const answers = await Promise.allSettled([
			other.list(),
			other.header(SESSION),
			other.load(SESSION),
			append(other, entries("b", 1)),
		]);
		const said = answers.map((one) =>
			one.status === "rejected"
				? one.reason.message
				: JSON.stringify((one.value as { problems?: unknown } | undefined)?.problems ?? []),
		);
		expect(said.join("\n"), name).toMatch(/is not a file/);
		expect(answers[2]?.status, name).toBe(name === headerFileOf() ? "fulfilled" : "rejected");
		rmSync(join(path, name));
		writeFileSync(join(path, name), kept);
	}
});
