// The header and the entries of a session file.

/**
 * The version of new session files, as a literal type.
 *
 * @example
 * ```ts
 * const version: SessionVersion = CURRENT_SESSION_VERSION;
 * ```
 */
export type SessionVersion = 3;

/**
 * The first line of a session file. It is not an entry and not a part of the tree.
 *
 * @example
 * ```ts
 * const header: SessionHeader = {
 * 	type: "session", version: 3, id: "my-session", timestamp: new Date().toISOString(), cwd: "/project",
 * };
 * ```
 */
export interface SessionHeader {
	type: "session";
	/** The version of the format; a file without it has version 1. */
	version?: number;
	id: string;
	/** The time when the session began, ISO 8601. */
	timestamp: string;
	/** The working directory, absolute. */
	cwd: string;
	/** The file of the session from which this session was forked or branched. */
	parentSession?: string;
	/** The name of `parentSession` in versions 1 and 2. */
	branchedFrom?: string;
	/** Version 1 only. */
	provider?: string;
	/** Version 1 only. */
	modelId?: string;
	/** Version 1 only. */
	thinkingLevel?: string;
}

/**
 * Options of a new session.
 *
 * @example
 * ```ts
 * const options: NewSessionOptions = { id: "my-session" };
 * SessionManager.create(cwd, dir, options);
 * ```
 */
export interface NewSessionOptions {
	/** The id of the session, instead of a generated id. */
	id?: string;
	/** The file of the parent session in the header. */
	parentSession?: string;
}

/**
 * The fields of every entry.
 *
 * @example
 * ```ts
 * const base: SessionEntryBase = {
 * 	type: "custom", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z",
 * };
 * ```
 */
export interface SessionEntryBase {
	/** The kind of entry. */
	type: string;
	/** 8 hexadecimal digits, or a UUID; unique in the session. */
	id: string;
	/** The id of the entry before it; null for a root. */
	parentId: string | null;
	/** ISO 8601. */
	timestamp: string;
}

/**
 * A message of the conversation.
 *
 * @example
 * ```ts
 * const entry: SessionMessageEntry = {
 * 	type: "message",
 * 	id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z",
 * 	message: { role: "user", content: "Hello", timestamp: 1_748_779_200_000 },
 * };
 * ```
 */
export interface SessionMessageEntry extends SessionEntryBase {
	type: "message";
	message: AgentMessage;
}

/**
 * A change of the thinking level from here on.
 *
 * @example
 * ```ts
 * const entry: ThinkingLevelChangeEntry = {
 * 	type: "thinking_level_change", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z",
 * 	thinkingLevel: "high",
 * };
 * ```
 */
export interface ThinkingLevelChangeEntry extends SessionEntryBase {
	type: "thinking_level_change";
	/** `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; readers accept any word. */
	thinkingLevel: string;
}

/**
 * A change of the model from here on.
 *
 * @example
 * ```ts
 * const entry: ModelChangeEntry = {
 * 	type: "model_change", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", provider: "acme",
 * 	modelId: "large",
 * };
 * ```
 */
export interface ModelChangeEntry extends SessionEntryBase {
	type: "model_change";
	provider: string;
	modelId: string;
}

/**
 * Tokens that were used outside of the conversation.
 *
 * @example
 * ```ts
 * const spent = manager.getEntries().filter((entry): entry is UsageEntry => entry.type === "usage");
 * console.log(spent.reduce((sum, entry) => sum + entry.usage.cost.total, 0)); // → 0
 * ```
 */
export interface UsageEntry extends SessionEntryBase {
	type: "usage";
	/** The purpose, a word that the writer chooses. */
	kind: string;
	provider: string;
	model: string;
	usage: Usage;
	/** A note for people. */
	note?: string;
}

/**
 * A summary that replaces the conversation before `firstKeptEntryId`.
 *
 * @example
 * ```ts
 * const newest: CompactionEntry | null = getLatestCompactionEntry(entries);
 * ```
 */
export interface CompactionEntry<T = unknown> extends SessionEntryBase {
	type: "compaction";
	summary: string;
	/** The first earlier entry that stays in the context; the compaction's own id if there is none. */
	firstKeptEntryId: string;
	/** The size of the context before, in tokens. */
	tokensBefore: number;
	/** Data of the summary's author. */
	details?: T;
	/** Tokens and cost of the summary. */
	usage?: Usage;
	/** Whether an extension wrote the summary. */
	fromHook?: boolean;
	/** The prompt and the tools at this point. */
	systemMessage?: SystemMessage;
}

