import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { api, scratch } from "../../support/scratch.js";
import { isWindows } from "../../support/windows.js";

const { SessionManager } = api;

let dir: string;
let file: string;
const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}';
const line = (id: string, parent: string | null, content: string) =>
	JSON.stringify({
		type: "message",
		id,
		parentId: parent,
		timestamp: "2025-01-01T00:00:00.000Z",
		message: { role: "user", content, timestamp: 1 },
	});
const sha = (text: string) => createHash("sha256").update(text).digest("hex");

beforeEach(() => {
	dir = scratch();
	file = join(dir, "s.jsonl");
	writeFileSync(
		file,
		`${[HEADER, line("a", null, "the password is hunter2"), line("b", "a", "\u{1f600} stays")].join("\n")}\n`,
		{ mode: 0o600 },
	);
});

test("a text leaves the file, its backups and the catalog", async () => {
	const agent = process.env.PI_CODING_AGENT_DIR ?? "";
	const catalog = join(agent, "session-catalog.sqlite");
	writeFileSync(`${file}.bak`, readFileSync(file));
	const [before] = await SessionManager.list("/", dir);
	expect(before?.firstMessage).toBe("the password is hunter2");
	const planned = SessionManager.redact(file, { text: "hunter2", dryRun: true });
	expect(readFileSync(file, "utf8")).toContain("hunter2");
	const report = SessionManager.redact(file, { text: "hunter2" });
	expect(report).toEqual(planned);
	const expected = [HEADER, line("a", null, "the password is [redacted]"), line("b", "a", "\u{1f600} stays"), ""].join(
		"\n",
	);
	expect(readFileSync(file, "utf8")).toBe(expected);
	expect(readFileSync(`${file}.bak`, "utf8")).toBe(expected);
	expect(report).toEqual({
		lines: [
			{
				id: "a",
				hash: sha(line("a", null, "the password is hunter2")),
				newHash: sha(line("a", null, "the password is [redacted]")),
				line: new Uint8Array(Buffer.from(line("a", null, "the password is [redacted]"))),
			},
		],
		backups: [`${file}.bak`],
		temporaryFiles: [],
		left: 0,
		isCatalogClean: true,
	});
	if (existsSync(catalog))
		for (const path of [catalog, `${catalog}-wal`])
			if (existsSync(path)) expect(readFileSync(path).includes("hunter2")).toBe(false);
	expect((await SessionManager.list("/", dir))[0]?.firstMessage).toBe("the password is [redacted]");
	if (!isWindows) expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a manager with the session open reads the redaction", () => {
	const manager = SessionManager.open(file);
	manager.appendMessage({ role: "user", content: "mine: hunter2", timestamp: 1 });
	const leaf = manager.getLeafId();
	SessionManager.redact(file, { text: "hunter2", replacement: "***" });
	manager.reload();
	expect(manager.getLeafId()).toBe(leaf);
	manager.appendMessage({ role: "user", content: "later", timestamp: 2 });
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
	expect(JSON.stringify(SessionManager.open(file).buildSessionContext().messages)).toContain("mine: ***");
	expect(SessionManager.verify(file).ok).toBe(true);
});

test("entries, a text of named entries, and lines are redacted", () => {
	SessionManager.redact(file, { text: "stays", entries: ["a"] });
	expect(readFileSync(file, "utf8")).toContain("stays");
	SessionManager.redact(file, { entries: ["a"] });
	expect(readFileSync(file, "utf8").split("\n")[1]).toBe(line("a", null, "[redacted]"));
	const now = line("b", "a", "gone");
	SessionManager.redact(file, { lines: [{ hash: sha(line("b", "a", "\u{1f600} stays")).toUpperCase(), line: now }] });
	expect(readFileSync(file, "utf8").split("\n")[2]).toBe(now);
	const bytes = Buffer.from(line("b", "a", "\xff"), "latin1");
	SessionManager.redact(file, { lines: [{ hash: sha(now), line: bytes }] });
	expect(readFileSync(file).subarray(-bytes.length - 1, -1)).toEqual(bytes);
});

test("what is not a session is left alone", () => {
	const note = join(dir, "note.txt");
	writeFileSync(note, "hunter2\n");
	expect(() => SessionManager.redact(note, { text: "hunter2" })).toThrow();
	mkdirSync(join(dir, "folder"));
	expect(SessionManager.redact(join(dir, "folder"), { text: "hunter2" }).lines).toEqual([]);
	expect(readFileSync(note, "utf8")).toBe("hunter2\n");
});

test("a session with another manager's exclusive lock is not redacted", () => {
	const manager = SessionManager.open(file, { lock: "exclusive" });
	expect(() => SessionManager.redact(file, { text: "hunter2" })).toThrow(
		expect.objectContaining({ code: "ERR_SESSION_LOCKED" }),
	);
	manager.close();
	expect(readFileSync(file, "utf8")).toContain("hunter2");
});

