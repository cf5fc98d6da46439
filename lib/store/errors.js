// The one error of stores.
//
// It has no text of the caller's address (see address.js). A driver's message is included, its arguments are not.

/** @typedef {import("./index").StoreErrorCode} StoreErrorCode */

/** Errors that may pass: the same call may succeed later. */
const RETRYABLE = new Set(["unreachable", "full"]);

class StoreError extends Error {
	/**
	 * @param {StoreErrorCode} code
	 * @param {string} message
	 * @param {{ cause?: unknown }} [options]
	 */
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
const deletedError = (session) => new StoreError("deleted", `Session ${session} was deleted from the store`);

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

exports.StoreError = StoreError;
exports.claimedError = claimedError;
exports.deletedError = deletedError;
exports.unlessAbsent = unlessAbsent;
