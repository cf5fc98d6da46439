// When the follower asks for what the store has, and how often: its pulls, without its process.
import { createHash } from "node:crypto";
import fs, { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as wait } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { DirectoryStore } from "../../lib/index.js";
import { emptyDirectory, entry, header } from "../support/lines.js";
import { idsIn, world } from "../support/machines.js";

const require = createRequire(__filename);
const { SessionSync } = require("../../lib/index.js");
const { callHere } = require("../../lib/machine/local-sessions.js");
const { RedactionFile } = require("../../lib/sync/redaction-file.js");
const { redactFile } = require("../../lib/sync/redact-files.js");
const { RedactionSync } = require("../../lib/sync/redaction-sync.js");
const MINUTE = 60_000;
interface Item {
	session: string;
}
const { Presence } = (await import("../../lib/follower/presence.mjs" as string)) as { Presence: new (parts: object) => object };
const { Reports } = (await import("../../lib/follower/messages.mjs" as string)) as { Reports: new () => object };
const { Pulls } = (await import("../../lib/follower/pulls.mjs" as string)) as { Pulls: new (context: object, sessions: object, place: object) => { pull(): Promise<number> } };

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["performance"] });
	onTestFinished(() => void vi.useRealTimers());
});

/** Pulls of a machine whose files of the sessions in `broken` cannot be written, which leaves out those in `open`, and has those in `large` open. */
function setup({ timeout = 300_000 } = {}) {
	const { machine } = world();
	const { options, store, dir } = machine("laptop");
	const other = machine("desktop").store;
	const [broken, open, large] = [new Set<string>(), new Set<string>(), new Set<string>()];
	const call = async (name: "merge", file: string, input: { session: string }) => {
		if (broken.has(input.session)) throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
		return callHere(name, file, input);
	};
	const load = store.load.bind(store);
	const loads = vi.spyOn(store, "load").mockImplementation(load);
	const shown: string[] = [];
	const compares = vi.fn((items: Item[]) => items.filter(({ session }) => !open.has(session)));
	const reports = Object.assign(new Reports(), { send: ({ show }: { show?: string }) => show && shown.push(show) });
	const lists = vi.fn((filter: object) => store.list(filter));
	const context = { store, list: lists, reports, presence: new Presence({ store, reports }), timeout };
	const isLargeOpen = (file = "") => [...large].some((session) => file.includes(session));
	const sessions = { isIdle: () => false, changeable: compares, openIds: () => large, isLargeOpen, syncFor: (place: object) => new SessionSync({ ...place, call }) };
	const pulls = new Pulls(context, sessions, options);
	/** What a pull asked the store for, and whether it looked at this machine's files. */
	const pull = async () => {
		loads.mockClear();
		compares.mockClear();
		expect(await pulls.pull()).toBe(5000);
		return { loaded: [...new Set(loads.mock.calls.map(([session]) => session))].sort(), hasCompared: compares.mock.calls.length > 0 };
	};
	const putLines = (session: string, lines: Buffer[]) => other.append(session, { header: header(session), lines, project: "shop" });
	const put = (session: string, ...ids: string[]) => putLines(session, ids.map((id) => entry(id)));
	const putLarge = (session: string) => putLines(session, [Buffer.from(JSON.stringify({ type: "custom", id: "a", parentId: null, timestamp: "2025-06-01T09:00:00.000Z", data: "x".repeat(5 << 20) }))]);
	const putFork = (session: string, parent: string) => {
		const value = { ...JSON.parse(String(header(session))), parentSession: `/far/2025-06-01T09-00-00-000Z_${parent}.jsonl` };
		return other.append(session, { header: Buffer.from(JSON.stringify(value)), lines: [entry("a")], project: "shop" });
	};
	const fileOf = (session: string) => `${dir}/2025-06-01T09-00-00-000Z_${session}.jsonl`;
	const redact = other.redact.bind(other);
	return { notes: options.notes, broken, open, large, store, other, lists, loads, pulls, pull, put, putLines, putLarge, putFork, redact, shown, fileOf };
}

const NOTHING = { loaded: [], hasCompared: false };

// Regression: each pull loaded it whole again, every five seconds.
test("a session whose pull failed is asked for again when it has changed, or after a minute", async () => {
	const { broken, pull, put, fileOf } = setup();
	await put("bad", "a");
	await put("good", "a");
	broken.add("bad");
	expect(await pull()).toEqual({ loaded: ["bad", "good"], hasCompared: true });
	expect(await pull()).toEqual(NOTHING);
	// News of another session are no reason, and do not put it off.
	vi.advanceTimersByTime(MINUTE / 2);
	await put("more", "a");
	expect(await pull()).toEqual({ loaded: ["more"], hasCompared: true });
	vi.advanceTimersByTime(MINUTE / 2);
	expect(await pull()).toEqual({ loaded: ["bad"], hasCompared: true });
	expect(await pull()).toEqual(NOTHING);
	broken.clear();
	await put("bad", "b");
	expect(await pull()).toEqual({ loaded: ["bad"], hasCompared: true });
	expect(readFileSync(fileOf("bad"), "utf8").trimEnd().split("\n")).toHaveLength(3);
	vi.advanceTimersByTime(2 * MINUTE);
	// That a minute is over is noticed once.
	await pull();
	expect(await pull()).toEqual(NOTHING);
});

