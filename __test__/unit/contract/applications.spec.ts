// The calls that applications use beyond pi's API: listening to appends, and parts of long branches.
import { expect, test } from "vitest";
import { api, scratch, user } from "../../support/scratch.js";

const say = (content: string) => ({ role: "user" as const, content, timestamp: 1 });

test("a listener receives each appended entry, the same object", () => {
	const manager = api.SessionManager.inMemory("/work");
	const heard: unknown[] = [];
	const end = manager.onAppend((entry) => {
		expect(manager.getLeafEntry()).toBe(entry);
		heard.push(entry);
	});
	const id = manager.appendMessage(say("a"));
	manager.appendCustomEntry("x", { n: 1 });
	manager.branchWithSummary(id, "elsewhere");
	expect(heard).toEqual(manager.getEntries());
	expect(heard[0]).toBe(manager.getEntry(id));
	end();
	end();
	manager.appendMessage(say("b"));
	expect(heard.length).toBe(3);
});

test("a listener may append, and listen twice", () => {
	const manager = api.SessionManager.inMemory("/work");
	const heard: string[] = [];
	const listener = (entry: { type: string }) => {
		heard.push(entry.type);
		if (entry.type === "message") manager.appendCustomEntry("echo");
	};
	manager.onAppend(listener);
	manager.onAppend(listener);
	manager.appendMessage(say("a"));
	expect(heard.filter((type) => type === "message").length).toBe(2);
	expect(heard.filter((type) => type === "custom").length).toBe(4);
	expect(manager.getEntryCount()).toBe(3);
});

test("a listener's error is uncaught and keeps the append", async () => {
	const manager = api.SessionManager.inMemory("/work");
	const before = process.listeners("uncaughtException");
	process.removeAllListeners("uncaughtException");
	const caught = new Promise((resolve) => process.once("uncaughtException", resolve));
	try {
		manager.onAppend(() => {
			throw new Error("mine");
		});
		const id = manager.appendMessage(say("a"));
		expect(manager.getLeafId()).toBe(id);
		expect(String(await caught)).toBe("Error: mine");
	} finally {
		for (const listener of before) process.on("uncaughtException", listener);
	}
	expect(() => manager.onAppend(5 as any)).toThrow(
		expect.objectContaining({
			name: "TypeError",
			code: "ERR_INVALID_ARGUMENT",
			message: "listener must be a function",
		}),
	);
});

test("a limit gives the end of a branch", () => {
	const manager = api.SessionManager.inMemory("/work");
	const ids = Array.from({ length: 9 }, (_, n) => manager.appendMessage(say(String(n))));
	const window = (from: string | undefined, limit?: number) => manager.getBranch(from, { limit }).map((one) => one.id);
	expect(window(undefined, 3)).toEqual(ids.slice(-3));
	expect(window(ids[4], 2)).toEqual(ids.slice(3, 5));
	expect(window(undefined, 0)).toEqual([]);
	expect(window(undefined, 100)).toEqual(ids);
	expect(window(undefined, Number.POSITIVE_INFINITY)).toEqual(ids);
	expect(window(undefined)).toEqual(ids);
	expect(window("unknown", 3)).toEqual([]);
});

// Regression: it returned another session's entry.
test("an append returns its own entry after a listener's move", () => {
	const moves: ((manager: ReturnType<typeof api.SessionManager.create>) => void)[] = [
		(manager) => void manager.newSession(),
		(manager) => void manager.createBranchedSession(manager.getLeafId() as string),
	];
	for (const move of moves) {
		const manager = api.SessionManager.create("/work", scratch());
		manager.appendMessage(user("before"));
		const told: string[] = [];
		manager.onAppend((entry) => {
			told.push(entry.id);
			move(manager);
		});
		const id = manager.appendMessage(user("mine"));
		const usage = manager.appendUsage("tool", "p", "m", { input: 1 } as never);
		expect([id, usage.id]).toEqual(told);
		expect(usage).toMatchObject({ type: "usage", kind: "tool" });
	}
});
