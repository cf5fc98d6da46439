// The class, whose methods are in src/api.

/**
 * A conversation session: an append-only tree of entries in a JSONL file, or in memory.
 *
 * @example
 * ```ts
 * const session = SessionManager.create(cwd, dir);
 * session.appendMessage({ role: "user", content: "Hello", timestamp: Date.now() });
 * console.log(SessionManager.open(session.getSessionFile()!).getEntryCount()); // → 1
 * ```
 */
export declare class SessionManager {
	/**
	 * Appends a message below the leaf, and moves the leaf to it. The object is kept, not copied. Returns the entry's
	 * id.
	 *
	 * @throws If `JSON.stringify` throws (for a cycle, a `BigInt`) and the session has a file. If the file cannot be
	 * written, is locked by another manager, or now contains another session. The session is then unchanged.
	 * @example
	 * ```ts
	 * const id = manager.appendMessage({ role: "user", content: "Hello", timestamp: Date.now() });
	 * console.log(manager.getLeafId() === id); // → true
	 * ```
	 */
	appendMessage(message: Message | CustomMessage | BashExecutionMessage): string;
	/**
	 * Appends a change of the thinking level. Returns the entry's id.
	 *
	 * @throws As `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendThinkingLevelChange("high");
	 * console.log(manager.buildSessionContext().thinkingLevel); // → high
	 * ```
	 */
	appendThinkingLevelChange(thinkingLevel: string): string;
	/**
	 * Appends a change of the model. Returns the entry's id.
	 *
	 * @throws As `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendModelChange("acme", "large");
	 * console.log(manager.buildSessionContext().model?.modelId); // → large
	 * ```
	 */
	appendModelChange(provider: string, modelId: string): string;
	/**
	 * Appends usage that is not part of the model's context. Returns the entry.
	 *
	 * @throws As `appendMessage` does.
	 * @example
	 * ```ts
	 * const cost = { input: 0, output: 0, cacheRead: 0.015, cacheWrite: 0, total: 0.015 };
	 * const usage = { input: 0, output: 0, cacheRead: 50_000, cacheWrite: 0, totalTokens: 50_000, cost };
	 * const entry = manager.appendUsage("cache_warm", "acme", "large", usage);
	 * console.log(entry.usage === usage); // → true
	 * ```
	 */
	appendUsage(kind: string, provider: string, model: string, usage: Usage, note?: string): UsageEntry;
	/**
	 * Appends a compaction: later contexts begin with its summary and continue with `firstKeptEntryId` (null: keep no
	 * earlier entry). `tokensBefore` is the size of the context before, in tokens; `details` are data of the summary's
	 * author, `usage` is the usage of the summary, and `fromHook` tells whether an extension wrote it. The entry
	 * contains the system prompt and the tools at the leaf. Returns its id.
	 *
	 * @throws As `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendCompaction("They greeted each other.", null, 12_000);
	 * console.log(manager.buildSessionContext().messages.at(-1)?.role); // → compactionSummary
	 * ```
	 */
	appendCompaction<T = unknown>(
		summary: string,
		firstKeptEntryId: string | null,
		tokensBefore: number,
		details?: T,
		fromHook?: boolean,
		usage?: Usage,
	): string;
	/**
	 * Appends data of an extension, which is not part of the model's context. Returns the entry's id.
	 *
	 * @throws As `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendCustomEntry("my-extension", { seen: ["a.ts"] });
	 * ```
	 */
	appendCustomEntry(customType: string, data?: unknown): string;
	/**
	 * Appends the session's name, as one trimmed line. An empty name removes it. Returns the entry's id.
	 *
	 * @throws `TypeError` if the name is not a string. Otherwise as `appendMessage`.
	 * @example
	 * ```ts
	 * manager.appendSessionInfo("  Greetings ");
	 * console.log(manager.getSessionName()); // → Greetings
	 * ```
	 */
	appendSessionInfo(name: string): string;
	/**
	 * Appends a message of an extension, which is part of the model's context. Returns the entry's id.
	 *
	 * @throws As `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendCustomMessageEntry("my-extension", "The build is red.", true);
	 * console.log(manager.buildSessionContext().messages.at(-1)?.role); // → custom
	 * ```
	 */
	appendCustomMessageEntry<T = unknown>(
		customType: string,
		content: string | (TextContent | ImageContent)[],
		display: boolean,
		details?: T,
	): string;
	/**
	 * Appends an edit of an earlier entry of the path in the model's context: null removes the entry from the context,
	 * content replaces its content. Returns the entry's id.
	 *
	 * @throws If the entry does not exist, is not on the path to the leaf, or has no content that can be edited, and if
	 * the replacement is neither null nor has content. Otherwise as `appendMessage`.
	 * @example
	 * ```ts
	 * manager.appendContextEdit(id, null);
	 * console.log(manager.buildSessionProjection().entries.find((one) => one.sourceEntry.id === id)?.messages); // → []
	 * ```
	 */
	appendContextEdit(targetId: string, replacement: ContextEditEntry["replacement"]): string;
	/**
	 * Appends a label for an entry; undefined or an empty text removes it. Returns the label entry's id.
	 *
	 * @throws If no entry has this id: `Entry <id> not found`. Otherwise as `appendMessage`.
	 * @example
	 * ```ts
	 * manager.appendLabelChange(id, "before the change");
	 * console.log(manager.getLabel(id)); // → before the change
	 * ```
	 */
	appendLabelChange(targetId: string, label: string | undefined): string;
	/**
	 * Reads the changes of others to the file; the leaf stays. If the file was deleted or renamed, it is written again
	 * completely. If it was replaced by a file of the same session, that file is read; otherwise this throws.
	 *
	 * A read-only manager writes nothing: it throws if the file was deleted, and moves the leaf to the last entry. A
	 * file of version 1 or 2 is read again, and its entries are new objects.
	 *
	 * @throws If the path leads to another session or to no session, or the file cannot be read or written.
	 * @example
	 * ```ts
	 * SessionManager.open(file).appendCustomEntry("from elsewhere");
	 * manager.reload();
	 * console.log(manager.getEntryCount()); // → 3
	 * ```
	 */
	reload(): void;
	/**
	 * Checks the file as `reload` does, then waits until it is on the disk. If the file changed in place and kept its
	 * length, only its header and its last lines are compared.
	 *
	 * @throws As `reload` does, and if the disk reports an error.
	 * @example
	 * ```ts
	 * manager.appendCustomEntry("checkpoint");
	 * manager.flush();
	 * ```
	 */
	flush(): void;
	/**
	 * Closes the file and releases its lock. A manager that has appended first checks the file as `flush` does, but does
	 * not wait for the disk. The manager can still be used: it opens the file again when it needs it, and an exclusive
	 * manager takes the lock again with its next append.
	 *
	 * @throws If the path leads to another session or to no session, or the file cannot be read or written. The lock is
	 * then released, but the file stays open, because it may be the only copy of appended entries.
	 * @example
	 * ```ts
	 * const mine = SessionManager.open(file, { lock: "exclusive" });
	 * mine.appendCustomEntry("mine");
	 * mine.close();
	 * console.log(SessionManager.isLocked(file)); // → false
	 * ```
	 */
	close(): void;
	/**
	 * The faults of the session, and the changes of its file by others since it was opened.
	 *
	 * @example
	 * ```ts
	 * const { damaged, foreignChanges } = manager.getDiagnostics();
	 * console.log(damaged.length, foreignChanges.length); // → 0 0
	 * ```
	 */
	getDiagnostics(): SessionDiagnostics;
	/**
	 * Checks a session file and changes nothing.
	 *
	 * @throws If the file cannot be read. Faults of its content are in the report.
	 * @example
	 * ```ts
	 * const { ok, entries, bytes } = SessionManager.verify(file);
	 * console.log(ok, entries, bytes > 0); // → true 2 true
	 * ```
	 */
	static verify(path: string): VerifyReport;
	/**
	 * Repairs a damaged session file. Whole entries inside damaged lines are kept, and the rest of these lines is
	 * removed. Children of a removed entry get its parent if that can be read, otherwise the entry before it. The
	 * original is kept beside the file. A good file is not changed.
	 *
	 * @throws If the file is not a session of pi (`otherFormat` of `verify`), or cannot be read or written, or another
	 * process or a manager with `lock: "exclusive"` has locked the session.
	 * @example
	 * ```ts
	 * const { appendFileSync } = await import("node:fs");
	 * appendFileSync(file, "half a li");
	 * const { backup, repairs, after } = SessionManager.repair(file);
	 * console.log(repairs[0]?.line, repairs[0]?.what); // → 4 removed: not valid JSON
	 * console.log(after.ok, SessionManager.verify(backup!).ok); // → true false
	 * ```
	 */
	static repair(path: string): RepairReport;
	/**
	 * Whether a manager, a repair, a merge, a redaction or a move has locked a session file, in this process or another.
	 *
	 * @throws If the lock cannot be checked.
	 * @example
	 * ```ts
	 * const mine = SessionManager.open(file, { lock: "exclusive" });
	 * mine.appendCustomEntry("mine");
	 * console.log(SessionManager.isLocked(file)); // → true
	 * mine.close();
	 * ```
	 */
	static isLocked(path: string): boolean;
	/**
	 * The sessions with this id or, if there is none, with an id that begins with it, in every working directory,
	 * including subagents' sessions; in the order of their paths. Reads only headers.
	 *
	 * @throws `TypeError` for an argument of a wrong type, or an unknown option.
	 * @example
	 * ```ts
	 * const [found] = SessionManager.findByIdPrefix(manager.getSessionId().slice(0, 8), { sessionDir: dir });
	 * console.log(found?.path === file, found?.cwd === cwd); // → true true
	 * ```
	 */
	static findByIdPrefix(idPrefix: string, options?: SessionScopeOptions): FoundSession[];
	/**
	 * The files that belong to a session file: the backups beside it, and the session files of its subagents, at any
	 * depth below the folder with the session's name. Symbolic links are not followed.
	 *
	 * @throws `TypeError` for an invalid path. If a directory, or a file in that folder, cannot be read.
	 * @example
	 * ```ts
	 * const { backups, subagents, folder } = SessionManager.filesOf(file);
	 * console.log(backups.length, subagents.length, folder); // → 0 0 null
	 * ```
	 */
	static filesOf(path: string): SessionFiles;
	/**
	 * Deletes the data of a deleted session from the catalog and its log. Returns false if another process uses the
	 * catalog at that moment, or it cannot be written.
	 *
	 * @throws `TypeError` for an invalid path.
	 * @example
	 * ```ts
	 * console.log(SessionManager.forget("/deleted/session.jsonl")); // → true
	 * ```
	 */
	static forget(path: string): boolean;
	/**
	 * Moves a session after its project's folder was renamed or moved: headers get the new working directory, and the
	 * file, its backups and the folder of its subagents move to another session directory. Returns the file's new path.
	 * All other bytes and the files' times stay. Forks of this session still contain the old path: `setParentSession`
	 * changes it.
	 *
	 * The header of the session itself is changed last. If a step fails, earlier steps are undone. If the process is
	 * killed, the same call completes the move, because the header still contains the old directory.
	 *
	 * @throws `TypeError` for an invalid argument. If the session's working directory is not in `from`, another process
	 * has locked the session, a file cannot be read, written or renamed, or a target path already exists (`EEXIST`).
	 * @example
	 * ```ts
	 * const moved = SessionManager.move(file, { from: cwd, to: "/renamed" });
	 * console.log(moved === file, SessionManager.open(moved).getCwd()); // → true /renamed
	 * ```
	 */
	static move(path: string, options: MoveOptions): string;
	/**
	 * Changes the parent in the header of a session file, after the parent was moved. All other bytes and the file's
	 * time stay. Returns false if the header contains no parent, or already this one.
	 *
	 * @throws `TypeError` for an invalid argument. If the file cannot be read or written, is not a session, or another
	 * process has locked the session.
	 * @example
	 * ```ts
	 * const fork = SessionManager.forkFrom(file, cwd, dir).getSessionFile()!;
	 * console.log(SessionManager.setParentSession(fork, "/moved.jsonl")); // → true
	 * console.log(SessionManager.open(fork).getHeader()?.parentSession); // → /moved.jsonl
	 * ```
	 */
	static setParentSession(path: string, parentSession: string): boolean;
	/**
	 * Switches to another session file. The working directory and the session directory stay.
	 *
	 * @throws If the file exists and is not a session: `Session file is not a valid pi session: <path>`. If it cannot be
	 * read, is locked, or this session was opened read-only.
	 * @example
	 * ```ts
	 * manager.setSessionFile(file);
	 * ```
	 */
	setSessionFile(sessionFile: string): void;
	/**
	 * Starts a new session in this manager. Returns the path of its future file; undefined in memory.
	 *
	 * @throws If the id in the options cannot be part of a file name, or this session was opened read-only.
	 * @example
	 * ```ts
	 * const path = manager.newSession({ parentSession: file });
	 * console.log(path !== file, manager.getEntryCount()); // → true 0
	 * ```
	 */
	newSession(options?: NewSessionOptions): string | undefined;
	/**
	 * The id of the leaf, which becomes the parent of the next entry. Null before the first entry.
	 *
	 * @example
	 * ```ts
	 * manager.resetLeaf();
	 * console.log(manager.getLeafId()); // → null
	 * ```
	 */
	getLeafId(): string | null;
	/**
	 * The leaf entry; undefined before the first entry.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * console.log(manager.getLeafEntry()?.type); // → message
	 * ```
	 */
	getLeafEntry(): SessionEntry | undefined;
	/**
	 * The entry with an id, the same object every time; undefined if there is none.
	 *
	 * @example
	 * ```ts
	 * const entry = manager.getEntry(id);
	 * console.log(entry?.type, entry === manager.getEntry(id)); // → message true
	 * ```
	 */
	getEntry(id: string): SessionEntry | undefined;
	/**
	 * The entries with this `parentId`, in file order.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getChildren(id).length); // → 1
	 * ```
	 */
	getChildren(parentId: string): SessionEntry[];
	/**
	 * The label of an entry; undefined if it has none.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getLabel(id)); // → undefined
	 * ```
	 */
	getLabel(id: string): string | undefined;
	/**
	 * The entries from the root to an entry, by default the leaf. Empty for an unknown id. With a `limit`, only this
	 * number of entries nearest to the entry, so that a view of a huge session creates only the objects that it shows.
	 *
	 * @throws `TypeError` if the limit is not an integer from 0 on. If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * console.log(manager.getBranch().map((entry) => entry.type).join()); // → message,message
	 * console.log(manager.getBranch(undefined, { limit: 1 })[0]?.id === manager.getLeafId()); // → true
	 * ```
	 */
	getBranch(fromId?: string, options?: { limit?: number | undefined }): SessionEntry[];
	/**
	 * Calls a listener with each entry that this manager appends from now on, after the entry is in the session and, if
	 * there is a file, written. An error of the listener is an uncaught exception; the entry stays. Returns a function
	 * that removes the listener. Entries of other processes are not reported.
	 *
	 * @throws `TypeError` if the listener is not a function.
	 * @example
	 * ```ts
	 * const stop = manager.onAppend((entry) => console.log(entry.type)); // → custom
	 * manager.appendCustomEntry("my-extension");
	 * stop();
	 * ```
	 */
	onAppend(listener: (entry: SessionEntry) => void): () => void;
	/**
	 * The earlier name of `getBranch`.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getPath().length === manager.getBranch().length); // → true
	 * ```
	 */
	getPath(fromId?: string): SessionEntry[];
	/**
	 * The entries of the context at the leaf: the newest compaction, then the entries that it kept, then all later
	 * entries.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * console.log(manager.buildContextEntries().length); // → 2
	 * ```
	 */
	buildContextEntries(): SessionEntry[];
	/**
	 * The context at the leaf, for each entry and as one list of messages, which contains the same objects.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * const { entries, messages } = manager.buildSessionProjection();
	 * console.log(entries[0]?.messages[0] === messages[0]); // → true
	 * ```
	 */
	buildSessionProjection(): SessionProjection;
	/**
	 * The model's context at the leaf: messages, thinking level and model.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * const { messages, thinkingLevel, model } = manager.buildSessionContext();
	 * console.log(messages.length, thinkingLevel, model?.provider); // → 2 off acme
	 * ```
	 */
	buildSessionContext(): SessionContext;
	/**
	 * The session's header; null if the manager was created from entries without a header.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getHeader()?.version); // → 3
	 * ```
	 */
	getHeader(): SessionHeader | null;
	/**
	 * The number of entries, without the header.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getEntryCount()); // → 2
	 * ```
	 */
	getEntryCount(): number;
	/**
	 * The usage of this session's model calls, including abandoned branches. This creates no entry objects and reads
	 * each entry once: a later call only reads newer entries. Offsets are positions in the file, in bytes; in memory
	 * they are the entries' numbers.
	 *
	 * @throws `TypeError` for an option of a wrong type. If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * const { total, by } = manager.getUsage({ by: "model" });
	 * console.log(total.output, by.model.length); // → 3 1
	 * ```
	 */
	getUsage<Grouping extends UsageGrouping = "model">(options?: UsageReportOptions<Grouping>): UsageReport<Grouping>;
	/**
	 * Every entry in file order, in a new array.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * for (const entry of manager.getEntries()) console.log(entry.id, entry.type);
	 * ```
	 */
	getEntries(): SessionEntry[];
	/**
	 * The session as a tree with labels; siblings are ordered by time. Entries without a parent in the session are
	 * roots.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * const [root] = manager.getTree();
	 * console.log(root?.entry.id === id, root?.children.length); // → true 1
	 * ```
	 */
	getTree(): SessionTreeNode[];
	/**
	 * The tree without the contents of entries: type, id, time and role of each, and the ids of the branch of the leaf.
	 * It reads no line, so it takes a small part of the time of `getTree`. Unknown types, roles and times are returned
	 * unchanged.
	 *
	 * @example
	 * ```ts
	 * const { tree, branch } = manager.getOutline();
	 * console.log(tree[0]?.entry.type, branch.length); // → message 2
	 * ```
	 */
	getOutline(): SessionOutline;
	/**
	 * Moves the leaf to an earlier entry, so that the next entry begins a branch there.
	 *
	 * @throws If no entry has this id: `Entry <id> not found`. If the session was opened read-only.
	 * @example
	 * ```ts
	 * manager.branch(id);
	 * manager.appendMessage({ role: "user", content: "Another way", timestamp: Date.now() });
	 * console.log(manager.getChildren(id).length); // → 2
	 * ```
	 */
	branch(branchFromId: string): void;
	/**
	 * Moves the leaf before the first entry, so that the next entry is a root.
	 *
	 * @throws If the session was opened read-only.
	 * @example
	 * ```ts
	 * manager.resetLeaf();
	 * manager.appendMessage({ role: "user", content: "From the start", timestamp: Date.now() });
	 * console.log(manager.getTree().length); // → 2
	 * ```
	 */
	resetLeaf(): void;
	/**
	 * Moves the leaf as `branch` does (null: as `resetLeaf`), and appends a summary of the abandoned branch. Returns the
	 * summary entry's id.
	 *
	 * @throws If no entry has this id: `Entry <id> not found`. Otherwise as `appendMessage`.
	 * @example
	 * ```ts
	 * manager.branchWithSummary(id, "The answer was no good.");
	 * console.log(manager.getLeafEntry()?.type); // → branch_summary
	 * ```
	 */
	branchWithSummary(
		branchFromId: string | null,
		summary: string,
		details?: unknown,
		fromHook?: boolean,
		usage?: Usage,
	): string;
	/**
	 * Moves this manager to a new session that contains only the path to an entry, with its labels. Returns the path of
	 * the new file; undefined in memory.
	 *
	 * @throws If no entry has this id: `Entry <id> not found`. If the session was opened read-only, or the file cannot
	 * be read or created.
	 * @example
	 * ```ts
	 * const path = manager.createBranchedSession(id);
	 * console.log(path !== file, manager.getHeader()?.parentSession === file); // → true true
	 * ```
	 */
	createBranchedSession(leafId: string): string | undefined;
	/**
	 * Adds a store's lines of a session to its file, in the store's order; entries that are not stored yet follow. Two
	 * equal lines are one entry. The file is replaced as a whole. Open managers keep their leaf.
	 *
	 * @throws `TypeError` for an argument of a wrong type, and for lines that are not entries: the message names the
	 * first of them. If the file cannot be read or written, belongs to another session, has an old version, or is locked
	 * by another process or by a manager with `lock: "exclusive"`. The file is then unchanged.
	 * @example
	 * ```ts
	 * const lines = Buffer.from(`{"type":"custom","id":"c0ffee00","parentId":null,"customType":"from elsewhere"}
	 * `);
	 * const merged = SessionManager.merge(file, { session: manager.getSessionId(), lines });
	 * console.log(merged.added, merged.unstored); // → 1 2
	 * ```
	 */
	static merge(path: string, stored: MergeInput): MergeReport;
	/**
	 * Removes a text, the content of entries, or lines from a session file. Its backups (`.v1.bak`, `.bak`) are
	 * redacted, too, and the file's data is deleted from the catalog. The structure of the session stays: ids, parents,
	 * types, roles, times, names of tools and models, and the header. If a text is removed, all other bytes of the line
	 * stay.
	 *
	 * A text is found in every form that JSON may escape it, also in JSON inside a string, up to two levels deep. Each
	 * file is replaced as a whole; entries that others append meanwhile are redacted, too. A manager that has the
	 * session open reads the change with its next call that reads the file; entry objects that it has already returned
	 * do not change.
	 *
	 * Temporary files of killed processes in the directory are removed. If `path` leads to a directory, nothing else is
	 * done.
	 *
	 * @throws `TypeError` for an invalid argument. If the file is not a session and contains the text, a file cannot be
	 * read or written, or another process or a manager with `lock: "exclusive"` has locked the session.
	 * @example
	 * ```ts
	 * const { lines, left } = SessionManager.redact(file, { text: "secret", dryRun: true });
	 * console.log(lines.length, left); // → 0 0
	 * ```
	 */
	static redact(path: string, what: RedactInput): RedactReport;
	/**
	 * Whether this session writes to a file.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.isPersisted(), SessionManager.inMemory().isPersisted()); // → true false
	 * ```
	 */
	isPersisted(): boolean;
	/**
	 * The working directory, absolute.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getCwd() === cwd); // → true
	 * ```
	 */
	getCwd(): string;
	/**
	 * The directory of new session files, as it was passed; empty in memory.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getSessionDir() === dir); // → true
	 * ```
	 */
	getSessionDir(): string;
	/**
	 * Whether the session directory is the default directory of the working directory.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.usesDefaultSessionDir()); // → false
	 * ```
	 */
	usesDefaultSessionDir(): boolean;
	/**
	 * The session's id.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getSessionId() === manager.getHeader()?.id); // → true
	 * ```
	 */
	getSessionId(): string;
	/** A manager comes from `create`, `open`, `continueRecent`, `inMemory` or `forkFrom`. */
	private constructor();
	/**
	 * The path of the session's file, which may not exist yet; undefined in memory.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getSessionFile() === file); // → true
	 * ```
	 */
	getSessionFile(): string | undefined;
	/**
	 * The session's name, from its newest session_info entry on any branch; undefined if it has none.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getSessionName() ?? "(no name)"); // → (no name)
	 * ```
	 */
	getSessionName(): string | undefined;
	/**
	 * Creates a new session. Its file is created with the first user or assistant message.
	 *
	 * @throws If the id in the options cannot be part of a file name, or the directory cannot be created.
	 * @example
	 * ```ts
	 * const session = SessionManager.create(cwd, dir, { id: "my-session" });
	 * console.log(session.getSessionId(), session.getEntryCount()); // → my-session 0
	 * ```
	 */
	static create(cwd: string, sessionDir?: string, options?: NewSessionOptions & SessionFileOptions): SessionManager;
	/**
	 * Opens the session in a file; creates a new session for that path if the file is missing or empty. The working
	 * directory is by default the directory in the header, the session directory the directory of the file. With
	 * `readonly: true` nothing is ever written.
	 *
	 * @throws If the file is not a session: `Session file is not a valid pi session: <path>`; the file is unchanged.
	 * With `readonly`, if the file is missing or empty. `TypeError` for an unknown option.
	 * @example
	 * ```ts
	 * const session = SessionManager.open(file, { durability: "fsync" });
	 * console.log(session.getEntryCount()); // → 2
	 * const shown = SessionManager.open(file, { readonly: true });
	 * console.log(shown.getEntryCount(), shown.isPersisted()); // → 2 false
	 * ```
	 */
	static open(path: string, options: OpenOptions): SessionManager;
	/**
	 * Opens the session in a file, with pi's arguments.
	 *
	 * @throws As with options.
	 * @example
	 * ```ts
	 * console.log(SessionManager.open(file, dir).getSessionDir() === dir); // → true
	 * ```
	 */
	static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager;
	/**
	 * Opens the session of a working directory whose file changed last, or creates a new session.
	 *
	 * @throws `TypeError` for a path or an option of a wrong type. If the directory cannot be created, the session
	 * cannot be read, or another process has locked it.
	 * @example
	 * ```ts
	 * console.log(SessionManager.continueRecent(cwd, dir, { lock: "none" }).getSessionFile() === file); // → true
	 * ```
	 */
	static continueRecent(cwd: string, sessionDir: string | undefined, options?: SessionFileOptions): SessionManager;
	/**
	 * The same with pi's arguments.
	 *
	 * @throws As with options.
	 * @example
	 * ```ts
	 * const session = SessionManager.continueRecent(cwd, dir);
	 * console.log(session.getEntryCount()); // → 2
	 * ```
	 */
	static continueRecent(cwd: string, sessionDir?: string): SessionManager;
	/**
	 * Creates a session that is never written, optionally with entries, whose objects are used and not copied.
	 *
	 * @throws If the id in the options cannot be part of a file name.
	 * @example
	 * ```ts
	 * const copy = SessionManager.inMemory(cwd, undefined, [manager.getHeader()!, ...manager.getBranch()]);
	 * console.log(copy.getEntry(id) === manager.getEntry(id)); // → true
	 * ```
	 */
	static inMemory(
		cwd?: string,
		options?: NewSessionOptions & SessionFileOptions,
		entries?: FileEntry[],
	): SessionManager;
	/**
	 * Creates a session in another working directory with all entries of a session file.
	 *
	 * @throws If the source is empty, is not a session, or has no header. If the id in the options cannot be part of a
	 * file name, or the directory or the file cannot be created. If memory runs out after the file was created, the
	 * complete file stays.
	 * @example
	 * ```ts
	 * const fork = SessionManager.forkFrom(file, "/another/project", dir);
	 * console.log(fork.getEntryCount(), fork.getHeader()?.parentSession === file); // → 2 true
	 * ```
	 */
	static forkFrom(
		sourcePath: string,
		targetCwd: string,
		sessionDir?: string,
		options?: NewSessionOptions & SessionFileOptions,
	): SessionManager;
	/**
	 * The path of the session with exactly this id, the first by file name if there are several; undefined if there is
	 * none.
	 * Reads only headers.
	 *
	 * @throws `TypeError` for a directory that is not a string or not a valid path.
	 * @example
	 * ```ts
	 * console.log(SessionManager.findById(cwd, manager.getSessionId(), dir) === file); // → true
	 * ```
	 */
	static findById(cwd: string, id: string, sessionDir?: string): string | undefined;
	/**
	 * The sessions of a working directory, the most recently active first.
	 *
	 * @throws The signal's reason, if it is aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
	 * @example
	 * ```ts
	 * const onProgress = (loaded: number, total: number) => console.log(`${loaded} of ${total}`); // → 1 of 1
	 * const sessions = await SessionManager.list(cwd, dir, onProgress);
	 * console.log(sessions[0]?.firstMessage); // → Hello
	 * ```
	 */
	static list(
		cwd: string,
		sessionDir?: string,
		onProgress?: SessionListProgress,
		signal?: AbortSignal,
	): Promise<SessionInfo[]>;
	/**
	 * The sessions of every working directory, or of one session directory, the most recently active first.
	 *
	 * @throws The signal's reason, if it is aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
	 * @example
	 * ```ts
	 * const sessions = await SessionManager.listAll(dir);
	 * console.log(sessions.map((session) => session.messageCount)); // → [ 2 ]
	 * ```
	 */
	static listAll(
		onProgress?: SessionListProgress | undefined,
		signal?: AbortSignal | undefined,
	): Promise<SessionInfo[]>;
	/**
	 * The sessions of one session directory, the most recently active first.
	 *
	 * @throws The signal's reason, if it is aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
	 * @example
	 * ```ts
	 * const [session] = await SessionManager.listAll(dir, (loaded, total) => console.log(loaded, total)); // → 1 1
	 * console.log(session?.messageCount); // → 2
	 * ```
	 */
	static listAll(
		sessionDir?: string | undefined,
		onProgress?: SessionListProgress | undefined,
		signal?: AbortSignal | undefined,
	): Promise<SessionInfo[]>;
	/**
	 * Reads `allMessagesText` of listed sessions on other threads, so that a later use does not wait for files. Skips
	 * texts that were already read, and objects that are not from a list. The texts stay in memory as long as their
	 * sessions.
	 *
	 * @throws The promise rejects with a `TypeError` if `sessions` is not an array, and with the signal's reason if it
	 * is aborted. Texts that were read before stay.
	 * @example
	 * ```ts
	 * const sessions = await SessionManager.listAll(dir);
	 * await SessionManager.readTexts(sessions);
	 * console.log(sessions[0]?.allMessagesText); // → Hello Hi
	 * ```
	 */
	static readTexts(sessions: readonly SessionInfo[], signal?: AbortSignal): Promise<void>;
	/**
	 * Finds the messages and entries that contain every word of a query, in all sessions, in the sessions of a working
	 * directory, or in a session directory. A word may be part of a longer word, in upper or lower case; quotes and
	 * operators have no special meaning. Sessions are read newest first, until there are enough hits; in a session the
	 * exact phrase comes first, then whole words, then other hits, the newest first.
	 *
	 * @throws The promise rejects with a `TypeError` for a query or an option of a wrong type, with the signal's reason
	 * if it is aborted, and with the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
	 * @example
	 * ```ts
	 * const hits = await SessionManager.search("Hello", { sessionDir: dir });
	 * console.log(hits.map((hit) => hit.path === file)); // → [ true ]
	 * ```
	 */
	static search(query: string, options?: SearchOptions): Promise<SearchHit[]>;
	/**
	 * Adds up the model calls of all sessions, or of one working directory, one session directory or one file. A call
	 * that is in several sessions, because one was forked from another, is added once, for the oldest of them. Sessions
	 * of subagents, which are in folders below a session's own (`<session>/abc/run-0/session.jsonl`), are added to that
	 * session. The catalog stores what was read; if a file grew, only the new part is read.
	 *
	 * Sums are the same with and without the catalog, because amounts are added call by call, the oldest session first.
	 * Amounts that cannot be added are counted in `leftOut`.
	 *
	 * @throws The promise rejects with a `TypeError` for an option of a wrong type, with the signal's reason if it is
	 * aborted, and with the system's error if no file can be opened; with `path` also if the file cannot be read or is
	 * not a session.
	 * @example
	 * ```ts
	 * const { total, by } = await SessionManager.usage({ sessionDir: dir, by: ["day", "model"] });
	 * console.log(total.calls, by.model.map((row) => row.key)); // → 1 [ 'acme/large' ]
	 * ```
	 */
	static usage<Grouping extends UsageGrouping = "model">(
		options?: UsageOptions<Grouping>,
	): Promise<UsageReport<Grouping>>;
}
