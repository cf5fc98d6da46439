// The operations on objects that a store of logs (log-store.js) needs. Objects are files (directory.js) or objects of
// S3 (s3.js).
const { StoreError } = require("../base/errors.js");

/** @typedef {{ path: string, size: number, modified: Date }} ObjectInfo */
/**
 * The part of a log to which an append writes. `cachedPart` is the result of the last append, which may make the next
 * one cheaper.
 * @typedef {{ size: number, endOffset: number, cachedPart?: unknown }} AppendedLog
 */
/**
 * The operations that a directory and a bucket provide. Paths are relative, with "/".
 * @typedef {object} Objects
 * @property {(prefix: string) => Promise<ObjectInfo[]>} list lists the objects whose paths begin with a prefix
 * @property {(path: string, from?: number, to?: number) => Promise<{ bytes: Buffer } | undefined>} get reads an object,
 * or a part of it; undefined if there is none
 * @property {(path: string, bytes: Buffer) => Promise<boolean>} create creates an object, durable, whole or not at all;
 * false if the path exists
 * @property {(path: string, log: AppendedLog, bytes: Buffer) => Promise<{ cachedPart?: unknown } | undefined>} append
 * cuts a log at `endOffset` (or creates it), then appends, durable; undefined if its size is not `size`
 * @property {(path: string) => Promise<void>} [sync] makes the bytes of an interrupted append durable
 * @property {(path: string, ranges: { at: number, length: number }[]) => Promise<void>} blank overwrites ranges with
 * spaces, if there is such an object
 * @property {(paths: string[]) => Promise<void>} remove removes objects
 * @property {() => Promise<void>} [check] throws if the server creates an object that exists, or replaces one that has
 * changed
 * @property {string} name the name for messages
 * @property {() => void} [close] ends idle connections
 * @property {number} partSize the size above which a part of a log is full
 */

/** Twice the longest line: more is not read at once. */
const LONGEST_READ = 2 ** 30;

/** @param {string} name of an object @param {number} length */
const tooLargeError = (name, length) =>
	new StoreError(
		"failed",
		`${name} has ${length} bytes, more than can be read: remove it, and push the session again on the machine ` +
			"that wrote it",
	);

/** The number of attempts, because another process may change the object first. */
const TRIES = 50;

/**
 * Repeats an attempt to write an object until it returns a result. It returns undefined if another process changed the
 * object meanwhile.
 * @template T
 * @param {Objects} objects
 * @param {string} path
 * @param {(tries: number) => Promise<T | undefined>} work receives the number of earlier attempts
 */
async function untilWritten(objects, path, work) {
	for (let tries = 0; tries < TRIES; tries++) {
		const result = await work(tries);
		if (result !== undefined) return result;
	}
	throw new StoreError("failed", `${objects.name}: ${path} cannot be written, because others change it all the time`);
}

exports.LONGEST_READ = LONGEST_READ;
exports.tooLargeError = tooLargeError;
exports.untilWritten = untilWritten;
