// Calls that do not need large values do not read them: afterwards these are still accessors.
import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { SessionManager } from "../../../index.js";
import type { Json } from "../../support/scratch.js";
import {
	api,
	assistant,
	entry,
	header,
	message,
	scratch,
	shape,
	text,
	user,
	writeSession,
} from "../../support/scratch.js";
import { long, openLazy, Reference, sampleFile, samples, waiting } from "./support.js";

const ALL = [
	...["message.content", "message.content", "message.content", "message.content message.details", "message.details"],
	...["message.content", "message.content", "message.content", "data", "content details", "details", "details"],
	...["content details data", "", ""],
];
const stillWait = (manager: SessionManager): string[] => manager.getEntries().map((one) => waiting(one).join(" "));

/** Reads everything except the large values. */
function footer(manager: SessionManager): unknown[] {
	return manager
		.getEntries()
		.map((one: any) => [
			...[one.type, one.id, one.parentId, one.timestamp, one.customType, one.summary],
			...[one.message?.role, one.message?.usage, one.message?.timestamp, one.message?.toolName],
		]);
}

const READS: Record<string, (manager: SessionManager) => unknown> = {
	"roles, usage, types and times of all entries": footer,
	getEntry: (manager) => manager.getEntry("e3"),
	getEntryCount: (manager) => manager.getEntryCount(),
	getBranch: (manager) => manager.getBranch(),
	"getBranch of another": (manager) => manager.getBranch("e5"),
	getPath: (manager) => manager.getPath("e7"),
	getChildren: (manager) => manager.getChildren("e2"),
	getTree: (manager) => manager.getTree(),
	getLeafEntry: (manager) => manager.getLeafEntry(),
	getSessionName: (manager) => manager.getSessionName(),
	getLabel: (manager) => manager.getLabel("e2"),
	getHeader: (manager) => manager.getHeader(),
	buildContextEntries: (manager) => manager.buildContextEntries(),
	appendMessage: (manager) => manager.appendMessage(user("new")),
	appendLabelChange: (manager) => manager.appendLabelChange("e3", "a label"),
	appendSessionInfo: (manager) => manager.appendSessionInfo("a name"),
	appendThinkingLevelChange: (manager) => manager.appendThinkingLevelChange("high"),
	appendModelChange: (manager) => manager.appendModelChange("p", "m"),
	appendUsage: (manager) => manager.appendUsage("k", "p", "m", assistant().usage),
	appendCustomEntry: (manager) => manager.appendCustomEntry("x", { y: 1 }),
	appendCustomMessageEntry: (manager) => manager.appendCustomMessageEntry("x", "text", true, { y: 1 }),
	appendContextEdit: (manager) => manager.appendContextEdit("e13", null),
	appendCompaction: (manager) => {
		// The context contains a custom message, whose message is created anew.
		manager.branch("e9");
		manager.appendCompaction("a summary", "e3", 5);
	},
	branch: (manager) => manager.branch("e3"),
	resetLeaf: (manager) => manager.resetLeaf(),
	branchWithSummary: (manager) => manager.branchWithSummary("e3", "a summary", { read: [] }),
};

for (const [name, read] of Object.entries(READS)) {
	for (const before of ["when entries were read before", "when not"] as const) {
		test(`${name} looks at no large value, ${before}`, () => {
			const manager = openLazy(sampleFile());
			const held = before === "when not" ? [] : manager.getEntries();
			read(manager);
			for (const [at, one] of held.entries()) expect(waiting(one).join(" ")).toBe(ALL[at]);
			expect(stillWait(manager).slice(0, ALL.length)).toEqual(ALL);
		});
	}
}

test("a context takes the stored messages without looking into them", () => {
	const manager = openLazy(sampleFile());
	manager.branch("e8");
	for (const build of ["buildSessionContext", "buildSessionProjection"] as const) {
		manager[build]();
		expect(manager[build]().messages.length).toBe(8);
		expect(stillWait(manager)).toEqual(ALL);
	}
	// Messages that are created anew, for custom messages and for edited entries, contain the values themselves.
	manager.branch("e9");
	manager.buildSessionContext();
	expect(stillWait(manager).filter((left, at) => left !== ALL[at])).toEqual([""]);
});

