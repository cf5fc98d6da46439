// Types of the session format and of its API. Written by hand; the build puts them above the declarations it
// generates from the Rust side. They depend on no pi package, yet are assignable to and from pi's own:
// __test__/types proves it.

// ---- JSON ----------------------------------------------------------------------------------------------------

/** A value that `JSON.parse` can give. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** An object all of whose values are JSON. */
export type JsonObject = { [key: string]: JsonValue };

// ---- Content blocks ------------------------------------------------------------------------------------------

/** Plain text of a message. */
export interface TextContent {
	type: "text";
	text: string;
	/** Opaque proof by which a provider recognises its own text in a later request. */
	textSignature?: string;
}

/** Reasoning that a model showed before its answer. */
export interface ThinkingContent {
	type: "thinking";
	thinking: string;
	/** Opaque proof by which a provider recognises its own reasoning in a later request. */
	thinkingSignature?: string;
	/** The provider withheld the reasoning; what it wants back stands in `thinkingSignature`. */
	redacted?: boolean;
}

/** An image, base64 encoded. */
export interface ImageContent {
	type: "image";
	data: string;
	mimeType: string;
}

/** A model's request to run a tool. */
export interface ToolCall {
	type: "toolCall";
	id: string;
	name: string;
	arguments: JsonObject;
	thoughtSignature?: string;
	/** Group the tool was offered under, for providers that group tools. */
	namespace?: string;
}

// ---- Parts of messages ---------------------------------------------------------------------------------------

/** Tokens of one or more model calls, and their price in US dollars. */
export interface Usage {
	input: number;
	output: number;
	cacheRead: number;
	cacheWrite: number;
	/** Share of `cacheWrite` that is kept for an hour. */
	cacheWrite1h?: number;
	/** Share of `output` spent on reasoning; absent if the provider does not say. */
	reasoning?: number;
	totalTokens: number;
	cost: {
		input: number;
		output: number;
		cacheRead: number;
		cacheWrite: number;
		total: number;
	};
}

/** Why a model's answer ended. */
export type StopReason = "pending" | "stop" | "length" | "toolUse" | "error" | "aborted" | "deferred";

/** Where to fetch an answer that the provider will have ready later. */
export interface DeferredHandle {
	provider: string;
	modelId: string;
	api: string;
	/** The provider's own token for the answer. */
	id: string;
	expiresAt?: number;
	pollAfterMs?: number;
	data?: JsonValue;
}

/** What is kept of a thrown value. */
export interface DiagnosticErrorInfo {
	name?: string;
	message: string;
	stack?: string;
	code?: string | number;
}

/** A note about trouble during a model call. */
export interface AssistantMessageDiagnostic {
	type: string;
	timestamp: number;
	error?: DiagnosticErrorInfo;
	details?: JsonObject;
}

/** JSON schema of a tool's arguments; any object is taken. */
export interface ToolSchema {}

/** How strictly a provider should hold a model to a tool's arguments. */
export type ConstrainedSamplingConfig =
	| { type: "json_schema"; strict: "prefer" | "require" }
	| { type: "grammar"; variants: { openai_lark?: string; openai_regex?: string } };

/** A tool as it is offered to a model. */
export interface Tool<TParameters extends ToolSchema = ToolSchema> {
	name: string;
	description: string;
	parameters: TParameters;
	constrainedSampling?: false | ConstrainedSamplingConfig;
}

/** A tool named, without its definition. */
export interface ToolReference {
	name: string;
}

// ---- Messages ------------------------------------------------------------------------------------------------

/**
 * Instructions and tools from one point of the conversation on. The first is the system prompt; each later one
 * changes it, so that all of them replayed in order give the prompt and the tools of now.
 */
export interface SystemMessage {
	role: "system";
	content: string | TextContent[];
	/** Named parts of the prompt. A later message replaces a part by its name; null takes it away. */
	sections?: Record<string, string | null>;
	toolsAdded?: Tool[];
	toolsRemoved?: ToolReference[];
	/** Milliseconds since 1970, as in every message. */
	timestamp: number;
}

