// Who wrote a session last, in `/resume` and `/find` of the real pi: sessions that came from a store.
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assistant, root, text, user } from "../../support/scratch.js";
import { inTerminal, print, put, said, world, type World } from "./pi.js";

const HOST = "PI_SESSION_NATIVE_HOST";

/** `pi-sessions` on a machine with a home of its own. */
function sessions(at: World, host: string, ...args: string[]): string {
	const env = { PATH: process.env.PATH, HOME: at.home, PI_CODING_AGENT_DIR: join(at.home, "agent"), [HOST]: host };
	return execFileSync(process.execPath, [join(root, "bin/pi-sessions.mjs"), ...args], { cwd: at.work, env, encoding: "utf8" });
}

function share(at: World, store: string): void {
	writeFileSync(join(at.home, "agent/session-store.json"), JSON.stringify({ store, projects: { [at.work]: "shop" } }), { mode: 0o600 });
}

test.each([
	{ how: "pi's own manager", hooked: false },
	{ how: "this package's manager", hooked: true },
])("on $how a session that another machine wrote last says so in /resume and /find, by this machine's notes alone", async ({ hooked }) => {
	const [theirs, ours] = [await world(), await world()];
	const store = join(theirs.root, "store");
	mkdirSync(store);
	[theirs, ours].forEach((at) => share(at, store));
	put(theirs, "0194-theirs", [said("a", null, user("quince of theirs"), 3), said("b", "a", assistant("An answer."), 3)]);
	put(ours, "0194-ours", [said("a", null, user("quince of ours"), 2)]);
	sessions(theirs, "anna-laptop-0123abcd", "push");
	sessions(ours, "bob-desk-0123abcd", "pull");
	// Beside the store, pi on this package's manager uses it by itself.
	const away = hooked ? store : `${store}-away`;
	renameSync(store, away);
	const env = { [HOST]: "bob-desk-0123abcd" };
	const terminal = await inTerminal(ours, { hooked, env });
	await terminal.enter("/resume");
	await terminal.shows(/quince of ours +1 2h\b/, /quince of theirs +anna-laptop · 2 3h\b/);
	terminal.press("Tab");
	await terminal.shows(/quince of theirs +\S* anna-laptop · 2 3h\b/);
	terminal.press("Escape");
	await terminal.shows(/^(?![^]*Resume Session)/);
	await terminal.enter("/find quince");
	await terminal.shows("2 hits in 2 sessions", /^quince of ours +\S+\/work$/m, /^quince of theirs +\S+\/work · anna-laptop$/m);
	const printed = (await print(ours, "/find quince", { hooked, env })).stdout;
	expect(printed).toMatch(/^0194-theirs .*\/work · anna-laptop$/m);
	expect(printed).toMatch(/^0194-ours .*\/work$/m);
	renameSync(away, store);
	// What was written here since is newer, stored or not; there it is this machine's.
	const answer = said("c", "b", user("quince of mine"), 1);
	appendFileSync(join(ours.here, readdirSync(ours.here).find((name) => name.includes("theirs")) as string), text([answer]));
	const find = async (at: World, host: string) => (await print(at, "/find quince of", { env: { [HOST]: host } })).stdout;
	expect(await find(ours, "bob-desk-0123abcd")).not.toContain("anna");
	sessions(ours, "bob-desk-0123abcd", "push");
	expect(await find(ours, "bob-desk-0123abcd")).not.toMatch(/anna|bob/);
	sessions(theirs, "anna-laptop-0123abcd", "pull");
	expect(await find(theirs, "anna-laptop-0123abcd")).toMatch(/^0194-theirs .* · bob-desk$/m);
});

test("settings of a store that cannot be used keep nothing from being listed and found", async () => {
	const at = await world();
	put(at, "0194-one", [said("a", null, user("quince"), 3)]);
	writeFileSync(join(at.home, "agent/session-store.json"), "{ not JSON", { mode: 0o600 });
	expect((await print(at, "/find quince")).stdout).toContain("0194-one");
	const terminal = await inTerminal(at);
	await terminal.enter("/resume");
	await terminal.shows(/quince +1 3h\b/);
});