// Regression: the headers of all session files were read every five seconds.
test("while a session is left out, files are looked at once a minute, and it comes when it may", async () => {
	const { open, pull, put } = setup();
	await put("large", "a");
	open.add("large");
	expect(await pull()).toEqual({ loaded: [], hasCompared: true });
	open.clear();
	expect(await pull()).toEqual(NOTHING);
	vi.advanceTimersByTime(MINUTE);
	expect(await pull()).toEqual({ loaded: ["large"], hasCompared: true });
	vi.advanceTimersByTime(2 * MINUTE);
	expect(await pull()).toEqual(NOTHING);
});

// Regression: with each line of a colleague's all files here were opened twice, and all notes read.
test("what another host says in one session costs no look at the files of others, also where it is a fork", async () => {
	const { pull, put, putFork, fileOf } = setup();
	const others = Array.from({ length: 20 }, (_, at) => `other${at}`);
	for (const session of [...others, "one"]) await put(session, "a");
	await pull();
	// The headers of files that were made are read once.
	await put("one", "b");
	await pull();
	await put("one", "c");
	const looked: string[] = [];
	const [openFile, openSync, readFileSync] = [fs.promises.open, fs.openSync, fs.readFileSync];
	const isSeen = (path: unknown) => void looked.push(String(path));
	vi.spyOn(fs.promises, "open").mockImplementation((...args: any[]) => (isSeen(args[0]), (openFile as any)(...args)));
	vi.spyOn(fs, "openSync").mockImplementation((...args: any[]) => (isSeen(args[0]), (openSync as any)(...args)));
	vi.spyOn(fs, "readFileSync").mockImplementation((...args: any[]) => (isSeen(args[0]), (readFileSync as any)(...args)));
	expect(await pull()).toEqual({ loaded: ["one"], hasCompared: true });
	expect(looked.some((path) => path.includes("one"))).toBe(true);
	await putFork("fork", "other3");
	expect(await pull()).toEqual({ loaded: ["fork"], hasCompared: true });
	expect(looked.filter((path) => path.includes("other"))).toEqual([]);
	vi.restoreAllMocks();
	expect(JSON.parse(String(fs.readFileSync(fileOf("fork"))).split("\n")[0] as string).parentSession).toBe(fileOf("other3"));
	expect(await pull()).toEqual(NOTHING);
});

// Regression: nobody heard of it, and it was tried again every five seconds.
test("a pull that fails is said, and tried again after a minute", async () => {
	const { pull, put, shown, fileOf } = setup();
	await put("one", "a");
	vi.spyOn(SessionSync.prototype, "pull").mockRejectedValueOnce(new Error("EACCES: permission denied"));
	expect(await pull()).toEqual({ loaded: [], hasCompared: true });
	expect(shown).toEqual(["others' lines are not pulled: EACCES: permission denied"]);
	expect(await pull()).toEqual(NOTHING);
	vi.advanceTimersByTime(MINUTE);
	expect(await pull()).toEqual({ loaded: ["one"], hasCompared: true });
	expect(idsIn(fileOf("one"))).toEqual(["a"]);
	expect(await pull()).toEqual(NOTHING);
});

test("a session that is being pulled keeps no other one waiting, and is not pulled a second time meanwhile", async () => {
	const { loads, pulls, pull, put, putLarge, fileOf } = setup();
	for (const session of ["large0", "large1", "large2"]) await putLarge(session);
	let release = () => {};
	const released = new Promise<void>((resolve) => (release = resolve));
	const load = loads.getMockImplementation() as DirectoryStore["load"];
	loads.mockImplementation(async (...args) => {
		if (args[0].startsWith("large")) await released;
		return load(...args);
	});
	const first = pulls.pull();
	await vi.waitFor(() => expect(loads).toHaveBeenCalledTimes(2), { timeout: 500_000 });
	await put("small", "a");
	loads.mockClear();
	expect(await pulls.pull()).toBe(0);
	expect(loads.mock.calls.map(([session]) => session)).toEqual(["small"]);
	expect(idsIn(fileOf("small"))).toEqual(["a"]);
	release();
	await first;
	expect(["large0", "large1", "large2"].map((session) => idsIn(fileOf(session)))).toEqual([["a"], ["a"], ["a"]]);
});

