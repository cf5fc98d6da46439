// The process beside pi, without pi: what it follows and stores at the end, what others see to be open here, and what it says.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { DirectoryStore, type LineStore, SessionSync, StoreError, loadAll } from "../../lib/index.js";
import { SESSION, append, emptyDirectory, entry, header, ids } from "../support/lines.js";
import { NAME, text } from "../support/machines.js";
import { LONG, PENDING, beside, endOf } from "../support/pi-process.js";

const require = createRequire(__filename);
const { Pending } = require("../../lib/machine/pending.js");
const { RedactionFile } = require("../../lib/sync/redaction-file.js");

/** A session whose first entry is stored, in a file that has one more that is not. */
async function setup() {
	const path = emptyDirectory();
	const [address, dir] = [join(path, "store"), join(path, "sessions")];
	for (const one of [address, dir]) mkdirSync(one);
	const file = join(dir, NAME);
	writeFileSync(file, text(header(), entry("stored"), entry("waits")));
	const [laptop, desktop] = ["laptop", "desktop"].map((host) => new DirectoryStore({ path: address, host })) as [LineStore, LineStore];
	await append(desktop, [entry("stored")]);
	return { path, address, notes: join(path, "notes"), file, one: { session: SESSION, file, cwd: "/shop" }, laptop, desktop, stored: async () => ids(await loadAll(desktop, SESSION)) };
}
type PendingOne = { session: string; file: string; cwd: string };
type World = Awaited<ReturnType<typeof setup>>;

const envOf = ({ address }: World, more: Record<string, string>) =>
	({ ...process.env, PI_SESSION_NATIVE_STORE: address, PI_SESSION_NATIVE_HOST: "laptop", PI_SESSION_NATIVE_PROJECT: "shop", ...more }) as NodeJS.ProcessEnv;

const follow = (at: World, first: object, more: Record<string, string> = {}) => beside({ env: envOf(at, more) }, { notesDir: at.notes, ...first });

/** What an earlier process wrote down, and a start of pi. */
function left(at: World, ...sessions: { session: string; file: string; cwd: string }[]) {
	const pending = new Pending(at.notes, at.address, "earlier");
	for (const one of sessions) pending.add(one);
	writeFileSync(join(at.path, "session-store.json"), JSON.stringify({ pull: false }), { mode: 0o600 });
	return { start: {} };
}

/** Who has the session open, as its store says. */
const hostsOf = async (at: World) => (await at.desktop.list({ session: SESSION, presence: true })).sessions.flatMap(({ presence }) => presence ?? []);
const isOpenOnLaptop = (at: World) => vi.waitFor(async () => expect(await hostsOf(at)).toEqual(["laptop"]), LONG);

test("a session that the store does not have yet is stored, and seen to be open then", async () => {
	const at = await setup();
	for (const name of readdirSync(at.address)) rmSync(join(at.address, name), { recursive: true });
	const { heard } = follow(at, { open: [at.one] });
	await isOpenOnLaptop(at);
	expect(await at.stored()).toEqual(["stored", "waits"]);
	expect(heard()).toEqual([]);
});

test("a session that another process of this host has closed is soon seen to be open again", async () => {
	const at = await setup();
	const preload = join(at.path, "fast.cjs");
	writeFileSync(preload, "const { now } = Performance.prototype; performance.now = () => 50 * now.call(performance);");
	follow(at, { open: [at.one] }, { NODE_OPTIONS: `--require ${preload}` });
	await isOpenOnLaptop(at);
	await at.laptop.setPresence(SESSION, false);
	await isOpenOnLaptop(at);
});

// Regression: others saw in the store that it was open.
test("a session that is private by now, and stored before, is neither stored nor seen to be open any more", async () => {
	const at = await setup();
	writeFileSync(join(at.path, "session-store.json"), JSON.stringify({ private: [SESSION] }), { mode: 0o600 });
	const file = join(at.path, "sessions", "2025-06-02T09-00-00-000Z_open.jsonl");
	writeFileSync(file, text(header("open"), entry("here")));
	const { heard } = follow(at, { open: [at.one, { session: "open", file, cwd: "/shop" }] });
	await vi.waitFor(async () => expect((await at.desktop.list({ session: "open", presence: true })).sessions).toMatchObject([{ presence: ["laptop"] }]), LONG);
	expect(heard()).toEqual([]);
	expect(await at.stored()).toEqual(["stored"]);
	expect(await hostsOf(at)).toEqual([]);
});

