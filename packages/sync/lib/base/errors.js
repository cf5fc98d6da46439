// The one error of stores.
//
// It contains no text of the caller's address (see address.js). It contains the message of a driver, but no arguments.

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */

/** After these errors the same call may succeed later. */
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

/** @param {string} session */
const resetError = (session) =>
	new StoreError("reset", `Session ${session} in the store is not as it was before: load it from the beginning`);

/** @param {string} session */
const deletedError = (session) =>
	new StoreError(
		"deleted",
		`Session ${session} was deleted from the store, and its file stays. To store it again, make a fork: ` +
			`pi-sessions fork ${session}`,
	);

/** @param {string} session */
const privateError = (session) =>
	new StoreError(
		"invalid",
		`Session ${session} is private and is not pushed: private in session-store.json lists the session, its ` +
			"directory, or a session that it was forked from. " +
			"If the file of such a session is missing, the fork counts as private",
	);

/**
 * The message of an error. Node tries several addresses of a server, and wraps the error of each.
 * @param {unknown} error
 * @returns {string}
 */
const messageOf = (error) =>
	error instanceof AggregateError
		? error.errors.map(messageOf).join("; ")
		: error instanceof Error
			? error.message || error.name
			: String(error);

/** Whether the store does not contain the session. @param {unknown} error */
const isGone = (error) => error instanceof StoreError && (error.code === "deleted" || error.code === "not-found");

/** @param {unknown} error */
const asError = (error) => (error instanceof Error ? error : new Error(String(error)));

exports.StoreError = StoreError;
exports.asError = asError;
exports.deletedError = deletedError;
exports.isGone = isGone;
exports.privateError = privateError;
exports.resetError = resetError;
exports.messageOf = messageOf;
