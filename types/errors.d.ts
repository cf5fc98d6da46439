// Types of errors.

/**
 * The code of an error, for programs. Errors of the operating system have Node's codes instead, such as `ENOENT` or
 * `ENOSPC`, with `errno` and `syscall`.
 *
 * | code | what happened | what to do |
 * | --- | --- | --- |
 * | `ERR_INVALID_ARGUMENT` | an argument has a wrong type or value; nothing was changed | correct the argument that the
 * message names |
 * | `ERR_SESSION_INVALID` | the file at `path` is not a session, or this call cannot use it; the file is unchanged |
 * check the path; `SessionManager.repair` if it was a session |
 * | `ERR_SESSION_CHANGED` | another program changed the file at `path`, and the session cannot continue with it;
 * nothing was overwritten | `reload()`, or open it again |
 * | `ERR_SESSION_DELETED` | the file at `path` was deleted or emptied, and can no longer be read | restore the file, or
 * write a path whose entries were all read to a new file (`createBranchedSession`) |
 * | `ERR_SESSION_LOCKED` | another manager or process has locked the session at `path` | close it there, or try again
 * later |
 * | `ERR_SESSION_READ_ONLY` | the session at `path` was opened with `readonly: true`, and the call would change it |
 * open it without |
 * | `ERR_ENTRY_NOT_FOUND` | no entry has this id | use an id of `getEntries()` |
 * | `ERR_ENTRY_NOT_EDITABLE` | a context edit cannot apply to its target | choose an entry of the active branch with
 * content |
 * | `ERR_TOO_LONG` | a line or value is too long for a session file or a JavaScript string | shorten the value |
 * | `ERR_SYSTEM` | an error of the operating system for which Node has no code | see the message |
 * | `ERR_INTERNAL` | a bug in this package | report it |
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
 * An error of this package. Errors of the caller's own code and of `JSON.stringify` are thrown unchanged.
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
	/** A code of this package, or Node's code for an error of the operating system. */
	code: SessionErrorCode | (string & {});
	/** The file or directory that the error concerns. */
	path?: string;
	/** The system's error number, negative as in Node. */
	errno?: number;
	/** The system call that failed. */
	syscall?: string;
}
