// The sessions that were opened with a store on this machine and may not be stored to their end. A process writes down
// each one that it opens before there is anything to store, so that a later process stores what this one could not, in
// whatever project that one is.
//
// Each process has a file of its own, with a session a line, and a lock of the operating system beside it, which ends
// with the process however that ends: a number of a process may be another one's by then. The lock is on a file of its
// own, because Windows lets nobody read what is locked.
const { randomUUID } = require("node:crypto");
const fs = require("node:fs");
const { join } = require("node:path");
const { addressKey } = require("../base/address.js");
const { isObject, parse } = require("../base/lines.js");
const { fileOnDisk } = require("./session-path.js");
const { namesIn, readSmall, remove } = require("./small-file.js");

/**
 * A session of this machine. Without a project it was not known yet. @typedef {{ session: string, file: string, cwd:
 * string, project?: string }} PendingSession
 */

const EXTENSION = ".jsonl";
const DAY_MS = 86_400_000;
const FORGOTTEN_MS = 90 * DAY_MS;

class Pending {
	#folder;
	/** What ends the lock, which this process keeps. @type {(() => void) | null | undefined} */
	#release;

	/**
	 * @param {string} notesDir the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notesDir, address) {
		/** @readonly */
		this.id = randomUUID();
		this.#folder = join(notesDir, "open", addressKey(address));
	}

	/**
	 * Adds a session that is open; what was said of its file before counts no more. Here it is known where the file is on
	 * the disk: for another process it may be on a drive that hangs by then.
	 * @param {PendingSession} one
	 */
	add({ session, file, cwd, project }) {
		fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
		// First: a file without a lock is that of a process that has ended.
		this.#release ??= tryOptionalLock(this.#lockOf(this.id));
		fs.appendFileSync(this.#fileOf(this.id), `${JSON.stringify({ session, file: fileOnDisk(file), cwd, project })}\n`, {
			mode: 0o600,
		});
	}

	/** Ends that what was added is open. What is not stored of it is stored by a later process. */
	close() {
		this.#release?.();
		this.#release = null;
	}

	/** Forgets what was added: all of it is stored. */
	remove() {
		this.close();
		this.#remove(this.id);
	}

	/**
	 * Asks of each session that processes which have ended had open whether it is still needed, and forgets what a
	 * process had open once none of it is.
	 * @param {(one: PendingSession, givesUpMissing: boolean) => Promise<boolean>} isNeeded `givesUpMissing`: a missing
	 * directory is not waited for
	 */
	async visitAbandoned(isNeeded) {
		await Promise.all(
			this.#others().map(async (id) => {
				const isRunning = this.#isRunning(id);
				if (isRunning) return;
				const age = this.#ageOf(id);
				const needed = await Promise.all(this.#read(id).map((one) => isNeeded(one, age > FORGOTTEN_MS)));
				if (!needed.includes(true) && (isRunning === false || age > DAY_MS)) this.#remove(id);
			}),
		);
	}

	/** Whether another process of this machine has a file open now. @param {string} path */
	isOpenElsewhere(path) {
		return this.openElsewhere().has(fileOnDisk(path));
	}

	/** The files that other processes of this machine have open now, by where they are on the disk. */
	openElsewhere() {
		return new Set(
			this.#others()
				.filter((id) => this.#isRunning(id))
				.flatMap((id) => this.#read(id).map(({ file }) => file)),
		);
	}

	#others() {
		const ids = namesIn(this.#folder)
			.filter((name) => name.endsWith(EXTENSION))
			.map((name) => name.slice(0, -EXTENSION.length));
		return ids.filter((id) => id !== this.id);
	}

	/** Whether a process runs; undefined where no lock can tell. @param {string} id */
	#isRunning(id) {
		const release = tryOptionalLock(this.#lockOf(id));
		release?.();
		return release === undefined ? undefined : release === null;
	}

	/** How long ago a process has opened its last session, in milliseconds. @param {string} id */
	#ageOf(id) {
		return Date.now() - (fs.statSync(this.#fileOf(id), { throwIfNoEntry: false })?.mtimeMs ?? 0);
	}

	/** @param {string} id @returns {PendingSession[]} */
	#read(id) {
		const text = readSmall(this.#fileOf(id))?.toString() ?? "";
		const sessions = text.split("\n").flatMap((line) => sessionIn(line) ?? []);
		return [...new Map(sessions.map((one) => [one.file, one])).values()];
	}

	/** @param {string} id */
	#remove(id) {
		remove(this.#fileOf(id));
		remove(this.#lockOf(id));
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
 * A session in a line; none in one that was not written to its end. @param {string} line @returns {PendingSession |
 * undefined}
 */
function sessionIn(line) {
	const value = parse(Buffer.from(line));
	if (!isObject(value)) return undefined;
	const { session, file, cwd, project } = value;
	if (typeof session !== "string" || typeof file !== "string" || typeof cwd !== "string") return undefined;
	return { session, file, cwd, ...(typeof project === "string" && { project }) };
}

/**
 * Gives what ends the lock; null if another process has it; undefined where the file system has no locks: what was
 * opened is stored all the same.
 * @param {string} path
 */
function tryOptionalLock(path) {
	try {
		return require("pi-session-native").tryLockFile(path);
	} catch {
		return undefined;
	}
}

exports.Pending = Pending;
