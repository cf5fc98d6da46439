// How `/find` in the real pi deletes a session.
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { laterCatalog } from "../../support/redaction.js";
import { user } from "../../support/scratch.js";
import { closed, fill } from "./find.js";
import { inTerminal, put, said, world } from "./pi.js";

test("ctrl+d asks, and deletes a session with its subagents", async () => {
	const at = await world();
	const { here, fork } = fill(at);
	const below = join(fork.replace(/\.jsonl$/, ""), "r1");
	mkdirSync(below, { recursive: true });
	renameSync(put(at, "0194-helper", [said("a", null, user("A helper"))]), join(below, "session.jsonl"));
	const now = put(at, "0194-now", [said("a", null, user("A question of now"))]);
	utimesSync(now, new Date(), new Date());
	const terminal = await inTerminal(at);
	await terminal.enter("/find question of now");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-d");
	await terminal.shows("The session was not deleted: it was written within the last minute");
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/find another question");
	await terminal.shows("1 hit in 1 session");
	const notes = join(below, "notes.txt");
	writeFileSync(notes, "mine");
	terminal.press("C-d");
	await terminal.shows(/permanently\?\s+1\s+other\s+file\s+in\s+its\s+folder\s+will\s+stay\./);
	terminal.press("Down");
	await terminal.shows("f1 shows the keys");
	rmSync(notes);
	terminal.press("C-d");
	await terminal.shows(/Delete How do we bake the quince pie\? with 1 session of a subagent permanently\?\s+enter/);
	terminal.press("Down");
	await terminal.shows("f1 shows the keys");
	expect(existsSync(fork)).toBe(true);
	terminal.press("C-d");
	await terminal.shows("permanently?");
	terminal.press("Enter");
	await terminal.shows("deleted");
	expect([here, fork, below].map((path) => existsSync(path))).toEqual([true, false, false]);
});

test("deleting a link says that its target stays", async () => {
	const at = await world();
	fill(at);
	const target = join(at.root, "elsewhere.jsonl");
	const link = put(at, "0194-linked", [said("a", null, user("A question by a link"), 50)]);
	renameSync(link, target);
	symlinkSync(target, link);
	const terminal = await inTerminal(at);
	await terminal.enter("/find question by a link");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-d");
	await terminal.shows(/permanently\?\s+It\s+is\s+a\s+link;\s+the\s+file\s+that\s+it\s+leads\s+to\s+stays\./);
	terminal.press("Enter");
	await terminal.shows("deleted");
	expect([link, target].map((path) => existsSync(path))).toEqual([false, true]);
});

// Regression: whether the session is in use was checked only before the question.
test("a session written during the question is not deleted", async () => {
	const at = await world();
	const { fork } = fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/find another question");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-d");
	await terminal.shows("permanently?");
	utimesSync(fork, new Date(), new Date());
	terminal.press("Enter");
	await terminal.shows("it was written within the last minute");
	expect(existsSync(fork)).toBe(true);
});

// Regression: only the command printed this.
test("a deletion says if the catalog may keep its text", async () => {
	const at = await world();
	const { fork } = fill(at);
	const terminal = await inTerminal(at, { env: { PI_SESSION_NATIVE_CATALOG: laterCatalog() } });
	await terminal.enter("/find another question");
	await terminal.shows("1 hit in 1 session");
	terminal.press("C-d");
	await terminal.shows("permanently?");
	terminal.press("Enter");
	await terminal.shows("deleted; the catalog may still contain its first message");
	expect(existsSync(fork)).toBe(false);
});
