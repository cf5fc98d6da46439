// Escapes HTML in texts that become Markdown, because a tag could close the quotation around the text, and a comment or
// a script could include the text after it. Every `<` that may begin HTML becomes `&lt;`, except in code, where
// Markdown would show `&lt;` literally.
//
// This is no parser of Markdown. A line counts as code only if it is code in every context, also inside a list. After
// the first line that may or may not begin or end code, fences are ignored, and some code shows `&lt;`.

/** The beginning of HTML. `<https://…>` is a link. */
const TAG = /<(?=[A-Za-z/!?])(?!(?:https?|mailto):[^\s<>`]*>)/g;
const FENCE = /^([ \t]*)(`{3,}|~{3,})(.*)$/;
/** After a list item or a footnote, indented lines may be no code. */
const MARKER = /^\s*(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]*\]:)(?:\s|$)/;
/** The text before a fence in a quotation, a list item or a footnote. */
const MARKERS = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]*\]:)\s[\s>]*)*/;

const BLANK = /^[ \t]*$/;
/** A link that may be open: the text after it may be its address or title. */
const OPEN_LINK = /\](?:\((?![^\s()<\\"']*\))|\[(?![^\]]*\]))/;

/**
 * @typedef {object} Fence
 * @property {number} indent the number of spaces before it
 * @property {string} mark its characters
 * @property {boolean} isCode whether the lines inside are code
 */

/** Escapes the HTML of a text and keeps its Markdown. @param {string} text */
export function withoutHtml(text) {
	if (text.search(TAG) < 0) return text;
	const lines = text.split("\n");
	/** @type {string[]} */
	const done = [];
	/** @type {Fence | undefined} */
	let fence;
	let areFencesClear = true;
	let hasMarker = false;
	let isAfterBlank = true;
	let isAfterCode = false;
	// The first line of the possible paragraph, and whether its code spans are unambiguous.
	let paragraph = 0;
	let areSpansClear = true;
	const begin = (/** @type {boolean} */ isClear) => {
		paragraph = done.length + 1;
		areSpansClear = isClear;
	};
	const makeUnclear = () => {
		if (!areSpansClear) return;
		areSpansClear = false;
		for (let at = paragraph; at < done.length; at++) done[at] = asText(lines[at] ?? "");
	};
	/** @param {string} line */
	const next = (line) => {
		const isBlank = BLANK.test(line);
		const isFirst = isAfterBlank;
		isAfterBlank = isBlank;
		if (isBlank) begin(true);
		if (fence && areFencesClear) {
			const { isCode } = fence;
			const step = stepIn(fence, line, isBlank);
			if (step === "end") fence = undefined;
			if (isCode || step === "end") begin(isCode);
			if (step !== "unclear") return isCode ? line : asText(line);
			areFencesClear = false;
			makeUnclear();
		} else if (areFencesClear) {
			const begun = fenceOf(line, isFirst);
			if (begun === "unclear") areFencesClear = false;
			else fence = begun;
			if (begun) {
				if (begun === "unclear" || !begun.isCode) makeUnclear();
				isAfterCode = false;
				// The rest of the line with the fence is no code.
				return asText(line);
			}
		}
		isAfterCode =
			areFencesClear && !hasMarker && (line.startsWith("    ") ? isFirst || isAfterCode : isBlank && isAfterCode);
		if (isAfterCode) {
			begin(true);
			return line;
		}
		hasMarker ||= MARKER.test(line);
		const found = areSpansClear ? asTextOutsideOfSpans(line) : undefined;
		if (found === undefined) makeUnclear();
		return found ?? asText(line);
	};
	for (const line of lines) done.push(next(line));
	return done.join("\n");
}

/**
 * The fence that a line begins; "unclear" if that depends on the context of the line; undefined if it begins none.
 * @param {string} line
 * @param {boolean} isFirst whether the line before is blank
 * @returns {Fence | "unclear" | undefined}
 */
function fenceOf(line, isFirst) {
	const [, space = "", mark = "", rest = ""] = FENCE.exec(line) ?? FENCE.exec(line.replace(MARKERS, "")) ?? [];
	if (mark === "" || (mark.startsWith("`") && rest.includes("`"))) return undefined;
	// A line with a bar may be a row of a table.
	if (!line.startsWith(space + mark) || space.includes("\t") || rest.includes("|")) return "unclear";
	// With four spaces and more the line may belong to a paragraph, unless a blank line ended that.
	return { indent: space.length, mark, isCode: space.length < 4 || isFirst };
}

/**
 * Whether a line is inside a fence, ends it, or may do either.
 * @param {Fence} fence
 * @param {string} line
 * @param {boolean} isBlank
 */
function stepIn({ indent, mark }, line, isBlank) {
	if (isBlank) return "in";
	const spaces = /^ */.exec(line)?.[0].length ?? 0;
	// In a list, such a line ends the item and its fence.
	if (spaces < indent) return "unclear";
	const [, inner = ""] = /^[ \t]*(`+|~+)[ \t]*$/.exec(line) ?? [];
	if (inner.length < mark.length || inner[0] !== mark[0]) return "in";
	if (!line.startsWith(inner, spaces)) return "unclear";
	if (spaces === indent || (indent < 4 && spaces < 4)) return "end";
	return indent === 0 ? "in" : "unclear";
}

/**
 * Escapes HTML outside of the code spans of a line. Returns undefined if the code spans of the line or its paragraph
 * are ambiguous.
 * @param {string} line
 */
function asTextOutsideOfSpans(line) {
	const runs = [...line.matchAll(/`+/g)];
	let done = "";
	let from = 0;
	for (let at = 0; at < runs.length; at++) {
		const { 0: mark = "", index = 0 } = runs[at] ?? {};
		let end = at + 1;
		while (end < runs.length && runs[end]?.[0] !== mark) end++;
		const closing = runs[end];
		if (closing === undefined) return undefined;
		const before = line.slice(from, index);
		const span = line.slice(index, closing.index + mark.length);
		// In a table a bar ends the cell and its code.
		if (span.includes("|") || before.endsWith("\\") || endsInUrl(before) || OPEN_LINK.test(before)) return undefined;
		done += asText(before) + span;
		from = index + span.length;
		at = end;
	}
	const rest = line.slice(from);
	return OPEN_LINK.test(rest) ? undefined : done + asText(rest);
}

/** Whether a backtick after a text belongs to a URL. @param {string} text */
const endsInUrl = (text) =>
	/www\.|:\/\//i.test(text.slice(Math.max(text.lastIndexOf(" "), text.lastIndexOf("\t")) + 1));

/**
 * Escapes HTML by `&lt;`, not by a backslash, because some renderers treat a backslash after a URL as a part of it.
 * @param {string} text
 */
function asText(text) {
	let done = "";
	let from = 0;
	for (const { index } of text.matchAll(TAG)) {
		let backslashes = 0;
		while (index - backslashes > from && text[index - backslashes - 1] === "\\") backslashes++;
		done += `${text.slice(from, index - (backslashes % 2))}&lt;`;
		from = index + 1;
	}
	return done + text.slice(from);
}