// Regression: what the store had been given of it by then was all that it got.
test("a session that is private no longer is stored, and stored at a later start if this one is killed", async () => {
	const at = await setup();
	const settings = join(at.path, "session-store.json");
	writeFileSync(settings, JSON.stringify({ private: [SESSION] }), { mode: 0o600 });
	const file = join(at.path, "sessions", "2025-06-02T09-00-00-000Z_open.jsonl");
	writeFileSync(file, text(header("open"), entry("here")));
	follow(at, { open: [at.one, { session: "open", file, cwd: "/shop" }] });
	await vi.waitFor(async () => expect((await at.desktop.list({ session: "open", presence: true })).sessions).toMatchObject([{ presence: ["laptop"] }]), LONG);
	writeFileSync(settings, JSON.stringify({ private: [] }), { mode: 0o600 });
	await vi.waitFor(async () => expect(await at.stored()).toEqual(["stored", "waits"]), LONG);
	const pending = readdirSync(join(at.notes, "open"), { recursive: true }).map((name) => join(at.notes, "open", String(name))).filter((name) => name.endsWith(".jsonl"));
	expect(pending.map((name) => readFileSync(name, "utf8")).join("")).toContain(at.file);
});

/** The follower's sessions without its process, and what they do again and again. */
async function sessionsOf(at: World) {
	interface Sessions {
		follow(open: object[]): void;
		isLargeOpen(file: string): boolean;
		findAbandoned(place: object): Promise<void>;
		storeAbandoned(): Promise<number>;
	}
	const { Sessions } = (await import("../../lib/follower/sessions.mjs" as string)) as { Sessions: new (context: object) => Sessions };
	const works: (() => Promise<number | undefined>)[] = [];
	const [show, showPresence] = [vi.fn(), vi.fn()];
	const sessions = new Sessions({
		...{ store: at.laptop, address: at.address, notesDir: at.notes, settings: { push: true }, rules: { isPrivate: () => false } },
		...{ pending: new Pending(at.notes, at.address, PENDING), presence: { show: showPresence }, reports: { show }, namedDir: () => undefined },
		schedule: { add: async (work: () => Promise<number | undefined>) => void works.push(work) },
	});
	vi.stubEnv("PI_SESSION_NATIVE_PROJECT", "shop");
	onTestFinished(() => void vi.unstubAllEnvs());
	return { sessions, works, show, showPresence };
}

/** Adds two megabytes to the file, which take two calls to the store. */
const addTwoPortions = (at: World) =>
	appendFileSync(at.file, text(...["b", "c"].map((id) => JSON.stringify({ type: "message", id, parentId: null, text: "x".repeat(1 << 20) }))));

// Regression: the pauses doubled as if nothing had been stored: more than two minutes for 40 MiB where every fifth call failed.
test("a push that stored something before it failed by an error that may pass goes on soon", async () => {
	const at = await setup();
	addTwoPortions(at);
	const { sessions, works } = await sessionsOf(at);
	const flaky = () => {
		const { append } = DirectoryStore.prototype;
		return vi.spyOn(at.laptop, "append").mockImplementationOnce((...args) => append.apply(at.laptop as DirectoryStore, args)).mockRejectedValueOnce(new StoreError("unreachable", "away"));
	};
	flaky();
	sessions.follow([at.one]);
	const [work] = works as [() => Promise<number | undefined>];
	expect(await work()).toBeLessThanOrEqual(250);
	expect(await at.stored()).toEqual(["stored", "waits"]);
	expect(await work()).toBeLessThanOrEqual(250);
	expect(await at.stored()).toEqual(["stored", "waits", "b", "c"]);
	// So it is with what an earlier process left.
	addTwoPortions(at);
	appendFileSync(at.file, text(entry("last")));
	new Pending(at.notes, at.address, "earlier").add({ ...at.one, project: "shop" });
	await sessions.findAbandoned({ dir: join(at.path, "none"), cwd: "/shop", project: "shop" });
	flaky();
	expect(await sessions.storeAbandoned()).toBeLessThanOrEqual(250);
	vi.mocked(at.laptop.append).mockRejectedValueOnce(new StoreError("unreachable", "away"));
	await expect(sessions.storeAbandoned()).rejects.toThrow("away");
	expect(await sessions.storeAbandoned()).toBe(5000);
	expect((await at.stored()).at(-1)).toBe("last");
});

