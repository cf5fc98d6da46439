// The shape of a tree for people: runs of entries without a branch point, one below the other, and the runs that leave
// them.
//
// At each branch point one child continues in its parent's column: the one that leads to the leaf, else the one with
// the most entries below it. So only side branches indent, and no drawing is deeper than the logarithm of the session:
// each side branch holds at most half of what its branch point holds (one more where the leaf's branch is the smaller).
import { roleOf } from "../shared/entries.mjs";

/** @typedef {import("../../index.js").OutlineNode} Node an entry of an outline, or of a tree */

/**
 * @typedef {object} Run entries in a line, from a root or a branch point to a branch point or an end
 * @property {Node[]} nodes
 * @property {Run[]} sides branches that leave after its last entry, oldest first
 * @property {Run | undefined} next where the column goes on
 * @property {number} size entries in it and in all that follows
 */

/**
 * Makes the runs of a tree. Sessions are deeper than the stack, so nothing here recurses.
 * @param {Node[]} roots
 * @param {Set<string>} active ids on the path to the leaf
 * @returns {{ sides: Run[], next: Run | undefined }} as after an entry above all roots
 */
export function runsOf(roots, active) {
	/** @type {{ run: Run, children: Node[] }[]} in an order that has each run before those that leave it */
	const made = [];
	/** @type {Map<Node, Run>} by first entry */
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

/** How many entries are in runs. @param {{ sides: Run[], next: Run | undefined }} runs */
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
 * The tree of user messages alone: each is a child of the last one before it.
 * @param {Node[]} roots
 * @returns {Node[]}
 */
export function userNodes(roots) {
	/** @type {Node[]} each node before those below it */
	const order = [];
	const waiting = [...roots];
	for (let node = waiting.pop(); node; node = waiting.pop()) {
		order.push(node);
		for (const child of node.children) waiting.push(child);
	}
	/** @type {Map<Node, Node[]>} by node, the user messages that follow it, or itself */
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
 * Which entries of a run are shown when at most `limit` are: its ends, labelled ones and the leaf always, then what the
 * user said, then summaries, then the newest of the rest.
 * @param {Node[]} nodes
 * @param {number} limit
 * @param {string | null} leafId
 * @returns {(Node | Node[])[]} entries, and lists of those left out between them
 */
export function folded(nodes, limit, leafId) {
	// A fold takes a line as well, so a single entry is never folded.
	if (nodes.length <= limit + 1) return nodes;
	/** @type {number[][]} */
	const ranks = [[], [], [], []];
	for (const [index, node] of nodes.entries()) {
		const { entry } = node;
		const fixed = index === 0 || index === nodes.length - 1 || node.label !== undefined || entry.id === leafId;
		const role = roleOf(entry);
		const rank = fixed ? 0 : role === "user" ? 1 : /compaction|branch_summary|session_info/.test(role) ? 2 : 3;
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
