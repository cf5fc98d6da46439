// Lines that were moved or changed under an open manager: a read returns the present entries and bodies, or fails.
import { readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	api,
	caught,
	entry,
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
import { agrees, fileIds, long, replace } from "./files.js";

const { SessionManager } = api;

describe("a body that was not read yet", () => {
	const names = ["a", "b", "c", "d", "e"];
	const large = (): any[] => names.map((name, at) => message(name, at ? names[at - 1] : null, user(long(name))));

	test("is found after an earlier entry was removed in place", () => {
		for (const way of ["reload", "append", "look"] as const) {
			const { manager, file } = opened(large());
			const entries = Object.fromEntries(manager.getEntries().map((entry) => [entry.id, entry])) as any;
			const left = large().filter((one) => one.id !== "b");
			left[1].parentId = "a";
			writeFileSync(file, text([header(), ...left]));
			if (way === "reload") manager.reload();
			if (way === "append") manager.appendMessage(user("mine"));
			for (const name of ["a", "d", "e"]) expect(entries[name].message.content).toBe(long(name));
			expect(manager.getEntry("d")).toBe(entries.d);
			// Reading an entry that is no longer in the file fails, and never returns another entry.
			expect(caught(() => entries.b.message.content).message).toContain(file);
			agrees(manager, file);
		}
	});

	test("is never read from the manager's next session", () => {
		const { manager, file } = opened(large());
		const [, b] = manager.getEntries() as any[];
		writeFileSync(file, text([header(), ...large().slice(2)]));
		const other = join(scratch(), "other.jsonl");
		writeFileSync(other, text([header({ id: "other" }), ...large()]));
		manager.setSessionFile(other);
		expect(caught(() => b.message.content).message).toContain(file);
	});

	test("is read from a replacing file of equal length", () => {
		const { manager, file } = opened(large());
		const before = manager.getEntries();
		const now = large();
		now[2].message.content = now[2].message.content.replace("all work", "ALL WORK");
		replace(file, text([header(), ...now]));
		manager.reload();
		expect((manager.getEntry("c") as any).message.content).toBe(now[2].message.content);
		expect(manager.getEntry("d")).toBe(before[3]);
		agrees(manager, file);
		const branch = manager.createBranchedSession("e") as string;
		expect((jsonLines(branch)[3] as any).message.content).toBe(now[2].message.content);
	});
});

describe("a line changed in place, with its beginning and length", () => {
	/** Replaces a text by another of the same length. */
	const put = (file: string, old: string, now: string): void => {
		expect(now.length).toBe(old.length);
		const content = read(file);
		expect(content.split(old)).toHaveLength(2);
		writeFileSync(
			file,
			content.replace(old, () => now),
		);
	};
	const names = Array.from({ length: 12 }, (_, at) => `e${at}`);
	const lines = (): any[] => names.map((name, at) => message(name, at ? names[at - 1] : null, user(long(name))));

	test("overwritten with zeros fails the branch that needs it", () => {
		const { manager, file } = opened(lines());
		const dir = dirname(file);
		const before = readdirSync(dir);
		put(file, long("e3"), "\0".repeat(long("e3").length));
		const error = caught(() => manager.createBranchedSession("e11"));
		expect(error.message).toContain("Session file changed underneath");
		expect(error.message).toContain("e3");
		expect(readdirSync(dir)).toEqual(before);
		expect([manager.getSessionFile(), manager.getEntryCount()]).toEqual([file, 12]);
		// Lists that do not contain the entry can still be created.
		const branch = manager.createBranchedSession("e2") as string;
		expect(fileIds(branch).slice(1)).toEqual(["e0", "e1", "e2"]);
	});

	// Regression: the error's text was read from the object, and the caller's code ran while the manager's state was
	// borrowed.
	test("unreadable is an error that runs no code of prototypes", () => {
		const { manager, file } = opened([
			message("short", null, user("short")),
			...lines().map((line, at) => (at === 0 ? { ...line, parentId: "short" } : line)),
		]);
		const { message: body } = manager.getEntry("e3") as any;
		put(file, '"content":"short"', '"content":#short#');
		put(file, long("e3"), "\0".repeat(long("e3").length));
		const ran: string[] = [];
		const meddle = (key: PropertyKey) => () => {
			ran.push(String(key));
			manager.newSession();
			return "mine";
		};
		const { defineProperty, getOwnPropertyDescriptor } = Object;
		const keys = ["toString", "valueOf", Symbol.toPrimitive, "code", "message", "name"];
		const kept = [Object.prototype, Error.prototype, SyntaxError.prototype].flatMap((holder) =>
			keys.map((key) => [holder, key, getOwnPropertyDescriptor(holder, key)] as const),
		);
		const errors: unknown[] = [];
		try {
			for (const [holder, key] of kept) {
				const value = meddle(key);
				defineProperty(holder, key, {
					configurable: true,
					...(["code", "message", "name"].includes(key as string) ? { get: value } : { value, writable: true }),
				});
			}
			for (const look of [() => manager.getEntries(), () => manager.getEntry("short"), () => body.content]) {
				try {
					look();
				} catch (error) {
					errors.push(error);
				}
			}
		} finally {
			for (const [holder, key, was] of kept) {
				if (was) defineProperty(holder, key, was);
				else Reflect.deleteProperty(holder, key);
			}
		}
		expect(ran).toEqual([]);
		expect(errors.map((error) => getOwnPropertyDescriptor(error, "message")?.value)).toEqual(
			Array(3).fill(expect.stringContaining("Session file changed underneath")),
		);
		expect(manager.getSessionFile()).toBe(file);
		expect(manager.getEntry("e2")).toMatchObject({ id: "e2" });
	});

	test("with another parent changes the branch", () => {
		for (const cut of [false, true]) {
			const { manager, file } = opened([
				...lines(),
				...(cut ? [entry("label", "l", "e11", { targetId: "e2", label: "x" })] : []),
				message("z", cut ? "l" : "e11", user("z")),
			]);
			put(file, '"parentId":"e8"', '"parentId":"e1"');
			const branch = manager.createBranchedSession("z") as string;
			const path = ["e0", "e1", "e9", "e10", "e11", "z"];
			expect(ids(manager.getBranch("z"))).toEqual(path);
			expect(ids(SessionManager.open(branch).getBranch("z"))).toEqual(path);
			agrees(manager, branch);
		}
	});

	test("joined with its neighbour into one list is no entry", () => {
		const { manager, file } = opened([
			message("a", null, user("x".repeat(80))),
			message("b", "a", user("y".repeat(80))),
		]);
		const [head, a, b] = read(file).split("\n") as [string, string, string];
		const fit = (start: string, end: string, { length }: string): string => start + end.padStart(length - start.length);
		const harmed = [
			fit('{"type":"message","id":"a","m":[', "{}", a),
			fit('{"type":"message","id":"b","z":1}]},', '{"type":"message","id":"zzz","evil":1}', b),
		];
		writeFileSync(file, `${[head, ...harmed].join("\n")}\n`);
		for (const look of [() => manager.getEntries(), () => manager.getEntry("a"), () => manager.getBranch()]) {
			expect(caught(look).message).toContain("Session file changed underneath");
		}
	});

	test("with another id at its end is another entry", () => {
		const { manager, file } = opened([
			message("a", null, user("x")),
			message("b", "a", user("y"), { filler: "xxxxxxxxx" }),
		]);
		put(file, '"filler":"xxxxxxxxx"', '"id":"zzz"'.padEnd(20));
		expect(ids(manager.getEntries())).toEqual(["a", "zzz"]);
		expect(manager.getEntry("b")).toBeUndefined();
		expect(manager.getEntry("zzz")).toBe(manager.getEntries()[1]);
		agrees(manager, file);
	});
});
