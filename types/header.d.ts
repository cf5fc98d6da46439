// Types of the session format and of its API; those of messages are in `messages.d.ts`. Written by hand; the build
// puts them above the declarations it generates from the Rust side. They do not depend on a pi package, but are
// assignable to and from pi's own types, which __test__/integration/types checks.

// ---- The file ------------------------------------------------------------------------------------------------

/**
 * The version that is written, as a literal type.
 *
 * @example
 * ```ts
 * const version: SessionVersion = CURRENT_SESSION_VERSION;
 * ```
 */
export type SessionVersion = 3;

/**
 * First line of a session file. It is not an entry and no part of the tree.
 *
 * @example
 * ```ts
 * const header: SessionHeader = { type: "session", version: 3, id: "my-session", timestamp: new Date().toISOString(), cwd: "/project" };
 * ```
 */
export interface SessionHeader {
	type: "session";
	/** Version of the format; a file without one is of version 1. */
	version?: number;
	id: string;
	/** When the session was begun, ISO 8601. */
	timestamp: string;
	/** The working directory, absolute. */
	cwd: string;
	/** File of the session that this one was forked or branched from. */
	parentSession?: string;
	/** `parentSession` under its name in versions 1 and 2. */
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
	/** Id of the session instead of a generated one. */
	id?: string;
	/** File to name as the parent in the header. */
	parentSession?: string;
}

/**
 * What all entries share.
 *
 * @example
 * ```ts
 * const base: SessionEntryBase = { type: "custom", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z" };
 * ```
 */
