// From a store to a session's file, and the sessions of a project in both directions.
import {
	appendFileSync,
	existsSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { api, snapshot } from "../../../../__test__/support/scratch.js";
import { loadAll } from "../../lib/index.js";
import { batchOf, entries, entry, header, logOf, SESSION } from "../support/lines.js";
import { idsIn, linesIn, NAME, text, world } from "../support/machines.js";

const linesOf = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n");

test("a pulled file has the same entries and another directory", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const odd = [
		Buffer.from(' {"type":"x", "id":"odd", "n":1.0e400,"text":"\\ud800"}\t'),
		Buffer.concat([Buffer.from('{"id":"utf8","type":"x","text":"'), Buffer.from([0xff]), Buffer.from('"}')]),
	];
	begin(a, ...odd);
	expect(await a.sync.push()).toMatchObject([{ session: SESSION, lag: 0 }]);
	const [pulled] = await b.sync.pull();
	expect(pulled).toMatchObject({ session: SESSION, file: b.file, isNew: true, added: 2, problems: [] });
	const [first, rest] = [a, b]
		.map(({ file }) => readFileSync(file))
		.map((bytes) => bytes.subarray(bytes.indexOf("\n")));
	expect(rest?.equals(first as Buffer)).toBe(true);
	expect(JSON.parse(linesOf(b.file)[0] as string)).toEqual({ ...JSON.parse(String(header())), cwd: "/home/b/shop" });
	expect(api.SessionManager.open(b.file).getEntryCount()).toBe(2);
	// Regression: other users could read its name.
	if (process.platform !== "win32") expect(statSync(b.dir).mode & 0o777).toBe(0o700);
	expect(await b.sync.pull()).toEqual([]);
	expect(await b.sync.push()).toMatchObject([{ bytes: 0, lag: 0 }]);
});

test("two entries with one id keep one order", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const said = (id: string, content: string, parentId: string | null = "root") =>
		Buffer.from(JSON.stringify({ type: "message", id, parentId, timestamp: "", message: { role: "user", content } }));
	begin(a, said("root", "both", null));
	await a.sync.push();
	await b.sync.pull();
	const apart = [said("0badc0de", "apples"), said("0badc0de", "bananas")];
	for (const [at, { file }] of [a, b].entries()) appendFileSync(file, text(apart[at] as Buffer));
	for (const { sync } of [a, b]) await sync.push();
	for (const { sync } of [b, a]) await sync.pull();
	const stored = (await loadAll(a.store, SESSION)).lines.map(({ line }) => line.toString());
	expect(stored.slice(1).sort()).toEqual(apart.map(String));
	for (const { file } of [a, b]) expect(linesOf(file).slice(1)).toEqual(stored);
	const textsOf = async (dir: string) => {
		const hits = [];
		for (const word of ["apples", "bananas"])
			hits.push(...(await api.SessionManager.search(word, { sessionDir: dir })));
		return hits.map(({ snippet }) => snippet.replace(/[^a-z]/g, "")).sort();
	};
	expect([await textsOf(a.dir), await textsOf(b.dir)]).toEqual([
		["apples", "bananas"],
		["apples", "bananas"],
	]);
	expect(api.SessionManager.verify(a.file).duplicateIds.map(({ id }) => id)).toEqual(["0badc0de"]);
	api.SessionManager.repair(a.file);
	const repaired = api.SessionManager.open(a.file).getEntries() as { id: string; message: { content: string } }[];
	expect(repaired.map(({ message }) => message.content).sort()).toEqual(["apples", "bananas", "both"]);
	expect(new Set(repaired.map(({ id }) => id)).size).toBe(3);
});

/** An entry that was written at a time. */
const at = (id: string, time: string) =>
	Buffer.from(
		`{"type":"message","id":"${id}","parentId":null,"timestamp":"${time}","message":{"role":"user","content":"${id}"}}`,
	);
const timeOf = (file: string) => statSync(file).mtime.toISOString();

