// The one error of stores.
//
// It has no text of the caller's address (see address.js). A driver's message is included, its arguments are not.

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */

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

/** @param {string} session */
const resetError = (session) =>
	new StoreError("reset", `Session ${session} is not the one that was loaded before: load it from the beginning`);

/** @param {string} session */
const deletedError = (session) =>
	new StoreError(
		"deleted",
		`Session ${session} was deleted from the store, and stays here: pi-sessions fork ${session} makes a session of it that is stored`,
	);

/** @param {string} session */
const privateError = (session) =>
	new StoreError(
		"invalid",
		`Session ${session}, or one that it was forked from, is private, and is not pushed: private in session-store.json names it, or its directory, or some directory while the file of one that it was forked from is gone`,
	);

/**
 * What an error says. Node tries several addresses of a server, and wraps what each said.
 * @param {unknown} error
 * @returns {string}
 */
const messageOf = (error) =>
	error instanceof AggregateError
		? error.errors.map(messageOf).join("; ")
		: error instanceof Error
			? error.message || error.name
			: String(error);

/** Whether the store has nothing of the session. @param {unknown} error */
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
