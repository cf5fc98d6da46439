// Pending sessions: those that were opened with a store on this machine, and may not be stored to their end. A process
// beside pi writes down its session before there is anything to store, so that a later process of any project can store
// the rest.
//
// Each process has a file of its own, with a line for each session, and a lock of the operating system, which ends with
// the process, however that ends. (The number of an ended process may belong to another one.) The lock is on another
// file, because on Windows nobody can read a locked file.
const { randomUUID } = require("node:crypto");
const fs = require("node:fs");
const { join } = require("node:path");
const { addressKey } = require("../base/address.js");
const { isObject, parse } = require("../base/lines.js");
const { fileOnDisk } = require("./session-path.js");
const { namesIn, readSmall, remove } = require("./small-file.js");

/**
 * A session of this machine; without a project if that was not known yet.
 * @typedef {{ session: string, file: string, cwd: string, project?: string }} PendingSession
 */

const EXTENSION = ".jsonl";
const DAY_MS = 86_400_000;
const FORGOTTEN_MS = 90 * DAY_MS;

class Pending {
	#folder;
	/** Ends the lock of this process. @type {(() => void) | null | undefined} */
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
	 * Adds an open session, or replaces what was added for its file. The path is resolved now, because the drive may hang
	 * when another process reads this.
	 * @param {PendingSession} one
	 */
	add({ session, file, cwd, project }) {
		fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
		// The lock comes first, because a file without one belongs to an ended process.
		this.#release ??= tryOptionalLock(this.#lockOf(this.id));
		fs.appendFileSync(this.#fileOf(this.id), `${JSON.stringify({ session, file: fileOnDisk(file), cwd, project })}\n`, {
			mode: 0o600,
		});
	}

	/** Marks the sessions as closed. A later process stores what is missing. */
	close() {
		this.#release?.();
		this.#release = null;
	}

	/** Removes the sessions, because they are stored to their end. */
	remove() {
		this.close();
		this.#remove(this.id);
	}

	/**
	 * Calls `isNeeded` for each session of ended processes, and removes the file of a process if none of its sessions is
	 * needed any more.
	 * @param {(one: PendingSession, givesUpMissing: boolean) => Promise<boolean>} isNeeded `givesUpMissing`: the process
	 * ended so long ago that a session whose directory is missing is not needed
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

	/** The files that other processes of this machine have open now, as paths on the disk. */
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

	/** Whether a process runs; undefined if the file system has no locks. @param {string} id */
	#isRunning(id) {
		const release = tryOptionalLock(this.#lockOf(id));
		release?.();
		return release === undefined ? undefined : release === null;
	}

	/** The time since a process opened its last session, in milliseconds. @param {string} id */
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
 * The session in a line; undefined if the line was not written to its end.
 * @param {string} line
 * @returns {PendingSession | undefined}
 */
function sessionIn(line) {
	const value = parse(Buffer.from(line));
	if (!isObject(value)) return undefined;
	const { session, file, cwd, project } = value;
	if (typeof session !== "string" || typeof file !== "string" || typeof cwd !== "string") return undefined;
	return { session, file, cwd, ...(typeof project === "string" && { project }) };
}

/**
 * Returns the function that ends the lock; null if another process has it; undefined if the file system has no locks:
 * then sessions are stored without one.
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
