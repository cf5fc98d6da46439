// Addresses of stores: their meaning, and that no spelling of one shows its password.

import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isWindows, testWith } from "../../../../__test__/support/windows.js";
import { openStore } from "../../lib/index.js";
import { append, emptyDirectory, entries, ids, library, SESSION } from "../support/lines.js";

interface Address {
	kind: string;
	withSecrets: string;
	shown: string;
	identity: string;
}
const { readAddress } = createRequire(library)("./base/address.js") as { readAddress(text: unknown): Address };
const refusal = (text: unknown): string => {
	try {
		readAddress(text);
	} catch (error) {
		expect(error).toMatchObject({ name: "StoreError", code: "invalid", retryable: false });
		return inspect(error, { depth: 10, showHidden: true });
	}
	throw new Error("it was taken");
};

test("a directory is one store however it is spelled", () => {
	const place = join(homedir(), "shared");
	const spellings = [
		"~/shared",
		"~/shared/",
		"~/x/../shared//",
		place,
		`${place}/`,
		`file://${place}`,
		`file://${place}/`,
		` "${place}" `,
		`'~/shared'`,
		"\t~/shared\n",
	];
	for (const text of spellings)
		expect(readAddress(text), text).toEqual({ kind: "directory", withSecrets: place, shown: place, identity: place });
	expect(readAddress("./a:b").withSecrets).toBe(join(process.cwd(), "a:b"));
	expect(readAddress("me@corp/x").withSecrets).toBe(join(process.cwd(), "me@corp/x"));
	expect(readAddress("~me").withSecrets).toBe(join(process.cwd(), "~me"));
	expect(readAddress(`${pathToFileURL(place)}%40x`).withSecrets).toBe(`${place}@x`);
});

testWith("names")("a file URL may have a colon in it", () => {
	expect(readAddress("file:///a%3Ab%40c").withSecrets).toBe("/a:b@c");
});

testWith("hosts")("a file URL of another host is refused", () => {
	expect(refusal("file://elsewhere/x")).toContain("must be of this machine");
});

