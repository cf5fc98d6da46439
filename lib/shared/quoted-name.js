// Quotes names from settings in messages. It imports no library, because the message may be that a library is missing.

/** Control characters, line ends, and invisible characters, such as direction marks. */
const UNSEEN = /[\u007f-\u009f\u2028\u2029]|\p{Default_Ignorable_Code_Point}/gu;

/**
 * A name as JSON, cut to 100 characters, with escapes for invisible characters.
 * @param {string} name
 */
exports.quotedName = (name) =>
	JSON.stringify(name.slice(0, 100)).replace(UNSEEN, (found) =>
		Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
			"",
		),
	);
