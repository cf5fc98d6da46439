// Claims in a directory. That a claim is one host's is part of the conformance suite.
import fs, { readdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { DirectoryStore } from "../../../lib/store/index.js";
import { SESSION, append, emptyDirectory, entries, entry, header } from "../../support/lines.js";

afterEach(() => {
	vi.restoreAllMocks();
	vi.useRealTimers();
});

const HOUR = 3_600_000;

async function stored(): Promise<{ path: string; laptop: DirectoryStore; desktop: DirectoryStore }> {
	const path = emptyDirectory();
	const [laptop, desktop] = ["laptop", "desktop"].map((host) => new DirectoryStore({ path, host })) as [DirectoryStore, DirectoryStore];
	await append(laptop, entries("a", 1));
	return { path, laptop, desktop };
}

const claimsIn = (path: string, session = SESSION) => readdirSync(join(path, "claims")).filter((name) => name.startsWith(`${session}@`)).map((name) => name.slice(session.length + 1));
const claimFile = (path: string, name: string, session = SESSION) => join(path, "claims", `${session}@${name}`);
const claimOf = (path: string, host: string, session = SESSION) => claimFile(path, claimsIn(path, session).find((name) => name.startsWith(`${host}.`)) as string, session);
const claimIn = async (store: DirectoryStore) => (await store.list()).sessions[0]?.claim;

test("who has a claim is said by the name that people know", async () => {
	const path = emptyDirectory();
	const [laptop, desktop] = ["me-laptop-1a2b3c4d", "me-desktop-1a2b3c4d"].map((host) => new DirectoryStore({ path, host })) as [DirectoryStore, DirectoryStore];
	await append(laptop, [entry("a")]);
	await laptop.claim(SESSION, { ttl: 60_000 });
	await expect(desktop.claim(SESSION, { ttl: 60_000 })).rejects.toMatchObject({ code: "claimed", message: `Session ${SESSION} is claimed by host me-laptop` });
});

test("of hosts that claim at the same time one has the session", async () => {
	const { path } = await stored();
	const hosts = Array.from({ length: 8 }, (_, at) => new DirectoryStore({ path, host: `host${at}` }));
	const results = await Promise.allSettled(hosts.map((host) => host.claim(SESSION, { ttl: HOUR })));
	const winners = results.flatMap(({ status }, at) => (status === "fulfilled" ? [`host${at}`] : []));
	expect(winners).toHaveLength(1);
	for (const result of results) if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "claimed", message: expect.stringMatching(`^Session ${SESSION} is claimed by host host\\d$`) });
	expect(await claimIn(hosts[0] as DirectoryStore)).toMatchObject({ host: winners[0] });
});

// Regression: on Windows a file is not replaced while another host reads it, and of hosts that claimed at the same time none had the session.
test("where a file that is open cannot be replaced it is tried again, and elsewhere an error is one at once", async () => {
	const { laptop } = await stored();
	await laptop.claim(SESSION, { ttl: HOUR });
	const denied = () => Promise.reject(Object.assign(new Error("EPERM: operation not permitted, rename"), { code: "EPERM" }));
	const rename = vi.spyOn(fs.promises, "rename");
	vi.spyOn(process, "platform", "get").mockReturnValue("win32");
	for (let times = 0; times < 3; times++) rename.mockImplementationOnce(denied);
	await laptop.claim(SESSION, { ttl: HOUR });
	expect(rename).toHaveBeenCalledTimes(4);
	rename.mockImplementation(denied);
	await expect(laptop.claim(SESSION, { ttl: HOUR })).rejects.toMatchObject({ code: "denied" });
	rename.mockClear();
	vi.spyOn(process, "platform", "get").mockReturnValue("linux");
	await expect(laptop.claim(SESSION, { ttl: HOUR })).rejects.toMatchObject({ code: "denied" });
	expect(rename).toHaveBeenCalledTimes(1);
});

// Regression: a host that had given its claim up made it again, and one that had looked before that made its own. Both had the session.
test("a claim that is made again while another host is about to claim is that host's alone", async () => {
	const { path, laptop, desktop } = await stored();
	await laptop.claim(SESSION, { ttl: HOUR });
	await laptop.claim(SESSION, { ttl: 0 });
	const { rename } = fs.promises;
	const again: unknown[] = [];
	// The desktop's claim makes its file; before that it has looked.
	vi.spyOn(fs.promises, "rename").mockImplementationOnce(async (from, to) => {
		again.push(await laptop.claim(SESSION, { ttl: HOUR }));
		await rename(from, to);
	});
	await expect(desktop.claim(SESSION, { ttl: HOUR })).rejects.toMatchObject({ code: "claimed" });
	expect(again).toHaveLength(1);
	expect(await claimIn(new DirectoryStore({ path, host: "phone" }))).toMatchObject({ host: "laptop" });
});

