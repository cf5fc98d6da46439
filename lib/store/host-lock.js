// Locks that one process of this host has at a time, and that the operating system takes back when that process ends, however it ends.
//
// Node opens a file with such a lock on macOS and Windows: one in the directory of this host's notes. On Linux it is an address without a
// file, named after that directory, on which a process listens; nothing is said there.
const { createHash } = require("node:crypto");
const { constants, promises: fs } = require("node:fs");
const { createServer } = require("node:net");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { StoreError } = require("./errors.js");
const { isObject } = require("./lines.js");

/** libuv's flag for a file that is locked while it is open, which Node passes on. */
const O_EXLOCK = /** @type {Record<string, number>} */ ({ darwin: 0x20, win32: 0x10000000 })[process.platform];
/**
 * Does something that no other process of the host does meanwhile under this name. Names share files, so a lock may be taken within another
 * one only if it is of another group, and groups always in the same order.
 * @typedef {<T>(name: string, work: () => Promise<T>, group?: string) => Promise<T>} HostLock
 */

/** Files stay, so that there are only so many of them for a store. */
const FILES = 64;
const PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;
/** How long a lock is waited for. Whoever has it waits for the store. */
const LONGEST_WAIT_MS = 120_000;

/**
 * The locks of a host in a store, by name.
 * @param {{ store: string, host: string, locks?: string }} options `locks`: a directory of this machine, the same in every process of the host
 * @returns {HostLock}
 */
function hostLock({ store, host, locks = join(tmpdir(), "pi-session-native-locks") }) {
	/** The end of the work that this process does or waits for, by address: it need not ask the system then. @type {Map<string, Promise<unknown>>} */
	const turns = new Map();
	return (name, work, group = "") => {
		const address = addressOf(locks, JSON.stringify([store, host]), group, name);
		const turn = Promise.resolve(turns.get(address)).then(() => withLock(address, work));
		const end = turn.catch(() => {}).then(() => {
			if (turns.get(address) === end) turns.delete(address);
		});
		turns.set(address, end);
		return turn;
	};
}

/** @param {string} locks @param {string} store @param {string} group @param {string} name */
function addressOf(locks, store, group, name) {
	const hash = (/** @type {string} */ text) => createHash("sha256").update(text).digest();
	if (O_EXLOCK === undefined) return `\0pi-session-native-${hash(JSON.stringify([resolve(locks), store, group, name])).toString("hex").slice(0, 32)}`;
	return join(locks, "locks", `${hash(store).toString("hex").slice(0, 16)}-${group}${Number(hash(name)[0]) % FILES}`);
}

/**
 * @template T
 * @param {string} address
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withLock(address, work) {
	const take = O_EXLOCK === undefined ? listenAt : openLocked;
	const end = performance.now() + LONGEST_WAIT_MS;
	let release = await take(address);
	for (let wait = PAUSE_MS; !release; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
		if (performance.now() > end) throw new StoreError("unreachable", "Another process of this host has been writing for two minutes");
		await pause(wait * (0.5 + Math.random()));
		release = await take(address);
	}
	try {
		return await work();
	} finally {
		await release();
	}
}

/**
 * Gives what ends the lock; undefined if another process has it.
 * @param {string} address
 * @returns {Promise<(() => Promise<void>) | undefined>}
 */
function listenAt(address) {
	return new Promise((done, reject) => {
		const server = createServer((socket) => socket.destroy());
		server.once("error", (error) => (isObject(error) && error.code === "EADDRINUSE" ? done(undefined) : reject(error)));
		server.listen(address, () => done(() => new Promise((closed) => server.close(() => closed()))));
	});
}

/**
 * @param {string} path
 * @returns {Promise<(() => Promise<void>) | undefined>}
 */
async function openLocked(path) {
	await fs.mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
	try {
		const file = await fs.open(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NONBLOCK ?? 0) | Number(O_EXLOCK), 0o600);
		return () => file.close();
	} catch (error) {
		const code = isObject(error) ? String(error.code) : "";
		if (["EAGAIN", "EWOULDBLOCK", "EBUSY", "EPERM", "EACCES"].includes(code)) return undefined;
		throw error;
	}
}

exports.hostLock = hostLock;
