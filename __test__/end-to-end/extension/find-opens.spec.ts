// Actions of `/find` in the real pi on a hit: opening it, moving the leaf, copying it, showing its surroundings.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assistant, jsonLines, root, user } from "../../support/scratch.js";
import { closed, fill, find } from "./find.js";
import { inTerminal, put, said, world } from "./pi.js";

test("ctrl+o opens the session, ctrl+g copies, escape changes nothing", async () => {
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
	// In the open session only the leaf moves.
	await terminal.enter("/find degrees");
	await terminal.shows(/\d hits? in \d session/);
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/reload");
	await terminal.shows(/Reloaded/);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	await terminal.shows(closed, "Butter and flour.");
});

// Regression: the leaf was before the message, so that the wanted answer was not visible.
test("enter on a question goes to its answer", async () => {
	const at = await world([{ text: "First reply." }]);
	const { here } = fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session", "enter goes to the answer");
	terminal.press("Enter");
	const opened = await terminal.shows(closed, "And the crust?", "Butter and flour.");
	expect(opened.split("And the crust?")).toHaveLength(2);
	await terminal.enter("And sugar?");
	await terminal.shows("First reply.");
	const lines = jsonLines(here);
	const sent = lines.findIndex(({ message }) => JSON.stringify(message)?.includes("And sugar?"));
	const ids = new Map(lines.map((line) => [line.id, line]));
	let before: any = lines[sent];
	do before = ids.get(before.parentId);
	while (before.id.length > 1);
	expect(before.id).toBe("d");
	put(at, "0194-unanswered", [said("a", null, user("And the medlar?"))]);
	await terminal.enter("/find medlar");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	await terminal.shows(closed, "And the medlar?");
});

// Regression: the screen said that the leaf moves to the entry. If it is a user's message, pi moves the leaf before it,
// because the message goes to the editor.
test("ctrl+x puts a user's message into the editor", async () => {
	const at = await world([{ text: "First reply." }, { text: "Second reply." }]);
	const { here } = fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("F1");
	await terminal.shows(/ctrl\+x\s+puts\s+the\s+message\s+into\s+the\s+editor\s+and\s+the\s+leaf\s+before\s+it/);
	terminal.press("C-x");
	const opened = await terminal.shows(closed, "Bake the quince pie", "And the crust?");
	expect(opened.split("And the crust?")).toHaveLength(2);
	terminal.press("Enter");
	await terminal.shows("First reply.");
	await terminal.enter("/find butter");
	await terminal.shows("1 hit in 1 session", "enter goes to the entry");
	terminal.press("Enter");
	await terminal.shows(closed, "Butter and flour.");
	await terminal.enter("And sugar?");
	await terminal.shows("Second reply.");
	const lines = jsonLines(here);
	const before = ({ parentId }: any): any => {
		const parent = lines.find(({ id }) => id === parentId);
		// pi writes its own entries in between, which have longer ids.
		return parent.id.length === 1 ? parent.id : before(parent);
	};
	const sent = lines.filter(({ id, message }) => id.length > 1 && message?.role === "user");
	expect(sent.map((one) => [before(one), one.message.content[0].text])).toEqual([
		["b", "And the crust?"],
		["d", "And sugar?"],
	]);
});

test("a user's message is added below the editor's draft", async () => {
	const at = await world();
	fill(at);
	const other = join(at.root, "other.mjs");
	writeFileSync(
		other,
		`export default (api) => api.on("session_start", (event, ctx) => event.reason === "resume" && ctx.ui.setEditorText("A draft"));\n`,
	);
	const terminal = await inTerminal(at, { extension: other, args: ["-e", root] });
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-x");
	await terminal.shows(closed, /A draft\n *And the crust\?/);
});

