// Sessions of very many entries: one path, many labels, many siblings. With quadratic or recursive code the tests would
// not end.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, header, scratch, user } from "../../support/scratch.js";
import { openLazy } from "../../unit/lazy/support.js";

/** Writes a session line by line. */
function sessionOf(lines: Iterable<string>): string {
	const file = join(scratch(), "session.jsonl");
	let batch = `${JSON.stringify(header())}\n`;
	for (const line of lines) {
		batch += `${line}\n`;
		if (batch.length < 1 << 22) continue;
		appendFileSync(file, batch);
		batch = "";
	}
	appendFileSync(file, batch);
	return file;
}

const TIME = '"timestamp":"2025-01-01T00:00:00.000Z"';
const message = (id: string, parent: string | null, role: string): string =>
	`{"type":"message","id":"${id}","parentId":${parent === null ? null : `"${parent}"`},${TIME},"message":{"role":"${role}","content":"${id}","timestamp":1}}`;

/** The number of items in which two lists differ. */
const differing = (some: readonly unknown[], others: readonly unknown[]): number =>
	some.reduce((count: number, one, at) => count + (one === others[at] ? 0 : 1), Math.abs(some.length - others.length));

const MILLION = 1_000_000;

test("a path of a million entries is read and extended", () => {
	function* chain(): Iterable<string> {
		for (let at = 0; at < MILLION; at++)
			yield message(`m${at}`, at === 0 ? null : `m${at - 1}`, at % 2 ? "assistant" : "user");
	}
	const manager = openLazy(sessionOf(chain()));
	expect(manager.getEntryCount()).toBe(MILLION);
	expect(manager.getLeafId()).toBe(`m${MILLION - 1}`);
	const added = Array.from({ length: 20 }, (_, at) => {
		const id = manager.appendMessage(user(`more ${at}`));
		expect(manager.getLeafId()).toBe(id);
		if (at % 5 === 0) expect(manager.getBranch()).toHaveLength(MILLION + at + 1);
		return id;
	});
	const all = manager.getEntries();
	expect(all).toHaveLength(MILLION + 20);
	expect(differing(manager.getBranch(), all)).toBe(0);
	const { messages } = manager.buildSessionContext();
	expect(
		differing(
			messages,
			all.map((one: any) => one.message),
		),
	).toBe(0);
	expect(differing(manager.buildContextEntries(), all)).toBe(0);
	const projection = manager.buildSessionProjection();
	expect(
		differing(
			projection.entries.map((one) => one.sourceEntry),
			all,
		),
	).toBe(0);
	expect(manager.getEntry(added[19] as string)).toBe(all.at(-1));
	// Down the tree, one child each.
	let depth = 0;
	let nodes = manager.getTree();
	for (; nodes.length === 1; depth++) {
		if (nodes[0]?.entry !== all[depth]) break;
		nodes = nodes[0]?.children as typeof nodes;
	}
	expect([depth, nodes]).toEqual([MILLION + 20, []]);
	for (let at = 0; at < MILLION; at += 997) {
		const [child, ...more] = manager.getChildren(`m${at}`);
		expect(child === all[at + 1] && more.length === 0).toBe(true);
	}
	// Another branch, far up.
	manager.branch("m500000");
	const id = manager.appendMessage(user("another way"));
	const branch = manager.getBranch();
	expect([branch.length, branch[500_001]?.id]).toEqual([500_002, id]);
	expect(differing(branch.slice(0, -1), all.slice(0, 500_001))).toBe(0);
	expect(manager.getChildren("m500000")).toEqual([all[500_001], manager.getEntry(id)]);
});