// Regression: each of others' lines was asked for twice.
test("what a pull added to a session that is open here is not compared with the store", async () => {
	const at = await setup();
	const { sessions, works } = await sessionsOf(at);
	sessions.follow([at.one]);
	const [work] = works as [() => Promise<number | undefined>];
	const load = vi.spyOn(at.laptop, "load");
	await work();
	const { cursor } = await loadAll(at.desktop, SESSION);
	await append(at.desktop, [entry("theirs")], cursor);
	const options = { store: at.laptop, address: at.address, notes: at.notes, dir: join(at.path, "sessions"), cwd: "/shop", project: "shop" };
	await new SessionSync(options).pull({ session: SESSION });
	expect(readFileSync(at.file, "utf8")).toContain("theirs");
	load.mockClear();
	await work();
	expect(load).not.toHaveBeenCalled();
	appendFileSync(at.file, text(entry("mine")));
	await work();
	expect(await at.stored()).toEqual(["stored", "waits", "theirs", "mine"]);
});

// Regression: nobody saw it until something was stored.
test("a session that the store has is seen to be open here though it cannot be stored now; one that it has not is not", async () => {
	const at = await setup();
	const { sessions, works, showPresence } = await sessionsOf(at);
	vi.spyOn(at.laptop, "append").mockRejectedValue(new StoreError("full", "no room"));
	sessions.follow([at.one]);
	const [work] = works as [() => Promise<number | undefined>];
	await expect(work()).rejects.toThrow("no room");
	expect(showPresence).not.toHaveBeenCalled();
	vi.mocked(at.laptop.append).mockRestore();
	await work();
	expect(showPresence).toHaveBeenCalledTimes(1);
	appendFileSync(at.file, text(entry("more")));
	vi.spyOn(at.laptop, "append").mockRejectedValue(new StoreError("full", "no room"));
	vi.spyOn(performance, "now").mockReturnValue(performance.now() + 20_001);
	onTestFinished(() => void vi.restoreAllMocks());
	await expect(work()).rejects.toThrow("no room");
	expect(showPresence).toHaveBeenCalledTimes(2);
});

test("a file that pi has open is large above 32 MiB", async () => {
	const at = await setup();
	const { sessions } = await sessionsOf(at);
	sessions.follow([at.one]);
	truncateSync(at.file, 32 << 20);
	expect(sessions.isLargeOpen(at.file)).toBe(false);
	truncateSync(at.file, (32 << 20) + 1);
	expect(sessions.isLargeOpen(at.file)).toBe(true);
	sessions.follow([]);
	expect(sessions.isLargeOpen(at.file)).toBe(false);
});

// Regression: each start of pi pushed it, in vain, and said so.
test("a session that was deleted from the store is pushed by one start of pi, and again once the store does not know that any more", async () => {
	const at = await setup();
	for (const name of readdirSync(at.address)) rmSync(join(at.address, name), { recursive: true });
	await at.desktop.append(SESSION, { header: header(), lines: [entry("stored")], project: "shop" });
	// A session of the directory in which the process runs.
	writeFileSync(at.file, readFileSync(at.file, "utf8").replace("/home/me/shop", () => JSON.stringify(process.cwd()).slice(1, -1)));
	const backup = emptyDirectory();
	cpSync(at.address, backup, { recursive: true });
	await at.desktop.delete(SESSION);
	const first = follow(at, left(at, at.one));
	await first.hears("show");
	expect(first.heard()).toContainEqual({ show: expect.stringContaining(`session ${SESSION} is not stored: Session ${SESSION} was deleted from the store`) });
	await first.close();
	writeFileSync(join(at.path, "session-store.json"), "{}", { mode: 0o600 });
	const second = follow(at, { start: { dir: join(at.path, "sessions") } });
	await second.hears("done");
	await second.close();
	expect(second.heard().filter(({ show }) => show)).toEqual([]);
	expect(new Pending(at.notes, at.address, "earlier").own()).toEqual([]);
	rmSync(at.address, { recursive: true });
	cpSync(backup, at.address, { recursive: true });
	const third = follow(at, { start: { dir: join(at.path, "sessions") } });
	await vi.waitFor(async () => expect(await at.stored()).toEqual(["stored", "waits"]), LONG);
	await third.close();
});

