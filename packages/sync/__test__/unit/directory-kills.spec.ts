// Files that killed processes and full disks leave in a directory, and a directory that is restored to an older state.

import fs, { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { DirectoryStore, loadAll } from "../../lib/index.js";
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
	ids,
	logOf,
	openDirectory,
	SESSION,
} from "../support/lines.js";
import { changeOpenedFiles, isForWriting, systemError } from "../support/opened-files.js";

afterEach(() => vi.restoreAllMocks());

// Regression: if nothing was removed, it stayed for ever.
test("what killed processes left is removed after a day", async () => {
	const path = emptyDirectory();
	const before = new Date(Date.now() - 25 * 3600 * 1000);
	const drafts = ["sessions/.draft-x", "headers/.draft-x", "sessions/.draft-new"];
	for (const draft of drafts) {
		mkdirSync(join(path, dirname(draft)), { recursive: true });
		writeFileSync(join(path, draft), "x");
		if (!draft.endsWith("new")) fs.utimesSync(join(path, draft), before, before);
	}
	await append(openDirectory(path), entries("a", 1));
	expect(filesOf(path).filter((file) => file.includes(".draft-"))).toEqual(["sessions/.draft-new"]);
});

// Regression: then the session had no project, or one whose name was the beginning, and no message said what to do.
test.each(["", "sho"])("a truncated project name is no name (%j)", async (part) => {
	const path = emptyDirectory();
	await openDirectory(path).append(SESSION, { header: header(), lines: [entry("a1")], project: "shop" });
	const [where, message] = [
		`sessions/${SESSION}`,
		"it is cut off: remove it, and push the session again from a machine that has it, in a directory of its project",
	];
	writeFileSync(join(path, where), part);
	for (const filter of [{}, { session: SESSION }])
		expect(await openDirectory(path, "b").list(filter)).toMatchObject({
			sessions: [],
			problems: [{ session: SESSION, where, message }],
		});
	const other = openDirectory(path, "b");
	for (const work of [
		() => append(other, [entry("b1")]),
		() => other.load(SESSION),
		() => other.delete(SESSION),
		() => other.redact(SESSION, []),
		() => other.redactions(SESSION),
	])
		expect(await failure(work())).toMatchObject({ code: "failed", message: `${path}: ${where}: ${message}` });
	rmSync(join(path, where));
	expect(
		(await other.append(SESSION, { header: header(), lines: [entry("a1"), entry("b1")], project: "shop" })).stored,
	).toBe(2);
	expect((await other.list()).sessions).toMatchObject([{ session: SESSION, project: "shop", hosts: ["a", "b"] }]);
	expect(ids(await loadAll(other, SESSION))).toEqual(["a1", "b1"]);
});

test("the next append of its host removes a torn batch", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), entries("a", 1));
	const file = join(path, logOf("a"));
	const [whole, bytes] = [readFileSync(file), batchOf(entries("torn", 2), { clock: 2 })];
	for (const torn of [
		bytes.subarray(0, 1),
		bytes.subarray(0, 90),
		bytes.subarray(0, bytes.indexOf("\n") + 1),
		bytes.subarray(0, -1),
		Buffer.alloc(500),
	]) {
		writeFileSync(file, Buffer.concat([whole, torn]));
		const page = await loadAll(openDirectory(path, "reader"), SESSION);
		expect([ids(page), page.problems, page.more]).toEqual([["a0"], [], false]);
		// Neither lists nor another host change it.
		expect((await openDirectory(path, "b").list()).sessions).toHaveLength(1);
		await append(openDirectory(path, "b"), entries("b", 1));
		expect(readFileSync(file)).toEqual(Buffer.concat([whole, torn]));
		expect((await append(openDirectory(path), entries("c", 1), cursor)).stored).toBe(1);
		expect(readFileSync(file, "latin1")).not.toMatch(/torn|\0/);
		expect(ids(await loadAll(openDirectory(path, "reader"), SESSION, page.cursor)).sort()).toEqual(
			["b0", "c0"].slice(page.cursor.includes('"b"') ? 1 : 0),
		);
		rmSync(join(path, logOf("b")));
	}
});

// Regression: each append of the session failed for ever.
test("only the last batch of the own host is removed", async () => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), entries("a", 1));
	const file = join(path, logOf("a"));
	const first = readFileSync(file);
	await append(openDirectory(path), entries("b", 3), cursor);
	const second = readFileSync(file).subarray(first.length);
	const without = (from: number, to: number) =>
		Buffer.concat([second.subarray(0, from), Buffer.alloc(to - from), second.subarray(to)]);
	const content = second.indexOf("\n") + 1;
	// After a power failure, bytes that were not on the disk are zeros: of lines and their ends, or of the beginning.
	for (const damaged of [
		without(content + 10, second.length - 10),
		without(0, 60),
		without(0, content + 10),
		without(0, second.length - 1),
	]) {
		writeFileSync(file, Buffer.concat([first, damaged]));
		expect((await loadAll(openDirectory(path, "reader"), SESSION)).problems).toHaveLength(1);
		expect((await append(openDirectory(path), [...entries("b", 3), entry("c")], cursor)).stored).toBe(4);
		const page = await loadAll(openDirectory(path, "reader"), SESSION);
		expect([ids(page), page.problems]).toEqual([["a0", "b0", "b1", "b2", "c"], []]);
		writeFileSync(file, Buffer.concat([first, damaged, batchOf(entries("d", 1), { clock: 3, prev: "x" })]));
		const size = fs.statSync(file).size;
		expect(await failure(append(openDirectory(path), [entry("c")], cursor))).toMatchObject({ code: "failed" });
		expect(fs.statSync(file).size).toBe(size);
	}
});

