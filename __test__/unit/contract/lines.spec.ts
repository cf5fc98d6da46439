// The bytes of every kind of line, and the keys of every kind of entry.
import { resolve } from "node:path";
import { expect, test } from "vitest";
import {
	api,
	clockAt,
	inMemory,
	lastLine,
	linesOf,
	message,
	opened,
	scratch,
	system,
	usage,
	user,
} from "../../support/scratch.js";

const NOW = "2025-06-07T08:09:10.111Z";

function open() {
	clockAt(NOW);
	const all = opened([message("aaaaaaaa", null)]);
	return { ...all, line: () => lastLine(all.file), id: () => all.manager.getLeafId() };
}

const tree = (id: unknown) => `"id":"${id}","parentId":"aaaaaaaa","timestamp":"${NOW}"`;

test("a message line has the tree keys, then the message", () => {
	const { manager, line } = open();
	const id = manager.appendMessage(user("naïve \u2028 \ud83d"));
	expect(line()).toBe(
		`{"type":"message",${tree(id)},"message":{"role":"user","content":"naïve \u2028 \\ud83d","timestamp":1735689600000}}`,
	);
});

test("a thinking level line ends with the level", () => {
	const { manager, line } = open();
	const id = manager.appendThinkingLevelChange("high");
	expect(line()).toBe(`{"type":"thinking_level_change",${tree(id)},"thinkingLevel":"high"}`);
});

test("a model line ends with provider and model id", () => {
	const { manager, line } = open();
	const id = manager.appendModelChange("anthropic", "m-1");
	expect(line()).toBe(`{"type":"model_change",${tree(id)},"provider":"anthropic","modelId":"m-1"}`);
});

test("a usage line has its note only if there is one", () => {
	const { manager, line } = open();
	const counts = { input: 1 } as any;
	const plain = manager.appendUsage("title", "p", "m", counts);
	expect(line()).toBe(
		`{"type":"usage",${tree(plain.id)},"kind":"title","provider":"p","model":"m","usage":{"input":1}}`,
	);
	expect(Object.keys(plain)).toEqual(["type", "id", "parentId", "timestamp", "kind", "provider", "model", "usage"]);
	manager.branch("aaaaaaaa");
	const noted = manager.appendUsage("title", "p", "m", counts, "why");
	expect(line()).toBe(
		`{"type":"usage",${tree(noted.id)},"kind":"title","provider":"p","model":"m","usage":{"input":1},"note":"why"}`,
	);
	expect("note" in manager.appendUsage("title", "p", "m", counts, "")).toBe(false);
});

test("a compaction line has details, usage and fromHook where they were given", () => {
	const { manager, line } = open();
	const bare = manager.appendCompaction("sum", "aaaaaaaa", 12);
	expect(line()).toBe(
		`{"type":"compaction",${tree(bare)},"summary":"sum","firstKeptEntryId":"aaaaaaaa","tokensBefore":12}`,
	);
	manager.branch("aaaaaaaa");
	const full = manager.appendCompaction("sum", "aaaaaaaa", 12, { d: 1 }, true, { u: 2 } as any);
	expect(line()).toBe(
		`{"type":"compaction",${tree(full)},"summary":"sum","firstKeptEntryId":"aaaaaaaa","tokensBefore":12,` +
			`"details":{"d":1},"usage":{"u":2},"fromHook":true}`,
	);
});

test("a compaction line ends with the system message if there is one", () => {
	const { manager, line } = open();
	manager.appendMessage(system({ content: "be brief" }));
	manager.appendCompaction("sum", null, 1);
	expect(line()).toMatch(
		/"tokensBefore":1,"systemMessage":\{"role":"system","content":"be brief","timestamp":1749283750111\}\}$/,
	);
});

test("a branch summary line has fromId and summary first", () => {
	const { manager, line } = open();
	const bare = manager.branchWithSummary("aaaaaaaa", "left");
	expect(line()).toBe(`{"type":"branch_summary",${tree(bare)},"fromId":"aaaaaaaa","summary":"left"}`);
	const full = manager.branchWithSummary("aaaaaaaa", "left", { d: 1 }, false, { u: 2 } as any);
	expect(line()).toBe(
		`{"type":"branch_summary",${tree(full)},"fromId":"${bare}","summary":"left","details":{"d":1},"usage":{"u":2},"fromHook":false}`,
	);
});

test("a context edit line ends with target and replacement", () => {
	const { manager, line } = open();
	const id = manager.appendContextEdit("aaaaaaaa", { content: "new" });
	expect(line()).toBe(`{"type":"context_edit",${tree(id)},"targetId":"aaaaaaaa","replacement":{"content":"new"}}`);
});

test("a label line ends with target and label", () => {
	const { manager, line } = open();
	const id = manager.appendLabelChange("aaaaaaaa", "here");
	expect(line()).toBe(`{"type":"label",${tree(id)},"targetId":"aaaaaaaa","label":"here"}`);
	const clear = manager.appendLabelChange("aaaaaaaa", undefined);
	expect(line()).toBe(`{"type":"label","id":"${clear}","parentId":"${id}","timestamp":"${NOW}","targetId":"aaaaaaaa"}`);
});

test("a name line ends with the name", () => {
	const { manager, line } = open();
	const id = manager.appendSessionInfo("  my\r\n\nsession ");
	expect(line()).toBe(`{"type":"session_info",${tree(id)},"name":"my session"}`);
});