// Regression: its file was looked at four times a second until pi ended.
test("a session that pi has closed is looked at until it is stored, and again when it is opened again", async () => {
	const at = await setup();
	const { sessions, works } = await sessionsOf(at);
	const append = vi.spyOn(at.laptop, "append").mockRejectedValueOnce(new StoreError("unreachable", "away"));
	sessions.follow([at.one]);
	sessions.follow([]);
	const [work] = works as [() => Promise<number | undefined>];
	await expect(work()).rejects.toThrow("away");
	expect(await work()).toBeTypeOf("number");
	expect(await at.stored()).toEqual(["stored", "waits"]);
	expect(await work()).toBeUndefined();
	sessions.follow([at.one]);
	sessions.follow([at.one]);
	expect(works).toHaveLength(2);
	expect(append).toHaveBeenCalledTimes(2);
});

// Regression: it ended at once, and the last lines waited for the next start.
test("when pi was killed the last lines are stored, and the session is not seen to be open any more", async () => {
	const at = await setup();
	const { close } = follow(at, { open: [at.one] });
	await isOpenOnLaptop(at);
	appendFileSync(at.file, text(entry("last")));
	await close();
	expect(await at.stored()).toEqual(["stored", "waits", "last"]);
	expect(await hostsOf(at)).toEqual([]);
});

// Regression: it was waited for, as long as pi's end may take, and what was said last was not stored.
test("a call that pi has not answered when it ends keeps the rest from nothing", async () => {
	const at = await setup();
	const [line, hash] = [entry("redacted"), createHash("sha256").update(entry("waits")).digest("hex")];
	const redactionFile = new RedactionFile(at.notes, at.one, at.address);
	await redactionFile.withLock(() => redactionFile.add([{ hash, line }]));
	const { child, close } = follow(at, { open: [at.one], timeout: 60_000 });
	const [call] = await once(child, "message");
	expect(call).toMatchObject({ name: "redact", file: at.file });
	await close();
	expect(await at.stored()).toEqual(["stored", "redacted"]);
	expect(readFileSync(at.file, "utf8")).toBe(text(header(), entry("stored"), line));
});

// Regression: it was changed beside pi: by that path pi did not have it open.
test("a session that pi has open is changed by pi alone where a link is in one of the paths to it", async () => {
	const at = await setup();
	const link = join(at.path, "link");
	symlinkSync(join(at.path, "sessions"), link, "junction");
	const file = join(at.path, "sessions", "2025-06-02T09-00-00-000Z_open.jsonl");
	writeFileSync(file, text(header("open"), entry("here")));
	await at.desktop.append("open", { header: header("open"), lines: [entry("theirs")], project: "shop" });
	const { child } = follow(at, { open: [{ session: "open", file, cwd: "/shop" }], start: { dir: link } });
	const [call] = await once(child, "message");
	expect(call).toMatchObject({ name: "merge", file });
});

test("what waits is stored, when pi ends too, though another host has the session open", async () => {
	const at = await setup();
	await at.desktop.setPresence(SESSION, true);
	new Pending(at.notes, at.address, PENDING).add(at.one);
	expect(await endOf({ env: envOf(at, {}) }, { notesDir: at.notes })).toContainEqual({ done: "end" });
	expect(await at.stored()).toEqual(["stored", "waits"]);
	const { close } = follow(at, { open: [at.one] });
	appendFileSync(at.file, text(entry("late")));
	await vi.waitFor(async () => expect(await at.stored()).toEqual(["stored", "waits", "late"]), LONG);
	await close();
	expect(await hostsOf(at)).toEqual(["desktop"]);
});

/** Lets calls of the process fail that make a file below a directory, and counts them. */
function failing(at: World, folder: string): Record<string, string> {
	const preload = join(at.path, "failing.cjs");
	writeFileSync(preload, `
		const fs = require("node:fs");
		const { open } = fs.promises;
		fs.promises.open = async (path, ...more) => {
			if (!String(path).includes(${JSON.stringify(folder)}) || (typeof more[0] !== "number" && !["wx", "ax+", "r+"].includes(more[0]))) return open.call(fs.promises, path, ...more);
			fs.appendFileSync(${JSON.stringify(join(at.path, "calls"))}, "x");
			throw Object.assign(new Error(\`EACCES: permission denied, try \${fs.statSync(${JSON.stringify(join(at.path, "calls"))}).size}\`), { code: "EACCES" });
		};`);
	return { NODE_OPTIONS: `--require ${preload}` };
}
const calls = ({ path }: World) => (existsSync(join(path, "calls")) ? readFileSync(join(path, "calls")).length : 0);

