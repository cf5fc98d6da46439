// Types of how a session file is written, checked and repaired. Those of the format are in `header.d.ts`.

/**
 * How a session's file is written. The environment variables `PI_SESSION_NATIVE_DURABILITY` and
 * `PI_SESSION_NATIVE_LOCK` give the defaults. Sessions in memory ignore the options. `create`, `inMemory` and
 * `forkFrom` ignore names that they do not know, as pi does; `open` and `continueRecent` refuse them.
 *
 * @example
 * ```ts
 * const options: SessionFileOptions = { durability: "fsync", lock: "exclusive" };
 * const mine = SessionManager.create(cwd, dir, options);
 * mine.close();
 * ```
 */
export interface SessionFileOptions {
	/**
	 * When an append returns: when the operating system has the line (`"os"`, the default: the line survives the end of
	 * this process), or when the disk has it (`"fsync"`: it survives a power failure).
	 */
	durability?: "os" | "fsync" | undefined;
	/**
	 * Who may write to the file: anyone (`"none"`, the default), or only this manager (`"exclusive"`). The session lock
	 * is advisory: every manager of this package checks it before it writes, pi does not. It is released by `close`, and
	 * by the end of the process, however it ends. With `PI_SESSION_NATIVE_LOCK=exclusive` the process holds it, and its
	 * managers share it.
	 */
	lock?: "none" | "exclusive" | undefined;
	/**
	 * The ids of new entries: eight hexadecimal digits (`"short"`, the default), or UUIDs (`"long"`), which are unique
	 * among copies of the session on other machines, too. `PI_SESSION_NATIVE_IDS` sets the default.
	 */
	ids?: "short" | "long" | undefined;
}

/**
 * How `SessionManager.open` opens a session.
 *
 * @example
 * ```ts
 * const options: OpenOptions = { readonly: true };
 * console.log(SessionManager.open(file, options).getEntries().length); // → 2
 * ```
 */
export interface OpenOptions extends SessionFileOptions {
	/**
	 * Shows the file and never writes: there must be one, a file of version 1 or 2 is migrated in memory (an entry of
	 * version 1 has its number as its id), no lock is taken, and calls that change the session throw. `reload` takes in
	 * what others wrote, and moves the leaf to the last entry. `isPersisted` is false.
	 */
	readonly?: boolean | undefined;
	/** The directory of new sessions of this manager; the file's by default. */
	sessionDir?: string | undefined;
	/** The working directory; the header's by default. */
	cwd?: string | undefined;
}

/**
 * A line of a session file that is not an entry. It is skipped, and stays in the file.
 *
 * @example
 * ```ts
 * const { appendFileSync } = await import("node:fs");
 * appendFileSync(file, "half a li\n");
 * const [line]: DamagedLine[] = SessionManager.verify(file).damaged;
 * console.log(line?.line, line?.reason); // → 4 not valid JSON
 * ```
 */
export interface DamagedLine {
	/** Counted from 1. */
	line: number;
	/** Its bytes are `start` up to `end`, counted from 0, its newline not counted. */
	start: number;
	/** The byte after its last one. */
	end: number;
	/** Why it is not an entry, in a few words. */
	reason: string;
}

/**
 * An entry whose `parentId` names no entry of the session.
 *
 * @example
 * ```ts
 * const orphans: OrphanEntry[] = manager.getDiagnostics().orphans;
 * console.log(orphans.length); // → 0
 * ```
 */
export interface OrphanEntry {
	/** Counted from 1. `getDiagnostics` counts no blank lines. */
	line: number;
	id: string;
	parentId: string;
}

/**
 * How many errors of each kind there are. The lists of a report have the first 1,000 of each kind.
 *
 * @example
 * ```ts
 * const totals: FaultTotals = SessionManager.verify(file).totals;
 * console.log(totals.damaged, totals.orphans); // → 0 0
 * ```
 */
export interface FaultTotals {
	/** Lines that are not entries. */
	damaged: number;
	/** Entries whose parent is missing. */
	orphans: number;
	/** Ids that several entries have. */
	duplicateIds: number;
	/** Cycles of parents. */
	cycles: number;
}

/**
 * An id that several entries have; it means the last of them.
 *
 * @example
 * ```ts
 * const twice: DuplicateEntryId[] = manager.getDiagnostics().duplicateIds;
 * console.log(twice.map((one) => one.lines)); // → []
 * ```
 */
