// The one error of stores.
//
// It has no text of the caller's address (see address.js). A driver's message is included, its arguments are not.

/** @typedef {import("./index").StoreErrorCode} StoreErrorCode */

/** Errors that may pass: the same call may succeed later. */
const RETRYABLE = new Set(["unreachable", "full"]);

class StoreError extends Error {
	/** @param {StoreErrorCode} code @param {string} message @param {{ cause?: unknown }} [options] */
	constructor(code, message, options) {
		super(message, options);
		this.name = "StoreError";
		this.code = code;
		this.retryable = RETRYABLE.has(code);
	}
}

/** @param {string} session @param {string} host */
const claimedError = (session, host) => new StoreError("claimed", `Session ${session} is claimed by host ${host}`);

/** @param {string} session */
const resetError = (session) => new StoreError("reset", `Session ${session} is not the one that was loaded before: load it from the beginning`);

/** @param {string} session */
const deletedError = (session) => new StoreError("deleted", `Session ${session} was deleted from the store`);

/**
 * What an error says. Node tries several addresses of a server, and wraps what each said.
 * @param {unknown} error
 * @returns {string}
 */
const messageOf = (error) => (error instanceof AggregateError ? error.errors.map(messageOf).join("; ") : error instanceof Error ? error.message || error.name : String(error));

/** Whether the store has nothing of the session. @param {unknown} error */
const isGone = (error) => error instanceof StoreError && (error.code === "not-found" || error.code === "deleted");

/** @param {unknown} error */
const asError = (error) => (error instanceof Error ? error : new Error(String(error)));

/**
 * What a call to the file system gives; undefined if the file is not there.
 * @template T
 * @param {Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
async function unlessAbsent(work) {
	try {
		return await work;
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return undefined;
		throw error;
	}
}

/**
 * What a package gives that may be missing; throws with this code and message if it is.
 * @template T
 * @param {() => T} load
 * @param {StoreErrorCode} code
 * @param {string} lacking
 */
function optional(load, code, lacking) {
	try {
		return load();
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code !== "MODULE_NOT_FOUND") throw error;
		throw new StoreError(code, lacking);
	}
}

exports.StoreError = StoreError;
exports.asError = asError;
exports.claimedError = claimedError;
exports.deletedError = deletedError;
exports.isGone = isGone;
exports.optional = optional;
exports.resetError = resetError;
exports.messageOf = messageOf;
exports.unlessAbsent = unlessAbsent;
