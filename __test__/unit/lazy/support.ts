// Sessions with large values, read in three ways: ours with unread bodies, ours with read bodies, and pi's.
import { inspect } from "node:util";
import { expect } from "vitest";
import type { SessionManager } from "../../../index.js";
import { loadReference } from "../../support/reference.js";
import {
	api,
	assistant,
	entry,
	header,
	type Json,
	message,
	scratch,
	shape,
	user,
	writeSession,
} from "../../support/scratch.js";

export const reference = await loadReference();
/** pi's class with our type. */
export const Reference = reference.SessionManager as unknown as typeof api.SessionManager;

/** A session from a file, whose bodies are read at their first use. */
export const openLazy = (file: string): SessionManager => api.SessionManager.open(file);

/** The same after all bodies were read. */
export function openPlain(file: string): SessionManager {
	const manager = api.SessionManager.open(file);
	JSON.stringify(manager.getEntries());
	return manager;
}

/** The same in pi. */
export const openReference = (file: string): SessionManager => Reference.open(file);

/** Whether a value is not read yet. */
export const waits = (object: unknown, key: string): boolean =>
	Object.getOwnPropertyDescriptor(object as object, key)?.get !== undefined;

/** The places of accessors in an entry: `content`, `message.details` and so on. */
export function waiting(one: unknown): string[] {
	const of = (object: unknown, prefix: string): string[] =>
		typeof object === "object" && object !== null
			? Object.keys(object)
					.filter((key) => waits(object, key))
					.map((key) => prefix + key)
			: [];
	return [...of(one, ""), ...of((one as { message?: unknown }).message, "message.")];
}

/** A text whose JSON has at least that many bytes. */
export const long = (mark: string, size = 600): string => `${mark} ${"all work and no play ".repeat(size / 20)}`;

const details = (mark: string): Json => ({
	truncation: { lines: [mark, long(mark)], 7: "seven", a: -1 },
	nested: [{ content: long("below") }],
});

/** An entry of each kind that may have large values, in each relevant order of keys. */
export function samples(): Json[] {
	const kinds: ((id: string, parent: string | null) => Json)[] = [
		(id, parent) => message(id, parent, user(long("ascii"))),
		(id, parent) => message(id, parent, user(`${long("other")} naïve 日本語 \ud83d end 𝒳`)),
		(id, parent) => message(id, parent, assistant(long("an answer"))),
		(id, parent) =>
			message(id, parent, {
				role: "toolResult",
				toolCallId: "call_1",
				toolName: "read",
				content: [
					{ type: "text", text: long("output") },
					{ type: "image", data: "QUJD".repeat(400), mimeType: "image/png" },
				],
				details: details("both"),
				isError: false,
				timestamp: 1735689602000,
			}),
		(id, parent) =>
			message(id, parent, {
				role: "toolResult",
				toolName: "bash",
				content: [{ type: "text", text: "short" }],
				details: details("details alone"),
				timestamp: 5,
			}),
		(id, parent) => message(id, parent, { content: [{ type: "text", text: long("first") }], role: "user", 3: "three" }),
		(id, parent) => message(id, parent, { role: "custom", 9: "nine", customType: "x", content: long("last") }),
		(id, parent) => message(id, parent, { content: long("only") }),
		(id, parent) => entry("custom", id, parent, { customType: "state", data: details("data") }),
		(id, parent) =>
			entry("custom_message", id, parent, {
				customType: "note",
				content: [{ type: "text", text: long("note") }],
				display: true,
				details: details("of a note"),
			}),
		(id, parent) =>
			entry("compaction", id, parent, {
				summary: long("summary"),
				firstKeptEntryId: id,
				tokensBefore: 5,
				details: details("files read"),
			}),
		(id, parent) =>
			entry("branch_summary", id, parent, { fromId: "root", summary: "short", details: details("of a branch") }),
		(id, parent) =>
			entry("invented", id, parent, { content: long("one"), details: details("two"), data: [long("three")] }),
		(id, parent) => message(id, parent, user("small")),
		(id, parent) => message(id, parent, { role: "bashExecution", command: "ls", output: long("no body") }),
	];
	return kinds.map((make, at) => make(`e${at}`, at === 0 ? null : `e${at - 1}`));
}

/** A file of these samples. */
export const sampleFile = (): string => writeSession(scratch(), [header(), ...samples()]);

/** A way to read or change an object. Returns a value for the comparison. */
export type Look = (object: any) => unknown;

/** The result of such a call, or the kind of its error. */
function outcome(look: Look, object: unknown): string {
	try {
		return shape(look(object));
	} catch (error) {
		return `thrown ${(error as Error).constructor.name}`;
	}
}

/**
 * Compares the result of a call, and the object after it, with plain entries and pi's: for each entry of a file, for
 * its message, and for the list of all entries.
 */
export function agrees(file: string, look: Look, left: (object: object) => string = remains): void {
	const targets = (entries: any[]): unknown[] => [...entries, ...entries.flatMap((one) => one.message ?? [])];
	const sides = [openLazy(file), openPlain(file), openReference(file)].map((manager) => targets(manager.getEntries()));
	const [lazy, plain, reference] = sides as [any[], any[], any[]];
	expect(lazy.some((one) => waiting(one).length > 0)).toBe(true);
	expect(plain.flatMap(waiting)).toEqual([]);
	for (const at of reference.keys()) {
		const where = `${at} ${Object.keys(reference[at]).join(" ")}`;
		const [one, two, three] = [lazy[at], plain[at], reference[at]].map((object) => outcome(look, object));
		expect(one, where).toBe(three);
		expect(two, where).toBe(three);
		// The object after the call: the attributes of each property.
		const [ours, whole, pis] = [lazy[at], plain[at], reference[at]].map(left);
		expect(ours, where).toBe(pis);
		expect(whole, where).toBe(pis);
	}
}

/** The same for an object that can no longer be changed, and keeps its accessors: its behaviour. */
export function remainsFixed(object: any): string {
	const natures = Object.keys(object).map((key) => {
		const { enumerable, configurable } = Object.getOwnPropertyDescriptor(object, key) ?? {};
		return `${key} ${enumerable} ${configurable} ${object[key] === object[key]}`;
	});
	const states = [Object.isFrozen(object), Object.isSealed(object), Object.isExtensible(object)];
	return `${shape({ ...object })}\n${natures.join("\n")}\n${states}\n${inspect(object, { depth: 9 })}`;
}

/**
 * An object after its values were read: the values, and which properties can be written, listed and changed. (If a
 * value was deleted before it was read, a hidden function stays, which only `Reflect.ownKeys` shows.)
 */
export function remains(object: object): string {
	const values = shape({ ...object });
	const keys = Object.getOwnPropertyNames(object).map((key) => {
		const { writable, get, enumerable, configurable } = Object.getOwnPropertyDescriptor(object, key) ?? {};
		return `${key} ${writable} ${typeof get} ${enumerable} ${configurable}`;
	});
	return `${values}\n${keys.join("\n")}\n${Object.isExtensible(object)}`;
}
