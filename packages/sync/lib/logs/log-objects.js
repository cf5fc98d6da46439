// The objects of a directory or a bucket, of which a store of logs is made (log-store.js): files (directory.js), or
// objects of S3 (s3.js).
const { StoreError } = require("../base/errors.js");

/** @typedef {{ path: string, size: number, modified: Date }} ObjectInfo */
/**
 * The part of a log that is appended to. `cachedPart` is what an append gave to be passed to the next one, which it may
 * make cheaper.
 * @typedef {{ size: number, endOffset: number, cachedPart?: unknown }} AppendedLog
 */
/**
 * What a directory and a bucket have in common. Paths are relative, with "/".
 * @typedef {object} Objects
 * @property {(prefix: string) => Promise<ObjectInfo[]>} list all whose paths begin so
 * @property {(path: string, from?: number, to?: number) => Promise<{ bytes: Buffer } | undefined>} get what is there,
 *   or a part of it; undefined if it is not there
 * @property {(path: string, bytes: Buffer) => Promise<boolean>} create durable, whole or not at all; false if the path
 * is taken
 * @property {(path: string, log: AppendedLog, bytes: Buffer) => Promise<{ cachedPart?: unknown } | undefined>} append
 * durable; cuts at
 *   `endOffset`, then writes, and makes the log if there is none; undefined if it has not `size`
 * @property {(path: string) => Promise<void>} [sync] makes durable what an append wrote that was stopped before it
 * ended
 * @property {(path: string, ranges: { at: number, length: number }[]) => Promise<void>} blank overwrites with spaces;
 * nothing if it is not there
 * @property {(paths: string[]) => Promise<void>} remove
 * @property {() => Promise<void>} [check] throws unless the server refuses to create what is there, and to replace what
 * has changed
 * @property {string} name for messages
 * @property {() => void} [close] ends what waits for another call
 * @property {number} partSize a part of a log that is larger is full
 */

/** Twice the longest line: more is not read at once. */
const LONGEST_READ = 2 ** 30;

/** @param {string} name of an object @param {number} length */
const tooLargeError = (name, length) =>
	new StoreError(
		"failed",
		`${name} has ${length} bytes, more than can be read: remove it, and push the session again on the machine that wrote it`,
	);

/** How often something is written: another process may be faster. */
const TRIES = 50;

/**
 * Does something again and again until it gives a result; it gives undefined if another process changed the object
 * meanwhile.
 * @template T
 * @param {Objects} objects
 * @param {string} path
 * @param {(tries: number) => Promise<T | undefined>} work is given how often it was done before
 */
async function untilWritten(objects, path, work) {
	for (let tries = 0; tries < TRIES; tries++) {
		const result = await work(tries);
		if (result !== undefined) return result;
	}
	throw new StoreError("failed", `${objects.name}: ${path} cannot be written: it always changes meanwhile`);
}

exports.LONGEST_READ = LONGEST_READ;
exports.tooLargeError = tooLargeError;
exports.untilWritten = untilWritten;
