// The class: its methods are in src/api.

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
	 * Appends a message below the leaf, which moves to it. The object is kept, not copied. Gives the entry's id.
	 *
	 * @throws What making JSON of it throws (a cycle, a `BigInt`), unless the session has no file; and if the file cannot be
	 * written, is locked by another manager, or holds another session by now. The session is then as it was.
	 * @example
	 * ```ts
	 * const id = manager.appendMessage({ role: "user", content: "Hello", timestamp: Date.now() });
	 * console.log(manager.getLeafId() === id); // → true
	 * ```
	 */
	appendMessage(message: Message | CustomMessage | BashExecutionMessage): string;
	/**
	 * Appends a change of the thinking level. Gives the entry's id.
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
	 * Appends a change of the model. Gives the entry's id.
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
	 * Appends usage that is not part of the model's context. Gives the entry.
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
	 * Appends a compaction: later contexts start with its summary and go on from `firstKeptEntryId` (null: keep
	 * nothing before it). `tokensBefore` is the context's size before, in tokens; `details` are the summary writer's own,
	 * `usage` is what the summary cost, and `fromHook` says that an extension wrote it. The entry carries the system
	 * prompt and tools as they are at the leaf. Gives its id.
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
	 * Appends an extension's own data, which is not part of the model's context. Gives the entry's id.
	 *
	 * @throws As `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendCustomEntry("my-extension", { seen: ["a.ts"] });
	 * ```
	 */
	appendCustomEntry(customType: string, data?: unknown): string;
	/**
	 * Appends the session's name, made one line and trimmed. An empty name clears it. Gives the entry's id.
	 *
	 * @throws `TypeError` if the name is not a string. And as `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendSessionInfo("  Greetings ");
	 * console.log(manager.getSessionName()); // → Greetings
	 * ```
	 */
	appendSessionInfo(name: string): string;
	/**
	 * Appends an extension's message, which is part of the model's context. Gives the entry's id.
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
	 * Appends a change of what an earlier entry of the path gives to the model: null leaves it out, content replaces
	 * its own. Gives the entry's id.
	 *
	 * @throws If the entry is not there, is not on the path to the leaf, or gives no content that could be edited, and if the
	 * replacement is neither null nor has content. And as `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendContextEdit(id, null);
	 * console.log(manager.buildSessionProjection().entries.find((one) => one.sourceEntry.id === id)?.messages); // → []
	 * ```
	 */
	appendContextEdit(targetId: string, replacement: ContextEditEntry["replacement"]): string;
	/**
	 * Appends a label for an entry; undefined or an empty text clears it. Gives the label entry's id.
	 *
	 * @throws If no entry has this id: `Entry <id> not found`. And as `appendMessage` does.
	 * @example
	 * ```ts
	 * manager.appendLabelChange(id, "before the change");
	 * console.log(manager.getLabel(id)); // → before the change
	 * ```
	 */
	appendLabelChange(targetId: string, label: string | undefined): string;
	/**
	 * Takes in what others wrote to the file since; the leaf stays. A file that was deleted or renamed away is written
	 * again, whole. One that was replaced is adopted if it holds the same session; otherwise that is an error.
	 *
	 * A read-only manager writes nothing: a file that is gone is an error, and the leaf moves to the last entry. If the file is of
	 * version 1 or 2, it is read again, and its entries are new objects.
	 *
	 * @throws If another session, or none, is in the file's place, or the file cannot be read or written.
	 * @example
	 * ```ts
	 * SessionManager.open(file).appendCustomEntry("from elsewhere");
	 * manager.reload();
	 * console.log(manager.getEntryCount()); // → 3
	 * ```
	 */
	reload(): void;
	/**
	 * Checks the file as `reload` does, then waits until the disk has it. If the file changed in place and kept its length,
	 * only its header and its last lines are compared.
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
	 * Closes the file and releases the lock on it. A manager that has appended checks the file once more, as `flush` does,
	 * but does not wait for the disk. The manager can still be used: it opens the file again when it needs it, and an
	 * exclusive one takes the lock again with its next append.
	 *
	 * @throws If another session, or none, is in the file's place, or it cannot be read or written. The lock is released then,
	 * but the file stays open, because it may be the only copy of what was appended.
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
	 * What is wrong with the session, and what happened to its file since it was opened.
	 *
	 * @example
	 * ```ts
	 * const { damaged, foreignChanges } = manager.getDiagnostics();
	 * console.log(damaged.length, foreignChanges.length); // → 0 0
	 * ```
	 */
	getDiagnostics(): SessionDiagnostics;
	/**
	 * Checks a session file, changing nothing.
	 *
	 * @throws If the file cannot be read. What is wrong inside of it is in the report.
	 * @example
	 * ```ts
	 * const { ok, entries, bytes } = SessionManager.verify(file);
	 * console.log(ok, entries, bytes > 0); // → true 2 true
	 * ```
	 */
	static verify(path: string): VerifyReport;
	/**
	 * Repairs a damaged session file. Whole entries inside damaged lines are kept, and the rest of these lines is removed. Children of a
	 * removed entry get its parent if that can be read, else the entry before it. The original stays beside the file. A good file is left as it is.
	 *
	 * @throws If the file is not a session of pi (`otherFormat` of `verify`), or cannot be read or written, or another process has the session's lock, or a
	 * manager for itself (`lock: "exclusive"`).
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
	 * Whether a manager, a repair, a merge or a redaction has the session lock of a session file, in this process or another.
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
	 * The sessions whose id is this one or, if there is none, begins with it, in every working directory, those of subagents among them;
	 * in the order of their paths. Reads only headers. `search` explains the options.
	 *
	 * @throws `TypeError` for an argument of a wrong type, or an option that is not known.
	 * @example
	 * ```ts
	 * const [found] = SessionManager.findByIdPrefix(manager.getSessionId().slice(0, 8), { sessionDir: dir });
	 * console.log(found?.path === file, found?.cwd === cwd); // → true true
	 * ```
	 */
	static findByIdPrefix(idPrefix: string, options?: SessionScopeOptions): FoundSession[];
	/**
	 * What belongs to a session file: the backups beside it, and the session files of its subagents, in folders of any depth below the
	 * folder that is named like the session. Symbolic links are not followed.
	 *
	 * @throws `TypeError` for a path that cannot be used. If a directory, or a file in that folder, cannot be read.
	 * @example
	 * ```ts
	 * const { backups, subagents, folder } = SessionManager.filesOf(file);
	 * console.log(backups.length, subagents.length, folder); // → 0 0 null
	 * ```
	 */
	static filesOf(path: string): SessionFiles;
	/**
	 * Deletes what the catalog has of a session file, so that none of it is left in the catalog's files: for a session that was deleted.
	 * False if another process keeps some of it there, or the catalog cannot be written.
	 *
	 * @throws `TypeError` for a path that cannot be used.
	 * @example
	 * ```ts
	 * console.log(SessionManager.forget("/deleted/session.jsonl")); // → true
	 * ```
	 */
	static forget(path: string): boolean;
	/**
	 * Moves a session after its project's folder was renamed or moved: headers get the new working directory, and the file, its backups
	 * and the folder of its subagents go to another session directory. Gives the file's new path. All other bytes and the files' times
	 * stay. Sessions that were forked from this one still name the old path: `setParentSession` changes that.
	 *
	 * The header of the session itself is changed last. If a step fails, those before it are undone; after a process was killed, the same
	 * call completes the move of a session whose header still names the old directory.
	 *
	 * @throws `TypeError` for an argument that cannot be used. If the session's working directory is not in `from`, another process has
	 * the session's lock, a file cannot be read, written or renamed, or something has a name that is needed (`EEXIST`).
	 * @example
	 * ```ts
	 * const moved = SessionManager.move(file, { from: cwd, to: "/renamed" });
	 * console.log(moved === file, SessionManager.open(moved).getCwd()); // → true /renamed
	 * ```
	 */
	static move(path: string, options: MoveOptions): string;
	/**
	 * Changes the parent that the header of a session file names, as after that was moved. All other bytes and the file's time stay. False
	 * if the header names none, or this one.
	 *
	 * @throws `TypeError` for an argument that cannot be used. If the file cannot be read or written, is not a session, or another process
	 * has the session's lock.
	 * @example
	 * ```ts
	 * const fork = SessionManager.forkFrom(file, cwd, dir).getSessionFile()!;
	 * console.log(SessionManager.setParentSession(fork, "/moved.jsonl")); // → true
	 * console.log(SessionManager.open(fork).getHeader()?.parentSession); // → /moved.jsonl
	 * ```
	 */
	static setParentSession(path: string, parentSession: string): boolean;
	/**
	 * Switches to another session file, keeping the working directory and the session directory.
	 *
	 * @throws If the file is there and is not a session: `Session file is not a valid pi session: <path>`. If it cannot be read, is locked, or this
	 * session was opened read-only.
	 * @example
	 * ```ts
	 * manager.setSessionFile(file);
	 * ```
	 */
	setSessionFile(sessionFile: string): void;
	/**
	 * Starts a new session in place of this one and gives the path its file will have; undefined in memory.
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
	 * The id of the leaf: the entry that the next one will be a child of. Null before the first.
	 *
	 * @example
	 * ```ts
	 * manager.resetLeaf();
	 * console.log(manager.getLeafId()); // → null
	 * ```
	 */
	getLeafId(): string | null;
	/**
	 * The leaf entry; undefined before the first.
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
	 * The entries whose `parentId` is this one, in file order.
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
	 * The entries from the root to an entry, by default the leaf. Empty for an unknown id. With a `limit` only that
	 * many of them, those nearest to the entry: a view of a huge session makes what it shows and no more.
	 *
	 * @throws `TypeError` if the limit is not a whole number from 0 on. If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * console.log(manager.getBranch().map((entry) => entry.type).join()); // → message,message
	 * console.log(manager.getBranch(undefined, { limit: 1 })[0]?.id === manager.getLeafId()); // → true
	 * ```
	 */
	getBranch(fromId?: string, options?: { limit?: number | undefined }): SessionEntry[];
	/**
	 * Calls a listener with each entry that is appended through this manager from now on, once it is in the session
	 * and, where there is a file, written. What it throws is reported as an uncaught exception; the append stays.
	 * Gives the function that ends it. Entries of other processes are not reported.
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
	 * `getBranch` under its first name.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getPath().length === manager.getBranch().length); // → true
	 * ```
	 */
	getPath(fromId?: string): SessionEntry[];
	/**
	 * The entries that make the context at the leaf: the newest compaction first, then what it kept and all after it.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * console.log(manager.buildContextEntries().length); // → 2
	 * ```
	 */
	buildContextEntries(): SessionEntry[];
	/**
	 * The context at the leaf, per entry and as one list of messages, which holds the same objects.
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
	 * What the model is given at the leaf: messages, thinking level and model.
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
	 * The session's header; null if the manager was made of entries without one.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getHeader()?.version); // → 3
	 * ```
	 */
	getHeader(): SessionHeader | null;
	/**
	 * How many entries there are, the header not counted.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getEntryCount()); // → 2
	 * ```
	 */
	getEntryCount(): number;
	/**
	 * What the model calls of this session used, those on abandoned branches included. No entry objects are made of a file's entries, and each entry
	 * is read once: a later call only reads what was appended since. Offsets are positions in the file; in memory they are the entries' numbers.
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
	 * Every entry in file order, in a fresh list.
	 *
	 * @throws If the file cannot be read, or has changed.
	 * @example
	 * ```ts
	 * for (const entry of manager.getEntries()) console.log(entry.id, entry.type);
	 * ```
	 */
	getEntries(): SessionEntry[];
	/**
	 * The session as a tree, with labels resolved; siblings by time. Entries without a parent in the session are
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
	 * The tree without what its entries say: type, id, time and role of each, and the ids of the branch of the leaf. No line is read for it, so it
	 * takes a small part of the time of `getTree`. An entry whose type, role or time is of a kind unknown to this package is there as it is.
	 *
	 * @example
	 * ```ts
	 * const { tree, branch } = manager.getOutline();
	 * console.log(tree[0]?.entry.type, branch.length); // → message 2
	 * ```
	 */
	getOutline(): SessionOutline;
	/**
	 * Moves the leaf to an earlier entry: the next one starts a branch there.
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
	 * Moves the leaf before the first entry: the next one will be a root.
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
	 * Moves the leaf as `branch` does (null: as `resetLeaf`), and appends a summary of the branch left there. Gives
	 * the summary entry's id.
	 *
	 * @throws If no entry has this id: `Entry <id> not found`. And as `appendMessage` does.
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
	 * Moves this manager to a new session that holds only the path to an entry, with the labels on it. Gives the new
	 * file's path; undefined in memory.
	 *
	 * @throws If no entry has this id: `Entry <id> not found`. If the session was opened read-only, or the file cannot be read or
	 * made.
	 * @example
	 * ```ts
	 * const path = manager.createBranchedSession(id);
	 * console.log(path !== file, manager.getHeader()?.parentSession === file); // → true true
	 * ```
	 */
	createBranchedSession(leafId: string): string | undefined;
	/**
	 * Adds lines that a store has of a session to its file, in the store's order; entries that are not stored yet follow.
	 * Two equal lines are one entry. The file is replaced as a whole. Open managers keep their leaf.
	 *
	 * @throws `TypeError` for an argument of a wrong type, and for lines that are not entries: the message names the first of them.
	 * And if the file cannot be read or written, is another session's or of an old version, or is locked by another process, or by a
	 * manager for itself (`lock: "exclusive"`). It is then as it was.
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
	 * Takes something out of a session file: a text, what entries say, or lines. Its backups (`.v1.bak`, `.bak`) are redacted, too, and the
	 * catalog forgets the file. What holds the session together stays: ids, parents, types, roles, times, names of tools and models, and
	 * the header. Where a text is taken out, all other bytes of the line stay as they were.
	 *
	 * A text is found however JSON escapes it, also in JSON inside a string, twice over. Each file is replaced as a whole; what others append
	 * meanwhile is redacted, too. A manager that has the session open takes the change in with its next call that reads the file; entry
	 * objects that somebody has already got stay as they are.
	 *
	 * @throws `TypeError` for an argument that cannot be used. And if the file is not a session and holds what is to be taken out, or a file
	 * cannot be read or written, or another process has the session's
	 * lock, or a manager for itself (`lock: "exclusive"`).
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
	 * The directory that new session files go to, as it was given; empty in memory.
	 *
	 * @example
	 * ```ts
	 * console.log(manager.getSessionDir() === dir); // → true
	 * ```
	 */
	getSessionDir(): string;
	/**
	 * Whether the session directory is the default one of the working directory.
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
	 * The path of the session's file, whether it exists yet or not; undefined in memory.
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
	 * A new session. Its file appears with the first user or assistant message.
	 *
	 * @throws If the id in the options cannot be part of a file name, or the directory cannot be made.
	 * @example
	 * ```ts
	 * const session = SessionManager.create(cwd, dir, { id: "my-session" });
	 * console.log(session.getSessionId(), session.getEntryCount()); // → my-session 0
	 * ```
	 */
	static create(cwd: string, sessionDir?: string, options?: NewSessionOptions & SessionFileOptions): SessionManager;
	/**
	 * The session in a file; a new one, to be written there, if the file is missing or empty. The working directory
	 * is the header's unless one is given, the session directory the file's. With `readonly: true` nothing is written, ever.
	 *
	 * @throws If the file is not a session: `Session file is not a valid pi session: <path>`; the file stays as it is. With `readonly`,
	 * if there is no file, or an empty one. `TypeError` for an option that is not known.
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
	 * The session in a file, with pi's arguments.
	 *
	 * @throws As with options.
	 * @example
	 * ```ts
	 * console.log(SessionManager.open(file, dir).getSessionDir() === dir); // → true
	 * ```
	 */
	static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager;
	/**
	 * The session of a working directory that was changed last, or a new one.
	 *
	 * @throws `TypeError` for a path or an option of a wrong type; and if the directory cannot be made, or the session cannot be
	 * opened: it cannot be read, or another process holds its lock.
	 * @example
	 * ```ts
	 * console.log(SessionManager.continueRecent(cwd, dir, { lock: "none" }).getSessionFile() === file); // → true
	 * ```
	 */
	static continueRecent(cwd: string, sessionDir: string | undefined, options?: SessionFileOptions): SessionManager;
	/**
	 * The same, written to as the environment says, or as pi does.
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
	 * A session that is never written, optionally with entries held elsewhere: the objects are adopted, not copied.
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
	 * A new session in another working directory with the whole history of a session file.
	 *
	 * @throws If the source is empty, is not a session, or has no header. If the id in the options cannot be part of a file name,
	 * or the directory or the file cannot be made. If memory runs out after the file was made, it stays, whole.
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
	 * The path of the session with exactly this id, the first by file name if there are several; undefined if there is none.
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
	 * The sessions of a working directory, the newest activity first.
	 *
	 * @throws The signal's reason, if it is or becomes aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
	 * @example
	 * ```ts
	 * const sessions = await SessionManager.list(cwd, dir, (loaded, total) => console.log(`${loaded} of ${total}`)); // → 1 of 1
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
	 * The sessions of every working directory, or those in one directory, the newest activity first.
	 *
	 * @throws The signal's reason, if it is or becomes aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
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
	 * The sessions in one directory, the newest activity first.
	 *
	 * @throws The signal's reason, if it is or becomes aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
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
	 * Reads `allMessagesText` of listed sessions on other threads, so that nobody who asks for it waits for a file. Texts that were
	 * read already, and objects that are not from a list, are passed over. The texts stay in memory as long as their
	 * sessions do.
	 *
	 * @throws `TypeError` if `sessions` is not an array, and the signal's reason, if it is or becomes aborted: the promise is rejected
	 * with it. What was read by then stays.
	 * @example
	 * ```ts
	 * const sessions = await SessionManager.listAll(dir);
	 * await SessionManager.readTexts(sessions);
	 * console.log(sessions[0]?.allMessagesText); // → Hello Hi
	 * ```
	 */
	static readTexts(sessions: readonly SessionInfo[], signal?: AbortSignal): Promise<void>;
	/**
	 * Finds the messages and entries that hold every word of a query, in all sessions, those of one working directory or those in
	 * one directory. A word may be part of a longer one, in upper or lower case; quotes and operators mean themselves. Sessions
	 * are read newest first, until there are enough hits; in a session the exact phrase and whole words come first, then what is
	 * newest.
	 *
	 * @throws `TypeError` for a query or an option of a wrong type, and the signal's reason, if it is or becomes aborted, and
	 * the system's error (`EMFILE`, `ENFILE`) if no file can be opened: the promise is rejected with it.
	 * @example
	 * ```ts
	 * const hits = await SessionManager.search("Hello", { sessionDir: dir });
	 * console.log(hits.map((hit) => hit.path === file)); // → [ true ]
	 * ```
	 */
	static search(query: string, options?: SearchOptions): Promise<SearchHit[]>;
	/**
	 * Adds up what the model calls of all sessions used, or only those of one working directory, of one directory or of one
	 * file. A call that is in several sessions, because one was forked from another, counts once, for the oldest of them. Sessions of
	 * subagents, which are in folders below the session's own (`<session>/abc/run-0/session.jsonl`), count for the session that
	 * they are below. What was read is remembered in the catalog; of a file that grew, what is new is read.
	 *
	 * Sums are the same with and without the catalog: amounts are added call by call, the oldest session first. What cannot be added is left out, and
	 * counted in `leftOut`.
	 *
	 * @throws `TypeError` for an option of a wrong type, the signal's reason, if it is or becomes aborted, the system's error
	 * if no file can be opened, and for `path` if the file cannot be read or is not a session: the promise is rejected with it.
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
