// Types for writing, checking and repairing session files. The types of the format are in `header.d.ts`.

/**
 * Options for writing a session's file. The environment variables `PI_SESSION_NATIVE_DURABILITY` and
 * `PI_SESSION_NATIVE_LOCK` set the defaults. Sessions in memory ignore the options. `create`, `inMemory` and `forkFrom`
 * ignore unknown options, as pi does; `open` and `continueRecent` throw.
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
	 * An append returns when the operating system has the line (`"os"`, the default: the line survives the end of this
	 * process), or when the line is on the disk (`"fsync"`: it survives a power failure).
	 */
	durability?: "os" | "fsync" | undefined;
	/**
	 * Every manager may write to the file (`"none"`, the default), or only this manager (`"exclusive"`). The session lock
	 * is advisory: every manager of this package checks it before it writes, but pi does not. `close` releases it, and so
	 * does any end of the process. With `PI_SESSION_NATIVE_LOCK=exclusive` the process owns it, and its managers share
	 * it.
	 */
	lock?: "none" | "exclusive" | undefined;
}

/**
 * Options of `SessionManager.open`.
 *
 * @example
 * ```ts
 * const options: OpenOptions = { readonly: true };
 * console.log(SessionManager.open(file, options).getEntries().length); // → 2
 * ```
 */
export interface OpenOptions extends SessionFileOptions {
	/**
	 * Never writes and takes no lock. The file must exist; a file of version 1 or 2 is migrated in memory (the id of an
	 * entry of version 1 is its number), and calls that change the session throw. `reload` reads the entries of others
	 * and moves the leaf to the last entry. `isPersisted` is false.
	 */
	readonly?: boolean | undefined;
	/** The directory of new sessions of this manager; by default the directory of the file. */
	sessionDir?: string | undefined;
	/** The working directory; by default the working directory in the header. */
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
	/** The offset of its first byte in the file, from 0. */
	start: number;
	/** The offset after its last byte, without its newline. */
	end: number;
	/** Why it is not an entry, in a few words. */
	reason: string;
}

/**
 * An entry whose parent is not in the session.
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
 * The number of faults of each kind. The lists of a report contain the first 1,000 of each kind.
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
	/** Ids of several entries. */
	duplicateIds: number;
	/** Cycles of parents. */
	cycles: number;
}

/**
 * An id of several entries; it refers to the last of them.
 *
 * @example
 * ```ts
 * const twice: DuplicateEntryId[] = manager.getDiagnostics().duplicateIds;
 * console.log(twice.map((one) => one.lines)); // → []
 * ```
 */
export interface DuplicateEntryId {
	id: string;
	/** The first 1,000 lines with it, counted from 1. `getDiagnostics` counts no blank lines. */
	lines: number[];
	/** The number of entries with it. */
	count: number;
}

/**
 * A cycle of parents: each entry is the child of the entry before it, and the first entry is the child of the last.
 *
 * @example
 * ```ts
 * const cycles: EntryCycle[] = manager.getDiagnostics().cycles;
 * console.log(cycles.length); // → 0
 * ```
 */
export interface EntryCycle {
	/** The ids of the first 1,000 entries. */
	ids: string[];
	/** The number of its entries. */
	count: number;
}

/**
 * Changes of a session's file by other processes, of one kind.
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
	/** The number of changes. */
	count: number;
	/** The number of entries that were added. */
	entries: number;
	/** The number of bytes that were added. */
	bytes: number;
}

/**
 * The faults of an open session, and the changes by others since it was opened.
 *
 * @example
 * ```ts
 * const found: SessionDiagnostics = manager.getDiagnostics();
 * console.log(found.path === file, found.damaged.length); // → true 0
 * ```
 */
export interface SessionDiagnostics {
	/** The session's file, which may not exist yet; null in memory. */
	path: string | null;
	/** The first 1,000 damaged lines. The other lists contain the first 1,000 as well; `totals` counts all. */
	damaged: DamagedLine[];
	/** The repairs when the session was opened, with their numbers. */
	repairs: { what: string; count: number }[];
	foreignChanges: ForeignChange[];
	orphans: OrphanEntry[];
	duplicateIds: DuplicateEntryId[];
	cycles: EntryCycle[];
	totals: FaultTotals;
}

/**
 * The result of `SessionManager.verify`.
 *
 * @example
 * ```ts
 * const report: VerifyReport = SessionManager.verify(file);
 * console.log(report.ok, report.lines, report.entries); // → true 3 2
 * ```
 */
export interface VerifyReport {
	path: string;
	/** Whether the file has a header and no fault. */
	ok: boolean;
	/**
	 * A description of the file if it is not a session of pi, such as `"a transcript in Claude Code's format"`; null for
	 * a session, damaged or not. A file is a session if its header, or an entry of a kind of pi, can be read, and no line
	 * has another program's format.
	 */
	otherFormat: string | null;
	/** The version in the header, or 1 if the header has none; null without a header. */
	version: number | null;
	sessionId: string | null;
	/** The size of the file. */
	bytes: number;
	/** The number of all lines, including blank lines and a last line without a newline. */
	lines: number;
	/** The number of entries. */
	entries: number;
	/** The first 1,000 damaged lines. The other lists contain the first 1,000 as well; `totals` counts all. */
	damaged: DamagedLine[];
	orphans: OrphanEntry[];
	duplicateIds: DuplicateEntryId[];
	cycles: EntryCycle[];
	totals: FaultTotals;
	endsWithNewline: boolean;
	/**
	 * No damage, but a provider may refuse the conversation. The first 1,000 in the context of the leaf, by line; empty
	 * for a session of version 1, because its entries have no ids before it is migrated.
	 */
	unpairedCalls: UnpairedCall[];
}

