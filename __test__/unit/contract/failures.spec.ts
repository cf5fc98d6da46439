// A call that fails changes neither entries, leaf, labels, session nor file. While a payload is serialised, the
// caller's code may call anything.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runtime } from "../../support/runtime.js";
import {
	api,
	assistant,
	caught,
	failing,
	header,
	type Json,
	jsonLines,
	type Loose,
	lastLine,
	linesOf,
	loose,
	message,
	opened,
	scratch,
	stateOf,
	user,
	writeSession,
} from "../../support/scratch.js";

const refusal = new RangeError("refused");

/** Payloads that JSON.stringify cannot write, and a pattern for each error. */
const UNWRITABLE: Record<string, { make: () => any; isIt: (error: any) => boolean }> = {
	"a cycle": {
		make: () => {
			const cycle: Json = {};
			cycle.self = cycle;
			return cycle;
		},
		isIt: (error) => error instanceof TypeError && /circular|cyclic/.test(error.message),
	},
	"a BigInt": {
		make: () => ({ big: 1n }),
		isIt: (error) => error instanceof TypeError && error.message.includes("BigInt"),
	},
	"a throwing toJSON": {
		make: () => ({
			toJSON() {
				throw refusal;
			},
		}),
		isIt: (error) => error === refusal,
	},
	"a throwing getter": {
		make: () => ({
			get trap() {
				throw refusal;
			},
		}),
		isIt: (error) => error === refusal,
	},
	"nesting beyond JSON.stringify": {
		make: () => {
			let deep: unknown[] = [];
			for (let i = 0; i < 100_000; i++) deep = [deep];
			return deep;
		},
		isIt: (error) => error instanceof RangeError,
	},
};

/** All appends with a payload of the caller. */
const APPENDS: Record<string, (manager: Loose, payload: any) => unknown> = {
	"appendMessage, field": (m, payload) => m.appendMessage?.({ ...user(), extra: payload }),
	"appendMessage, content": (m, payload) => m.appendMessage?.({ ...user(), content: payload }),
	appendThinkingLevelChange: (m, payload) => m.appendThinkingLevelChange?.(payload),
	appendModelChange: (m, payload) => m.appendModelChange?.("p", payload),
	appendUsage: (m, payload) => m.appendUsage?.("k", "p", "m", payload),
	"appendCompaction, details": (m, payload) => m.appendCompaction?.("s", "a", 1, payload),
	"appendCompaction, usage": (m, payload) => m.appendCompaction?.("s", "a", 1, undefined, false, payload),
	appendCustomEntry: (m, payload) => m.appendCustomEntry?.("x", payload),
	"appendCustomMessageEntry, content": (m, payload) => m.appendCustomMessageEntry?.("x", payload, true),
	"appendCustomMessageEntry, details": (m, payload) => m.appendCustomMessageEntry?.("x", "y", true, payload),
	appendContextEdit: (m, payload) => m.appendContextEdit?.("a", { content: [payload] }),
	appendLabelChange: (m, payload) => m.appendLabelChange?.("a", payload),
	"branchWithSummary, details": (m, payload) => m.branchWithSummary?.("a", "s", payload),
	"branchWithSummary, to the root": (m, payload) => m.branchWithSummary?.(null, "s", payload),
};

/** Whether this engine's JSON.stringify accepts it. Newer engines have no limit of nesting. */
function isWritable({ make }: { make: () => unknown }): boolean {
	try {
		JSON.stringify(make());
		return true;
	} catch {
		return false;
	}
}

for (const [name, unwritable] of Object.entries(UNWRITABLE)) {
	const { make, isIt } = unwritable;
	if (isWritable(unwritable)) {
		test(`${name} is written where JSON.stringify knows no such bound`, () => {
			const file = writeSession(scratch(), [header(), message("a", null)]);
			api.SessionManager.open(file).appendCustomEntry("x", make());
			expect(lastLine(file)).toContain(`"data":${JSON.stringify(make())}`);
		});
		continue;
	}
	// Bun takes seconds to refuse such nesting.
	const isSlow = runtime === "bun" && name.startsWith("nesting");
	describe(`${name} is thrown and leaves no trace:`, () => {
		for (const [append, call] of Object.entries(APPENDS).slice(0, isSlow ? 2 : undefined)) {
			test(append, () => {
				const dir = scratch();
				const file = writeSession(dir, [header(), message("a", null), message("b", "a")]);
				const manager = api.SessionManager.open(file);
				manager.appendLabelChange("a", "before");
				const error = failing(manager, dir, () => call(loose(manager), make()));
				expect(isIt(error), String(error)).toBe(true);
				const id = manager.appendCustomEntry("x");
				expect(jsonLines(file).at(-1).id).toBe(id);
			});
		}
	});
}

test("in memory nothing is serialised, so nothing is refused", () => {
	const manager = loose(api.SessionManager.inMemory("/x"));
	for (const { make } of Object.values(UNWRITABLE)) {
		const payload = make();
		const id = manager.appendCustomEntry?.("x", payload);
		expect(manager.getEntry?.(id).data).toBe(payload);
	}
});

test("createBranchedSession that cannot serialise changes nothing", () => {
	const dir = scratch();
	const manager = api.SessionManager.open(writeSession(dir, [header(), message("a", null, assistant())]));
	const data: Json = {};
	const id = manager.appendCustomEntry("x", data);
	data.big = 1n;
	const error = failing(manager, dir, () => manager.createBranchedSession(id));
	expect(error.message).toContain("BigInt");
	delete data.big;
	const branched = manager.createBranchedSession(id) as string;
	expect(readdirSync(dir)).toHaveLength(2);
	expect(linesOf(branched)).toHaveLength(3);
});

