// A list with a catalog equals pi's list, after any change of the files since the last list.
import {
	appendFileSync,
	chmodSync,
	copyFileSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { count } from "../../support/counts.mjs";
import { bytesRead } from "../../support/open-files.js";
import { api, header, lockedOut, message, text, user, writeSession } from "../../support/scratch.js";
import { testIf, testWith } from "../../support/windows.js";
import { type AgentDir, agentDir, listed, listedByReference, namesIn, settled, tick } from "./agent-dir.js";

const { SessionManager } = api;

/** Lists before a change, after it, and again. Each list equals pi's. */
async function after(change: (at: AgentDir) => void | Promise<void>, count?: number): Promise<void> {
	const at = agentDir(count);
	await tick();
	expect(await listed()).toEqual(await listedByReference());
	expect(namesIn(at.agent)).toContain("session-catalog.sqlite");
	await change(at);
	expect(await listed()).toEqual(await listedByReference());
	await tick();
	expect(await listed()).toEqual(await listedByReference());
	expect(await listed()).toEqual(await listedByReference());
}

const line = (value: unknown) => `${JSON.stringify(value)}\n`;
const more = (id: string) => line(message(id, "c", user(`more ${id}`, { timestamp: Date.UTC(2026, 0, 1) })));

describe("the list is pi's", () => {
	test("after a rename, a copy, a link and a deletion", () =>
		after(({ dir, other }) => {
			renameSync(join(dir, "0.jsonl"), join(dir, "renamed.jsonl"));
			renameSync(join(dir, "1.jsonl"), join(other, "1.jsonl"));
			copyFileSync(join(dir, "2.jsonl"), join(dir, "copy.jsonl"));
			symlinkSync(join(dir, "2.jsonl"), join(dir, "link.jsonl"));
			rmSync(join(dir, "4.jsonl"));
		}));

	test("after a whole project went away", () => after(({ other }) => rmSync(other, { recursive: true })));

	test("after a file was written anew in place", () =>
		after(async ({ dir }) => {
			const rewrite = (name: string, change: (text: string) => string) => {
				const path = join(dir, name);
				const { atime, mtime } = statSync(path);
				writeFileSync(path, change(readFileSync(path, "utf8")));
				utimesSync(path, atime, mtime);
			};
			rewrite("0.jsonl", (text) => text.replace("question 0", "a longer question") + more("z"));
			rewrite("1.jsonl", (text) => `${text.split("\n").slice(0, 2).join("\n")}\n`);
			rewrite("2.jsonl", (text) => text.replace("question 2", "QUESTION 2"));
		}));

	test("after the last line was replaced by others", () =>
		after(async ({ dir }) => {
			const path = join(dir, "0.jsonl");
			const before = readFileSync(path, "utf8");
			appendFileSync(path, more("d"));
			await listed();
			writeFileSync(path, before + more("e") + more("f"));
		}));

	test("when a file becomes a session, or none", () =>
		after(async ({ dir }) => {
			writeFileSync(join(dir, "empty.jsonl"), "");
			writeFileSync(join(dir, "torn.jsonl"), "torn {\n");
			writeFileSync(join(dir, "junk.jsonl"), "5\n");
			await tick();
			expect(await listed()).toEqual(await listedByReference());
			for (const name of ["empty", "torn", "junk"]) {
				appendFileSync(join(dir, `${name}.jsonl`), text([header({ id: name }), message("a", null, user(name))]));
			}
			writeFileSync(join(dir, "0.jsonl"), "no session\n");
		}));

	test("of odd lines", () =>
		after(({ dir }) => {
			const long = "x".repeat(6 << 20);
			writeSession(
				dir,
				[
					header({ id: "odd" }),
					'{"type":"message","id":"a","message":{"role":"user","content":"one","role":"user"}}',
					'{"ty\\u0070e":"message","id":"b","message":{"r\\u006fle":"user","content":"two"}}',
					'{"type":"mess\\u0061ge","id":"c","timestamp":"2025-01-05T00:00:00.000Z","message":{"content":"three","role":"\\u0075ser"}}',
					'{"message":{"content":[{"text":"four \\ud83d","type":"text"}],"role":"assistant","timestamp":1e12},"id":"d","type":"message"}',
					`{"type":"message","id":"e","message":{"role":"user","content":"${long}"}}`,
					`{"type":"message","id":"f","message":{"role":"assistant","content":"bad \u0001"}}`,
					'{"type":"message","id":"g","message":{"role":"assistant","content":"bad \\x"}}',
					'{"type":"message","id":"h","message":{"role":"assistant","content":"last"} ',
				],
				"odd.jsonl",
			);
		}));
});

// Regression: they were listed as JSON, or not at all.
test("texts and parents of other types are listed", async () => {
	const blocks = [5, -0, 1.5, 1e21, 1e-7, null, true, [], ["a", [1, [null, "b"]], {}], {}, { x: "}" }, "plain"];
	const each = blocks.map((value, n) =>
		message(`t${n}`, null, user([{ type: "text", text: value }], { timestamp: n + 1 })),
	);
	const all = message(
		"all",
		null,
		user([...blocks.map((value) => ({ type: "text", text: value })), { type: "text" }], { timestamp: 50 }),
	);
	await after(({ dir, other }) => {
		writeSession(dir, [header({ id: "texts" }), all, ...each], "texts.jsonl");
		for (const [n, one] of each.entries()) writeSession(other, [header({ id: `one-${n}` }), one], `one-${n}.jsonl`);
		for (const [n, parentSession] of [null, 5, "", { a: [1] }, "/p"].entries()) {
			writeSession(other, [header({ id: `parent-${n}`, parentSession })], `parent-${n}.jsonl`);
		}
		writeSession(other, [header({ id: "both", version: 2, parentSession: null, branchedFrom: "/x" })], "both.jsonl");
	});
});

test("thousands of times that only JavaScript can read", () =>
	after(({ dir, other }) => {
		const forms: ((n: number) => unknown)[] = [
			(n) => new Date(Date.UTC(2025, 0, 1, 0, 0, n)).toUTCString(),
			(n) => `2025-02-01T00:00:${String(n % 60).padStart(2, "0")}Z`,
			(n) => `2025-03-01T00:00:00.${String(n).padStart(6, "0")}+05:30`,
			(n) => `2025-04-01 00:${String(n % 60).padStart(2, "0")}`,
			(n) => [`2025-05-${String((n % 28) + 1)}`],
			(n) => `no time ${n}`,
		];
		const at = (n: number, timestamp: unknown) => ({
			...message(`e${n}`, null, user("x", { timestamp: undefined })),
			timestamp,
		});
		for (const [which, form] of forms.entries()) {
			writeSession(
				dir,
				[header({ id: `odd-${which}` }), ...Array.from({ length: 700 }, (_, n) => at(n, form(n)))],
				`odd-${which}.jsonl`,
			);
		}
		const mixed = Array.from({ length: 600 }, (_, n) => at(n, forms[n % forms.length]?.(n)));
		writeSession(
			other,
			[header({ id: "mixed" }), ...mixed, message("last", null, user("y", { timestamp: 7 }))],
			"mixed.jsonl",
		);
	}));

test("a time that throws as one emptied the list", async () => {
	const at = agentDir();
	const thrown = { toString: 1, valueOf: 1 };
	writeSession(at.dir, [header({ id: "made", timestamp: thrown })], "made.jsonl");
	expect(await listed()).toEqual(await listedByReference());
	expect(await listed()).toHaveLength(12);
	const said = { ...message("a", null, user("x", { timestamp: undefined })), timestamp: thrown };
	writeSession(at.dir, [header({ id: "said", timestamp: "2024-01-01T00:00:00.000Z" }), said], "said.jsonl");
	// pi's list fails, but a strange message does not hide a session in ours.
	expect((await SessionManager.listAll()).find((info) => info.id === "said")?.messageCount).toBe(1);
	expect(await listed()).toHaveLength(13);
});

testWith("modes")("an unreadable file is left out until it is readable", async () => {
	const { agent, dir, other } = agentDir();
	for (const open of [agent, join(agent, "sessions"), dir, other]) chmodSync(open, 0o755);
	await tick();
	const whole = await listed();
	const path = join(dir, "0.jsonl");
	appendFileSync(path, "\n");
	expect(await lockedOut(path, listed)).toHaveLength((whole as unknown[]).length - 1);
	expect(await listed()).toEqual(whole);
});

testIf(process.platform === "linux", "only Linux says what a process has read")(
	"a list reads only new bytes of known files",
	async () => {
		const at = agentDir(3);
		const path = writeSession(
			at.dir,
			[
				header({ id: "large" }),
				...Array.from({ length: 400 }, (_, n) => message(`m${n}`, null, user("y".repeat(50_000)))),
			],
			"large.jsonl",
		);
		await tick();
		const read = async () => {
			// The texts that are read in the background contain only the new text.
			const before = bytesRead();
			await SessionManager.list("/project");
			return bytesRead() - before;
		};
		expect(await read()).toBeGreaterThan(19_000_000);
		await settled(at);
		// The files have 20 MB. The catalog reads some MB of its own pages if they are moved from its log at that time.
		expect(await read()).toBeLessThan(8_000_000);
		await settled(at);
		appendFileSync(path, more("z"));
		expect(await read()).toBeLessThan(8_000_000);
		const [newest] = await SessionManager.list("/project");
		expect([newest?.id, newest?.messageCount]).toEqual(["large", 401]);
	},
);

const MANY = count("listed_files");

test(`${MANY} files are listed, in order, and again`, async () => {
	const { agent } = agentDir(0);
	const dir = join(agent, "sessions", "--many--");
	mkdirSync(dir);
	for (let n = 0; n < MANY; n++) {
		const id = String(n).padStart(6, "0");
		writeFileSync(
			join(dir, `${id}.jsonl`),
			`{"type":"session","version":3,"id":"${id}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/m"}\n`,
		);
	}
	for (let time = 0; time < 2; time++) {
		const list = await SessionManager.listAll(dir);
		expect(list).toHaveLength(MANY);
		// All have one time, so they are sorted by name, descending.
		const at = (from: number) => String(MANY - 1 - from).padStart(6, "0");
		expect([list[0]?.id, list[1_234]?.id, list.at(-1)?.id]).toEqual([at(0), at(1_234), "000000"]);
		expect(list.every((info, from) => info.id === at(from))).toBe(true);
		expect(new Set(list.map((info) => `${info.path} ${info.cwd} ${info.messageCount}`)).size).toBe(MANY);
	}
	// Some files change, some disappear, some are not sessions, and one name is strange.
	for (let n = 0; n < 50; n++) rmSync(join(dir, `${String((n * MANY) / 100).padStart(6, "0")}.jsonl`));
	writeFileSync(join(dir, "000001.jsonl"), "no session\n");
	writeSession(
		dir,
		[header({ id: "odd" }), message("a", null, user("x", { timestamp: Date.UTC(2030, 0, 1) }))],
		"odd.jsonl",
	);
	const list = await SessionManager.listAll(dir);
	expect([list.length, list[0]?.id, list[1]?.id, list.at(-1)?.id]).toEqual([
		MANY - 50,
		"odd",
		String(MANY - 1).padStart(6, "0"),
		"000002",
	]);
}, 600_000);
