// `pi-sessions tree --html`: one page that holds a session's tree and needs nothing else, and no network.
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import { partsOf, previewOf, roleOf } from "./entries.mjs";
import { writeText } from "./files.mjs";
import { runsOf } from "./layout.mjs";
import { write, writeJson } from "./output.mjs";
import { escaped, hash, part } from "./page.mjs";
import { asText, clip, counted, safeBlock, safeLine, size } from "./text.mjs";

/** @typedef {import("./layout.mjs").Run} Run */
/** @typedef {import("./library.mjs").Manager} Manager */
/** @typedef {import("./library.mjs").SessionTreeNode} Node */

/**
 * Every entry as the page draws it; the lists go by node.
 * @typedef {object} PageIndex
 * @property {string[]} ids
 * @property {number[]} parents node above, -1 for a root
 * @property {number[]} columns
 * @property {number[]} rows
 * @property {number[]} roles place in `roleNames`
 * @property {string[]} roleNames
 * @property {string[]} texts beginnings
 * @property {number[]} chunks where the body is
 * @property {number[]} firsts the first node of each chunk
 * @property {Record<number, string>} labels
 * @property {number[]} active nodes on the path to the leaf
 * @property {number} leaf node, -1 if there is none
 */

/** @typedef {{ time: string, about?: string, parts: (import("./entries.mjs").Part & { left?: number })[] }} PageBody what an entry says */

/** Characters of one chunk of bodies before it is packed: what a click waits for. */
const CHUNK = 1 << 20;
/** Limits of an entry's text in a page, in characters. Unless one is given, the first that keeps the page small enough is used. */
const MOST = [64, 32, 16, 8, 4].map((kilo) => kilo * 1024);
/** The largest page for which a limit is chosen, in characters before they are packed to about a third. */
const MAX_PAGE = 32 << 20;
/** The page's script, in parts. */
const SCRIPTS = ["tree-data.js", "tree-drawing.js", "tree-detail.js", "tree.js"];
/** Columns of names, paths and tools, which are not texts of an entry. A hostile file may have megabytes there. */
const NAME_COLUMNS = 400;
/** What `img` shows; anything else (SVG above all) stays text. */
const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/**
 * @param {Manager} manager
 * @param {string} path
 * @param {string} file where to, or `-`
 * @param {{ json?: boolean, force?: boolean, full?: boolean, maxEntry?: number }} options
 */
export async function writeTreePage(manager, path, file, options) {
	const laid = indexOf(manager);
	const asked = options.full || options.maxEntry === 0 ? Infinity : options.maxEntry && options.maxEntry * 1024;
	const limit = asked ?? limitFor(laid.lengths);
	const pieces = page(manager, path, laid, limit);
	const bytes = await writeText(file, pieces, { force: Boolean(options.force), source: path });
	if (file === "-") return;
	const cut = laid.lengths.filter((length) => length > limit).length;
	if (options.json) return await writeJson({ path: file, bytes, entries: manager.getEntryCount(), cut, ...(cut > 0 ? { maxEntry: limit / 1024 } : {}) });
	await write(`${safeLine(file)}: ${counted(manager.getEntryCount(), "entry", "entries")}, ${size(bytes)}\n`);
	if (cut > 0) await write(`${counted(cut, "entry is", "entries are")} cut at ${limit / 1024} KiB; --full holds all\n`);
}

/**
 * @param {number[]} lengths of what each entry says
 */
function limitFor(lengths) {
	const total = (/** @type {number} */ limit) => lengths.reduce((sum, length) => sum + Math.min(length, limit), 0);
	return MOST.find((limit) => total(limit) <= MAX_PAGE) ?? /** @type {number} */ (MOST.at(-1));
}

/** @param {unknown} value */
const packed = (value) => gzipSync(JSON.stringify(value), { level: 3 }).toString("base64");

/**
 * The page, piece by piece: bodies are never held all at once.
 * @param {Manager} manager
 * @param {string} path
 * @param {Laid} laid
 * @param {number} limit, in characters of one entry
 * @returns {Generator<string>}
 */
