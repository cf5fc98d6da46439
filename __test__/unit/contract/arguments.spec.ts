// Arguments of the wrong type: the call throws a TypeError that names the argument, and changes nothing. No argument
// ends the process.
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
	anyManager,
	api,
	caught,
	failing,
	header,
	inMemory,
	type Loose,
	loose,
	message,
	opened,
	ownAgent,
	rejection,
	scratch,
	user,
	writeSession,
} from "../../support/scratch.js";

const functions = api as unknown as Loose;
const NOTHING = [undefined, null];
const NO_TEXT = [5, true, {}, [], Symbol("s"), 1n, () => 1, new Date(0)];
const show = (value: unknown): string => (typeof value === "object" && value ? JSON.stringify(value) : String(value));

/** A wrong argument of a call: its name, the call with it, and values with which the reference fails. */
type Wrong = readonly [name: string, call: (bad: unknown) => unknown, values: readonly unknown[]];

const everywhere = [...NOTHING, ...NO_TEXT];
const STATICS: Record<string, Wrong> = {
	"create, cwd": ["cwd", (bad) => anyManager.create?.(bad, scratch()), everywhere],
	"create, sessionDir": ["sessionDir", (bad) => anyManager.create?.("/x", bad), NO_TEXT],
	"open, path": ["path", (bad) => anyManager.open?.(bad), everywhere],
	// An object would be the options.
	"open, sessionDir": [
		"sessionDir",
		(bad) => anyManager.open?.("/none/such.jsonl", bad),
		NO_TEXT.filter((bad) => Array.isArray(bad) || typeof bad !== "object"),
	],
	"open, sessionDir of the options": [
		"sessionDir",
		(bad) => anyManager.open?.("/none/such.jsonl", { sessionDir: bad }),
		NO_TEXT,
	],
	"open, cwd of the options": [
		"options.cwd",
		(bad) => anyManager.open?.("/none/such.jsonl", { cwd: bad, sessionDir: scratch() }),
		NO_TEXT,
	],
	"open, readonly": [
		"options.readonly",
		(bad) => anyManager.open?.("/none/such.jsonl", { readonly: bad }),
		[0, 1, "yes", {}],
	],
	"open, cwdOverride": ["cwdOverride", (bad) => anyManager.open?.("/none/such.jsonl", scratch(), bad), NO_TEXT],
	"continueRecent, cwd": ["cwd", (bad) => anyManager.continueRecent?.(bad, scratch()), everywhere],
	"continueRecent, sessionDir": ["sessionDir", (bad) => anyManager.continueRecent?.("/x", bad), NO_TEXT],
	"inMemory, cwd": ["cwd", (bad) => anyManager.inMemory?.(bad), [null, ...NO_TEXT]],
	"inMemory, entries": [
		"entries",
		(bad) => anyManager.inMemory?.("/x", undefined, bad),
		["text", { length: 1 }, [5], [null], [undefined], [header(), null], [header(), undefined]],
	],
	"forkFrom, sourcePath": ["sourcePath", (bad) => anyManager.forkFrom?.(bad, "/x", scratch()), everywhere],
	"forkFrom, targetCwd": ["targetCwd", (bad) => anyManager.forkFrom?.(source(), bad, scratch()), everywhere],
	"forkFrom, sessionDir": ["sessionDir", (bad) => anyManager.forkFrom?.(source(), "/x", bad), NO_TEXT],
	"findById, cwd": ["cwd", (bad) => anyManager.findById?.(bad, "id", scratch()), everywhere],
	"findById, sessionDir": ["sessionDir", (bad) => anyManager.findById?.("/x", "id", bad), NO_TEXT],
	findByIdPrefix: ["idPrefix", (bad) => anyManager.findByIdPrefix?.(bad), everywhere],
	"list, cwd": ["cwd", (bad) => anyManager.list?.(bad, scratch()), NO_TEXT],
	"list, sessionDir": ["sessionDir", (bad) => anyManager.list?.("/x", bad), NO_TEXT],
	"list, signal": ["signal", (bad) => anyManager.list?.("/x", scratch(), undefined, bad), NO_TEXT],
	"listAll, signal": ["signal", (bad) => anyManager.listAll?.(scratch(), undefined, bad), NO_TEXT],
	readTexts: ["sessions", (bad) => anyManager.readTexts?.(bad), [5, {}]],
	"search, query": ["query", (bad) => anyManager.search?.(bad), everywhere],
	"search, options": ["options", (bad) => anyManager.search?.("x", bad), [5, "x"]],
	"search, excludeSession": ["excludeSession", (bad) => anyManager.search?.("x", { excludeSession: bad }), [5, {}]],
	"search, signal": ["signal", (bad) => anyManager.search?.("x", { signal: bad }), [5, {}]],
	"search, onProgress": ["onProgress", (bad) => anyManager.search?.("x", { onProgress: bad }), [5, {}]],
	usage: ["options", (bad) => anyManager.usage?.(bad), [5]],
	filesOf: ["path", (bad) => anyManager.filesOf?.(bad), everywhere],
	forget: ["path", (bad) => anyManager.forget?.(bad), everywhere],
	isLocked: ["path", (bad) => anyManager.isLocked?.(bad), [...everywhere, "null\0byte"]],
	merge: [
		"lines",
		(bad) => anyManager.merge?.("/none/such.jsonl", { session: "s", lines: bad }),
		["text", ...everywhere],
	],
	move: ["to", (bad) => anyManager.move?.("/none/such.jsonl", { from: "/project", to: bad }), everywhere],
	redact: ["text", (bad) => anyManager.redact?.("/none/such.jsonl", { text: bad }), NO_TEXT],
	repair: ["path", (bad) => anyManager.repair?.(bad), everywhere],
	setParentSession: ["parentSession", (bad) => anyManager.setParentSession?.("/none/such.jsonl", bad), NO_TEXT],
	verify: ["path", (bad) => anyManager.verify?.(bad), everywhere],
};