test("createBranchedSession into a missing directory changes nothing", () => {
	const outer = scratch();
	const file = writeSession(outer, [header(), message("a", null)]);
	const dir = join(outer, "sessions");
	const manager = api.SessionManager.open(file, dir);
	manager.appendCustomEntry("x");
	rmSync(dir, { recursive: true });
	const error = failing(manager, outer, () => manager.createBranchedSession("a"));
	expect(error.code).toBe("ENOENT");
	expect(error.message).toContain(dir);
	manager.appendCustomEntry("y");
	expect(linesOf(file)).toHaveLength(4);
});

/** The conditions after any append: memory and file are equal, and every parent exists. */
function expectWhole(file: string, manager: Loose): void {
	const entries: any[] = manager.getEntries?.();
	const ids = new Set(entries.map((one) => one.id));
	expect(ids.size).toBe(entries.length);
	for (const one of entries) expect(one.parentId === null || ids.has(one.parentId)).toBe(true);
	const stored = jsonLines(file).slice(1);
	const tree = (all: any[]): string[] => all.map((one) => `${one.type} ${one.id} ${one.parentId}`).sort();
	expect(tree(stored)).toEqual(tree(entries));
	expect(manager.getLeafId?.()).toBe(manager.getLeafEntry?.()?.id ?? null);
}

/** Payloads that run this function each time they are serialised. */
const MEDDLING: Record<string, (meddle: () => void) => any> = {
	toJSON: (meddle) => ({
		toJSON() {
			meddle();
			return "from toJSON";
		},
	}),
	"a getter": (meddle) => ({
		get got() {
			meddle();
			return "by getter";
		},
	}),
};

for (const [name, make] of Object.entries(MEDDLING)) {
	describe(`while a payload is serialised, ${name} may`, () => {
		test("append to the same session: both entries are there, once", () => {
			const { manager, file } = opened([message("a", null)]);
			const payload = make(() => manager.appendCustomEntry("inner", { n: 1 }));
			const id = manager.appendCustomEntry("outer", payload);
			expectWhole(file, loose(manager));
			const kinds = manager.getEntries().map((one: any) => one.customType);
			expect(kinds.filter((kind) => kind === "outer")).toHaveLength(1);
			expect(kinds.filter((kind) => kind === "inner")).toHaveLength(1);
			expect((manager.getEntry(id) as any).data).toBe(payload);
		});

		test("append once while the file is created", () => {
			const manager = api.SessionManager.create("/x", scratch());
			let isFirst = true;
			const payload = make(() => {
				if (isFirst) {
					isFirst = false;
					manager.appendMessage(user("inner"));
				}
			});
			manager.appendMessage({ ...user("outer"), payload });
			expectWhole(manager.getSessionFile() as string, loose(manager));
			const texts = manager.getEntries().map((one: any) => one.message.content);
			expect(texts.sort()).toEqual(["inner", "outer"]);
		});

		test("move the leaf, start over, or fail inside", () => {
			for (const meddle of [
				(manager: Loose) => manager.branch?.("a"),
				(manager: Loose) => manager.resetLeaf?.(),
				(manager: Loose) => caught(() => manager.branch?.("nope")),
				(manager: Loose) => manager.getTree?.(),
				(manager: Loose) => manager.buildSessionProjection?.(),
			]) {
				const { manager, file } = opened([message("a", null), message("b", "a")]);
				const id = manager.appendCustomEntry(
					"outer",
					make(() => meddle(loose(manager))),
				);
				expectWhole(file, loose(manager));
				expect(manager.getEntry(id)).toBeDefined();
			}
		});

		test("switch the session without harm", () => {
			const dir = scratch();
			const first = writeSession(dir, [header(), message("a", null)], "first.jsonl");
			const second = writeSession(dir, [header({ id: "s-2" }), message("b", null)], "second.jsonl");
			const manager = api.SessionManager.open(first);
			let isFirst = true;
			const payload = make(() => {
				if (isFirst) manager.setSessionFile(second);
				isFirst = false;
			});
			try {
				manager.appendCustomEntry("outer", payload);
			} catch (error) {
				expect(error).toBeInstanceOf(Error);
			}
			for (const file of [first, second])
				for (const line of linesOf(file)) expect(JSON.parse(line)).toBeTypeOf("object");
			expect(linesOf(first)[1]).toBe(JSON.stringify(message("a", null)));
			expect(manager.getSessionId()).toBe("s-2");
			expectWhole(second, loose(manager));
		});

		test("meddle in createBranchedSession without harm", () => {
			const dir = scratch();
			const manager = api.SessionManager.open(writeSession(dir, [header(), message("a", null)]));
			let inner: string | undefined;
			const data: Json = {};
			const id = manager.appendCustomEntry("x", data);
			data.payload = make(() => {
				inner ??= manager.appendCustomEntry("inner");
			});
			try {
				manager.createBranchedSession(id);
			} catch (error) {
				expect(error).toBeInstanceOf(Error);
			}
			expect(inner).toBeDefined();
			const state = stateOf(manager) as any;
			expect(state.count).toBe(manager.getEntries().length);
			for (const name of readdirSync(dir)) for (const line of linesOf(join(dir, name))) JSON.parse(line);
			manager.appendCustomEntry("after");
			expectWhole(manager.getSessionFile() as string, loose(manager));
		});
	});
}