/**
 * A summary of the abandoned branch, written when the leaf moved.
 *
 * @example
 * ```ts
 * const left = manager.getEntries().filter((entry): entry is BranchSummaryEntry => entry.type === "branch_summary");
 * ```
 */
export interface BranchSummaryEntry<T = unknown> extends SessionEntryBase {
	type: "branch_summary";
	/** The leaf of the abandoned branch, or `"root"`. */
	fromId: string;
	summary: string;
	/** Data of the summary's author. */
	details?: T;
	/** Tokens and cost of the summary. */
	usage?: Usage;
	/** Whether an extension wrote the summary. */
	fromHook?: boolean;
}

/**
 * Data of an extension, not seen by models.
 *
 * @example
 * ```ts
 * const entry: CustomEntry<{ count: number }> = {
 * 	type: "custom", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", customType: "ext",
 * 	data: { count: 1 },
 * };
 * ```
 */
export interface CustomEntry<T = unknown> extends SessionEntryBase {
	type: "custom";
	/** The name of the extension, or of a kind of its data. */
	customType: string;
	/** Data of the extension. */
	data?: T;
}

/**
 * A message of an extension, seen by models.
 *
 * @example
 * ```ts
 * const entry: CustomMessageEntry = {
 * 	type: "custom_message", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", customType: "ext",
 * 	content: "Hello", display: true,
 * };
 * ```
 */
export interface CustomMessageEntry<T = unknown> extends SessionEntryBase {
	type: "custom_message";
	/** The name of the extension, or of a kind of its data. */
	customType: string;
	content: string | (TextContent | ImageContent)[];
	/** Data of the extension, not seen by models. */
	details?: T;
	/** Whether the user sees it. */
	display: boolean;
}

/**
 * The content that a context edit puts in place of an entry's own.
 *
 * @example
 * ```ts
 * const content: ContextEditableContent = [{ type: "text", text: "(left out)" }];
 * ```
 */
export type ContextEditableContent =
	| UserMessage["content"]
	| AssistantMessage["content"]
	| ToolResultMessage["content"]
	| CustomMessage["content"];

/**
 * Changes the part of an earlier entry in the context; the entry itself stays.
 *
 * @example
 * ```ts
 * const entry: ContextEditEntry = {
 * 	type: "context_edit", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", targetId: "0a1b2c3d",
 * 	replacement: null,
 * };
 * ```
 */
export interface ContextEditEntry extends SessionEntryBase {
	type: "context_edit";
	targetId: string;
	/** New content, or null to remove the target from the context. */
	replacement: { content: ContextEditableContent } | null;
}

/**
 * Sets or clears the label of an entry.
 *
 * @example
 * ```ts
 * const entry: LabelEntry = {
 * 	type: "label", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", targetId: "0a1b2c3d",
 * 	label: "here",
 * };
 * ```
 */
export interface LabelEntry extends SessionEntryBase {
	type: "label";
	targetId: string;
	label: string | undefined;
}

/**
 * Sets the session's name; an empty name clears it.
 *
 * @example
 * ```ts
 * const entry: SessionInfoEntry = {
 * 	type: "session_info", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", name: "The parser",
 * };
 * ```
 */
export interface SessionInfoEntry extends SessionEntryBase {
	type: "session_info";
	name?: string;
}

/**
 * An entry of the tree. Entries of other kinds are kept as well.
 *
 * @example
 * ```ts
 * const ids = manager.getEntries().map((entry: SessionEntry) => entry.id);
 * ```
 */
export type SessionEntry =
	| SessionMessageEntry
	| ThinkingLevelChangeEntry
	| ModelChangeEntry
	| UsageEntry
	| CompactionEntry
	| BranchSummaryEntry
	| CustomEntry
	| CustomMessageEntry
	| ContextEditEntry
	| LabelEntry
	| SessionInfoEntry;

/**
 * A line of a session file.
 *
 * @example
 * ```ts
 * const [header, ...rest]: FileEntry[] = loadEntriesFromFile(file);
 * console.log(header?.type, rest.length); // → session 2
 * ```
 */
export type FileEntry = SessionHeader | SessionEntry;
