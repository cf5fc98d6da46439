// What one machine redacts or deletes, and what the others do then. With each kind of store.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { type LineStore, StoreError, loadAll } from "../../../lib/store/index.js";
import { SESSION, header } from "../../support/lines.js";
import { text, world } from "../../support/machines.js";
import { inBucket, inDirectory, inPostgres } from "../../support/shared-stores.js";

const FORK = "01972ab8-2280-7be3-8cc7-05ac027b6199";
const said = (id: string, parentId: string | null, content: string) =>
	Buffer.from(JSON.stringify({ type: "message", id, parentId, timestamp: "2025-06-01T09:00:00.000Z", message: { role: "user", content, timestamp: 1 } }));
const SECRET = said("b", "a", "the password is hunter2");
const CLEAN = said("b", "a", "the password is [redacted]");
const stored = async (store: LineStore, session = SESSION) => (await loadAll(store, session)).lines.map(({ line }) => line.toString());

describe.each([["PostgreSQL", inPostgres], ["a bucket", inBucket], ["a directory", inDirectory]])("%s", (_, start) => {
	const machines = async () => {
		const { open } = await start();
		return world(open);
	};

	test("a text that one machine redacts leaves the store, the other machines and their forks, and nobody brings it back", async () => {
		const { machine, begin } = await machines();
		const [a, b, late] = [machine("a"), machine("b"), machine("late")];
		begin(a, said("a", null, "hello"), SECRET, said("c", "b", "and on"));
		await a.sync.push();
		for (const one of [b, late]) await one.sync.pull();
		const fork = join(b.dir, "2025-06-02T09-00-00-000Z_fork.jsonl");
		writeFileSync(fork, text(header(FORK), said("a", null, "hello"), SECRET));
		await b.sync.push();
		expect(await stored(b.store, FORK)).toContain(SECRET.toString());

		expect(await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" })).toMatchObject({ lines: [{ id: "b" }], left: 0 });
		const expected = [said("a", null, "hello"), CLEAN, said("c", "b", "and on")].map(String);
		expect(await stored(a.store)).toEqual(expected);
		expect(readFileSync(a.file, "utf8").trimEnd().split("\n").slice(1)).toEqual(expected);

		expect(await b.sync.pull()).toContainEqual(expect.objectContaining({ session: SESSION, redacted: 2 }));
		await b.sync.push();
		for (const file of [b.file, fork]) expect(readFileSync(file, "utf8")).not.toContain("hunter2");
		expect(await stored(b.store, FORK)).toEqual(expected.slice(0, 2));
		expect(await b.sync.pull()).toMatchObject([{ session: FORK, added: 0, redacted: 0 }]);
		expect(await b.sync.pull()).toEqual([]);

		// A machine that comes back after a year, without its notes.
		rmSync(late.notes, { recursive: true });
		await late.again().push();
		expect(await stored(a.store)).toEqual(expected);
		await late.again().pull();
		expect(readFileSync(late.file, "utf8")).not.toContain("hunter2");
		await late.again().push();
		for (const one of [a, b]) await one.again().pull();
		for (const one of [a, b]) expect(readFileSync(one.file, "utf8").trimEnd().split("\n").slice(1)).toEqual(expected);
		expect(await stored(a.store)).toEqual(expected);
	});

	test("an entry that was redacted while the store was away leaves it before anything else of the session goes there or comes", async () => {
		const { machine, begin } = await machines();
		const [a, b] = [machine("a"), machine("b")];
		begin(a, said("a", null, "hello"), SECRET);
		await a.sync.push();
		await b.sync.pull();
		const away = vi.spyOn(a.store, "redact").mockRejectedValue(new StoreError("unreachable", "away"));
		expect(await a.sync.redact({ session: SESSION, file: a.file }, { entries: ["b"] })).toMatchObject({ lines: [{ id: "b" }], error: { message: "away" } });
		expect(await a.again().pull({ session: SESSION })).toMatchObject([{ error: { message: "away" } }]);
		expect(readFileSync(a.file, "utf8")).not.toContain("hunter2");
		away.mockRestore();
		await a.again().push();
		const expected = [said("a", null, "hello"), said("b", "a", "[redacted]")].map(String);
		expect(await stored(a.store)).toEqual(expected);
		await b.sync.pull();
		expect(readFileSync(b.file, "utf8").trimEnd().split("\n").slice(1)).toEqual(expected);
	});

	test("a session that was deleted from the store is told, stays here, and comes back only if that is asked for", async () => {
		const { machine, begin } = await machines();
		const [a, late] = [machine("a"), machine("late")];
		begin(a, said("a", null, "hello"));
		await a.sync.push();
		await late.sync.pull();
		await a.store.delete(SESSION);
		expect(await a.sync.compare()).toMatchObject({ items: [], deleted: [{ session: SESSION, file: a.file }] });
		rmSync(late.notes, { recursive: true });
		expect(await late.again().push({ session: SESSION })).toMatchObject([{ error: { code: "deleted" } }]);
		expect((await a.store.list()).sessions).toEqual([]);
		expect(readFileSync(late.file, "utf8")).toContain("hello");
		expect(await late.again().push({ session: SESSION, restores: true })).toMatchObject([{ lag: 0 }]);
		expect((await a.store.list()).deleted).toEqual([]);
		expect(await stored(a.store)).toEqual([said("a", null, "hello").toString()]);
	});
});
