// `open(path, { readonly: true })` shows the same as pi, and no call changes anything.
import { appendFileSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadReference } from "../../support/reference.js";
import {
	api,
	assistant,
	header,
	ids,
	jsonLines,
	type Loose,
	linesOf,
	loose,
	message,
	ownAgent,
	read,
	scratch,
	setEnv,
	snapshot,
	text,
	user,
	writeSession,
} from "../../support/scratch.js";

const { SessionManager } = api;
const pi = (await loadReference()) as unknown as typeof api;
const shown = (file: string) => SessionManager.open(file, { readonly: true });
const V1 = [
	{ type: "session", id: "old", timestamp: "2024-06-01T09:00:00.000Z", cwd: "/", provider: "p" },
	{ type: "message", timestamp: "2024-06-01T09:00:01.000Z", message: user("Hi") },
	{
		type: "message",
		timestamp: "2024-06-01T09:00:02.000Z",
		message: { ...user("hook"), role: "hookMessage", customType: "x", display: true },
	},
	{ type: "compaction", timestamp: "2024-06-01T09:00:03.000Z", summary: "s", firstKeptEntryIndex: 2, tokensBefore: 5 },
];
const V2 = [
	{ type: "session", version: 2, id: "old", timestamp: "2024-06-01T09:00:00.000Z", cwd: "/" },
	message("a", null),
	message("b", "a", { ...user("hook"), role: "hookMessage", customType: "x", display: true }),
];

/** All calls that change a session, or try to. */
const CHANGES: Record<string, (manager: Loose) => unknown> = {
	appendMessage: (manager) => manager.appendMessage?.(user()),
	appendThinkingLevelChange: (manager) => manager.appendThinkingLevelChange?.("high"),
	appendModelChange: (manager) => manager.appendModelChange?.("p", "m"),
	appendUsage: (manager) => manager.appendUsage?.("k", "p", "m", {}),
	appendCompaction: (manager) => manager.appendCompaction?.("s", null, 1),
	appendCustomEntry: (manager) => manager.appendCustomEntry?.("x"),
	appendSessionInfo: (manager) => manager.appendSessionInfo?.("name"),
	appendCustomMessageEntry: (manager) => manager.appendCustomMessageEntry?.("x", "text", true),
	appendContextEdit: (manager) => manager.appendContextEdit?.(manager.getLeafId?.(), null),
	appendLabelChange: (manager) => manager.appendLabelChange?.(manager.getLeafId?.(), "label"),
	branch: (manager) => manager.branch?.("no such entry"),
	branchWithSummary: (manager) => manager.branchWithSummary?.(null, "s"),
	resetLeaf: (manager) => manager.resetLeaf?.(),
	createBranchedSession: (manager) => manager.createBranchedSession?.(manager.getLeafId?.()),
	newSession: (manager) => manager.newSession?.(),
	setSessionFile: (manager) => manager.setSessionFile?.("/elsewhere.jsonl"),
};

test("every method either reads or throws in a read-only manager", () => {
	const reads = /^(get|build|is|uses|draw)|^(constructor|onAppend|reload|flush|close)$/;
	const others = Object.getOwnPropertyNames(SessionManager.prototype).filter((name) => !reads.test(name));
	expect(others.sort()).toEqual(Object.keys(CHANGES).sort());
});

test.each([
	["3", [header(), message("a", null), message("b", "a", assistant("x".repeat(2_000)))]],
	["2", V2],
	["1", V1],
] as const)("a file of version %s is shown as in pi", (_, lines) => {
	const dir = scratch();
	const file = writeSession(dir, lines);
	const before = snapshot(dir);
	const manager = shown(file);
	const copy = writeSession(scratch(), lines);
	const theirs = pi.SessionManager.open(copy);
	const names = new Map(theirs.getEntries().map((entry, at) => [entry.id, manager.getEntries()[at]?.id]));
	const withOurIds = (value: unknown) =>
		JSON.parse(JSON.stringify(value), (_, one) => (typeof one === "string" && names.get(one)) || one);
	expect(JSON.parse(JSON.stringify(manager.getEntries()))).toEqual(withOurIds(theirs.getEntries()));
	expect(JSON.parse(JSON.stringify(manager.buildSessionContext()))).toEqual(withOurIds(theirs.buildSessionContext()));
	expect([manager.getHeader(), manager.getLeafId(), manager.getSessionFile()]).toEqual([
		theirs.getHeader(),
		names.get(theirs.getLeafId() ?? ""),
		file,
	]);
	expect([manager.isPersisted(), manager.getCwd(), manager.getSessionDir()]).toEqual([false, theirs.getCwd(), dir]);

	const entries = manager.getEntries();
	for (const [name, change] of Object.entries(CHANGES)) {
		expect(() => change(loose(manager)), name).toThrow(
			expect.objectContaining({
				code: "ERR_SESSION_READ_ONLY",
				path: file,
				message: `The session was opened read-only and cannot be changed: ${file}`,
			}),
		);
	}
	manager.reload();
	manager.flush();
	manager.close();
	expect(ids(manager.getEntries())).toEqual(ids(entries));
	expect(manager.getLeafId()).toBe(entries.at(-1)?.id);
	expect(snapshot(dir)).toEqual(before);
});