// Regression: of two pulls at the same time the one of the fork, which is small, did not wait for it.
test("what was redacted in a large session is known before its fork is pulled", async () => {
	const { loads, pull, putLarge, put } = setup();
	await putLarge("large");
	await put("fork", "a");
	const { fetch } = RedactionSync.prototype;
	const loadsBefore: number[] = [];
	const fetched = vi.spyOn(RedactionSync.prototype, "fetch").mockImplementation(async function (this: unknown, ...args) {
		const redactions = await fetch.apply(this, args);
		// What did not wait has loaded something by then.
		await wait(50);
		loadsBefore.push(loads.mock.calls.length);
		return redactions;
	});
	onTestFinished(() => fetched.mockRestore());
	expect(await pull()).toEqual({ loaded: ["fork", "large"], hasCompared: true });
	expect(fetched.mock.calls.map(([items]) => (items as Item[]).map(({ session }) => session).sort())).toEqual([["fork", "large"]]);
	expect(loadsBefore).toEqual([0]);
});

// Regression: its time was over by then, nothing was begun, and the same was asked for again, for ever.
test("a pull whose time is shorter than it takes to fetch what was redacted begins sessions all the same", async () => {
	const { store, pulls, put, redact, fileOf } = setup({ timeout: 1 });
	for (const session of ["redacted", "plain"]) await put(session, "a");
	await redact("redacted", [{ hash: createHash("sha256").update("another").digest("hex") }]);
	const { redactions } = store;
	store.redactions = async (...args) => {
		await wait(50);
		return redactions.apply(store, args);
	};
	await pulls.pull();
	await vi.waitFor(() => expect(idsIn(fileOf("plain"))).toEqual(["a"]), { timeout: 500_000 });
});

// Regression: pi's process stood still every five seconds.
test("what another host says in a large session that is open here is pulled once a minute", async () => {
	const { large, pull, put, fileOf } = setup();
	large.add("large");
	await put("large", "a");
	await put("small", "a");
	await pull();
	for (const id of ["b", "c"]) {
		await put("large", id);
		await put("small", id);
		expect((await pull()).loaded).toEqual(["small"]);
	}
	expect(await pull()).toEqual(NOTHING);
	vi.advanceTimersByTime(MINUTE);
	expect((await pull()).loaded).toEqual(["large"]);
	expect(idsIn(fileOf("large"))).toEqual(["a", "b", "c"]);
	expect(await pull()).toEqual(NOTHING);
});

// Regression: it was asked at pi's start alone.
test("that another host opens a session that is open here is said once, and soon", async () => {
	const { large: open, other, lists, pull, put, shown } = setup();
	for (const session of ["open", "closed"]) await put(session, "a");
	await pull();
	open.add("open");
	for (const session of ["open", "closed"]) await other.setPresence(session, true);
	for (let n = 0; n < 12; n++) {
		vi.advanceTimersByTime(5000);
		await pull();
	}
	expect(lists.mock.calls.filter(([filter]) => (filter as { presence: boolean }).presence)).toHaveLength(4);
	expect(shown).toEqual(["session open is in use on desktop"]);
});

test("what another host redacts while pi runs is taken out of what is here, whenever it comes", async () => {
	const { pull, putLines, redact, fileOf } = setup();
	const said = (id: string, content: string) => Buffer.from(`{"type":"message","id":"${id}","parentId":null,"message":{"role":"user","content":"${content}"}}`);
	await putLines("s", [said("a", "one"), said("b", "two")]);
	await pull();
	for (const [nth, [id, content]] of ([["a", "one"], ["b", "two"]] as const).entries()) {
		await redact("s", [{ hash: createHash("sha256").update(said(id, content)).digest("hex"), line: said(id, "[redacted]") }]);
		await putLines("s", [entry(`more${nth}`)]);
		await pull();
		expect(idsIn(fileOf("s")).sort()).toEqual(["a", "b", "more0", "more1"].slice(0, 3 + nth));
		expect(readFileSync(fileOf("s"), "utf8")).not.toContain(content);
	}
});

// Regression: nobody was told.
test("that two hosts redacted an entry in different ways, so that it has lost all that it said, is shown", async () => {
	const { pull, putLines, redact, fileOf, shown, notes } = setup();
	const said = (content: string) => Buffer.from(`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"${content}"}}`);
	await putLines("s", [said("one two three")]);
	await pull();
	await redactFile(fileOf("s"), { text: "one", replacement: "1" }, { redactionFile: new RedactionFile(notes, { session: "s", file: fileOf("s") }) });
	await redact("s", [{ hash: createHash("sha256").update(said("one two three")).digest("hex"), line: said("one two 3") }]);
	await putLines("s", [entry("more")]);
	await pull();
	expect(shown).toContain("session s: what two machines had redacted in different ways has lost all that it said");
	expect(readFileSync(fileOf("s"), "utf8")).not.toContain("two");
});
