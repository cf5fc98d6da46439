// Locks that exclude the calls of all processes of this host. Each is a lock of the operating system on a file in the
// directory of notes, and ends with its process, however that ends. The files stay.
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const { join } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { StoreError, messageOf } = require("../base/errors.js");
const { isObject } = require("../base/lines.js");
const { agentDir, notesIn } = require("./agent-dir.js");

/**
 * Runs `work` while no other call, of this process or another process of the host, runs under the same name. The name
 * is part of a file's name.
 * @typedef {<T>(name: string, work: () => Promise<T>) => Promise<T>} HostLock
 */

/** The pause before the next try, on average. The owner usually writes and synchronises one file. */
const PAUSE_MS = 5;
/** How long a call waits for a lock, whose owner may wait for the store. */
const LONGEST_WAIT_MS = 120_000;
/**
 * Errors of network drives without locks. We do not choose another directory then, because a drive may return such an
 * error now and then: the processes would use different directories, and not exclude each other.
 */
const WITHOUT_LOCKS = new Set(["ENOLCK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);
const LINK_HINT =
	" (if files there cannot be locked, make the directory session-stores/locks a link to a local directory: " +
	"docs/stores.md)";

/**
 * Locks by name, within a scope.
 * @param {string[] | (() => Promise<string[]>)} scope texts that are the same in every process of the host, such as the
 * store and the host, or a function that returns them
 * @param {string} [folder] a directory of this machine, the same in every process (so not the directory for temporary
 * files); by default the directory of notes
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
	let release;
	while (!(release = tryLock(pathOf))) {
		if (performance.now() > end)
			throw new StoreError(
				"unreachable",
				`Another process of this machine has locked ${pathOf()} for two minutes: end it, or try again later`,
			);
		await pause(PAUSE_MS * (0.5 + Math.random()));
	}
	try {
		return await work();
	} finally {
		release();
	}
}

/** Returns the function that ends the lock; null if another process has it. @param {() => string} pathOf */
function tryLock(pathOf) {
	let path;
	try {
		path = pathOf();
		fs.mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
		// The addon is loaded only here, because programs that only read do not need it.
		return require("pi-session-native").tryLockFile(path);
	} catch (error) {
		const where = path ?? "a file in pi's directory";
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
exports.tryLock = tryLock;
