// Options of calls that pi does not have, or has without options. An unknown option is an error, because a call that
// ignores it returns another result than the caller wants. pi's own calls ignore unknown options, and so do ours.
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { anyManager, api, header, type Loose, loose, message, opened, scratch } from "../../support/scratch.js";

/** A manager of a session with two entries. */
const two = () => opened([header(), message("a", null), message("b", "a")]).manager;

test.each<[call: string, known: string, run: (options: unknown) => unknown]>([
	["SessionManager.search", "cwd, sessionDir, folders, in, roles", (options) => anyManager.search?.("x", options)],
	["SessionManager.usage", "cwd, sessionDir, folders, path", (options) => anyManager.usage?.(options)],
	[
		"SessionManager.findByIdPrefix",
		"cwd, sessionDir, subagents",
		(options) => anyManager.findByIdPrefix?.("x", options),
	],
	[
		"SessionManager.redact",
		"text, entries, lines, replacement, dryRun",
		(options) => anyManager.redact?.("/none/such.jsonl", options),
	],
	[
		"SessionManager.merge",
		"session, lines, header, since",
		(options) => anyManager.merge?.("/none/such.jsonl", options),
	],
	["SessionManager.move", "from, to, sessionDir", (options) => anyManager.move?.("/none/such.jsonl", options)],
	[
		"SessionManager.open",
		"readonly, sessionDir, cwd, durability, lock",
		(options) => anyManager.open?.("/none/such.jsonl", options),
	],
	[
		"SessionManager.continueRecent",
		"durability, lock",
		(options) => anyManager.continueRecent?.("/x", scratch(), options),
	],
	["getUsage", "by, since, until", (options) => loose(two()).getUsage?.(options)],
	["getBranch", "limit", (options) => loose(two()).getBranch?.(undefined, options)],
	[
		"getDefaultSessionDir",
		"create",
		(options) => (api as unknown as Loose).getDefaultSessionDir?.("/x", scratch(), options),
	],
])("%s refuses an unknown option and names the known ones", async (call, known, run) => {
	const outcome = (async () => await run({ nope: undefined }))();
	await expect(outcome).rejects.toThrow(TypeError);
	await expect(outcome).rejects.toThrow(`${call} has no option "`);
	await expect(outcome).rejects.toThrow(`its options are ${known}`);
});

const search = (options: object): unknown => anyManager.search?.("x", { sessionDir: scratch(), ...options });
const usage = (options: object): unknown => anyManager.usage?.({ sessionDir: scratch(), ...options });
const branch = (options: object): unknown => loose(two()).getBranch?.(undefined, options);
const used = (options: object): unknown => loose(two()).getUsage?.(options);
const made: ((options: object) => unknown)[] = [
	(options) => anyManager.open?.(opened([]).file, options),
	(options) => anyManager.create?.("/x", scratch(), options),
	(options) => anyManager.continueRecent?.("/x", scratch(), options),
	(options) => anyManager.forkFrom?.(opened([]).file, "/x", scratch(), options),
];

// Regression: calls had different words for one option, and accepted `null` or a number as text.
test.each<[option: string, wanted: string, wrong: unknown[], calls: ((options: object) => unknown)[]]>([
	["limit", "a whole number from 0 on", [-1, 1.5, "5", null, Number.NaN], [search, branch]],
	["perSession", "a whole number from 0 on", [-1, 1.5, "5", null, Number.NaN], [search]],
	["largest", "a whole number from 0 on", [-1, 1.5, "5", null, Number.NaN], [usage, used]],
	["since", "a time", ["never", true, {}, ["2025-01-02"]], [search, usage, used]],
	["until", "a time", ["never", true, {}], [search, usage, used]],
	["by", "of model, day, week, month, project, session", ["year", 5, ["day", 5]], [usage, used]],
	["in", "an array of user, assistant", ["user", [5], ["nobody"]], [search]],
	["roles", "an array of user, assistant", ["user", [5], ["nobody"]], [search]],
	["mark", "an array of two strings", ["*", ["*"], [1, 2]], [search]],
	["cwd", "a string", [5, {}], [search, usage]],
	["sessionDir", "a string", [5, {}], [search, usage]],
	["session", "a string", [5, {}], [search]],
	["onHit", "a function", [5, {}], [search]],
	["lock", '"none" or "exclusive", not "shared"', ["shared"], made],
	["lock", "a string", [true], made],
	["durability", '"os" or "fsync", not ""', [""], made],
	["durability", "a string", [5], made],
])("options.%s must be %s in every call", async (option, wanted, wrong, calls) => {
	for (const value of wrong) {
		for (const call of calls) {
			const outcome = (async () => await call({ [option]: value }))();
			await expect(outcome).rejects.toMatchObject({
				name: "TypeError",
				code: "ERR_INVALID_ARGUMENT",
				message: expect.stringContaining(`options.${option} must be ${wanted}`),
			});
		}
	}
});

test("open takes options in place of pi's positions", () => {
	const { file } = opened([message("a", null)]);
	const dir = scratch();
	const { SessionManager } = api;
	const manager = SessionManager.open(file, { sessionDir: dir, cwd: "/elsewhere" });
	expect([manager.getSessionDir(), manager.getCwd(), manager.isPersisted()]).toEqual([
		dir,
		resolve("/elsewhere"),
		true,
	]);
	const [ours, positions] = [SessionManager.open(file, {}), SessionManager.open(file)];
	expect([ours.getSessionDir(), ours.getCwd()]).toEqual([positions.getSessionDir(), positions.getCwd()]);
});

test("inherited options are used, and none of them is unknown", async () => {
	const options = Object.create({ nope: true, limit: 1 });
	expect(two().getBranch(undefined, options)).toHaveLength(1);
});

test("calls of pi ignore unknown options", () => {
	const options = { nope: true };
	expect(anyManager.create?.("/x", scratch(), options).getEntryCount()).toBe(0);
	expect(anyManager.inMemory?.("/x", options).getEntryCount()).toBe(0);
	expect(loose(two()).newSession?.(options)).toEqual(expect.any(String));
	expect(
		["a", "b"].map(loose(two()).getBranch as (id: string) => unknown[], two()).map((branch) => branch.length),
	).toEqual([1, 2]);
});
