// A store that was set back: a backup was restored, or a replica took over. With each kind of store.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { message, user } from "../../../../__test__/support/scratch.js";
import { loadAll } from "../../lib/index.js";
import { good, put, team } from "../support/cli.js";
import { append, entries, entry, header, ids, SESSION, storedLines } from "../support/lines.js";
import { idsIn, linesIn, text, world } from "../support/machines.js";
import { inBucket, inDirectory, inPostgres } from "../support/shared-stores.js";

const YOUNGER = "01972ab8-2280-7be3-8cc7-05ac027b6199";
const OTHER = "01972ab8-2280-7be3-8cc7-05ac027b6200";

describe.each([
	["PostgreSQL", inPostgres],
	["a bucket", inBucket],
	["a directory", inDirectory],
])("%s", (_, start) => {
	// Regression: it was reported as deleted, and only a push that was to restore it stored it again.
	test("a restored store gets newer lines, but no deleted session", async () => {
		const { open, backup } = await start();
		const { machine, begin } = world(open);
		const a = machine("a");
		const younger = join(a.dir, "younger.jsonl");
		begin(a, ...entries("x", 2));
		writeFileSync(join(a.dir, "other.jsonl"), text(header(OTHER), entry("o")));
		await a.sync.push();
		await a.store.delete(OTHER);
		const restore = await backup();
		appendFileSync(a.file, text(entry("y")));
		writeFileSync(younger, text(header(YOUNGER), ...entries("n", 3)));
		expect((await a.again().push()).filter(({ error }) => error)).toMatchObject([
			{ session: OTHER, error: { code: "deleted" } },
		]);
		await a.again().pull();
		const local = { session: YOUNGER, file: younger };
		expect(await a.again().lagOf(local)).toBe(0);
		await restore();
		const { deleted } = await machine("a").sync.compare();
		expect(deleted).toMatchObject([{ session: OTHER }]);
		await machine("a").sync.pull();
		expect((await machine("a").sync.push()).filter(({ error }) => error)).toEqual([]);
		const reader = machine("r").store;
		expect(ids(await loadAll(reader, SESSION))).toEqual(["x0", "x1", "y"]);
		expect(ids(await loadAll(reader, YOUNGER))).toEqual(["n0", "n1", "n2"]);
		expect((await loadAll(reader, OTHER)).lines).toEqual([]);
	});

	// Regression: the cursor of such an append had passed none of its lines, so a store that had lost the append accepted
	// that cursor.
	test("a host that only pushes stores its lost lines again", async () => {
		const { open, backup } = await start();
		const { machine, begin } = world(open);
		const [a, b] = [machine("a"), machine("b", { host: "a" })];
		begin(a, entry("x"));
		await a.sync.push();
		const restore = await backup();
		begin(b, entry("x"), entry("y"));
		await b.sync.push();
		appendFileSync(a.file, text(entry("z")));
		await a.again().push();
		expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x", "y", "z"]);
		await restore();
		expect(await machine("a").sync.push()).toMatchObject([{ lag: 0 }]);
		expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x", "z"]);
		// The pull also brings the lines that the push did not check.
		await machine("b").sync.push();
		await machine("a").sync.pull();
		expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x", "z", "y"]);
		expect(readFileSync(a.file, "utf8").match(/"id":"[xyz]"/g)).toHaveLength(3);
	});

	test("a session that is younger than the backup returns", async () => {
		const { open, backup } = await start();
		const { machine, begin } = world(open);
		const a = machine("a");
		await a.store.append(OTHER, { header: header(OTHER), lines: [entry("o")] });
		const restore = await backup();
		begin(a, entry("x"));
		await a.pushFile();
		await restore();
		appendFileSync(a.file, text(entry("y")));
		expect(await a.pushFile()).toBeUndefined();
		expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x", "y"]);
	});

	test("cursors of lost lines are refused", async () => {
		const { open, backup } = await start();
		const a = open("a");
		const kept = (await append(a, entries("a", 2))).cursor;
		const { store } = await a.list();
		const restore = await backup();
		const lost = (await append(a, entries("x", 3), kept)).cursor;
		await restore();
		// Fewer lines than the cursor has passed, as many (with the same last line), and more.
		for (const lines of [entries("y", 1), [entry("z"), entry("x2")], entries("b", 4)]) {
			await expect(a.load(SESSION, lost)).rejects.toMatchObject({ code: "reset" });
			await expect(append(open("a"), entries("n", 1), lost)).rejects.toMatchObject({ code: "reset" });
			await append(open("a"), lines, (await loadAll(a, SESSION)).cursor);
		}
		expect(ids(await a.load(SESSION, kept))).toEqual(["y0", "z", "x2", "b0", "b1", "b2", "b3"]);
		expect((await a.list()).store).toBe(store);
	});

	// Regression: other machines did not get it.
	test.each([
		["another host", "b"],
		["another checkout", "a"],
	])("what is stored after lines of %s outlasts a restore", async (_, host) => {
		const { open, backup } = await start();
		const { machine, begin } = world(open);
		const all = [machine("one", { host: "a" }), machine("two", { host }), machine("reader")] as const;
		const [one, two, reader] = all;
		begin(one, entry("r"));
		await one.sync.push();
		for (const { sync } of [two, reader]) await sync.pull();
		await one.addAndPush(entry("y"));
		const restore = await backup();
		for (const lines of [entries("v", 1), entries("w", 4)]) {
			expect(await two.addAndPush(...lines)).toMatchObject([{ lag: 0 }]);
		}
		await restore();
		for (let round = 0; round < 3; round++)
			for (const { again } of all) {
				const sync = again();
				for (const { error } of [...(await sync.push()), ...(await sync.pull())]) expect(error).toBeUndefined();
			}
		for (const { file } of all) expect(idsIn(file)).toEqual(["r", "y", "v0", "w0", "w1", "w2", "w3"]);
	});

	test("redactions after the backup are repeated before a pull", async () => {
		const { open, backup } = await start();
		const { machine, begin } = world(open);
		const a = machine("a");
		const said = (content: string) => Buffer.from(`{"type":"custom","id":"b","parentId":null,"data":"${content}"}`);
		begin(a, said("hunter2"));
		await a.sync.push();
		const restore = await backup();
		await a.addAndPush(entry("c"));
		await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
		await restore();
		const stored = () => storedLines(machine("r").store);
		expect(await stored()).toEqual([said("hunter2").toString()]);
		await machine("a").sync.pull();
		await machine("a").sync.push();
		const expected = [said("[redacted]"), entry("c")].map(String);
		expect(linesIn(a.file)).toEqual(expected);
		expect(await stored()).toEqual(expected);
	});

	test("the command stores lost sessions again", async () => {
		const { address, env, open, backup } = await start();
		const { laptop: at } = team({ address, env });
		put(at, SESSION, [message("a", null, user("hello"))]);
		await good(at, ["push"]);
		const restore = await backup();
		put(at, YOUNGER, [message("b", null, user("hello"))]);
		await good(at, ["push"]);
		await restore();
		expect(await good(at, ["push"])).toMatch(new RegExp(`stored {2}${YOUNGER}`));
		expect((await open("r").list()).sessions.map(({ session }) => session)).toEqual([SESSION, YOUNGER]);
	});
});
