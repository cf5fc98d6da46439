// Names from settings in messages. No library is needed for it: an extension or a store that cannot start says so by
// these messages.

/** What a terminal obeys, what ends a line, and what nobody sees, direction marks among them. */
const UNSEEN = /[\u007f-\u009f\u2028\u2029]|\p{Default_Ignorable_Code_Point}/gu;

/**
 * A name as JSON writes it, cut if it is long, with escapes in place of characters that are not shown.
 * @param {string} name
 */
exports.quotedName = (name) =>
	JSON.stringify(name.slice(0, 100)).replace(UNSEEN, (found) =>
		Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
			"",
		),
	);