// Regression: it got the time of the pull, and pi -c continued it.
test("a pulled file has the time of its newest entry", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	begin(a, at("a1", "2025-06-02T09:00:00.000Z"), at("a0", "2025-06-01T09:00:00.000Z"));
	await a.sync.push();
	const mine = api.SessionManager.create("/home/b/shop", b.dir);
	mine.appendMessage({ role: "user", content: "Hello", timestamp: 1 });
	await b.sync.pull();
	// The host's last line counts as its newest.
	expect(timeOf(b.file)).toBe("2025-06-01T09:00:00.000Z");
	expect(api.findMostRecentSession(b.dir)).toBe(mine.getSessionFile());
	await a.addAndPush(at("a2", "2025-06-03T09:00:00.000Z"));
	expect(await b.sync.pull()).toMatchObject([{ added: 1 }]);
	expect(timeOf(b.file)).toBe("2025-06-03T09:00:00.000Z");
	expect(api.findMostRecentSession(b.dir)).toBe(mine.getSessionFile());
});

test("a pull sets no file's time back or ahead", async () => {
	const { machine, begin } = world();
	const [a, b, c] = [machine("a"), machine("b"), machine("c")];
	begin(a, at("a0", "2025-06-01T09:00:00.000Z"));
	await a.sync.push();
	await b.sync.pull();
	appendFileSync(b.file, text(at("b0", "2025-06-05T09:00:00.000Z")));
	utimesSync(b.file, new Date("2025-06-05T09:00:00.000Z"), new Date("2025-06-05T09:00:00.000Z"));
	await a.addAndPush(at("a1", "2025-06-02T09:00:00.000Z"));
	expect(await b.sync.pull()).toMatchObject([{ added: 1 }]);
	expect(timeOf(b.file)).toBe("2025-06-05T09:00:00.000Z");
	await a.addAndPush(at("a2", "2999-06-02T09:00:00.000Z"));
	await c.sync.pull();
	expect(statSync(c.file).mtimeMs).toBeLessThanOrEqual(Date.now());
});