export interface DuplicateEntryId {
	id: string;
	/** Counted from 1; the first 1,000 of them. `getDiagnostics` counts no blank lines. */
	lines: number[];
	/** How many entries have it. */
	count: number;
}

/**
 * Entries that are each other's ancestors, each the child of the one before it and the first of the last.
 *
 * @example
 * ```ts
 * const cycles: EntryCycle[] = manager.getDiagnostics().cycles;
 * console.log(cycles.length); // → 0
 * ```
 */
export interface EntryCycle {
	/** The first 1,000 of them. */
	ids: string[];
	/** How many entries it has. */
	count: number;
}

/**
 * How often other processes changed a session's file in one way.
 *
 * @example
 * ```ts
 * SessionManager.open(file).appendCustomEntry("from elsewhere");
 * manager.reload();
 * const [change]: ForeignChange[] = manager.getDiagnostics().foreignChanges;
 * console.log(change?.kind, change?.entries); // → grown 1
 * ```
 */
export interface ForeignChange {
	kind: "grown" | "deleted" | "renamed" | "replaced" | "truncated";
	/** How often. */
	count: number;
	/** Entries that came with it. */
	entries: number;
	/** Bytes that were added to the file. */
	bytes: number;
}

/**
 * What a manager knows of its session: what is wrong with it, and what happened to it since it was opened.
 *
 * @example
 * ```ts
 * const found: SessionDiagnostics = manager.getDiagnostics();
 * console.log(found.path === file, found.damaged.length); // → true 0
 * ```
 */
export interface SessionDiagnostics {
	/** The session's file, whether it exists yet or not; null in memory. */
	path: string | null;
	/** The first 1,000, as of orphans, ids and cycles; `totals` counts all. */
	damaged: DamagedLine[];
	/** What was repaired, and how often. */
	repairs: { what: string; count: number }[];
	foreignChanges: ForeignChange[];
	orphans: OrphanEntry[];
	duplicateIds: DuplicateEntryId[];
	cycles: EntryCycle[];
	totals: FaultTotals;
}

/**
 * What `SessionManager.verify` found in a file.
 *
 * @example
 * ```ts
 * const report: VerifyReport = SessionManager.verify(file);
 * console.log(report.ok, report.lines, report.entries); // → true 3 2
 * ```
 */
export interface VerifyReport {
	path: string;
	/** There is a header, and nothing is wrong. */
	ok: boolean;
	/**
	 * What the file is if it is not a session of pi, such as `"a transcript in Claude Code's format"`; null of a session,
	 * damaged or not. A file is a session if its header, or an entry of one of pi's kinds, can be read, and no line shows
	 * another program's format.
	 */
	otherFormat: string | null;
	/** The version that the header states, 1 if it states none; null without a header. */
	version: number | null;
	sessionId: string | null;
	/** Of the file. */
	bytes: number;
	/** Lines of every kind, including blank ones and a last one without a newline. */
	lines: number;
	/** Lines that are entries, the header not counted. */
	entries: number;
	/** The first 1,000, as of orphans, ids and cycles; `totals` counts all. */
	damaged: DamagedLine[];
	orphans: OrphanEntry[];
	duplicateIds: DuplicateEntryId[];
	cycles: EntryCycle[];
	totals: FaultTotals;
	endsWithNewline: boolean;
	/** No damage, but a provider may refuse the conversation: the first 1,000 in the context of the leaf, by line. */
	unpairedCalls: UnpairedCall[];
}

/**
 * A tool call without a result, or the reverse. The result belongs after the message with the call, before the next one
 * of the user or the model. Messages of the model that broke off do not count: pi does not send them.
 *
 * @example
 * ```ts
 * const [call]: UnpairedCall[] = SessionManager.verify(file).unpairedCalls;
 * ```
 */
export interface UnpairedCall {
	/** The line of its entry, counted from 1. */
	line: number;
	toolCallId: string;
	reason: "a tool call without a result" | "a result without its tool call";
}

/**
 * What `SessionManager.repair` did to a file.
 *
 * @example
 * ```ts
 * const report: RepairReport = SessionManager.repair(file);
 * console.log(report.backup, report.repairs.length); // → null 0
 * ```
 */
export interface RepairReport {
	path: string;
	/** Where the original is kept; null if there was nothing to repair. */
	backup: string | null;
	before: VerifyReport;
	after: VerifyReport;
	/** By line of the original, counted from 1; the first 1,000. */
	repairs: { line: number; what: string }[];
	/** How many repairs there were. */
	repairCount: number;
}

