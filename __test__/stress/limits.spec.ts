// The longest possible names, and processes that may open few files.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ended, startLimited } from "../support/children.js";
import { api, caught, header, linesOf, message, oldSession, scratch, user, writeSession } from "../support/scratch.js";

const { SessionManager } = api;
const exclusive = { lock: "exclusive" } as const;
const LONGEST = 255;

// Regression: the name of its lock was too long.
test("a session with a name of 250 bytes is writable", () => {
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

test("names of 255 bytes can be locked, migrated and repaired", () => {
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

		const old = oldSession(name);
		const text = readFileSync(old, "utf8");
		expect(SessionManager.open(old).getEntryCount()).toBe(1);
		const kept = readdirSync(dirname(old)).filter((one) => one !== name);
		expect(kept).toHaveLength(1);
		expect(kept[0]?.endsWith(".v1.bak")).toBe(true);
		expect(readFileSync(join(dirname(old), kept[0] as string), "utf8")).toBe(text);

		const broken = at([header(), message("a", null), "torn"]);
		const before = readFileSync(broken, "utf8");
		const { after, backup } = SessionManager.repair(broken);
		expect(after.ok).toBe(true);
		expect(backup?.endsWith(".bak")).toBe(true);
		expect(readFileSync(backup as string, "utf8")).toBe(before);
		expect(existsSync(backup as string) && readdirSync(dirname(broken))).toHaveLength(2);
	}
});

test("a call without a free file handle changes nothing", async () => {
	const dir = scratch();
	for (let n = 0; n < 10; n++) writeSession(dir, [header({ id: `s${n}` }), message("a", null, user())], `${n}.jsonl`);
	oldSession("old.jsonl", dir);
	const script = `
		const path = require("node:path");
		const user = (content) => ({ role: "user", content, timestamp: 1 });
		const at = (name) => path.join(args[0], name + ".jsonl");
		fs.appendFileSync(at(8), "torn\\n");
		const managers = Array.from({ length: 8 }, (_, n) => SessionManager.open(at(n)));
		const [opened, closed, deleted, branched, fresh] = [managers[0], managers[1], managers[2], managers[3], SessionManager.create("/somewhere", args[0])];
		for (const manager of [closed, deleted]) manager.appendCustomEntry("mine");
		closed.close();
		const ways = {
			append: () => opened.appendMessage(user("a")),
			"append after close": () => closed.appendMessage(user("a")),
			"append to a deleted file": () => deleted.appendCustomEntry("x"),
			"new session": () => fresh.appendMessage(user("a")),
			branch: () => branched.createBranchedSession("a"),
			fork: () => SessionManager.forkFrom(at(5), "/elsewhere", args[0]),
			open: () => SessionManager.open(at(9)),
			migration: () => SessionManager.open(at("old")),
			lock: () => SessionManager.open(at(7), { lock: "exclusive" }),
			repair: () => SessionManager.repair(at(8)),
		};
		const taken = [];
		const fill = () => {
			try {
				for (;;) taken.push(fs.openSync("/dev/null"));
			} catch (error) {
				if (error.code !== "EMFILE") throw error;
			}
		};
		const files = () => JSON.stringify(fs.readdirSync(args[0]).sort().map((name) => [name, fs.readFileSync(path.join(args[0], name), "utf8")]));
		const states = () => JSON.stringify([opened, closed, deleted, branched, fresh].map((manager) => [manager.getEntryCount(), manager.getLeafId(), manager.getSessionFile()]));
		for (const [name, way] of Object.entries(ways)) {
			if (way === ways["append to a deleted file"]) fs.rmSync(at(2));
			const [wasFiles, before] = [files(), files() + states()];
			fill();
			let error;
			try {
				way();
			} catch (thrown) {
				error = thrown;
			}
			while (taken.length > 0) fs.closeSync(taken.pop());
			const isSame = files() + states() === before ? "nothing changed" : "changed";
			say([name, error?.code, typeof error?.path, isSame].join(", "));
			way();
			if (files() === wasFiles) say(name + " did nothing");
		}
		say("deleted: " + SessionManager.verify(at(2)).entries);`;
	const { lines, errors, code } = await ended(startLimited("ulimit -n 96", script, [dir]));
	expect([errors, code]).toEqual(["", 0]);
	const names = [
		"append",
		"append after close",
		"append to a deleted file",
		"new session",
		"branch",
		"fork",
		"open",
		"migration",
		"lock",
		"repair",
	];
	expect(lines.filter((line) => !line.endsWith("did nothing"))).toEqual([
		...names.map((name) => `${name}, EMFILE, string, nothing changed`),
		"deleted: 3",
	]);
	// Opening a session changes nothing, even with its lock.
	expect(lines.filter((line) => line.endsWith("did nothing"))).toEqual(["open did nothing"]);
});

test("too many open managers are an error naming the file", async () => {
	const dir = scratch();
	for (let n = 0; n < 150; n++) writeSession(dir, [header({ id: `s${n}` })], `${n}.jsonl`);
	const script = `
		const path = require("node:path");
		const at = (n) => path.join(args[0], n + ".jsonl");
		const kept = [];
		try {
			for (let n = 0; n < 150; n++) {
				kept.push(SessionManager.open(at(n)));
				kept[n].appendCustomEntry("mine");
			}
		} catch (error) {
			// It is first opened for reading, and by the append for writing, which checks for a lock first.
			const file = error.path.replace(/[.]lock$/, "");
			say(error.code + " " + ([at(kept.length), at(kept.length - 1)].includes(file) ? "at the next" : error.path));
		}
		if (kept.length < 40) say("only " + kept.length);
		// Closing a manager frees its handle.
		kept.shift().close();
		kept[5].appendCustomEntry("more");
		say("entries " + kept[5].getEntryCount());`;
	const { lines, errors, code } = await ended(startLimited("ulimit -n 96", script, [dir]));
	expect([errors, code]).toEqual(["", 0]);
	expect(lines).toEqual(["EMFILE at the next", "entries 2"]);
});
