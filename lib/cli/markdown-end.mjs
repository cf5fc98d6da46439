// What a Markdown text leaves open at its end, so that what follows it is not taken for a part of it.

/** HTML that goes on over blank lines until its end is seen, by CommonMark: how each kind begins, ends, and is ended. */
const HTML = [
	{ begins: /^<(script|pre|style|textarea)(?=[\s>]|$)/i, ends: /<\/(?:script|pre|style|textarea)>/i, end: (/** @type {string} */ name) => `</${name}>` },
	{ begins: /^<!--/, ends: /-->/, end: () => "-->" },
	{ begins: /^<\?/, ends: /\?>/, end: () => "?>" },
	{ begins: /^<!\[CDATA\[/, ends: /\]\]>/, end: () => "]]>" },
	{ begins: /^<![A-Za-z]/, ends: />/, end: () => ">" },
];
/** HTML that goes on to the next empty line: blocks, and any tag alone on a line that goes on with no paragraph. */
const TO_EMPTY = /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=\s|\/?>|$)/i;
const TAG_ALONE = /^<(?:\/[a-z][a-z\d-]*\s*|[a-z][a-z\d-]*(?:\s+[\w:.-]+(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*\s*\/?)>\s*$/i;
/** A line across the page, which may look like items. */
const BREAK = /^(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
/** How many items one line may begin inside of each other. */
const DEEPEST = 50;
/** A tab goes to the next fourth column. */
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
 * The line that ends what a text leaves open; nothing where it leaves nothing open. What is in a list item or a
 * quotation ends with that.
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
		// A line that only goes on with a paragraph may be further to the left.
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
 * Whether a line that begins no block is part of a paragraph: after another of it, indented ones are, too.
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
	// A list that interrupts one begins with 1.
	if (goesOn && /^(?!1[.)])\d{1,9}[.)]/.test(said)) return true;
	return said !== "" && !startsBlock(said);
}

/**
 * What a line begins. Items of lists that it begins are noted.
 * @param {string} line
 * @param {number[]} items
 * @param {boolean} inParagraph whether it may go on with one
 * @returns {Open | undefined}
 */
function begun(line, items, inParagraph) {
	// What is deeper in one line is as good as a text: nobody writes so, and each item looks at all the rest of the line.
	for (let column = items.at(-1) ?? 0, depth = 0; depth < DEEPEST; column = items.at(-1) ?? 0, depth++) {
		const rest = line.slice(column);
		// Four more are code.
		const [, spaces = "", said = ""] = /^( {0,3})(\S.*)$/.exec(rest) ?? [];
		if (BREAK.test(said)) return undefined;
		const [marker, gap = ""] = /^(?:[-+*]|\d{1,9}[.)])( +|$)/.exec(said) ?? [];
		if (marker === undefined || (inParagraph && /^(?!1[.)])\d/.test(marker))) return blockOf(said, column, inParagraph);
		inParagraph = false;
		// Five spaces and more: the item begins with code, one column behind its mark.
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
