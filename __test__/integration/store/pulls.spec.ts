// When the follower asks for what the store has, and how often: its pulls, without its process.
import { createHash } from "node:crypto";
import fs, { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Mock, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { DirectoryStore } from "../../../lib/store/index.js";
import { emptyDirectory, entry, header } from "../../support/lines.js";
import { idsIn, world } from "../../support/machines.js";

const require = createRequire(__filename);
const { SessionSync } = require("../../../lib/store/index.js");
const { callHere } = require("../../../lib/store/local.js");
const MINUTE = 60_000;
interface Item {
	session: string;
}
const { Pulls } = (await import("../../../lib/follower/pulls.mjs" as string)) as { Pulls: new (context: object, sessions: object, place: object) => { large?: Promise<void>; pull(): Promise<number> } };

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["performance"] });
	onTestFinished(() => void vi.useRealTimers());
});

/** Pulls of a machine whose files of the sessions in `broken` cannot be written, and which leaves out those in `open`. */
function setup() {
	const { machine } = world();
	const { options, store, dir } = machine("laptop");
	const other = machine("desktop").store;
	const [broken, open] = [new Set<string>(), new Set<string>()];
	const call = async (name: "merge", file: string, input: { session: string }) => {
		if (broken.has(input.session)) throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
		return callHere(name, file, input);
	};
	const loads = vi.spyOn(store, "load");
	const shown: string[] = [];
	const compares = vi.fn((items: Item[]) => items.filter(({ session }) => !open.has(session)));
	const context = {
		store,
		settings: { pull: true },
		list: (filter: object) => store.list({ headers: false, ...filter }),
		reports: { send() {}, showFew() {}, show: (line: string) => void shown.push(line) },
		presence: { reportOthers() {} },
		timeout: 300_000,
	};
	const sessions = { isIdle: () => false, changeable: compares, syncFor: (place: object) => new SessionSync({ ...place, call }) };
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
	return { broken, open, pulls, pull, put, putLines, putLarge, putFork, redact, shown, fileOf };
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
test("a pull of large sessions that fails is said, and tried again after a minute", async () => {
	const { pulls, pull, put, putLarge, shown, fileOf } = setup();
	await putLarge("large");
	await put("small", "a");
	vi.spyOn(SessionSync.prototype, "pull").mockRejectedValueOnce(new Error("EACCES: permission denied"));
	expect(await pull()).toEqual({ loaded: ["small"], hasCompared: true });
	await pulls.large;
	expect(shown).toEqual(["others' lines are not pulled: EACCES: permission denied"]);
	expect(await pull()).toEqual(NOTHING);
	vi.advanceTimersByTime(MINUTE);
	expect((await pull()).hasCompared).toBe(true);
	await pulls.large;
	expect(readFileSync(fileOf("large"), "utf8").length).toBeGreaterThan(5 << 20);
	// Something may have been added to it meanwhile.
	expect(await pull()).toEqual({ loaded: [], hasCompared: true });
	vi.advanceTimersByTime(MINUTE);
	await pull();
	expect(await pull()).toEqual(NOTHING);
});

// Regression: of two pulls at the same time the one of the fork, which is small, did not wait for it.
test("what was redacted in a large session is taken out of its fork before that is pulled", async () => {
	const { pulls, pull, putLarge, put } = setup();
	await putLarge("large");
	await put("fork", "a");
	const [redactions, pulled] = (["fetchRedactions", "pull"] as const).map((name) => vi.spyOn(SessionSync.prototype, name).mockClear()) as [Mock, Mock];
	await pull();
	await pulls.large;
	expect(redactions.mock.calls.map(([items]) => (items as Item[]).map(({ session }) => session).sort())).toEqual([["fork", "large"]]);
	expect(pulled).toHaveBeenCalledTimes(2);
	expect(redactions.mock.invocationCallOrder[0]).toBeLessThan(pulled.mock.invocationCallOrder[0] as number);
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

// Regression: only the size of its file was asked for, and pi waited while what was stored was written into that.
test("an open session is pulled up to 32 MiB, here and in the store", async () => {
	const { Sessions } = (await import("../../../lib/follower/sessions.mjs" as string)) as { Sessions: new (context: object) => { follow(open: object[]): void; changeable(items: object[]): object[] } };
	const [small, large, closed] = ["small", "large", "closed"].map((name) => join(emptyDirectory(), name)) as [string, string, string];
	const LARGEST = 32 << 20;
	for (const file of [small, large, closed]) writeFileSync(file, "");
	truncateSync(large, LARGEST + 1);
	const sessions = new Sessions({ settings: { push: false }, pending: { openElsewhere: () => new Set() } });
	sessions.follow([{ file: small }, { file: large }]);
	const item = (file: string, bytes: number) => ({ file, stored: { bytes } });
	const pulled = [item(small, LARGEST), item(closed, LARGEST + 1)];
	expect(sessions.changeable([...pulled, item(small, LARGEST + 1), item(large, 1)])).toEqual(pulled);
});
