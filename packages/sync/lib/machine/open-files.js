// The session files that a pi of this machine has open. Each pi locks a file of its own for its session file. The lock
// belongs to the operating system and ends with pi, however pi ends.
//
// A pull does not change an open file, because pi would not notice. Which store the pull uses does not matter, so the
// locks of all stores are in one folder.
const { createHash, randomUUID } = require("node:crypto");
const { join } = require("node:path");
const { tryLock } = require("./host-lock.js");
const { fileOnDisk } = require("./session-path.js");
const { namesIn, remove } = require("./small-file.js");

/**
 * Below the other locks, because a user links that directory where the home directory has no locks.
 * @param {string} notesDir the directory of this machine's notes
 */
const folderIn = (notesDir) => join(notesDir, "locks", "open");

/** The beginning of a SHA-256 of a session file's path. @param {string} file */
const keyOf = (file) => createHash("sha256").update(fileOnDisk(file)).digest("hex").slice(0, 16);

/**
 * The files that this process has marked as open, by key. `count` is the number of marks that were not ended,
 * `reloading` the number of marks whose pi now reloads its extensions. `release` ends the lock.
 * @type {Map<string, { count: number, reloading: number, release: () => void }>}
 */
const open = new Map();

/**
 * Marks a session file as open, which may not exist yet. Returns a function that ends this. If pi only reloads its
 * extensions, the next mark takes the place of this one.
 * @param {string} notesDir
 * @param {string} file
 * @returns {(why?: { isReload?: boolean }) => void}
 */
function markOpen(notesDir, file) {
	const key = keyOf(file);
	const mark = open.get(key) ?? { count: 0, reloading: 0, release: lockNew(notesDir, key) };
	open.set(key, mark);
	if (mark.reloading > 0) mark.reloading--;
	else mark.count++;
	let isEnded = false;
	return ({ isReload = false } = {}) => {
		if (isEnded) return;
		isEnded = true;
		if (isReload) mark.reloading++;
		else if (--mark.count === 0) {
			open.delete(key);
			mark.release();
		}
	};
}

/** @param {string} notesDir @param {string} key */
function lockNew(notesDir, key) {
	for (;;) {
		const path = join(folderIn(notesDir), `${key}.${randomUUID()}`);
		const release = tryLock(() => path);
		// The name is new in each try. So only a process that asks at this moment whether the file is locked can have it.
		if (!release) continue;
		return () => removeLock(path, release);
	}
}

/**
 * Removes the file of a lock, and then ends the lock. In the other order another process could lock the file before it
 * is removed, and its lock would have no name.
 * @param {string} path
 * @param {() => void} release
 */
function removeLock(path, release) {
	try {
		remove(path);
	} catch {
		// The file stays. Without a lock it marks nothing.
	} finally {
		release();
	}
}

/** Whether a pi of this machine has a session file open. @param {string} notesDir @param {string} file */
function isOpen(notesDir, file) {
	const key = keyOf(file);
	return namesIn(folderIn(notesDir)).some((name) => {
		if (!name.startsWith(`${key}.`)) return false;
		const path = join(folderIn(notesDir), name);
		const release = tryLock(() => path);
		if (!release) return true;
		// Its pi was killed.
		removeLock(path, release);
		return false;
	});
}

exports.isOpen = isOpen;
exports.keyOf = keyOf;
exports.markOpen = markOpen;