/** What the user said. */
export interface UserMessage {
	role: "user";
	content: string | (TextContent | ImageContent)[];
	timestamp: number;
}

/** What the model answered. */
export interface AssistantMessage {
	role: "assistant";
	content: (TextContent | ThinkingContent | ToolCall)[];
	api: string;
	provider: string;
	model: string;
	/** Model named in the answer, if another than the one asked. */
	responseModel?: string;
	responseId?: string;
	/** Level of effort in the provider's own words. */
	providerThinkingLevel?: string;
	diagnostics?: AssistantMessageDiagnostic[];
	usage: Usage;
	stopReason: StopReason;
	deferred?: DeferredHandle;
	errorMessage?: string;
	/** Reason in the provider's own words. */
	rawStopReason?: string;
	/** Whether the model said itself that its turn is over. */
	endTurn?: boolean;
	timestamp: number;
}

/** What a tool gave back. */
export interface ToolResultMessage<TDetails extends JsonValue = JsonValue> {
	role: "toolResult";
	toolCallId: string;
	toolName: string;
	content: (TextContent | ImageContent)[];
	/** Data for the display, never sent to a model. */
	details?: TDetails;
	/** Tokens that the tool itself spent on models. */
	usage?: Usage;
	isError: boolean;
	timestamp: number;
}

/** A message that models understand. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage;

/** A command that the user ran with `!`. */
export interface BashExecutionMessage {
	role: "bashExecution";
	command: string;
	output: string;
	exitCode: number | undefined;
	cancelled: boolean;
	truncated: boolean;
	/** File with the whole output, where `output` was cut. */
	fullOutputPath?: string;
	timestamp: number;
	/** The command was run with `!!`: models do not see it. */
	excludeFromContext?: boolean;
}

/** A message that an extension put into the conversation. */
export interface CustomMessage<T = unknown> {
	role: "custom";
	customType: string;
	content: string | (TextContent | ImageContent)[];
	display: boolean;
	details?: T;
	timestamp: number;
}

/** Stands in the context for a branch that was left. */
export interface BranchSummaryMessage {
	role: "branchSummary";
	summary: string;
	fromId: string | null;
	timestamp: number;
}

/** Stands in the context for everything before a compaction. */
export interface CompactionSummaryMessage {
	role: "compactionSummary";
	summary: string;
	tokensBefore: number;
	timestamp: number;
}

/** Messages beyond those of models, by role. Open: add your own by declaration merging. */
export interface CustomAgentMessages {
	bashExecution: BashExecutionMessage;
	custom: CustomMessage;
	branchSummary: BranchSummaryMessage;
	compactionSummary: CompactionSummaryMessage;
}

/** Every message that a session's context may hold. */
export type AgentMessage = Message | CustomAgentMessages[keyof CustomAgentMessages];

// ---- The file ------------------------------------------------------------------------------------------------

/** The version that is written, as a literal type. */
export type SessionVersion = 3;

