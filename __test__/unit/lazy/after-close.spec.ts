// Entries from a file whose bodies are read later, after many events in their manager.
import { appendFileSync, copyFileSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionManager } from "../../../index.js";
import { gc } from "../../support/runtime.js";
import { assistant, caught, header, message, scratch, shape, text, user, writeSession } from "../../support/scratch.js";
import { long, openLazy, openReference, sampleFile, samples, waiting } from "./support.js";

/** The entries that pi reads from a copy of the present file. */
function asPiReads(file: string): string[] {
	const copy = join(scratch(), "copy.jsonl");
	copyFileSync(file, copy);
	return openReference(copy).getEntries().map(shape);
}

/** Entries of a manager without any bodies read, and their expected values. */
function held(file = sampleFile()): { manager: SessionManager; file: string; entries: any[]; expected: string[] } {
	const expected = asPiReads(file);
	const manager = openLazy(file);
	const entries = manager.getEntries();
	expect(entries.flatMap(waiting).length).toBeGreaterThan(5);
	return { manager, file, entries, expected };
}

describe("when their manager went on to another session", () => {
	const MOVES: Record<string, (manager: SessionManager, file: string) => unknown> = {
		newSession: (manager) => manager.newSession(),
		"newSession, with a first message": (manager) => {
			manager.newSession();
			manager.appendMessage(user(long("first")));
			manager.appendMessage(assistant("and an answer"));
		},
		"setSessionFile to another": (manager) => {
			const other = [header({ id: "s-2" }), ...samples().reverse()];
			manager.setSessionFile(writeSession(scratch(), other));
			manager.getEntries();
		},
		"setSessionFile to the same": (manager, file) => {
			manager.setSessionFile(file);
			expect((manager.getEntry("e0") as any).message.content).toBe(long("ascii"));
		},
		createBranchedSession: (manager) => manager.createBranchedSession("e5"),
		"createBranchedSession, and on": (manager) => {
			manager.createBranchedSession("e12");
			manager.appendMessage(user(long("more")));
			manager.createBranchedSession("e3");
		},
		"many sessions": (manager, file) => {
			for (let turn = 0; turn < 100; turn++) {
				if (turn % 3 === 0) manager.newSession();
				else manager.setSessionFile(file);
				expect(manager.getEntries().length).toBe(turn % 3 === 0 ? 0 : 15);
			}
		},
	};
	for (const [name, move] of Object.entries(MOVES)) {
		test(name, () => {
			const { manager, file, entries, expected } = held();
			move(manager, file);
			expect(entries.map(shape)).toEqual(expected);
		});
	}
});

describe("when their manager is gone", () => {
	/** Drops a manager, waits until it is collected, and returns the remaining entries. */
	async function orphans(file: string, more: (manager: SessionManager) => void = () => {}, turns = 3): Promise<any[]> {
		const entries: any[] = [];
		// A heap that was just cleared is not collected before we call the collector, which would begin the turns.
		gc();
		const gone = (() => {
			const manager = openLazy(file);
			entries.push(...manager.getEntries());
			more(manager);
			return new WeakRef(manager);
		})();
		for (let turn = 0; turn < 200 && gone.deref() !== undefined; turn++) {
			await new Promise((done) => setImmediate(done));
			gc();
		}
		expect(gone.deref()).toBeUndefined();
		// The callbacks of a collection run in a later turn.
		for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
		return entries;
	}

	test("its entries find moved lines before its finaliser ran", async () => {
		const file = sampleFile();
		const expected = asPiReads(file);
		const entries = await orphans(file, undefined, 0);
		const [head, ...lines] = readFileSync(file, "utf8").split("\n");
		const first = JSON.stringify(message("first", null, user("in front of all others")));
		writeFileSync(file, [head, first, ...lines].join("\n"));
		expect(entries.map(shape)).toEqual(expected);
	});

	test("its entries still read their bodies", async () => {
		const file = sampleFile();
		expect((await orphans(file)).map(shape)).toEqual(asPiReads(file));
	});

	test("one of them is enough", async () => {
		const file = sampleFile();
		let entries = await orphans(file);
		const last = entries[8];
		entries = [];
		gc();
		await new Promise((done) => setImmediate(done));
		gc();
		expect(waiting(last)).toEqual(["data"]);
		expect(shape(last)).toBe(asPiReads(file)[8]);
	});

	test("a message alone is enough", async () => {
		const file = sampleFile();
		const messages = (await orphans(file)).map((one) => one.message);
		gc();
		expect(messages[3].content[0].text).toBe(long("output"));
		expect(messages[3].details.nested).toEqual([{ content: long("below") }]);
	});

	test("its entries are read after it left their session", async () => {
		const file = sampleFile();
		const entries = await orphans(file, (manager) => manager.newSession());
		expect(entries.map(shape)).toEqual(asPiReads(file));
	});

	test("many managers and their files are let go of", async () => {
		const file = sampleFile();
		const collected = new Set<number>();
		const registry = new FinalizationRegistry<number>((n) => collected.add(n));
		const open = (n: number): void => {
			const manager = openLazy(file);
			const entries = manager.getEntries() as any[];
			if (n % 2) expect(entries[n % 8].message.content.length).toBeGreaterThan(0);
			registry.register(manager, n);
			registry.register(entries[0], n + 1000);
		};
		for (let n = 0; n < 300; n++) open(n);
		for (let turn = 0; turn < 200 && collected.size < 580; turn++) {
			gc();
			await new Promise((done) => setImmediate(done));
		}
		expect(collected.size).toBeGreaterThanOrEqual(580);
	});
});

