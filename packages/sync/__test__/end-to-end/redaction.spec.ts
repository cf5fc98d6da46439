// The effect of a redaction or a deletion on other machines. With each kind of store.
import fs, { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { api, scratch } from "../../../../__test__/support/scratch.js";
import { SessionSync, StoreError } from "../../lib/index.js";
import { header, SESSION, said, storedLines } from "../support/lines.js";
import { linesIn, text, world } from "../support/machines.js";
import { systemError } from "../support/opened-files.js";
import { inBucket, inDirectory, inPostgres } from "../support/shared-stores.js";

const FORK = "01972ab8-2280-7be3-8cc7-05ac027b6199";
const OTHER = "01972ab8-2280-7be3-8cc7-05ac027b61aa";
const label = (id: string, parentId: string, targetId: string) =>
	Buffer.from(
		JSON.stringify({ type: "label", id, parentId, timestamp: "2025-06-01T09:00:00.000Z", targetId, label: "here" }),
	);
const SECRET = said("b", "a", "the password is hunter2");
const CLEAN = said("b", "a", "the password is [redacted]");
type Machine = ReturnType<ReturnType<typeof world>["machine"]>;

describe.each([
	["PostgreSQL", inPostgres],
	["a bucket", inBucket],
	["a directory", inDirectory],
])("%s", (_, start) => {
	const machines = async () => {
		const { open } = await start();
		return world(open);
	};

	// Regression: the replacements of lines that were not pushed went to the store with the redaction.
	test("a redaction sends no lines that a secret holds back", async () => {
		const { machine, begin } = await machines();
		const a = machine("a");
		const sync = new SessionSync({
			...a.options,
			secretIn: (line: Uint8Array) => (Buffer.from(line).includes("sk-key") ? "a key" : undefined),
		});
		begin(
			a,
			said("a", null, "hello customer"),
			said("b", "a", "sk-key of a customer"),
			said("c", "b", "held back, too: customer"),
		);
		await sync.push();
		await sync.redact({ session: SESSION, file: a.file }, { text: "customer" });
		expect(readFileSync(a.file, "utf8")).not.toContain("customer");
		await sync.push();
		const held = (lines: (string | undefined)[]) => lines.filter((line) => /sk-key|held back/.test(line ?? ""));
		expect(await storedLines(a.store)).toEqual([said("a", null, "hello [redacted]").toString()]);
		expect(held((await a.store.redactions(SESSION)).map(({ line }) => line?.toString()))).toEqual([]);
	});

	// Regression: if one fork could not be redacted, no session with a redaction was pulled.
	test("a file that cannot be redacted delays only its session", async () => {
		const { machine, begin } = await machines();
		const [a, b] = [machine("a"), machine("b")];
		const other = join(a.dir, "2025-06-03T09-00-00-000Z_other.jsonl");
		begin(a, said("a", null, "hello"), SECRET);
		writeFileSync(other, text(header(OTHER), said("x", null, "the password is hunter3")));
		await a.sync.push();
		await b.sync.pull();
		const fork = join(b.dir, "2025-06-02T09-00-00-000Z_fork.jsonl");
		writeFileSync(fork, text(header(FORK), said("a", null, "hello"), SECRET));
		await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
		await a.sync.redact({ session: OTHER, file: other }, { text: "hunter3" });
		const { redact } = api.SessionManager;
		const spy = vi.spyOn(api.SessionManager, "redact").mockImplementation((file, what) => {
			if (file === fork && !what.dryRun) throw new Error("it is read-only");
			return redact(file, what);
		});
		const pulled = await b.again().pull();
		spy.mockRestore();
		expect(pulled.find(({ session }) => session === OTHER)).toMatchObject({ redacted: 1 });
		expect(pulled.find(({ session }) => session === OTHER)?.error).toBeUndefined();
		expect(pulled.find(({ session }) => session === SESSION)?.error?.message).toBe("it is read-only");
		expect((await b.again().pull()).find(({ session }) => session === SESSION)?.error).toBeUndefined();
		expect(readFileSync(fork, "utf8")).not.toContain("hunter2");
	});

	test("a redacted text leaves store, machines and forks for ever", async () => {
		const { synced } = await machines();
		const [a, b, late] = await synced([said("a", null, "hello"), SECRET, said("c", "b", "and on")], "a", "b", "late");
		const fork = join(b.dir, "2025-06-02T09-00-00-000Z_fork.jsonl");
		writeFileSync(fork, text(header(FORK), said("a", null, "hello"), SECRET));
		await b.sync.push();
		expect(await storedLines(b.store, FORK)).toContain(SECRET.toString());

		expect(await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" })).toMatchObject({
			lines: [{ id: "b" }],
			left: 0,
		});
		const expected = [said("a", null, "hello"), CLEAN, said("c", "b", "and on")].map(String);
		expect(await storedLines(a.store)).toEqual(expected);
		expect(linesIn(a.file)).toEqual(expected);

		const pulled = await b.sync.pull();
		expect(pulled).toContainEqual(expect.objectContaining({ session: SESSION, redacted: 1 }));
		// Regression: its line was counted as one of the other session, and nothing named it.
		expect(pulled.at(-1)).toMatchObject({ session: FORK, file: fork, isNew: false, added: 0, redacted: 1 });
		await b.sync.push();
		for (const file of [b.file, fork]) expect(readFileSync(file, "utf8")).not.toContain("hunter2");
		expect(await storedLines(b.store, FORK)).toEqual(expected.slice(0, 2));
		expect(await b.sync.pull()).toMatchObject([{ session: FORK, added: 0, redacted: 0 }]);
		expect(await b.sync.pull()).toEqual([]);

		// A machine that returns after a year, without its notes.
		rmSync(late.notes, { recursive: true });
		await late.again().push();
		expect(await storedLines(a.store)).toEqual(expected);
		await late.again().pull();
		expect(readFileSync(late.file, "utf8")).not.toContain("hunter2");
		await late.again().push();
		for (const one of [a, b]) await one.again().pull();
		for (const one of [a, b]) expect(linesIn(one.file)).toEqual(expected);
		expect(await storedLines(a.store)).toEqual(expected);
	});

	// Regression: this machine's former version of the entry had the id of the stored one and could not be stored, so the
	// pull failed.
	test("an entry redacted during a pull is redacted here, too", async () => {
		const { synced } = await machines();
		const [a, b] = await synced([said("a", null, "hello"), SECRET], "a", "b");
		// It loads everything.
		rmSync(b.notes, { recursive: true });
		const load = b.store.load.bind(b.store);
		vi.spyOn(b.store, "load").mockImplementationOnce(async (...args) => {
			await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
			return load(...args);
		});
		for (let times = 0; times < 2; times++)
			expect((await b.again().pull({ session: SESSION })).map(({ error }) => error)).toEqual([undefined]);
		const clean = [said("a", null, "hello"), CLEAN].map(String);
		expect(linesIn(b.file)).toEqual(clean);
		await b.again().push();
		expect(await storedLines(b.store)).toEqual(clean);
	});

	// Regression: the line of the later one was stored as another entry, with the text that the first one had redacted.
	test.each(["push", "pull", "redact"] as const)(
		"an entry with two offline redactions loses both texts (%s)",
		async (how) => {
			const { synced } = await machines();
			const [a, b, c] = await synced(
				[said("a", null, "hello"), said("b", "a", "hunter2 and swordfish"), said("c", "b", "and on")],
				"a",
				"b",
				"c",
			);
			for (const [one, secret] of [
				[a, "hunter2"],
				[b, "swordfish"],
			] as const) {
				vi.spyOn(one.store, "redact").mockRejectedValueOnce(new StoreError("unreachable", "away"));
				expect((await one.sync.redact({ session: SESSION, file: one.file }, { text: secret })).error?.message).toBe(
					"away",
				);
			}
			await a.again().push();
			if (how === "redact") await b.again().redact({ session: SESSION, file: b.file }, { text: "something else" });
			else await b.again()[how]();
			for (const one of [a, b, c, a, b, c]) expect((await one.again().pull()).filter(({ error }) => error)).toEqual([]);
			for (const one of [a, b, c]) await one.again().push();
			const all = await storedLines(a.store);
			expect(all.map((line) => JSON.parse(line).id)).toEqual(["a", "b", "c"]);
			for (const one of [a, b, c]) expect(linesIn(one.file)).toEqual(all);
			expect(all.join()).not.toMatch(/hunter2|swordfish/);
			for (const { line } of await a.store.redactions(SESSION)) expect(String(line)).not.toMatch(/hunter2|swordfish/);
		},
	);

	test("after several redactions every machine has the last replacement", async () => {
		const { synced } = await machines();
		const [a, b, late] = await synced(
			[said("a", null, "hello"), said("b", "a", "hunter2 and swordfish, for me"), said("c", "b", "and on")],
			"a",
			"b",
			"late",
		);
		const redact = async (
			one: Machine,
			what: { text?: string; entries?: string[]; replacement?: string },
			left: string,
		) => {
			expect((await one.again().redact({ session: SESSION, file: one.file }, what)).error).toBeUndefined();
			const expected = [said("a", null, "hello"), said("b", "a", left), said("c", "b", "and on")].map(String);
			expect(await storedLines(a.store)).toEqual(expected);
			return expected;
		};
		await redact(a, { text: "hunter2" }, "[redacted] and swordfish, for me");
		await b.again().pull();
		const twice = await redact(b, { text: "swordfish", replacement: "***" }, "[redacted] and ***, for me");
		// One machine has the first line and no notes, another machine has the second line.
		rmSync(late.notes, { recursive: true });
		await late.again().push();
		for (const one of [late, a]) expect((await one.again().pull()).filter(({ error }) => error)).toEqual([]);
		for (const one of [a, b, late]) expect(linesIn(one.file)).toEqual(twice);
		// The second line is redacted a third time, and so is the replacement of the first line.
		const last = await redact(late, { entries: ["b"] }, "[redacted]");
		for (const { line } of await a.store.redactions(SESSION)) expect(String(line)).toBe(last[1]);
		for (const one of [a, b]) expect((await one.again().pull()).filter(({ error }) => error)).toEqual([]);
		for (const one of [a, b, late]) {
			await one.again().push();
			expect(linesIn(one.file)).toEqual(last);
		}
		expect(await storedLines(a.store)).toEqual(last);
	});

	// Regression: a fork that moved an entry below another one kept its text, and so did forks in other directories.
	test("copies in every fork of every directory are redacted", async () => {
		const { synced } = await machines();
		const [a, b] = await synced(
			[said("a", null, "hello"), label("l", "a", "a"), said("b", "l", "the password is hunter2")],
			"a",
			"b",
		);
		// Like `fork --entry` and pi's forks: without the label.
		const fork = join(b.dir, "2025-06-02T09-00-00-000Z_fork.jsonl");
		const elsewhere = join(scratch(), "other.jsonl");
		const unlike = said("b", "a", "hunter2, edited by hand");
		const theirs = Buffer.from(SECRET.toString().replace("T09", "T10"));
		writeFileSync(fork, text(header(FORK), said("a", null, "hello"), SECRET, said("d", "b", "d")));
		writeFileSync(elsewhere, text(header("elsewhere"), unlike, said("e", "b", "e")));
		writeFileSync(join(b.dir, "theirs.jsonl"), text(header("theirs"), theirs));
		await b.sync.push({ session: FORK });
		const again = () => new SessionSync({ ...b.options, otherFiles: () => [elsewhere] });
		await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
		// It was deleted here, but its fork still exists here.
		rmSync(b.file);
		await again().pull();
		expect(readFileSync(fork, "utf8")).toBe(text(header(FORK), said("a", null, "hello"), CLEAN, said("d", "b", "d")));
		expect(readFileSync(elsewhere, "utf8")).toBe(
			text(header("elsewhere"), said("b", "a", "[redacted]"), said("e", "b", "e")),
		);
		// Another entry with the same id.
		expect(readFileSync(join(b.dir, "theirs.jsonl"), "utf8")).toContain("hunter2");
		expect(existsSync(b.file)).toBe(false);
		await again().push({ session: FORK });
		expect((await storedLines(b.store, FORK)).join("\n")).not.toContain("hunter2");
		// It is taken over once.
		const redactions = vi.spyOn(b.store, "redactions");
		await again().pull({ items: (await again().compare()).items.filter(({ session }) => session === SESSION) });
		expect(redactions).not.toHaveBeenCalled();
	});

	// Regression: they kept the redacted text, without a message.
	test("a pull redacts files that no store accepts", async () => {
		const { synced } = await machines();
		const [a, b] = await synced([said("a", null, "hello"), SECRET], "a", "b");
		const fork = (first: string) => text(first, said("a", null, "hello"), SECRET);
		const old = header(FORK)
			.toString()
			.replace(/"version":3/, '"version":2');
		const headers = {
			damaged: `{"type":"mess\n\n${header(FORK)}`,
			old,
			newer: old.replace('"version":2', '"version":4'),
			odd: header("../odd").toString(),
		};
		for (const [name, first] of Object.entries(headers)) writeFileSync(join(b.dir, `${name}.jsonl`), fork(first));
		const others = {
			"notes.jsonl": `not a session\n${SECRET}\n`,
			"data.jsonl": `{"of": "something else"}\n${SECRET}\n`,
		};
		for (const [name, content] of Object.entries(others)) writeFileSync(join(b.dir, name), content);
		await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
		const { redact } = api.SessionManager;
		const opening = vi.spyOn(api.SessionManager, "redact").mockImplementation((path, what) => {
			if (path.endsWith("odd.jsonl")) throw systemError("EACCES", `permission denied, open '${path}'`);
			return redact(path, what);
		});
		expect(await b.again().pull()).toMatchObject([
			{ session: SESSION, error: { message: expect.stringMatching(/EACCES.*odd\.jsonl/) } },
			...["damaged", "newer", "old"].map((name) => ({ file: join(b.dir, `${name}.jsonl`), redacted: 1 })),
		]);
		opening.mockRestore();
		expect((await b.again().pull()).map(({ session, file, error }) => ({ session, file, error }))).toEqual([
			{ session: SESSION, file: b.file, error: undefined },
			{ session: "", file: join(b.dir, "odd.jsonl"), error: undefined },
		]);
		const redacted = (first: string) => text(first, said("a", null, "hello"), CLEAN);
		for (const [name, first] of Object.entries(headers))
			expect(readFileSync(join(b.dir, `${name}.jsonl`), "utf8"), name).toBe(redacted(first));
		for (const [name, content] of Object.entries(others))
			expect(readFileSync(join(b.dir, name), "utf8"), name).toBe(content);
	});

	// Regression: the store received the replacements of lines that were written when the session was already private.
	test("a private session sends only redactions of stored lines", async () => {
		const { machine, begin } = await machines();
		const a = machine("a");
		begin(a, said("a", null, "hello"), SECRET);
		await a.sync.push();
		writeFileSync(a.file, text(readFileSync(a.file, "utf8").trimEnd(), said("c", "b", "for nobody else: hunter2")));
		const sync = new SessionSync({ ...a.options, isPrivate: () => true });
		await sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
		expect(readFileSync(a.file, "utf8")).not.toContain("hunter2");
		expect(await storedLines(a.store)).toEqual([said("a", null, "hello"), CLEAN].map(String));
		expect((await a.store.redactions(SESSION)).map(({ line }) => line?.toString())).toEqual([CLEAN.toString()]);
		expect(await sync.pull()).toMatchObject([{ problems: [], added: 0 }]);
		expect(readFileSync(a.file, "utf8")).toContain("for nobody else");
	});

	// Regression: the store knew the hashes, so no machine sent the redaction again, and the bytes stayed. PostgreSQL
	// returned them to every new machine.
	test.each([
		["the next push", "in the file", async (a: Machine) => a.again().push()],
		["the next pull", "in the file", async (a: Machine) => a.again().pull({ session: SESSION })],
		["the next push", "in the store alone", async (a: Machine) => a.again().push()],
		[
			"the command",
			"in the file",
			async (a: Machine) => a.again().redact({ session: SESSION, file: a.file }, { text: "hunter2" }),
		],
		[
			"another machine's command",
			"in the file",
			async (_: Machine, b: Machine) => b.again().redact({ session: SESSION, file: b.file }, { text: "hunter2" }),
		],
	] as const)("%s finishes an interrupted redaction (%s)", async (_, where, finish) => {
		const { open, backupOfLines, holds } = await start();
		const { machine, begin } = world(open);
		const [a, b, fresh] = [machine("a"), machine("b"), machine("fresh")];
		begin(a, said("a", null, "hello"), SECRET);
		await a.sync.push();
		await b.sync.pull();
		if (where === "in the store alone")
			writeFileSync(a.file, readFileSync(a.file, "utf8").replace("hunter2", "[redacted]"));
		const linesBack = await backupOfLines();
		const redact = a.store.redact.bind(a.store);
		const stopped = vi.spyOn(a.store, "redact").mockImplementation(async (session, redactions) => {
			await redact(session, redactions);
			if (redactions.length === 0) return;
			await linesBack();
			throw new StoreError("unreachable", "cut");
		});
		expect((await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" })).error?.message).toBe("cut");
		stopped.mockRestore();
		expect(await holds("hunter2")).toBe(true);
		for (const one of [fresh, b]) {
			await one.again().pull();
			expect(readFileSync(one.file, "utf8")).toBe(
				text(readFileSync(one.file, "utf8").split("\n")[0] as string, said("a", null, "hello"), CLEAN),
			);
		}
		await finish(a, b);
		expect(await holds("hunter2")).toBe(false);
		expect(await storedLines(a.store)).toEqual([said("a", null, "hello"), CLEAN].map(String));
		// No further request is sent to the store.
		const again = vi.spyOn(a.store, "redact");
		await a.again().push();
		if (!_.startsWith("another")) expect(again).not.toHaveBeenCalled();
	});

	test("a session that was deleted from the store stays here", async () => {
		const { synced } = await machines();
		const [a, late] = await synced([said("a", null, "hello")], "a", "late");
		await a.store.delete(SESSION);
		expect(await a.sync.compare()).toMatchObject({ items: [], deleted: [{ session: SESSION, file: a.file }] });
		rmSync(late.notes, { recursive: true });
		expect(await late.again().push({ session: SESSION })).toMatchObject([{ error: { code: "deleted" } }]);
		expect((await a.store.list()).sessions).toEqual([]);
		expect(readFileSync(late.file, "utf8")).toContain("hello");
	});
});

// Regression: the replacement of the redaction that was not used stayed in the directory, and the order of the file
// system decided which one was used.
test.each([
	["hunter2", "swordfish"],
	["swordfish", "hunter2"],
])("an entry with simultaneous redactions loses both texts (%s first)", async (first, second) => {
	const { path, synced } = world();
	const [a, b, c] = await synced(
		[said("a", null, "hello"), said("b", "a", "hunter2 and swordfish"), said("c", "b", "and on")],
		"a",
		"b",
		"c",
	);
	const { link } = fs.promises;
	// The second one searches the redacted lines, and finds nothing.
	vi.spyOn(fs.promises, "link").mockImplementationOnce(async (from, to) => {
		expect((await a.sync.redact({ session: SESSION, file: a.file }, { text: first })).error).toBeUndefined();
		return link(from, to);
	});
	expect((await b.sync.redact({ session: SESSION, file: b.file }, { text: second })).error).toBeUndefined();
	vi.restoreAllMocks();
	for (const one of [a, b, c, a, b, c]) expect((await one.again().pull()).filter(({ error }) => error)).toEqual([]);
	for (const one of [a, b, c]) await one.again().push();
	const all = await storedLines(a.store);
	expect(all.map((line) => JSON.parse(line).id)).toEqual(["a", "b", "c"]);
	for (const one of [a, b, c]) expect(linesIn(one.file)).toEqual(all);
	const files = fs
		.readdirSync(path, { recursive: true, encoding: "utf8" })
		.filter((name) => fs.statSync(join(path, name)).isFile());
	expect(files.filter((name) => /hunter2|swordfish/.test(readFileSync(join(path, name), "utf8")))).toEqual([]);
});