function* page(manager, path, laid, limit) {
	const [style, script] = [part("colours.css") + part("tree.css"), SCRIPTS.map(part).join("")];
	const name = manager.getSessionName() ?? basename(path);
	const facts = [counted(manager.getEntryCount(), "entry", "entries"), manager.getHeader()?.timestamp, manager.getCwd()];
	const about = facts.map((fact) => clip(fact, NAME_COLUMNS)).filter(Boolean).join(", ");
	// Nothing is fetched, only this script runs, and images are part of the page.
	const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
	/** @type {Record<string, string>} */
	const values = { policy: escaped(policy), title: escaped(clip(name, NAME_COLUMNS)), about: escaped(about), style, script };
	for (const [index, piece] of part("tree.html").split(/\{\{(\w+)\}\}/).entries()) {
		if (index % 2 === 0) yield piece;
		else if (piece === "data") yield* data(laid, limit);
		else yield values[piece] ?? "";
	}
}

/**
 * @param {Laid} laid
 * @param {number} limit
 */
function* data({ index, nodes }, limit) {
	/** @type {PageBody[]} */
	let bodies = [];
	let length = 0;
	for (const [node, { entry }] of nodes.entries()) {
		if (bodies.length === 0) index.firsts.push(node);
		index.chunks.push(index.firsts.length - 1);
		const body = bodyOf(entry, limit);
		bodies.push(body);
		length += body.parts.reduce((sum, { text }) => sum + text.length, 100);
		if (length < CHUNK && node < nodes.length - 1) continue;
		yield `<script type="text/plain" class="bodies">${packed(bodies)}</script>\n`;
		bodies = [];
		length = 0;
	}
	yield `<script type="text/plain" id="index">${packed(index)}</script>`;
}

/**
 * @param {any} entry
 * @param {number} limit, in characters
 * @returns {PageBody}
 */
function bodyOf(entry, limit) {
	let free = limit;
	const { usage, provider, model } = entry.message ?? entry;
	const tokens = usage && typeof usage === "object" ? `, ${asText(usage.totalTokens)} tokens, $${asText(usage.cost?.total)}` : "";
	const about = model || tokens ? { about: clip(`${asText(provider)}/${asText(model)}${tokens}`, NAME_COLUMNS) } : {};
	const parts = partsOf(entry).map((one) => {
		const title = one.title === undefined ? {} : { title: one.kind === "image" && IMAGES.test(one.title) ? one.title : clip(one.title, NAME_COLUMNS) };
		const tooLarge = one.kind === "image" && one.text.length > free;
		if (one.kind === "image" && (tooLarge || !IMAGES.test(one.title ?? "") || !/^[A-Za-z0-9+/=]*$/.test(one.text))) {
			const where = tooLarge ? ", not in this page (--full)" : "";
			return /** @type {const} */ ({ kind: "note", text: `image, ${clip(one.title, NAME_COLUMNS)}, ${size(Math.floor((one.text.length * 3) / 4))}${where}` });
		}
		const text = one.kind === "image" ? one.text : safeBlock(one.text.slice(0, free));
		const left = one.kind === "image" ? 0 : Math.max(0, one.text.length - free);
		free = Math.max(0, free - one.text.length);
		return { kind: one.kind, text, ...title, ...(one.failed ? { failed: true } : {}), ...(left > 0 ? { left } : {}) };
	});
	return { time: clip(entry.timestamp, NAME_COLUMNS), ...about, parts };
}

/** @typedef {{ index: PageIndex, nodes: Node[], lengths: number[] }} Laid entries, their positions, and the lengths of their texts */

/**
 * The position of each entry: a column for each branch, a row for each step from its root. A side branch takes the first
 * column right of its branch point's that is free over its whole length.
 * @param {Manager} manager
 * @returns {Laid}
 */