describe("when the file grew", () => {
	test("by another process", () => {
		const { manager, file, entries, expected } = held();
		appendFileSync(file, text([message("theirs", "e14", assistant(long("by another")))]));
		expect(shape(entries[3])).toBe(expected[3]);
		manager.appendMessage(user(long("mine")));
		appendFileSync(file, text([message("later", "theirs", user(long("by another")))]));
		manager.appendMessage(user("short"));
		expect(entries.map(shape)).toEqual(expected);
		expect(manager.getEntries().map(shape).slice(15)).toEqual(asPiReads(file).slice(15));
	});

	test("by our own appends", () => {
		const { manager, file, entries, expected } = held();
		for (let turn = 0; turn < 20; turn++) {
			manager.appendMessage(assistant(long(`turn ${turn}`)));
			if (turn === 10) expect(shape(entries[9])).toBe(expected[9]);
		}
		expect(entries.map(shape)).toEqual(expected);
		expect(openLazy(file).getEntries().map(shape)).toEqual(manager.getEntries().map(shape));
	});
});

describe("when the file was migrated", () => {
	for (const version of [1, 2]) {
		test(`from version ${version}`, () => {
			const old = samples().map(({ id, parentId, ...rest }) => (version === 1 ? rest : { id, parentId, ...rest }));
			for (const one of old as any[]) {
				if (one.message?.role === "custom") one.message.role = "hookMessage";
				if (version === 1 && one.type === "compaction") one.firstKeptEntryIndex = 3;
			}
			const { version: _, ...head } = header();
			const file = writeSession(scratch(), [version === 1 ? head : { ...head, version }, ...(old as any[])]);
			const manager = openLazy(file);
			const entries = manager.getEntries();
			expect(entries.map((one) => waiting(one).length).reduce((sum, count) => sum + count)).toBeGreaterThan(10);
			expect(entries.map(shape)).toEqual(asPiReads(file));
			expect((entries[6] as any).message.role).toBe("custom");
		});
	}
});

test("a changed entry keeps the change and reads the rest", () => {
	const { manager, entries } = held();
	entries[3].message.content = "mine";
	entries[3].message.toolName = "other";
	entries[3].extra = 1;
	entries[8].customType = "changed";
	entries[8].id = "changed";
	expect(entries[3].message.details.nested).toHaveLength(1);
	expect(entries[8].data.nested).toHaveLength(1);
	expect(manager.getEntry("e3")).toBe(entries[3]);
	expect(Object.keys(entries[3])).toEqual(["type", "id", "parentId", "timestamp", "message", "extra"]);
	expect(entries[3].message).toMatchObject({ content: "mine", toolName: "other", role: "toolResult" });
});

