// Input and reports of `merge` and `redact`.

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
