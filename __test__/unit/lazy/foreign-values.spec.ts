// The values that the accessors of lazy entries return to the caller, and accept from the caller.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { openLazy, sampleFile } from "./support.js";

/** A part of an entry with an unread body, the body's key, and its accessor. */
function unread() {
	for (const entry of openLazy(sampleFile()).getEntries() as any[]) {
		for (const part of [entry, entry.message]) {
			for (const key of ["content", "details", "data"]) {
				const get = part && Object.getOwnPropertyDescriptor(part, key)?.get;
				if (get) return { part, key, get };
			}
		}
	}
	throw new Error("the sample has no body that is read later");
}

// Regression: the key to an entry's internal data reached the caller, and a body was read through any pointer.
test("an accessor called on the caller's object gives nothing away", () => {
	const { part, key, get } = unread();
	const received: unknown[] = [];
	const holder = {
		[inspect.custom](...args: unknown[]) {
			received.push(...args);
			return part;
		},
	};
	expect(() => get.call(holder)).toThrow(TypeError);
	expect(received).toEqual([]);
	// An inspection function returns a plain value, whatever it is called with.
	const shown = part[inspect.custom]({});
	expect(shown.moveTo).toBeUndefined();
	expect(JSON.stringify(shown)).toBe(JSON.stringify(part));
	expect(part[key]).toBeDefined();
});
