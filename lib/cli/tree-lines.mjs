// Draws the tree of a session: a line for each entry, ordered and indented by `tree-layout.mjs`.
import { preview, roleOf, scopeOf } from "../shared/entries.mjs";
import { clip, counted, safeLine, widthOf, wrapped } from "../shared/text.mjs";
import { columns, paint } from "./output.mjs";
import { folded, runsOf, sizeOf, userNodes } from "./tree-layout.mjs";

/** @typedef {import("./tree-layout.mjs").Run} Run */
/** @typedef {import("../../index.js").SessionManager} Manager */
/** @typedef {import("./tree-layout.mjs").Node} Node */
/**
 * @typedef {{ limit: number, isOfUser?: boolean, leafId: string | null, active: Set<string>, preview: (entry:
 * Node["entry"]) => string }} View
 */

/** @type {Record<string, (text: string) => string>} the colour of a role, by the scope of its first text */
const colours = { user: paint.green, assistant: paint.cyan, tool: paint.yellow, summary: paint.magenta };

/** @param {string} role */
export const paintRole = (role) => (colours[scopeOf(role) ?? ""] ?? paint.dim)(role);

/**
 * Yields the lines of the drawing.
 * @param {Manager} manager
 * @param {number} limit the largest number of entries drawn in a run, and of branches drawn at a branch point
 * @param {boolean} isOfUser draws only user messages
 */
export function* treeLines(manager, limit, isOfUser) {
	const { tree, branch } = manager.getOutline();
	const active = new Set(branch);
	const outlined = runsOf(tree, active);
	// The outline needs no bodies, and most entries are not drawn. If ids repeat, the outline and `getEntry` do not
	// agree.
	const isOutline = (limit < Infinity || isOfUser) && sizeOf(outlined) === manager.getEntryCount();
	const nodes = isOutline ? tree : manager.getTree();
	const runs = isOfUser ? runsOf(userNodes(nodes), active) : isOutline ? outlined : runsOf(nodes, active);
	if (sizeOf(runs) === 0) yield paint.dim("No user messages yet");
	const of = isOutline ? (/** @type {Node["entry"]} */ { id }) => preview(manager.getEntry(id) ?? {}) : preview;
	yield* drawn(runs, { limit, isOfUser, leafId: manager.getLeafId(), active, preview: of });
}

/**
 * Yields every entry as plain values, in the order of the drawing.
 * @param {Manager} manager
 */
export function* treeRows(manager) {
	const active = new Set(manager.getBranch().map((entry) => entry.id));
	const leafId = manager.getLeafId();
	for (const row of rows(runsOf(manager.getTree(), active), { limit: Infinity, leafId })) {
		// Without a limit there are no folds.
		if ("branches" in row || Array.isArray(row.item)) continue;
		const { entry, children, label, labelTimestamp } = /** @type {import("../../index.js").SessionTreeNode} */ (
			row.item
		);
		const { id, parentId, type, timestamp } = entry;
		yield {
			...{ id, parentId, type, timestamp, role: roleOf(entry), depth: row.depth, children: children.length },
			...{ active: active.has(id), leaf: id === leafId, label, labelTimestamp },
			text: clip(preview(entry), 200),
		};
	}
}

/**
 * A run that is still to be drawn, with the text before its first line and the text before its other lines.
 * @typedef {{ run: Run, first: string, rest: string, depth: number } | { folded: Run[], first: string }} Waiting
 */

/**
 * Yields the lines and folds of a tree in the order of the drawing.
 * @param {{ sides: Run[], next: Run | undefined }} top
 * @param {Pick<View, "limit" | "leafId">} view
 * @returns {Generator<{ rail: string, depth: number, item: Node | Node[] } | { rail: string, branches: Run[] }>}
 */