test("each pull names stored lines that are no entries", async () => {
	const { path, machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	begin(a, entry("root"));
	await a.sync.push();
	const lines = ["{}", "null", "[]", "garbage", "", String(header()), String(entry("good"))].map((line) =>
		Buffer.from(line),
	);
	const odd = logOf("odd", { project: "shop" });
	writeFileSync(join(path, odd), batchOf(lines, { host: "odd", clock: 9 }));
	const problems = [1, 2, 3, 4, 5, 6].map((line) => ({
		session: SESSION,
		where: `${odd}, line ${line} of the batch at 0`,
		message: "it is not an entry",
	}));
	expect(await b.sync.pull()).toMatchObject([{ session: SESSION, added: 2, problems }]);
	const pulled = readFileSync(b.file, "utf8");
	expect(idsIn(b.file)).toEqual(["root", "good"]);
	for (let again = 0; again < 2; again++)
		expect(await b.sync.pull({ session: SESSION })).toMatchObject([{ added: 0, problems }]);
	expect(readFileSync(b.file, "utf8")).toBe(pulled);
});

test("two continuations become two branches on both machines", async () => {
	const { synced } = world();
	const [b, a] = await synced([entry("root")], "b", "a");
	await b.addAndPush(entry("b1"));
	const load = vi.spyOn(a.store, "load");
	await a.sync.pull();
	expect(load.mock.calls.every(([, after]) => after !== undefined)).toBe(true);
	for (const { file } of [a, b]) appendFileSync(file, text(entry(file === a.file ? "a2" : "b2")));
	await b.sync.push();
	await a.sync.push();
	for (const { sync } of [a, b]) await sync.pull();
	for (const { file } of [a, b]) expect(idsIn(file)).toEqual(["root", "b1", "a2", "b2"]);
});

test("an open manager continues its own branch after pulls", async () => {
	const { synced } = world();
	const [b, a] = await synced([entry("root")], "b", "a");
	const manager = api.SessionManager.open(a.file);
	const theirs = async (...lines: Buffer[]) => {
		await b.addAndPush(...lines);
		expect(await a.sync.pull()).toMatchObject([{ added: lines.length }]);
	};
	await theirs(...entries("n", 3));
	const mine = manager.appendCustomEntry("mine");
	expect([manager.getEntryCount(), manager.getEntry(mine)?.parentId]).toEqual([5, "root"]);
	expect(idsIn(a.file)).toEqual(["root", "n0", "n1", "n2", mine]);
	await theirs(entry("more"));
	manager.reload();
	expect([manager.getLeafId(), manager.getEntryCount()]).toEqual([mine, 6]);
	expect(manager.getEntry(manager.appendCustomEntry("next"))?.parentId).toBe(mine);
	// The pulls noted the stored lines, so the next push sends only these two.
	const append = vi.spyOn(a.store, "append");
	await a.sync.push();
	expect(append.mock.calls.map(([, { lines }]) => lines.length)).toEqual([2]);
	await b.sync.pull();
	expect(idsIn(b.file)).toEqual(idsIn(a.file));
});

test("entries with one id are redacted on both machines", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const lineOf = (id: string, parent: string, by: string) =>
		Buffer.from(
			JSON.stringify({
				type: "custom",
				customType: "n",
				data: `hunter2 ${by}`,
				id,
				parentId: parent,
				timestamp: "2025-06-01T10:00:00.000Z",
			}),
		);
	for (const [one, by] of [
		[a, "a"],
		[b, "b"],
	] as const)
		begin(one, entry("root"), lineOf("c0ffee00", "root", by), lineOf(`${by}-child`, "c0ffee00", by));
	await a.sync.push();
	await b.sync.push();
	for (const { sync } of [a, b]) await sync.pull();
	expect(idsIn(b.file)).toEqual(["root", "c0ffee00", "a-child", "c0ffee00", "b-child"]);
	expect((await b.again().redact({ session: SESSION, file: b.file }, { text: "hunter2" })).lines).toHaveLength(4);
	// No line is stored again, even without notes.
	rmSync(a.notes, { recursive: true });
	for (const one of [a, b, a]) {
		expect(
			await one
				.again()
				.pull()
				.then((all) => all.map(({ error }) => error).filter(Boolean)),
		).toEqual([]);
		expect(await one.again().push()).toMatchObject([{ lag: 0 }]);
	}
	expect(linesIn(a.file)).toEqual(linesIn(b.file));
	expect(idsIn(a.file)).toHaveLength(5);
	expect(readFileSync(a.file, "utf8")).not.toContain("hunter2");
	expect((await a.store.load(SESSION)).lines.map(({ line }) => line.toString()).join()).not.toContain("hunter2");
});

test("a lying header writes nothing outside the session directory", async () => {
	const { path, machine } = world();
	const b = machine("b");
	const lies = {
		timestamp: "../../../../tmp/x",
		cwd: "/etc",
		parentSession: "/home/a/../../etc/passwd",
		__proto__: null,
	};
	await machine("a").store.append(SESSION, {
		header: Buffer.from(JSON.stringify({ type: "session", version: 3, id: SESSION, ...lies })),
		lines: [entry("x")],
		project: "shop",
	});
	const [result] = await b.sync.pull();
	expect(result).toMatchObject({ isNew: true, added: 1 });
	expect(readdirSync(b.dir)).toEqual([`1970-01-01T00-00-00-000Z_${SESSION}.jsonl`]);
	expect(JSON.parse(linesOf(result?.file as string)[0] as string)).toMatchObject({ cwd: "/home/b/shop" });
	expect(linesOf(result?.file as string)[0]).not.toContain("passwd");
	expect(readdirSync(path).sort()).toEqual(["b", "headers", "lines", "notes-b", "sessions", "store.json"]);
});

