// A PostgreSQL server: who creates the tables, who may use them, and how it is reached.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadAll, PostgresStore } from "../../lib/index.js";
import { good, run, world } from "../support/cli.js";
import { append, emptyDirectory, entries, entry, ids, SESSION } from "../support/lines.js";
import {
	admin,
	safeFailure as failure,
	newSchema,
	open,
	server,
	transaction,
	withPostgres,
} from "../support/postgres.js";
import { freePort, PASSWORD, startPostgres } from "../support/servers.js";

withPostgres();

test("twenty simultaneous hosts create the tables once", async () => {
	const schema = newSchema();
	const stores = Array.from({ length: 20 }, (_, at) => open(schema, `h${at}`));
	await Promise.all(stores.map((store, at) => append(store, [entry(`e${at}`)])));
	expect((await stores[0]?.load(SESSION))?.lines).toHaveLength(20);
	expect((await admin.query(`SELECT version FROM ${schema}.schema_version`)).rows).toEqual([{ version: 6 }]);
});

test("recreated tables are another store to a running process", async () => {
	const schema = newSchema();
	const [a, b] = [open(schema), open(schema, "b")];
	const { cursor } = await append(a, entries("a", 2));
	const { store } = await a.list();
	await admin.query(`DROP SCHEMA ${schema} CASCADE`);
	await expect(a.load(SESSION, cursor)).rejects.toMatchObject({ code: "reset" });
	await expect(append(a, entries("a", 1), cursor)).rejects.toMatchObject({ code: "reset" });
	await append(b, entries("b", 3));
	await expect(a.load(SESSION, cursor)).rejects.toMatchObject({ code: "reset" });
	await expect(append(a, entries("a", 1), cursor)).rejects.toMatchObject({ code: "reset" });
	expect(ids(await loadAll(a, SESSION))).toEqual(["b0", "b1", "b2"]);
	expect([store, (await a.list()).store]).toEqual([
		expect.stringMatching(/^[0-9a-f-]{36}$/),
		expect.not.stringMatching(String(store)),
	]);
});

test("a running process notices tables of a newer release", async () => {
	const schema = newSchema();
	const store = open(schema);
	await append(store, entries("a", 1));
	await admin.query(`INSERT INTO ${schema}.schema_version VALUES (7); ALTER TABLE ${schema}.entries DROP COLUMN stamp`);
	await expect(store.load(SESSION)).rejects.toMatchObject({ code: "newer-schema" });
	await expect(append(store, entries("b", 1))).rejects.toMatchObject({ code: "newer-schema" });
});

test("only the creation of the tables ignores the timeout", async () => {
	const schema = newSchema();
	const { Client } = pg;
	const said: string[] = [];
	const client = new Client({ connectionString: server.url(), statement_timeout: 300, lock_timeout: 200 });
	await client.connect();
	onTestFinished(() => client.end());
	const holding = await transaction();
	await holding.query(`SELECT pg_advisory_xact_lock(hashtext('pi-session-native ${schema}'))`);
	const appended = append(new PostgresStore({ client, host: "a", schema }), entries("a", 1));
	appended.catch((error) => said.push(error.message));
	await holding.query("SELECT pg_sleep(1)");
	await holding.query("COMMIT");
	expect((await appended).stored).toBe(1);
	expect(said).toEqual([]);
	expect(
		await failure(
			new PostgresStore({ client: { query: () => client.query("SELECT pg_sleep(60)") }, host: "a", schema }).list(),
		),
	).toMatchObject({ code: "unreachable" });
});

/** The server under an address that is not a name of this machine. */
const elsewhere = (url: string) => url.replace("127.0.0.1", "0.0.0.0");