test("an edit of the context reads only its target", () => {
	const manager = openLazy(sampleFile());
	manager.branch("e8");
	manager.appendContextEdit("e3", null);
	manager.appendContextEdit("e0", { content: "instead" });
	const { messages } = manager.buildSessionContext();
	expect(messages[0]).toMatchObject({ role: "user", content: "instead" });
	expect(messages).toHaveLength(7);
	expect(stillWait(manager).slice(1, ALL.length)).toEqual(ALL.slice(1));
});

test("values are large from 512 bytes of JSON on", () => {
	const sized = (bytes: number): string => "x".repeat(bytes - 2);
	const cases: [unknown, string][] = [
		[sized(511), ""],
		[sized(512), "message.content"],
		["é".repeat(254), ""],
		["é".repeat(255), "message.content"],
		['"'.repeat(254), ""],
		['"'.repeat(255), "message.content"],
		[[sized(509)], ""],
		[[sized(510)], "message.content"],
		[null, ""],
	];
	const lines = cases.map(([content], at) => message(`m${at}`, null, user(content)));
	const manager = openLazy(writeSession(scratch(), [header(), ...lines]));
	expect(manager.getEntries().map((one) => waiting(one).join(" "))).toEqual(cases.map(([, left]) => left));
	expect(manager.getEntries().map(shape)).toEqual(lines.map(shape));
});

test("entries that were appended here are the caller's objects", () => {
	const manager = openLazy(sampleFile());
	const mine = user([{ type: "text", text: long("mine") }]);
	const data = { list: [long("data")] };
	const id = manager.appendMessage(mine);
	const other = manager.appendCustomEntry("x", data);
	expect((manager.getEntry(id) as any).message).toBe(mine);
	expect((manager.getEntry(other) as any).data).toBe(data);
	expect(stillWait(manager)).toEqual([...ALL, "", ""]);
});

test("entries of another process wait, too", () => {
	const file = sampleFile();
	const manager = openLazy(file);
	expect(manager.getEntryCount()).toBe(ALL.length);
	appendFileSync(file, text([message("theirs", "e14", assistant(long("by another")))]));
	manager.appendMessage(user("mine"));
	expect(stillWait(manager)).toEqual([...ALL, "message.content", ""]);
	expect((manager.getEntry("theirs") as any).message.content[0].text).toBe(long("by another"));
});

test("the first write of a branch reads no large value", () => {
	const [head, ...entries] = [header({ id: "taken" }), ...samples()] as [Json, ...Json[]];
	const source = openLazy(writeSession(scratch(), [head, ...entries]));
	const path = source.createBranchedSession("e9") as string;
	expect(source.getEntries().map((one) => waiting(one).join(" "))).toEqual(ALL.slice(0, 10));
	source.appendMessage(user("goes on"));
	expect(
		source
			.getEntries()
			.slice(0, 10)
			.map((one) => waiting(one).join(" ")),
	).toEqual(ALL.slice(0, 10));
	expect(Reference.open(path).getEntries().map(shape)).toEqual(source.getEntries().map(shape));
});

test("forkFrom leaves entries that others hold of the source alone", () => {
	const file = sampleFile();
	const manager = openLazy(file);
	const held = manager.getEntries();
	const fork = api.SessionManager.forkFrom(file, scratch(), scratch());
	expect(held.map((one) => waiting(one).join(" "))).toEqual(ALL);
	expect(stillWait(fork)).toEqual(ALL);
	expect(fork.getEntries().map(shape)).toEqual(manager.getEntries().map(shape));
});

test("each large value of an entry is read by itself", () => {
	const both = { content: [long("c")], details: [long("d")], data: [long("e")] };
	const manager = openLazy(
		writeSession(scratch(), [header(), entry("invented", "a", null, { ...both, message: both })]),
	);
	const one = manager.getEntry("a") as any;
	expect(waiting(one)).toEqual(["content", "details", "data", "message.content", "message.details"]);
	expect(one.message.data).toEqual(both.data);
	expect(one.message.details).toEqual(both.details);
	expect(waiting(one)).toEqual(["content", "details", "data", "message.content"]);
	expect(one.data).toEqual(both.data);
	expect(waiting(one)).toEqual(["content", "details", "message.content"]);
	expect(shape(one)).toBe(shape(entry("invented", "a", null, { ...both, message: both })));
});
