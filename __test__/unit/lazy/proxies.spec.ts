// A manager behind a Proxy, or as another object's prototype: all methods work as on pi's class.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionManager } from "../../../index.js";
import { api, assistant, clockAt, header, scratch, shape, user, writeSession } from "../../support/scratch.js";
import { Reference, samples } from "./support.js";

type Wrap = (manager: SessionManager) => SessionManager;

const WRAPS: Record<string, Wrap> = {
	"a Proxy": (manager) => new Proxy(manager, {}),
	"a Proxy with traps": (manager) =>
		new Proxy(manager, {
			get: (target, key, receiver) => Reflect.get(target, key, receiver),
			has: (target, key) => Reflect.has(target, key),
		}),
	"a Proxy of a Proxy": (manager) => new Proxy(new Proxy(manager, {}), {}),
	"an heir": (manager) => Object.create(manager) as SessionManager,
	"an heir's heir": (manager) => Object.create(Object.create(manager)) as SessionManager,
	"an heir of a Proxy": (manager) => Object.create(new Proxy(manager, {})) as SessionManager,
	"a Proxy of an heir": (manager) => new Proxy(Object.create(manager) as SessionManager, {}),
};

/** All methods with their arguments. Methods that change the session are in a sensible order. */
const CALLS: readonly (readonly [string, (manager: any, other: string) => unknown[]])[] = [
	["isPersisted", () => []],
	["getCwd", () => []],
	["getSessionDir", () => []],
	["usesDefaultSessionDir", () => []],
	["getSessionId", () => []],
	["getSessionFile", () => []],
	["getHeader", () => []],
	["getEntries", () => []],
	["getEntry", () => ["e3"]],
	["getLeafId", () => []],
	["getLeafEntry", () => []],
	["getChildren", () => ["e3"]],
	["getBranch", () => []],
	["getBranch", () => ["e5"]],
	["getTree", () => []],
	["buildContextEntries", () => []],
	["buildSessionProjection", () => []],
	["buildSessionContext", () => []],
	["appendMessage", () => [user("by way of another")]],
	["appendMessage", () => [assistant("and an answer")]],
	["appendThinkingLevelChange", () => ["high"]],
	["appendModelChange", () => ["p", "m"]],
	["appendUsage", () => ["k", "p", "m", assistant().usage]],
	["appendCompaction", () => ["summary", "e5", 7]],
	["appendCustomEntry", () => ["state", { a: 1 }]],
	["appendCustomMessageEntry", () => ["note", "text", true]],
	["appendSessionInfo", () => ["a name"]],
	["getSessionName", () => []],
	["appendLabelChange", () => ["e3", "a label"]],
	["getLabel", () => ["e3"]],
	["appendContextEdit", (manager) => [manager.getBranch().find((one: any) => one.type === "custom_message").id, null]],
	["getLeafEntry", () => []],
	["buildSessionContext", () => []],
	["branch", () => ["e5"]],
	["getLeafId", () => []],
	["branchWithSummary", () => ["e3", "left behind"]],
	["buildSessionContext", () => []],
	["getEntries", () => []],
	["createBranchedSession", () => ["e5"]],
	["getEntries", () => []],
	["resetLeaf", () => []],
	["getLeafId", () => []],
	["setSessionFile", (_, other) => [other]],
	["getEntries", () => []],
	["newSession", () => [{ id: "new-one" }]],
	["getEntries", () => []],
	["appendMessage", () => [assistant("the first of the new one")]],
	["getLeafEntry", () => []],
];

test("every method that pi's class has, too, is called", () => {
	const names = Object.getOwnPropertyNames(api.SessionManager.prototype);
	const shared = names.filter((name) => name !== "constructor" && name in Reference.prototype);
	const called = new Set(CALLS.map(([name]) => name));
	// pi's members outside of its declared interface belong to pi.
	expect(shared.filter((name) => !called.has(name) && name !== "getEntryCount" && name !== "getPath")).toEqual([]);
});

for (const [kind, wrap] of Object.entries(WRAPS)) {
	describe(kind, () => {
		test("every call gives what pi's gives there", () => {
			clockAt("2025-07-11T00:00:00.000Z");
			const root = scratch();
			const [ours, pis] = ([api.SessionManager, Reference] as const).map((Manager, at) => {
				const dir = join(root, `side${at}`);
				mkdirSync(dir);
				const lines = [header(), ...samples()];
				const other = writeSession(dir, [header({ id: "s-2" }), ...samples().slice(0, 4)], "other.jsonl");
				const manager = wrap(Manager.open(writeSession(dir, lines))) as any;
				const seen = new Map<string, number>();
				return CALLS.map(([name, args]) => {
					const result = shape(manager[name](...args(manager, other)));
					return `${name}: ${result
						.replaceAll(JSON.stringify(dir).slice(1, -1), "<dir>")
						.replace(/(?<![0-9a-f])[0-9a-f]{8}(-[0-9a-f-]{27})?\b/g, (id) => {
							if (!seen.has(id)) seen.set(id, seen.size);
							return `#${seen.get(id)}`;
						})}`;
				});
			}) as [string[], string[]];
			for (const at of ours.keys()) expect(ours[at]).toBe(pis[at]);
		});

		test("entries are the manager's own objects", () => {
			const file = writeSession(scratch(), [header(), ...samples()]);
			const manager = api.SessionManager.open(file);
			const wrapped = wrap(manager);
			const before = wrapped.getEntry("e3");
			expect(wrapped.getEntries()[3]).toBe(before);
			expect(manager.getEntry("e3")).toBe(before);
			expect(wrapped.getEntryCount()).toBe(15);
			expect(wrapped.getPath("e3")).toEqual(manager.getBranch("e3"));
			const message = user("kept");
			const id = wrapped.appendMessage(message);
			expect((wrapped.getEntry(id) as any).message).toBe(message);
			expect(wrapped).toBeInstanceOf(api.SessionManager);
			expect("getEntries" in wrapped).toBe(true);
		});
	});
}

test("a Proxy with its own method keeps the others", () => {
	const manager = api.SessionManager.open(writeSession(scratch(), [header(), ...samples()]));
	const proxy = new Proxy(manager, {
		get: (target, key, receiver) => (key === "getLeafId" ? () => "mine" : Reflect.get(target, key, receiver)),
	});
	expect(proxy.getLeafId()).toBe("mine");
	expect(proxy.getLeafEntry()?.id).toBe("e14");
	expect(proxy.appendMessage(user("x"))).toBe(manager.getLeafId());
});
