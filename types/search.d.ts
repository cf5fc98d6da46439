// The search.

/**
 * A kind of text that can be searched: user messages (`user`), assistant messages and the errors of their calls
 * (`assistant`), names of sessions and labels (`name`), summaries of compactions and branches (`summary`), tool calls,
 * their results, and commands of the user's shell (`tool`), thinking of assistants (`thinking`), and texts of
 * extensions and context edits (`custom`).
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
 * Options of `SessionManager.search`. Files and directories that cannot be opened are skipped; if reading a session
 * fails later, the search rejects.
 *
 * @example
 * ```ts
 * const options = (limit?: number): SearchOptions => ({ sessionDir: dir, in: ["tool"], since: "2025-06-01", limit });
 * ```
 */
export interface SearchOptions {
	/**
	 * Only sessions of this working directory: the sessions in `list(cwd)`, or with `sessionDir` in `list(cwd,
	 * sessionDir)`.
	 */
	cwd?: string | undefined;
	/**
	 * Only sessions whose working directory is in one of these folders, such as the worktrees of a repository. `cwd` then
	 * only selects the settings that name the session directory.
	 */
	folders?: readonly string[] | undefined;
	/**
	 * Only sessions in this directory, as in `listAll(dir)`. By default the session directory that is configured for pi,
	 * if any.
	 */
	sessionDir?: string | undefined;
	/** The texts that are searched; `["user", "assistant", "name", "summary"]` by default. */
	in?: readonly SearchScope[] | undefined;
	/** Only messages and entries of these roles; none for an empty list. */
	roles?: readonly SearchRole[] | undefined;
	/** Only entries with this timestamp or a later one: a time as `Date` parses it. */
	since?: string | number | Date | undefined;
	/** Only entries with an earlier timestamp. */
	until?: string | number | Date | undefined;
	/** The id or the file of the only session that is searched. */
	session?: string | undefined;
	/**
	 * The id or the file of a session that is not searched, such as the open session. Its subagents' sessions are not
	 * searched either.
	 */
	excludeSession?: string | undefined;
	/** Whether sessions of subagents are searched, each after the session that it belongs to; `true` by default. */
	subagents?: boolean | undefined;
	/** Whether the query must be found as a whole, with its white space, also at its ends. */
	phrase?: boolean | undefined;
	/**
	 * Whether copies of an entry in forks are one hit, in the newest session; `true` by default.
	 */
	dedupe?: boolean | undefined;
	/** The largest number of hits; 50 by default, and `Infinity` for all. */
	limit?: number | undefined;
	/**
	 * The largest number of hits in each session, so that a long session does not hide the others; `Infinity` by default.
	 */
	perSession?: number | undefined;
	/** The marks before and after a match in a snippet; `["«", "»"]` by default. */
	mark?: readonly [open: string, close: string] | undefined;
	/** Aborts the search; the promise rejects with the signal's reason. */
	signal?: AbortSignal | undefined;
	/** Called with the number of session files that were searched, and the number of all session files. */
	onProgress?: ((searched: number, total: number) => void) | undefined;
	/** Called with each hit as soon as it is found, in the order of the result. */
	onHit?: ((hit: SearchHit) => void) | undefined;
}

/**
 * A text that contains the words of the query.
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
	/** The first user message, cut to 200 characters. */
	firstMessage?: string;
	/** The session's working directory; empty if the header has none. */
	cwd: string;
	/** For the session of a subagent: the session that it belongs to. */
	owner?: SearchedSession;
	/**
	 * The id of the entry. Entries of version 1 have no ids; for them it is their number, as in a session that is open
	 * read-only.
	 */
	entryId: string;
	/** The role of the message, or the type of another entry. */
	role: SearchRole;
	/** The kind of the text in the snippet. */
	in: SearchScope;
	/** The entry's timestamp; empty if it has none. */
	timestamp: string;
	/** The marked match and the text around it, on one line, without escape sequences of terminals. */
	snippet: string;
	/**
	 * The number of hits in the session. Copies of hits in newer sessions are not counted unless `dedupe` is `false`, or
	 * the session has more than 200,000 hits.
	 */
	hitsInSession: number;
}

/**
 * The fields of a hit that describe its session, or the session that a subagent's session belongs to.
 *
 * @example
 * ```ts
 * const ownerOf = (hit: SearchHit): SearchedSession => hit.owner ?? hit;
 * ```
 */
export type SearchedSession = Pick<SearchHit, "path" | "id" | "name" | "firstMessage" | "cwd">;