// Regression: hits there had no preview, could not be copied, and were reported as missing.
test("a hit in a version 1 session works like others", async () => {
	const at = await world();
	const entries = [
		user("old quince words"),
		assistant("old answer"),
		user("another question"),
		assistant("another answer"),
	];
	put(
		at,
		"0194-old",
		entries.map((message, n) => ({ type: "message", timestamp: new Date(1.7e12 + n).toISOString(), message })),
		{ version: undefined },
	);
	const terminal = await inTerminal(at);
	await terminal.enter("/find old quince");
	await terminal.shows("1 hit in 1 session", /user +old quince words[\s\S]*\n *old quince words/);
	terminal.press("C-g");
	await terminal.shows(closed, /^ *old quince words$/m);
	terminal.press("C-c");
	await terminal.enter("/find old answer");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	expect(await terminal.shows(closed, "old answer")).not.toContain("another");
	await terminal.enter("/find another question");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-x");
	expect(await terminal.shows(closed, "old answer", "another question")).not.toContain("another answer");
});

// Regression: to read the entries around a hit, users had to move the session's leaf.
test("ctrl+l shows the place of a hit and moves nothing", async () => {
	const at = await world();
	const { here } = fill(at);
	const before = readFileSync(here, "utf8");
	const terminal = await inTerminal(at);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-l");
	await terminal.shows(
		"Bake the quince pie at 180 degrees.",
		/^user · .*\n *And the crust\?/m,
		/^assistant · .*\n *Butter and flour\./m,
		"scroll",
	);
	terminal.press("Escape");
	await terminal.shows(find, "1 hit in 1 session");
	terminal.press("C-l");
	await terminal.shows("scroll");
	expect(readFileSync(here, "utf8")).toBe(before);
	terminal.press("Enter");
	await terminal.shows(closed, "Butter and flour.");
	const long = Array.from({ length: 200 }, (_, n) =>
		said(`e${n}`, n === 0 ? null : `e${n - 1}`, user(n === 100 ? "the medlar" : `line ${n}`)),
	);
	put(at, "0194-scroll", long);
	await terminal.enter("/find medlar");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-l");
	await terminal.shows("the medlar", "line 99", "line 101");
	for (let n = 0; n < 20; n++) terminal.press("PageDown");
	expect(await terminal.shows("line 199")).not.toContain("the medlar");
	for (let n = 0; n < 40; n++) terminal.press("PageUp");
	await terminal.shows(/^user · .*\n *line 0\n/m);
});

// Regression: the lower third of the screen stayed empty until the next key.
test("ctrl+l at the first message fills the screen", async () => {
	const at = await world();
	const entries = Array.from({ length: 100 }, (_, n) =>
		said(`e${n}`, n === 0 ? null : `e${n - 1}`, user(n === 0 ? "the medlar" : `line ${n}`)),
	);
	put(at, "0194-first", entries);
	const terminal = await inTerminal(at);
	await terminal.enter("/find medlar");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-l");
	expect(await terminal.shows("the medlar", "scroll")).toMatch(/(?:user · .*|line \d+) *\n(?: *\n)?.*scroll/);
});

test("opening a session that is gone shows a message", async () => {
	const at = await world();
	const { here } = fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find crust");
	await terminal.shows("1 hit in 1 session");
	rmSync(here);
	terminal.press("Enter");
	await terminal.shows(closed, "Cannot open the session");
	await terminal.enter("/find crust");
	await terminal.shows("nothing found");
});

test("a key of keybindings.json opens /find", async () => {
	const at = await world();
	fill(at);
	writeFileSync(
		join(at.home, "agent/keybindings.json"),
		JSON.stringify({ "pi-session-native.find": ["ctrl+shift+f", "f8"] }),
	);
	const terminal = await inTerminal(at);
	// Regression: the shown name was index.mjs.
	await terminal.shows(/\[Extensions\]\n *pi-session-native\.mjs$/m);
	terminal.press("F8");
	await terminal.shows(find);
	await terminal.type("crust");
	await terminal.shows("1 hit in 1 session");
	terminal.press("Enter");
	await terminal.shows(closed, "Butter and flour.");
});