/**
 * A tool call without a result, or a result without its call. The result must be between the message with the call and
 * the next user or assistant message. Interrupted assistant messages are ignored, because pi does not send them.
 *
 * @example
 * ```ts
 * const [call]: UnpairedCall[] = SessionManager.verify(file).unpairedCalls;
 * ```
 */
export interface UnpairedCall {
	/** The line of the entry, counted from 1. */
	line: number;
	toolCallId: string;
	reason: "a tool call without a result" | "a result without its tool call";
}

/**
 * The result of `SessionManager.repair`.
 *
 * @example
 * ```ts
 * const report: RepairReport = SessionManager.repair(file);
 * console.log(report.backup, report.repairs.length); // → null 0
 * ```
 */
export interface RepairReport {
	path: string;
	/** The path of the original; null if there was nothing to repair. */
	backup: string | null;
	before: VerifyReport;
	after: VerifyReport;
	/** The first 1,000 repairs, by line of the original, counted from 1. */
	repairs: { line: number; what: string }[];
	/** The number of repairs. */
	repairCount: number;
}

/**
 * The result of `SessionManager.merge`.
 *
 * @example
 * ```ts
 * const stored = { session: manager.getSessionId(), lines: Buffer.alloc(0) };
 * const report: MergeReport = SessionManager.merge(file, stored);
 * console.log(report.changed, report.unstored); // → false 2
 * ```
 */
export interface MergeReport {
	/** If true, nothing was done: the lines after `since` are not enough, so pass all lines. */
	needsAll: boolean;
	/** Whether the file was written. */
	changed: boolean;
	/** The number of lines that were added. */
	added: number;
	/** The number of entries in the file that are not stored. */
	unstored: number;
	/** Up to this byte the file consists of the header and the stored lines, in the store's order. */
	storedBytes: number;
	/**
	 * The inode of the reported file, because another process may have replaced the file since. Empty if nothing was
	 * done, and on Windows.
	 */
	inode: string;
}

/**
 * The lines of a session in a store. Arrays over a `SharedArrayBuffer` lead to a `TypeError`.
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
	/** The header line of a new file. If present, the file must not exist, and is created. */
	header?: Uint8Array | undefined;
	/** If present, `lines` contains only lines that sort after this beginning of the file. */
	since?: MergeSince | undefined;
}

/**
 * The beginning of a file that contains stored lines in their order.
 *
 * @example
 * ```ts
 * const since: MergeSince = { bytes: 4096, tail: Buffer.from([0x7d, 0x0a]) };
 * ```
 */
export interface MergeSince {
	/** Its length in bytes; it ends with a newline. */
	bytes: number;
	/** Its last bytes. If the file has other bytes there, `needsAll` is true. */
	tail: Uint8Array;
}

/**
 * The content that is removed from a session: a text, the content of entries, a text in some entries, or lines.
 *
 * @example
 * ```ts
 * const password: RedactInput = { text: "hunter2", replacement: "(removed)" };
 * console.log(SessionManager.redact(file, password).lines.length); // → 0
 * ```
 */
export interface RedactInput {
	/** Replaced in every text of the session that contains it. At most 1 MiB. */
	text?: string | undefined;
	/**
	 * Ids of entries. With `text`, the text is replaced only in them; without it they lose their content, and keep their
	 * places in the tree.
	 */
	entries?: readonly string[] | undefined;
	/**
	 * Lines by the SHA-256 of their bytes in hexadecimal digits, and their replacements; without a replacement a line
	 * loses its content. A line that differs only in its parent is replaced as well, and keeps its own parent. `session`
	 * is the file of the line's session, if that is another one: changed copies of its entry (lines with its type,
	 * timestamp and id) then lose their content.
	 */
	lines?: readonly { hash: string; line?: string | Uint8Array | undefined; session?: string | undefined }[] | undefined;
	/** The replacement of the text; `[redacted]` by default. */
	replacement?: string | undefined;
	/** Whether to change nothing, and only return what would change. */
	dryRun?: boolean | undefined;
}

/**
 * The result of `SessionManager.redact`.
 *
 * @example
 * ```ts
 * const report: RedactReport = SessionManager.redact(file, { entries: ["c0ffee00"] });
 * console.log(report.lines.length, report.isCatalogClean); // → 0 true
 * ```
 */
export interface RedactReport {
	/**
	 * The changed lines of the file: for each the id of its entry (null if it has none), the SHA-256 of its bytes before
	 * and after, and its bytes after; `session` as in the input.
	 */
	lines: { id: string | null; hash: string; newHash: string; line: Uint8Array; session?: string }[];
	/** The paths of the changed backups. */
	backups: string[];
	/** The temporary files with it that killed processes had left in the directory; they were removed. */
	temporaryFiles: string[];
	/**
	 * The number of lines in these files that still contain the text (in a header, an id, a number), or are too long to
	 * be read.
	 */
	left: number;
	/**
	 * Whether the catalog contains no data of the file. False if another process uses the catalog, or it cannot be
	 * written.
	 */
	isCatalogClean: boolean;
}
