// Which files a store accepts as sessions, compared with the addon: headers, versions, names of files.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { api, caught, message, scratch, text, user } from "../../../../__test__/support/scratch.js";

const require = createRequire(import.meta.url);
const { fileName, idInName } = require("../../lib/machine/session-path.js");
const local = require("../../lib/machine/local-sessions.js");

const { SessionManager } = api;
const ENTRY = text([message("a", null, user())]);

function written(lines: string): string {
	const path = join(scratch(), "session.jsonl");
	writeFileSync(path, Buffer.from(lines, "latin1"));
	return path;
}

/** The error of a store for a file; undefined if the store accepts it. */
const refusal = (path: string): Promise<string | undefined> =>
	local.describe(path).then(
		() => undefined,
		({ message }: Error) => message,
	);

describe("a store takes a version that the addon does not migrate", () => {
	// Regression: it refused versions that are not numbers, which the addon does not migrate, and advised to open the
	// file.
	const stated = [
		"1",
		"null",
		"true",
		"false",
		'""',
		'" \\u2003"',
		"1.5",
		"2",
		'"2"',
		'"2."',
		'"2e0"',
		'"+2"',
		"2.5",
		"-1",
		"3",
		"3.0",
		'"3"',
		'" 3 "',
		'"x"',
		'"."',
		'"1e"',
		'"0x1"',
		'"-Infinity"',
		"{}",
		"[]",
		"[1]",
		"[3]",
		'{"valueOf":1}',
	];
	test.each(["", ...stated])("%s", async (version) => {
		const path = written(`{"type":"session",${version && `"version":${version},`}"id":"one","cwd":"/x"}\n${ENTRY}`);
		const before = readFileSync(path, "utf8");
		const why = await refusal(path);
		SessionManager.open(path).close();
		expect(why === undefined).toBe(readFileSync(path, "utf8") === before);
		expect(why ?? "open it once").toContain("open it once");
		expect(await refusal(path)).toBeUndefined();
	});

	test.each(["4", '"4"', "3.5", "1e999"])("but refuses %s, of a version to come", async (version) => {
		expect(await refusal(written(`{"type":"session","version":${version},"id":"one"}\n`))).toContain("install a newer");
	});
});

test.each([
	['{"type":"session","version":3,"id":"one"}', "one"],
	['\n \r\n{"id":"one"\n{"type":"session","version":3,"id":"one"}\r', "one"],
	['{"version":3,"t\\u0079pe":"sess\\u0069on","id":"two","id":"one"}', "one"],
	['{"type":"session","version":3,"id":"on\xff"}', "on\ufffd"],
	[`{"type":"session","version":3,"pad":"${"x".repeat(20_000)}","id":"one"}`, "one"],
	['\xef\xbb\xbf{"type":"session","version":3,"id":"bom"}\n{"type":"session","version":3,"id":"one"}', "one"],
	['\0\0\n{"type":"session","version":3,"id":"one"}', "one"],
	['{"type":"session","version":3,"id":1}', undefined],
	['{"type":"session","version":3}', undefined],
	['{"type":"session","version":3,"id":"one","id":null}', undefined],
	['{"type":"message","id":"one"}', undefined],
	['{"__proto__":{"type":"session","id":"one"}}', undefined],
	['null\n{"type":"session","version":3,"id":"one"}', undefined],
	['[]\n{"type":"session","version":3,"id":"one"}', undefined],
	["no JSON", undefined],
])("a store and the addon find the same header: %s", async (head, id) => {
	for (const rest of ["", `\n${ENTRY}`]) {
		const path = written(head + rest);
		expect(api.readSessionHeader(path)?.id).toBe(id);
		if (id === undefined)
			expect([await refusal(path), caught(() => SessionManager.open(path)).message]).toEqual([
				expect.stringContaining("no header"),
				expect.stringContaining("not a valid pi session"),
			]);
		else expect(SessionManager.open(path).getSessionId()).toBe(id);
	}
});

test("a pulled file has the same name as pi's", () => {
	const manager = SessionManager.create("/x", scratch());
	manager.appendMessage(user());
	const path = String(manager.getSessionFile());
	expect(basename(path)).toBe(fileName(manager.getHeader()?.timestamp, manager.getSessionId()));
	expect(idInName(path)).toBe(manager.getSessionId());
});
