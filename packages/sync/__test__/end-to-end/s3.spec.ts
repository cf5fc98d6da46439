// The store in a real S3-compatible server.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
	DirectoryStore,
	loadAll,
	openStore,
	type Page,
	type S3Credentials,
	S3Store,
	SessionSync,
	StoreError,
} from "../../lib/index.js";
import { conformanceCases } from "../support/conformance.js";
import { crowd } from "../support/crowd.js";
import {
	append,
	batchOf,
	emptyDirectory,
	entries,
	entry,
	hashOf,
	header,
	ids,
	library,
	logOf,
	SESSION,
	failure as storeError,
} from "../support/lines.js";
import { freePort, listen, PASSWORD, type S3, startProxy, startS3, type TcpProxy } from "../support/servers.js";

const { folderOf, headerPath, projectPath, partPath } = createRequire(library)("./logs/log-names.js");
let server: S3;
beforeAll(async () => {
	server = await startS3();
});
afterAll(() => server?.stop());

const at = (port: number) => `http://127.0.0.1:${port}`;
const open = (bucket: string, host = "a", to: { port?: number; prefix?: string; timeout?: number } = {}) =>
	new S3Store({
		host,
		bucket,
		prefix: to.prefix,
		endpoint: at(to.port ?? server.port),
		timeout: to.timeout,
		credentials: server.credentials,
	});
const environment = () => ({
	AWS_ACCESS_KEY_ID: server.credentials.accessKeyId,
	AWS_SECRET_ACCESS_KEY: server.credentials.secretAccessKey,
});
/** The error of a call, which must not contain the secret. */
const failure = async (work: Promise<unknown>): Promise<StoreError> => {
	const error = await storeError(work);
	expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(PASSWORD);
	return error;
};

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

interface Refusal {
	status: number;
	body: string;
}

/** A way to the server that notes requests, refuses some, and may change the headers of answers. */
async function between(
	refuse: (request: IncomingMessage) => Refusal | false | undefined = () => undefined,
	change = (headers: IncomingHttpHeaders) => headers,
) {
	const asked: string[] = [];
	const front = createServer((incoming, outgoing) => {
		const { method, url, headers } = incoming;
		asked.push(`${method} ${url}`);
		const refusal = refuse(incoming);
		if (refusal) return incoming.resume() && outgoing.writeHead(refusal.status).end(refusal.body);
		const passed = request({ port: server.port, host: "127.0.0.1", method, path: url, headers }, (answer) => {
			outgoing.writeHead(answer.statusCode ?? 502, change(answer.headers));
			answer.pipe(outgoing);
		});
		incoming.pipe(passed);
	});
	return { asked, port: await listen(front) };
}

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

	// Regression: nothing was pulled within the two seconds of pi's start, for ever.
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

// Regression: the whole object was taken for its end.
test("acknowledged lines of killed and other processes are stored once", async () => {
	const bucket = server.newBucket();
	await crowd(
		`s3://${bucket}/x?endpoint=${encodeURIComponent(at(server.port))}`,
		open(bucket, "reader", { prefix: "x" }),
		{ ...process.env, ...environment() },
	);
});

