// Files that are written under another name and get their own when they are complete. A process that is killed
// meanwhile leaves its draft.
const { promises: fs } = require("node:fs");
const { join } = require("node:path");
const { unlessAbsent } = require("../base/calls.js");

/** A draft of this age was left by a process that was killed. */
const ABANDONED_MS = 24 * 3600 * 1000;

class Drafts {
	#beginning;
	/** @type {Set<string>} */
	#swept = new Set();

	/** @param {string} beginning of the names of drafts */
	constructor(beginning) {
		this.#beginning = beginning;
	}

	/**
	 * Removes what killed processes left in a folder when this process first makes a file there. @param {string} folder
	 */
	async sweep(folder) {
		if (this.#swept.has(folder)) return;
		this.#swept.add(folder);
		try {
			for (const name of ((await unlessAbsent(fs.readdir(folder))) ?? []).filter((name) =>
				name.startsWith(this.#beginning),
			)) {
				const stat = await unlessAbsent(fs.stat(join(folder, name)));
				if (stat && Date.now() - stat.mtimeMs > ABANDONED_MS) await fs.rm(join(folder, name), { force: true });
			}
		} catch {
			// They may be another user's, and then nobody else's to remove.
		}
	}
}

exports.Drafts = Drafts;
