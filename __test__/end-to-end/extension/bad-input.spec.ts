// Unusual states of a user's machine: pi continues, and a message names the problem.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assistant, root, user } from "../../support/scratch.js";
import { closed } from "./find.js";
import { inTerminal, notices, put, said, stderrOf, withoutAddon, world } from "./pi.js";

test("an unwritable catalog hides no session", async () => {
	const at = await world();
	put(at, "0194-pie", [said("a", null, user("Quince pie"))]);
	const terminal = await inTerminal(at, { env: { PI_SESSION_NATIVE_CATALOG: "/proc/none/catalog.sqlite" } });
	await terminal.enter("/find quince");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/resume");
	await terminal.shows("Resume Session", "› Quince pie");
});

test("without any session every command says that there is none", async () => {
	const at = await world();
	rmSync(at.sessions, { recursive: true, force: true });
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("nothing found");
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/costs");
	await terminal.shows("0 sessions; 0 model calls, $0.00");
	terminal.press("Escape");
	await terminal.shows(/^(?![\s\S]*Costs {2}day)/);
	await terminal.enter("/resume");
	await terminal.shows("Resume Session", /No sessions/);
});

test("a class that another extension changed is left to pi", async () => {
	const at = await world();
	put(at, "0194-pie", [said("a", null, user("Quince pie"))]);
	const other = join(at.root, "other.mjs");
	writeFileSync(
		other,
		`import { SessionManager } from "@earendil-works/pi-coding-agent";
		const own = SessionManager.list;
		SessionManager.list = (cwd) => own.call(SessionManager, cwd);
		export default () => {};\n`,
	);
	const terminal = await inTerminal(at, { extension: other, args: ["-e", root] });
	await terminal.shows(/runs on its own session manager,\s+because\s+SessionManager\.list\s+is\s+not\s+as\s+expected/);
	await terminal.enter("/resume");
	await terminal.shows("Resume Session", "› Quince pie");
});

test("fast typing and abandoned searches leave nothing behind", async () => {
	const at = await world();
	for (let n = 0; n < 30; n++)
		put(at, `0194-${n}`, [said(`a${n}`, null, user(`${"word ".repeat(20_000)} quince ${n}`))]);
	const stderr = join(at.root, "stderr");
	const terminal = await inTerminal(at, { stderr });
	await terminal.enter("/find");
	await terminal.shows("Find  this project");
	terminal.press("q", "u", "i", "n", "c", "e", "Escape");
	await terminal.shows(closed);
	await terminal.enter("/find word quince");
	await terminal.shows("30 hits in 30 sessions");
	terminal.press("x", "BSpace");
	await terminal.shows("30 hits in 30 sessions");
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/quit");
	expect(await terminal.exit()).toBe(0);
	expect(stderrOf(stderr)).toBe("");
});

// Regression: the former query's hits stay until new ones come, and these keys acted on them.
test("keys typed at once act on the new query's hits", async () => {
	const at = await world([{ text: "Unused." }]);
	for (let n = 0; n < 30; n++)
		put(at, `0194-${n}`, [
			said("a", null, user(`quince question ${n}`), n + 1),
			said("b", "a", assistant(`${"word ".repeat(20_000)} quince pear${n}end`), n + 1),
		]);
	const terminal = await inTerminal(at);
	const search = async (): Promise<void> => {
		await terminal.enter("/find quince");
		await terminal.shows("60 hits in 30 sessions");
	};
	await search();
	for (const key of ["Enter", "C-o", "C-g"]) {
		terminal.press("z", "z", "z", key);
		await terminal.shows("Find  this project", "quincezzz", "nothing found");
		terminal.press("BSpace", "BSpace", "BSpace");
		await terminal.shows("60 hits in 30 sessions");
	}
	terminal.press("Space", ..."pear7end", "Enter");
	await terminal.shows(closed, "pear7end");
	await search();
	terminal.press("C-r");
	const shown = await terminal.shows("this project · user", "30 hits in 30 sessions");
	const second = [...shown.matchAll(/user +quince (question \d+)/g)][1]?.[1] as string;
	terminal.press("C-r", "C-r", "C-r");
	await terminal.shows("this project · messages", "60 hits in 30 sessions");
	terminal.press("C-r", "Down", "C-g");
	await terminal.shows(closed, new RegExp(`^ *quince ${second}$`, "m"));
});

test("without the addon /find and /costs say what is missing", async () => {
	const at = await world();
	put(at, "0194-pie", [said("a", null, user("Quince pie"))]);
	const extension = withoutAddon(at);
	const terminal = await inTerminal(at, { extension });
	await terminal.enter("/find quince");
	await terminal.shows(/Warning: pi-session-native: \S/);
	await terminal.enter("/costs");
	await terminal.shows(/Warning: pi-session-native: [\s\S]*Warning: pi-session-native: /);
	for (const notice of await notices(at, ["/find quince", "/costs"], { extension }))
		expect(notice).toMatchObject({ notifyType: "warning", message: expect.stringMatching(/^pi-session-native: \S/) });
});

test("pi asks about a session whose directory is gone", async () => {
	const at = await world();
	put(at, "0194-pie", [said("a", null, user("Quince pie"))], { cwd: "/nowhere/gone" });
	const terminal = await inTerminal(at);
	await terminal.enter("/find --all quince");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	await terminal.shows(closed, "Session cwd does not exist: /nowhere/gone");
});
