// What a Markdown text leaves open at its end, so that what follows it is not taken for a part of it.

/** CommonMark's HTML blocks that blank lines do not end: how each begins, what ends it, and what to write to end it. */
const HTML = [
	{ begins: /^<(script|pre|style|textarea)(?=[\s>]|$)/i, ends: /<\/(?:script|pre|style|textarea)>/i, end: (/** @type {string} */ name) => `</${name}>` },
	{ begins: /^<!--/, ends: /-->/, end: () => "-->" },
	{ begins: /^<\?/, ends: /\?>/, end: () => "?>" },
	{ begins: /^<!\[CDATA\[/, ends: /\]\]>/, end: () => "]]>" },
	{ begins: /^<![A-Za-z]/, ends: />/, end: () => ">" },
];
/** CommonMark's HTML blocks that end at a blank line: one of these tags, or any tag alone on a line that is not part of a paragraph. */
const TO_EMPTY = /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=\s|\/?>|$)/i;
const TAG_ALONE = /^<(?:\/[a-z][a-z\d-]*\s*|[a-z][a-z\d-]*(?:\s+[\w:.-]+(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*\s*\/?)>\s*$/i;
/** A horizontal rule. It looks like list items. */
const BREAK = /^(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
/** How many nested list items one line may begin. */
const DEEPEST = 50;
/** A line whose tabs are spaces: a tab ends at the next fourth column. */
const expanded = (/** @type {string} */ line) => {
	let text = "";
	for (const letter of line) text += letter === "\t" ? " ".repeat(4 - (text.length % 4)) : letter;
	return text;
};

/**
 * @typedef {object} Open a block that was begun
 * @property {(line: string) => boolean} isEnd whether a line ends it
 * @property {string} [end] the line to add; without one, an empty line ends it
 * @property {number} column of the list item it is in, 0 for none
 */

/**
 * The line that ends the block that a text leaves open; undefined if none is open. Blocks in a list item or a quotation
 * end with it.
 * @param {string} text
 * @returns {string | undefined}
 */
export function missingEnd(text) {
	/** @type {number[]} the columns at which the contents of the list items around begin */
	const items = [];
	/** @type {Open | undefined} */
	let open;
	let begunEmpty = false;
	let inParagraph = false;
	for (const raw of text.split("\n")) {
		const line = /\t/.test(raw) ? expanded(raw) : raw;
		if (/^ *$/.test(line)) {
			if (open?.end === undefined) open = undefined;
			// An item whose first line is empty does not go on below a second one.
			if (begunEmpty && !open) items.pop();
			begunEmpty = false;
			inParagraph = false;
			continue;
		}
		const indent = line.length - line.trimStart().length;
		// A line that continues a paragraph needs no indent.
		if (inParagraph && !open && !startsBlock(line.trimStart())) continue;
		while (items.length > 0 && indent < (items.at(-1) ?? 0)) items.pop();
		if (open && open.column > (items.at(-1) ?? 0)) open = undefined;
		if (open) {
			if (open.isEnd(line.slice(open.column))) open = undefined;
			continue;
		}
		const before = items.length;
		open = begun(line, items, inParagraph);
		begunEmpty = items.length > before && /(?:[-+*]|\d[.)]) *$/.test(line);
		inParagraph = !open && !begunEmpty && isParagraph(line.slice(items.at(-1) ?? 0), inParagraph);
	}
	return open?.column === 0 ? open.end : undefined;
}

/**
 * Whether a line ends the paragraph before it.
 * @param {string} said
 */
const startsBlock = (said) => blockOf(said, 0, true) !== undefined || HTML.some(({ begins }) => begins.test(said)) || BREAK.test(said) || /^(?:[-+*]|\d{1,9}[.)]) +\S|^#{1,6}(?: |$)|^>/.test(said);

/**
 * Whether a line that begins no block is part of a paragraph. An indented line is one only if it continues a paragraph.
 * @param {string} line
 * @param {boolean} goesOn
 * @returns {boolean}
 */
function isParagraph(line, goesOn) {
	let said = line;
	for (;;) {
		if (/^ {4}/.test(said)) return goesOn;
		said = said.trim();
		if (!said.startsWith(">")) break;
		said = said.replace(/^> ?/, "");
	}
	// Only a list that begins with 1 interrupts a paragraph.
	if (goesOn && /^(?!1[.)])\d{1,9}[.)]/.test(said)) return true;
	return said !== "" && !startsBlock(said);
}

/**
 * The block that a line begins. The columns of list items that it begins are added to `items`.
 * @param {string} line
 * @param {number[]} items
 * @param {boolean} inParagraph whether the line may continue a paragraph
 * @returns {Open | undefined}
 */
function begun(line, items, inParagraph) {
	// Deeper items count as text: nobody nests so deep in one line, and each item takes another pass over it.
	for (let column = items.at(-1) ?? 0, depth = 0; depth < DEEPEST; column = items.at(-1) ?? 0, depth++) {
		const rest = line.slice(column);
		// An indent of four is code.
		const [, spaces = "", said = ""] = /^( {0,3})(\S.*)$/.exec(rest) ?? [];
		if (BREAK.test(said)) return undefined;
		const [marker, gap = ""] = /^(?:[-+*]|\d{1,9}[.)])( +|$)/.exec(said) ?? [];
		if (marker === undefined || (inParagraph && /^(?!1[.)])\d/.test(marker))) return blockOf(said, column, inParagraph);
		inParagraph = false;
		// After five spaces and more the item begins with code, one column after its mark.
		const isAlone = said.length === marker.length;
		items.push(column + spaces.length + marker.length - (isAlone || gap.length > 4 ? gap.length - 1 : 0));
		if (isAlone || gap.length > 4) return undefined;
	}
	return undefined;
}

/**
 * @param {string} said a line without what it is indented by
 * @param {number} column
 * @param {boolean} inParagraph
 * @returns {Open | undefined}
 */
function blockOf(said, column, inParagraph) {
	const [, fence] = /^(`{3,}(?=[^`]*$)|~{3,})/.exec(said) ?? [];
	if (fence !== undefined) {
		const isEnd = (/** @type {string} */ line) => {
			const [, run = ""] = /^ {0,3}(`+|~+) *$/.exec(line) ?? [];
			return run[0] === fence[0] && run.length >= fence.length;
		};
		return { isEnd, end: fence, column };
	}
	for (const { begins, ends, end } of HTML) {
		const found = begins.exec(said);
		if (!found) continue;
		return ends.test(said) ? undefined : { isEnd: (line) => ends.test(line), end: end(found[1] ?? ""), column };
	}
	return TO_EMPTY.test(said) || (!inParagraph && TAG_ALONE.test(said)) ? { isEnd: () => false, column } : undefined;
}
