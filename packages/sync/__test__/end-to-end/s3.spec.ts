// The store in a real S3-compatible server.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { DirectoryStore, loadAll, openStore, type Page, SessionSync, type StoreError } from "../../lib/index.js";
import { conformanceCases } from "../support/conformance.js";
import { crowd } from "../support/crowd.js";
import {
	append,
	batchOf,
	emptyDirectory,
	entries,
	entry,
	header,
	ids,
	library,
	logOf,
	SESSION,
} from "../support/lines.js";
import { at, between, environment, safeFailure as failure, open, server, withS3 } from "../support/s3.js";
import { startProxy, type TcpProxy } from "../support/servers.js";

const { folderOf, headerPath, projectPath, partPath } = createRequire(library)("./logs/log-names.js");

withS3();

test.each(conformanceCases)("a bucket: $name", async ({ run }) => {
	const bucket = server.newBucket();
	await run({ open: async (host) => open(bucket, host, { prefix: "team a/sessions & more" }) });
});

test("an address and the environment say where, and who", async () => {
	const bucket = server.newBucket();
	for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value);
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	const address = `s3://${bucket}/team%20a?endpoint=${encodeURIComponent(at(server.port))}&region=eu-central-1`;
	await append(await openStore(address, { host: "a" }), entries("a", 1));
	expect(ids(await open(bucket, "b", { prefix: "team a" }).load(SESSION))).toEqual(["a0"]);
	vi.stubEnv("AWS_ENDPOINT_URL_S3", at(server.port));
	expect(ids(await (await openStore(`s3://${bucket}/team%20a`, { host: "c" })).load(SESSION))).toEqual(["a0"]);
});

test("its layout is that of a directory", async () => {
	const bucket = server.newBucket();
	let after: string | undefined;
	for (const line of entries("n", 3))
		after = (await append(open(bucket, "Big.Box", { prefix: "x" }), [line], after)).cursor;
	const path = join(server.folder, bucket, "x");
	const directory = new DirectoryStore({ path, host: "other" });
	expect(ids(await directory.load(SESSION))).toEqual(["n0", "n1", "n2"]);
	await append(directory, entries("d", 1), (await directory.load(SESSION)).cursor);
	expect(ids(await open(bucket, "Big.Box", { prefix: "x" }).load(SESSION, after))).toEqual(["d0"]);
});

test("no append overwrites an unreadable last batch", async () => {
	const bucket = server.newBucket();
	const { cursor } = await append(open(bucket), entries("a", 1));
	await append(open(bucket), entries("b", 3), cursor);
	const object = join(server.folder, bucket, logOf("a"));
	const damaged = readFileSync(object);
	damaged.fill(0, damaged.length - 60, damaged.length - 10);
	writeFileSync(object, damaged);
	for (const after of [cursor, undefined]) {
		expect(await failure(append(open(bucket), entries("c", 1), after))).toMatchObject({
			code: "failed",
			message: expect.stringContaining(logOf("a")),
		});
		expect(readFileSync(object)).toEqual(damaged);
	}
	const page = await loadAll(open(bucket, "b"), SESSION);
	expect([ids(page), page.problems.length]).toEqual([["a0"], 1]);
});

