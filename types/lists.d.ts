/**
 * A session as lists show it.
 *
 * @example
 * ```ts
 * const [session]: SessionInfo[] = await SessionManager.list(cwd, dir);
 * console.log(session?.messageCount); // → 2
 * ```
 */
export interface SessionInfo {
	/** The session's file. */
	path: string;
	/** The session's id. */
	id: string;
	/** Empty if the header has none. */
	cwd: string;
	/** The name in the newest `session_info` entry. */
	name?: string;
	/** The file of the session from which this session was forked or branched. */
	parentSessionPath?: string;
	/** The time when the session began, by its header. */
	created: Date;
	/** The time of the last user or assistant message; otherwise the time when the session began, or its file changed. */
	modified: Date;
	/** The number of messages of every role, on every branch. */
	messageCount: number;
	/** The text of the user's first message, or `(no messages)`. */
	firstMessage: string;
	/**
	 * The text of all user and assistant messages. Read from the file at its first use, or by `SessionManager.readTexts`.
	 */
	allMessagesText: string;
}

/**
 * Called with the number of files that were read and the number of all files; sometimes also with the sessions found so
 * far, newest first.
 *
 * @example
 * ```ts
 * const report: SessionListProgress = (loaded, total) => console.log(`${loaded}/${total}`); // → 1/1
 * await SessionManager.list(cwd, dir, report);
 * ```
 */
export type SessionListProgress = (loaded: number, total: number, partialSessions?: readonly SessionInfo[]) => void;

/**
 * The sessions that `SessionManager.findByIdPrefix` searches; without options the sessions of every working directory.
 * If a session directory is configured for pi (`getConfiguredSessionDir`), it is searched instead of the default
 * directories.
 *
 * @example
 * ```ts
 * const scope: SessionScopeOptions = { cwd, sessionDir: dir };
 * console.log(SessionManager.findByIdPrefix("", scope).length); // → 1
 * ```
 */
export interface SessionScopeOptions {
	/**
	 * Only sessions of this working directory: the sessions in `list(cwd)`, or with `sessionDir` in `list(cwd,
	 * sessionDir)`.
	 */
	cwd?: string | undefined;
	/** Only sessions in this directory, as in `listAll(sessionDir)`. */
	sessionDir?: string | undefined;
	/** Whether sessions of subagents are included; `true` by default. */
	subagents?: boolean | undefined;
}

/**
 * A session that `SessionManager.findByIdPrefix` found.
 *
 * @example
 * ```ts
 * const found: FoundSession[] = SessionManager.findByIdPrefix(manager.getSessionId(), { sessionDir: dir });
 * console.log(found.map((session) => session.path === file)); // → [ true ]
 * ```
 */
export interface FoundSession {
	/** The session's file. */
	path: string;
	id: string;
	/** Empty if the header has none. */
	cwd: string;
}
