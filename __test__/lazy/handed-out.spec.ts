// Entries that were handed out, changed and then copied to a session of their own; and appends whose own code moves the
// manager. Each test is named after what happened.
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, scratch } from "../support/store.js";
import { Peer, openLazy } from "./support.js";
import { writeFileSync } from "node:fs";

const long = (word: string) => [{ type: "text", text: `${word} `.repeat(600) }];
function file(): string {
	const lines = [
		{ type: "session", version: 3, id: "s", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/work" },
		...["a", "b"].map((id, at) => ({
			type: "message",
			id,
			parentId: at === 0 ? null : "a",
			timestamp: "2025-01-01T00:00:00.000Z",
			message: { role: "user", content: long(id), timestamp: 1 },
		})),
	];
	const path = join(scratch(), "s.jsonl");
	writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
	return path;
}

function branchedAfter(change: (message: any, other: any, entry: any) => void): void {
	const manager = openLazy(file());
	const [one, two] = manager.getEntries() as any[];
	change(one.message, two.message, one);
	const path = manager.createBranchedSession("b") as string;
	const written = Peer.open(path).getEntries();
	expect(JSON.stringify(written)).toBe(JSON.stringify(manager.getEntries()));
	expect(written.length).toBe(2);
}

test("a branch wrote the old content of a sealed message that had been given another", () => {
	branchedAfter((message) => {
		Object.seal(message);
		message.content = "changed";
	});
});

test("a branch wrote the old text of a frozen message whose content had been changed", () => {
	branchedAfter((message) => {
		Object.freeze(message);
		message.content[0].text = "changed";
	});
});

test("a branch wrote an entry's own content where it held another entry's message", () => {
	branchedAfter((_message, other, entry) => {
		entry.message = other;
	});
});

test("a branch took a 0 that the caller had written for a value that was not read", () => {
	branchedAfter((message) => {
		message.content = 0;
	});
});

test("a toJSON saw a 0 in place of another entry's content", () => {
	const seen: unknown[] = [];
	branchedAfter((message, other) => {
		message.toJSON = function () {
			seen.push(typeof other.content);
			return { role: "user", content: "said by toJSON", timestamp: 1 };
		};
	});
	expect(new Set(seen)).toEqual(new Set(["object"]));
});

for (const way of ["toJSON", "getter"]) {
	test(`a message whose ${way} took the manager to another session was lost`, () => {
		const other = file();
		const manager = openLazy(file());
		const message: any = { role: "user", timestamp: 1 };
		const go = () => manager.setSessionFile(other);
		if (way === "toJSON") message.toJSON = () => (go(), { role: "user", content: "x", timestamp: 1 });
		else Object.defineProperty(message, "content", { enumerable: true, get: () => (go(), "x") });
		const append = () => manager.appendMessage(message);
		expect(append).toThrow(new TypeError("The manager went to another session while a value was written"));
		expect(manager.getEntries().map((one) => one.id)).toEqual(["a", "b"]);
		const id = manager.appendMessage({ role: "user", content: "after", timestamp: 1 });
		expect((manager.getEntry(id) as any).message.content).toBe("after");
		expect(Peer.open(other).getEntries().length).toBe(3);
	});
}
