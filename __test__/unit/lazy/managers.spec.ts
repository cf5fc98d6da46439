// What tests of other projects do with a manager: spies, fake timers, comparisons, copies.
import assert from "node:assert";
import { dirname } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SessionManager } from "../../../index.js";
import { anyManager, api, loose, user } from "../../support/scratch.js";
import { openLazy, openReference, Reference, sampleFile } from "./support.js";

afterEach(() => {
	vi.restoreAllMocks();
	vi.useRealTimers();
});

const methodsOf = (prototype: object): string[] =>
	Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
/** The methods that pi's class and ours have. */
const shared = methodsOf(api.SessionManager.prototype).filter((name) => name in Reference.prototype);

test("the methods that both classes have are compared", () => {
	expect(shared.length).toBeGreaterThan(35);
	for (const name of ["getEntries", "buildSessionContext", "appendMessage", "createBranchedSession", "isPersisted"]) {
		expect(shared).toContain(name);
	}
});

describe("spies", () => {
	for (const name of shared) {
		test(`${name} can be spied on`, () => {
			const manager = loose(openLazy(sampleFile()));
			const own = Object.getOwnPropertyDescriptor(manager, name);
			const inherited = Object.getOwnPropertyDescriptor(api.SessionManager.prototype, name);
			for (const target of [manager, api.SessionManager.prototype as unknown as typeof manager]) {
				const spy = vi.spyOn(target, name).mockReturnValue("instead");
				expect(manager[name]?.("e3")).toBe("instead");
				expect(spy).toHaveBeenCalledOnce();
				spy.mockRestore();
			}
			expect(Object.getOwnPropertyDescriptor(manager, name)?.value).toBe(own?.value);
			expect(Object.getOwnPropertyDescriptor(api.SessionManager.prototype, name)?.value).toBe(inherited?.value);
			expect(typeof manager[name]).toBe("function");
		});
	}

	test("every static can be spied on as in pi", () => {
		const names = Object.getOwnPropertyNames(api.SessionManager).filter((name) => name !== "prototype");
		const statics = names.filter((name) => typeof (api.SessionManager as any)[name] === "function");
		expect(statics).toEqual(
			expect.arrayContaining(["create", "open", "list", "listAll", "inMemory", "forkFrom", "verify", "repair"]),
		);
		for (const name of statics) {
			const before = Object.getOwnPropertyDescriptor(api.SessionManager, name);
			const { writable, configurable } = Object.getOwnPropertyDescriptor(
				Reference,
				name in Reference ? name : "open",
			) as PropertyDescriptor;
			expect(before, name).toMatchObject({ writable, configurable });
			const spy = vi.spyOn(api.SessionManager, name as "open").mockReturnValue(5 as never);
			expect(anyManager[name]?.()).toBe(5);
			spy.mockRestore();
			expect(Object.getOwnPropertyDescriptor(api.SessionManager, name)).toEqual(before);
		}
	});

	test("a method on a manager hides the class's own", () => {
		const manager = openLazy(sampleFile());
		(manager as any).getLeafId = () => "mine";
		expect(manager.getLeafId()).toBe("mine");
		delete (manager as any).getLeafId;
		expect(manager.getLeafId()).toBe("e14");
		(manager as any).extra = { more: 1 };
		expect((manager as any).extra.more).toBe(1);
	});
});

describe("fake timers", () => {
	test("lists settle under them", async () => {
		const file = sampleFile();
		vi.useFakeTimers();
		const list = await api.SessionManager.listAll(dirname(file));
		expect(list.map((one) => one.path)).toEqual([file]);
	});
});

describe("comparisons and copies", () => {
	const managers = (): [SessionManager, SessionManager] => [openLazy(sampleFile()), openReference(sampleFile())];

	test("a manager equals itself", () => {
		const [manager] = managers();
		expect(manager).toEqual(manager);
		expect(manager).toStrictEqual(manager);
		expect({ manager }).toEqual({ manager: expect.any(api.SessionManager) });
		assert.deepStrictEqual(manager, manager);
		expect([manager].indexOf(manager)).toBe(0);
	});

	test("a manager equals no other value", () => {
		const [manager, pis] = managers();
		for (const other of [5, null, "text", {}, pis, []]) {
			expect(() => expect(manager).toStrictEqual(other)).toThrow(/expected/);
			expect(() => assert.deepStrictEqual(manager, other)).toThrow(assert.AssertionError);
		}
	});

	test("a frozen or sealed manager works on", () => {
		for (const close of [Object.freeze, Object.seal, Object.preventExtensions]) {
			const manager = close(openLazy(sampleFile())) as SessionManager;
			const id = manager.appendMessage(user("more"));
			expect(manager.getLeafId()).toBe(id);
			manager.branch("e3");
			expect(manager.buildSessionContext().messages).toHaveLength(4);
			expect(manager.createBranchedSession("e3")).toMatch(/\.jsonl$/);
		}
	});
});
