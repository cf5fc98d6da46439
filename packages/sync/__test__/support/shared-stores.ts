// A store of each kind, which the machines of a test share.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client, Pool } from "pg";
import { afterAll, onTestFinished } from "vitest";
import { DirectoryStore, type LineStore, PostgresStore, S3Store } from "../../lib/index.js";
import { emptyDirectory } from "./lines.js";
import { type Postgres, type S3, startPostgres, startS3 } from "./servers.js";

export interface SharedStore {
	address: string;
	/** Further environment variables of a process that uses it. */
	env: Record<string, string>;
	/** The store for a host, until the test is over. */
	open(host: string): LineStore;
	/** Copies the present content. Returns a function that restores it. */
	backup(): Promise<() => Promise<void>>;
	/**
	 * Copies only the lines. Restoring them simulates a redaction or a deletion that was stopped before it removed them.
	 */
	backupOfLines(): Promise<() => Promise<void>>;
	/** Whether a line contains a text. */
	holds(text: string): Promise<boolean>;
}

const filesBelow = (path: string): string[] =>
	readdirSync(path, { recursive: true, encoding: "utf8" })
		.map((name) => join(path, name))
		.filter((name) => statSync(name).isFile());

/** The calls that read and write the files of a store. */
const withFiles = (path: string) => ({
	backup: () => backupOf(path),
	backupOfLines: async () => {
		const kept = filesBelow(path)
			.filter((name) => name.endsWith(".lines"))
			.map((name): [string, Buffer] => [name, readFileSync(name)]);
		return async () => {
			for (const [name, bytes] of kept) {
				mkdirSync(dirname(name), { recursive: true });
				writeFileSync(name, bytes);
			}
		};
	},
	holds: async (text: string) => filesBelow(path).some((name) => readFileSync(name).includes(text)),
});

/** A backup of a store's content in a directory. */
async function backupOf(path: string): Promise<() => Promise<void>> {
	const STORED = ["sessions", "headers", "lines", "presence", "store.json"];
	const kept = emptyDirectory();
	const copy = (from: string, to: string) => {
		for (const name of STORED) {
			rmSync(join(to, name), { recursive: true, force: true });
			if (existsSync(join(from, name)))
				cpSync(join(from, name), join(to, name), { recursive: true, preserveTimestamps: true });
		}
	};
	copy(path, kept);
	return async () => copy(kept, path);
}

export async function inDirectory(): Promise<SharedStore> {
	const path = emptyDirectory();
	return { address: path, env: {}, open: (host) => new DirectoryStore({ path, host }), ...withFiles(path) };
}

// All tests of a file share one server of each kind. Each test has its own database or bucket.
let postgres: Promise<Postgres> | undefined;
let s3: Promise<S3> | undefined;
afterAll(async () => {
	for (const server of [postgres, s3]) await (await server)?.stop();
});
let databases = 0;

async function newDatabase(): Promise<string> {
	const server = await (postgres ??= startPostgres());
	const database = `test_${++databases}`;
	const client = new Client(server.url());
	await client.connect();
	await client.query(`CREATE DATABASE ${database}`);
	await client.end();
	return server.url({ database });
}

export async function inPostgres(): Promise<SharedStore> {
	const url = await newDatabase();
	const open = (host: string) => {
		const store = new PostgresStore({ url, host });
		onTestFinished(() => store.close());
		return store;
	};
	const opened = () => {
		const client = new Pool({ connectionString: url, max: 1 });
		onTestFinished(() => client.end());
		return client;
	};
	const backupOfTables = async (...tables: string[]) => {
		const client = opened();
		await client.query(
			tables.map((table) => `CREATE TABLE kept_${table} AS SELECT * FROM pi_session_native.${table}`).join(";"),
		);
		return async () => {
			await client.query(
				`TRUNCATE pi_session_native.${tables[0]} CASCADE;${tables.map((table) => `INSERT INTO pi_session_native.${table} SELECT * FROM kept_${table}`).join(";")}`,
			);
		};
	};
	const holds = async (text: string) => {
		const { rows } = await opened().query("SELECT FROM pi_session_native.entries WHERE position($1 in line) > 0", [
			Buffer.from(text),
		]);
		return rows.length > 0;
	};
	return {
		address: url,
		env: {},
		open,
		backup: () => backupOfTables("sessions", "entries"),
		backupOfLines: () => backupOfTables("entries"),
		holds,
	};
}

export async function inBucket(): Promise<SharedStore> {
	const server = await (s3 ??= startS3());
	const [bucket, endpoint, region] = [server.newBucket(), `http://127.0.0.1:${server.port}`, "us-east-1"];
	const { accessKeyId, secretAccessKey } = server.credentials;
	return {
		address: `s3://${bucket}?endpoint=${endpoint}&region=${region}`,
		env: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
		open: (host) => new S3Store({ host, bucket, endpoint, region, credentials: server.credentials }),
		...withFiles(join(server.folder, bucket)),
	};
}
