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
	/** All text of user and model. Read from the file when it is first asked for, or by `SessionManager.readTexts`. */
	allMessagesText: string;
}

/**
 * Called with how many files of a list were read, and how many there are; now and then with the sessions found so far,
 * newest first.
 *
 * @example
 * ```ts
 * const report: SessionListProgress = (loaded, total) => console.log(`${loaded}/${total}`); // → 1/1
 * await SessionManager.list(cwd, dir, report);
 * ```
 */
export type SessionListProgress = (loaded: number, total: number, partialSessions?: readonly SessionInfo[]) => void;

/**
 * Which sessions `SessionManager.findByIdPrefix` looks through; those of every working directory without options. Where
 * pi is configured to keep sessions in another directory (`getConfiguredSessionDir`), that one is looked through in
 * place of the default ones.
 *
 * @example
 * ```ts
 * const scope: SessionScopeOptions = { cwd, sessionDir: dir };
 * console.log(SessionManager.findByIdPrefix("", scope).length); // → 1
 * ```
 */
export interface SessionScopeOptions {
	/**
	 * Only sessions of this working directory: those that `list(cwd)` shows, or with `sessionDir` those that `list(cwd,
	 * sessionDir)` does.
	 */
	cwd?: string | undefined;
	/** Only sessions in this directory, as `listAll(sessionDir)` shows them. */
	sessionDir?: string | undefined;
	/** Whether sessions of subagents are found as well; `true` by default. */
	subagents?: boolean | undefined;
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
 * A kind of text that a search reads: what users said (`user`) and assistants, and why their calls failed
 * (`assistant`), names of sessions and labels (`name`), summaries of compactions and branches (`summary`), tool calls,
 * their results, and commands of the user's shell (`tool`), what assistants thought (`thinking`), and what extensions
 * wrote, texts of context edits included (`custom`).
 *
 * @example
 * ```ts
 * const scopes: SearchScope[] = ["tool", "thinking"];
 * ```
 */
export type SearchScope = "user" | "assistant" | "name" | "summary" | "tool" | "thinking" | "custom";

/**
 * The role of a message, or the type of another entry.
 *
 * @example
 * ```ts
 * const roles: SearchRole[] = ["toolResult", "bashExecution"];
 * ```
 */
export type SearchRole =
	| "user"
	| "assistant"
	| "toolResult"
	| "bashExecution"
	| "custom"
	| "session_info"
	| "label"
	| "compaction"
	| "branch_summary"
	| "custom_message"
	| "context_edit";

/**
 * How `SessionManager.search` searches. Files and directories that cannot be opened are skipped; an error while a
 * session is read rejects.
 *
 * @example
 * ```ts
 * const options = (limit?: number): SearchOptions => ({ sessionDir: dir, in: ["tool"], since: "2025-06-01", limit });
 * ```
 */
export interface SearchOptions {
	/**
	 * Only sessions of this working directory: those that `list(cwd)` shows, or with `sessionDir` those that `list(cwd,
	 * sessionDir)` does.
	 */
	cwd?: string | undefined;
	/**
	 * Only sessions whose working directory is one of these folders, or in one, such as the worktrees of a repository.
	 * `cwd` then only says whose settings name the session directory.
	 */
	folders?: readonly string[] | undefined;
	/**
	 * Only sessions in this directory, as `listAll(dir)` shows them. Without it, the one that pi is configured to use, if
	 * any.
	 */
	sessionDir?: string | undefined;
	/** The texts that are searched; `["user", "assistant", "name", "summary"]` by default. */
	in?: readonly SearchScope[] | undefined;
	/** Only messages and entries of these roles; none for an empty list. */
	roles?: readonly SearchRole[] | undefined;
	/** Only entries made at this time or later: a time as `Date` reads it. */
	since?: string | number | Date | undefined;
	/** Only entries made before this time. */
	until?: string | number | Date | undefined;
	/** The id or the file of the one session that is searched. */
	session?: string | undefined;
	/**
	 * The id or the file of a session that is not searched, such as the one that is open; nor are the sessions of its
	 * subagents.
	 */
	excludeSession?: string | undefined;
	/** Whether sessions of subagents are searched, after the session that each belongs to; `true` by default. */
	subagents?: boolean | undefined;
	/** Whether the query must be found as it stands, its white space included, also that at its ends. */
	phrase?: boolean | undefined;
	/**
	 * Whether copies of an entry in sessions that were forked are one hit, that of the newest session; `true` by default.
	 */
	dedupe?: boolean | undefined;
	/** The largest number of hits; 50 by default, and `Infinity` for all. */
	limit?: number | undefined;
	/**
	 * The largest number of hits of one session, so that a long session does not hide the others; `Infinity` by default.
	 */
	perSession?: number | undefined;
	/** The marks before and after a match in a snippet; `["«", "»"]` by default. */
	mark?: readonly [open: string, close: string] | undefined;
	/** Ends the search; the promise is rejected with its reason. */
	signal?: AbortSignal | undefined;
	/** Called with how many session files were searched, and how many there are. */
	onProgress?: ((searched: number, total: number) => void) | undefined;
	/** Called with each hit as soon as it is found, in the order of the result. */
	onHit?: ((hit: SearchHit) => void) | undefined;
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
	/** What the user said first: 200 characters of it at most. */
	firstMessage?: string;
	/** The session's working directory; empty if the file does not say. */
	cwd: string;
	/** If it is the session of a subagent, the session that it belongs to. */
	owner?: SearchedSession;
	/**
	 * The entry that the text is of; in a version 1 file, whose entries have no ids, its number as in a session that is
	 * open read-only.
	 */
	entryId: string;
	/** Whose text it is: a message's role, else the type of the entry. */
	role: SearchRole;
	/** The kind of the text that the snippet is of. */
	in: SearchScope;
	/** The entry's timestamp; empty if it has none. */
	timestamp: string;
	/** The match, marked, and the text around it, in one line, without escape sequences of terminals. */
	snippet: string;
	/**
	 * How many hits the session has. Copies of hits in newer sessions are not counted unless `dedupe` is `false`, or the
	 * session has more than 200,000.
	 */
	hitsInSession: number;
}

/**
 * What a hit says of the session that a subagent's session belongs to.
 *
 * @example
 * ```ts
 * const ownerOf = (hit: SearchHit): SearchedSession => hit.owner ?? hit;
 * ```
 */
export type SearchedSession = Pick<SearchHit, "path" | "id" | "name" | "firstMessage" | "cwd">;
