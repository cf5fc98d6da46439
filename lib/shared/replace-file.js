// Replaces a file by another, and syncs folders, so that names survive a power failure.
const fs = require("node:fs");

/**
 * Windows' errors while another program, such as a virus scanner, has one of the two files open.
 */
const IN_USE = new Set(["EPERM", "EACCES", "EBUSY"]);
/** Errors of file systems that cannot sync a directory. */
const UNSYNCED_FOLDERS = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EBADF"]);
const TRIES = 100;
const PAUSE_MS = 10;

/**
 * Renames a file over another. On Windows it tries again for about a second, because Windows refuses while either is
 * open. Calls `isAllowed` before each try, and returns false if that does.
 * @param {string} draft
 * @param {string} full
 * @param {() => Promise<boolean>} [isAllowed]
 */
exports.replaceFile = async (draft, full, isAllowed = async () => true) => {
	for (let tries = 1; await isAllowed(); tries++) {
		try {
			await fs.promises.rename(draft, full);
			return true;
		} catch (error) {
			const isInUse =
				process.platform === "win32" && IN_USE.has(String(/** @type {NodeJS.ErrnoException} */ (error).code));
			if (!isInUse || tries >= TRIES) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	}
	return false;
};

/**
 * Waits until the names in a folder are on the disk.
 * @param {string} folder
 */
exports.syncFolder = async (folder) => {
	// Windows cannot open a folder as a file.
	if (process.platform === "win32") return;
	const handle = await fs.promises.open(folder);
	try {
		await handle.sync();
	} catch (error) {
		if (!UNSYNCED_FOLDERS.has(String(/** @type {NodeJS.ErrnoException} */ (error).code))) throw error;
	} finally {
		await handle.close();
	}
};