test("an entry of version 1 has its number as id", () => {
	const file = writeSession(scratch(), V1);
	expect(ids(shown(file).getEntries())).toEqual(["00000001", "00000002", "00000003"]);
	expect(shown(file).getEntries()[2]).toMatchObject({ parentId: "00000002", firstKeptEntryId: "00000002" });
});

describe("a path that cannot be shown is an error", () => {
	test("no file", () => {
		const dir = scratch();
		expect(() => shown(join(dir, "none", "such.jsonl"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
		expect(readdirSync(dir)).toEqual([]);
	});

	test("an empty file, and one that is not a session", () => {
		const dir = scratch();
		for (const content of ["", "a poem\n"]) {
			const file = join(dir, "file.jsonl");
			writeFileSync(file, content);
			expect(() => shown(file)).toThrow(`Session file is not a valid pi session: ${file}`);
			expect(read(file)).toBe(content);
			expect(readdirSync(dir)).toEqual(["file.jsonl"]);
		}
	});

	test("a session directory that is not there is not made", () => {
		const dir = scratch();
		const file = writeSession(dir, [header()]);
		expect(SessionManager.open(file, { readonly: true, sessionDir: join(dir, "new") }).getSessionDir()).toBe(
			join(dir, "new"),
		);
		expect(existsSync(join(dir, "new"))).toBe(false);
	});
});

test("a read-only manager neither takes nor awaits a lock", () => {
	ownAgent();
	const file = writeSession(scratch(), [header(), message("a", null)]);
	const holder = SessionManager.open(file, { lock: "exclusive" });
	holder.appendCustomEntry("mine");
	setEnv({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const manager = SessionManager.open(file, { readonly: true, lock: "exclusive" });
	expect(manager.getEntryCount()).toBe(2);
	holder.appendCustomEntry("mine");
	manager.reload();
	expect(manager.getEntryCount()).toBe(3);
	holder.close();
	expect(SessionManager.isLocked(file)).toBe(false);
});

describe("reload", () => {
	test("reads another writer's entries, and the last is the leaf", () => {
		const file = writeSession(scratch(), [header(), message("a", null), message("b", "a")]);
		const manager = shown(file);
		const first = manager.getEntries();
		const writer = SessionManager.open(file);
		writer.branch("a");
		const id = writer.appendMessage(user("another branch"));
		expect(manager.getLeafId()).toBe("b");
		manager.reload();
		expect(manager.getLeafId()).toBe(id);
		expect(ids(manager.getBranch())).toEqual(["a", id]);
		expect(
			manager
				.getEntries()
				.slice(0, 2)
				.every((entry, at) => entry === first[at]),
		).toBe(true);
	});

	test("reads a file that was replaced or truncated", () => {
		const file = writeSession(scratch(), [header(), message("a", null), message("b", "a")]);
		const manager = shown(file);
		writeFileSync(`${file}.new`, text([header(), message("a", null), message("c", "a"), message("d", "c")]));
		renameSync(`${file}.new`, file);
		manager.reload();
		expect(ids(manager.getEntries())).toEqual(["a", "c", "d"]);
		expect(manager.getLeafId()).toBe("d");
		const kept = text([header(), message("a", null)]);
		writeFileSync(file, kept);
		manager.reload();
		expect([ids(manager.getEntries()), manager.getLeafId(), read(file)]).toEqual([["a"], "a", kept]);
	});

	test.each(["deleted", "emptied"])("a file that was %s is an error", (how) => {
		const dir = scratch();
		const file = writeSession(dir, [header(), message("a", null)]);
		const manager = shown(file);
		manager.getEntries();
		if (how === "deleted") rmSync(file);
		else writeFileSync(file, "");
		expect(() => manager.reload()).toThrow(file);
		expect(manager.getEntryCount()).toBe(1);
		expect(existsSync(file) ? read(file) : "").toBe("");
		expect(readdirSync(dir)).toEqual(how === "deleted" ? [] : ["session.jsonl"]);
	});

	test("reads a file of version 1 that another process migrated", () => {
		const file = writeSession(scratch(), V1);
		const manager = shown(file);
		appendFileSync(file, `${JSON.stringify(V1[1])}\n`);
		manager.reload();
		expect(ids(manager.getEntries())).toEqual(["00000001", "00000002", "00000003", "00000004"]);
		const writer = SessionManager.open(file);
		const id = writer.appendMessage(user("after the migration"));
		manager.reload();
		expect(ids(manager.getEntries())).toEqual(
			jsonLines(file)
				.slice(1)
				.map(({ id }) => id),
		);
		expect([manager.getLeafId(), linesOf(file).length]).toEqual([id, 6]);
		rmSync(file);
		expect(() => manager.reload()).toThrow(file);
		expect(manager.getLeafId()).toBe(id);
	});
});
