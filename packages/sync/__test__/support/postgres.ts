// A PostgreSQL server for the tests of a file, and stores in it.
import { inspect } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { type LineStore, PostgresStore, type StoreError } from "../../lib/index.js";
import { failure } from "./lines.js";
import { PASSWORD, type Postgres, startPostgres } from "./servers.js";

/** The server that `withPostgres` starts before the first test of the file. */
export let server: Postgres;
/** A connection of the server's owner. */
export let admin: pg.Client;

/** Starts a server before the tests of the file, and stops it after them. */
export function withPostgres(): void {
	beforeAll(async () => {
		server = await startPostgres();
		admin = new pg.Client(server.url());
		await admin.connect();
	});
	afterAll(async () => {
		await admin?.end();
		await server?.stop();
	});
}

let schemas = 0;
/** The name of a schema that no test has used. */
export const newSchema = (): string => `s${++schemas}`;

/** A store that is closed after the running test. */
export const opened = <T extends LineStore>(store: T): T => {
	onTestFinished(() => store.close());
	return store;
};

export const open = (schema: string, host = "a", url = server.url(), timeout = 20_000) =>
	opened(new PostgresStore({ url: `${url}${url.includes("?") ? "&" : "?"}timeout=${timeout}`, host, schema }));

/** A connection with an open transaction, until the running test is over. */
export async function transaction(): Promise<pg.Client> {
	const client = new pg.Client(server.url());
	await client.connect();
	onTestFinished(() => client.end());
	await client.query("BEGIN");
	return client;
}

/** Waits until a statement waits for a lock. */
export async function untilBlocked(): Promise<void> {
	while ((await admin.query("SELECT FROM pg_locks WHERE NOT granted")).rows.length === 0)
		await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The error of a call, which must not contain the password. */
export async function safeFailure(work: Promise<unknown>): Promise<StoreError> {
	const error = await failure(work);
	const shown = inspect(error, { depth: 10, showHidden: true });
	expect(shown).not.toContain(PASSWORD);
	expect(shown).not.toContain(encodeURIComponent(PASSWORD));
	return error;
}