// Each message was another one, and said.
test("a store that may not be written to is said once, however often it is tried", async () => {
	const at = await setup();
	const { heard, hears } = follow(at, { open: [at.one] }, failing(at, "laptop."));
	await hears("show");
	await vi.waitFor(() => expect(calls(at)).toBeGreaterThan(3), LONG);
	expect(heard()).toEqual([{ show: `session ${SESSION} is not stored: ${at.address}: access is denied (EACCES: permission denied, try 1)` }]);
});

// It was called not stored.
test("that others do not see that a session is open here is said, and it is stored", async () => {
	const at = await setup();
	const { heard, hears } = follow(at, { open: [at.one] }, failing(at, "/presence/"));
	await hears("show");
	expect(heard()).toEqual([{ show: expect.stringMatching(`^others do not see that session ${SESSION} is open here: .*: access is denied`) }]);
	expect(await at.stored()).toEqual(["stored", "waits"]);
});

// All were begun at the same time, which took some megabytes each.
test("of the sessions that earlier processes left a few are stored at the same time", async () => {
	const at = await setup();
	const leftover = Array.from({ length: 20 }, (_, n) => ({ session: `s${n}`, file: join(at.path, "sessions", `2025-06-01T09-00-00-000Z_s${n}.jsonl`), cwd: "/shop" }));
	for (const { session, file } of leftover) writeFileSync(file, text(header(session), entry("a")));
	const preload = join(at.path, "counting.cjs");
	const most = join(at.path, "most");
	writeFileSync(preload, `
		const { DirectoryStore } = require(${JSON.stringify(resolve(__dirname, "../../lib/index.js"))});
		const { append } = DirectoryStore.prototype;
		let [now, most] = [0, 0];
		DirectoryStore.prototype.append = async function (...args) {
			most = Math.max(most, ++now);
			require("node:fs").writeFileSync(${JSON.stringify(most)}, String(most));
			try {
				return await append.apply(this, args);
			} finally {
				now--;
			}
		};`);
	follow(at, left(at, ...leftover), { NODE_OPTIONS: `--require ${preload}` });
	await vi.waitFor(async () => expect((await at.desktop.list()).sessions).toHaveLength(21), LONG);
	expect(Number(readFileSync(most, "utf8"))).toBeLessThanOrEqual(4);
});

// Regression: they were followed forever, and others waited until pi ended.
test("sessions whose last line has no end do not keep others that were left from being stored", async () => {
	const at = await setup();
	const torn = (session: string) => ({ session, file: join(at.path, "sessions", `2025-06-01T09-00-00-000Z_${session}.jsonl`), cwd: "/shop" });
	const leftover = ["torn0", "torn1", "torn2", "torn3", "whole"].map(torn);
	for (const { session, file } of leftover) writeFileSync(file, text(header(session), entry("a")) + (session === "whole" ? "" : '{"type":"mess'));
	follow(at, left(at, ...leftover));
	await vi.waitFor(async () => expect(ids(await loadAll(at.desktop, "whole"))).toEqual(["a"]), LONG);
	// They are stored beside one another.
	await vi.waitFor(async () => expect(ids(await loadAll(at.desktop, "torn3"))).toEqual(["a"]), LONG);
});

// Regression: a file that could not be looked at ended the search, and nothing of any project was stored or pulled in the background.
test("of what earlier processes left, a file that cannot be looked at, or that hangs, keeps no other from being stored", async () => {
	const at = await setup();
	const fileOf = (session: string) => join(at.path, "sessions", `2025-06-01T09-00-00-000Z_${session}.jsonl`);
	const [other, open] = ["other", "open"].map((session) => ({ session, file: fileOf(session), cwd: "/shop" })) as [PendingOne, PendingOne];
	for (const { session, file } of [other, open]) writeFileSync(file, text(header(session), entry("a")));
	const lost = ["EACCES", "ENOTCONN", "hangs"].map((why) => ({ session: why, file: join(at.path, why, `2025-06-01T09-00-00-000Z_${why}.jsonl`), cwd: "/else" }));
	const preload = join(at.path, "failing.cjs");
	writeFileSync(preload, `
		const fs = require("node:fs");
		const { stat } = fs.promises;
		const failing = (path) => /EACCES|ENOTCONN|hangs/.exec(String(path))?.[0];
		const fail = (code) => { throw Object.assign(new Error(code), { code }); };
		fs.promises.stat = async (path, ...more) => (failing(path) === "hangs" ? new Promise(() => {}) : failing(path) ? fail(failing(path)) : stat(path, ...more));
		const { statSync } = fs;
		fs.statSync = (path, ...more) => {
			if (failing(path) === "hangs") for (;;);
			return failing(path) ? fail(failing(path)) : statSync(path, ...more);
		};
		require("node:module").syncBuiltinESMExports();`);
	const { heard, hears, close } = follow(at, { ...left(at, ...lost, other), timeout: 2000 }, { NODE_OPTIONS: `--require ${preload}` });
	await vi.waitFor(async () => expect(ids(await loadAll(at.desktop, "other"))).toEqual(["a"]), LONG);
	await hears("done");
	new Pending(at.notes, at.address, PENDING).add(open);
	await close();
	expect(heard().at(-1)).toEqual({ done: "end" });
	expect(ids(await loadAll(at.desktop, "open"))).toEqual(["a"]);
	expect(new Pending(at.notes, at.address, "earlier").own().map(({ session }: PendingOne) => session)).toContain("hangs");
	expect(new Pending(at.notes, at.address, PENDING).own()).toEqual([]);
});

