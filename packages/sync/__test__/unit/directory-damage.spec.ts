// Damaged logs, and other files in a directory that a store cannot use: which are named, omitted or refused.
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

const PROJECT = `sessions/${SESSION}`;

// Regression: it ended at the first damage, and reported success.
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

// Regression: another host overwrote it with the bytes that it had read. Meanwhile an append may have written another
// batch there.
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

// Regression: the batch looked torn. So it was not reported, a redaction left secrets in the batches after it, and the
// next append of its host removed all of them.
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
	// The batches after the damage wait until the byte is restored.
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

// Regression: lists used one of them, but appends, deletions and redactions used the other.
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
	// The names of the projects of two other sessions are read before.
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
		sessions: [{ project: "new", hosts: ["a"] }],
		problems: [],
	});
	rmSync(join(path, PROJECT));
	const missing = { session: SESSION, where: PROJECT, message: "it is missing" };
	expect(await listed()).toEqual([[], [missing, missing]]);
	await openDirectory(path).append("after", { header: header("after"), lines: [entry("x")], project: "new" });
	expect(await listed()).toEqual([[["after", "newer"]], [missing, missing]]);
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
	// Regression: it was created, and written to.
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

	test("its layout is newer", async () => {
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
					"layout 5, and this release reads only layout 4: install the pi-session-sync that created the store",
				),
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

// Regression: lists, pulls and pushes waited for ever. Later, a session whose log was a pipe was missing in every list.
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