function indexOf(manager) {
	const onPath = new Set(manager.getBranch().map((entry) => entry.id));
	const top = runsOf(manager.getTree(), onPath);
	/** @type {PageIndex} */
	const index = { ids: [], parents: [], columns: [], rows: [], roles: [], roleNames: [], texts: [], chunks: [], firsts: [], labels: {}, active: [], leaf: -1 };
	/** @type {Node[]} */
	const nodes = [];
	/** @type {number[]} */
	const lengths = [];
	const leafId = manager.getLeafId();
	/** @type {Map<string, number>} */
	const roles = new Map();
	/** @param {Node} node @param {number} parent @param {number} column @param {number} row */
	const add = (node, parent, column, row) => {
		const { entry } = node;
		const place = nodes.push(node) - 1;
		const role = clip(roleOf(entry), 40);
		if (!roles.has(role)) roles.set(role, index.roleNames.push(role) - 1);
		index.ids.push(entry.id);
		index.parents.push(parent);
		index.columns.push(column);
		index.rows.push(row);
		index.roles.push(roles.get(role) ?? 0);
		const parts = partsOf(entry);
		lengths.push(parts.reduce((sum, { text }) => sum + text.length, 0));
		index.texts.push(clip(previewOf(parts), 80));
		if (node.label !== undefined) index.labels[place] = clip(node.label, 60);
		if (onPath.has(entry.id)) index.active.push(place);
		if (entry.id === leafId) index.leaf = place;
		return place;
	};
	for (const { runs, branchPoint, column, row } of strips(top)) {
		let above = branchPoint.place;
		let at = row;
		for (const run of runs) {
			for (const node of run.nodes) above = add(/** @type {Node} */ (node), above, column, at++);
			run.last.place = above;
		}
	}
	return { index, nodes, lengths };
}

/**
 * @typedef {object} Strip what is in one column: a run and those that go on below it
 * @property {{ nodes: Run["nodes"], last: { place: number } }[]} runs
 * @property {{ place: number }} branchPoint the entry it leaves, once that has its place
 * @property {Strip | undefined} from the strip of that entry
 * @property {number} row of its first entry
 * @property {number} end the row after its last
 * @property {number} column
 */

/**
 * The strips of a tree with their columns, each after the one it leaves.
 * @param {{ sides: Run[], next: Run | undefined }} top
 */
function strips(top) {
	/** @type {Strip[]} */
	const all = [];
	/** @type {{ run: Run, branchPoint: { place: number }, from: Strip | undefined, row: number }[]} */
	const waiting = [];
	const roots = top.next ? [top.next, ...top.sides] : [];
	for (const run of roots.reverse()) waiting.push({ run, branchPoint: { place: -1 }, from: undefined, row: 0 });
	for (let one = waiting.pop(); one; one = waiting.pop()) {
		/** @type {Strip} */
		const strip = { runs: [], branchPoint: one.branchPoint, from: one.from, row: one.row, end: one.row, column: 0 };
		for (let run = /** @type {Run | undefined} */ (one.run); run; run = run.next) {
			const last = { place: -1 };
			strip.runs.push({ nodes: run.nodes, last });
			strip.end += run.nodes.length;
			for (const side of run.sides) waiting.push({ run: side, branchPoint: last, from: strip, row: strip.end });
		}
		all.push(strip);
	}
	// A strip begins in a later row than the one it leaves, so that one has its column by then.
	all.sort((a, b) => a.row - b.row);
	place(all);
	return all;
}

/**
 * Gives each strip the first column right of its branch point's in which nothing is in its first row, nor right above it: the line that leads
 * to it runs there.
 * @param {Strip[]} strips by row
 */
function place(strips) {
	/** @type {number[]} by column, the row after what is in it so far */
	const ends = [];
	/** @type {Map<number, number>} by the column where the search begins, where it goes on: in one row no column becomes free */
	const next = new Map();
	let row = -1;
	for (const strip of strips) {
		if (strip.row !== row) next.clear();
		row = strip.row;
		const from = strip.from ? strip.from.column + 1 : 0;
		let column = next.get(from) ?? from;
		while ((ends[column] ?? -1) >= row) column++;
		ends[column] = strip.end;
		next.set(from, column + 1);
		strip.column = column;
	}
}
