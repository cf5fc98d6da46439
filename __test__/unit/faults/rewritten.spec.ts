// A file that is rewritten under an open manager, in place or by a replacement. Each test is named after the event.
import {
	appendFileSync,
	linkSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	truncateSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { runtime } from "../../support/runtime.js";
import {
	api,
	caught,
	header,
	ids,
	jsonLines,
	message,
	opened,
	read,
	scratch,
	text,
	user,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";
import { agrees, fileIds, kinds, long, replace } from "./files.js";

const { SessionManager } = api;
type Manager = ReturnType<typeof opened>["manager"];

/** Longer than the time in which an append checks only the file's length. */
const SPACED = 40;
const chain = (...names: string[]): any[] =>
	names.map((name, at) => message(name, at === 0 ? null : names[at - 1], user(name)));

describe("closed, and another file at the path", () => {
	test("another session's file with the same inode stays", () => {
		for (const pool of [false, true]) {
			const { manager, file } = opened(chain("a", "b"));
			manager.appendMessage(user("x"));
			const others: Manager[] = [];
			if (pool) {
				// So many managers that the first one's handle is closed.
				const dir = scratch();
				for (let n = 0; n < 520; n++) {
					const path = join(dir, `${n}.jsonl`);
					writeFileSync(path, text([header({ id: `s${n}` })]));
					others.push(SessionManager.open(path));
				}
			} else {
				manager.close();
			}
			rmSync(file);
			const other = text([header({ id: "other" }), ...chain("longer-id-c", "d", "e", "f")]);
			writeFileSync(file, other);
			for (const call of [() => manager.reload(), () => manager.appendMessage(user("y"))]) {
				expect(caught(call).message).toContain("another session is there now");
			}
			expect(read(file)).toBe(other);
			expect(manager.getSessionId()).toBe("s-1");
			for (const other of others) other.close();
		}
	});

	test("an older copy: the manager reports its lost entries", () => {
		const { manager, file } = opened(chain("a"));
		manager.appendMessage(user("mine"));
		manager.close();
		replace(file, text([header(), ...chain("a")]));
		const next = manager.appendMessage(user("next"));
		expect(fileIds(file)).toEqual(["s-1", "a", next]);
		expect(ids(manager.getBranch())).toEqual(["a", next]);
		expect(kinds(manager)).toEqual(["truncated"]);
		agrees(manager, file);
	});

	test("closed after another program replaced the file: nothing is lost", () => {
		const { manager, file } = opened(chain("a"));
		const mine = manager.appendMessage(user("mine"));
		rmSync(file);
		writeFileSync(file, text([header(), ...chain("a", "theirs")]));
		manager.close();
		expect(fileIds(file)).toEqual(["s-1", "a", "theirs", mine]);
		agrees(manager, file);
	});

	test("another session's at close: nothing is lost", () => {
		const { manager, file } = opened(chain("a"));
		const mine = manager.appendMessage(user("mine"));
		const other = text([header({ id: "other" })]);
		replace(file, other);
		expect(caught(() => manager.close()).message).toContain("another session");
		expect(read(file)).toBe(other);
		rmSync(file);
		manager.close();
		expect(fileIds(file)).toEqual(["s-1", "a", mine]);
	});

	test("repaired or replaced: a read takes it in", () => {
		for (const change of ["repair", "replace"] as const) {
			const { manager, file } = opened(chain("a", "b"));
			manager.close();
			if (change === "repair") {
				appendFileSync(file, "torn");
				SessionManager.repair(file);
			} else {
				replace(file, text([header(), ...chain("0", "b")]));
			}
			const expected = change === "repair" ? ["a", "b"] : ["0", "b"];
			expect(ids(manager.getEntries())).toEqual(expected);
			expect(manager.buildSessionContext().messages).toHaveLength(2);
			expect(ids(manager.getBranch())).toEqual(expected);
		}
	});
});

describe("rewritten in place", () => {
	test("at equal length: the next append follows the new entries", () => {
		const { manager, file } = opened(chain("a", "b"));
		writeFileSync(file, text([header(), ...chain("c", "d")]));
		const id = manager.appendMessage(user("x"));
		expect(
			jsonLines(file)
				.slice(1)
				.map((one) => [one.id, one.parentId]),
		).toEqual([
			["c", null],
			["d", "c"],
			[id, "d"],
		]);
		agrees(manager, file);
	});

	test("with two lines changed over: read after reload", () => {
		const { manager, file } = opened(chain("a", "b", "c", "d"));
		const lines = read(file).trimEnd().split("\n");
		[lines[2], lines[3]] = [lines[3] as string, lines[2] as string];
		writeFileSync(file, `${lines.join("\n")}\n`);
		manager.reload();
		expect(ids(manager.getEntries())).toEqual(["a", "c", "b", "d"]);
		agrees(manager, file);
	});

	test("made longer by an editor: no row comes twice", () => {
		for (const early of [false, true]) {
			for (const way of ["reload", "append"] as const) {
				const { manager, file } = opened(chain("a", "b", "c", "d"));
				if (early) manager.getEntries();
				const edited = chain("a", "b", "c", "d");
				edited[1].message.content = long("saved in place");
				writeFileSync(file, text([header(), ...edited]));
				const more = way === "reload" ? [] : [manager.appendMessage(user("mine"))];
				manager.reload();
				expect(ids(manager.getEntries())).toEqual(["a", "b", "c", "d", ...more]);
				expect((manager.getEntry("b") as any).message.content).toBe(edited[1].message.content);
				expect(manager.buildSessionContext().messages).toHaveLength(4 + more.length);
				agrees(manager, file);
			}
		}
	});

	test("one letter longer: a branch has whole lines", () => {
		for (const at of ["b", "d"]) {
			const { manager, file } = opened(chain("a", "b", "c", "d"));
			writeFileSync(file, read(file).replace('"content":"b"', '"content":"b?"'));
			const branch = manager.createBranchedSession(at) as string;
			expect(
				jsonLines(branch)
					.slice(1)
					.map((one: any) => one.message.content),
			).toEqual(["a", "b?", "c", "d"].slice(0, at === "b" ? 2 : 4));
		}
	});

	test("cut and extended: the manager reports its lost entries", () => {
		for (const more of [1, 40]) {
			const { manager, file } = opened(chain("a"));
			manager.appendMessage(user("important"));
			truncateSync(file, statSync(file).size - 5);
			const theirs = Array.from({ length: more }, (_, n) => message(`t${n}`, "a", user("theirs")));
			appendFileSync(file, text(theirs));
			const next = manager.appendMessage(user("next"));
			// Their first line continued the rest of our line.
			const whole = theirs.slice(1).map((one: any) => one.id);
			expect(ids(manager.getEntries())).toEqual(["a", ...whole, next]);
			expect(manager.getEntry(next)?.parentId).toBe("a");
			expect(kinds(manager)).toContain("truncated");
			manager.reload();
			agrees(manager, file);
		}
	});

	test("with another type: the context has no hole", () => {
		const was = message("b", "a", user("x".repeat(60)));
		const custom = { type: "custom", id: "b", parentId: "a", timestamp: was.timestamp, customType: "t", data: "" };
		custom.data = "y".repeat(JSON.stringify(was).length - JSON.stringify(custom).length);
		const { manager, file } = opened([message("a", null), was]);
		writeFileSync(file, text([header(), message("a", null), custom]));
		expect(manager.buildSessionContext().messages).toHaveLength(1);
		expect(manager.getEntry("b")?.type).toBe("custom");
		agrees(manager, file);
	});
});

describe("another file under the name", () => {
	test("renamed by an editor: appends go to the new file", async () => {
		for (const how of ["append", "close", "reload"] as const) {
			const { manager, file } = opened(chain("a"));
			manager.appendMessage(user("1"));
			renameSync(file, `${file}~`);
			writeFileSync(file, read(`${file}~`));
			manager.appendMessage(user("2"));
			if (how === "append") {
				await pause(SPACED);
				manager.appendMessage(user("3"));
			} else {
				manager[how]();
			}
			expect(fileIds(file)).toEqual(["s-1", ...ids(manager.getEntries())]);
			expect(manager.getEntryCount()).toBe(how === "append" ? 4 : 3);
		}
	});

	test("linked elsewhere and removed: written again under its name", async () => {
		const { manager, file } = opened(chain("a"));
		manager.appendMessage(user("1"));
		linkSync(file, `${file}2`);
		rmSync(file);
		await pause(SPACED);
		manager.appendMessage(user("2"));
		expect(fileIds(file)).toEqual(["s-1", ...ids(manager.getEntries())]);
		expect(fileIds(`${file}2`)).toHaveLength(3);
	});

	testWith("links")("a changed symbolic link: our entries are added", async () => {
		const dir = scratch();
		const [first, second, link] = ["first", "second", "s.jsonl"].map((name) => join(dir, name)) as [
			string,
			string,
			string,
		];
		writeFileSync(first, text([header(), ...chain("a")]));
		writeFileSync(second, text([header(), ...chain("a", "b")]));
		symlinkSync(first, link);
		const manager = SessionManager.open(link);
		const one = manager.appendMessage(user("1"));
		await pause(SPACED);
		unlinkSync(link);
		symlinkSync(second, link);
		const two = manager.appendMessage(user("2"));
		expect(fileIds(first)).toEqual(["s-1", "a", one]);
		expect(fileIds(second)).toEqual(["s-1", "a", "b", one, two]);
	});
});

describe("what a replaced file says of itself", () => {
	test("its header is the new one, or the same object", () => {
		const { manager, file } = opened(chain("a", "b"));
		const before = manager.getHeader();
		replace(file, text([header(), ...chain("a", "b", "c")]));
		manager.reload();
		expect(manager.getHeader()).toBe(before);
		replace(file, text([header({ cwd: "/moved", parentSession: "/p.jsonl" }), ...chain("a", "b", "c")]));
		manager.reload();
		expect(manager.getHeader()).toEqual(header({ cwd: "/moved", parentSession: "/p.jsonl" }));
		writeFileSync(file, text([header({ cwd: "/else", parentSession: "/p.jsonl" }), ...chain("a", "b", "c", "d")]));
		manager.reload();
		expect(manager.getHeader()?.cwd).toBe("/else");
		expect(manager.getHeader()).toBe(manager.getHeader());
	});

	test("a summary below an entry that is gone is refused", () => {
		const { manager, file } = opened(chain("a", "b"));
		replace(file, text([header(), ...chain("a")]));
		expect(() => manager.branchWithSummary("b", "went")).toThrow("Entry b not found");
		expect(fileIds(file)).toEqual(["s-1", "a"]);
		expect(ids(manager.getEntries())).toEqual(["a"]);
		replace(file, text([header(), message("z", null, user("z")), ...chain("a")]));
		const id = manager.branchWithSummary("a", "stays");
		expect(manager.getEntry(id)?.parentId).toBe("a");
	});
});

describe("rewritten, and then another file in its place", () => {
	// Regression: the rows had new numbers, but the objects of the old numbers.
	test("objects that cannot be kept are made anew", () => {
		const { manager, file } = opened([message("a", null, user("a")), message("b", "a", user("b"))]);
		const before = manager.getEntries();
		replace(
			file,
			text([
				header(),
				message("first", null, user("first")),
				message("a", null, user("a")),
				message("b", "a", user("b")),
			]),
		);
		Object.defineProperty(Array.prototype, "1", {
			set: () => {
				throw new RangeError("refused");
			},
			configurable: true,
		});
		// If an engine does not run setters of prototypes, as Bun, nothing fails.
		const error = (() => {
			try {
				return manager.reload();
			} catch (thrown) {
				return thrown;
			} finally {
				Reflect.deleteProperty(Array.prototype, "1");
			}
		})();
		if (runtime !== "bun") expect(error).toMatchObject({ message: "refused" });
		expect(ids(manager.getEntries())).toEqual(["first", "a", "b"]);
		expect(before.map(({ id }) => id)).toEqual(["a", "b"]);
		expect(manager.getEntry("a")).toBe(manager.getEntries()[1]);
		agrees(manager, file);
	});

	test("rewritten in place, then replaced: appended entries keep their objects", async () => {
		const { manager, file } = opened(chain("a", "b"));
		const data = { n: 1 };
		const mine = manager.appendCustomEntry("x", data);
		const [first, ...rest] = read(file).split(/(?<=\n)/);
		writeFileSync(file, first + text([message("theirs", "a", user("t"))]) + rest.join(""));
		replace(file, read(file));
		await pause(SPACED);
		const next = manager.appendMessage(user("next"));
		expect((manager.getEntry(mine) as any).data).toBe(data);
		expect(fileIds(file)).toEqual(["s-1", "theirs", "a", "b", mine, next]);
		writeFileSync(file, text(jsonLines(file).filter(({ id }) => id !== mine)));
		manager.appendMessage(user("last"));
		expect(fileIds(file)).not.toContain(mine);
		expect(kinds(manager)).toContain("truncated");
		agrees(manager, file);
	});

	test("an altered entry of ours survives its removal by others", () => {
		const { manager, file } = opened(chain("a", "b"));
		const mine = manager.appendMessage(user(long("mine")));
		replace(file, text(jsonLines(file).map((one) => (one.id === mine ? { ...one, parentId: null } : one))));
		manager.reload();
		replace(file, text(jsonLines(file).filter(({ id }) => id !== mine)));
		manager.close();
		expect(fileIds(file)).toEqual(["s-1", "a", "b", mine]);
		expect(jsonLines(file).at(-1)).toMatchObject({ id: mine, parentId: null });
		agrees(manager, file);
	});

	test("reload reads a large file that changed in its middle", async () => {
		const names = Array.from({ length: 1500 }, (_, at) => `m${at}`);
		const { manager, file } = opened(names.map((name, at) => message(name, names[at - 1] ?? null, user(long(name)))));
		manager.appendMessage(user("x"));
		manager.getEntries();
		await pause(SPACED);
		const before = read(file);
		expect(before.length).toBeGreaterThan(1 << 20);
		writeFileSync(file, before.replace('"id":"m5","parentId":"m4"', '"id":"m5","parentId":"m0"'));
		await pause(SPACED);
		manager.appendMessage(user("y"));
		manager.flush();
		manager.reload();
		expect(manager.getEntry("m5")?.parentId).toBe("m0");
		agrees(manager, file);
	});
});
