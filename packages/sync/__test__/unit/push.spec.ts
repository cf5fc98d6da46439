// From a session's file to a store.

import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFilesOf } from "../../../../__test__/support/open-files.js";
import { runtime } from "../../../../__test__/support/runtime.js";
import { testIf } from "../../../../__test__/support/windows.js";
import { type Append, DirectoryStore, type LineStore, loadAll } from "../../lib/index.js";
import { emptyDirectory, entries, entry, header, ids, library, SESSION } from "../support/lines.js";

const { FilePush } = createRequire(library)("./sync/push.js");
const { lagOf } = createRequire(library)("./machine/session-file.js");

const text = (...lines: Buffer[]) => lines.map((line) => `${line}\n`).join("");

/** Nothing was redacted here. */
const noRedactions = { pushUnlessKnown: async () => {}, redactKnownCopies: async () => false, forget: () => {} };

/** A file, a store, and the lines that were appended to it. */
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
	let note: unknown;
	let bytes = 0;
	const skipped: Error[] = [];
	const push = async (more = {}) => {
		const notes = { get: () => note, set: async (_: string, one: unknown) => void (note = one) };
		const filePush = new FilePush(
			{ store, notes, redactions: noRedactions, isPrivate: () => false, ...more },
			{ session: SESSION, file },
		);
		await filePush.run();
		({ bytes } = filePush);
		skipped.push(...(filePush.skipped ? [filePush.skipped] : []));
		return lagOf(file, note);
	};
	return {
		file,
		store: store as LineStore,
		portions,
		skipped,
		push,
		lag: () => lagOf(file, note),
		bytes: () => bytes,
		forget: () => (note = undefined),
	};
}

// Regression: the command printed that everything was stored.
test("a push of a file that became shorter reports its new lines", async () => {
	const { file, portions, push, bytes } = setup(entries("a", 9));
	await push({ project: "shop" });
	expect(bytes()).toBe(statSync(file).size);
	writeFileSync(file, text(header(), ...entries("b", 1)));
	await push({ project: "shop" });
	expect([portions.length, bytes()]).toEqual([2, text(...entries("b", 1)).length]);
	await push({ project: "shop" });
	expect(bytes()).toBe(0);
});

// Regression: the session failed each time, and was not reported as deleted.
test("a project that is not known hides no deletion", async () => {
	const { store, push } = setup(entries("a", 1));
	const projectProblem = "git failed";
	await expect(push({ project: "shop", projectProblem })).rejects.toMatchObject({
		code: "failed",
		retryable: true,
		message: projectProblem,
	});
	await push({ project: "shop" });
	await store.delete(SESSION);
	await expect(push({ project: "shop", projectProblem })).rejects.toMatchObject({ code: "deleted" });
});

test("a push stores the lines that others appended", async () => {
	const { file, store, portions, push, lag } = setup(entries("a", 2));
	expect(await push({ project: "shop" })).toBe(0);
	appendFileSync(
		file,
		`${text(...entries("b", 1))}\nno JSON\n{"type":"session","id":"x"}\n${text(entry("c"))}{"type":"message","id":"unfin`,
	);
	expect(await lag()).toBeGreaterThan(0);
	await push();
	appendFileSync(file, 'ished"}\n');
	expect(await push()).toBe(0);
	expect(portions).toEqual([["a0", "a1"], ["b0", "c"], ["unfinished"]]);
	const [session] = (await store.list()).sessions;
	expect([String(await store.header(SESSION)), session?.project]).toEqual([String(header()), "shop"]);
});

test("a long file is stored in portions of a megabyte", async () => {
	const long = (id: string, bytes: number) =>
		Buffer.from(`{"type":"message","id":"${id}","text":"${"x".repeat(bytes)}"}`);
	const { portions, push, store } = setup([
		...Array.from({ length: 5 }, (_, at) => long(`n${at}`, 400_000)),
		long("big", 3_000_000),
		entry("end"),
	]);
	expect(await push()).toBe(0);
	expect(portions).toEqual([["n0", "n1"], ["n2", "n3"], ["n4"], ["big", "end"]]);
	expect((await loadAll(store, SESSION)).lines).toHaveLength(7);
});