test("a parent session that is here is found here", async () => {
	const { machine } = world();
	const [a, b] = [machine("a"), machine("b")];
	const parent = `/home/a/.pi/sessions/--home-a-shop--/${NAME}`;
	await a.store.append(SESSION, { header: header(), lines: [entry("x")], project: "shop" });
	// The second is the name in versions 1 and 2, which a migration keeps.
	for (const field of ["parentSession", "branchedFrom"])
		await a.store.append(field, {
			header: Buffer.from(
				JSON.stringify({
					type: "session",
					version: 3,
					id: field,
					timestamp: "2025-06-02T09:00:00.000Z",
					[field]: parent,
				}),
			),
			lines: [entry("x")],
			project: "shop",
		});
	await b.sync.pull();
	for (const field of ["parentSession", "branchedFrom"])
		expect(JSON.parse(linesOf(join(b.dir, `2025-06-02T09-00-00-000Z_${field}.jsonl`))[0] as string)[field]).toBe(
			b.file,
		);
});

test("unusable sessions are named, and files stay unchanged", async () => {
	const { path, machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	await a.store.append("old", {
		header: Buffer.from('{"type":"session","version":1,"id":"old"}'),
		lines: [entry("x")],
		project: "shop",
	});
	begin(a, entry("x"));
	await a.sync.push();
	// Here one file is now another session's; one is locked.
	begin(b, entry("mine"));
	const holder = api.SessionManager.open(b.file, { lock: "exclusive" });
	holder.appendCustomEntry("x");
	const before = snapshot(b.dir);
	const results = await b.sync.pull();
	expect(results.map(({ session, error }) => [session, error?.message])).toEqual([
		[SESSION, expect.stringContaining("locked by process")],
		["old", expect.stringContaining("The session has version 1")],
	]);
	expect(snapshot(b.dir)).toEqual(before);
	holder.close();
	writeFileSync(join(path, "store.json"), '{"store":"pi-session-native","version":99}\n');
	const newer = machine("c");
	await expect(newer.sync.pull()).rejects.toMatchObject({ code: "newer-schema" });
	expect(existsSync(newer.dir)).toBe(false);
});

test("sessions of a later version are neither stored nor pulled", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	const newer = String(header()).replace('"version":3', '"version":4');
	const said = "The session has version 4, and this release knows version 3: install a newer pi-session-native";
	begin(a);
	writeFileSync(a.file, text(newer, entry("x")));
	expect(await a.sync.push()).toEqual([]);
	expect((await a.pushFile())?.message).toBe(said);
	expect((await b.store.list()).sessions).toEqual([]);
	await b.store.append(SESSION, { header: Buffer.from(newer), lines: [entry("x")], project: "shop" });
	expect(await b.sync.pull()).toMatchObject([{ error: { code: "invalid", message: said } }]);
	expect(existsSync(b.file)).toBe(false);
});

test("a shared directory's files of other projects are not pushed", async () => {
	const { machine, begin } = world();
	const a = machine("a", { isShared: true });
	begin(a, entry("x"));
	expect(await a.sync.push()).toEqual([]);
	writeFileSync(a.file, text(String(header()).replace("/home/me", "/home/a"), entry("x")));
	expect(await a.sync.push()).toMatchObject([{ session: SESSION }]);
});

test("a file restored from a copy gets its lines again", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("first"));
	await a.sync.push();
	const copy = readFileSync(a.file);
	await a.addAndPush(entry("late"));
	await a.sync.pull();
	for (const restored of [a.file, `${a.file}.old`]) {
		expect((await a.sync.compare()).items).toMatchObject([{ state: "same" }]);
		writeFileSync(restored, copy);
		renameSync(restored, a.file);
		expect((await a.sync.compare()).items).toMatchObject([{ state: "changed" }]);
		expect(await a.sync.pull()).toMatchObject([{ added: 1, problems: [] }]);
		expect(idsIn(a.file)).toEqual(["first", "late"]);
	}
});
