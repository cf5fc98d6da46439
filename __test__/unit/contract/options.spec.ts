// Options of calls that pi does not have, or has without options: one that is not known is an error, because ignoring it in silence
// gives another answer than was asked for. pi's own calls ignore such options, and so does this package there.
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { type Loose, anyManager, api, header, loose, message, opened, scratch } from "../../support/scratch.js";

/** A manager of a session with two entries. */
const two = () => opened([header(), message("a", null), message("b", "a")]).manager;

test.each<[call: string, known: string, run: (options: unknown) => unknown]>([
	["SessionManager.search", "cwd, sessionDir, in, roles", (options) => anyManager.search?.("x", options)],
	["SessionManager.usage", "cwd, sessionDir, path", (options) => anyManager.usage?.(options)],
	["SessionManager.findByIdPrefix", "cwd, sessionDir", (options) => anyManager.findByIdPrefix?.("x", options)],
	["SessionManager.redact", "text, entries, lines, replacement, dryRun", (options) => anyManager.redact?.("/none/such.jsonl", options)],
	["SessionManager.merge", "session, lines, hosts, header, since", (options) => anyManager.merge?.("/none/such.jsonl", options)],
	["SessionManager.open", "readonly, sessionDir, cwd, durability, lock, ids", (options) => anyManager.open?.("/none/such.jsonl", options)],
	["SessionManager.continueRecent", "durability, lock, ids", (options) => anyManager.continueRecent?.("/x", scratch(), options)],
	["getUsage", "by, since, until", (options) => loose(two()).getUsage?.(options)],
	["getBranch", "limit", (options) => loose(two()).getBranch?.(undefined, options)],
	["getDefaultSessionDir", "create", (options) => (api as unknown as Loose).getDefaultSessionDir?.("/x", scratch(), options)],
])("%s refuses an option that it does not know, and names those that it does", async (call, known, run) => {
	const outcome = (async () => await run({ nope: undefined }))();
	await expect(outcome).rejects.toThrow(TypeError);
	await expect(outcome).rejects.toThrow(`${call} has no option "`);
	await expect(outcome).rejects.toThrow(`its options are ${known}`);
});

test("open takes options in place of pi's positions", () => {
	const { file } = opened([message("a", null)]);
	const dir = scratch();
	const { SessionManager } = api;
	const manager = SessionManager.open(file, { sessionDir: dir, cwd: "/elsewhere" });
	expect([manager.getSessionDir(), manager.getCwd(), manager.isPersisted()]).toEqual([dir, resolve("/elsewhere"), true]);
	const [ours, positions] = [SessionManager.open(file, {}), SessionManager.open(file)];
	expect([ours.getSessionDir(), ours.getCwd()]).toEqual([positions.getSessionDir(), positions.getCwd()]);
});

test("options that are inherited are taken as they are, and only own ones can be unknown", async () => {
	const options = Object.create({ nope: true, limit: 1 });
	expect(two().getBranch(undefined, options)).toHaveLength(1);
});

test("calls of pi ignore options that they do not know, and what is no object where they have none", () => {
	const options = { nope: true };
	expect(anyManager.create?.("/x", scratch(), options).getEntryCount()).toBe(0);
	expect(anyManager.inMemory?.("/x", options).getEntryCount()).toBe(0);
	expect(loose(two()).newSession?.(options)).toEqual(expect.any(String));
	expect(["a", "b"].map(loose(two()).getBranch as (id: string) => unknown[], two()).map((branch) => branch.length)).toEqual([1, 2]);
});