test("a path of 100,000 labels can be read and branched", () => {
	const count = 100_000;
	function* chain(): Iterable<string> {
		for (let at = 0; at < count; at++) {
			yield message(`m${at}`, at === 0 ? null : `l${at - 1}`, "user");
			yield `{"type":"label","id":"l${at}","parentId":"m${at}",${TIME},"targetId":"m${at}","label":"label ${at}"}`;
		}
	}
	const manager = openLazy(sessionOf(chain()));
	expect(manager.getEntryCount()).toBe(2 * count);
	expect(manager.getLabel(`m${count - 1}`)).toBe(`label ${count - 1}`);
	let [depth, labels] = [0, 0];
	for (let nodes = manager.getTree(); nodes.length === 1; nodes = nodes[0]?.children as typeof nodes) {
		if (nodes[0]?.label === `label ${depth / 2}`) labels++;
		depth++;
	}
	expect([depth, labels]).toEqual([2 * count, count]);
	expect(manager.buildSessionContext().messages).toHaveLength(count);
	const file = manager.createBranchedSession(`l${count - 1}`) as string;
	// The path without its labels, and each label again behind it.
	expect(manager.getEntryCount()).toBe(2 * count);
	expect(manager.getBranch(`m${count - 1}`)).toHaveLength(count);
	for (let at = 0; at < count; at += 991) expect(manager.getLabel(`m${at}`)).toBe(`label ${at}`);
	const again = api.SessionManager.open(file);
	expect(again.getEntryCount()).toBe(2 * count);
	expect(again.getLabel("m777")).toBe("label 777");
	expect(again.getLeafId()).toBe(manager.getLeafId());
});

test("one parent has 200,000 children", () => {
	const count = 200_000;
	function* star(): Iterable<string> {
		yield message("root", null, "user");
		for (let at = 0; at < count; at++) yield message(`m${at}`, "root", "assistant");
	}
	const manager = openLazy(sessionOf(star()));
	const all = manager.getEntries();
	expect(differing(manager.getChildren("root"), all.slice(1))).toBe(0);
	const [root, ...others] = manager.getTree();
	expect(others).toEqual([]);
	expect(differing(root?.children.map((node) => node.entry) ?? [], all.slice(1))).toBe(0);
	for (let at = 0; at < 200; at++) {
		manager.branch("root");
		manager.appendMessage(user(`more ${at}`));
		expect(manager.getBranch()).toHaveLength(2);
		expect(manager.getChildren(`m${at}`)).toEqual([]);
	}
	expect(manager.getChildren("root")).toHaveLength(count + 200);
	expect(manager.getChildren("root").at(-1)).toBe(manager.getLeafEntry());
	manager.createBranchedSession("m77");
	expect(manager.getEntries().map((one) => one.id)).toEqual(["root", "m77"]);
});

test("300,000 entries are appended in memory", () => {
	const manager = api.SessionManager.inMemory("/somewhere");
	const shared = user("x");
	for (let at = 0; at < 300_000; at++) manager.appendMessage(shared);
	const branch = manager.getBranch();
	expect(branch).toHaveLength(300_000);
	expect(
		branch.every((one: any, at) => one.message === shared && (at === 0 || one.parentId === branch[at - 1]?.id)),
	).toBe(true);
	expect(manager.buildSessionContext().messages).toHaveLength(300_000);
	expect(differing(manager.getEntries(), branch)).toBe(0);
});

test("a context with as many edits as entries is built", () => {
	const [count, path] = [60_000, "m"];
	function* lines(): Iterable<string> {
		for (let at = 0; at < count; at++)
			yield message(`${path}${at}`, at === 0 ? null : `${path}${at - 1}`, at % 2 ? "assistant" : "user");
		for (let at = 0; at < count; at++) {
			const parent = at === 0 ? `${path}${count - 1}` : `e${at - 1}`;
			yield `{"type":"context_edit","id":"e${at}","parentId":"${parent}",${TIME},"targetId":"${path}${at}","replacement":${at % 3 ? '{"content":"x"}' : null}}`;
		}
	}
	const manager = openLazy(sessionOf(lines()));
	const kept = count - count / 3;
	for (let round = 0; round < 3; round++) {
		manager.branch(`${path}${count - 1}`);
		expect(manager.buildSessionContext().messages).toHaveLength(count);
		manager.branch(`e${count - 1}`);
		expect(manager.buildSessionContext().messages).toHaveLength(kept);
	}
	for (let at = 0; at < 5_000; at++) {
		manager.appendContextEdit(`${path}${at}`, at % 2 ? null : { content: "y" });
		if (at % 1_000 === 0) expect(manager.buildContextEntries().length).toBe(2 * count + at + 1);
	}
	expect(manager.buildSessionContext().messages[0]).toMatchObject({ content: "y" });
});
