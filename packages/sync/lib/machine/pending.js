// Pending sessions: those that were opened with a store on this machine, and may not be stored to their end. A process
// beside pi writes down its session before there is anything to store, so that a later process of any project can store
// the rest.
//
// Each process has a file of its own, and a lock of the operating system, which ends with the process, however that
// ends. (The number of an ended process may belong to another one.) The lock is on another file, because on Windows
// nobody can read a locked file.
const { randomUUID } = require("node:crypto");
const fs = require("node:fs");
const { join } = require("node:path");
const { addressKey } = require("../base/address.js");
const { isObject } = require("../base/lines.js");
const { fileOnDisk } = require("./session-path.js");
const { namesIn, readJson, remove, writeSmall } = require("./small-file.js");

/** @typedef {{ session: string, file: string, cwd: string }} PendingSession */

const EXTENSION = ".json";

class Pending {
	#folder;
	#id = String(randomUUID());
	/** Ends the lock of this process. @type {(() => void) | null | undefined} */
	#release;

	/**
	 * @param {string} notesDir the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notesDir, address) {
		this.#folder = join(notesDir, "open", addressKey(address));
	}

	/**
	 * Notes the session that this process has open. The path is resolved now, because the drive may hang when another
	 * process reads this.
	 * @param {PendingSession} one
	 */
	async add({ session, file, cwd }) {
		fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
		// The lock comes first, because a file without one belongs to an ended process.
		this.#release = tryLock(this.#lockOf(this.#id));
		await writeSmall(this.#fileOf(this.#id), JSON.stringify({ session, file: fileOnDisk(file), cwd }));
	}

	/** Removes the session of an ended process, or of this one, because it is stored to its end. */
	remove(id = this.#id) {
		if (id === this.#id) this.#release?.();
		remove(this.#fileOf(id));
		remove(this.#lockOf(id));
	}

	/** The sessions that ended processes left. */
	abandoned() {
		return this.#others().filter(({ id }) => !this.#isRunning(id));
	}

	/** Whether another process of this machine has a file open now. @param {string} path */
	isOpenElsewhere(path) {
		const file = fileOnDisk(path);
		return this.#others().some((one) => one.file === file && this.#isRunning(one.id));
	}

	/** The sessions of other processes. @returns {(PendingSession & { id: string })[]} */
	#others() {
		return namesIn(this.#folder)
			.filter((name) => name.endsWith(EXTENSION))
			.map((name) => name.slice(0, -EXTENSION.length))
			.filter((id) => id !== this.#id)
			.flatMap((id) => {
				const one = readJson(this.#fileOf(id));
				return isObject(one) ? [/** @type {any} */ ({ ...one, id })] : [];
			});
	}

	/** @param {string} id */
	#isRunning(id) {
		const release = tryLock(this.#lockOf(id));
		release?.();
		return release === null;
	}

	/** @param {string} id */
	#fileOf(id) {
		return join(this.#folder, `${id}${EXTENSION}`);
	}

	/** @param {string} id */
	#lockOf(id) {
		return join(this.#folder, `${id}.lock`);
	}
}

/**
 * Returns the function that ends the lock; null if another process has it.
 * @param {string} path
 * @returns {(() => void) | null}
 */
const tryLock = (path) => require("pi-session-native").tryLockFile(path);

exports.Pending = Pending;
