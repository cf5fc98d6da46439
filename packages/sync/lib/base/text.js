// Makes texts of others fit for a terminal: they come from a store, a session or a file that somebody else wrote.
/** Control characters except the line end, direction marks, and other characters that nobody sees. */
const INVISIBLE = /(?!\n)[\p{Cc}\u2028\u2029\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]/gu;

/** Writes invisible characters as JSON escapes. @param {string} text */
const withVisibleEscapes = (text) =>
	text.replace(INVISIBLE, (found) =>
		[...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
	);

/** A text without escape sequences. @param {string} text @returns {string} */
const withoutEscapeSequences = (text) =>
	// Few texts have any, and only these load the library.
	text.includes("\u001b") ? require("pi-session-native").withoutEscapeSequences(text) : text;

/** A text on one line, without escape sequences. @param {unknown} value */
const safeLine = (value) =>
	withVisibleEscapes(
		withoutEscapeSequences(String(value))
			.replace(/[\s\u0085]+/g, " ")
			.trim()
			.toWellFormed(),
	);

/** JSON whose strings contain no invisible characters. @param {unknown} value @param {number} [indent] */
const safeJson = (value, indent) => withVisibleEscapes(JSON.stringify(value, null, indent));

exports.safeJson = safeJson;
exports.safeLine = safeLine;
