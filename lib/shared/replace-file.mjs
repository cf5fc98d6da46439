// Replaces a file by another.
import fs from "node:fs";

/**
 * Windows' errors while another program, such as a virus scanner, has one of the two files open.
 */
const IN_USE = new Set(["EPERM", "EACCES", "EBUSY"]);
const TRIES = 100;
const PAUSE_MS = 10;

/**
 * Renames a file over another. On Windows it tries again for about a second, because Windows refuses while either is
 * open.
 * @param {string} draft
 * @param {string} full
 */
export const replaceFile = async (draft, full) => {
	for (let tries = 1; ; tries++) {
		try {
			return await fs.promises.rename(draft, full);
		} catch (error) {
			const isInUse =
				process.platform === "win32" && IN_USE.has(String(/** @type {NodeJS.ErrnoException} */ (error).code));
			if (!isInUse || tries >= TRIES) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	}
};
