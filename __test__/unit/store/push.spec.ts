// From a session's file to a store.
import { appendFileSync, promises, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { type Append, DirectoryStore, type LineStore, StoreError, loadAll } from "../../../lib/store/index.js";
import { SESSION, emptyDirectory, entries, entry, header, ids, library } from "../../support/lines.js";

const { Push } = createRequire(library)("./push.js");
afterEach(() => vi.restoreAllMocks());

const text = (...lines: Buffer[]) => lines.map((line) => `${line}\n`).join("");
const patient = { timeout: 500_000 };

/** A file, a store, and what was appended to it. */
function setup(lines: Buffer[] = []) {
	const path = emptyDirectory();
	const file = join(path, "session.jsonl");
	writeFileSync(file, text(header(), ...lines));
	const store = new DirectoryStore({ path, host: "a" });
	const portions: string[][] = [];
	const real = store.append.bind(store);
	store.append = async (session, what: Append) => {
		portions.push(what.lines.map((line) => JSON.parse(String(line)).id));
		return real(session, what);
	};
	const errors: Error[] = [];
	let note: unknown;
	const push = (more = {}) => new Push({ store, session: SESSION, file, retry: 1, poll: 1, readNote: () => note, onNote: (one: unknown) => (note = one), onError: (error: Error) => errors.push(error), ...more });
	return { path, file, store: store as LineStore, portions, errors, push, noteOf: () => note as { offset: number }, forget: () => (note = undefined) };
}

test("what the file holds is stored, and what other processes append to it", async () => {
	const { file, store, portions, push } = setup(entries("a", 2));
	const one = push({ project: "shop" });
	expect(await one.flush(patient)).toBe(true);
	expect(one.lag()).toBe(0);
	appendFileSync(file, `${text(...entries("b", 1))}\nno JSON\n{"type":"session","id":"x"}\n${text(entry("c"))}{"type":"message","id":"unfin`);
	expect(one.lag()).toBeGreaterThan(0);
	expect(await one.flush(patient)).toBe(true);
	appendFileSync(file, 'ished"}\n');
	// Another process, with the note of the first.
	expect(await push().flush(patient)).toBe(true);
	expect(portions).toEqual([["a0", "a1"], ["b0", "c"], ["unfinished"]]);
	const [session] = (await store.list()).sessions;
	expect([String(session?.header), session?.project]).toEqual([String(header()), "shop"]);
});

test("a long file goes in portions of a megabyte; a longer line goes alone", async () => {
	const long = (id: string, bytes: number) => Buffer.from(`{"type":"message","id":"${id}","text":"${"x".repeat(bytes)}"}`);
	const { portions, push, store } = setup([...Array.from({ length: 5 }, (_, at) => long(`n${at}`, 400_000)), long("big", 3_000_000), entry("end")]);
	expect(await push().flush(patient)).toBe(true);
	expect(portions).toEqual([["n0", "n1"], ["n2", "n3"], ["n4"], ["big", "end"]]);
	expect((await loadAll(store, SESSION)).lines).toHaveLength(7);
});

test("a line that is too long for the store is told and skipped, and what comes after it is stored", async () => {
	const { push, store, file, errors, portions } = setup([entry("a"), entry("x".repeat(3000)), entry("b")]);
	Object.defineProperty(store, "longestLine", { value: 1000 });
	const skipped: Error[] = [];
	const one = push({ onSkipped: (error: Error) => skipped.push(error) });
	expect(await one.flush(patient)).toBe(true);
	expect([portions, errors, one.lag()]).toEqual([[["a", "b"]], [], 0]);
	expect(skipped).toMatchObject([{ name: "StoreError", code: "invalid", message: expect.stringMatching(/a line of 3042 bytes is longer than the 1000 that this store takes; it begins with .*xxx/) }]);
	appendFileSync(file, text(entry("c")));
	expect(await one.flush(patient)).toBe(true);
	expect([portions.at(-1), skipped.length]).toEqual([["c"], 1]);
});

test("without its note it stores what is not there; with one of another file too", async () => {
	const { file, store, portions, push, forget } = setup(entries("a", 3));
	expect(await push().flush(patient)).toBe(true);
	forget();
	appendFileSync(file, text(entry("b")));
	expect(await push().flush(patient)).toBe(true);
	// A pull brought the lines into another order.
	const lines = readFileSync(file, "utf8").trimEnd().split("\n");
	writeFileSync(file, `${[lines[0], ...lines.slice(1).reverse()].join("\n")}\n${text(entry("c"))}`);
	expect(await push().flush(patient)).toBe(true);
	expect(portions).toEqual([["a0", "a1", "a2"], ["b"], ["c"]]);
	expect(ids(await loadAll(store, SESSION))).toEqual(["a0", "a1", "a2", "b", "c"]);
});

test("what fails is told and tried again until it is stored", async () => {
	const { file, store, errors, push } = setup(entries("a", 1));
	const one = push();
	await one.flush(patient);
	const real = store.append.bind(store);
	let left = 6;
	store.append = async (...args) => {
		if (left-- > 3) throw new StoreError("unreachable", "no answer");
		const appended = await real(...args);
		// It was stored, and the answer never came.
		if (left >= 0) throw new StoreError("unreachable", "cut");
		return appended;
	};
	appendFileSync(file, text(entry("b")));
	one.follow();
	await vi.waitFor(() => expect(one.lag()).toBe(0), { timeout: 500_000 });
	expect(errors.map(({ message }) => message)).toEqual(["no answer", "no answer", "no answer", "cut", "cut", "cut"]);
	expect(ids(await loadAll(store, SESSION))).toEqual(["a0", "b"]);
	await one.stop();
});

test("what is appended while a portion is under way goes at once when that is stored", async () => {
	const { file, store, portions, push } = setup(entries("a", 1));
	const one = push();
	const stat = vi.spyOn(promises, "stat");
	const looksAtFile = () => stat.mock.calls.filter(([path]) => path === file).length;
	const real = store.append.bind(store);
	store.append = async (...args) => {
		store.append = real;
		appendFileSync(file, text(entry("late"), entry("later")));
		// The second look from now on begins after this.
		const before = looksAtFile();
		await vi.waitFor(() => expect(looksAtFile()).toBeGreaterThan(before + 2), { timeout: 500_000, interval: 1 });
		return real(...args);
	};
	one.follow();
	await vi.waitFor(() => expect(portions.flat()).toContain("later"), { timeout: 500_000, interval: 1 });
	await one.stop();
	expect(portions).toEqual([["a0"], ["late", "later"]]);
});

test("a flush gives up when its time is over, and the store's answer still counts", async () => {
	const { store, push, noteOf } = setup(entries("a", 1));
	const real = store.append.bind(store);
	let answer: () => void = () => {};
	const asked = new Promise<void>((begun) => {
		store.append = async (...args) => {
			begun();
			await new Promise<void>((resolve) => (answer = resolve));
			return real(...args);
		};
	});
	const one = push();
	expect(await one.flush({ timeout: 50 })).toBe(false);
	expect(noteOf()).toBeUndefined();
	await asked;
	answer();
	store.append = real;
	await one.stop();
	expect(noteOf()?.offset).toBe(text(header(), ...entries("a", 1)).length);
});

// Regression: it did.
test("a flush that is stopped does not say that everything is stored", async () => {
	const long = (id: string) => Buffer.from(`{"type":"message","id":"${id}","text":"${"x".repeat(800_000)}"}`);
	const { store, push, portions } = setup([long("a"), long("b")]);
	const one = push();
	let stopped: Promise<void> | undefined;
	const real = store.append.bind(store);
	store.append = async (...args) => {
		stopped = one.stop();
		return real(...args);
	};
	expect(await one.flush(patient)).toBe(false);
	await stopped;
	expect([portions, one.lag() > 0]).toEqual([[["a"]], true]);
});

test("a session that was deleted from the store is not put back", async () => {
	const { file, store, errors, push } = setup(entries("a", 1));
	const one = push();
	await one.flush(patient);
	await store.delete(SESSION);
	appendFileSync(file, text(entry("b")));
	expect(await one.flush(patient)).toBe(false);
	expect(errors).toMatchObject([{ code: "deleted" }]);
	expect((await store.list()).sessions).toEqual([]);
});

test("a killed push is gone on with by the next one, from any of its notes", async () => {
	const all = entries("n", 40);
	const { file, store, push } = setup();
	const notes: unknown[] = [undefined];
	for (let at = 0; at < all.length; at += 4) {
		appendFileSync(file, text(...all.slice(at, at + 4)));
		let note = notes[(at * 7) % notes.length];
		const one = push({ readNote: () => note, onNote: (one: unknown) => notes.push((note = one)) });
		expect(await one.flush(patient)).toBe(true);
	}
	expect(ids(await loadAll(store, SESSION))).toEqual(all.map((_, at) => `n${at}`));
});

// Regression: it counted as stored, or so much of it as had been before.
test("a file that became shorter is not known to be stored, though it grew again", async () => {
	const { file, push } = setup(entries("a", 2));
	const one = push();
	await one.flush(patient);
	for (const lines of [[entry("b")], entries("b", 2), entries("c", 3)]) {
		writeFileSync(file, text(header(), ...lines));
		expect(one.lag()).toBe(readFileSync(file).length);
		await one.flush(patient);
		expect(one.lag()).toBe(0);
	}
});
