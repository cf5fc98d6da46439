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

/** @param {string} notesDir the directory of this machine's notes */
const folderIn = (notesDir) => join(notesDir, "open");

/** The beginning of a SHA-256 of a session file's path. @param {string} file */
const keyOf = (file) => createHash("sha256").update(fileOnDisk(file)).digest("hex").slice(0, 16);

/**
 * The open files of this process, by key, each with the function that ends its lock. They are kept here because pi
 * reloads its extensions without closing the session.
 * @type {Map<string, () => void>}
 */
const open = new Map();

/**
 * Marks a session file as open, which may not exist yet. Returns a function that ends this.
 * @param {string} notesDir
 * @param {string} file
 */
function markOpen(notesDir, file) {
	const key = keyOf(file);
	if (!open.has(key)) open.set(key, lockNew(notesDir, key));
	return () => {
		open.get(key)?.();
		open.delete(key);
	};
}

/** @param {string} notesDir @param {string} key */
function lockNew(notesDir, key) {
	for (;;) {
		const path = join(folderIn(notesDir), `${key}.${randomUUID()}`);
		const release = tryLock(() => path);
		// Another process may just ask whether it is locked.
		if (!release) continue;
		return () => {
			remove(path);
			release();
		};
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
		// Its pi was killed. The file is removed before the lock ends, so that no pi locks a removed file.
		remove(path);
		release();
		return false;
	});
}

exports.isOpen = isOpen;
exports.keyOf = keyOf;
exports.markOpen = markOpen;