test("a custom line has its type and data before the tree keys", () => {
	const { manager, line } = open();
	const id = manager.appendCustomEntry("ext", { a: 1 });
	expect(line()).toBe(`{"type":"custom","customType":"ext","data":{"a":1},${tree(id)}}`);
});

test("a custom message line has all its own keys before the tree keys", () => {
	const { manager, line } = open();
	const id = manager.appendCustomMessageEntry("ext", "text", true, { a: 1 });
	expect(line()).toBe(
		`{"type":"custom_message","customType":"ext","content":"text","display":true,"details":{"a":1},${tree(id)}}`,
	);
});

test("the header line has parentSession only if there is one", () => {
	clockAt(NOW);
	const dir = scratch();
	for (const parentSession of [undefined, "/from/here.jsonl"]) {
		const manager = api.SessionManager.create("/somewhere", dir, {
			id: `s-${parentSession === undefined}`,
			parentSession,
		});
		manager.appendMessage(user());
		const more = parentSession === undefined ? "" : `,"parentSession":"${parentSession}"`;
		expect(linesOf(manager.getSessionFile() as string)[0]).toBe(
			`{"type":"session","version":3,"id":"${manager.getSessionId()}","timestamp":"${NOW}","cwd":${JSON.stringify(resolve("/somewhere"))}${more}}`,
		);
	}
});

test("what was not given is an own undefined key of the entry in memory", () => {
	const manager = inMemory();
	const first = manager.appendMessage(user());
	const keys = (id: string) => Object.keys(manager.getEntry(id) as object);
	const treeKeys = ["id", "parentId", "timestamp"];
	expect(keys(manager.appendCompaction("s", first, 1))).toEqual([
		...["type", ...treeKeys, "summary", "firstKeptEntryId", "tokensBefore", "details", "usage", "fromHook"],
	]);
	expect(keys(manager.branchWithSummary(first, "s"))).toEqual([
		...["type", ...treeKeys, "fromId", "summary", "details", "usage", "fromHook"],
	]);
	expect(keys(manager.appendCustomEntry("x"))).toEqual(["type", "customType", "data", ...treeKeys]);
	expect(keys(manager.appendCustomMessageEntry("x", "y", true))).toEqual([
		...["type", "customType", "content", "display", "details", ...treeKeys],
	]);
	expect(keys(manager.appendLabelChange(first, undefined))).toEqual(["type", ...treeKeys, "targetId", "label"]);
	expect(Object.keys(manager.getHeader() as object)).toEqual([
		...["type", "version", "id", "timestamp", "cwd", "parentSession"],
	]);
});

test("an entry id is 8 hex digits, a session id a UUIDv7", () => {
	const manager = inMemory();
	for (let i = 0; i < 50; i++) expect(manager.appendCustomEntry("x")).toMatch(/^[0-9a-f]{8}$/);
	expect(new Set(manager.getEntries().map((one) => one.id)).size).toBe(50);
	expect(manager.getSessionId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("every append gives the entry's id, appendUsage the entry itself", () => {
	const manager = inMemory();
	const appended = manager.appendUsage("k", "p", "m", usage());
	expect(manager.getEntry(appended.id)).toBe(appended);
	expect(manager.getLeafId()).toBe(appended.id);
});

test("the payloads of every append are the caller's own objects", () => {
	const manager = inMemory();
	const payload = (): any => ({ some: ["thing"] });
	const [body, data, content, details, counts, replacement] = [user(), payload(), [], payload(), usage(), payload()];
	const get = (id: string): any => manager.getEntry(id);
	const first = manager.appendMessage(body);
	expect(get(first).message).toBe(body);
	expect(get(manager.appendCustomEntry("x", data)).data).toBe(data);
	const custom = get(manager.appendCustomMessageEntry("x", content, true, details));
	expect(custom.content).toBe(content);
	expect(custom.details).toBe(details);
	expect(manager.appendUsage("k", "p", "m", counts).usage).toBe(counts);
	const compaction = get(manager.appendCompaction("s", first, 1, details, false, counts));
	expect(compaction.details).toBe(details);
	expect(compaction.usage).toBe(counts);
	replacement.content = content;
	const edit = get(manager.appendContextEdit(first, replacement));
	expect(edit.replacement).toBe(replacement);
	expect(edit.replacement.content).toBe(content);
	const summary = get(manager.branchWithSummary(first, "s", details, false, counts));
	expect(summary.details).toBe(details);
	expect(summary.usage).toBe(counts);
});

test("payloads stay the caller's own in a session on disk, before and after its file is made", () => {
	const manager = api.SessionManager.create("/somewhere", scratch());
	const early = { when: "before" };
	const late = { when: "after" };
	const body = user();
	const ids = [
		manager.appendCustomEntry("x", early),
		manager.appendMessage(body),
		manager.appendCustomEntry("x", late),
	];
	const [first, second, third] = ids.map((id) => manager.getEntry(id) as any);
	expect(first.data).toBe(early);
	expect(second.message).toBe(body);
	expect(third.data).toBe(late);
	expect(manager.getEntries()).toEqual([first, second, third]);
	for (const [at, one] of manager.getEntries().entries()) expect(one).toBe([first, second, third][at]);
});
