// `/find` in the real pi: on the screen, in print mode and in RPC mode, on pi's own session manager and on this package's.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Json, assistant, toolResult, user } from "../../support/scratch.js";
import { inRpc, inTerminal, print, put, said, world, type World } from "./pi.js";

/** Sessions of this project and of another; one is hostile to a terminal, one is a fork. */
function fill(at: World): { here: string; fork: string; there: string } {
	const shared = [said("a", null, user("How do we bake the quince pie?"), 50), said("b", "a", assistant("Bake the quince pie at 180 degrees."), 50)];
	const here = put(at, "0194-here", [...shared, said("c", "b", user("And the crust?"), 49), said("d", "c", assistant("Butter and flour."), 49)]);
	const fork = put(at, "0194-fork", [...shared, said("e", "b", user("Another question"), 3)]);
	const there = put(at, "0194-there", [said("a", null, user("\u001b[2J\u001b]0;evil\u0007quince \u202e elsewhere"), 70 * 24), said("t", "a", toolResult("quince output"), 70 * 24)], { cwd: at.root });
	return { here, fork, there };
}

/** The overlay is no longer there. */
const closed = /^(?![^]*Find {2}(?:this|all))/;
const find = "Find  this project · messages · any time";

test.each([
	{ how: "pi's own manager", hooked: false },
	{ how: "this package's manager", hooked: true },
])("on $how /find searches while one types, filters, and goes to the entry", async ({ hooked }) => {
	const at = await world([{ text: "Unused." }]);
	fill(at);
	const terminal = await inTerminal(at, { hooked });
	await terminal.enter("/find");
	await terminal.shows(find, "goes to the entry and moves the session's leaf there");
	await terminal.type("quince");
	// What the fork copied is shown once, for the newest session; the message of the first hit is below.
	const screen = await terminal.shows("2 hits in 1 session", "0194-fork", "› ", "assistant  Bake the quince pie");
	expect(screen).not.toContain("0194-here");
	terminal.press("Tab");
	await terminal.shows("Find  all sessions", "3 hits in 2 sessions", "0194-there");
	terminal.press("C-r");
	await terminal.shows("all sessions · user", "2 hits in 2 sessions");
	terminal.press("C-t");
	await terminal.shows("user · today", "nothing found");
	for (const [key, shown] of [["C-t", "7 days"], ["C-t", "30 days"], ["C-t", "any time"], ["C-r", "assistant"], ["C-r", "tools"]] as const) {
		terminal.press(key);
		await terminal.shows(shown);
	}
	await terminal.shows("tools · any time", "1 hit in 1 session", "quince output");
	terminal.press("C-r");
	terminal.press("Tab");
	await terminal.shows(find, "2 hits in 1 session");
	terminal.press("Down");
	await terminal.shows(/› +\d+d assistant|› +\d+d user/);
	terminal.press("Enter");
	// The leaf is at the entry: the conversation ends with it.
	const opened = await terminal.shows(closed, "bake the quince pie");
	expect(opened).not.toContain("Another question");
});

test("/find words begins with them; ctrl+o opens the session at its end, ctrl+g takes the text, escape leaves all as it was", async () => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session", "0194-here");
	terminal.press("C-g");
	await terminal.shows(closed, "And the crust?");
	terminal.press("C-c");
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Escape");
	expect(await terminal.shows(closed)).not.toContain("Butter");
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-o");
	await terminal.shows(closed, "Butter and flour.");
	// Within the session that is open, only the leaf moves.
	await terminal.enter("/find degrees");
	await terminal.shows(/\d hits? in \d session/);
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/reload");
	await terminal.shows(/Reloaded/);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	await terminal.shows(closed, "And the crust?");
});

test("the texts of sessions cannot reach the terminal: no sequence, no hidden character", async () => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find --all elsewhere");
	await terminal.shows("1 hit in 1 session", "quince \\u202e elsewhere");
});

test("a session that is gone when it is opened is a message, not the end of pi", async () => {
	const at = await world();
	const { here } = fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	rmSync(here);
	terminal.press("Enter");
	await terminal.shows(closed, "The session cannot be opened");
	await terminal.enter("/find crust");
	await terminal.shows("nothing found");
});

test("the user's own keys move, and close", async () => {
	const at = await world();
	fill(at);
	writeFileSync(join(at.home, "agent/keybindings.json"), JSON.stringify({ "tui.select.cancel": "ctrl+x", "tui.select.down": "ctrl+n" }));
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("2 hits in 1 session",  /ctrl\+x\s+closes/);
	await terminal.shows(/› +2d assistant/);
	terminal.press("C-n");
	await terminal.shows(/› +2d user/);
	terminal.press("C-x");
	await terminal.shows(closed);
});

test.each([{ hooked: false }, { hooked: true }])("in print, JSON and RPC mode /find answers in text (hooked: $hooked)", async ({ hooked }) => {
	const at = await world();
	fill(at);
	const printed = await print(at, "/find quince", { hooked });
	expect(printed).toMatchObject({ code: 0 });
	expect(printed.stdout).toMatch(/^0194-fork .*\n {2}\S+ 2d (assistant|user): .*quince pie.*\n/);
	expect(printed.stdout).not.toContain("0194-there");
	expect((await print(at, "/find --all evil quince", { hooked })).stdout).toContain("quince \\u202e elsewhere");
	expect((await print(at, "/find nowhere", { hooked })).stdout).toBe("Nothing found for nowhere in the sessions of this project; /find --all searches all.\n");
	expect((await print(at, "/find", { hooked })).stdout).toBe("Usage: /find [--all] words\n");
	const json = await print(at, "/find crust", { hooked, args: ["--mode", "json"] });
	const lines = json.stdout.trim().split("\n").map((line) => JSON.parse(line) as Json);
	expect(lines).toContainEqual({ type: "extension_message", extension: "pi-session-native", text: expect.stringContaining("And the crust?") });
	await inRpc(at, async (client) => {
		await client.send({ type: "prompt", message: "/find crust" });
		// The answer comes before the command's end.
		const notified = client.records.find((record: Json) => record.type === "extension_ui_request" && record.method === "notify");
		expect(notified).toMatchObject({ message: expect.stringContaining("And the crust?") });
	}, { hooked });
});
