// Checks that the suite runs on the runtime that `npm run runtimes` names, and faults that occurred on one runtime
// only.
import { expect, test } from "vitest";
import { runtime } from "../../support/runtime.js";
import { anyManager, api } from "../../support/scratch.js";

const said = process.env.PSN_RUNTIME ?? "";

test("the tests run in the named runtime", () => {
	const versions: Record<string, string | undefined> = process.versions;
	if (said === "") expect(versions[runtime]).toBeDefined();
	else if (said.startsWith("node")) {
		expect(runtime).toBe("node");
		expect(versions.node?.split(".")[0]).toBe(said.slice("node".length));
	} else {
		expect(runtime).toBe(said);
	}
});

// Regression: on Bun and Deno it was a plain Error of the binding.
test("a method without a manager is a TypeError everywhere", () => {
	const manager = api.SessionManager.inMemory("/x");
	const { proxy: revoked, revoke } = Proxy.revocable(manager, {});
	revoke();
	const others = [
		undefined,
		null,
		5,
		"text",
		() => 1,
		new Map(),
		{},
		{ ...manager },
		Object.create(api.SessionManager.prototype),
		structuredClone(manager),
		new Proxy({}, { get: () => 1 }),
	];
	const names = Object.getOwnPropertyNames(anyManager.prototype).filter((name) => name !== "constructor");
	expect(names.length).toBeGreaterThan(40);
	for (const name of names) {
		const method = anyManager.prototype[name] as (...args: unknown[]) => unknown;
		for (const other of others) {
			expect(() => Reflect.apply(method, other, []), name).toThrow(
				Object.assign(new TypeError("Illegal invocation"), { code: "ERR_INVALID_ARGUMENT" }),
			);
		}
		expect(() => Reflect.apply(method, revoked, []), name).toThrow(TypeError);
	}
	expect(manager.getEntries()).toEqual([]);
});
