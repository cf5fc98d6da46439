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
	/** Empty if the file does not say. */
	cwd: string;
	/** The name in the newest `session_info`. */
	name?: string;
	/** File of the session that this one came from. */
	parentSessionPath?: string;
	/** When the session was begun, by its header. */
	created: Date;
	/** The time of the last message of user or model; else when the session was begun, or its file was changed. */
	modified: Date;
	/** Messages of every role, on every branch. */
	messageCount: number;
	/** The text of the user's first message, or `(no messages)`. */
	firstMessage: string;
	/** All text of user and model, to search in. Fetched when it is first asked for. */
	allMessagesText: string;
}

/**
 * Called with how many files of a list were read, and how many there are; now and then with the sessions found so far, newest first.
 *
 * @example
 * ```ts
 * const report: SessionListProgress = (loaded, total) => console.log(`${loaded}/${total}`); // → 1/1
 * await SessionManager.list(cwd, dir, report);
 * ```
 */
export type SessionListProgress = (loaded: number, total: number, partialSessions?: readonly SessionInfo[]) => void;

/**
 * Which sessions `SessionManager.findByIdPrefix` looks through; those of every working directory without options. Where pi is configured
 * to keep sessions in another directory (`getConfiguredSessionDir`), that one is looked through in place of the default ones.
 *
 * @example
 * ```ts
 * const scope: SessionScopeOptions = { cwd, sessionDir: dir };
 * console.log(SessionManager.findByIdPrefix("", scope).length); // → 1
 * ```
 */
export interface SessionScopeOptions {
	/** Only sessions of this working directory: those that `list(cwd)` shows, or with `sessionDir` those that `list(cwd, sessionDir)` does. */
	cwd?: string | undefined;
	/** Only sessions in this directory, as `listAll(sessionDir)` shows them. */
	sessionDir?: string | undefined;
}

/**
 * A session that was found by its id.
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
	/** Empty if the file does not say. */
	cwd: string;
}

/**
 * How `SessionManager.search` searches.
 *
 * @example
 * ```ts
 * const options: SearchOptions = { sessionDir: dir, limit: 5, mark: ["[", "]"] };
 * ```
 */
export interface SearchOptions {
	/** Only sessions of this working directory: those that `list(cwd)` shows, or with `sessionDir` those that `list(cwd, dir)` does. */
	cwd?: string;
	/** Only sessions in this directory, as `listAll(dir)` shows them. Without it, the one that pi is configured to use, if any. */
	sessionDir?: string;
	/** The largest number of hits; 50 by default. */
	limit?: number;
	/** Ends the search; the promise is rejected with its reason. */
	signal?: AbortSignal;
	/** Called with how many sessions were indexed or searched, and how many there are that were not indexed before. Not called if there are none. */
	onProgress?: (indexed: number, total: number) => void;
	/** The marks before and after a match in a snippet; `["«", "»"]` by default. */
	mark?: readonly [open: string, close: string];
}

/**
 * A text that holds what was searched for.
 *
 * @example
 * ```ts
 * const where = (hit: SearchHit): string => `${hit.path} ${hit.entryId}: ${hit.snippet}`;
 * ```
 */
export interface SearchHit {
	/** The session's file. */
	path: string;
	/** The session's id. */
	id: string;
	/** The session's name. */
	name?: string;
	/** The session's working directory; empty if the file does not say. */
	cwd: string;
	/** The entry that the text is of; empty in a version 1 file, whose entries have no ids. */
	entryId: string;
	/** Whose text it is: a message's role, else the type of the entry. */
	role: "user" | "assistant" | "session_info" | "label" | "compaction" | "branch_summary";
	/** The entry's timestamp; empty if it has none. */
	timestamp: string;
	/** The match, marked, and the text around it, in one line. */
	snippet: string;
}
