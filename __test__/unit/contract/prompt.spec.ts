// The system message that a compaction carries, the session's name, labels.
import { expect, test } from "vitest";
import { api, clockAt, inMemory, message, opened, shape, system, user } from "../../support/scratch.js";

const NOW = "2025-06-07T08:09:10.111Z";
const tool = (name: string, more = {}) => ({
	name,
	description: `does ${name}`,
	parameters: { type: "object" },
	...more,
});

/** The system message of a compaction that follows these messages. */
function replayed(...messages: any[]): any {
	clockAt(NOW);
	const manager = inMemory();
	for (const one of messages) manager.appendMessage(one);
	const compaction: any = manager.getEntry(manager.appendCompaction("s", null, 1));
	expect("systemMessage" in compaction).toBe(compaction.systemMessage !== undefined);
	return compaction.systemMessage;
}

test("contents are joined, and empty ones left out", () => {
	const blocks = [
		{ type: "text", text: "two" },
		{ type: "text", text: "three" },
	];
	const made = replayed(system({ content: "one" }), user("no"), system({ content: "" }), system({ content: blocks }));
	expect(shape(made)).toBe(shape({ role: "system", content: "one\n\ntwo\nthree", timestamp: Date.parse(NOW) }));
});

test("a system message without content still makes one", () => {
	expect(replayed(system({ content: null }))).toEqual({ role: "system", content: "", timestamp: Date.parse(NOW) });
});

test("sections are patched by name and keep their place", () => {
	const made = replayed(
		system({ sections: { a: "1", b: "2", c: "3" } }),
		system({ sections: { c: "4", a: null } }),
		system({ sections: { a: "5", b: "6" } }),
	);
	expect(Object.entries(made.sections)).toEqual([
		["b", "6"],
		["c", "4"],
		["a", "5"],
	]);
	expect(Object.keys(made)).toEqual(["role", "content", "sections", "timestamp"]);
});

test("sections and tools that end up empty are absent", () => {
	const made = replayed(
		system({ content: "x", sections: { a: "1" }, toolsAdded: [tool("t")] }),
		system({ sections: { a: null }, toolsRemoved: [{ name: "t" }] }),
	);
	expect(Object.keys(made)).toEqual(["role", "content", "timestamp"]);
});

test("tools are added and removed by name, removals first", () => {
	const [one, two, newOne, newTwo] = [tool("one"), tool("two"), tool("one", { v: 2 }), tool("two", { v: 2 })];
	const made = replayed(
		system({ toolsAdded: [one, two] }),
		system({ toolsAdded: [newOne] }),
		system({ toolsRemoved: [{ name: "two" }, { name: "never there" }], toolsAdded: [newTwo] }),
	);
	expect(made.toolsAdded).toEqual([newOne, newTwo]);
	expect(made.toolsAdded[0]).toBe(newOne);
	const reordered = replayed(
		system({ toolsAdded: [one, two] }),
		system({ toolsRemoved: [{ name: "one" }], toolsAdded: [newOne] }),
	);
	expect(reordered.toolsAdded).toEqual([two, newOne]);
});

test("names like __proto__ are names like any other", () => {
	const made = replayed(
		system({ sections: JSON.parse('{"__proto__":"p","constructor":"c"}'), toolsAdded: [tool("__proto__")] }),
	);
	expect(Object.entries(made.sections)).toEqual([
		["__proto__", "p"],
		["constructor", "c"],
	]);
	expect(Object.getPrototypeOf(made.sections)).toBe(Object.prototype);
	expect(made.toolsAdded).toHaveLength(1);
});

test("an earlier compaction is replayed once", () => {
	clockAt(NOW);
	const manager = inMemory();
	manager.appendMessage(system({ content: "one", toolsAdded: [tool("t")] }));
	manager.appendMessage(user());
	manager.appendCompaction("first", null, 1);
	manager.appendMessage(system({ content: "two", sections: { a: "1" } }));
	const second: any = manager.getEntry(manager.appendCompaction("second", null, 1));
	expect(second.systemMessage.content).toBe("one\n\ntwo");
	expect(second.systemMessage.toolsAdded).toHaveLength(1);
	const messages = manager.buildSessionContext().messages as any[];
	expect(messages.map((one) => one.role)).toEqual(["system", "compactionSummary"]);
	expect(messages[0]).toBe(second.systemMessage);
});

test("only the current branch is replayed", () => {
	const { manager } = opened([
		message("a", null, system({ content: "here" })),
		message("b", "a", system({ content: "elsewhere" })),
		message("c", "a"),
	]);
	const compaction: any = manager.getEntry(manager.appendCompaction("s", "c", 1));
	expect(compaction.systemMessage.content).toBe("here");
	expect(compaction.parentId).toBe("c");
});

test("the name is the newest of all branches", () => {
	const info = (id: string, fields: object) => ({
		type: "session_info",
		id,
		parentId: null,
		timestamp: "t",
		...fields,
	});
	const name = (...infos: object[]) => opened([...(infos as any[]), message("z", null)]).manager.getSessionName();
	expect(name(info("1", { name: "one" }), info("2", { name: " two " }))).toBe("two");
	for (const clear of [{ name: "" }, { name: " \t" }, {}, { name: null }])
		expect(name(info("1", { name: "one" }), info("2", clear))).toBeUndefined();
	const manager = inMemory();
	const first = manager.appendMessage(user());
	manager.appendSessionInfo("on a branch");
	manager.branch(first);
	expect(manager.getSessionName()).toBe("on a branch");
	manager.appendSessionInfo("");
	expect(manager.getSessionName()).toBeUndefined();
});

test("labels stay on other branches and in forks", () => {
	const { manager, file } = opened([message("a", null), message("b", "a")]);
	manager.appendLabelChange("b", "here");
	manager.branch("a");
	expect(manager.getLabel("b")).toBe("here");
	expect(api.SessionManager.open(file).getLabel("b")).toBe("here");
	expect(api.SessionManager.forkFrom(file, "/x", file.replace(/[^/]+$/, "forks")).getLabel("b")).toBe("here");
});
