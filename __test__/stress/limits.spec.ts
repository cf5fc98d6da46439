// Names as long as names may be, and processes that may open few files.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { api, caught, header, linesOf, message, scratch, text, user, writeSession } from "../support/scratch.js";
import { ended, startLimited } from "../support/children.js";

const { SessionManager } = api;
const exclusive = { lock: "exclusive" } as const;
const LONGEST = 255;

// Regression: its lock's name was too long.
test("a session whose name has 250 bytes can be written to", () => {
	for (let length = 219; length <= 224; length++) {
		for (const options of [{}, exclusive]) {
			const dir = scratch();
			const manager = SessionManager.create("/somewhere", dir, { id: "a".repeat(length), ...options });
			manager.appendMessage(user("one"));
			manager.appendMessage(user("two"));
			const file = manager.getSessionFile() as string;
			expect(basename(file).length).toBe(length + 31);
			expect(linesOf(file)).toHaveLength(3);
			expect(SessionManager.isLocked(file)).toBe(options === exclusive);
			manager.close();
			expect(SessionManager.isLocked(file)).toBe(false);
			expect(readdirSync(dir)).toEqual([basename(file)]);
		}
	}
});

test("long names: append, lock, migrate, repair", () => {
	for (let length = 240; length <= LONGEST; length++) {
		const name = `${"n".repeat(length - 6)}.jsonl`;
		const at = (lines: Parameters<typeof writeSession>[1]): string => writeSession(scratch(), lines, name);
		const file = at([header(), message("a", null)]);
		SessionManager.open(file).appendCustomEntry("x");
		const mine = SessionManager.open(file, exclusive);
		mine.appendCustomEntry("y");
		expect(SessionManager.isLocked(file)).toBe(true);
		expect(caught(() => SessionManager.open(file).appendCustomEntry("z")).message).toContain("is locked by process");
		mine.close();
		expect(SessionManager.isLocked(file)).toBe(false);
		expect(linesOf(file)).toHaveLength(4);
		expect(readdirSync(dirname(file))).toEqual([name]);

		const lines = [{ type: "session", id: "old" }, { type: "message", message: user() }];
		const old = at(lines);
		expect(SessionManager.open(old).getEntryCount()).toBe(1);
		const kept = readdirSync(dirname(old)).filter((one) => one !== name);
		expect(kept).toHaveLength(1);
		expect(kept[0]?.endsWith(".v1.bak")).toBe(true);
		expect(readFileSync(join(dirname(old), kept[0] as string), "utf8")).toBe(text(lines));

		const broken = at([header(), message("a", null), "torn"]);
		const before = readFileSync(broken, "utf8");
		const { after, backup } = SessionManager.repair(broken);
		expect(after.ok).toBe(true);
		expect(backup?.endsWith(".bak")).toBe(true);
		expect(readFileSync(backup as string, "utf8")).toBe(before);
		expect(existsSync(backup as string) && readdirSync(dirname(broken))).toHaveLength(2);
	}
});

// Regression: they made none.
test("where a process can open few files, its sessions make room for a new one, a branch or a lock", async () => {
	const dir = scratch();
	for (let n = 0; n < 100; n++) writeSession(dir, [header({ id: `s${n}` })], `${n}.jsonl`);
	writeSession(dir, [{ type: "session", id: "old" }, { type: "message", message: user() }], "old.jsonl");
	const script = `
		const path = require("node:path");
		const user = (content) => ({ role: "user", content, timestamp: 1 });
		const at = (name) => path.join(args[0], name + ".jsonl");
		fs.appendFileSync(at(8), "torn\\n");
		const managers = Array.from({ length: 100 }, (_, n) => SessionManager.open(at(n)));
		const first = managers.map((manager) => manager.appendMessage(user("x")));
		const ways = {
			"new session": () => SessionManager.create("/somewhere", args[0]).appendMessage(user("a")),
			branch: () => managers[0].createBranchedSession(first[0]),
			fork: () => SessionManager.forkFrom(at(5), "/elsewhere", args[0]),
			append: () => managers[50].appendMessage(user("a")),
			flush: () => managers[51].flush(),
			"deleted file": () => {
				managers[99].appendCustomEntry("open");
				fs.rmSync(at(99));
				fill();
				managers[99].appendCustomEntry("x");
				if (SessionManager.verify(at(99)).entries !== 3) throw new Error("not all is there");
			},
			migration: () => SessionManager.open(at("old")),
			lock: () => SessionManager.open(at(7), { lock: "exclusive" }).close(),
			repair: () => SessionManager.repair(at(8)),
		};
		// Others of the process take what is left.
		const taken = [];
		const fill = () => {
			try {
				for (;;) taken.push(fs.openSync("/dev/null"));
			} catch (error) {
				if (error.code !== "EMFILE") throw error;
			}
		};
		for (const [name, way] of Object.entries(ways)) {
			// All of ours that can be open are.
			while (taken.length > 0) fs.closeSync(taken.pop());
			for (const manager of managers.slice(10)) manager.reload();
			fill();
			try {
				way();
				say(name + ": done");
			} catch (error) {
				say(name + ": " + error.message);
			}
		}`;
	const { lines, errors, code } = await ended(startLimited("ulimit -n 96", script, [dir]));
	expect([errors, code]).toEqual(["", 0]);
	const names = ["new session", "branch", "fork", "append", "flush", "deleted file", "migration", "lock", "repair"];
	expect(lines).toEqual(names.map((name) => `${name}: done`));
});

// Regression: no other one made room.
test("where the sessions opened first were deleted, others make room", async () => {
	const dir = scratch();
	for (let n = 0; n < 150; n++) writeSession(dir, [header({ id: `s${n}` })], `${n}.jsonl`);
	const script = `
		const path = require("node:path");
		const at = (n) => path.join(args[0], n + ".jsonl");
		globalThis.kept = [];
		for (let n = 0; n < 150; n++) {
			kept.push(SessionManager.open(at(n)));
			kept[n].appendCustomEntry("mine");
			if (n < 40) fs.rmSync(at(n));
		}
		// What was deleted is written again of what was kept open.
		kept[0].appendCustomEntry("again");
		say("entries " + SessionManager.verify(at(0)).entries);`;
	const { lines, errors, code } = await ended(startLimited("ulimit -n 96", script, [dir]));
	expect([errors, code]).toEqual(["", 0]);
	expect(lines).toEqual(["entries 2"]);
});
