// Faults of session files: diagnostics of an open session, reports of `verify` and `repair`.

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
