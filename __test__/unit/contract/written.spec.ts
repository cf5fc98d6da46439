// Long strings are removed from a value before it is written. This is not noticeable, even if the shared prototypes
// were changed.
import { expect, test } from "vitest";
import { api, lastLine, loose, scratch, user } from "../../support/scratch.js";

const LONG = 'long, "quoted"\n'.repeat(40);
const DATA = { list: [{ text: LONG }, "short"], text: `${LONG}日本` };

/** The text that an append writes after a change of the prototypes, and the text that `JSON.stringify` writes then. */
function written(data: unknown, change: () => () => void = () => () => {}): { line: string; expected: string } {
	const manager = api.SessionManager.create("/somewhere", scratch());
	manager.appendMessage(user());
	const restore = change();
	let expected: string;
	try {
		expected = JSON.stringify({ type: "custom", customType: "t", data });
		loose(manager).appendCustomEntry?.("t", data);
	} finally {
		restore();
	}
	return { line: lastLine(manager.getSessionFile() as string), expected: expected.slice(0, -1) };
}

const withProperty = (holder: object, key: string, property: PropertyDescriptor) => () => {
	Object.defineProperty(holder, key, { ...property, configurable: true });
	return () => void Reflect.deleteProperty(holder, key);
};

test.each([
	["Array.prototype.toJSON", Array.prototype, "by toJSON"],
	["String.prototype.toJSON", String.prototype, LONG.slice(0, 4)],
] as const)("%s is called as JSON.stringify calls it", (_, holder, part) => {
	const { line, expected } = written(DATA, withProperty(holder, "toJSON", { value: () => "by toJSON" }));
	expect(line.startsWith(expected)).toBe(true);
	expect(expected).toContain(part);
});

test.each(["text", "list", "value", "get", "set"])("an accessor at Object.prototype.%s is not called", (key) => {
	const calls: string[] = [];
	const accessor = { get: () => void calls.push("get"), set: () => void calls.push("set") };
	const { line, expected } = written(DATA, withProperty(Object.prototype, key, accessor));
	expect(line.startsWith(expected)).toBe(true);
	expect(calls).toEqual([]);
});

test("a list with another prototype is left to the engine", () => {
	const { line, expected } = written(DATA, () => {
		const before = Object.getPrototypeOf(Array.prototype) as object;
		Object.setPrototypeOf(Array.prototype, { toJSON: () => "by toJSON" });
		return () => void Object.setPrototypeOf(Array.prototype, before);
	});
	expect(expected).toContain("by toJSON");
	expect(line.startsWith(expected)).toBe(true);
});
