// `/find` in the real pi: on the screen, in print mode and in RPC mode, on pi's own session manager and on this package's.
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFilesOf } from "../../support/open-files.js";
import { type Json, assistant, jsonLines, root, toolResult, user } from "../../support/scratch.js";
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
	const screen = await terminal.shows("2 hits in 1 session", /^How do we bake/m, "› ", "assistant  Bake the quince pie");
	expect(screen).not.toContain("0194-");
	terminal.press("Tab");
	await terminal.shows("Find  all sessions", "3 hits in 2 sessions", /^quince .u202e elsewhere/m);
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
	await terminal.shows("1 hit in 1 session", /^How do we bake/m);
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

// Regression: the screen said that the leaf moves to the entry. pi moves it before a user's message, which goes to the editor.
test("a user's message goes to the editor and the leaf before it; the leaf goes to any other entry", async () => {
	const at = await world([{ text: "First reply." }, { text: "Second reply." }]);
	const { here } = fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session", "enter puts the message into the editor and the leaf before it");
	terminal.press("Enter");
	const opened = await terminal.shows(closed, "Bake the quince pie", "And the crust?");
	expect(opened.split("And the crust?")).toHaveLength(2);
	terminal.press("Enter");
	await terminal.shows("First reply.");
	await terminal.enter("/find butter");
	await terminal.shows("1 hit in 1 session", "enter goes to the entry and moves the session's leaf there");
	terminal.press("Enter");
	await terminal.shows(closed, "Butter and flour.");
	await terminal.enter("And sugar?");
	await terminal.shows("Second reply.");
	const lines = jsonLines(here);
	const before = ({ parentId }: any): any => {
		const parent = lines.find(({ id }) => id === parentId);
		// pi writes entries of its own in between, whose ids are longer.
		return parent.id.length === 1 ? parent.id : before(parent);
	};
	const sent = lines.filter(({ id, message }) => id.length > 1 && message?.role === "user");
	expect(sent.map((one) => [before(one), one.message.content[0].text])).toEqual([["b", "And the crust?"], ["d", "And sugar?"]]);
});

test("a user's message that is gone to stands below what is in the editor", async () => {
	const at = await world();
	fill(at);
	const other = join(at.root, "other.mjs");
	writeFileSync(other, `export default (api) => api.on("session_start", (event, ctx) => event.reason === "resume" && ctx.ui.setEditorText("A draft"));\n`);
	const terminal = await inTerminal(at, { extension: other, args: ["-e", root] });
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	await terminal.shows(closed, /A draft\n *And the crust\?/);
});

// Regression: what was found there had no preview, could not be copied, and was said to be gone.
test("a hit in a version 1 session, whose entries have no ids, is shown, copied and gone to", async () => {
	const at = await world();
	const entries = [user("old quince words"), assistant("old answer"), user("another question"), assistant("another answer")];
	put(at, "0194-old", entries.map((message, n) => ({ type: "message", timestamp: new Date(1.7e12 + n).toISOString(), message })), { version: undefined });
	const terminal = await inTerminal(at);
	await terminal.enter("/find old quince");
	await terminal.shows("1 hit in 1 session", /user +old quince words[^]*\n *old quince words/);
	terminal.press("C-g");
	await terminal.shows(closed, /^ *old quince words$/m);
	terminal.press("C-c");
	await terminal.enter("/find old answer");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	expect(await terminal.shows(closed, "old answer")).not.toContain("another");
	await terminal.enter("/find another question");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	expect(await terminal.shows(closed, "old answer", "another question")).not.toContain("another answer");
});

test("of more hits than are shown, it says so", async () => {
	const at = await world();
	for (let n = 0; n < 201; n++) put(at, `0194-${n}`, [said("a", null, user(`quince ${n}`), n + 1)]);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("the first 200 hits, in 200 sessions");
});

test("today is the day of the clock, not 24 hours", async () => {
	const at = await world();
	put(at, "0194-today", [said("a", null, user("quince of today"), 1), said("b", "a", user("quince of yesterday"), 20)]);
	// A place where it is about noon.
	const east = 12 - new Date().getUTCHours();
	const terminal = await inTerminal(at, { env: { TZ: `Etc/GMT${east > 0 ? "-" : "+"}${Math.abs(east)}` } });
	await terminal.enter("/find quince");
	await terminal.shows("2 hits in 1 session");
	terminal.press("C-t");
	await terminal.shows("messages · today", "1 hit in 1 session", "quince of today");
});

test("previews leave no session file open", async () => {
	const at = await world();
	for (let n = 0; n < 12; n++) put(at, `0194-${n}`, [said("a", null, user(`Question ${n}`)), said("b", "a", assistant(`quince answer ${n}`))]);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("12 hits in 12 sessions");
	// The file that was written last is the first.
	for (let n = 10; n >= 0; n--) {
		terminal.press("Down");
		await terminal.shows(new RegExp(`─\n *quince answer ${n}$`, "m"));
	}
	const open = (): string[] => openFilesOf(terminal.pid()).filter((path) => path.startsWith(at.here));
	expect(open().length).toBeLessThanOrEqual(1);
	terminal.press("Escape");
	await terminal.shows(closed);
	expect(open()).toEqual([]);
});

// Regression: a session that lies elsewhere makes its folder the one that is searched, and nothing said so.
test.each([
	{ how: "a session file", args: (dir: string) => ["--session", join(dir, "0194-elsewhere.jsonl")] },
	{ how: "a session directory", args: (dir: string) => ["--session-dir", dir] },
])("where pi was started with $how, that directory is searched, and named", async ({ args }) => {
	const at = await world();
	fill(at);
	const dir = join(at.root, "elsewhere");
	mkdirSync(dir);
	renameSync(put(at, "0194-elsewhere", [said("a", null, user("Quince elsewhere"))]), join(dir, "0194-elsewhere.jsonl"));
	const options = { args: args(dir) };
	const terminal = await inTerminal(at, options);
	await terminal.enter("/find --all quince");
	await terminal.shows(/Find {2}all sessions in \S*elsewhere · messages/, "1 hit in 1 session");
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/costs");
	await terminal.shows(`1 session in ${dir}; 0 model calls`);
	expect((await print(at, "/find quince", options)).stdout).toContain(`Searched: the sessions of this project in ${dir}.`);
	expect((await print(at, "/find --all crust", options)).stdout).toBe(`Nothing found for crust in all sessions in ${dir}.\n`);
	expect((await print(at, "/costs", options)).stdout).toContain(`in ${dir}; `);
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
	expect(printed.stdout).toMatch(/^0194-fork {2}How do we bake the quince pie\? {2}\/.*\n {2}\S+ 2d (assistant|user): .*quince pie.*\n/);
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
		// It says what it does until it is done.
		const statuses = client.records.filter((record: Json) => record.method === "setStatus" && record.statusKey === "pi-session-native").map(({ statusText }: Json) => statusText);
		expect([statuses[0], statuses.at(-1)]).toEqual(["searching", undefined]);
	}, { hooked });
});
