// Locks that one call of one process of this host has at a time. Each is the operating system's, on a file in the
// directory of this host's notes, and ends with the process that has it, however that ends. The files stay.
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const { join } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { StoreError, messageOf } = require("../base/errors.js");
const { isObject } = require("../base/lines.js");
const { agentDir, notesIn } = require("./places.js");

/**
 * Does something that no other call of this process, or of another one of the host, does meanwhile under this name,
 * which is part of the name of a file.
 * @typedef {<T>(name: string, work: () => Promise<T>) => Promise<T>} HostLock
 */

const PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;
/** How long a lock is waited for. Whoever has it waits for the store. */
const LONGEST_WAIT_MS = 120_000;
/**
 * What network drives say that have no locks. Another directory is not taken by itself: a drive may say that now and
 * then, and a process that was told so would not exclude one that was not.
 */
const WITHOUT_LOCKS = new Set(["ENOLCK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);
const LINK_HINT =
	" (where files cannot be locked, let this directory be a link to one of this machine: docs/stores.md)";

/**
 * Locks by name, each within a scope.
 * @param {string[] | (() => Promise<string[]>)} scope what has locks of its own, such as a host in a store: the same
 * texts in every process of
 *   the host, or what gives them
 * @param {string} [folder] a directory of this machine, the same in every process, too. That for temporary files is
 * not: it may be another
 *   one in each process. By default that of this machine's notes, as pi's own are
 * @returns {HostLock}
 */
function hostLock(scope, folder) {
	return async (name, work) => {
		const texts = JSON.stringify(typeof scope === "function" ? await scope() : scope);
		const key = createHash("sha256").update(texts).digest("hex").slice(0, 16);
		return withLock(() => join(folder ?? notesIn(agentDir()), "locks", `${key}-${name}`), work);
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
		if (performance.now() > end)
			throw new StoreError(
				"unreachable",
				`Something else on this host has held ${pathOf()} locked for two minutes: end its process, or try again later`,
			);
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
		return require("pi-session-native").tryLockFile(path);
	} catch (error) {
		const where = path ?? "a file in the agent's directory";
		throw new StoreError(
			"failed",
			`Cannot lock ${where}: ${messageOf(error)}${isWithoutLocks(error) ? LINK_HINT : ""}`,
			{ cause: error },
		);
	}
}

/** @param {unknown} error */
const isWithoutLocks = (error) => isObject(error) && WITHOUT_LOCKS.has(String(error.code));

exports.hostLock = hostLock;