describe("requests", () => {
	/** Stores sessions as a host would have. */
	function fill(bucket: string, sessions: number): void {
		const put = (path: string, bytes: string | Buffer) => {
			mkdirSync(join(server.folder, bucket, path, ".."), { recursive: true });
			writeFileSync(join(server.folder, bucket, path), bytes);
		};
		put("store.json", '{"store":"pi-session-native","version":4,"id":"x"}');
		for (let n = 0; n < sessions; n++) {
			const session = `s${n}`;
			put(projectPath(session), "shop\n");
			put(headerPath(session), header(session));
			put(partPath({ folder: folderOf("shop"), session }, "a", 1), batchOf([entry("x")], { session }));
		}
	}

	// Regression: nothing was ever pulled within the two seconds of pi's start.
	test("a pull requests new sessions, and later changed ones", async () => {
		const [bucket, { asked, port }, dir] = [server.newBucket(), await between(), emptyDirectory()];
		fill(bucket, 60);
		const sync = () =>
			new SessionSync({
				store: open(bucket, "b", { port }),
				address: `s3://${bucket}`,
				notes: join(dir, "notes"),
				dir: join(dir, "sessions"),
				cwd: "/x",
				project: "shop",
			});
		expect((await sync().pull()).filter(({ added }) => added === 1)).toHaveLength(60);
		expect(asked.length).toBeLessThanOrEqual(2 * 60 + 4);
		await open(bucket, "c").append("s7", { header: header("s7"), lines: [entry("new")], project: "shop" });
		asked.length = 0;
		expect(await sync().pull()).toMatchObject([{ session: "s7", added: 1 }]);
		expect(asked.length).toBeLessThanOrEqual(8);
	});

	test("one request lists a thousand sessions of a project", async () => {
		const [bucket, { asked, port }] = [server.newBucket(), await between()];
		fill(bucket, 2500);
		const { sessions } = await open(bucket, "b", { port }).list({ project: "shop" });
		expect(sessions).toHaveLength(2500);
		// The store's mark, and three pages.
		expect(asked).toHaveLength(4);
	});

	test("a second append costs a put and a list", async () => {
		const [bucket, { asked, port }] = [server.newBucket(), await between()];
		const store = open(bucket, "a", { port });
		let after: string | undefined;
		for (let n = 0; n < 8; n++) {
			asked.length = 0;
			after = (await append(store, [entry(`${n}-${"x".repeat(80_000)}`)], after)).cursor;
			if (n > 0) expect(asked.map((one) => one.split(" ")[0])).toEqual(["PUT", "GET"]);
		}
		const parts = (await open(bucket).list()).sessions[0];
		expect(parts?.bytes).toBeGreaterThan(8 * 80_000);
		expect(
			[1, 2, 3].map((part) =>
				existsSync(join(server.folder, bucket, partPath({ folder: folderOf(), session: SESSION }, "a", part))),
			),
		).toEqual([true, true, false]);
		const page = await loadAll(open(bucket, "b"), SESSION);
		expect([page.lines.length, page.problems]).toEqual([8, []]);
	});
});

// Regression: the whole object was read as its end.
test("acknowledged lines of killed and other processes are stored once", async () => {
	const bucket = server.newBucket();
	await crowd(
		`s3://${bucket}/x?endpoint=${encodeURIComponent(at(server.port))}`,
		open(bucket, "reader", { prefix: "x" }),
		{ ...process.env, ...environment() },
	);
});

describe("the way to the server", () => {
	let proxy: TcpProxy;
	beforeAll(async () => {
		proxy = await startProxy(server.port);
	});
	afterAll(() => proxy.stop());

	/** However slow the machine is, an answer comes. */
	const loaded = async (store: { load: (session: string) => Promise<Page> }): Promise<Page> => {
		try {
			return await store.load(SESSION);
		} catch (error) {
			if (!(error as StoreError).retryable) throw error;
			return loaded(store);
		}
	};

	test("answers nothing: the call ends at its timeout", async () => {
		const bucket = server.newBucket();
		const [patient, impatient] = [open(bucket), open(bucket, "a", { port: proxy.port, timeout: 500 })];
		const { cursor } = await append(patient, entries("a", 1));
		proxy.hold();
		expect(await failure(append(impatient, entries("b", 1), cursor))).toMatchObject({
			code: "unreachable",
			retryable: true,
		});
		proxy.heal();
		expect((await append(patient, entries("b", 1), cursor)).stored).toBe(1);
		expect(ids(await loaded(impatient))).toEqual(["a0", "b0"]);
	});

	test("is slow but steady: answers may outlast the timeout", async () => {
		const bucket = server.newBucket();
		const line = entry("x".repeat(1_000_000));
		await append(open(bucket), [line]);
		proxy.pace(8000);
		expect((await loaded(open(bucket, "b", { port: proxy.port, timeout: 1500 }))).lines[0]?.line).toHaveLength(
			line.length,
		);
		expect(proxy.paced()).toBeGreaterThan(1500);
		proxy.heal();
	});

	test.each(["cutAfter", "cutAnswerAfter"] as const)("is cut (%s): a repetition stores lines once", async (cut) => {
		const bucket = server.newBucket();
		const [store, reader] = [open(bucket, "a", { port: proxy.port }), open(bucket, "reader")];
		let { cursor } = await append(store, entries("start", 1));
		let [failures, stored] = [0, 1];
		for (let bytes = 0; bytes < 2400; bytes += 127) {
			const lines = entries(`n${bytes}-`, 3);
			proxy[cut](bytes);
			const error = await append(store, lines, cursor).then(
				() => undefined,
				(thrown) => thrown,
			);
			proxy.heal();
			if (error) {
				expect(error).toMatchObject({ name: "StoreError", code: "unreachable", retryable: true });
				failures++;
			}
			expect([stored, stored + 3]).toContain((await loadAll(reader, SESSION)).lines.length);
			({ cursor } = await append(store, lines, cursor));
			stored += 3;
			const page = await loadAll(reader, SESSION);
			expect([page.lines.length, page.problems]).toEqual([stored, []]);
		}
		expect(failures).toBeGreaterThan(5);
	});
});
