// Locks that one process of this host has at a time. Each is the operating system's, on a file in the directory of this host's notes, and
// ends with the process that has it, however that ends. The files stay.
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const { join } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { StoreError, messageOf } = require("./errors.js");
const { isObject } = require("./lines.js");
const { agentDirOf, notesIn } = require("./setting-names.js");

/**
 * Does something that no other process of the host does meanwhile under this name, which is part of the name of a file.
 * @typedef {<T>(name: string, work: () => Promise<T>) => Promise<T>} HostLock
 */

const PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;
/** How long a lock is waited for. Whoever has it waits for the store. */
const LONGEST_WAIT_MS = 120_000;
/**
 * What network drives say that have no locks. Another directory is not taken by itself: a drive may say that now and then, and a process that
 * was told so would not exclude one that was not.
 */
const WITHOUT_LOCKS = new Set(["ENOLCK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);
const LINK_HINT = " (where files cannot be locked, let this directory be a link to one of this machine: docs/stores.md)";

/**
 * The locks of a host in a store, by name.
 * @param {{ store: string | (() => Promise<string>), host: string, locks?: string }} options `store`: the same text in every process of the
 *   host, or what gives it. `locks`: a directory of this machine, the same in every process, too. That for temporary files is not: it may be
 *   another one in each process. By default that of this machine's notes, as pi's own are
 * @returns {HostLock}
 */
function hostLock({ store, host, locks }) {
	/** The end of the work that this process does or waits for, by name: it need not ask the system then. @type {Map<string, Promise<unknown>>} */
	const turns = new Map();
	return (name, work) => {
		const turn = Promise.resolve(turns.get(name)).then(async () => {
			const named = JSON.stringify([typeof store === "string" ? store : await store(), host]);
			const key = createHash("sha256").update(named).digest("hex").slice(0, 16);
			return withLock(() => join(locks ?? notesIn(agentDirOf()), "locks", `${key}-${name}`), work);
		});
		const end = turn.catch(() => {}).then(() => {
			if (turns.get(name) === end) turns.delete(name);
		});
		turns.set(name, end);
		return turn;
	};
}

/**
 * @template T
 * @param {() => string} pathOf
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withLock(pathOf, work) {
	const end = performance.now() + LONGEST_WAIT_MS;
	let release = tryLock(pathOf);
	for (let wait = PAUSE_MS; !release; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
		if (performance.now() > end) throw new StoreError("unreachable", `Another process of this host has held ${pathOf()} locked for two minutes: end it, or try again later`);
		await pause(wait * (0.5 + Math.random()));
		release = tryLock(pathOf);
	}
	try {
		return await work();
	} finally {
		release();
	}
}

/** Gives what ends the lock; null if another process has it. @param {() => string} pathOf */
function tryLock(pathOf) {
	let path;
	try {
		path = pathOf();
		fs.mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
		// The addon is loaded here, because those who only read do not need it.
		return require("../../index.js").tryLockFile(path);
	} catch (error) {
		const where = path ?? "a file in the agent's directory";
		throw new StoreError("failed", `Cannot lock ${where}: ${messageOf(error)}${isWithoutLocks(error) ? LINK_HINT : ""}`, { cause: error });
	}
}

/** @param {unknown} error */
const isWithoutLocks = (error) => isObject(error) && WITHOUT_LOCKS.has(String(error.code));

exports.hostLock = hostLock;
