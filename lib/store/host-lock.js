// Locks that one process of this host has at a time. Each is the operating system's, on a file in the directory of this host's notes, and
// ends with the process that has it, however that ends. The files stay.
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const { homedir } = require("node:os");
const { join } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { StoreError } = require("./errors.js");

/**
 * Does something that no other process of the host does meanwhile under this name, which is part of the name of a file.
 * @typedef {<T>(name: string, work: () => Promise<T>) => Promise<T>} HostLock
 */

const PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;
/** How long a lock is waited for. Whoever has it waits for the store. */
const LONGEST_WAIT_MS = 120_000;

/**
 * The locks of a host in a store, by name.
 * @param {{ store: string, host: string, locks?: string }} options `locks`: a directory of this machine, the same in every process of the host.
 *   That for temporary files is not: it may be another one in each process
 * @returns {HostLock}
 */
function hostLock({ store, host, locks = join(homedir(), ".pi", "agent", "session-stores") }) {
	const key = createHash("sha256").update(JSON.stringify([store, host])).digest("hex").slice(0, 16);
	/** The end of the work that this process does or waits for, by name: it need not ask the system then. @type {Map<string, Promise<unknown>>} */
	const turns = new Map();
	return (name, work) => {
		const turn = Promise.resolve(turns.get(name)).then(() => withLock(join(locks, "locks", `${key}-${name}`), work));
		const end = turn.catch(() => {}).then(() => {
			if (turns.get(name) === end) turns.delete(name);
		});
		turns.set(name, end);
		return turn;
	};
}

/**
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withLock(path, work) {
	const end = performance.now() + LONGEST_WAIT_MS;
	let release = tryLock(path);
	for (let wait = PAUSE_MS; !release; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
		if (performance.now() > end) throw new StoreError("unreachable", "Another process of this host has been writing for two minutes");
		await pause(wait * (0.5 + Math.random()));
		release = tryLock(path);
	}
	try {
		return await work();
	} finally {
		release();
	}
}

/**
 * Gives what ends the lock; null if another process has it.
 * @param {string} path
 */
function tryLock(path) {
	try {
		fs.mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
		// The addon is loaded here, because those who only read do not need it.
		return require("../../index.js").tryLockFile(path);
	} catch (error) {
		throw new StoreError("failed", `Processes of this host cannot exclude each other: ${error instanceof Error ? error.message : error}`, { cause: error });
	}
}

exports.hostLock = hostLock;