// Regression: the cursor of a load passed it, and after that it was never checked again.
test.each(["an append", "a load"])("%s removes a line that was redacted during a kill", async (next) => {
	const path = emptyDirectory();
	const { cursor } = await append(openDirectory(path), [entry("a")]);
	const hash = hashOf(entry("secret"));
	let [isOver, begun] = [false, () => {}];
	const written = new Promise<void>((resolve) => (begun = resolve));
	const spy = changeOpenedFiles((file, name, flags) => {
		if (!isForWriting(flags) || isOver || !name.endsWith(".lines")) return;
		isOver = true;
		const write = file.write.bind(file);
		file.write = async (...rest: any[]) => {
			await openDirectory(path, "b").redact(SESSION, [{ hash }]);
			await write(...rest);
			await file.close();
			begun();
			return new Promise(() => {});
		};
	});
	// Its directory of locks differs from that of the process after it, because its locks would end with it.
	const appended = new DirectoryStore({ path, host: "a", locks: join(path, "locks") }).append(SESSION, {
		header: header(),
		lines: [entry("secret")],
		after: cursor,
	});
	// It ends only after a failure.
	await Promise.race([written, appended]);
	spy.mockRestore();
	const after = next === "a load" ? (await loadAll(openDirectory(path), SESSION, cursor)).cursor : cursor;
	expect((await append(openDirectory(path), [entry("b")], after)).stored).toBe(1);
	expect(readFileSync(join(path, logOf("a")), "utf8")).not.toContain('"secret"');
	expect(ids(await loadAll(openDirectory(path, "reader"), SESSION))).toEqual(["a", "b"]);
});

/**
 * From its change number `at` on, no call reaches the file system, as if the process had been killed or the disk were
 * full.
 */
function dieAt(at: number, isFull = false): { died: Promise<void> } {
	let changes = 0;
	let dead: () => void;
	const died = new Promise<void>((resolve) => (dead = resolve));
	const full = () => Promise.reject(systemError("ENOSPC", "no space left on device"));
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
		if (!isForWriting(args[1])) return openFile(...args);
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

test.each([0, 3])("a killed append can be repeated (after %i lines)", async (count) => {
	const before = emptyDirectory();
	let after: string | undefined;
	for (const line of entries("n", count)) after = (await append(openDirectory(before), [line], after)).cursor;
	const old = entries("n", count).map((_, at) => `n${at}`);
	let [finished, kills] = [false, 0];
	for (let at = 1; !finished; at++) {
		const path = emptyDirectory();
		cpSync(before, path, { recursive: true });
		const { died } = dieAt(at);
		// The locks of a process end with it, but this process has not ended.
		const store = new DirectoryStore({ path, host: "a", locks: join(path, `locks-${at}`) });
		const work = store
			.append(SESSION, { header: header(), lines: entries("x", 2), after })
			.then(() => (finished = true));
		await Promise.race([work, died]);
		await new Promise((resolve) => setTimeout(resolve, 5));
		vi.restoreAllMocks();
		kills++;
		const page = await loadAll(openDirectory(path, "reader"), SESSION);
		expect(page.problems, `killed at change ${at}`).toEqual([]);
		const isNew = page.lines.length > old.length;
		expect(ids(page), `killed at change ${at}`).toEqual(isNew ? [...old, "x0", "x1"] : old);
		expect((await append(openDirectory(path), entries("x", 2), after)).stored, `killed at change ${at}`).toBe(
			isNew ? 0 : 2,
		);
		expect(ids(await loadAll(openDirectory(path, "reader"), SESSION))).toEqual([...old, "x0", "x1"]);
	}
	// An existing log is written at one place.
	expect(kills).toBeGreaterThan(count === 0 ? 10 : 1);
});

test.each([false, true])("the next deletion finishes an interrupted one (full disk: %s)", async (isFull) => {
	const before = emptyDirectory();
	const hash = hashOf(entry("a1"));
	await append(openDirectory(before), entries("a", 3));
	await openDirectory(before).redact(SESSION, [{ hash, line: entry("masked") }]);
	let [finished, stops] = [false, 0];
	const outcomes = new Set<string>();
	for (let at = 1; !finished; at++) {
		const path = emptyDirectory();
		cpSync(before, path, { recursive: true });
		const { died } = dieAt(at, isFull);
		const store = new DirectoryStore({ path, host: "a", locks: join(path, `locks-${at}`) });
		let error: unknown;
		const work = store.delete(SESSION).then(
			() => (finished = true),
			(thrown) => (error = thrown),
		);
		await (isFull ? work : Promise.race([work, died]));
		await new Promise((resolve) => setTimeout(resolve, 5));
		vi.restoreAllMocks();
		stops++;
		if (isFull && !finished) expect(error, `stopped at change ${at}`).toMatchObject({ code: "full" });
		const { sessions, deleted, problems } = await openDirectory(path, "b").list();
		expect([sessions.length + deleted.length, problems], `stopped at change ${at}`).toEqual([1, []]);
		outcomes.add(deleted.length > 0 ? "deleted" : "there");
		expect(ids(await loadAll(openDirectory(path, "b"), SESSION))).toEqual(
			deleted.length > 0 ? [] : ["a0", "masked", "a2"],
		);
		await openDirectory(path).delete(SESSION);
		expect((await openDirectory(path, "b").list()).deleted).toMatchObject([{ session: SESSION }]);
		expect(
			filesOf(path).filter((name) => name.endsWith(".lines") || readFileSync(join(path, name)).includes("masked")),
		).toEqual([]);
	}
	expect([stops > 5, [...outcomes].sort()]).toEqual([true, ["deleted", "there"]]);
});