function* rows(top, view) {
	/** @type {Waiting[]} */
	const waiting = [];
	const push = (
		/** @type {{ sides: Run[], next: Run | undefined }} */ branchPoint,
		/** @type {string} */ rail,
		/** @type {number} */ depth,
	) => {
		if (branchPoint.next) waiting.push({ run: branchPoint.next, first: rail, rest: rail, depth });
		// We show the newest branches; if there are many, the older ones become one line.
		const hidden =
			branchPoint.sides.length > view.limit + 1
				? branchPoint.sides.slice(0, branchPoint.sides.length - view.limit)
				: [];
		for (const run of branchPoint.sides.slice(hidden.length).reverse()) {
			waiting.push({ run, first: `${rail}├─`, rest: `${rail}│ `, depth: depth + 1 });
		}
		if (hidden.length > 0) waiting.push({ folded: hidden, first: `${rail}├─` });
	};
	push(top, "", 0);
	for (let one = waiting.pop(); one; one = waiting.pop()) {
		if ("folded" in one) {
			yield { rail: one.first, branches: one.folded };
			continue;
		}
		let rail = one.first;
		for (const item of folded(one.run.nodes, view.limit, view.leafId)) {
			yield { rail, depth: one.depth, item };
			rail = one.rest;
		}
		push(one.run, one.rest, one.depth);
	}
}

/**
 * Yields the lines: `●` marks an entry on the path to the leaf, `○` another entry, `⋮` hidden lines.
 * @param {{ sides: Run[], next: Run | undefined }} top
 * @param {View} view
 */
function* drawn(top, view) {
	const width = columns();
	let hidden = 0;
	for (const row of rows(top, view)) {
		const rail = railFor(row.rail, width);
		const fold = (/** @type {string} */ text) => paint.dim(`${rail}${clip(`⋮ ${text}`, width - rail.length)}`);
		if ("branches" in row) {
			const entries = row.branches.reduce((sum, run) => sum + run.size, 0);
			hidden += entries;
			yield fold(
				`${counted(row.branches.length, "older branch", "older branches")}, ${counted(entries, "entry", "entries")}`,
			);
		} else if (Array.isArray(row.item)) {
			hidden += row.item.length;
			yield fold(`${counted(row.item.length, "entry", "entries")}: ${kinds(row.item)}`);
		} else yield entryLine(row.item, rail, view, width);
	}
	if (hidden > 0)
		yield* wrapped(
			`${counted(hidden, "entry", "entries")} hidden; --limit all shows ` +
				`all${view.isOfUser ? "" : ", --user shows all user messages"}`,
			width,
		).map((line) => paint.dim(line));
}

/**
 * The number of entries of each role, as text.
 * @param {Node[]} nodes
 */
function kinds(nodes) {
	/** @type {Map<string, number>} */
	const counts = new Map();
	for (const { entry } of nodes) counts.set(roleOf(entry), (counts.get(roleOf(entry)) ?? 0) + 1);
	return [...counts]
		.sort((a, b) => b[1] - a[1])
		.map(([role, number]) => `${number} ${safeLine(role)}`)
		.join(", ");
}

/**
 * @param {Node} node
 * @param {string} rail
 * @param {View} view
 * @param {number} width
 */
function entryLine(node, rail, view, width) {
	const { entry } = node;
	const active = view.active.has(entry.id);
	let space = width - rail.length - 1;
	/**
	 * Reserves the columns of a part and of the space before it.
	 * @param {string} text
	 * @param {number} limit
	 * @param {number} least with fewer columns the part is left out
	 */
	const part = (text, limit, least) => {
		const shown =
			Math.min(limit, space - 1) < Math.min(least, widthOf(text)) ? "" : clip(text, Math.min(limit, space - 1));
		space -= shown === "" ? 0 : widthOf(shown) + 1;
		return shown;
	};
	const id = part(entry.id, 8, 4);
	const leaf = entry.id !== view.leafId ? "" : part(space > 24 ? "◀ leaf" : "◀", 6, 1);
	const role = part(roleOf(entry), Math.min(24, Math.max(4, Math.floor(space / 3))), 4);
	const label = node.label
		? part(`[${clip(node.label, Math.min(40, Math.max(3, Math.floor(space / 2) - 3)))}]`, 42, 5)
		: "";
	const body = part(view.preview(entry), Infinity, 4);
	const parts = [paint.dim(id), paintRole(role), active ? body : paint.dim(body), paint.bold(label), paint.bold(leaf)];
	const texts = [id, role, body, label, leaf];
	return [`${paint.dim(rail)}${active ? "●" : "○"}`, ...parts.filter((_, index) => texts[index] !== "")].join(" ");
}

/**
 * The text before a line. If it is too long for the terminal, only its end.
 * @param {string} rail
 * @param {number} width
 */
function railFor(rail, width) {
	const limit = Math.max(4, Math.floor(width / 3));
	return rail.length <= limit ? rail : `…${rail.slice(1 - limit)}`;
}
