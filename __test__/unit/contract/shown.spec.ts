// How a programmer sees a manager: printed, in stack traces, and after a wrong construction.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { runtime } from "../../support/runtime.js";
import {
	anyManager,
	api,
	caught,
	header,
	inMemory,
	loose,
	message,
	scratch,
	writeSession,
} from "../../support/scratch.js";

test("a printed manager shows id, file, entries and leaf", () => {
	const file = writeSession(scratch(), [header({ id: "shown" }), message("a", null), message("b", "a")]);
	const manager = api.SessionManager.open(file);
	expect(inspect(manager, { breakLength: Infinity })).toBe(
		`SessionManager { id: 'shown', file: ${inspect(file)}, entries: 2, leaf: 'b' }`,
	);
	expect(inspect(inMemory(), { breakLength: Infinity })).toMatch(
		/^SessionManager \{ id: '.*', file: undefined, entries: 0, leaf: null \}$/,
	);
	expect(inspect([[[manager]]])).toContain("[SessionManager]");
	expect(inspect(Object.create(manager))).toContain("'shown'");
	expect(() => inspect(Object.create(anyManager.prototype as object))).not.toThrow();
	// Loops over the manager's properties do not contain it, and a session's text has no effect on the terminal.
	expect(Object.keys(manager)).toEqual([]);
	const hostile = writeSession(scratch(), [header({ id: "\u001b[2J" })]);
	expect(inspect(api.SessionManager.open(hostile))).not.toContain("\u001b");
});

test.each([
	["new SessionManager()", () => new (anyManager as any)()],
	["SessionManager()", () => (anyManager as any)()],
	["a class that extends it", () => new (class extends (anyManager as any) {})()],
])("%s says what to call instead", (_, make) => {
	expect(make).toThrow(expect.objectContaining({ name: "TypeError", code: "ERR_INVALID_ARGUMENT" }));
	expect(make).toThrow(
		"SessionManager has no public constructor. Call SessionManager.create, open, continueRecent, inMemory or forkFrom",
	);
	// Managers can still be created.
	expect(api.SessionManager.inMemory().getEntryCount()).toBe(0);
});

test("stack traces name this package's scripts", () => {
	const frames = (work: () => unknown): string => (caught(work) as Error).stack ?? "";
	const own = {
		role: "user",
		get content() {
			throw new Error("mine");
		},
	};
	const error = caught(() => loose(inMemory()).appendMessage?.(own)) as Error;
	expect(error.message).toBe("mine");
	// Bun does not name scripts that are compiled in memory.
	if (runtime === "bun") return;
	expect(error.stack).toMatch(/pi-session-native\/src\/factory\/entries\.js:\d+/);
	// Below are the frames of the test runner.
	expect(error.stack?.split(" at caught ")[0]).not.toContain("<anonymous>");
	expect(frames(() => anyManager.open?.(5))).toMatch(/ \(pi-session-native\/src\/factory\/manager-class\.js:\d+:\d+\)/);
});