test("only place, schema, endpoint and prefix distinguish stores", () => {
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	for (const name of ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER"])
		vi.stubEnv(name, "");
	const same = (...texts: string[]) =>
		expect(new Set(texts.map((text) => readAddress(text).identity)).size, texts.join(" ")).toBe(1);
	const different = (...texts: string[]) =>
		expect(new Set(texts.map((text) => readAddress(text).identity)).size, texts.join(" ")).toBe(texts.length);
	same(
		"postgres://h/x",
		"postgresql://h/x",
		"postgres://me:pw@h:5432/x?timeout=5&application_name=y",
		'"postgres://other@h/x"',
	);
	// Regression: one store had two sets of notes.
	same("postgres://h/x", "postgres://h/x?schema=pi_session_native");
	different(
		"postgres://h/x",
		"postgres://i/x",
		"postgres://h:1/x",
		"postgres://h/y",
		"postgres://h/x?schema=y",
		"postgres:///x?host=/run/a",
		"postgres:///x?host=/run/b",
	);
	same("s3://b/x", "s3://b/x/", "s3://b/x?region=eu-central-1&timeout=9");
	different("s3://b/x", "s3://c/x", "s3://b/y", "s3://b/x?endpoint=http://h");
	expect(() => readAddress("postgres:///x")).toThrow("names no host");
	vi.stubEnv("PGHOST", "h");
	same("postgres:///x", "postgres://h/x");
	const before = readAddress("s3://b/x").identity;
	vi.stubEnv("AWS_ENDPOINT_URL", "http://h");
	expect(readAddress("s3://b/x").identity).toBe(readAddress("s3://b/x?endpoint=http://h").identity);
	expect(readAddress("s3://b/x").identity).not.toBe(before);
	vi.stubEnv("AWS_ENDPOINT_URL_S3", "http://i");
	expect(readAddress("s3://b/x").identity).toBe(readAddress("s3://b/x?endpoint=http://i").identity);
});

test.each([
	[undefined, "must be text, not undefined"],
	[null, "must be text, not null"],
	[5, "must be text, not number"],
	["", "is empty"],
	['""', "is empty"],
	[
		"ftp://h/x",
		"No store has addresses that begin with ftp:// (use postgres://, s3://, file:// or the path of a directory)",
	],
	["ab:c", "must begin with / or ./"],
	["postgres://h:port/x", "is no URL (it begins with postgres:)"],
	["s3://bucket:9000/x", "A bucket has no port"],
])("%s is refused", (text, why) => {
	expect(refusal(text)).toContain(why);
});

test.each([
	["postgres://127.0.0.1/x?timeout=soon", "whole number of milliseconds"],
	["postgres://127.0.0.1/x?timeout=0", "whole number of milliseconds"],
	["s3://bucket/x?timeout=1e3", "whole number of milliseconds"],
	["s3://bucket/x?timeout=99999999999", "whole number of milliseconds"],
	["s3://bucket/%zz", "must be written %25"],
	["s3://owner:hunter2@bucket/x", "Credentials of S3 are not part of the address"],
	["s3://bucket/x?endpoint=ftp://h", "http: or https: URL"],
	["s3://bucket/x?endpoint=http%3A%2F%2Fme%3Ahunter2%40h", "must not contain a user or password"],
])("%s cannot be opened", async (address, why) => {
	const error = await openStore(address, { host: "a" }).catch((thrown: unknown) => thrown);
	expect(error).toMatchObject({ name: "StoreError", code: "invalid", message: expect.stringContaining(why) });
	expect(inspect(error, { depth: 10 })).not.toContain("hunter2");
});

test("wrong types of host and address throw a StoreError", async () => {
	// @ts-expect-error: the host is missing
	await expect(openStore("/tmp")).rejects.toMatchObject({ name: "StoreError", code: "invalid" });
	// @ts-expect-error: an address is text
	await expect(openStore(undefined, { host: "a" })).rejects.toMatchObject({ name: "StoreError", code: "invalid" });
});

test("relative, home and file addresses lead to one store", async () => {
	const home = emptyDirectory();
	const cwd = process.cwd();
	vi.stubEnv("HOME", home);
	vi.stubEnv("USERPROFILE", home);
	onTestFinished(() => {
		process.chdir(cwd);
		vi.unstubAllEnvs();
	});
	process.chdir(home);
	await append(await openStore(".", { host: "a" }), entries("a", 1));
	for (const address of ["~/", String(pathToFileURL(home))])
		expect(ids(await (await openStore(address, { host: "b" })).load(SESSION)), address).toEqual(["a0"]);
});

describe("no spelling of an address shows its password", () => {
	const SECRET = "hunter2";
	const unshown = async (address: string, isAsked = false): Promise<void> => {
		let shown = "";
		try {
			const { shown: text, identity } = readAddress(address);
			shown = text + identity;
			const store = await openStore(address, { host: "a" });
			shown += inspect(store, { depth: 10, showHidden: true });
			if (isAsked) await store.list();
			await store.close();
		} catch (error) {
			expect((error as Error).name, address).toBe("StoreError");
			shown += inspect(error, { depth: 10, showHidden: true });
		}
		expect(shown, address).not.toContain(SECRET);
	};

	// Port 1 of this machine, where no server listens.
	test.each([
		" postgres://me:hunter2@127.0.0.1:1/x",
		'"postgres://me:hunter2@127.0.0.1:1/x"',
		"'s3://AKIA:hunter2@b/x'",
		"“postgres://me:hunter2@127.0.0.1:1/x”",
		"postgres:/me:hunter2@127.0.0.1:1/x",
		"postgres:me:hunter2@127.0.0.1:1/x",
		"postgres:///me:hunter2@127.0.0.1:1/x?host=127.0.0.1&port=1",
		"postgres://me:1/hunter2@127.0.0.1:1/x",
		"postgres://me:1?hunter2@127.0.0.1:1/x",
		"postgres://me:1#hunter2@127.0.0.1:1/x",
		"postgres://me:100%hunter2@127.0.0.1:1/x",
		"postgres://me@corp:hunter2@127.0.0.1:1/x",
		"postgres://me@hunter2@127.0.0.1:1/x",
		"postgres://me:hunter2@127.0.0.1:1/x?password=hunter2",
		"postgres://127.0.0.1:1/x?user=me&password=hunter2",
		"Postgres//me:hunter2@127.0.0.1:1/x",
		"//me:hunter2@127.0.0.1:1/x",
		"me:hunter2@127.0.0.1:1/x",
		"jdbc:postgresql://me:hunter2@127.0.0.1:1/x",
		"PI_SYNC_STORE=postgres://me:hunter2@127.0.0.1:1/x",
		"host=127.0.0.1 port=1 user=me password=hunter2",
		"s3://AKIA:1/hunter2@b/x",
		"s3://b/x?endpoint=http://me:hunter2@127.0.0.1:1",
		"file://me:hunter2@127.0.0.1/x",
		"file:///me:hunter2@127.0.0.1/x",
		"C:/me:hunter2@127.0.0.1/x",
		"https://me:hunter2@127.0.0.1/x",
	])("%s", (address) => unshown(address, true));

	test("spellings that are put together at random", async () => {
		const part = (...texts: string[]) => fc.constantFrom(...texts);
		const noise = fc.string({ unit: fc.constantFrom(..."/:@?#%\\[] \"'\n=&;.hx1"), maxLength: 3 });
		const before = part("", " ", '"', "'", "\n", "export X=", "url: ", "“", "\ufeff", "jdbc:", "./");
		const scheme = part("postgres", "Postgres", "postgresql", "postgre", "s3", "http", "file", "pg", "p", "");
		const separator = part("://", ":/", ":", "//", "/", ":///", "", " ://");
		const host = part("127.0.0.1:1", "[::1]:1", "", "b", "127.0.0.1:port");
		const after = part("/x", "", "/", "?x=y", '"', "'", "/x?host=127.0.0.1&port=1", "@");
		const secret = fc.tuple(noise, noise).map(([start, end]) => `${start}${SECRET}${end}`);
		const address = fc
			.tuple(before, scheme, separator, part("me", "", "AKIA", "me@corp"), secret, host, after)
			.map(([a, b, c, user, password, d, e]) => `${a}${b}${c}${user}:${password}@${d}${e}`);
		// The text before the first colon is the user, which may be shown.
		const isUser = (text: string): boolean => /:\/\/[^:@]*hunter2/.test(text);
		// `p:/hunter2` is a directory of a drive, which may be shown, too.
		const isOnDrive = (text: string): boolean => isWindows && /^[\s"']*[a-z]:[\\/][^:]*hunter2/i.test(text);
		await fc.assert(
			fc.asyncProperty(
				address.filter((text) => !isUser(text) && !isOnDrive(text)),
				(text) => unshown(text),
			),
			{ numRuns: 3000 },
		);
	});
});
