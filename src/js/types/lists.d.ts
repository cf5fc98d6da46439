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
	/** The newest `session_info`'s. */
	name?: string;
	/** File of the session that this one came from. */
	parentSessionPath?: string;
	/** When the session was begun, by its header. */
	created: Date;
	/** When user or model said the last word; else when the session was begun, or its file was changed. */
	modified: Date;
	/** Messages of every role, on every branch. */
	messageCount: number;
	/** The user's first words, or `(no messages)`. */
	firstMessage: string;
	/** All text of user and model, to search in. Fetched when it is first asked for. */
	allMessagesText: string;
}

/**
 * Told how far a list has come, in files, now and then with the sessions found so far, newest first.
 *
 * @example
 * ```ts
 * const report: SessionListProgress = (loaded, total) => console.log(`${loaded}/${total}`); // → 1/1
 * await SessionManager.list(cwd, dir, report);
 * ```
 */
export type SessionListProgress = (loaded: number, total: number, partialSessions?: readonly SessionInfo[]) => void;

/**
 * How `SessionManager.search` searches.
 *
 * @example
 * ```ts
 * const options: SearchOptions = { dir, limit: 5, mark: ["[", "]"] };
 * ```
 */
export interface SearchOptions {
	/** Only sessions of this working directory: those that `list(cwd)` shows, or with `dir` those that `list(cwd, dir)` does. */
	cwd?: string;
	/** Only sessions in this directory, as `listAll(dir)` shows them. */
	dir?: string;
	/** How many hits at most; 50 unless told. */
	limit?: number;
	/** Ends the search; the promise is rejected with its reason. */
	signal?: AbortSignal;
	/** Told how many of the sessions that were not indexed yet are by now, or were looked through. Not called when there are none. */
	onProgress?: (indexed: number, total: number) => void;
	/** What is put before and after what was found, in snippets; `["«", "»"]` unless told. */
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
	/** The place that was found, marked, and what is around it, in one line. */
	snippet: string;
}
