// An S3 server for the tests of a file, and stores in it.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import { S3Store, type StoreError } from "../../lib/index.js";
import { failure } from "./lines.js";
import { listen, PASSWORD, type S3, startS3 } from "./servers.js";

/** The server that `withS3` starts before the first test of the file. */
export let server: S3;

/** Starts a server before the tests of the file, and stops it after them. */
export function withS3(): void {
	beforeAll(async () => {
		server = await startS3();
	});
	afterAll(() => server?.stop());
}

export const at = (port: number): string => `http://127.0.0.1:${port}`;

export const open = (
	bucket: string,
	host = "a",
	to: { port?: number; prefix?: string; timeout?: number } = {},
): S3Store =>
	new S3Store({
		host,
		bucket,
		prefix: to.prefix,
		endpoint: at(to.port ?? server.port),
		timeout: to.timeout,
		credentials: server.credentials,
	});

/** The environment of a process that uses the server. */
export const environment = () => ({
	AWS_ACCESS_KEY_ID: server.credentials.accessKeyId,
	AWS_SECRET_ACCESS_KEY: server.credentials.secretAccessKey,
});

/** The error of a call, which must not contain the secret. */
export async function safeFailure(work: Promise<unknown>): Promise<StoreError> {
	const error = await failure(work);
	expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(PASSWORD);
	return error;
}

interface Refusal {
	status: number;
	body: string;
}

/** A connection to the server that notes requests, refuses some, and may change the headers of answers. */
export async function between(
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
