// Credentials of an S3 store whose address contains none.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { emptyDirectory, library } from "../support/lines.js";
import { listen } from "../support/servers.js";

const run = promisify(execFile);

/** A server that answers every request with an empty list, and notes who signed the requests. */
async function bucket() {
	const keys: (string | undefined)[] = [];
	const server = createServer((request: IncomingMessage, response) => {
		keys.push(/Credential=([^/]+)/.exec(request.headers.authorization ?? "")?.[1]);
		if (!request.url?.includes("list-type")) response.statusCode = 404;
		response.end(
			response.statusCode === 404
				? "<Error><Code>NoSuchKey</Code></Error>"
				: "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>",
		);
	});
	return { keys, address: `s3://bucket?endpoint=http://127.0.0.1:${await listen(server)}` };
}

/** Lists a store twice in another process. */
const list = (address: string, env: Record<string, string>) => {
	const program = `
		const { openStore } = require(${JSON.stringify(library)});
		openStore(${JSON.stringify(address)}, { host: "a" }).then(async (store) => {
			for (let times = 0; times < 2; times++) await store.list({ session: "x" });
			await store.close();
		}).catch((error) => console.log(error.code, error.message));`;
	return run(process.execPath, ["-e", program], { env: { PATH: process.env.PATH, ...env } as NodeJS.ProcessEnv });
};

/** AWS's configuration files with a profile that has its own keys. */
function profile(key: string) {
	const path = join(emptyDirectory(), "credentials");
	writeFileSync(path, `[default]\naws_access_key_id = ${key}\naws_secret_access_key = s\n`);
	return { AWS_SHARED_CREDENTIALS_FILE: path, AWS_CONFIG_FILE: "/dev/null" };
}

test("without AWS's variables the keys of a profile count", async () => {
	const { keys, address } = await bucket();
	expect((await list(address, profile("of-a-profile"))).stdout).toBe("");
	expect([...new Set(keys)]).toEqual(["of-a-profile"]);
});

test("AWS's variables come first", async () => {
	const { keys, address } = await bucket();
	await list(address, {
		...profile("of-a-profile"),
		AWS_ACCESS_KEY_ID: "of-the-environment",
		AWS_SECRET_ACCESS_KEY: "s",
	});
	expect([...new Set(keys)]).toEqual(["of-the-environment"]);
});

test("without credentials the error says what may give some", async () => {
	const { keys, address } = await bucket();
	const { stdout } = await list(address, { HOME: emptyDirectory(), AWS_EC2_METADATA_DISABLED: "true" });
	expect(stdout).toMatch(/^denied .*AWS_ACCESS_KEY_ID.*a profile/);
	expect(keys).toEqual([]);
});

// Regression: the only message was that the answer was a redirect.
test("the error names the region of a bucket elsewhere", async () => {
	const server = createServer((_, response) =>
		response
			.writeHead(301, { "x-amz-bucket-region": "eu-central-1" })
			.end("<Error><Code>PermanentRedirect</Code></Error>"),
	);
	const { stdout } = await list(`s3://bucket?endpoint=http://127.0.0.1:${await listen(server)}`, {
		AWS_ACCESS_KEY_ID: "me",
		AWS_SECRET_ACCESS_KEY: "s",
	});
	expect(stdout).toContain("failed s3://bucket/: the server answered 301, PermanentRedirect");
	expect(stdout).toContain(
		"(the bucket is in the region eu-central-1, not us-east-1: set region=eu-central-1 in the address, or AWS_REGION)",
	);
});
