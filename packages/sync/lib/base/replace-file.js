// Replaces a file by another one, and makes the names in a folder outlive a power failure.
const fs = require("node:fs");
const { setTimeout: pause } = require("node:timers/promises");
const { withFile } = require("./calls.js");

/** Errors of Windows while another program, such as a virus scanner, has one of the two files open for a moment. */
const IN_USE = new Set(["EPERM", "EACCES", "EBUSY"]);
/** Errors of file systems that cannot synchronise a directory. */
const UNSYNCED_FOLDERS = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EBADF"]);
const TRIES = 100;
const PAUSE_MS = 10;

/**
 * Renames a file over another one. Windows refuses this while either is open, so there it is tried again for about a
 * second. Returns false as soon as `isAllowed`, which is called before each try, returns false.
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
		await pause(PAUSE_MS);
	}
	return false;
};

/**
 * Resolves when the names in a folder are on the disk.
 * @param {string} folder
 */
exports.syncFolder = async (folder) => {
	// Windows cannot open a folder as a file.
	if (process.platform === "win32") return;
	await withFile(fs.promises.open(folder), (handle) =>
		handle.sync().catch((error) => {
			if (!UNSYNCED_FOLDERS.has(error.code)) throw error;
		}),
	);
};
