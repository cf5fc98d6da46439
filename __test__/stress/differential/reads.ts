// All ways to read a manager, on both sides, compared.
import { attempt, compareOutcomes, compareValues, Difference, type Outcome } from "./compare.js";
import { Random } from "./random.js";
import type { Side } from "./side.js";
import type { ReadPlan } from "./steps.js";

interface Read {
	name: string;
	run(side: Side, slot: string): unknown;
	/** Its result consists of entries, whose identity is kept beyond the step. */
	ofEntries?: boolean;
}

const simple = (name: string, ofEntries = false): Read => ({
	name: `${name}()`,
	run: (side, slot) => side.manager(slot)[name]?.(),
	ofEntries,
});

const withArgument = (name: string, normalised: unknown, ofEntries = false): Read => ({
	name: `${name}(${JSON.stringify(normalised) ?? "undefined"})`,
	run: (side, slot) =>
		side.manager(slot)[name]?.(typeof normalised === "string" ? side.names.resolve(normalised) : normalised),
	ofEntries,
});

/** Arguments that are not ids of entries, some of a wrong type. */
const ODD_IDS = [undefined, null, "", "0badc0de", "root", 5];

function reads(plan: ReadPlan, r: Random): Read[] {
	const ids: unknown[] = [...plan.ids, r.pick(ODD_IDS)];
	return [
		// Entries come first, so that they are printed in full, and in later results by their label.
		simple("getEntries", true),
		simple("getHeader", true),
		simple("getTree"),
		...["getCwd", "getSessionDir", "usesDefaultSessionDir", "isPersisted", "getSessionId", "getSessionFile"].map(
			(name) => simple(name),
		),
		...["getLeafId", "getEntryCount", "getSessionName"].map((name) => simple(name)),
		simple("getLeafEntry", true),
		simple("getBranch", true),
		...ids.flatMap((id) => [
			withArgument("getEntry", id, true),
			withArgument("getLabel", id),
			withArgument("getBranch", id, true),
			withArgument("getChildren", id, true),
		]),
		simple("buildContextEntries", true),
		simple("buildSessionProjection"),
		simple("buildSessionContext"),
	];
}

/** The results of all reads in a step, before any of them is printed. */
function collect(side: Side, slot: string, list: readonly Read[], order: readonly Read[]): Map<Read, Outcome> {
	const results = new Map<Read, Outcome>();
	side.reenter();
	// The order is random, because a read finds the objects that an earlier read has created.
	for (const read of order)
		results.set(
			read,
			attempt(() => read.run(side, slot)),
		);
	for (const entry of entriesOf(results, list)) side.names.register(entry.id);
	return results;
}

function entriesOf(results: Map<Read, Outcome>, list: readonly Read[]): readonly { id?: unknown }[] {
	const outcome = results.get(list[0] as Read);
	return outcome && "value" in outcome ? (outcome.value as { id?: unknown }[]) : [];
}

export function compareReads(reference: Side, ours: Side, slot: string, plan: ReadPlan): void {
	const r = new Random(plan.seed);
	const list = reads(plan, r);
	const checkFresh = r.chance(0.1);
	const order = r.chance(0.5) ? list : r.shuffle(list);
	const expected = collect(reference, slot, list, order);
	const actual = collect(ours, slot, list, order);
	for (const read of list) {
		const left = expected.get(read) as Outcome;
		const right = actual.get(read) as Outcome;
		const what = `${slot}.${read.name}`;
		if (compareOutcomes(what, reference, left, ours, right) === "threw") continue;
		const [a, b] = [left, right].map((outcome) => (outcome as { value: unknown }).value);
		if (read.name === "getTree()") {
			settleTree(a, entriesOf(expected, list));
			settleTree(b, entriesOf(actual, list));
		}
		compareValues(what, reference, a, ours, b, read.ofEntries);
		if (checkFresh && Array.isArray(b) && read.run(ours, slot) === b) {
			throw new Difference(what, "a new array each time", "the same array twice");
		}
	}
}

interface TreeNode {
	entry: { timestamp: unknown };
	children: TreeNode[];
}

/**
 * At least three siblings, one of which has an invalid time. Their order depends on the sorting algorithm, so it is not
 * compared.
 */
function settleTree(roots: unknown, entries: readonly unknown[]): unknown {
	const position = new Map(entries.map((entry, i) => [entry, i]));
	const stack = [...(roots as TreeNode[])];
	for (let node = stack.pop(); node; node = stack.pop()) {
		const times = node.children.map((child) => new Date(child.entry.timestamp as string).getTime());
		if (times.length > 2 && times.some(Number.isNaN)) {
			node.children.sort((a, b) => (position.get(a.entry) ?? 0) - (position.get(b.entry) ?? 0));
		}
		stack.push(...node.children);
	}
	return roots;
}

/** The state that a failed call must not change, as text. It is used only for the comparison with a later snapshot. */
export function snapshot(side: Side, slot: string): string {
	const manager = side.manager(slot);
	const scalars = ["getSessionId", "getSessionFile", "getLeafId", "getEntryCount", "getCwd", "getSessionDir"].map(
		(name) => manager[name]?.(),
	);
	side.dumper.startStep();
	return side.dumper.dump([...scalars, ...((manager.getEntries?.() ?? []) as unknown[])]);
}
