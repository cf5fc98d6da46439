// Escapes HTML in texts that become Markdown, because a tag could close the quotation around the text, and a comment or
// a script could include the text after it. Every `<` that may begin HTML becomes `&lt;`, except in code, where
// Markdown would show `&lt;` literally.
//
// This is no parser of Markdown. A line counts as code only if it is in a fence in every context, also inside a list.
// After the first line that may or may not begin or end a fence, fences are ignored, and some code shows `&lt;`. So
// does code that is only indented.

/** The beginning of HTML. `<https://…>` is a link. */
const TAG = /<(?=[A-Za-z/!?])(?!(?:https?|mailto):[^\s<>`]*>)/g;
const FENCE = /^([ \t]*)(`{3,}|~{3,})(.*)$/;
/** The text before a fence in a quotation, a list item or a footnote. */
const MARKERS = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]*\]:)\s[\s>]*)*/;

const BLANK = /^[ \t]*$/;
/** A link that may be open: the text after it may be its address or title. */
const OPEN_LINK = /\](?:\((?![^\s()<\\"']*\))|\[(?![^\]]*\]))/;

/** @typedef {{ indent: number, mark: string }} Fence the number of spaces before it, and its characters */

/** Escapes the HTML of a text and keeps its Markdown. @param {string} text */
export function withoutHtml(text) {
	if (text.search(TAG) < 0) return text;
	/** @type {string[]} */
	const done = [];
	/** The lines since the last blank line or fence. @type {string[]} */
	let paragraph = [];
	let areSpansClear = true;
	const endParagraph = () => {
		const found = areSpansClear ? paragraph.map(asTextOutsideOfSpans) : [];
		const isClear = areSpansClear && !found.includes(undefined);
		for (const [at, line] of paragraph.entries()) done.push((isClear && found[at]) || asText(line));
		[paragraph, areSpansClear] = [[], true];
	};
	/** @type {Fence | undefined} */
	let fence;
	let areFencesClear = true;
	let isAfterBlank = true;
	for (const line of text.split("\n")) {
		const isBlank = BLANK.test(line);
		const step = fence ? stepIn(fence, line, isBlank) : undefined;
		const begun = fence || !areFencesClear ? undefined : fenceOf(line, isAfterBlank);
		isAfterBlank = isBlank;
		if (step === "unclear" || begun === "unclear") {
			[fence, areFencesClear, areSpansClear] = [undefined, false, false];
		} else if (step || begun) {
			endParagraph();
			// The rest of the line with the fence is no code.
			done.push(step ? line : asText(line));
			fence = step === "end" ? undefined : (begun ?? fence);
			continue;
		}
		paragraph.push(line);
		if (isBlank) endParagraph();
	}
	endParagraph();
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
	// A line with a bar may be a row of a table. With four spaces and more the line may belong to a paragraph, unless a
	// blank line ended that.
	const isClear =
		line.startsWith(space + mark) && !space.includes("\t") && !rest.includes("|") && (space.length < 4 || isFirst);
	return isClear ? { indent: space.length, mark } : "unclear";
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
	return spaces === indent && line.startsWith(inner, spaces) ? "end" : "unclear";
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
