// Loads a whole session, page by page.
const { compareLines, lineKey } = require("./lines.js");

/** @type {typeof import("../index").loadAll} */
async function loadAll(store, session, after, stored) {
	/** @type {Map<string, import("../index").StoredLine>} */
	const lines = new Map();
	/** @type {Map<string, import("../index").Problem>} */
	const problems = new Map();
	let comesAfter = true;
	for (let cursor = after; ; ) {
		// `stored` is only right for the first page: that may contain more than the list.
		const page = await store.load(session, cursor, cursor === after ? stored : undefined);
		comesAfter &&= page.comesAfter;
		for (const line of page.lines) {
			const key = lineKey(line.line);
			const known = lines.get(key);
			if (!known || compareLines(line, known) < 0) lines.set(key, line);
		}
		for (const problem of page.problems) problems.set(`${problem.where}\n${problem.message}`, problem);
		cursor = page.cursor;
		if (!page.more)
			return {
				lines: [...lines.values()].sort(compareLines),
				cursor,
				comesAfter,
				more: false,
				problems: [...problems.values()],
			};
	}
}

exports.loadAll = loadAll;