export interface SessionEntryBase {
	/** The kind of entry. */
	type: string;
	/** 8 hexadecimal digits, or a UUID; no other entry of the session has it. */
	id: string;
	/** Entry that this one follows; null for a root. */
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
 * const entry: ThinkingLevelChangeEntry = { type: "thinking_level_change", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", thinkingLevel: "high" };
 * ```
 */
export interface ThinkingLevelChangeEntry extends SessionEntryBase {
	type: "thinking_level_change";
	/** `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; any word is taken. */
	thinkingLevel: string;
}

/**
 * A change of the model from here on.
 *
 * @example
 * ```ts
 * const entry: ModelChangeEntry = { type: "model_change", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", provider: "acme", modelId: "large" };
 * ```
 */
export interface ModelChangeEntry extends SessionEntryBase {
	type: "model_change";
	provider: string;
	modelId: string;
}

/**
 * Tokens that were spent outside of the conversation.
 *
 * @example
 * ```ts
 * const spent = manager.getEntries().filter((entry): entry is UsageEntry => entry.type === "usage");
 * console.log(spent.reduce((sum, entry) => sum + entry.usage.cost.total, 0)); // → 0
 * ```
 */
export interface UsageEntry extends SessionEntryBase {
	type: "usage";
	/** What they were spent on, a word that the writer chooses. */
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
	/** First entry before this one that stays in the context; the compaction's own id if none does. */
	firstKeptEntryId: string;
	/** Tokens of the context before. */
	tokensBefore: number;
	/** Data of whoever wrote the summary. */
	details?: T;
	/** Tokens that the summary cost. */
	usage?: Usage;
	/** An extension wrote the summary. */
	fromHook?: boolean;
	/** Prompt and tools as they were at this point. */
	systemMessage?: SystemMessage;
}

/**
 * A summary of the branch that was left when the leaf moved.
 *
 * @example
 * ```ts
 * const left = manager.getEntries().filter((entry): entry is BranchSummaryEntry => entry.type === "branch_summary");
 * ```
 */
export interface BranchSummaryEntry<T = unknown> extends SessionEntryBase {
	type: "branch_summary";
	/** Leaf that was left, or `"root"`. */
	fromId: string;
	summary: string;
	/** Data of whoever wrote the summary. */
	details?: T;
	/** Tokens that the summary cost. */
	usage?: Usage;
	/** An extension wrote the summary. */
	fromHook?: boolean;
}

/**
 * Data of an extension, not seen by models.
 *
 * @example
 * ```ts
 * const entry: CustomEntry<{ count: number }> = { type: "custom", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", customType: "ext", data: { count: 1 } };
 * ```
 */
export interface CustomEntry<T = unknown> extends SessionEntryBase {
	type: "custom";
	/** Names the extension, or a kind of data of it. */
	customType: string;
	/** The extension's own. */
	data?: T;
}

/**
 * A message of an extension, seen by models.
 *
 * @example
 * ```ts
 * const entry: CustomMessageEntry = { type: "custom_message", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", customType: "ext", content: "Hello", display: true };
 * ```
 */
export interface CustomMessageEntry<T = unknown> extends SessionEntryBase {
	type: "custom_message";
	/** Names the extension, or a kind of data of it. */
	customType: string;
	content: string | (TextContent | ImageContent)[];
	/** Data of the extension, not seen by models. */
	details?: T;
	/** Whether the user sees it. */
	display: boolean;
}

/**
 * Content with which a context edit replaces an entry's own.
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
 * Changes what an earlier entry adds to the context; the entry itself stays as it is.
 *
 * @example
 * ```ts
 * const entry: ContextEditEntry = { type: "context_edit", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", targetId: "0a1b2c3d", replacement: null };
 * ```
 */
export interface ContextEditEntry extends SessionEntryBase {
	type: "context_edit";
	targetId: string;
	/** New content, or null to leave the target out. */
	replacement: { content: ContextEditableContent } | null;
}

/**
 * Sets or clears the label of an entry.
 *
 * @example
 * ```ts
 * const entry: LabelEntry = { type: "label", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", targetId: "0a1b2c3d", label: "here" };
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
 * const entry: SessionInfoEntry = { type: "session_info", id: "1f2e3d4c", parentId: null, timestamp: "2025-06-01T12:00:00.000Z", name: "The parser" };
 * ```
 */
export interface SessionInfoEntry extends SessionEntryBase {
	type: "session_info";
	name?: string;
}

/**
 * An entry of the tree. Kinds without a type here are kept as well.
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

// ---- What a manager gives ------------------------------------------------------------------------------------

/**
 * An entry in the tree of the session.
 *
 * @example
 * ```ts
 * const depth = (node: SessionTreeNode): number => 1 + Math.max(0, ...node.children.map(depth));
 * console.log(manager.getTree().map(depth)); // → [ 2 ]
 * ```
 */
export interface SessionTreeNode {
	entry: SessionEntry;
	/** Oldest first. */
	children: SessionTreeNode[];
	/** The newest label; absent if there is none, or it was cleared. */
	label?: string;
	/** When the label was set, ISO 8601. */
	labelTimestamp?: string;
}

/**
 * A session's tree without what its entries say.
 *
 * @example
 * ```ts
 * const { tree, branch }: SessionOutline = manager.getOutline();
 * console.log(tree.length, branch.length); // → 1 2
 * ```
 */
export interface SessionOutline {
	tree: OutlineNode[];
	/** The ids of the path from the root to the leaf. */
	branch: string[];
}

/**
 * An entry in the outline of the session.
 *
 * @example
 * ```ts
 * const roles = (node: OutlineNode): unknown[] => [node.entry.message?.role, ...node.children.flatMap(roles)];
 * console.log(manager.getOutline().tree.flatMap(roles)); // → [ 'user', 'assistant' ]
 * ```
 */
export interface OutlineNode {
	/**
	 * An ISO time is in UTC with milliseconds, however the entry writes it: the index keeps the moment alone. Any other
	 * `timestamp` is the entry's own.
	 */
	entry: { type: string; id: string; timestamp?: string; message?: { role: string } };
	/** Oldest first. */
	children: OutlineNode[];
	/** The newest label; absent if there is none, or it was cleared. */
	label?: string;
	/** When the label was set, ISO 8601. */
	labelTimestamp?: string;
}

/**
 * One entry of the context and the messages it adds.
 *
 * @example
 * ```ts
 * const silent = manager.buildSessionProjection().entries.filter((one: ProjectedSessionEntry) => one.messages.length === 0);
 * ```
 */
export interface ProjectedSessionEntry {
	/** As it is in the session. */
	sourceEntry: SessionEntry;
	/** Empty for entries that add none or were edited away. */
	messages: AgentMessage[];
}

/**
 * The context, and which entry each message came from.
 *
 * @example
 * ```ts
 * const projection: SessionProjection = buildSessionProjection(entries);
 * ```
 */
export interface SessionProjection {
	entries: ProjectedSessionEntry[];
	/** The messages of all entries: the same objects. */
	messages: AgentMessage[];
	/** The newest on the path; `off` if there is none. */
	thinkingLevel: string;
	/** The newest on the path, by a change of model or an answer; null if there is none. */
	model: { provider: string; modelId: string } | null;
}

/**
 * What the model sees.
 *
 * @example
 * ```ts
 * const context: SessionContext = buildSessionContext(entries);
 * console.log(context.thinkingLevel); // → off
 * ```
 */
export interface SessionContext {
	/** In order, with summaries in place of what was compacted. */
	messages: AgentMessage[];
	/** The newest on the path; `off` if there is none. */
	thinkingLevel: string;
	/** The newest on the path, by a change of model or an answer; null if there is none. */
	model: { provider: string; modelId: string } | null;
}

/**
 * The reading half of a manager: what extensions get.
 *
 * @example
 * ```ts
 * const count = (session: ReadonlySessionManager): number => session.getEntries().length;
 * console.log(count(manager)); // → 2
 * ```
 */
export type ReadonlySessionManager = Pick<
	SessionManager,
	| "getCwd"
	| "getSessionDir"
	| "getSessionId"
	| "getSessionFile"
	| "getLeafId"
	| "getLeafEntry"
	| "getEntry"
	| "getLabel"
	| "getBranch"
	| "buildContextEntries"
	| "buildSessionProjection"
	| "getHeader"
	| "getEntries"
	| "getTree"
	| "getSessionName"
>;