describe("a store that cannot be used says why, and no secret", () => {
	test("nobody listens", async () => {
		const error = await failure(open("bucket", "a", { port: await freePort() }).load(SESSION));
		expect(error).toMatchObject({ code: "unreachable", retryable: true });
		expect(error.message).toMatch(/^s3:\/\/bucket\/: connect ECONNREFUSED/);
	});

	test("the secret is wrong", async () => {
		const store = new S3Store({
			host: "a",
			bucket: server.newBucket(),
			endpoint: at(server.port),
			credentials: { accessKeyId: "owner", secretAccessKey: `${PASSWORD}-wrong` },
		});
		expect(await failure(append(store, entries("a", 1)))).toMatchObject({
			code: "denied",
			retryable: false,
			message: expect.stringContaining("SignatureDoesNotMatch"),
		});
		expect(inspect(store, { depth: 10, showHidden: true })).not.toContain(PASSWORD);
	});

	test("there is no such bucket, or it can be none", async () => {
		for (const work of [() => open("no-such-bucket").load(SESSION), () => open("no-such-bucket").list()])
			expect(await failure(work())).toMatchObject({
				retryable: false,
				message: "s3://no-such-bucket/: the server answered 404, NoSuchBucket",
			});
		expect(() => open("../x")).toThrow(/Not a name of a bucket/);
	});

	test("credentials that are none, or that cannot be had", async () => {
		const bucket = server.newBucket();
		const using = (credentials: unknown) =>
			new S3Store({ host: "a", bucket, endpoint: at(server.port), credentials: credentials as S3Credentials }).load(
				SESSION,
			);
		for (const credentials of [{}, { accessKeyId: "owner" }, () => ({})])
			expect(await failure(using(credentials))).toMatchObject({
				code: "denied",
				message: expect.stringContaining("no credentials"),
			});
		const refused = async () => Promise.reject(new Error("the metadata service is away"));
		expect(await failure(using(refused))).toMatchObject({
			code: "unreachable",
			retryable: true,
			message: expect.stringContaining("the metadata service is away"),
		});
		const throwing = () => {
			throw new StoreError("denied", "log in first");
		};
		expect(await failure(using(throwing))).toMatchObject({ code: "denied", message: "log in first" });
	});

	/** A server that gives the same answer to everything. */
	const answering = (status: number, body: string) =>
		listen(createServer((_, response) => response.writeHead(status).end(body)));

	// It honours the one condition, or none. Regression: the second append found what the first one had written to try
	// it, and went on.
	test.each([
		["If-None-Match", () => false],
		["If-Match", (headers: IncomingHttpHeaders) => headers["if-none-match"] !== undefined],
	])("the server replaces what it was told to keep (%s)", async (name, isRefused) => {
		const there = new Map<string, Buffer>();
		const stub = createServer(async (request, response) => {
			const [url, pieces] = [(request.url as string).replace(/[?]x-id=.*/, ""), [] as Buffer[]];
			for await (const piece of request) pieces.push(piece);
			if (request.method === "DELETE") return response.writeHead(there.delete(url) ? 204 : 404).end();
			if (request.method === "PUT" && there.has(url) && isRefused(request.headers))
				return response.writeHead(412).end();
			if (request.method === "PUT") return there.set(url, Buffer.concat(pieces)) && response.writeHead(200).end();
			response
				.writeHead(there.has(url) || url.includes("list-type") ? 200 : 404)
				.end(there.get(url) ?? "<ListBucketResult></ListBucketResult>");
		});
		const port = await listen(stub);
		for (let tries = 0; tries < 2; tries++) {
			expect(await failure(append(open("bucket", "a", { port }), entries("a", 1)))).toMatchObject({
				code: "unsupported",
				message: `s3://bucket/ replaces objects although a condition forbids it (${name})`,
			});
			expect([...there.keys()]).toEqual([]);
		}
	});

	// Regression: an object of any size was read into memory.
	test("an object is too large to be read", async () => {
		const stub = createServer((_, response) => void response.writeHead(200, { "content-length": 2 ** 31 }).write("x"));
		const port = await listen(stub);
		expect(await failure(open("bucket", "a", { port }).load(SESSION))).toMatchObject({
			code: "failed",
			message: expect.stringContaining("s3://bucket/store.json has 2147483648 bytes, more than can be read"),
		});
	});

	// Regression: the object was taken to be there. So a deletion removed lines and header without its mark, and a
	// redaction did nothing.
	test("status 409 stops deletions, redactions and appends", async () => {
		const bucket = server.newBucket();
		await append(open(bucket), entries("a", 1));
		const { port } = await between(
			(request) =>
				request.method === "PUT" && { status: 409, body: "<Error><Code>ConditionalRequestConflict</Code></Error>" },
		);
		const store = open(bucket, "b", { port });
		const hash = hashOf(entries("a", 1)[0] as Buffer);
		for (const work of [
			() => store.delete(SESSION),
			() => store.redact(SESSION, [{ hash }]),
			() => append(store, entries("b", 1)),
		])
			expect(await failure(work())).toMatchObject({
				code: "unreachable",
				retryable: true,
				message: expect.stringContaining("the server answered 409"),
			});
		const { sessions, deleted } = await open(bucket).list();
		expect([sessions.length, deleted]).toEqual([1, []]);
		expect(ids(await open(bucket).load(SESSION))).toEqual(["a0"]);
	});

	// Regression: a redaction asked for ever whether the object was still the one without tag.
	test("its objects come without ETag", async () => {
		const [bucket, used] = [server.newBucket(), server.newBucket()];
		const { port } = await between(
			() => undefined,
			({ etag, ...headers }) => headers,
		);
		const refusal = { code: "unsupported", message: expect.stringContaining("returns objects without ETag") };
		expect(await failure(append(open(bucket, "a", { port }), entries("a", 1)))).toMatchObject(refusal);
		expect(existsSync(join(server.folder, bucket, "store.json"))).toBe(false);
		await append(open(used), entries("a", 1));
		const hash = hashOf(entries("a", 1)[0] as Buffer);
		expect(await failure(open(used, "b", { port }).redact(SESSION, [{ hash }]))).toMatchObject(refusal);
		expect(await failure(append(open(used, "a", { port }), entries("b", 1)))).toMatchObject(refusal);
	});

	test("an object that always changes is not redacted for ever", async () => {
		const bucket = server.newBucket();
		await append(open(bucket), entries("a", 1));
		const { port } = await between((request) => request.headers["if-match"] !== undefined && { status: 412, body: "" });
		const hash = hashOf(entries("a", 1)[0] as Buffer);
		expect(await failure(open(bucket, "b", { port }).redact(SESSION, [{ hash }]))).toMatchObject({
			code: "failed",
			message: expect.stringContaining("because others change it all the time"),
		});
	});

	test.each([
		[507, "", "full", true],
		[403, "<Error><Code>QuotaExceeded</Code><Message>5 &lt; 6 &#38; more</Message></Error>", "full", true],
		[403, "<Error><Code>AccessDenied</Code></Error>", "denied", false],
		[503, "<Error><Code>SlowDown</Code></Error>", "unreachable", true],
		[429, "", "unreachable", true],
		[409, "<Error><Code>OperationAborted</Code></Error>", "unreachable", true],
		[501, "<Error><Code>NotImplemented</Code></Error>", "unsupported", false],
		[301, "", "failed", false],
		[403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", "denied", false],
	])("the server answers %i %s", async (status, body, code, retryable) => {
		const port = await answering(status, body);
		for (const work of [
			() => append(open("bucket", "a", { port }), entries("a", 1)),
			() => open("bucket", "a", { port }).load(SESSION),
		]) {
			const error = await failure(work());
			expect(error).toMatchObject({ code, retryable });
			expect(error.message).toContain(`the server answered ${status}`);
			if (body.includes("&lt;")) expect(error.message).toContain("5 < 6 & more");
		}
	});
});

test("a broken kept connection is replaced by another", async () => {
	const used = new WeakSet<object>();
	const requests: string[] = [];
	const stub = createServer((request, response) => {
		requests.push(request.method as string);
		if (used.has(request.socket)) return request.socket.destroy();
		used.add(request.socket);
		response
			.writeHead(request.method === "PUT" ? 412 : request.url?.includes("list-type") ? 200 : 404)
			.end("<ListBucketResult></ListBucketResult>");
	});
	const store = open("bucket", "a", { port: await listen(stub) });
	for (let nth = 0; nth < 3; nth++) expect((await store.list()).sessions).toEqual([]);
	// Each of the six requests after the first met a connection that was ended.
	expect(requests.length).toBeGreaterThan(6);
});

test.each([-3_600_000, 3_600_000])("a clock that is wrong by %i ms changes nothing", async (wrong) => {
	const bucket = server.newBucket();
	const store = open(bucket);
	const { cursor } = await append(store, entries("a", 1));
	vi.useFakeTimers({ now: Date.now() + wrong, toFake: ["Date"] });
	onTestFinished(() => {
		vi.useRealTimers();
	});
	const other = open(bucket, "b");
	await append(other, entries("b", 1), (await other.load(SESSION)).cursor);
	vi.useRealTimers();
	await append(store, entries("c", 1), (await store.load(SESSION, cursor)).cursor);
	expect(ids(await loadAll(store, SESSION))).toEqual(["a0", "b0", "c0"]);
});

test.each([
	[503, "SlowDown"],
	[409, "ConditionalRequestConflict"],
])(
	"a busy server is asked again (%i %s)",
	async (status, code) => {
		const bucket = server.newBucket();
		for (let n = 0; n < 10; n++)
			await open(bucket).append(`s${n}`, { header: header(`s${n}`), lines: entries("a", 1) });
		const counts = new Map<string, number>();
		// A refusal of each request, then an answer.
		const { port } = await between(({ method, url }) => {
			const count = counts.get(`${method} ${url}`) ?? 0;
			counts.set(`${method} ${url}`, count + 1);
			return count % 2 === 0 && { status, body: `<Error><Code>${code}</Code></Error>` };
		});
		const store = open(bucket, "b", { port });
		onTestFinished(() => store.close());
		expect(ids(await store.load("s3"))).toEqual(["a0"]);
		await store.delete("s4");
		expect((await store.append("s10", { header: header("s10"), lines: entries("a", 1) })).stored).toBe(1);
		expect((await open(bucket).list()).sessions).toHaveLength(10);
	},
	30_000,
);

test("requests are repeated with the time of the server", async () => {
	const now = () => performance.timeOrigin + performance.now();
	const refused: boolean[] = [];
	const stub = createServer((request, response) => {
		const [, year, month, day, hour, minute, second] = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(
			String(request.headers["x-amz-date"]),
		) as string[];
		const wrong = Math.abs(Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - now()) > 15 * 60_000;
		refused.push(wrong);
		response.writeHead(wrong ? 403 : request.url?.includes("list-type") ? 200 : 404, {
			date: new Date(now()).toUTCString(),
		});
		response.end(wrong ? "<Error><Code>RequestTimeTooSkewed</Code></Error>" : "<ListBucketResult></ListBucketResult>");
	});
	const port = await listen(stub);
	vi.useFakeTimers({ now: Date.now() - 3_600_000, toFake: ["Date"] });
	onTestFinished(() => {
		vi.useRealTimers();
	});
	expect((await open("bucket", "a", { port }).load(SESSION)).lines).toEqual([]);
	expect([refused[0], refused.slice(1).includes(true)]).toEqual([true, false]);
});

describe("the way to the server", () => {
	let proxy: TcpProxy;
	beforeAll(async () => {
		proxy = await startProxy(server.port);
	});
	afterAll(() => proxy.stop());

	/** However long the machine takes for it, an answer comes. */
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
