// Types of all files of a session.

/**
 * What belongs to a session file.
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
	/** The session files of its subagents. */
	subagents: string[];
	/**
	 * The folder that these are in, if it has nothing else; null if there is no such folder, or it has other files, too.
	 */
	folder: string | null;
}

/**
 * What `SessionManager.move` is told.
 *
 * @example
 * ```ts
 * const renamed: MoveOptions = { from: "/home/me/shop", to: "/home/me/store" };
 * console.log(renamed.sessionDir); // → undefined
 * ```
 */
export interface MoveOptions {
	/** Where the project's folder was. The session's working directory is this folder, or in it. */
	from: string;
	/** Where the folder is now. */
	to: string;
	/** The session directory that the session goes to, made if it is not there; by default it stays where it is. */
	sessionDir?: string | undefined;
}
