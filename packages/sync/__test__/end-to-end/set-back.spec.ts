// A store that was set back: a backup was restored, or a replica took over. With each kind of store.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { message, user } from "../../../../__test__/support/scratch.js";
import { loadAll } from "../../lib/index.js";
import { world as commandWorld, good, put } from "../support/cli.js";
import { entries, entry, header, ids, SESSION } from "../support/lines.js";
import { text, world } from "../support/machines.js";
import { inBucket, inDirectory, inPostgres } from "../support/shared-stores.js";

const YOUNGER = "01972ab8-2280-7be3-8cc7-05ac027b6199";
const OTHER = "01972ab8-2280-7be3-8cc7-05ac027b6200";

describe.each([
	["PostgreSQL", inPostgres],
	["a bucket", inBucket],
	["a directory", inDirectory],
])("%s", (_, start) => {
	// Regression: it was called deleted, and only a push that was to restore it stored it again.
	test("a restored store gets newer sessions and lines again, but no deleted session", async () => {
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
		await a.again().push();
		await a.again().pull();
		const local = { session: YOUNGER, file: younger };
		expect(await a.again().lagOf(local)).toBe(0);
		await restore();
		const { deleted } = await machine("a").sync.compare();
		expect(deleted).toMatchObject([{ session: OTHER }]);
		await machine("a").sync.pull();
		expect((await machine("a").sync.push()).filter(({ error }) => error)).toMatchObject([
			{ session: OTHER, error: { code: "deleted" } },
		]);
		const reader = machine("r").store;
		expect(ids(await loadAll(reader, SESSION))).toEqual(["x0", "x1", "y"]);
		expect(ids(await loadAll(reader, YOUNGER))).toEqual(["n0", "n1", "n2"]);
		expect((await loadAll(reader, OTHER)).lines).toEqual([]);
	});

	// Regression: the cursor of such an append had passed nothing of it, and a store that had lost it knew that cursor.
	test("lines that were stored after others had stored some are stored again, by a host that only pushes", async () => {
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
		// Nor does the pull lack what the push did not look at.
		await machine("b").sync.push();
		await machine("a").sync.pull();
		expect(ids(await loadAll(machine("r").store, SESSION))).toEqual(["x", "z", "y"]);
		expect(readFileSync(a.file, "utf8").match(/"id":"[xyz]"/g)).toHaveLength(3);
	});

	test("a session that is pushed again and again and is younger than the backup is stored again", async () => {
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

	test("the command stores lost sessions again", async () => {
		const { address, env, open, backup } = await start();
		const at = commandWorld();
		const named = { ...env, PI_SYNC_STORE: address, PI_SYNC_HOST: "a", PI_SYNC_PROJECT: "shop" };
		put(at, SESSION, [message("a", null, user("hello"))]);
		await good(at, ["push"], named);
		const restore = await backup();
		put(at, YOUNGER, [message("b", null, user("hello"))]);
		await good(at, ["push"], named);
		await restore();
		expect(await good(at, ["push"], named)).toMatch(new RegExp(`stored {2}${YOUNGER}`));
		expect((await open("r").list()).sessions.map(({ session }) => session)).toEqual([SESSION, YOUNGER]);
	});
});