const FUNCTIONS: Record<string, Wrong> = {
	buildContextEntries: ["entries", (bad) => functions.buildContextEntries?.(bad), [...NOTHING, 5, {}, [null], [5]]],
	buildSessionProjection: ["entries", (bad) => functions.buildSessionProjection?.(bad), [...NOTHING, 5, {}, [null]]],
	buildSessionContext: ["entries", (bad) => functions.buildSessionContext?.(bad), [...NOTHING, 5, {}, [null]]],
	"buildContextEntries, byId": [
		"byId",
		(bad) => functions.buildContextEntries?.([message("a", null)], "a", bad),
		[5, "x", {}, []],
	],
	"projectContextEntry, entry": ["entry", (bad) => functions.projectContextEntry?.(bad), NOTHING],
	sessionEntryToContextMessages: ["entry", (bad) => functions.sessionEntryToContextMessages?.(bad), NOTHING],
	getLatestCompactionEntry: ["entries", (bad) => functions.getLatestCompactionEntry?.(bad), [...NOTHING, [null]]],
	migrateSessionEntries: ["entries", (bad) => functions.migrateSessionEntries?.(bad), [...NOTHING, 5, {}, [null]]],
	parseSessionEntries: ["content", (bad) => functions.parseSessionEntries?.(bad), everywhere],
	loadEntriesFromFile: ["filePath", (bad) => functions.loadEntriesFromFile?.(bad), everywhere],
	"findMostRecentSession, sessionDir": ["sessionDir", (bad) => functions.findMostRecentSession?.(bad), everywhere],
	"findMostRecentSession, cwd": ["cwd", (bad) => functions.findMostRecentSession?.(scratch(), bad), NO_TEXT],
	"getDefaultSessionDir, cwd": ["cwd", (bad) => functions.getDefaultSessionDir?.(bad), everywhere],
	"getDefaultSessionDir, agentDir": [
		"agentDir",
		(bad) => functions.getDefaultSessionDir?.("/x", bad),
		[null, ...NO_TEXT],
	],
	getConfiguredSessionDir: [
		"onWarning",
		(bad) => functions.getConfiguredSessionDir?.("/x", { onWarning: bad }),
		[5, {}],
	],
	readSessionHeader: ["path", (bad) => functions.readSessionHeader?.(bad), everywhere],
	redactLines: ["lines", (bad) => functions.redactLines?.(bad, { text: "x" }), [5, ["text"]]],
	setAgentDir: ["agentDir", (bad) => functions.setAgentDir?.(bad), NO_TEXT],
	tryLockFile: ["path", (bad) => functions.tryLockFile?.(bad), everywhere],
	withoutEscapeSequences: ["text", (bad) => functions.withoutEscapeSequences?.(bad), everywhere],
};

const source = (): string => writeSession(scratch(), [header(), message("a", null)]);

test("every static and function is called with wrong arguments", () => {
	const calls = [api, api.SessionManager].flatMap((holder) =>
		Object.getOwnPropertyNames(holder).filter((name) => typeof (holder as any)[name] === "function"),
	);
	// A class, a call without arguments, and a call whose error is pi's own.
	const others = ["SessionManager", "entryKinds", "assertValidSessionId"];
	const tried = Object.keys({ ...STATICS, ...FUNCTIONS }).map((name) => name.split(",")[0]);
	expect([...new Set([...tried, ...others])].sort()).toEqual(calls.sort());
});