test("wrong arguments are named, and change nothing", () => {
	const before = readFileSync(file, "utf8");
	const wrong: [unknown, RegExp][] = [
		[undefined, /what must be an object/],
		[{}, /needs text, entries/],
		[{ text: "" }, /1 to 1048576 bytes/],
		[{ text: "x".repeat(2 ** 20 + 1) }, /1 to 1048576 bytes/],
		[{ text: 5 }, /text/],
		[{ entries: "a" }, /entries/],
		[{ entries: [5] }, /each of entries/],
		[{ lines: [5] }, /each of lines/],
		[{ lines: [{ hash: "x", line: "a\nb" }] }, /line break/],
		[{ lines: [{ hash: "x", line: Buffer.from("a\nb") }] }, /line break/],
		[{ lines: [{ hash: "x", line: new Uint16Array(1) }] }, /line must be a string/],
		[{ lines: [{ hash: "x", session: 5 }] }, /session must be a string/],
		[{ text: "hunter2", lines: [] }, /needs text, entries/],
		[{ text: "hunter2", txt: 1 }, /no option "txt"/],
		[{ text: "hunter2", dryRun: 1 }, /dryRun/],
	];
	for (const [what, message] of wrong) {
		expect(() => SessionManager.redact(file, what as never), JSON.stringify(what)?.slice(0, 80)).toThrow(message);
		expect(() => SessionManager.redact(file, what as never)).toThrow(TypeError);
	}
	expect(readFileSync(file, "utf8")).toBe(before);
});

test("getters and proxies are asked once, and do no harm", () => {
	const manager = SessionManager.open(file);
	const asked: PropertyKey[] = [];
	const meddle = () => {
		manager.appendMessage({ role: "user", content: "from a getter: hunter2", timestamp: 3 });
		manager.close();
	};
	const what = new Proxy(
		{ text: "hunter2", entries: undefined, lines: undefined, replacement: undefined, dryRun: undefined },
		{
			get: (target, key) => {
				asked.push(key);
				meddle();
				return Reflect.get(target, key);
			},
		},
	);
	SessionManager.redact(file, what as never);
	expect([...new Set(asked)]).toEqual(asked);
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
	expect(SessionManager.verify(file).ok).toBe(true);
	const ids = new Proxy(["b"], { get: (target, key) => (meddle(), Reflect.get(target, key)) });
	SessionManager.redact(file, { entries: ids });
	expect(readFileSync(file, "utf8").split("\n")[2]).toBe(line("b", "a", "[redacted]"));
	const before = readFileSync(file, "utf8");
	const refusing = {
		get text(): string {
			throw new RangeError("refused");
		},
	};
	expect(() => SessionManager.redact(file, refusing)).toThrow("refused");
	const lines = [
		{
			get hash(): string {
				throw new RangeError("refused");
			},
		},
	];
	expect(() => SessionManager.redact(file, { lines })).toThrow("refused");
	expect(readFileSync(file, "utf8")).toBe(before);
});

test("lines without a file are redacted like those of one", () => {
	const { redactLines } = api;
	const bytes = (text: string) => Buffer.from(text, "latin1");
	const lines = [
		line("a", null, "hunter2 \xff"),
		line("b", "a", "stays"),
		"torn { hunter2",
		HEADER.replace("/", "hunter2"),
	];
	const redacted = (what: object, path?: string) =>
		redactLines(lines.map(bytes), what, path).map((one) => ({
			...one,
			line: Buffer.from(one.line).toString("latin1"),
		}));
	const hash = (text: string) => createHash("sha256").update(bytes(text)).digest("hex");
	const replaced = (old: string, now: string, id: string | null) => ({
		id,
		hash: hash(old),
		newHash: hash(now),
		line: now,
	});
	const cleaned = (text: string, id: string | null) => replaced(text, text.replace("hunter2", "*"), id);
	const [first = "", , torn = ""] = lines;
	expect(redacted({ text: "hunter2", replacement: "*" })).toEqual([cleaned(first, "a"), cleaned(torn, null)]);
	expect(redacted({ lines: [{ hash: hash(first) }], replacement: "*" })).toEqual([
		replaced(first, line("a", null, "*"), "a"),
	]);
	const other = { hash: hash(line("a", "x", "of another session")), line: line("a", "x", "***"), session: "other" };
	expect(redacted({ lines: [other], replacement: "*" })).toEqual([
		{ ...replaced(first, line("a", null, "*"), "a"), session: "other" },
	]);
	// If a file contains the entry, the stored line replaces the file's line.
	expect(redacted({ text: "hunter2", replacement: "*" }, file)).toEqual([
		replaced(first, line("a", null, "the password is *"), "a"),
		cleaned(torn, null),
	]);
	expect(redactLines([], { text: "hunter2" })).toEqual([]);
	expect(() => (redactLines as (...args: unknown[]) => unknown)([], { text: "hunter2" }, 5)).toThrow(
		/path must be a string/,
	);
});
