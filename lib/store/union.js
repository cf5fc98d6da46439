// A session's file and what is stored of it, in one: the lines of both, each once, in the store's order.
const { entryOf, lineKey, parse } = require("./lines.js");

/** @typedef {import("./index").StoredLine} StoredLine */
/**
 * @typedef {object} Union
 * @property {Uint8Array[]} lines all lines of the file as it is to be
 * @property {number} kept how many lines of the file stay where they are, from its beginning: if all do, the rest is added at its end
 * @property {{ id: string, hosts: string[] }[]} collisions ids that several hosts gave to different lines
 */

/**
 * The file's header stays the first line. Stored lines follow in their order, then those of the file that are not stored
 * yet, in theirs. A line that is no entry (blank, damaged) stays behind the line that it stood behind.
 * @param {readonly Uint8Array[]} file the file's lines, without line breaks
 * @param {readonly StoredLine[]} stored in the store's order, each once
 * @returns {Union}
 */
function unionLines(file, stored) {
	const head = file.findIndex((line) => parse(line) !== undefined) + 1;
	/** Entries of the file with what stands behind each. @type {Map<string, Uint8Array[]>} */
	const local = new Map();
	const lines = file.slice(0, head);
	let group = lines;
	for (const line of file.slice(head)) {
		const key = entryOf(line) ? lineKey(line) : undefined;
		// The same entry once more is none.
		if (key !== undefined && local.has(key)) continue;
		if (key !== undefined) local.set(key, (group = []));
		group.push(line);
	}
	for (const { line } of stored) {
		const key = lineKey(line);
		lines.push(...(local.get(key) ?? [line]));
		local.delete(key);
	}
	for (const rest of local.values()) lines.push(...rest);
	const kept = lines.findIndex((line, at) => line !== file[at] && (file[at] === undefined || !Buffer.from(line).equals(file[at])));
	return { lines, kept: kept < 0 ? lines.length : kept, collisions: collisionsOf(stored) };
}

/** @param {readonly StoredLine[]} stored */
function collisionsOf(stored) {
	/** @type {Map<string, Set<string>>} */
	const hosts = new Map();
	for (const { line, host } of stored) {
		const id = entryOf(line)?.id;
		if (id !== undefined) hosts.set(id, (hosts.get(id) ?? new Set()).add(host));
	}
	return [...hosts].filter(([, of]) => of.size > 1).map(([id, of]) => ({ id, hosts: [...of].sort() }));
}

exports.unionLines = unionLines;