test.each([-HOUR, HOUR])("a claim lasts by the clock of the drive, whatever that of the host says (%i ms)", async (wrong) => {
	const { path, laptop, desktop } = await stored();
	const now = Date.now();
	await laptop.claim(SESSION, { ttl: 60_000 });
	vi.useFakeTimers({ now: now + wrong, toFake: ["Date"] });
	expect(await claimIn(desktop)).toMatchObject({ host: "laptop" });
	await expect(desktop.claim(SESSION, { ttl: 60_000 })).rejects.toMatchObject({ code: "claimed" });
	utimesSync(claimOf(path, "laptop"), now / 1000 - 61, now / 1000 - 61);
	expect(await claimIn(desktop)).toBeUndefined();
	await desktop.claim(SESSION, { ttl: 60_000 });
	await expect(laptop.claim(SESSION, { ttl: 60_000 })).rejects.toMatchObject({ code: "claimed" });
});

test.each([[-35, true], [-61, false], [3600, true]])("in a synchronised directory, a claim that comes with a time of %i s from here, that of the other machine's clock, is seen: %s", async (behind, isSeen) => {
	const { path, laptop, desktop } = await stored();
	await laptop.claim(SESSION, { ttl: 60_000 });
	const time = Date.now() / 1000 + behind;
	utimesSync(claimOf(path, "laptop"), time, time);
	expect((await claimIn(desktop)) !== undefined).toBe(isSeen);
});

// Regression: the folder of claims was not there before the first one, and that one lasted by the clock of the host.
test.each([-HOUR, HOUR])("so does the first claim of a store (%i ms)", async (wrong) => {
	const { path, laptop, desktop } = await stored();
	const now = Date.now();
	vi.useFakeTimers({ now: now + wrong, toFake: ["Date"] });
	const { until } = await laptop.claim(SESSION, { ttl: 60_000 });
	expect(Math.abs(until.getTime() - now - 60_000)).toBeLessThan(HOUR / 2);
	vi.useRealTimers();
	await expect(desktop.claim(SESSION, { ttl: 60_000 })).rejects.toMatchObject({ code: "claimed" });
	expect(claimsIn(path)).toEqual(["laptop.60000"]);
});

test("what a host has open is one file, whatever it has claimed, prolonged and given up", async () => {
	const { path, laptop, desktop } = await stored();
	for (let nth = 0; nth < 5; nth++) await laptop.claim(SESSION, { ttl: HOUR });
	await laptop.claim(SESSION, { ttl: 2 * HOUR });
	expect(claimsIn(path)).toEqual([`laptop.${2 * HOUR}`]);
	await laptop.claim(SESSION, { ttl: 0 });
	expect(await claimIn(desktop)).toBeUndefined();
	await desktop.claim(SESSION, { ttl: HOUR });
	// Giving up what another host has changes nothing.
	await expect(laptop.claim(SESSION, { ttl: 0 })).rejects.toMatchObject({ code: "claimed" });
	expect(await claimIn(laptop)).toMatchObject({ host: "desktop" });
	expect(claimsIn(path)).toEqual([`desktop.${HOUR}`]);
});

// Regression: what a host had claimed stayed for ever, and each claim read it.
test("what a killed process claimed is removed after a day", async () => {
	const { path, laptop, desktop } = await stored();
	const before = Date.now() / 1000 - 25 * 3600;
	for (const session of ["s1", "s2"]) {
		await laptop.append(session, { header: header(session), lines: entries("a", 1) });
		await laptop.claim(session, { ttl: 60_000 });
	}
	utimesSync(claimOf(path, "laptop", "s1"), before, before);
	await desktop.claim(SESSION, { ttl: 60_000 });
	expect(["s1", "s2", SESSION].map((session) => claimsIn(path, session).length)).toEqual([0, 1, 1]);
});

// Regression: a host left its own, and where one host has a store nobody else removed them.
test("what a killed process of this host claimed is removed after a day, too", async () => {
	const { path, laptop } = await stored();
	const before = Date.now() / 1000 - 25 * 3600;
	const killed = new DirectoryStore({ path, host: "laptop" });
	for (const session of ["s1", "s2"]) {
		await killed.append(session, { header: header(session), lines: entries("a", 1) });
		await killed.claim(session, { ttl: 60_000 });
	}
	utimesSync(claimFile(path, "laptop.60000", "s1"), before, before);
	await laptop.claim(SESSION, { ttl: 60_000 });
	expect(["s1", "s2", SESSION].map((session) => claimsIn(path, session).length)).toEqual([0, 1, 1]);
});

test("a session and a host whose ids are long are claimed as others are, unless a file cannot have a name of both", async () => {
	const path = emptyDirectory();
	const [session, own, theirs] = ["s".repeat(120), "h".repeat(120), "H".repeat(120)] as const;
	const [laptop, desktop] = [own, theirs].map((host) => new DirectoryStore({ path, host })) as [DirectoryStore, DirectoryStore];
	await laptop.append(session, { header: header(session), lines: entries("a", 1) });
	await laptop.claim(session, { ttl: HOUR });
	expect(await claimIn(desktop)).toMatchObject({ host: own });
	await laptop.claim(session, { ttl: 0 });
	await expect(desktop.claim(session, { ttl: HOUR })).rejects.toMatchObject({ code: "failed" });
});