// Regression: it was forgotten, as if it were deleted.
test("a session that was left on a drive that is away is stored at a later start, when the drive is back", async () => {
	const at = await setup();
	const drive = join(at.path, "sessions");
	renameSync(drive, `${drive}.away`);
	const deleted = { session: "deleted", file: join(at.path, "2025-06-01T09-00-00-000Z_deleted.jsonl"), cwd: "/shop" };
	new Pending(at.notes, at.address, "other").add(deleted);
	const first = follow(at, left(at, at.one));
	await first.hears("done");
	await first.close();
	expect(["earlier", "other"].map((id) => new Pending(at.notes, at.address, id).own())).toEqual([[at.one], []]);
	renameSync(`${drive}.away`, drive);
	follow(at, { start: {} });
	await vi.waitFor(async () => expect(await at.stored()).toEqual(["stored", "waits"]), LONG);
});

// Regression: for each pi that had its sessions in a directory that was removed since, a file stayed for ever.
test("a session whose directory has been away for three months is not waited for any longer", async () => {
	const at = await setup();
	renameSync(join(at.path, "sessions"), join(at.path, "sessions.away"));
	const message = left(at, at.one);
	const path = readdirSync(join(at.notes, "open"), { recursive: true }).map(String).find((name) => name.endsWith("earlier.jsonl")) as string;
	const then = Date.now() / 1000 - 91 * 86_400;
	utimesSync(join(at.notes, "open", path), then, then);
	const { hears, close } = follow(at, message);
	await hears("done");
	await close();
	expect(new Pending(at.notes, at.address, "earlier").own()).toEqual([]);
});

// Regression: each pi said at its end that not all was stored, and pushed it again, in vain.
test("of two files of one session in a directory, the one that is not pushed is not waited for", async () => {
	const at = await setup();
	const later = { ...at.one, file: join(at.path, "sessions", `2025-06-02T09-00-00-000Z_${SESSION}.jsonl`) };
	writeFileSync(later.file, text(header(), entry("stored"), entry("later")));
	const { hears, close } = follow(at, left(at, at.one, later));
	await hears("done");
	await vi.waitFor(async () => expect(await at.stored()).toEqual(["stored", "later"]), LONG);
	await close();
	follow(at, { start: {} });
	await vi.waitFor(() => expect(new Pending(at.notes, at.address, "earlier").own()).toEqual([]), LONG);
});

// Regression: it was pushed as often, four times at once, and each start of pi that could not store it left another file.
test("a session that several processes left is stored once, and one that cannot be stored leaves no file of a process that did not open it", async () => {
	const at = await setup();
	const file = join(at.path, "sessions", "2025-06-01T09-00-00-000Z_stuck.jsonl");
	const stuck = { session: "stuck", file, cwd: "/shop" };
	writeFileSync(file, text(header("stuck"), entry("a")));
	for (const id of ["one", "two", "three"]) new Pending(at.notes, at.address, id).add(stuck);
	const { hears, close } = follow(at, left(at, stuck), failing(at, "stuck."));
	await hears("show");
	await hears("done");
	new Pending(at.notes, at.address, PENDING).add(at.one);
	await close();
	expect(calls(at)).toBe(1);
	expect(await at.stored()).toEqual(["stored", "waits"]);
	expect(new Pending(at.notes, at.address, PENDING).own()).toEqual([]);
	expect(new Pending(at.notes, at.address, "one").own()).toEqual([stuck]);
});
