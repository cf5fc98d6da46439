// Puts a file in the place of another.
const { promises: fs } = require("node:fs");
const { setTimeout: wait } = require("node:timers/promises");
const { isObject } = require("./lines.js");

/** What Windows says while somebody has the other file open: a reader has it open for a moment. */
const IN_USE = new Set(["EPERM", "EACCES", "EBUSY"]);
const TRIES = 100;
const PAUSE_MS = 10;

/**
 * Renames a file over another. Windows refuses that while the other is open, so it is tried again there for about a second.
 * @param {string} draft
 * @param {string} full
 */
exports.replaceFile = async (draft, full) => {
	for (let tries = 1; ; tries++) {
		try {
			return await fs.rename(draft, full);
		} catch (error) {
			const isInUse = process.platform === "win32" && isObject(error) && IN_USE.has(String(error.code));
			if (!isInUse || tries === TRIES) throw error;
		}
		await wait(PAUSE_MS);
	}
};
