// The store in a real PostgreSQL.

import { readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { loadAll, openStore, PostgresStore, SessionSync, type StoreError } from "../../lib/index.js";
import { conformanceCases } from "../support/conformance.js";
import { crowd } from "../support/crowd.js";
import { append, emptyDirectory, entries, entry, hashOf, header, ids, SESSION } from "../support/lines.js";
import { text, world } from "../support/machines.js";
import {
	admin,
	safeFailure as failure,
	newSchema,
	open,
	opened,
	server,
	transaction,
	untilBlocked,
	withPostgres,
} from "../support/postgres.js";
import { startProxy, type TcpProxy } from "../support/servers.js";

withPostgres();

test.each(conformanceCases)("a store at a URL: $name", async ({ run }) => {
	const schema = newSchema();
	await run({ open: async (host) => opened(await openStore(`${server.url()}?schema=${schema}`, { host })) });
});

test.each(conformanceCases)("a store on the caller's pool: $name", async ({ run }) => {
	const client = new pg.Pool({ connectionString: server.url() });
	onTestFinished(() => client.end());
	const schema = newSchema();
	await run({ open: async (host) => new PostgresStore({ client, host, schema }) });
	// The caller still owns it.
	await new PostgresStore({ client, host: "a", schema }).close();
	expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});

test("a comparison of 5,000 sessions needs one statement", async () => {
	const [schema, path] = [newSchema(), emptyDirectory()];
	await open(schema).list();
	await admin.query(
		`INSERT INTO ${schema}.sessions (id, header, project, hosts, head, bytes) SELECT 's-' || n, '', 'shop', '{a}', 1, 100 FROM generate_series(1, 5000) n`,
	);
	const asked: string[] = [];
	const query = (statement: pg.QueryConfig) => (asked.push(statement.text), admin.query(statement));
	const store = new PostgresStore({ client: { query }, host: "b", schema });
	const sync = new SessionSync({ store, address: server.url(), notes: path, dir: path, cwd: "/x", project: "shop" });
	expect((await sync.compare({ list: await store.list({ project: "shop" }) })).items).toHaveLength(5000);
	// The first statement concerns the layout of the tables.
	expect(asked).toHaveLength(2);
});

test("an append after a concurrent deletion is refused", async () => {
	const schema = newSchema();
	const store = open(schema);
	const { cursor } = await append(store, [entry("a1")]);
	const deleting = await transaction();
	await deleting.query(`UPDATE ${schema}.sessions SET deleted = now()`);
	const appended = failure(append(store, [entry("a2")], cursor));
	await untilBlocked();
	await deleting.query("COMMIT");
	expect((await appended).code).toBe("deleted");
	expect((await store.list()).sessions).toEqual([]);
});

test("a line that is redacted during its append is dropped", async () => {
	const schema = newSchema();
	const [store, other] = [open(schema), open(schema, "b")];
	await append(store, [entry("a1")]);
	const secret = entry("a2");
	const holding = await transaction();
	await holding.query(
		`UPDATE ${schema}.sessions SET redacted = ARRAY[sha256($1::bytea)], replacements = ARRAY[NULL::bytea]`,
		[secret],
	);
	const appended = append(other, [secret, entry("b1")]);
	await untilBlocked();
	await holding.query("COMMIT");
	expect((await appended).stored).toBe(1);
	expect(ids(await loadAll(store, SESSION))).toEqual(["a1", "b1"]);
});

// Regression: redactions were compared only if the session's row existed when the append began.
test("a line redacted while its session is created is dropped", async () => {
	const schema = newSchema();
	const [store, other] = [open(schema), open(schema, "b")];
	await store.list();
	const secret = entry("a2");
	const holding = await transaction();
	await holding.query(
		`INSERT INTO ${schema}.sessions (id, header, hosts, head, bytes, redacted, replacements) VALUES ($1, $2, '{a}', 0, 0, ARRAY[sha256($3::bytea)], ARRAY[NULL::bytea])`,
		[SESSION, header(), secret],
	);
	const appended = append(other, [secret, entry("b1")]);
	await untilBlocked();
	await holding.query("COMMIT");
	expect((await appended).stored).toBe(1);
	expect(ids(await loadAll(store, SESSION))).toEqual(["b1"]);
	expect((await admin.query(`SELECT FROM ${schema}.entries WHERE line = $1`, [secret])).rows).toEqual([]);
});

test("no row contains bytes of redacted or deleted lines", async () => {
	const schema = newSchema();
	const saying = (text: string) => Buffer.from(`{"type":"message","id":"a2","text":"${text}"}`);
	const [store, secret] = [open(schema), saying("hunter2")];
	const hash = hashOf(secret);
	const isThere = async () =>
		(
			await admin.query(
				`SELECT FROM ${schema}.entries e, ${schema}.sessions s WHERE position('hunter2'::bytea in e.line) > 0 OR s::text LIKE '%${Buffer.from("hunter2").toString("hex")}%'`,
			)
		).rows.length > 0;
	await append(store, [entry("a1"), secret]);
	expect(await isThere()).toBe(true);
	await store.redact(SESSION, [{ hash, line: saying("hunter2 no more") }]);
	expect(await isThere()).toBe(true);
	await store.redact(SESSION, [{ hash: hashOf(saying("hunter2 no more")), line: saying("gone") }]);
	expect(await isThere()).toBe(false);
	await append(store, [saying("hunter2 again")]);
	await store.delete(SESSION);
	expect((await admin.query(`SELECT FROM ${schema}.entries`)).rows).toEqual([]);
});

// Regression: it never did.
test("a repaired row reaches machines that had skipped it", async () => {
	const schema = newSchema();
	const { machine, begin } = world((host) => open(schema, host));
	const [a, b] = [machine("a"), machine("b")];
	begin(a, entry("r"), entry("x"), entry("y"));
	await a.sync.push();
	await admin.query(`UPDATE ${schema}.entries SET line = line || ' '::bytea WHERE sequence = 2`);
	for (let round = 0; round < 2; round++)
		expect(await b.again().pull()).toMatchObject([{ problems: [{ message: "its checksum is wrong" }] }]);
	await admin.query(`UPDATE ${schema}.entries SET line = $1 WHERE sequence = 2`, [entry("x")]);
	expect(await b.again().pull()).toMatchObject([{ added: 1, problems: [] }]);
	expect(readFileSync(b.file, "utf8")).toContain(text(entry("r"), entry("x"), entry("y")));
	// Nothing has changed, so nothing is loaded again.
	expect(await b.again().pull()).toEqual([]);
});

test("a line that commits late reaches readers with older cursors", async () => {
	const schema = newSchema();
	await append(open(schema), entries("a", 1));
	const reader = open(schema, "reader");
	const { cursor } = await reader.load(SESSION);
	const client = await transaction();
	await append(new PostgresStore({ client, host: "late", schema }), entries("l", 1));
	const second = append(open(schema, "b"), entries("b", 1));
	// The second waits for the row. If it got its number now and became visible, the late one would come before it
	// unnoticed.
	await untilBlocked();
	expect((await reader.load(SESSION, cursor)).lines).toEqual([]);
	await client.query("COMMIT");
	await second;
	expect(ids(await reader.load(SESSION, cursor))).toEqual(["l0", "b0"]);
});

// Regression: it did not count that.
test("a repeated append counts the lines of its first attempt", async () => {
	const schema = newSchema();
	await append(open(schema), [entry("a")]);
	const client = await transaction();
	await append(new PostgresStore({ client, host: "late", schema }), [entry("both")]);
	const second = append(open(schema, "b"), [entry("both"), entry("mine")]);
	await untilBlocked();
	await client.query("COMMIT");
	expect((await second).stored).toBe(1);
});

test("lines of a rolled back transaction are not stored", async () => {
	const schema = newSchema();
	await append(open(schema), entries("a", 1));
	await admin.query("BEGIN");
	await append(new PostgresStore({ client: admin, host: "b", schema }), entries("b", 3));
	await admin.query("ROLLBACK");
	expect(ids(await open(schema, "c").load(SESSION))).toEqual(["a0"]);
});

test("lines that are too long for pg are not sent", async () => {
	const schema = newSchema();
	const store = open(schema);
	const longest = Number(store.longestLine);
	const long = Buffer.alloc(longest + 1);
	entry("huge").copy(long);
	const refused = await failure(append(store, [entry("a"), long]));
	expect(refused).toMatchObject({
		code: "invalid",
		message: expect.stringMatching(`a line of ${longest + 1} bytes is longer than the ${longest} .*huge`),
	});
	expect(await failure(append(store, [entry("a"), long.subarray(1)]))).toMatchObject({
		code: "invalid",
		message: expect.stringContaining("append them in portions"),
	});
	expect((await store.list()).sessions).toEqual([]);
});

test("wrong rows and headers are named and skipped", async () => {
	const schema = newSchema();
	await append(open(schema), entries("a", 5));
	await admin.query(`UPDATE ${schema}.entries SET line = 'no JSON', sha256 = sha256('no JSON') WHERE sequence = 2`);
	await admin.query(`UPDATE ${schema}.entries SET line = '{"type":"message","id":"changed"}' WHERE sequence = 3`);
	await admin.query(`UPDATE ${schema}.entries SET line = '' WHERE sequence = 4`);
	for (const id of ["../../etc", "s2"])
		await admin.query(`INSERT INTO ${schema}.sessions (id, header, hosts, head, bytes) VALUES ($1, $2, '{x}', 0, 0)`, [
			id,
			header(),
		]);
	const page = await open(schema, "b").load(SESSION);
	expect(ids(page)).toEqual(["a0", "a4"]);
	expect(page.problems).toEqual([
		{ session: SESSION, where: `row 2 of ${schema}.entries`, message: "it is not an entry" },
		{ session: SESSION, where: `row 3 of ${schema}.entries`, message: "its checksum is wrong" },
		{ session: SESSION, where: `row 4 of ${schema}.entries`, message: "its checksum is wrong" },
	]);
	const { sessions, problems } = await open(schema).list();
	expect(sessions.map(({ session }) => session)).toEqual([SESSION, "s2"]);
	expect(problems.map(({ session, message }) => `${session}: ${message}`)).toEqual([
		"../../etc: its id is not one of a session",
	]);
	expect(await failure(open(schema).header("s2"))).toMatchObject({
		code: "failed",
		message: `row "s2" of ${schema}.sessions: the header belongs to session "${SESSION}"`,
	});
});

// Regression: for each repetition the server still waited for a client that was gone.
test("an append that waits for a lock ends everywhere", async () => {
	const schema = newSchema();
	const store = open(schema, "a", server.url(), 1000);
	const { cursor } = await append(store, entries("a", 1));
	const holding = await transaction();
	await holding.query(`SELECT FROM ${schema}.sessions FOR UPDATE`);
	expect(await failure(append(store, entries("b", 1), cursor))).toMatchObject({
		code: "unreachable",
		retryable: true,
		message: expect.stringContaining("lock timeout"),
	});
	expect((await admin.query("SELECT FROM pg_locks WHERE NOT granted")).rowCount).toBe(0);
	await holding.query("COMMIT");
	expect((await append(store, entries("b", 1), cursor)).stored).toBe(1);
});

test("acknowledged lines of killed and other processes are stored once", async () => {
	const schema = newSchema();
	await crowd(`${server.url()}?schema=${schema}`, open(schema, "reader"));
});

describe("the way to the server", () => {
	let proxy: TcpProxy;
	beforeAll(async () => {
		proxy = await startProxy(server.port);
	});
	afterAll(() => proxy.stop());
	const through = (schema: string, timeout?: number) => open(schema, "a", server.url({ port: proxy.port }), timeout);

	/** Repeats retryable calls, because a pool notices a broken connection only when it uses it. */
	const persist = async <T>(work: () => Promise<T>, tries = 5): Promise<T> => {
		try {
			return await work();
		} catch (error) {
			if (tries === 0 || !(error as StoreError).retryable) throw error;
			return persist(work, tries - 1);
		}
	};

	test("breaks while nothing is asked: a call takes another connection", async () => {
		const store = through(newSchema());
		await append(store, entries("a", 1));
		proxy.cut();
		expect((await persist(() => append(store, entries("b", 1)))).stored).toBe(1);
	});

	test("answers nothing: the call ends at its timeout", async () => {
		const schema = newSchema();
		const [patient, impatient] = [open(schema), through(schema, 500)];
		const { cursor } = await append(patient, entries("a", 1));
		// However slow the machine is, its connection is kept.
		await persist(() => impatient.load(SESSION), Infinity);
		proxy.hold();
		expect(await failure(append(impatient, entries("b", 1), cursor))).toMatchObject({
			code: "unreachable",
			retryable: true,
			message: expect.stringContaining("for 500 ms"),
		});
		proxy.heal();
		expect((await append(patient, entries("b", 1), cursor)).stored).toBe(1);
		expect(ids(await persist(() => impatient.load(SESSION), Infinity))).toEqual(["a0", "b0"]);
	});

	test("is slow but steady: answers may outlast the timeout", async () => {
		const schema = newSchema();
		const line = entry("x".repeat(1_000_000));
		await append(open(schema), [line]);
		const store = through(schema, 1500);
		await persist(() => store.list(), Infinity);
		proxy.pace(8000);
		expect((await persist(() => store.load(SESSION), Infinity)).lines[0]?.line).toHaveLength(line.length);
		expect(proxy.paced()).toBeGreaterThan(1500);
		proxy.heal();
	});

	test("is cut within a request: a repetition stores lines once", async () => {
		const schema = newSchema();
		const [store, reader] = [through(schema), open(schema, "reader")];
		let { cursor } = await append(store, entries("start", 1));
		let [failures, stored] = [0, 1];
		for (let bytes = 0; bytes < 6000; bytes += 97) {
			const lines = entries(`n${bytes}-`, 5);
			proxy.cutAfter(bytes);
			const error = await append(store, lines, cursor).then(
				() => undefined,
				(thrown) => thrown,
			);
			proxy.heal();
			if (error) {
				expect(error).toMatchObject({ name: "StoreError", code: "unreachable", retryable: true });
				failures++;
			}
			const there = (await loadAll(reader, SESSION)).lines.length;
			expect([stored, stored + 5]).toContain(there);
			({ cursor } = await persist(() => append(store, lines, cursor)));
			stored += 5;
			expect((await loadAll(reader, SESSION)).lines).toHaveLength(stored);
		}
		expect(failures).toBeGreaterThan(20);
	});

	test("is cut within an answer: a repetition stores nothing again", async () => {
		const schema = newSchema();
		const [store, reader] = [through(schema), open(schema, "reader")];
		let { cursor } = await append(store, entries("start", 1));
		let stored = 1;
		let already = 0;
		for (let bytes = 0; bytes < 400; bytes += 13) {
			const lines = entries(`n${bytes}-`, 3);
			proxy.cutAnswerAfter(bytes);
			const failed = await append(store, lines, cursor).then(
				() => false,
				() => true,
			);
			proxy.heal();
			const again = await persist(() => append(store, lines, cursor));
			if (failed && again.stored === 0) already++;
			cursor = again.cursor;
			stored += 3;
			expect((await loadAll(reader, SESSION)).lines).toHaveLength(stored);
		}
		expect(already).toBeGreaterThan(5);
	});
});