describe("a TypeError names the argument:", () => {
	for (const [name, [argument, call, values]] of Object.entries({ ...STATICS, ...FUNCTIONS })) {
		test(name, async () => {
			ownAgent();
			for (const bad of values) {
				const error = await rejection((async () => await call(bad))());
				expect(error, show(bad)).toBeInstanceOf(TypeError);
				expect(error, show(bad)).toMatchObject({
					code: "ERR_INVALID_ARGUMENT",
					message: expect.stringContaining(argument),
				});
			}
		});
	}

	test("setSessionFile and appendSessionInfo, and the session stays", () => {
		const dir = scratch();
		const manager = api.SessionManager.open(writeSession(dir, [header(), message("a", null)]));
		for (const bad of [...NOTHING, ...NO_TEXT]) {
			for (const [method, argument] of [
				["setSessionFile", "sessionFile"],
				["appendSessionInfo", "name"],
			] as const) {
				const error = failing(manager, dir, () => loose(manager)[method]?.(bad));
				expect(error, show(bad)).toBeInstanceOf(TypeError);
				expect(error.message).toContain(argument);
			}
		}
	});

	test("appendMessage without a message, while the session has no file", () => {
		const manager = api.SessionManager.create("/x", scratch());
		for (const bad of NOTHING) {
			const error = failing(manager, undefined, () => loose(manager).appendMessage?.(bad));
			expect(error).toBeInstanceOf(TypeError);
			expect(error.message).toContain("message");
		}
	});
});

test("an id of another type names no entry", () => {
	const { manager } = opened([message("a", null)]);
	for (const bad of [5, true, {}, [], 1n]) {
		const m = loose(manager);
		expect(m.getEntry?.(bad)).toBeUndefined();
		expect(m.getLabel?.(bad)).toBeUndefined();
		expect(m.getChildren?.(bad)).toEqual([]);
		expect(m.getBranch?.(bad)).toEqual([]);
		for (const call of ["branch", "branchWithSummary", "appendLabelChange", "createBranchedSession"]) {
			const error = failing(manager, undefined, () => m[call]?.(bad, "x"));
			expect(error.message).toBe(`Entry ${bad} not found`);
		}
	}
	for (const call of ["branch", "branchWithSummary"]) {
		expect(caught(() => loose(manager)[call]?.(undefined, "x")).message).toBe("Entry undefined not found");
	}
	expect(caught(() => loose(manager).branch?.(null)).message).toBe("Entry null not found");
});

test("values of other types are kept as pi keeps them", () => {
	const { manager } = opened([message("a", null)]);
	const m = loose(manager);
	for (const odd of [undefined, null, 5, true, {}, [1]]) {
		expect((manager.getEntry(m.appendThinkingLevelChange?.(odd)) as any).thinkingLevel).toBe(odd);
		expect((manager.getEntry(m.appendModelChange?.(odd, odd)) as any).modelId).toBe(odd);
		expect((manager.getEntry(m.appendMessage?.(odd)) as any).message).toBe(odd);
		expect((manager.getEntry(m.appendCustomEntry?.(odd, odd)) as any).customType).toBe(odd);
		expect(m.appendUsage?.(odd, odd, odd, odd).usage).toBe(odd);
		expect((manager.getEntry(m.branchWithSummary?.("a", odd)) as any).summary).toBe(odd);
	}
	const reopened = api.SessionManager.open(manager.getSessionFile() as string);
	expect(JSON.stringify(reopened.getEntries())).toBe(JSON.stringify(manager.getEntries()));
});

test("statics work detached from the class", async () => {
	ownAgent();
	const { create, open, continueRecent, inMemory: memory, forkFrom, findById, list, listAll } = api.SessionManager;
	const dir = scratch();
	const made = create("/somewhere", dir, { id: "one" });
	made.appendMessage(user());
	const file = made.getSessionFile() as string;
	expect(open(file).getSessionId()).toBe("one");
	expect(continueRecent("/somewhere", dir).getSessionId()).toBe("one");
	expect(memory("/x").isPersisted()).toBe(false);
	expect(findById("/somewhere", "one", dir)).toBe(file);
	expect(forkFrom(file, "/target", scratch()).getCwd()).toBe(resolve("/target"));
	expect(await list("/somewhere", dir)).toHaveLength(1);
	expect(await listAll(dir)).toHaveLength(1);
});

test("methods are not enumerable, as those of a class", () => {
	expect(Object.keys(anyManager.prototype)).toEqual([]);
	const seen: string[] = [];
	for (const key in inMemory()) seen.push(key);
	expect(seen).toEqual([]);
	expect(api.CURRENT_SESSION_VERSION).toBe(3);
});