/**
 * What `SessionManager.merge` did to a file.
 *
 * @example
 * ```ts
 * const stored = { session: manager.getSessionId(), lines: Buffer.alloc(0) };
 * const report: MergeReport = SessionManager.merge(file, stored);
 * console.log(report.changed, report.unstored); // → false 2
 * ```
 */
export interface MergeReport {
	/** Nothing was done: the lines after `since` are not enough, pass all of them. */
	needsAll: boolean;
	/** Whether the file was written. */
	changed: boolean;
	/** Lines that the file did not have. */
	added: number;
	/** Entries of the file that are not stored. */
	unstored: number;
	/** How many bytes of the file hold the stored lines in their order. */
	storedBytes: number;
	/**
	 * The inode of the file that this report is about: another process may have replaced it since. Empty if nothing was
	 * done, and on Windows.
	 */
	inode: string;
}

/**
 * Lines of a session as a store has them. An array over a `SharedArrayBuffer` is refused with a `TypeError`.
 *
 * @example
 * ```ts
 * const nothingNew: MergeInput = { session: manager.getSessionId(), lines: Buffer.alloc(0) };
 * console.log(SessionManager.merge(file, nothingNew).added); // → 0
 * ```
 */
export interface MergeInput {
	/** The id of the session. */
	session: string;
	/** Lines of entries in the store's order, each ended by a newline. */
	lines: Uint8Array;
	/** The header line of a new file. Given, the file must not exist yet, and is made. */
	header?: Uint8Array | undefined;
	/** Given, `lines` are only those that sort after this beginning of the file. */
	since?: MergeSince | undefined;
}

/**
 * The beginning of a file that is known to hold stored lines in their order.
 *
 * @example
 * ```ts
 * const since: MergeSince = { bytes: 4096, tail: Buffer.from([0x7d, 0x0a]) };
 * ```
 */
export interface MergeSince {
	/** Its length in bytes; it ends with a newline. */
	bytes: number;
	/** Its last bytes, to recognise it by. If the file has others there, the report asks for all lines. */
	tail: Uint8Array;
}

/**
 * What is to be taken out of a session: a text, what entries say, a text in some entries, or lines.
 *
 * @example
 * ```ts
 * const password: RedactInput = { text: "hunter2", replacement: "(removed)" };
 * console.log(SessionManager.redact(file, password).lines.length); // → 0
 * ```
 */
export interface RedactInput {
	/** Replaced wherever a text of the session holds it. */
	text?: string | undefined;
	/**
	 * Ids of entries: with `text` it is replaced only there; without it they lose what they say, and keep their places in
	 * the tree.
	 */
	entries?: readonly string[] | undefined;
	/**
	 * Lines by the SHA-256 of their bytes in hexadecimal digits, and what replaces them; without that they lose what they
	 * say. A line that differs from such a one only in its parent gets the new line, too, below its own parent. `session`
	 * names the session that a line is of, if that is another one: then copies of its entry (lines with its type,
	 * timestamp and id) lose what they say if they were changed.
	 */
	lines?: readonly { hash: string; line?: string | Uint8Array | undefined; session?: string | undefined }[] | undefined;
	/** What takes the place of a text; `[redacted]` by default. */
	replacement?: string | undefined;
	/** Only tells what would be changed. */
	dryRun?: boolean | undefined;
}

/**
 * What `SessionManager.redact` did.
 *
 * @example
 * ```ts
 * const report: RedactReport = SessionManager.redact(file, { entries: ["c0ffee00"] });
 * console.log(report.lines.length, report.isCatalogClean); // → 0 true
 * ```
 */
export interface RedactReport {
	/**
	 * The changed lines of the file, each by its entry's id (null if it is not an entry with one), the SHA-256 of its
	 * bytes before and after, and its bytes after; `session` as it was given with `lines`.
	 */
	lines: { id: string | null; hash: string; newHash: string; line: Uint8Array; session?: string }[];
	/** The paths of the backups that were changed. */
	backups: string[];
	/**
	 * How many lines of these files still hold what was to be taken out (in a header, an id, a number), or are too long
	 * to be read.
	 */
	left: number;
	/**
	 * Whether the catalog holds nothing of the file any more. False if another process keeps it, or it cannot be written.
	 */
	isCatalogClean: boolean;
}