describe.runIf(process.platform === "linux")("a server on another machine", () => {
	// Regression: the password was sent in plain text, and any server could answer.
	test("needs encryption unless sslmode or PGSSLMODE disables it", async () => {
		const schema = newSchema();
		const refused = await failure(open(schema, "a", elsewhere(server.url())).list());
		expect(refused).toMatchObject({
			code: "failed",
			retryable: false,
			message: expect.stringMatching(/does not support SSL connections \(.*sslmode=disable uses no encryption\)$/),
		});
		// The driver connects to the host in the parameter, and to the last of several.
		for (const more of ["?host=0.0.0.0", "?host=localhost&host=0.0.0.0"])
			expect(
				(await failure(open(schema, "a", server.url().replace("@127.0.0.1", "@localhost") + more).list())).message,
			).toContain("does not support SSL connections");
		// Regression: with a parameter without a value the connection was not encrypted.
		for (const more of ["?sslmode=", "?ssl=", "?sslrootcert=", "?sslmode=disable&sslmode="])
			expect((await failure(open(schema, "a", elsewhere(server.url()) + more).list())).message, more).toContain(
				"does not support SSL connections",
			);
		expect((await open(schema, "a", `${elsewhere(server.url())}?sslmode=disable`).list()).sessions).toEqual([]);
		onTestFinished(() => void vi.unstubAllEnvs());
		vi.stubEnv("PGSSLMODE", "allow");
		expect((await failure(open(schema, "a", elsewhere(server.url())).list())).code).toBe("failed");
		vi.stubEnv("PGSSLMODE", "disable");
		expect((await open(schema, "a", elsewhere(server.url())).list()).sessions).toEqual([]);
	});

	test("must have a certificate that can be checked", async () => {
		const folder = emptyDirectory();
		const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
		execFileSync(
			"openssl",
			[
				"req",
				"-x509",
				"-newkey",
				"rsa:2048",
				"-nodes",
				"-days",
				"2",
				"-subj",
				"/CN=test",
				"-addext",
				"subjectAltName=IP:0.0.0.0",
				"-keyout",
				key,
				"-out",
				certificate,
			],
			{ stdio: "pipe" },
		);
		chmodSync(folder, 0o711);
		if (process.getuid?.() === 0) for (const path of [key, certificate]) chownSync(path, 65534, 65534);
		const encrypted = await startPostgres(["ssl=on", `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`]);
		onTestFinished(() => encrypted.stop());
		const schema = newSchema();
		const url = elsewhere(encrypted.url());
		expect(await failure(open(schema, "a", url).list())).toMatchObject({
			code: "failed",
			message: expect.stringMatching(/self-signed certificate \(.*sslrootcert=<file>/),
		});
		for (const more of [`?sslrootcert=${certificate}`, "?sslmode=no-verify"]) {
			const store = open(schema, "a", url + more);
			await store.list();
			const client = new pg.Client(encrypted.url());
			await client.connect();
			onTestFinished(() => client.end());
			const { rows } = await client.query(
				"SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'pi-session-native'",
			);
			expect(rows.length).toBeGreaterThan(0);
			expect(rows.every(({ ssl }) => ssl)).toBe(true);
		}
	});
});

test("the password may come from PGPASSFILE", async () => {
	const file = join(emptyDirectory(), "pgpass");
	writeFileSync(file, `127.0.0.1:${server.port}:postgres:owner:${PASSWORD.replaceAll(":", "\\:")}\n`, { mode: 0o600 });
	onTestFinished(() => void vi.unstubAllEnvs());
	vi.stubEnv("PGPASSFILE", file);
	const url = `postgres://owner@127.0.0.1:${server.port}/postgres`;
	expect((await append(open(newSchema(), "a", url), entries("a", 1))).stored).toBe(1);
	// Regression: each command warned that pg 9 will not read the file.
	expect(await good(world(), ["status", "--sessions", "--all"], { PI_SYNC_STORE: url, PGPASSFILE: file })).toContain(
		"No sessions in ",
	);
	const refused = async (more: Record<string, string>) => {
		const begun = performance.now();
		const { code, err } = await run(world(), ["status", "--sessions", "--all"], { PI_SYNC_STORE: url, ...more });
		// Regression: it ended after a minute, when the server no longer waited for the password.
		expect([code, performance.now() - begun < 30_000]).toEqual([1, true]);
		return err;
	};
	// Regression: it said that the password must be a string.
	expect(await refused({ PGPASSFILE: join(file, "none") })).toContain(
		"the server asks for a password, and neither the address nor PGPASSWORD nor ~/.pgpass contains one",
	);
	vi.stubEnv("PGPASSFILE", join(file, "none"));
	expect((await failure(open(newSchema(), "a", url).list())).code).not.toBe("unreachable");
});

test("rights to existing tables suffice", async () => {
	const schema = newSchema();
	await append(open(schema), entries("a", 1));
	await admin.query("CREATE ROLE writer LOGIN PASSWORD 'writer'");
	await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO writer; GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO writer`);
	await admin.query("CREATE ROLE reader LOGIN PASSWORD 'reader'");
	await admin.query(
		`GRANT USAGE ON SCHEMA ${schema} TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO reader`,
	);
	const writer = open(schema, "w", server.url({ user: "writer", password: "writer" }));
	expect((await append(writer, entries("w", 1))).stored).toBe(1);
	const reader = open(schema, "r", server.url({ user: "reader", password: "reader" }));
	expect(ids(await reader.load(SESSION))).toEqual(["a0", "w0"]);
	expect(await failure(append(reader, entries("r", 1)))).toMatchObject({ code: "denied", retryable: false });
	expect(
		await failure(open(newSchema(), "r", server.url({ user: "reader", password: "reader" })).load(SESSION)),
	).toMatchObject({ code: "denied" });
});

describe("a store that cannot be used says why, and no password", () => {
	test("nobody listens", async () => {
		const error = await failure(open("s", "a", server.url({ port: await freePort() })).load(SESSION));
		expect(error).toMatchObject({ code: "unreachable", retryable: true });
		expect(error.message).toMatch(/^postgres:\/\/owner@127\.0\.0\.1:\d+\/postgres: connect ECONNREFUSED/);
	});

	test("the password is wrong", async () => {
		expect(await failure(open("s", "a", server.url({ password: `${PASSWORD}-wrong` })).load(SESSION))).toMatchObject({
			code: "denied",
			retryable: false,
		});
	});

	test("there is no such database", async () => {
		expect((await failure(open("s", "a", server.url({ database: "nowhere" })).load(SESSION))).message).toContain(
			'database "nowhere" does not exist',
		);
	});

	test("it may be read, not written", async () => {
		const schema = newSchema();
		await append(open(schema), entries("a", 1));
		const store = open(schema, "b", `${server.url()}?options=-c%20default_transaction_read_only%3Don`);
		expect(ids(await store.load(SESSION))).toEqual(["a0"]);
		expect(await failure(append(store, entries("b", 1)))).toMatchObject({ code: "read-only", retryable: false });
	});

	test("its tables have a newer layout", async () => {
		const schema = newSchema();
		await admin.query(
			`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.schema_version (version int PRIMARY KEY); INSERT INTO ${schema}.schema_version VALUES (7)`,
		);
		for (const work of [() => open(schema).load(SESSION), () => append(open(schema), entries("b", 1))])
			expect(await failure(work())).toMatchObject({
				code: "newer-schema",
				retryable: false,
				message: expect.stringContaining(
					"has layout 7, and this release reads only layout 6: install the pi-session-sync that created the store",
				),
			});
	});

	test.each([
		["53100", "full", true],
		["53300", "unreachable", true],
		["57P01", "unreachable", true],
		["40001", "unreachable", true],
		["XX001", "failed", false],
		["EPIPE", "unreachable", true],
		["ERR_STRING_TOO_LONG", "failed", false],
	])("the server says %s", async (state, code, retryable) => {
		const schema = newSchema();
		await append(open(schema), entries("a", 1));
		const query = async (statement: pg.QueryConfig) => {
			if (statement.text.includes("INSERT INTO")) throw Object.assign(new Error("so it is"), { code: state });
			return admin.query(statement);
		};
		expect(
			await failure(append(new PostgresStore({ client: { query }, host: "b", schema }), entries("b", 1))),
		).toMatchObject({ code, retryable, message: "PostgreSQL: so it is" });
	});

	test("the schema's name, or neither client nor URL", async () => {
		for (const schema of ['x"; DROP TABLE y', "X", "", "1x"])
			expect(() => new PostgresStore({ client: admin, host: "a", schema })).toThrow(/Not a name for the schema/);
		expect(() => new PostgresStore({ host: "a" })).toThrow(/a client or a URL/);
	});
});
