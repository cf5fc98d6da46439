// Types of errors.

/**
 * What went wrong, as a code for programs. Errors of the operating system have Node's codes instead, such as `ENOENT`
 * or `ENOSPC`, with `errno` and `syscall`.
 *
 * | code | what happened | what to do |
 * | --- | --- | --- |
 * | `ERR_INVALID_ARGUMENT` | an argument has a wrong type or value; nothing was done | pass what the message asks for |
 * | `ERR_SESSION_INVALID` | the file at `path` is not a session, or not one that this call can use; it is untouched | check the path; `SessionManager.repair` if it was a session |
 * | `ERR_SESSION_CHANGED` | another program changed the file at `path` in a way that cannot be taken in; nothing was overwritten | `reload()`, or open it again |
 * | `ERR_SESSION_DELETED` | the file at `path` was deleted or emptied, and can no longer be read | restore the file, or write a path of which every entry was read to a new one (`createBranchedSession`) |
 * | `ERR_SESSION_LOCKED` | another manager or process holds the lock of the session at `path` | try again when it is closed |
 * | `ERR_SESSION_READ_ONLY` | the session at `path` was opened with `readonly: true`, and the call would change it | open it without |
 * | `ERR_ENTRY_NOT_FOUND` | no entry has this id | use an id of `getEntries()` |
 * | `ERR_ENTRY_NOT_EDITABLE` | a context edit cannot apply to its target | choose an entry of the active branch that holds content |
 * | `ERR_TOO_LONG` | a line or value is longer than a session file or a JavaScript string can hold | shorten the value |
 * | `ERR_SYSTEM` | an error of the operating system for which Node has no code | see the message |
 * | `ERR_INTERNAL` | a bug in this package: what it relies on does not hold | report it |
 *
 * @example
 * ```ts
 * try {
 * 	manager.branch("00000000");
 * } catch (error) {
 * 	const code: SessionErrorCode = (error as SessionError).code as SessionErrorCode;
 * 	console.log(code); // → ERR_ENTRY_NOT_FOUND
 * }
 * ```
 */
export type SessionErrorCode =
	| "ERR_INVALID_ARGUMENT"
	| "ERR_SESSION_INVALID"
	| "ERR_SESSION_CHANGED"
	| "ERR_SESSION_DELETED"
	| "ERR_SESSION_LOCKED"
	| "ERR_SESSION_READ_ONLY"
	| "ERR_ENTRY_NOT_FOUND"
	| "ERR_ENTRY_NOT_EDITABLE"
	| "ERR_TOO_LONG"
	| "ERR_SYSTEM"
	| "ERR_INTERNAL";

/**
 * An error that this package throws. Errors that the caller's own code throws, and those of `JSON.stringify`, come
 * through as they are.
 *
 * @example
 * ```ts
 * try {
 * 	SessionManager.verify("/nowhere/session.jsonl");
 * } catch (error) {
 * 	const { code, path }: SessionError = error as SessionError;
 * 	console.log(code, path); // → ENOENT /nowhere/session.jsonl
 * }
 * ```
 */
export interface SessionError extends Error {
	/** One of these, or a code of the operating system as Node names it. */
	code: SessionErrorCode | (string & {});
	/** The file or directory that the error is about. */
	path?: string;
	/** The system's error number, negated as Node has it. */
	errno?: number;
	/** The call that the system refused. */
	syscall?: string;
}
