/**
 * The groups for which usage is added up. Weeks are named by their Monday. A project is a working directory.
 *
 * @example
 * ```ts
 * const by: UsageGrouping = "week";
 * const report = await SessionManager.usage({ by });
 * ```
 */
export type UsageGrouping = "model" | "day" | "week" | "month" | "project" | "session";

/**
 * Options of every usage report.
 *
 * @example
 * ```ts
 * const options: UsageReportOptions<"day"> = { by: "day", since: "2025-06-01", utc: true };
 * ```
 */
export interface UsageReportOptions<Grouping extends UsageGrouping = UsageGrouping> {
	/** The grouping of the rows, or several groupings; by model by default. */
	by?: Grouping | readonly Grouping[] | undefined;
	/**
	 * Only calls from this time on: a `Date`, milliseconds since 1970, or a text as `Date` parses it. `"2025-06-01"` is
	 * midnight UTC, although days begin at local midnight unless `utc` is true. Calls without a time are left out.
	 */
	since?: Date | number | string | undefined;
	/**
	 * Only calls before this time: `"2025-06-01"` excludes that day (UTC). Calls without a time are left out.
	 */
	until?: Date | number | string | undefined;
	/** Whether days begin at midnight UTC instead of local midnight. */
	utc?: boolean | undefined;
	/**
	 * The number of largest entries in the report; 10 by default. For more than 100, the files are read instead of the
	 * catalog.
	 */
	largest?: number | undefined;
}

/**
 * Options of `SessionManager.usage`.
 *
 * @example
 * ```ts
 * const onProgress = (read: number, total: number) => console.log(read, total); // → 1 1
 * const options: UsageOptions<"session"> = { sessionDir: dir, by: "session", onProgress };
 * await SessionManager.usage(options);
 * ```
 */
export interface UsageOptions<Grouping extends UsageGrouping = UsageGrouping> extends UsageReportOptions<Grouping> {
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
	/**
	 * Only the session in this file and its subagents' sessions, read without the catalog. Cannot be combined with `cwd`,
	 * `sessionDir` or `folders`.
	 */
	path?: string | undefined;
	/** Aborts the report; the promise rejects with the signal's reason. */
	signal?: AbortSignal | undefined;
	/** Called with the number of files that were read, and the number of all files. */
	onProgress?: ((read: number, total: number) => void) | undefined;
}

/**
 * The sums of model calls.
 *
 * @example
 * ```ts
 * const tokens = (sum: UsageSum): number => sum.input + sum.output + sum.cacheRead + sum.cacheWrite;
 * ```
 */
export interface UsageSum {
	/** The number of calls. */
	calls: number;
	/** Tokens sent, without cached tokens. */
	input: number;
	/** Tokens that the model wrote. */
	output: number;
	/** Tokens read from the provider's cache. */
	cacheRead: number;
	/** Tokens written to the provider's cache. */
	cacheWrite: number;
	/** US dollars. */
	cost: number;
}

/**
 * The sums of one model, period, project or session.
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
	 * The model that answered as `provider/model`, or another origin of the call in parentheses; the first day of a
	 * period; a working directory; the file of a session.
	 */
	key: string;
	/** The sums of its models, the most expensive first; not in rows by model. */
	models?: UsageRow[];
	/** The id of a session. */
	id?: string;
	/** The working directory of a session. */
	cwd?: string;
	/**
	 * The name of a session, or the beginning of its first message. Empty in the report of an open session
	 * (`manager.getUsage`), because its manager knows the name.
	 */
	title?: string;
	/** The number of subagents' sessions in the sum of a session. */
	subagents?: number;
}

/**
 * The usage of sessions, and the size of their files.
 *
 * @example
 * ```ts
 * const { sessions, entries, leftOut }: UsageReport = await SessionManager.usage({ sessionDir: dir });
 * console.log(sessions, entries, leftOut.withoutUsage); // → 1 2 0
 * ```
 */
export interface UsageReport<Grouping extends UsageGrouping = UsageGrouping> {
	/** The number of sessions that were read, without subagents' sessions. */
	sessions: number;
	/** The number of subagents' sessions that were read. */
	subagents: number;
	/** The number of their entries. `since` and `until` apply only to `total`, `by` and the calls in `leftOut`. */
	entries: number;
	/** The size of these entries in their files, in bytes. */
	bytes: number;
	total: UsageSum;
	/** The rows of each grouping: periods in order of time, other rows by cost. */
	by: Record<Grouping, UsageRow[]>;
	/** The largest entries, with the sizes and offsets of their lines in bytes. */
	largest: { path: string; sessionId: string; entryId: string; bytes: number; offset: number }[];
	leftOut: UsageLeftOut;
}

/**
 * Amounts that are not in the sums of a usage report. The numbers count calls; the other amounts of such a call are in
 * the sums.
 *
 * @example
 * ```ts
 * const isWhole = (left: UsageLeftOut): boolean => left.notNumbers + left.negative + left.infinite === 0;
 * ```
 */
export interface UsageLeftOut {
	/**
	 * Calls without usage. The other numbers, and the number of calls, do not include them.
	 */
	withoutUsage: number;
	/** Calls without the cost or without a kind of tokens. */
	missing: number;
	/** Calls with an amount that is not a number. */
	notNumbers: number;
	/** Calls with an amount below 0. */
	negative: number;
	/** Calls with an amount that is infinite, or that would make a sum infinite. */
	infinite: number;
	/** Calls with amounts of kinds that this release does not know. */
	unknownKinds: number;
	/** Calls without the name of a provider or model. */
	withoutModel: number;
	/**
	 * Calls without a time (a number or an ISO text). With `since` or `until` they are not added.
	 */
	withoutTime: number;
	/** Lines that are not entries. */
	damagedLines: number;
	/**
	 * Files that could not be read or are not sessions, and directories that could not be read. `otherFormat` is the
	 * format of a file that is not a session of pi, as in `VerifyReport`; null for a damaged session, and for everything
	 * that could not be read.
	 */
	files: { path: string; error: string; otherFormat: string | null }[];
}
