/**
 * What usage is added up by. Weeks are named by their Monday. A project is a working directory.
 *
 * @example
 * ```ts
 * const by: UsageGrouping = "week";
 * const report = await SessionManager.usage({ by });
 * ```
 */
export type UsageGrouping = "model" | "day" | "week" | "month" | "project" | "session";

/**
 * What a usage report adds up, and how.
 *
 * @example
 * ```ts
 * const options: UsageReportOptions<"day"> = { by: "day", since: "2025-06-01", utc: true };
 * ```
 */
export interface UsageReportOptions<Grouping extends UsageGrouping = UsageGrouping> {
	/** What rows are made by: one or several; by model by default. */
	by?: Grouping | readonly Grouping[] | undefined;
	/**
	 * Only calls from this time on: a `Date`, milliseconds since 1970, or a text as `Date` reads it, of which
	 * `"2025-06-01"` is midnight UTC although days are those of the clock unless `utc` is given. Calls without a time are
	 * left out then.
	 */
	since?: Date | number | string | undefined;
	/**
	 * Only calls before this time: until `"2025-06-01"` none of that day (UTC). Calls without a time are left out then.
	 */
	until?: Date | number | string | undefined;
	/** Days begin at midnight UTC, not at the clock's. */
	utc?: boolean | undefined;
	/**
	 * How many of the largest entries are reported; 10 by default. For more than 100, the files are read instead of the
	 * catalog.
	 */
	largest?: number | undefined;
}

/**
 * Which sessions `SessionManager.usage` adds up, and how.
 *
 * @example
 * ```ts
 * const options: UsageOptions<"session"> = { sessionDir: dir, by: "session", onProgress: (read, total) => console.log(read, total) }; // → 1 1
 * await SessionManager.usage(options);
 * ```
 */
export interface UsageOptions<Grouping extends UsageGrouping = UsageGrouping> extends UsageReportOptions<Grouping> {
	/**
	 * Only sessions of this working directory: those that `list(cwd)` shows, or with `sessionDir` those that `list(cwd,
	 * dir)` does.
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
	/**
	 * Only the session in this file and its subagents, which are read without the catalog. Not with `cwd`, `sessionDir`
	 * or `folders`.
	 */
	path?: string | undefined;
	/** Ends the report; the promise is rejected with its reason. */
	signal?: AbortSignal | undefined;
	/** Called with how many files were read, and how many there are. */
	onProgress?: ((read: number, total: number) => void) | undefined;
}

/**
 * What model calls used.
 *
 * @example
 * ```ts
 * const tokens = (sum: UsageSum): number => sum.input + sum.output + sum.cacheRead + sum.cacheWrite;
 * ```
 */
export interface UsageSum {
	/** How many calls. */
	calls: number;
	/** Tokens sent, those of the cache not included. */
	input: number;
	/** Tokens that the model wrote. */
	output: number;
	/** Tokens read from the provider's cache. */
	cacheRead: number;
	/** Tokens written to the provider's cache. */
	cacheWrite: number;
	/** Dollars. */
	cost: number;
}

/**
 * The sum of one model, period, project or session.
 *
 * @example
 * ```ts
 * const { by } = await SessionManager.usage({ sessionDir: dir, by: "month" });
 * const dearest = (row: UsageRow): string | undefined => row.models?.[0]?.key;
 * console.log(by.month.map(dearest)); // → [ 'acme/large' ]
 * ```
 */
export interface UsageRow extends UsageSum {
	/**
	 * The model that answered as `provider/model`, or in parentheses what else made the call; the first day of a period;
	 * a working directory; a session's file.
	 */
	key: string;
	/** The sums of its models, the dearest first; not in rows by model. */
	models?: UsageRow[];
	/** Of a session: its id. */
	id?: string;
	/** Of a session: its working directory. */
	cwd?: string;
	/**
	 * Of a session: its name, or the beginning of its first message. Empty in the report of an open session
	 * (`manager.getUsage`): its manager has the name.
	 */
	title?: string;
	/** Of a session: how many sessions of its subagents are in its sum. */
	subagents?: number;
}

/**
 * What model calls of sessions used, and what their files hold.
 *
 * @example
 * ```ts
 * const { sessions, entries, leftOut }: UsageReport = await SessionManager.usage({ sessionDir: dir });
 * console.log(sessions, entries, leftOut.withoutUsage); // → 1 2 0
 * ```
 */
export interface UsageReport<Grouping extends UsageGrouping = UsageGrouping> {
	/** How many sessions were read, without those of subagents. */
	sessions: number;
	/** How many sessions of subagents were read. */
	subagents: number;
	/** How many entries they have. Limits of time apply only to `total`, `by` and the calls in `leftOut`. */
	entries: number;
	/** Bytes of these entries in their files. */
	bytes: number;
	total: UsageSum;
	/** The rows of each grouping: periods in their order, the others by cost. */
	by: Record<Grouping, UsageRow[]>;
	/** The largest entries, and where their lines are in the files. */
	largest: { path: string; sessionId: string; entryId: string; bytes: number; offset: number }[];
	leftOut: UsageLeftOut;
}

/**
 * What is not in the sums of a usage report. The numbers count calls; whatever else such a call used is in the sums.
 *
 * @example
 * ```ts
 * const isWhole = ({ notNumbers, negative, infinite }: UsageLeftOut): boolean => notNumbers + negative + infinite === 0;
 * ```
 */
export interface UsageLeftOut {
	/**
	 * Calls without usage. They are not in the number of calls, and not in the numbers of what else is wrong with calls.
	 */
	withoutUsage: number;
	/** Calls of which tokens of a kind, or the cost, are missing. */
	missing: number;
	/** Calls with an amount that is not a number. */
	notNumbers: number;
	/** Calls with an amount below 0. */
	negative: number;
	/** Calls with an amount that is too large for a number, or that would make a sum too large for one. */
	infinite: number;
	/** Calls with amounts of kinds that this release does not know. */
	unknownKinds: number;
	/** Calls whose provider or model has no name. */
	withoutModel: number;
	/**
	 * Calls that nothing tells the time of: neither a number nor an ISO text. With `since` or `until` they are not added.
	 */
	withoutTime: number;
	/** Lines that are not entries. */
	damagedLines: number;
	/** Files that could not be read, or are not sessions, and directories that could not be read. */
	files: { path: string; error: string }[];
}
