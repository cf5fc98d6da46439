// Types of all files of a session.

/**
 * The files that belong to a session file.
 *
 * @example
 * ```ts
 * const files: SessionFiles = SessionManager.filesOf(file);
 * console.log(files.subagents); // → []
 * ```
 */
export interface SessionFiles {
	/** The backups of migrations and repairs (`.v1.bak`, `.bak`). */
	backups: string[];
	/** The session files of its subagents, damaged ones too. */
	subagents: string[];
	/** The other content of the folder of these session files, at any depth: files that are not sessions, and links. */
	others: string[];
	/**
	 * The folder of these session files, if it contains nothing else; null if there is no folder or it contains other
	 * files.
	 */
	folder: string | null;
}

/**
 * Options of `SessionManager.move`.
 *
 * @example
 * ```ts
 * const renamed: MoveOptions = { from: "/home/me/shop", to: "/home/me/store" };
 * console.log(renamed.sessionDir); // → undefined
 * ```
 */
export interface MoveOptions {
	/** The former path of the project's folder, which contains the session's working directory. */
	from: string;
	/** The present path of the folder. */
	to: string;
	/** The new session directory of the session, created if necessary; by default the file stays in its directory. */
	sessionDir?: string | undefined;
}
