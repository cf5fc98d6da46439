// Puts a file in the place of another, and keeps the names in a folder through a power failure.
const fs = require("node:fs");

/**
 * What Windows says while another program has one of the two files open: a reader or a virus scanner has it for a
 * moment.
 */
const IN_USE = new Set(["EPERM", "EACCES", "EBUSY"]);
/** What file systems say that cannot synchronise a directory. */
const UNSYNCED_FOLDERS = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EBADF"]);
const TRIES = 100;
const PAUSE_MS = 10;

/**
 * Renames a file over another. Windows refuses that while either is open, so it is tried again there for about a
 * second. Gives false if `isAllowed`, which is asked before each try, does.
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
 * Ends once the names in a folder are on the disk.
 * @param {string} folder
 */
exports.syncFolder = async (folder) => {
	// Windows opens no folder as a file.
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
