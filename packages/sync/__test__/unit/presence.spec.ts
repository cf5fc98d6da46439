// Which hosts have a session open, in a directory. That all of them are listed is part of the conformance suite.
import fs, { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { DirectoryStore } from "../../lib/index.js";
import { SESSION, append, emptyDirectory, entries, header } from "../support/lines.js";

afterEach(() => vi.restoreAllMocks());

async function stored(): Promise<{ path: string; laptop: DirectoryStore; desktop: DirectoryStore }> {
	const path = emptyDirectory();
	const [laptop, desktop] = ["laptop", "desktop"].map((host) => new DirectoryStore({ path, host })) as [DirectoryStore, DirectoryStore];
	await append(laptop, entries("a", 1));
	return { path, laptop, desktop };
}

const presenceIn = async (store: DirectoryStore) => (await store.list({ presence: true })).sessions[0]?.presence;

/** As if it were written so many seconds before. */
function age(path: string, host: string, session: string, seconds: number): void {
	const time = Date.now() / 1000 - seconds;
	utimesSync(join(path, "presence", host, session), time, time);
}

test.each([[30, true], [61, false], [-3600, true]])("a host that wrote that it has a session open %i s ago, by the clock here, counts: %s", async (seconds, counts) => {
	const { path, laptop, desktop } = await stored();
	await laptop.setPresence(SESSION, true);
	age(path, "laptop", SESSION, seconds);
	expect(await presenceIn(desktop)).toEqual(counts ? ["laptop"] : []);
	await laptop.setPresence(SESSION, true);
	expect(await presenceIn(desktop)).toEqual(["laptop"]);
});

// Regression: it stayed for ever, as a container that is killed does not come back, and each list read it.
test("what processes left that were killed more than a day ago goes when any host closes a session", async () => {
	const { path, laptop, desktop } = await stored();
	for (const host of [laptop, desktop]) for (const session of ["killed", "late", "open"]) await host.setPresence(session, true);
	for (const host of ["laptop", "desktop"]) {
		age(path, host, "killed", 24 * 3600 + 60);
		age(path, host, "late", 61);
	}
	await laptop.setPresence(SESSION, true);
	const { rm } = fs.promises;
	// Of another user.
	vi.spyOn(fs.promises, "rm").mockImplementation(async (name, options) => {
		if (String(name).endsWith(join("laptop", "killed"))) throw Object.assign(new Error("not yours"), { code: "EACCES" });
		return rm(name, options);
	});
	await laptop.setPresence(SESSION, false);
	expect(["laptop", "desktop"].map((host) => readdirSync(join(path, "presence", host)).sort())).toEqual([["killed", "late", "open"], ["late", "open"]]);
	vi.restoreAllMocks();
	await desktop.setPresence(SESSION, false);
	expect(readdirSync(join(path, "presence", "laptop")).sort()).toEqual(["late", "open"]);
});

test("a name that no host made counts for nothing", async () => {
	const { path, laptop, desktop } = await stored();
	await laptop.setPresence("another", true);
	for (const name of [SESSION, `-/${SESSION}`, `laptop/${SESSION}.`, `laptop/more/${SESSION}`, `laptop/${SESSION.toUpperCase()}`].map((one) => join(path, "presence", one))) {
		mkdirSync(dirname(name), { recursive: true });
		writeFileSync(name, "");
	}
	expect(await presenceIn(desktop)).toEqual([]);
});

test("a session and a host whose ids are as long as they may be are seen, in capitals, too", async () => {
	const path = emptyDirectory();
	const [session, host] = ["S".repeat(120), "H".repeat(120)] as const;
	const laptop = new DirectoryStore({ path, host });
	await laptop.append(session, { header: header(session), lines: entries("a", 1) });
	await laptop.setPresence(session, true);
	expect(await presenceIn(laptop)).toEqual([host]);
});
