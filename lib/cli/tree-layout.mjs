// The layout of a tree: runs of entries without a branch point, and the runs that follow each of them.
//
// At each branch point one child continues in its parent's column: the child that leads to the leaf, otherwise the
// child with the most entries below it. Only side branches are indented. The depth of a drawing is at most the
// logarithm of the number of entries (plus one), because a side branch contains at most half of the entries below its
// branch point, except where the leaf's branch is the smaller one.
import { roleOf, speakerOf } from "../shared/entries.mjs";

/** @typedef {import("../../index.js").OutlineNode} Node an entry of an outline or a tree */

/**
 * @typedef {object} Run entries without a branch point between them
 * @property {Node[]} nodes
 * @property {Run[]} sides the side branches after its last entry, oldest first
 * @property {Run | undefined} next the run that continues in the same column
 * @property {number} size the number of entries in this run and in all runs below it
 */

/**
 * Creates the runs of a tree. No function here is recursive, because sessions are deeper than the stack.
 * @param {Node[]} roots
 * @param {Set<string>} active ids on the path to the leaf
 * @returns {{ sides: Run[], next: Run | undefined }} the runs of the roots, as if these were the children of one entry
 */
export function runsOf(roots, active) {
	/** @type {{ run: Run, children: Node[] }[]} each run before the runs below it */
	const made = [];
	/** @type {Map<Node, Run>} runs by their first entry */
	const byFirst = new Map();
	const waiting = [...roots];
	for (let first = waiting.pop(); first; first = waiting.pop()) {
		const nodes = [first];
		let last = first;
		while (last.children.length === 1) {
			last = /** @type {Node} */ (last.children[0]);
			nodes.push(last);
		}
		/** @type {Run} */
		const run = { nodes, sides: [], next: undefined, size: nodes.length };
		byFirst.set(first, run);
		made.push({ run, children: last.children });
		for (const child of last.children) waiting.push(child);
	}
	for (const { run, children } of made.reverse()) {
		Object.assign(run, parted(children, byFirst, active));
		run.size += sizeOf(run);
	}
	return parted(roots, byFirst, active);
}

/** The number of entries in runs. @param {{ sides: Run[], next: Run | undefined }} runs */
export const sizeOf = ({ sides, next }) => [...sides, ...(next ? [next] : [])].reduce((sum, { size }) => sum + size, 0);

/**
 * @param {Node[]} nodes
 * @param {Map<Node, Run>} byFirst
 * @param {Set<string>} active
 */
function parted(nodes, byFirst, active) {
	const runs = nodes.map((node) => /** @type {Run} */ (byFirst.get(node)));
	const leads = (/** @type {Run} */ run) => active.has(/** @type {Node} */ (run.nodes[0]).entry.id);
	const next = runs.reduce(
		(best, run) => (best === undefined || (!leads(best) && (leads(run) || run.size >= best.size)) ? run : best),
		/** @type {Run | undefined} */ (undefined),
	);
	return { sides: runs.filter((run) => run !== next), next };
}

/**
 * The tree of user messages: the parent of each is the nearest user message above it.
 * @param {Node[]} roots
 * @returns {Node[]}
 */
export function userNodes(roots) {
	/** @type {Node[]} each node before the nodes below it */
	const order = [];
	const waiting = [...roots];
	for (let node = waiting.pop(); node; node = waiting.pop()) {
		order.push(node);
		for (const child of node.children) waiting.push(child);
	}
	/**
	 * @type {Map<Node, Node[]>} for each node: itself if it is a user message, otherwise the nearest user messages below
	 * it
	 */
	const found = new Map();
	const below = (/** @type {Node[]} */ nodes) => {
		const lists = nodes.map((node) => found.get(node) ?? []).filter(({ length }) => length > 0);
		return lists.length === 1 ? /** @type {Node[]} */ (lists[0]) : lists.flat();
	};
	for (const node of order.reverse()) {
		const children = below(node.children);
		found.set(node, roleOf(node.entry) === "user" ? [{ ...node, children }] : children);
	}
	return below(roots);
}

/**
 * Selects the entries of a run that are shown, at most `limit`: always its ends, labelled entries and the leaf; then
 * user messages, then summaries, then the newest of the rest.
 * @param {Node[]} nodes
 * @param {number} limit
 * @param {string | null} leafId
 * @returns {(Node | Node[])[]} entries, and lists of the hidden entries between them
 */
export function folded(nodes, limit, leafId) {
	// A fold is a line as well, so it must replace two entries or more.
	if (nodes.length <= limit + 1) return nodes;
	/** @type {number[][]} */
	const ranks = [[], [], [], []];
	for (const [index, node] of nodes.entries()) {
		const { entry } = node;
		const fixed = index === 0 || index === nodes.length - 1 || node.label !== undefined || entry.id === leafId;
		const role = roleOf(entry);
		const rank = fixed ? 0 : role === "user" ? 1 : ["summary", "name"].includes(speakerOf(role)) ? 2 : 3;
		ranks[rank]?.push(index);
	}
	const [always = [], ...others] = ranks;
	const shown = new Set(always);
	for (const index of others.flatMap((rank) => rank.reverse())) {
		if (shown.size >= limit) break;
		shown.add(index);
	}
	/** @type {(Node | Node[])[]} */
	const result = [];
	for (const [index, node] of nodes.entries()) {
		const last = result.at(-1);
		if (shown.has(index)) result.push(node);
		else if (Array.isArray(last)) last.push(node);
		else result.push([node]);
	}
	return result.map((item) => (Array.isArray(item) && item.length === 1 ? /** @type {Node} */ (item[0]) : item));
}
