// What the page of `pi-sessions tree --html` holds of a session: gzip in base64, in which no character can end a script element.
"use strict";

/** @typedef {import("../tree-page.mjs").PageIndex} PageIndex */
/** @typedef {import("../tree-page.mjs").PageBody} PageBody */
/** @typedef {Awaited<ReturnType<typeof readTree>>} Tree */

/** @template {HTMLElement} T @param {string} id @returns {T} */
const byId = (id) => /** @type {T} */ (document.getElementById(id));

/** The entries and where they are, and what reads their texts. */
async function readTree() {
	const CHUNKS_KEPT = 16;

	/** @param {Element} element */
	async function unpacked(element) {
		const binary = atob(element.textContent ?? "");
		const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
		const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
		return JSON.parse(await new Response(stream).text());
	}

	/** @type {PageIndex} */
	const index = await unpacked(byId("index"));
	const chunks = [...document.querySelectorAll("script.bodies")];
	/** @type {Map<number, Promise<PageBody[]>>} the newest used last */
	const kept = new Map();

	/** @param {number} chunk @returns {Promise<PageBody[]>} */
	function bodiesOf(chunk) {
		const bodies = kept.get(chunk) ?? unpacked(/** @type {Element} */ (chunks[chunk]));
		kept.delete(chunk);
		kept.set(chunk, bodies);
		for (const old of kept.keys()) if (kept.size > CHUNKS_KEPT) kept.delete(old);
		return bodies;
	}

	const total = index.ids.length;
	const { ids, parents, columns, rows, roles, texts } = index;
	const lastRow = rows.reduce((most, row) => Math.max(most, row), 0);
	const lastColumn = columns.reduce((most, column) => Math.max(most, column), 0);
	/** Nodes in the order of their rows, and where each row begins in it. */
	const byRow = [...rows.keys()].sort((a, b) => rows[a] - rows[b]);
	const rowStarts = new Uint32Array(lastRow + 2);
	for (const row of rows) rowStarts[row + 1]++;
	for (let row = 0; row <= lastRow; row++) rowStarts[row + 1] += rowStarts[row];
	/** @type {Map<number, number[]>} */
	const children = new Map();
	parents.forEach((parent, node) => {
		if (parent < 0) return;
		const below = children.get(parent);
		if (below) below.push(node);
		else children.set(parent, [node]);
	});
	const active = new Set(index.active);
	return { index, total, lastRow, lastColumn, byRow, rowStarts, children, active, chunks, bodiesOf };
}