/** First line of a session file. It is no entry and no part of the tree. */
export interface SessionHeader {
	type: "session";
	/** Version of the format; a file without one is of version 1. */
	version?: number;
	id: string;
	timestamp: string;
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

/** What a new session may be told. */
export interface NewSessionOptions {
	/** Id of the session instead of a generated one. */
	id?: string;
	/** File to name as the parent in the header. */
	parentSession?: string;
}

/**
 * How a session's file is written. What is not said here is taken from the environment variables
 * `PI_SESSION_NATIVE_DURABILITY` and `PI_SESSION_NATIVE_LOCK`. In memory none of it matters.
 */
export interface SessionFileOptions {
	/**
	 * When an append is done: when the operating system has the line (`"os"`, the default: it outlives this process), or
	 * when the disk has it (`"fsync"`: it outlives a power cut).
	 */
	durability?: "os" | "fsync";
	/**
	 * Who may write to the file: anyone (`"none"`, the default), or this manager alone (`"exclusive"`), as far as others
	 * ask. Every manager of this module asks before it writes; pi does not. The lock is let go by `close`, and by the end
	 * of the process however it ends.
	 */
	lock?: "none" | "exclusive";
}

/** What all entries share. */
export interface SessionEntryBase {
	type: string;
	id: string;
	/** Entry that this one follows; null for a root. */
	parentId: string | null;
	/** ISO 8601. */
	timestamp: string;
}

/** A message of the conversation. */
export interface SessionMessageEntry extends SessionEntryBase {
	type: "message";
	message: AgentMessage;
}

/** From here on the model thinks at another level. */
export interface ThinkingLevelChangeEntry extends SessionEntryBase {
	type: "thinking_level_change";
	thinkingLevel: string;
}

/** From here on another model answers. */
export interface ModelChangeEntry extends SessionEntryBase {
	type: "model_change";
	provider: string;
	modelId: string;
}

/** Tokens that were spent outside of the conversation. */
export interface UsageEntry extends SessionEntryBase {
	type: "usage";
	/** What they were spent on, in a word of the writer's choice. */
	kind: string;
	provider: string;
	model: string;
	usage: Usage;
	note?: string;
}

/** A summary that takes the place of the conversation before `firstKeptEntryId`. */
export interface CompactionEntry<T = unknown> extends SessionEntryBase {
	type: "compaction";
	summary: string;
	/** First entry before this one that stays in the context; the compaction's own id if none does. */
	firstKeptEntryId: string;
	tokensBefore: number;
	/** Data of whoever wrote the summary. */
	details?: T;
	/** Tokens that the summary cost. */
	usage?: Usage;
	/** An extension wrote the summary. */
	fromHook?: boolean;
	/** Prompt and tools as they stood here. */
	systemMessage?: SystemMessage;
}

/** A summary of the branch that was left when the leaf moved. */
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

/** Data of an extension, not seen by models. */
export interface CustomEntry<T = unknown> extends SessionEntryBase {
	type: "custom";
	customType: string;
	data?: T;
}

/** A message of an extension, seen by models. */
export interface CustomMessageEntry<T = unknown> extends SessionEntryBase {
	type: "custom_message";
	customType: string;
	content: string | (TextContent | ImageContent)[];
	/** Data of the extension, not seen by models. */
	details?: T;
	/** Whether the user sees it. */
	display: boolean;
}

/** Content that a context edit may put in place of an entry's own. */
export type ContextEditableContent =
	| UserMessage["content"]
	| AssistantMessage["content"]
	| ToolResultMessage["content"]
	| CustomMessage["content"];

/** Changes what an earlier entry adds to the context; the entry itself stays as it is. */
export interface ContextEditEntry extends SessionEntryBase {
	type: "context_edit";
	targetId: string;
	/** New content, or null to leave the target out. */
	replacement: { content: ContextEditableContent } | null;
}

/** Names an entry, or takes its name away. */
export interface LabelEntry extends SessionEntryBase {
	type: "label";
	targetId: string;
	label: string | undefined;
}

/** Names the session; an empty name takes the name away. */
export interface SessionInfoEntry extends SessionEntryBase {
	type: "session_info";
	name?: string;
}

/** An entry of the tree. Kinds invented later are kept as well, though no type here names them. */
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

/** A line of a session file. */
export type FileEntry = SessionHeader | SessionEntry;

// ---- What a manager gives ------------------------------------------------------------------------------------

/** An entry in the tree of the session. */
export interface SessionTreeNode {
	entry: SessionEntry;
	/** Oldest first. */
	children: SessionTreeNode[];
	label?: string;
	/** When the label was set. */
	labelTimestamp?: string;
}

/** One entry of the context and the messages it adds. */
export interface ProjectedSessionEntry {
	sourceEntry: SessionEntry;
	/** Empty for entries that add none or were edited away. */
	messages: AgentMessage[];
}

/** The context, and which entry each message came from. */
export interface SessionProjection {
	entries: ProjectedSessionEntry[];
	/** The messages of all entries: the same objects. */
	messages: AgentMessage[];
	thinkingLevel: string;
	model: { provider: string; modelId: string } | null;
}

/** What the model is to see. */
export interface SessionContext {
	messages: AgentMessage[];
	thinkingLevel: string;
	model: { provider: string; modelId: string } | null;
}

/** A session as lists show it. */
export interface SessionInfo {
	path: string;
	id: string;
	/** Empty if the file does not say. */
	cwd: string;
	name?: string;
	/** File of the session that this one came from. */
	parentSessionPath?: string;
	created: Date;
	/** Last word of user or model. */
	modified: Date;
	/** Messages of every role, on every branch. */
	messageCount: number;
	/** The user's first words, or `(no messages)`. */
	firstMessage: string;
	/** All text of user and model, to search in. Fetched when it is first asked for. */
	allMessagesText: string;
}

/** A line of a session file that is no entry. It stays in the file and is passed over. */
export interface DamagedLine {
	/** Counted from 1. */
	line: number;
	/** Its bytes are `start` up to `end`, its newline not counted. */
	start: number;
	end: number;
	reason: string;
}

/** An entry whose `parentId` names no entry of the session. */
export interface OrphanEntry {
	line: number;
	id: string;
	parentId: string;
}

/** An id that several entries carry; it means the last of them. */
export interface DuplicateEntryId {
	id: string;
	lines: number[];
}

/** Entries that are each other's ancestors, each the child of the one before it and the first of the last. */
export interface EntryCycle {
	ids: string[];
}

/** How often a session's file changed underneath in one way. */
export interface ForeignChange {
	kind: "grown" | "deleted" | "renamed" | "replaced" | "truncated";
	count: number;
	/** Entries that came in with it. */
	entries: number;
	/** Bytes that were added to the file. */
	bytes: number;
}

/** What a manager knows of its session: what is wrong with it, and what happened to it since it was opened. */
export interface SessionDiagnostics {
	/** The session's file, whether it exists yet or not; null in memory. */
	path: string | null;
	damaged: DamagedLine[];
	/** What was put right, and how often. */
	repairs: { what: string; count: number }[];
	foreignChanges: ForeignChange[];
	orphans: OrphanEntry[];
	duplicateIds: DuplicateEntryId[];
	cycles: EntryCycle[];
}

/** What `SessionManager.verify` found in a file. */
export interface VerifyReport {
	path: string;
	/** There is a header, and nothing is wrong. */
	ok: boolean;
	/** The version that the header states, 1 if it states none; null without a header. */
	version: number | null;
	sessionId: string | null;
	bytes: number;
	/** Lines of every kind, blank ones and an unfinished last one among them. */
	lines: number;
	entries: number;
	damaged: DamagedLine[];
	orphans: OrphanEntry[];
	duplicateIds: DuplicateEntryId[];
	cycles: EntryCycle[];
	endsWithNewline: boolean;
}

/** What `SessionManager.repair` did to a file. */
export interface RepairReport {
	path: string;
	/** Where the original is kept; null if there was nothing to repair. */
	backup: string | null;
	before: VerifyReport;
	after: VerifyReport;
	/** By line of the original. */
	repairs: { line: number; what: string }[];
}

/** Told how far a list has come, now and then with the sessions found so far, newest first. */
export type SessionListProgress = (loaded: number, total: number, partialSessions?: readonly SessionInfo[]) => void;

/** How `SessionManager.search` searches. */
export interface SearchOptions {
	/** Only sessions of this working directory: those that `list(cwd)` shows, or with `dir` those that `list(cwd, dir)` does. */
	cwd?: string;
	/** Only sessions in this directory, as `listAll(dir)` shows them. */
	dir?: string;
	/** How many hits at most; 50 unless told. */
	limit?: number;
	/** Ends the search; the promise is rejected with its reason. */
	signal?: AbortSignal;
	/** Told how many of the sessions that were not indexed yet are by now. Not called when there are none. */
	onProgress?: (indexed: number, total: number) => void;
	/** What is put before and after what was found, in snippets; `["«", "»"]` unless told. */
	mark?: readonly [open: string, close: string];
}

/** A text that holds what was searched for. */
export interface SearchHit {
	/** The session's file. */
	path: string;
	/** The session's id. */
	id: string;
	/** The session's name. */
	name?: string;
	/** The session's working directory; empty if the file does not say. */
	cwd: string;
	/** The entry that the text is of; empty in a version 1 file, whose entries have no ids. */
	entryId: string;
	/** Whose text it is: a message's role, else the type of the entry. */
	role: "user" | "assistant" | "session_info" | "label" | "compaction" | "branch_summary";
	/** The entry's timestamp; empty if it has none. */
	timestamp: string;
	/** The place that was found, marked, and what is around it, in one line. */
	snippet: string;
}

/** The reading half of a manager: what extensions get. */
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

/**
 * Which binding artifact the generated loader actually loaded: `'native'` for
 * a native addon, otherwise the `platformArchABI` of the WASI flavor. Every
 * flavor napi-rs can build is listed, because `NAPI_RS_NATIVE_LIBRARY_PATH`
 * can point the loader at a WASI artifact this package does not build itself.
 */
export declare const __napiBindingTarget: 'native' | 'wasm32-wasi' | 'wasm32-wasip1'

/** A conversation session: an append-only tree of entries in a JSONL file, or in memory. */
export declare class SessionManager {
  /** Appends a message below the leaf, which moves to it. The object is kept, not copied. Gives the entry's id. */
  appendMessage(message: Message | CustomMessage | BashExecutionMessage): string
  /** Appends a change of the thinking level. Gives the entry's id. */
  appendThinkingLevelChange(thinkingLevel: string): string
  /** Appends a change of the model. Gives the entry's id. */
  appendModelChange(provider: string, modelId: string): string
  /** Appends usage that is no part of the model's context. Gives the entry. */
  appendUsage(kind: string, provider: string, model: string, usage: Usage, note?: string): UsageEntry
  /**
   * Appends a compaction: later contexts start with its summary and go on from `firstKeptEntryId` (null: keep
   * nothing before it). It carries the system prompt and tools as they are at the leaf. Gives the entry's id.
   */
  appendCompaction<T = unknown>(summary: string, firstKeptEntryId: string | null, tokensBefore: number, details?: T, fromHook?: boolean, usage?: Usage): string
  /** Appends an extension's own data, which is no part of the model's context. Gives the entry's id. */
  appendCustomEntry(customType: string, data?: unknown): string
  /** Appends the session's name, made one line and trimmed. An empty name clears it. Gives the entry's id. */
  appendSessionInfo(name: string): string
  /** Appends an extension's message, which is part of the model's context. Gives the entry's id. */
  appendCustomMessageEntry<T = unknown>(customType: string, content: string | (TextContent | ImageContent)[], display: boolean, details?: T): string
  /**
   * Appends a change of what an earlier entry of the path gives to the model: null leaves it out, content replaces
   * its own. Gives the entry's id.
   */
  appendContextEdit(targetId: string, replacement: ContextEditEntry["replacement"]): string
  /** Appends a label for an entry; undefined or an empty text clears it. Gives the label entry's id. */
  appendLabelChange(targetId: string, label: string | undefined): string
  /**
   * Takes in what others wrote to the file since; the leaf stays. A file that was deleted or renamed away is written
   * again, whole; one that was replaced is adopted if it holds the same session, else it is an error.
   */
  reload(): void
  /** Does what `reload` does, and waits until the disk has the file. */
  flush(): void
  /**
   * Lets go of the file and of the lock on it. The manager can still be used: it opens the file again when it needs
   * it, and an exclusive one takes the lock again with its next append.
   */
  close(): void
  /** What is wrong with the session, and what happened to its file since it was opened. */
  getDiagnostics(): SessionDiagnostics
  /** Checks a session file, changing nothing. */
  static verify(path: string): VerifyReport
  /**
   * Makes a good file of a damaged one: unreadable lines leave it, their children hang from what was before them. The
   * original stays beside it. A good file is left as it is.
   */
  static repair(path: string): RepairReport
  /** Whether a manager has the exclusive lock of a session file, in this process or another. */
  static isLocked(path: string): boolean
  /** Switches to another session file, keeping the working directory and the session directory. */
  setSessionFile(sessionFile: string): void
  /** Starts a new session in place of this one and gives the path its file will have; undefined in memory. */
  newSession(options?: NewSessionOptions): string | undefined
  /** Whether this session writes to a file. */
  isPersisted(): boolean
  /** The working directory, absolute. */
  getCwd(): string
  /** The directory that new session files go to, as it was given; empty in memory. */
  getSessionDir(): string
  /** Whether the session directory is the default one of the working directory. */
  usesDefaultSessionDir(): boolean
  /** The session's id. */
  getSessionId(): string
  /** A manager comes from `create`, `open`, `continueRecent`, `inMemory` or `forkFrom`. */
  private constructor()
  /** The path of the session's file, whether it exists yet or not; undefined in memory. */
  getSessionFile(): string | undefined
  /** The session's name, from its newest session_info entry on any branch; undefined if it has none. */
  getSessionName(): string | undefined
  /** The id of the leaf: the entry that the next one will be a child of. Null before the first. */
  getLeafId(): string | null
  /** The leaf entry; undefined before the first. */
  getLeafEntry(): SessionEntry | undefined
  /** The entry with an id, the same object every time; undefined if there is none. */
  getEntry(id: string): SessionEntry | undefined
  /** The entries whose `parentId` is this one, in file order. */
  getChildren(parentId: string): SessionEntry[]
  /** The label of an entry; undefined if it has none. */
  getLabel(id: string): string | undefined
  /**
   * The entries from the root to an entry, by default the leaf. Empty for an unknown id. With a `limit` only that
   * many of them, those nearest to the entry: a view of a huge session makes what it shows and no more.
   */
  getBranch(fromId?: string, options?: { limit?: number }): SessionEntry[]
  /**
   * Calls a listener with each entry that is appended through this manager from now on, once it is in the session
   * and, where there is a file, written. What it throws is reported as an uncaught exception; the append stands.
   * Gives the function that ends it. Entries of other processes are not reported.
   */
  onAppend(listener: (entry: SessionEntry) => void): () => void
  /** `getBranch` under the name it had at first. */
  getPath(fromId?: string): SessionEntry[]
  /** The entries that make the context at the leaf: the newest compaction first, then what it kept and all after it. */
  buildContextEntries(): SessionEntry[]
  /** The context at the leaf, per entry and as one list of messages, which holds the same objects. */
  buildSessionProjection(): SessionProjection
  /** What the model is given at the leaf: messages, thinking level and model. */
  buildSessionContext(): SessionContext
  /** The session's header. */
  getHeader(): SessionHeader | null
  /** How many entries there are, the header not counted. */
  getEntryCount(): number
  /** Every entry in file order, in a fresh list. */
  getEntries(): SessionEntry[]
  /**
   * The session as a tree, with labels resolved; siblings by time. Entries without a parent in the session are
   * roots.
   */
  getTree(): SessionTreeNode[]
  /** Moves the leaf to an earlier entry: the next one starts a branch there. */
  branch(branchFromId: string): void
  /** Moves the leaf before the first entry: the next one will be a root. */
  resetLeaf(): void
  /**
   * Moves the leaf as `branch` does (null: as `resetLeaf`), and appends a summary of the branch left there. Gives
   * the summary entry's id.
   */
  branchWithSummary(branchFromId: string | null, summary: string, details?: unknown, fromHook?: boolean, usage?: Usage): string
  /**
   * Moves this manager to a new session that holds the path to an entry alone, labels on it kept. Gives the new
   * file's path; undefined in memory.
   */
  createBranchedSession(leafId: string): string | undefined
  /** A new session. Its file appears with the first user or assistant message. */
  static create(cwd: string, sessionDir?: string, options?: NewSessionOptions & SessionFileOptions): SessionManager
  /**
   * The session in a file; a new one, to be written there, if the file is missing or empty. The working directory
   * is the header's unless one is given, the session directory the file's.
   */
  static open(path: string, sessionDir: string | undefined, cwdOverride: string | undefined, options?: SessionFileOptions): SessionManager
  static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager
  /** The session of a working directory that was changed last, or a new one. */
  static continueRecent(cwd: string, sessionDir: string | undefined, options?: SessionFileOptions): SessionManager
  static continueRecent(cwd: string, sessionDir?: string): SessionManager
  /** A session that is never written, optionally with entries held elsewhere: the objects are adopted, not copied. */
  static inMemory(cwd?: string, options?: NewSessionOptions & SessionFileOptions, entries?: FileEntry[]): SessionManager
  /** A new session in another working directory with the whole history of a session file. */
  static forkFrom(sourcePath: string, targetCwd: string, sessionDir?: string, options?: NewSessionOptions & SessionFileOptions): SessionManager
  /**
   * The path of the session with exactly this id; undefined if there is none. Looks for file names, then reads headers
   * alone.
   */
  static findById(cwd: string, id: string, sessionDir?: string): string | undefined
  /** The sessions of a working directory, the newest activity first. */
  static list(cwd: string, sessionDir?: string, onProgress?: SessionListProgress, signal?: AbortSignal): Promise<SessionInfo[]>
  /** The sessions of every working directory, or those in one directory, the newest activity first. */
  static listAll(...args: [onProgress?: SessionListProgress, signal?: AbortSignal] | [sessionDir?: string, onProgress?: SessionListProgress, signal?: AbortSignal]): Promise<SessionInfo[]>
  /**
   * Finds what users and assistants said, names, labels and summaries in all sessions, those of one working directory
   * or those in one directory; the best hits first. Each part of the query that white space sets apart must stand in
   * a text, in upper or lower case, as a word or as part of one; quotes and operators mean themselves. What was not
   * indexed yet is indexed first, which takes time once.
   */
  static search(query: string, options?: SearchOptions): Promise<SearchHit[]>
}

/** Refuses a session id that cannot be part of a file name. */
export declare function assertValidSessionId(id: string): void

/**
 * The entries that make the context of the path to an entry: the newest compaction first, then what it kept and all
 * after it.
 */
export declare function buildContextEntries(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionEntry[]

/** What the model is given at an entry: messages, thinking level and model. */
export declare function buildSessionContext(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionContext

/** The context of the path to an entry, per entry and as one list of messages. */
export declare function buildSessionProjection(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionProjection

/** The version of the session files that are written. */
export declare const CURRENT_SESSION_VERSION: SessionVersion

/**
 * The session file of a directory that was changed last, optionally of one working directory alone; null if there is
 * none.
 */
export declare function findMostRecentSession(sessionDir: string, cwd?: string): string | null

/**
 * The default directory of a working directory's sessions, made if it is not there. `agentDir` takes the place of the
 * agent's own directory.
 */
export declare function getDefaultSessionDir(cwd: string, agentDir?: string): string

/** The last compaction entry of a list, or null. */
export declare function getLatestCompactionEntry(entries: SessionEntry[]): CompactionEntry | null

/**
 * The header and entries of a session file as they stand there, nothing migrated; empty if there is no such file or
 * it is no session.
 */
export declare function loadEntriesFromFile(filePath: string): FileEntry[]

/** Migrates a session's objects in place to the current version. */
export declare function migrateSessionEntries(entries: FileEntry[]): void

/** Every value in a text of JSON lines; lines that do not parse are passed over. */
export declare function parseSessionEntries(content: string): FileEntry[]

/** The messages that one entry gives to the model after an edit. */
export declare function projectContextEntry(entry: SessionEntry, edit: ContextEditEntry | undefined): AgentMessage[]

/** The messages that one entry gives to the model by itself. */
export declare function sessionEntryToContextMessages(entry: SessionEntry): AgentMessage[]