describe("when the file changed underneath", () => {
	/** Each of these may happen to the file of an open session. */
	const DAMAGES: Record<string, (file: string) => void> = {
		truncated: (file) => writeFileSync(file, readFileSync(file).subarray(0, 400)),
		"truncated to nothing": (file) => writeFileSync(file, ""),
		"cut in the middle": (file) => writeFileSync(file, readFileSync(file).subarray(0, readFileSync(file).length / 2)),
		"overwritten by letters": (file) => writeFileSync(file, "x".repeat(readFileSync(file).length)),
		"overwritten by entries of other ids": (file) =>
			writeFileSync(file, readFileSync(file, "utf8").replaceAll(/"id":"e/g, '"id":"f')),
		"overwritten by entries in another order": (file) => {
			const [head, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
			writeFileSync(file, `${[head, ...lines.reverse()].join("\n")}\n`);
		},
		"moved by one byte": (file) => {
			const all = readFileSync(file, "utf8");
			writeFileSync(file, all.replace("\n", " \n"));
		},
		"a line taken out": (file) => {
			const lines = readFileSync(file, "utf8").split("\n");
			writeFileSync(file, lines.filter((_, at) => at !== 2).join("\n"));
		},
		replaced: (file) => {
			const other = join(dirname(file), "other");
			writeFileSync(other, text([header({ id: "s-2" }), ...samples().reverse()]));
			renameSync(other, file);
		},
		deleted: unlinkSync,
	};

	for (const [name, damage] of Object.entries(DAMAGES)) {
		test(`${name}: a value is the entry's own or an error`, () => {
			const { file, entries, expected } = held();
			damage(file);
			for (const [at, one] of entries.entries()) {
				const holders = [one, one.message ?? {}];
				for (const holder of holders) {
					for (const key of ["content", "details", "data"]) {
						if (!(key in holder)) continue;
						let value: unknown;
						try {
							value = holder[key];
						} catch (error) {
							expect((error as Error).message).toContain(file);
							expect(String(caught(() => holder[key]))).toBe(String(error));
							continue;
						}
						const whole = JSON.parse(expected[at] as string);
						expect(shape(value)).toBe(shape((holder === one ? whole : whole.message)[key]));
					}
				}
				// Small values are in the objects, and can be changed.
				expect([one.type, one.id, one.timestamp]).toEqual([samples()[at]?.type, `e${at}`, samples()[at]?.timestamp]);
				expect(one.message?.role).toBe((samples()[at]?.message as any)?.role);
				one.mine = 1;
				for (const holder of holders) {
					for (const key of ["content", "details", "data"]) if (key in holder) holder[key] = "mine";
				}
				expect(waiting(one)).toEqual([]);
			}
		});
	}

	test("a value is read once the file is restored", () => {
		const { file, entries, expected } = held();
		const whole = readFileSync(file);
		writeFileSync(file, "x".repeat(whole.length));
		expect(caught(() => entries[0].message.content).message).toContain("e0");
		expect(caught(() => structuredClone(entries[8])).message).toContain("e8");
		expect(caught(() => JSON.stringify(entries[9])).message).toContain("e9");
		expect(waiting(entries[9])).toEqual(["content", "details"]);
		writeFileSync(file, whole);
		expect(entries.map(shape)).toEqual(expected);
	});

	test("an entry edited in place shows what it says now", () => {
		const { file, entries } = held();
		writeFileSync(file, readFileSync(file, "utf8").replace("ascii all work", "ASCII ALL WORK"));
		expect(entries[0].message.content).toBe(long("ascii").replace("ascii all work", "ASCII ALL WORK"));
	});

	test("a shortened value is read, a missing one is not", () => {
		const { file, entries } = held();
		const size = readFileSync(file).length;
		const lines = readFileSync(file, "utf8").split("\n");
		const pad = (line: string, length: number): string => `${line.slice(0, -1)}${" ".repeat(length - line.length)}}`;
		lines[1] = pad(JSON.stringify(message("e0", null, user("short now"))), lines[1]?.length ?? 0);
		lines[9] = pad(JSON.stringify({ type: "custom", id: "e8", parentId: "e7" }), lines[9]?.length ?? 0);
		writeFileSync(file, lines.join("\n"));
		expect(readFileSync(file).length).toBe(size);
		expect(entries[0].message.content).toBe("short now");
		expect(caught(() => entries[8].data).message).toMatch(/e8.*data|data.*e8/);
		expect(caught(() => entries[8].data).message).toContain(file);
	});
});

test("entries of more sessions than file handles are read", () => {
	const all = Array.from({ length: 150 }, (_, n) => {
		const file = writeSession(scratch(), [header(), message("a", null, user(long(`session ${n}`)))]);
		return { n, entry: openLazy(file).getEntry("a") as any };
	});
	for (const { n, entry } of [...all].reverse()) expect(entry.message.content).toBe(long(`session ${n}`));
});
