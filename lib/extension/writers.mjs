// Who wrote a session last, where that was another machine: what this machine has noted of its store. The store is not asked.
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";

const require = createRequire(import.meta.url);
/** How many columns a name takes at most. Ids of hosts are ASCII, a character a column. */
const NAME_COLUMNS = 30;

/** @typedef {(session: { id: string, path: string }) => string | undefined} WriterOf */

/**
 * Gives the user and machine that wrote a session last, as their host calls itself; undefined if that was this machine, or is not known.
 * @param {{ getAgentDir(): string }} pi
 * @returns {WriterOf}
 */
export function lastWriters(pi) {
	const notesIn = notesOf(pi.getAgentDir());
	if (notesIn === undefined) return () => undefined;
	const { displayName } = require("../../packages/sync/lib/base/names.js");
	const find = (/** @type {string} */ id, /** @type {string} */ path) => {
		const note = notesIn(dirname(path)).get(id);
		// What is not stored yet was written here.
		if (note?.writer === undefined || (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > note.offset) return undefined;
		const name = displayName(note.writer);
		return name.length > NAME_COLUMNS ? `${name.slice(0, NAME_COLUMNS - 1)}…` : name;
	};
	/** @type {Map<string, string | undefined>} */
	const known = new Map();
	return ({ id, path }) => {
		if (!known.has(path)) known.set(path, find(id, path));
		return known.get(path);
	};
}

/**
 * The notes on the store that is set up, by the directory of the sessions; undefined if none is.
 * @param {string} agentDir
 * @returns {((dir: string) => import("../../packages/sync/lib/machine/notes.js").Notes) | undefined}
 */
function notesOf(agentDir) {
	const { isStoreNamed, notesIn } = require("../../packages/sync/lib/machine/setting-names.js");
	if (!isStoreNamed(agentDir)) return undefined;
	try {
		const { storeAddress } = require("../../packages/sync/lib/machine/settings.js");
		const address = storeAddress(agentDir);
		if (address === undefined) return undefined;
		const { Notes } = require("../../packages/sync/lib/machine/notes.js");
		const open = (/** @type {string} */ dir) => new Notes(notesIn(agentDir), address, dir);
		// An address that is not understood is refused here.
		open(agentDir);
		return open;
	} catch {
		// Whoever uses the store says what is wrong with its settings.
		return undefined;
	}
}