test("a line too long for the store is skipped", async () => {
	const { push, store, file, portions, skipped } = setup([entry("a"), entry("x".repeat(3000)), entry("b")]);
	Object.defineProperty(store, "longestLine", { value: 1000 });
	expect(await push()).toBe(0);
	expect(portions).toEqual([["a", "b"]]);
	expect(skipped).toMatchObject([
		{
			name: "StoreError",
			code: "invalid",
			message: expect.stringMatching(
				/a line of 3042 bytes is longer than the 1000 that this store takes; it begins with .*xxx/,
			),
		},
	]);
	appendFileSync(file, text(entry("c")));
	expect(await push()).toBe(0);
	expect([portions.at(-1), skipped.length]).toEqual([["c"], 1]);
});

test("without a matching note only missing lines are stored", async () => {
	const { file, store, portions, push, forget } = setup(entries("a", 3));
	expect(await push()).toBe(0);
	forget();
	appendFileSync(file, text(entry("b")));
	expect(await push()).toBe(0);
	// A pull changed the order of the lines.
	const lines = readFileSync(file, "utf8").trimEnd().split("\n");
	writeFileSync(file, `${[lines[0], ...lines.slice(1).reverse()].join("\n")}\n${text(entry("c"))}`);
	expect(await push()).toBe(0);
	expect(portions).toEqual([["a0", "a1", "a2"], ["b"], ["c"]]);
	expect(ids(await loadAll(store, SESSION))).toEqual(["a0", "a1", "a2", "b", "c"]);
});

// Regression: it counted as stored completely, or up to its former length.
test("a file that was shortened does not count as stored", async () => {
	const { file, push, lag } = setup(entries("a", 2));
	await push();
	for (const lines of [[entry("b")], entries("b", 2), entries("c", 3)]) {
		writeFileSync(file, text(header(), ...lines));
		expect(await lag()).toBe(readFileSync(file).length);
		expect(await push()).toBe(0);
	}
});

// Regression: each push reported the bytes of a header, or of an unterminated line, as stored. Then the session was
// reported as never pushed, although each push stored nothing.
test("a session without complete entries has nothing to store", async () => {
	const { file, store, push, lag } = setup();
	for (const more of ["", "no JSON\n", "\n", "{}\n", '{"type":"session","id":"x"}\n']) {
		appendFileSync(file, more);
		expect(await lag(), more).toBe(0);
	}
	expect(await push()).toBe(0);
	expect((await store.list()).sessions).toEqual([]);
	appendFileSync(file, String(entry("a")));
	expect(await lag()).toBe(0);
	expect(await push()).toBe(0);
	appendFileSync(file, "\n");
	expect(await lag()).toBe(statSync(file).size);
	expect(await push()).toBe(0);
	expect(ids(await loadAll(store, SESSION))).toEqual(["a"]);
	appendFileSync(file, '{"type":"message","id":"cut');
	expect(await lag()).toBe(0);
});

// Regression: Node ended with SIGABRT. The zeros are like those after a power failure.
test("a line of half a gigabyte of zeros is skipped", async () => {
	const { file, store, push, skipped } = setup([entry("a")]);
	truncateSync(file, statSync(file).size + 560_000_000);
	appendFileSync(file, `\n${text(entry("b"))}`);
	expect(await push()).toBe(0);
	expect(ids(await loadAll(store, SESSION))).toEqual(["a", "b"]);
	// Bun has longer strings, so it reads the line, which is not JSON.
	if (runtime === "bun") return;
	expect(skipped).toMatchObject([{ code: "invalid", message: expect.stringContaining(`${file}: the line at byte`) }]);
});

// Regression: Windows does not replace an open file, and the secret was stored first.
testIf(process.platform === "linux", "the open files are known on Linux alone")(
	"a file is closed before copies in it are redacted",
	async () => {
		const { file, store, portions, push } = setup([entry("secret")]);
		const openThen: unknown[] = [];
		let calls = 0;
		const redactKnownCopies = async (_: object, lines: Buffer[], closeFile: () => Promise<void>) => {
			if (calls++ > 0) return false;
			await closeFile();
			openThen.push(lines.map(String), openFilesOf("self").includes(file), portions.length);
			writeFileSync(file, text(header(), entry("clean")));
			return true;
		};
		await push({ redactions: { ...noRedactions, redactKnownCopies } });
		expect(openThen).toEqual([[String(header()), String(entry("secret"))], false, 0]);
		expect(ids(await loadAll(store, SESSION))).toEqual(["clean"]);
	},
);
