// Sessions with large values, read three ways: ours with bodies that wait, ours with bodies that were looked at, and pi's.
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
/** pi's class, typed as ours. */
export const Reference = reference.SessionManager as unknown as typeof api.SessionManager;

/** A session of a file with bodies that are read when they are looked at. */
export const openLazy = (file: string): SessionManager => api.SessionManager.open(file);

/** The same after every body was looked at. */
export function openPlain(file: string): SessionManager {
	const manager = api.SessionManager.open(file);
	JSON.stringify(manager.getEntries());
	return manager;
}

/** The same in pi. */
export const openReference = (file: string): SessionManager => Reference.open(file);

/** Whether a value was not looked at yet. */
export const waits = (object: unknown, key: string): boolean =>
	Object.getOwnPropertyDescriptor(object as object, key)?.get !== undefined;

/** Where accessors stand in an entry: `content`, `message.details` and so on. */
export function waiting(one: unknown): string[] {
	const of = (object: unknown, prefix: string): string[] =>
		typeof object === "object" && object !== null
			? Object.keys(object)
					.filter((key) => waits(object, key))
					.map((key) => prefix + key)
			: [];
	return [...of(one, ""), ...of((one as { message?: unknown }).message, "message.")];
}

/** Text of that many bytes of JSON and more. */
export const long = (mark: string, size = 600): string => `${mark} ${"all work and no play ".repeat(size / 20)}`;

const details = (mark: string): Json => ({
	truncation: { lines: [mark, long(mark)], 7: "seven", a: -1 },
	nested: [{ content: long("below") }],
});

/** An entry of each kind that may have large values, with each key order that matters. */
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

/** A way to look at an object, or to change it. It gives what can be compared. */
export type Look = (object: any) => unknown;

/** What a look gives, or the kind of error it ends with. */
function outcome(look: Look, object: unknown): string {
	try {
		return shape(look(object));
	} catch (error) {
		return `thrown ${(error as Error).constructor.name}`;
	}
}

/**
 * Holds what a look gives, and what it leaves behind, against plain entries and pi's: at each entry of a file as it was
 * read, at its message, and at the list of all.
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
		// What is left of the object, key by key, and the nature of each property.
		const [ours, whole, pis] = [lazy[at], plain[at], reference[at]].map(left);
		expect(ours, where).toBe(pis);
		expect(whole, where).toBe(pis);
	}
}

/** The same of an object that nobody may change any more, and which keeps the accessors it had: how it behaves. */
export function remainsFixed(object: any): string {
	const natures = Object.keys(object).map((key) => {
		const { enumerable, configurable } = Object.getOwnPropertyDescriptor(object, key) ?? {};
		return `${key} ${enumerable} ${configurable} ${object[key] === object[key]}`;
	});
	const states = [Object.isFrozen(object), Object.isSealed(object), Object.isExtensible(object)];
	return `${shape({ ...object })}\n${natures.join("\n")}\n${states}\n${inspect(object, { depth: 9 })}`;
}

/**
 * An object after it was looked at: its values, and which of its properties can be written, listed and changed. (What
 * was deleted before it was looked at leaves a hidden function behind, which only `Reflect.ownKeys` sees.)
 */
export function remains(object: object): string {
	const values = shape({ ...object });
	const keys = Object.getOwnPropertyNames(object).map((key) => {
		const { writable, get, enumerable, configurable } = Object.getOwnPropertyDescriptor(object, key) ?? {};
		return `${key} ${writable} ${typeof get} ${enumerable} ${configurable}`;
	});
	return `${values}\n${keys.join("\n")}\n${Object.isExtensible(object)}`;
}