// Regression: each claim made several, which synchronised directories carried to every machine.
test("a claim that no other host disputes makes no file but its own", async () => {
	const { path, laptop } = await stored();
	await laptop.claim(SESSION, { ttl: 60_000 });
	const writes = vi.spyOn(fs.promises, "writeFile");
	await laptop.claim(SESSION, { ttl: 60_000 });
	// Deno writes to an open file by the same function.
	expect(writes.mock.calls.filter(([file]) => typeof file === "string")).toEqual([]);
	expect(claimsIn(path)).toEqual(["laptop.60000"]);
});

test("a host that was held up while another one claimed the session gives its claim up", async () => {
	const { laptop, desktop } = await stored();
	// The laptop found nobody, and writes its claim when the desktop has the session.
	const { rename } = fs.promises;
	vi.spyOn(fs.promises, "rename").mockImplementationOnce(async (from, to) => {
		await desktop.claim(SESSION, { ttl: HOUR });
		return rename(from, to);
	});
	await expect(laptop.claim(SESSION, { ttl: HOUR })).rejects.toMatchObject({ code: "claimed", message: `Session ${SESSION} is claimed by host desktop` });
	expect(await claimIn(laptop)).toMatchObject({ host: "desktop" });
});

// Regression: the file of the claim is that of both processes, and the first one removed it when it saw another host.
test("a claim that another process of the host has stays, though one more host is about to claim", async () => {
	const { path, laptop, desktop } = await stored();
	const other = new DirectoryStore({ path, host: "laptop" });
	const { rename } = fs.promises;
	const renames = vi.spyOn(fs.promises, "rename");
	// The desktop has looked, and writes its claim when one process of the laptop has claimed and the other one is about to see it.
	renames.mockImplementationOnce(async (from, to) => {
		await laptop.claim(SESSION, { ttl: HOUR });
		renames.mockImplementationOnce(async (own, name) => {
			await rename(own, name);
			await rename(from, to);
		});
		await other.claim(SESSION, { ttl: HOUR });
	});
	await expect(desktop.claim(SESSION, { ttl: HOUR })).rejects.toMatchObject({ code: "claimed" });
	expect(await claimIn(desktop)).toMatchObject({ host: "laptop" });
});

test("processes of one host claim one after the other: what one gives up no other has", async () => {
	const { path, laptop } = await stored();
	const { rename } = fs.promises;
	const claimed: Promise<unknown>[] = [];
	vi.spyOn(fs.promises, "rename").mockImplementationOnce(async (from, to) => {
		const second = new DirectoryStore({ path, host: "laptop" }).claim(SESSION, { ttl: HOUR });
		claimed.push(second);
		await Promise.race([second.catch(() => {}), pause(100)]);
		await rename(from, to);
		// The desktop looked before, and sees nobody when the laptop has given its claim up.
		writeFileSync(claimFile(path, `desktop.${HOUR}`), "");
	});
	claimed.push(laptop.claim(SESSION, { ttl: HOUR }));
	await expect(claimed[0]).rejects.toMatchObject({ code: "claimed" });
	expect((await Promise.allSettled(claimed)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("processes of one host claim many sessions at the same time, and none is lost", async () => {
	const { path, laptop, desktop } = await stored();
	const sessions = Array.from({ length: 10 }, (_, n) => `s${n}`);
	for (const session of sessions) await laptop.append(session, { header: header(session), lines: entries("a", 1) });
	await Promise.all(sessions.map((session) => new DirectoryStore({ path, host: "laptop" }).claim(session, { ttl: HOUR })));
	expect((await desktop.list()).sessions.flatMap(({ claim }) => claim?.host ?? [])).toEqual(Array(10).fill("laptop"));
});

test("a name that no host made holds nothing", async () => {
	const { path, laptop, desktop } = await stored();
	await laptop.claim(SESSION, { ttl: HOUR });
	for (const name of ["phone", "phone.60000.x", "-.60000", ".60000", "phone.600000000"]) {
		renameSync(claimFile(path, claimsIn(path)[0] as string), claimFile(path, name));
		expect(await claimIn(desktop)).toBeUndefined();
	}
	await desktop.claim(SESSION, { ttl: HOUR });
	expect(await claimIn(laptop)).toMatchObject({ host: "desktop" });
});

test.each([
	[-1, /must be a number of milliseconds, 0 or more, not -1$/],
	[Number.NaN, /not NaN$/],
	[25 * HOUR, /is 86400000 milliseconds at most, not 90000000$/],
])("a ttl of %d is refused", async (ttl, message) => {
	const { laptop } = await stored();
	await expect(laptop.claim(SESSION, { ttl })).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(message) });
});
