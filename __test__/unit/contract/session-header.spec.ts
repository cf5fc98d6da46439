// `readSessionHeader` reads the header of a session file by the rule of lists, without the entries.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { api, caught, scratch } from "../../support/scratch.js";

const { readSessionHeader } = api;
const HEADER = { type: "session", version: 3, id: "s", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/shop" };

let file: string;
beforeEach(() => {
	file = join(scratch(), "s.jsonl");
});
const headerOf = (...lines: (string | Buffer)[]) => {
	writeFileSync(file, Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from("\n")])));
	return readSessionHeader(file);
};

test("the header of every version is given with all fields", () => {
	for (const header of [HEADER, { ...HEADER, version: 4, other: { a: [1, "\ud800"] } }, { type: "session", id: "old" }])
		expect(headerOf(JSON.stringify(header), '{"type":"custom","id":"a"}')).toEqual(header);
});

test("damaged lines before the header are skipped", () => {
	const line = JSON.stringify(HEADER);
	expect(headerOf("", "{", Buffer.alloc(3 << 20), line)).toEqual(HEADER);
	expect(headerOf(Buffer.alloc(65 << 20), line)).toBeNull();
});

test("a file with another first line is not a session", () => {
	for (const lines of [[""], ["not JSON"], ["null", JSON.stringify(HEADER)], ['{"type":"session","id":5}'], ["[]"]])
		expect(headerOf(...lines), lines[0]).toBeNull();
	writeFileSync(file, JSON.stringify(HEADER));
	expect(readSessionHeader(file)).toEqual(HEADER);
});

test("a missing file is an error with the system's code", () => {
	expect(caught(() => readSessionHeader(join(scratch(), "nowhere.jsonl")))).toMatchObject({ code: "ENOENT" });
	expect(() => readSessionHeader(scratch())).toThrow();
});
