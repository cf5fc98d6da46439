// Types of messages. scripts/declarations.mjs puts all files of this folder together in index.d.ts. They depend on no
// package of pi, but are assignable to and from pi's own types, which __test__/integration/types checks.

// ---- JSON ----------------------------------------------------------------------------------------------------

/**
 * A value that `JSON.parse` can return.
 *
 * @example
 * ```ts
 * const value: JsonValue = { list: [1, "two", null] };
 * ```
 */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/**
 * An object whose values are JSON.
 *
 * @example
 * ```ts
 * const details: JsonObject = { exitCode: 0 };
 * ```
 */
export type JsonObject = { [key: string]: JsonValue };

// ---- Content blocks ------------------------------------------------------------------------------------------

/**
 * Plain text of a message.
 *
 * @example
 * ```ts
 * const block: TextContent = { type: "text", text: "Hello" };
 * ```
 */
export interface TextContent {
	type: "text";
	text: string;
	/** Opaque proof by which a provider recognises its own text in a later request. */
	textSignature?: string;
}

/**
 * Reasoning that a model showed before its answer.
 *
 * @example
 * ```ts
 * const block: ThinkingContent = { type: "thinking", thinking: "The user greets me." };
 * ```
 */
export interface ThinkingContent {
	type: "thinking";
	thinking: string;
	/** Opaque proof by which a provider recognises its own reasoning in a later request. */
	thinkingSignature?: string;
	/** Whether the provider withheld the reasoning and returned only `thinkingSignature`. */
	redacted?: boolean;
}

/**
 * An image, base64 encoded.
 *
 * @example
 * ```ts
 * const block: ImageContent = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
 * ```
 */
export interface ImageContent {
	type: "image";
	/** The picture's bytes in base64. */
	data: string;
	/** `image/png`, for example. */
	mimeType: string;
}

/**
 * A model's request to run a tool.
 *
 * @example
 * ```ts
 * const block: ToolCall = { type: "toolCall", id: "call_1", name: "read", arguments: { path: "a.ts" } };
 * ```
 */
export interface ToolCall {
	type: "toolCall";
	/** The `toolCallId` of the result. */
	id: string;
	/** Name of the tool. */
	name: string;
	/** The arguments, parsed from the model's JSON. */
	arguments: JsonObject;
	/** The error and the text, if the model's arguments were no JSON object. `arguments` is then empty. */
	argumentsError?: string;
	/** Opaque proof by which a provider recognises the reasoning before the call. */
	thoughtSignature?: string;
	/** The group of the tool, for providers that group tools. */
	namespace?: string;
}

// ---- Parts of messages ---------------------------------------------------------------------------------------

/**
 * Tokens of one or more model calls, and their price in US dollars.
 *
 * @example
 * ```ts
 * const usage: Usage = {
 * 	input: 12, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 15,
 * 	cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 },
 * };
 * ```
 */
export interface Usage {
	/** Tokens sent, without cached tokens. */
	input: number;
	/** Tokens that the model wrote, including its reasoning. */
	output: number;
	/** Tokens read from the provider's cache. */
	cacheRead: number;
	/** Tokens written to the provider's cache. */
	cacheWrite: number;
	/** Tokens of `cacheWrite` that are stored for an hour; absent if the provider does not report them. */
	cacheWrite1h?: number;
	/** Tokens of `output` for reasoning; absent if the provider does not report them. */
	reasoning?: number;
	/** The sum of `input`, `output`, `cacheRead` and `cacheWrite`. */
	totalTokens: number;
	/** US dollars. */
	cost: {
		input: number;
		output: number;
		cacheRead: number;
		cacheWrite: number;
		total: number;
		/** Whether the provider billed `total`; otherwise it is calculated from the model's prices. */
		totalFromProvider?: boolean;
	};
}

/**
 * The reason why a model's answer ended.
 *
 * @example
 * ```ts
 * const reason: StopReason = "toolUse";
 * ```
 */
export type StopReason = "pending" | "stop" | "length" | "toolUse" | "error" | "aborted" | "deferred";

/**
 * A reference to an answer that the provider completes later.
 *
 * @example
 * ```ts
 * const later: DeferredHandle = { provider: "acme", modelId: "large", api: "messages", id: "batch-7" };
 * ```
 */
export interface DeferredHandle {
	/** The provider of the model. */
	provider: string;
	/** The requested model. */
	modelId: string;
	/** The protocol of the request. */
	api: string;
	/** The provider's own token for the answer. */
	id: string;
	/** The time when the provider deletes the answer, in milliseconds since 1970. */
	expiresAt?: number;
	/** Milliseconds to wait before asking for it. */
	pollAfterMs?: number;
	/** Data for building the message from the answer. */
	data?: JsonValue;
}

/**
 * The stored parts of a thrown value.
 *
 * @example
 * ```ts
 * const error: DiagnosticErrorInfo = { message: "overloaded", code: 529 };
 * ```
 */
export interface DiagnosticErrorInfo {
	name?: string;
	message: string;
	stack?: string;
	/** An error number of HTTP or the system, or its name. */
	code?: string | number;
}

/**
 * A problem during a model call.
 *
 * @example
 * ```ts
 * const note: AssistantMessageDiagnostic = { type: "retry", timestamp: Date.now(), error: { message: "overloaded" } };
 * ```
 */
export interface AssistantMessageDiagnostic {
	/** The kind of problem, a word that the writer chooses. */
	type: string;
	/** Milliseconds since 1970. */
	timestamp: number;
	error?: DiagnosticErrorInfo;
	/** Further facts. */
	details?: JsonObject;
}

/**
 * JSON schema of a tool's arguments; any object is accepted.
 *
 * @example
 * ```ts
 * const schema: ToolSchema = { type: "object", properties: { path: { type: "string" } } };
 * ```
 */
export interface ToolSchema {}

/**
 * How strictly a provider should constrain a model to a tool's arguments.
 *
 * @example
 * ```ts
 * const config: ConstrainedSamplingConfig = { type: "json_schema", strict: "prefer" };
 * ```
 */
export type ConstrainedSamplingConfig =
	| { type: "json_schema"; strict: "prefer" | "require" }
	| { type: "grammar"; variants: { openai_lark?: string; openai_regex?: string } };

/**
 * The definition of a tool for a model.
 *
 * @example
 * ```ts
 * const tool: Tool = { name: "read", description: "Reads a file", parameters: { type: "object" } };
 * ```
 */
export interface Tool<TParameters extends ToolSchema = ToolSchema> {
	name: string;
	description: string;
	/** JSON schema of the arguments. */
	parameters: TParameters;
	constrainedSampling?: false | ConstrainedSamplingConfig;
}

/**
 * The name of a tool, without its definition.
 *
 * @example
 * ```ts
 * const gone: ToolReference = { name: "write" };
 * ```
 */
export interface ToolReference {
	name: string;
}

// ---- Messages ------------------------------------------------------------------------------------------------

/**
 * Instructions and tools from one point of the conversation on. The first message is the system prompt; each later one
 * changes it. Replaying all of them in order results in the current prompt and tools.
 *
 * @example
 * ```ts
 * const change: SystemMessage = { role: "system", content: "", sections: { skills: null }, timestamp: Date.now() };
 * ```
 */
export interface SystemMessage {
	role: "system";
	/** Instructions. A later message adds its own. */
	content: string | TextContent[];
	/** Named parts of the prompt. A later message replaces a part by its name; null removes it. */
	sections?: Record<string, string | null>;
	/** Tools that models can use from here on. */
	toolsAdded?: Tool[];
	/** Tools that models can no longer use. */
	toolsRemoved?: ToolReference[];
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * A message of the user.
 *
 * @example
 * ```ts
 * const message: UserMessage = { role: "user", content: "Hello", timestamp: Date.now() };
 * ```
 */
export interface UserMessage {
	role: "user";
	content: string | (TextContent | ImageContent)[];
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * An answer of the model.
 *
 * @example
 * ```ts
 * const usage = {
 * 	input: 12, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 15,
 * 	cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 },
 * };
 * const message: AssistantMessage = {
 * 	role: "assistant",
 * 	content: [{ type: "text", text: "Hi" }],
 * 	api: "messages",
 * 	provider: "acme",
 * 	model: "large",
 * 	usage,
 * 	stopReason: "stop",
 * 	timestamp: Date.now(),
 * };
 * ```
 */
export interface AssistantMessage {
	role: "assistant";
	content: (TextContent | ThinkingContent | ToolCall)[];
	/** The protocol of the request. */
	api: string;
	/** The provider of the model. */
	provider: string;
	/** The requested model. */
	model: string;
	/** The model that the answer names, if it differs from the requested model. */
	responseModel?: string;
	/** The provider's id of the answer. */
	responseId?: string;
	/** The thinking level that pi requested; absent in old answers, and in answers that pi's agent did not request. */
	thinkingLevel?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
	/** The level of effort in the provider's own words. */
	providerThinkingLevel?: string;
	/** Problems during the call. */
	diagnostics?: AssistantMessageDiagnostic[];
	usage: Usage;
	stopReason: StopReason;
	/** How to get the answer; with `stopReason` `deferred`. */
	deferred?: DeferredHandle;
	/** The error; with `stopReason` `error` or `aborted`. */
	errorMessage?: string;
	/** The stop reason in the provider's own words. */
	rawStopReason?: string;
	/** Whether the model itself ended its turn. */
	endTurn?: boolean;
	/** The time when the request began, in milliseconds since 1970. */
	timestamp: number;
	/** Milliseconds from `timestamp` to the end of the answer. */
	durationMs?: number;
}

/**
 * A call that a tool made to another tool.
 *
 * @example
 * ```ts
 * const call: NestedToolCallRecord = {
 * 	id: "1", name: "read", arguments: { path: "a.ts" }, status: "ok", durationMs: 3,
 * };
 * ```
 */
export interface NestedToolCallRecord {
	id: string;
	/** Name of the other tool. */
	name: string;
	/** Absent if too large. */
	arguments?: JsonObject;
	/** The size of the arguments as JSON in bytes, if `arguments` is absent. */
	argumentsBytes?: number;
	/** `unfinished`: the call was still running when its tool ended. */
	status: "ok" | "error" | "unfinished";
	/** The duration in milliseconds. */
	durationMs?: number;
	/** The error, shortened. */
	error?: string;
}

/**
 * The calls of a tool to other tools, without their results.
 *
 * @example
 * ```ts
 * const calls: NestedToolCalls = { calls: [{ id: "1", name: "read", status: "unfinished" }], complete: false };
 * ```
 */
export interface NestedToolCalls {
	calls: NestedToolCallRecord[];
	/** False if calls or arguments are left out, or a call did not finish. */
	complete: boolean;
}

/**
 * The result of a tool call.
 *
 * @example
 * ```ts
 * const message: ToolResultMessage = {
 * 	role: "toolResult",
 * 	toolCallId: "call_1",
 * 	toolName: "read",
 * 	content: [{ type: "text", text: "export {}" }],
 * 	isError: false,
 * 	timestamp: Date.now(),
 * };
 * ```
 */
export interface ToolResultMessage<TDetails extends JsonValue = JsonValue> {
	role: "toolResult";
	/** The `id` of the tool call. */
	toolCallId: string;
	toolName: string;
	content: (TextContent | ImageContent)[];
	/** Data for the display, never sent to a model. */
	details?: TDetails;
	/** Tokens that the tool itself used. */
	usage?: Usage;
	/** Calls to other tools. Models do not see them. */
	nestedCalls?: NestedToolCalls;
	/** Whether the tool failed; `content` then describes the error. */
	isError: boolean;
	/** Milliseconds since 1970. */
	timestamp: number;
	/** The duration of the tool call in milliseconds. */
	durationMs?: number;
}

/**
 * A message that models understand.
 *
 * @example
 * ```ts
 * const isAnswer = (message: Message): boolean => message.role === "assistant";
 * ```
 */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage;

/**
 * A command that the user ran with `!`.
 *
 * @example
 * ```ts
 * const message: BashExecutionMessage = {
 * 	role: "bashExecution",
 * 	command: "make",
 * 	output: "done",
 * 	exitCode: 0,
 * 	cancelled: false,
 * 	truncated: false,
 * 	timestamp: Date.now(),
 * };
 * ```
 */
export interface BashExecutionMessage {
	role: "bashExecution";
	command: string;
	/** The output of both streams, cut if `truncated`. */
	output: string;
	/** Undefined if the command was stopped. */
	exitCode: number | undefined;
	/** Whether the user stopped it. */
	cancelled: boolean;
	truncated: boolean;
	/** The file with the whole output, if `output` was cut. */
	fullOutputPath?: string;
	/** Milliseconds since 1970. */
	timestamp: number;
	/** Whether the command was run with `!!`: models do not see it then. */
	excludeFromContext?: boolean;
}

/**
 * A message from an extension in the conversation.
 *
 * @example
 * ```ts
 * const message: CustomMessage = {
 * 	role: "custom", customType: "ext", content: "Hello", display: true, timestamp: Date.now(),
 * };
 * ```
 */
export interface CustomMessage<T = unknown> {
	role: "custom";
	/** The name of the extension, or of a kind of its data. */
	customType: string;
	content: string | (TextContent | ImageContent)[];
	/** Whether the user sees it; models always do. */
	display: boolean;
	/** Data of the extension; never sent to a model. */
	details?: T;
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * The summary of an abandoned branch, in the context.
 *
 * @example
 * ```ts
 * const message: BranchSummaryMessage = {
 * 	role: "branchSummary", summary: "Did not work.", fromId: "1f2e3d4c", timestamp: Date.now(),
 * };
 * ```
 */
export interface BranchSummaryMessage {
	role: "branchSummary";
	summary: string;
	/** The id of the leaf of the abandoned branch, or `root`. */
	fromId: string | null;
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * The summary of everything before a compaction, in the context.
 *
 * @example
 * ```ts
 * const message: CompactionSummaryMessage = {
 * 	role: "compactionSummary", summary: "So far: …", tokensBefore: 90_000, timestamp: Date.now(),
 * };
 * ```
 */
export interface CompactionSummaryMessage {
	role: "compactionSummary";
	summary: string;
	/** The size of the context before, in tokens. */
	tokensBefore: number;
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * Messages of other roles than models know. Add your own by declaration merging.
 *
 * @example
 * ```ts
 * type Command = CustomAgentMessages["bashExecution"];
 * ```
 */
export interface CustomAgentMessages {
	bashExecution: BashExecutionMessage;
	custom: CustomMessage;
	branchSummary: BranchSummaryMessage;
	compactionSummary: CompactionSummaryMessage;
}

/**
 * Every message that a session's context may contain.
 *
 * @example
 * ```ts
 * const roles = manager.buildSessionContext().messages.map((message: AgentMessage) => message.role);
 * ```
 */
export type AgentMessage = Message | CustomAgentMessages[keyof CustomAgentMessages];

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

// Results of a manager: the tree of a session, its outline, and the context for a model.

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
	/** The time when the label was set, ISO 8601. */
	labelTimestamp?: string;
}

/**
 * A session's tree without the contents of its entries.
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
	 * An ISO `timestamp` is converted to UTC with milliseconds, because the index contains only the moment. Any other
	 * `timestamp` is unchanged.
	 */
	entry: { type: string; id: string; timestamp?: string; message?: { role: string } };
	/** Oldest first. */
	children: OutlineNode[];
	/** The newest label; absent if there is none, or it was cleared. */
	label?: string;
	/** The time when the label was set, ISO 8601. */
	labelTimestamp?: string;
}

/**
 * One entry of the context and its messages.
 *
 * @example
 * ```ts
 * const isSilent = (one: ProjectedSessionEntry): boolean => one.messages.length === 0;
 * const silent = manager.buildSessionProjection().entries.filter(isSilent);
 * ```
 */
export interface ProjectedSessionEntry {
	/** The entry in the session. */
	sourceEntry: SessionEntry;
	/** Empty for entries without messages, and for entries that an edit removed. */
	messages: AgentMessage[];
}

/**
 * The context, with the entry of each message.
 *
 * @example
 * ```ts
 * const projection: SessionProjection = buildSessionProjection(entries);
 * ```
 */
export interface SessionProjection {
	entries: ProjectedSessionEntry[];
	/** The messages of all entries; the same objects. */
	messages: AgentMessage[];
	/** The newest level on the path; `off` if there is none. */
	thinkingLevel: string;
	/** The newest model on the path, from a change of the model or an answer; null if there is none. */
	model: { provider: string; modelId: string } | null;
}

/**
 * The context of the model.
 *
 * @example
 * ```ts
 * const context: SessionContext = buildSessionContext(entries);
 * console.log(context.thinkingLevel); // → off
 * ```
 */
export interface SessionContext {
	/** In order; summaries replace compacted messages. */
	messages: AgentMessage[];
	/** The newest level on the path; `off` if there is none. */
	thinkingLevel: string;
	/** The newest model on the path, from a change of the model or an answer; null if there is none. */
	model: { provider: string; modelId: string } | null;
}

/**
 * The methods of a manager that read, as extensions get it.
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

/**
 * A session as lists show it.
 *
 * @example
 * ```ts
 * const [session]: SessionInfo[] = await SessionManager.list(cwd, dir);
 * console.log(session?.messageCount); // → 2
 * ```
 */
export interface SessionInfo {
	/** The session's file. */
	path: string;
	/** The session's id. */
	id: string;
	/** Empty if the header has none. */
	cwd: string;
	/** The name in the newest `session_info` entry. */
	name?: string;
	/** The file of the session from which this session was forked or branched. */
	parentSessionPath?: string;
	/** The time when the session began, by its header. */
	created: Date;
	/** The time of the last user or assistant message; otherwise the time when the session began, or its file changed. */
	modified: Date;
	/** The number of messages of every role, on every branch. */
	messageCount: number;
	/** The text of the user's first message, or `(no messages)`. */
	firstMessage: string;
	/**
	 * The text of all user and assistant messages. Read from the file at its first use, or by `SessionManager.readTexts`.
	 */
	allMessagesText: string;
}

/**
 * Called with the number of files that were read and the number of all files; sometimes also with the sessions found so
 * far, newest first.
 *
 * @example
 * ```ts
 * const report: SessionListProgress = (loaded, total) => console.log(`${loaded}/${total}`); // → 1/1
 * await SessionManager.list(cwd, dir, report);
 * ```
 */
export type SessionListProgress = (loaded: number, total: number, partialSessions?: readonly SessionInfo[]) => void;

/**
 * The sessions that `SessionManager.findByIdPrefix` searches; without options the sessions of every working directory.
 * If a session directory is configured for pi (`getConfiguredSessionDir`), it is searched instead of the default
 * directories.
 *
 * @example
 * ```ts
 * const scope: SessionScopeOptions = { cwd, sessionDir: dir };
 * console.log(SessionManager.findByIdPrefix("", scope).length); // → 1
 * ```
 */
export interface SessionScopeOptions {
	/**
	 * Only sessions of this working directory: the sessions in `list(cwd)`, or with `sessionDir` in `list(cwd,
	 * sessionDir)`.
	 */
	cwd?: string | undefined;
	/** Only sessions in this directory, as in `listAll(sessionDir)`. */
	sessionDir?: string | undefined;
	/** Whether sessions of subagents are included; `true` by default. */
	subagents?: boolean | undefined;
}

/**
 * A session that `SessionManager.findByIdPrefix` found.
 *
 * @example
 * ```ts
 * const found: FoundSession[] = SessionManager.findByIdPrefix(manager.getSessionId(), { sessionDir: dir });
 * console.log(found.map((session) => session.path === file)); // → [ true ]
 * ```
 */
export interface FoundSession {
	/** The session's file. */
	path: string;
	id: string;
	/** Empty if the header has none. */
	cwd: string;
}

// The search.

/**
 * A kind of text that can be searched: user messages (`user`), assistant messages and the errors of their calls
 * (`assistant`), names of sessions and labels (`name`), summaries of compactions and branches (`summary`), tool calls,
 * their results, and commands of the user's shell (`tool`), thinking of assistants (`thinking`), and texts of
 * extensions and context edits (`custom`).
 *
 * @example
 * ```ts
 * const scopes: SearchScope[] = ["tool", "thinking"];
 * ```
 */
export type SearchScope = "user" | "assistant" | "name" | "summary" | "tool" | "thinking" | "custom";

/**
 * The role of a message, or the type of another entry.
 *
 * @example
 * ```ts
 * const roles: SearchRole[] = ["toolResult", "bashExecution"];
 * ```
 */
export type SearchRole =
	| "user"
	| "assistant"
	| "toolResult"
	| "bashExecution"
	| "custom"
	| "session_info"
	| "label"
	| "compaction"
	| "branch_summary"
	| "custom_message"
	| "context_edit";

/**
 * Options of `SessionManager.search`. Files and directories that cannot be opened are skipped; if reading a session
 * fails later, the search rejects.
 *
 * @example
 * ```ts
 * const options = (limit?: number): SearchOptions => ({ sessionDir: dir, in: ["tool"], since: "2025-06-01", limit });
 * ```
 */
export interface SearchOptions {
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
	/** The texts that are searched; `["user", "assistant", "name", "summary"]` by default. */
	in?: readonly SearchScope[] | undefined;
	/** Only messages and entries of these roles; none for an empty list. */
	roles?: readonly SearchRole[] | undefined;
	/** Only entries with this timestamp or a later one: a time as `Date` parses it. */
	since?: string | number | Date | undefined;
	/** Only entries with an earlier timestamp. */
	until?: string | number | Date | undefined;
	/** The id or the file of the only session that is searched. */
	session?: string | undefined;
	/**
	 * The id or the file of a session that is not searched, such as the open session. Its subagents' sessions are not
	 * searched either.
	 */
	excludeSession?: string | undefined;
	/** Whether sessions of subagents are searched, each after the session that it belongs to; `true` by default. */
	subagents?: boolean | undefined;
	/** Whether the query must be found as a whole, with its white space, also at its ends. */
	phrase?: boolean | undefined;
	/**
	 * Whether copies of an entry in forks are one hit, in the newest session; `true` by default.
	 */
	dedupe?: boolean | undefined;
	/** The largest number of hits; 50 by default, and `Infinity` for all. */
	limit?: number | undefined;
	/**
	 * The largest number of hits in each session, so that a long session does not hide the others; `Infinity` by default.
	 */
	perSession?: number | undefined;
	/** The marks before and after a match in a snippet; `["«", "»"]` by default. */
	mark?: readonly [open: string, close: string] | undefined;
	/** Aborts the search; the promise rejects with the signal's reason. */
	signal?: AbortSignal | undefined;
	/** Called with the number of session files that were searched, and the number of all session files. */
	onProgress?: ((searched: number, total: number) => void) | undefined;
	/** Called with each hit as soon as it is found, in the order of the result. */
	onHit?: ((hit: SearchHit) => void) | undefined;
}

/**
 * A text that contains the words of the query.
 *
 * @example
 * ```ts
 * const where = (hit: SearchHit): string => `${hit.path} ${hit.entryId}: ${hit.snippet}`;
 * ```
 */
export interface SearchHit {
	/** The session's file. */
	path: string;
	/** The session's id. */
	id: string;
	/** The session's name. */
	name?: string;
	/** The first user message, cut to 200 characters. */
	firstMessage?: string;
	/** The session's working directory; empty if the header has none. */
	cwd: string;
	/** For the session of a subagent: the session that it belongs to. */
	owner?: SearchedSession;
	/**
	 * The id of the entry. Entries of version 1 have no ids; for them it is their number, as in a session that is open
	 * read-only.
	 */
	entryId: string;
	/** The role of the message, or the type of another entry. */
	role: SearchRole;
	/** The kind of the text in the snippet. */
	in: SearchScope;
	/** The entry's timestamp; empty if it has none. */
	timestamp: string;
	/** The marked match and the text around it, on one line, without escape sequences of terminals. */
	snippet: string;
	/**
	 * The number of hits in the session. Copies of hits in newer sessions are not counted unless `dedupe` is `false`, or
	 * the session has more than 200,000 hits.
	 */
	hitsInSession: number;
}

/**
 * The fields of a hit that describe its session, or the session that a subagent's session belongs to.
 *
 * @example
 * ```ts
 * const ownerOf = (hit: SearchHit): SearchedSession => hit.owner ?? hit;
 * ```
 */
export type SearchedSession = Pick<SearchHit, "path" | "id" | "name" | "firstMessage" | "cwd">;

// Types of the table of kinds. See scripts/declarations.mjs for where the build puts them.

/**
 * Facts about each kind of entry, each role of messages and each type of content blocks.
 *
 * @example
 * ```ts
 * const { scopes, searchRoles }: EntryKinds = entryKinds();
 * console.log(scopes.length, searchRoles.includes("toolResult")); // → 7 true
 * ```
 */
export interface EntryKinds {
	/** By the `type` of an entry. */
	entries: Record<string, KindFacts>;
	/** By the `role` of a message. */
	roles: Record<string, KindFacts>;
	/** By the `type` of a content block. A text without a scope has the scope of the content that
	 * contains it. */
	blocks: Record<string, KindFacts>;
	/** The kinds of text that a search can be limited to. */
	scopes: SearchScope[];
	/** The kinds of text that a search reads by default. */
	defaultScopes: SearchScope[];
	/** The roles of messages and the types of other entries that a search can find. */
	searchRoles: SearchRole[];
}

/**
 * Facts about one kind of entry, one role, or one type of blocks.
 *
 * @example
 * ```ts
 * const fields = ({ says }: KindFacts): string[] => says.flatMap((one) => ("field" in one ? [one.field] : []));
 * console.log(fields(entryKinds().roles.bashExecution!)); // → [ 'command', 'output' ]
 * ```
 */
export interface KindFacts {
	/** The name of the speaker that people are shown: `tool`, for example. */
	speaker: string;
	/** The fields that contain ids of other entries, besides `parentId`. */
	refersTo: string[];
	/** The texts and sentences that a reader is shown, in this order, and the texts that a search reads. */
	says: (SaidText | Sentence)[];
	/** The message that is made from an entry's fields for the model. Other kinds add their `message`, or nothing. */
	makes?: MadeMessage;
}

/**
 * Texts in a field of an entry or a message.
 *
 * @example
 * ```ts
 * const said: SaidText = { field: "replacement.content", form: "content", scope: "custom", part: "text" };
 * ```
 */
export interface SaidText {
	/** The field; a dot leads to a field of its value. */
	field: string;
	/**
	 * Where the texts are: the value itself (`text`), every string in it (`json`), its text blocks (`content`), its
	 * blocks of text, thinking and tool calls (`answer`), the calls of other tools (`calls`), an object of named texts
	 * (`sections`), or the names in a list of tools (`tools`).
	 */
	form: "text" | "json" | "content" | "answer" | "calls" | "sections" | "tools";
	/** The scope in which a search finds them; absent if no search does. */
	scope?: SearchScope;
	/** How a reader is shown them; absent if a sentence contains them. */
	part?: "text" | "call" | "output" | "note";
	/** The title of a call, an output or a list. `{field}` is replaced by the text of that field. */
	title?: string;
	/** The field that marks the part as a failure, by a truthy value. */
	failed?: string;
}

/**
 * A sentence about an entry or a message. `{field}` is replaced by the text of that field. A part in brackets is left
 * out if one of its fields is falsy.
 *
 * @example
 * ```ts
 * const label: Sentence = { sentence: "labels {targetId}", on: "label", otherwise: "removes the label" };
 * ```
 */
export interface Sentence {
	sentence: string;
	/** The field that decides whether the sentence is shown; absent if it is always shown. */
	on?: string;
	/** The values of that field with which the sentence is shown; if absent, each truthy value. */
	values?: string[];
	/** The sentence that is shown otherwise. */
	otherwise?: string;
}

/**
 * A message that is made from an entry: its role, these fields of the entry in this order, and the entry's time.
 *
 * @example
 * ```ts
 * const made: MadeMessage | undefined = entryKinds().entries.branch_summary?.makes;
 * console.log(made?.role, made?.fields); // → branchSummary [ 'summary', 'fromId' ]
 * ```
 */
export interface MadeMessage {
	role: string;
	fields: string[];
	/** Whether no message is made if `summary` is empty. */
	needsSummary: boolean;
	/** The field with a message that precedes the made one, if the entry has that field. */
	before?: string;
}

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

// Types of all files of a session.

/**
 * The files that belong to a session file.
 *
 * @example
 * ```ts
 * const files: SessionFiles = SessionManager.filesOf(file);
 * console.log(files.subagents); // → []
 * ```
 */
export interface SessionFiles {
	/** The backups of migrations and repairs (`.v1.bak`, `.bak`). */
	backups: string[];
	/** The session files of its subagents, damaged ones too. */
	subagents: string[];
	/** The other content of the folder of these session files, at any depth: files that are not sessions, and links. */
	others: string[];
	/**
	 * The folder of these session files, if it contains nothing else; null if there is no folder or it contains other
	 * files.
	 */
	folder: string | null;
}

/**
 * Options of `SessionManager.move`.
 *
 * @example
 * ```ts
 * const renamed: MoveOptions = { from: "/home/me/shop", to: "/home/me/store" };
 * console.log(renamed.sessionDir); // → undefined
 * ```
 */
export interface MoveOptions {
	/** The former path of the project's folder, which contains the session's working directory. */
	from: string;
	/** The present path of the folder. */
	to: string;
	/** The new session directory of the session, created if necessary; by default the file stays in its directory. */
	sessionDir?: string | undefined;
}

// Options for opening and writing a session's file.

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

// Types of errors.

/**
 * The code of an error, for programs. Errors of the operating system have Node's codes instead, such as `ENOENT` or
 * `ENOSPC`, with `errno` and `syscall`.
 *
 * | code | what happened | what to do |
 * | --- | --- | --- |
 * | `ERR_INVALID_ARGUMENT` | an argument has a wrong type or value; nothing was changed | correct the argument that the
 * message names |
 * | `ERR_SESSION_INVALID` | the file at `path` is not a session, or this call cannot use it; the file is unchanged |
 * check the path; `SessionManager.repair` if it was a session |
 * | `ERR_SESSION_CHANGED` | another program changed the file at `path`, and the session cannot continue with it;
 * nothing was overwritten | `reload()`, or open it again |
 * | `ERR_SESSION_DELETED` | the file at `path` was deleted or emptied, and can no longer be read | restore the file, or
 * write a path whose entries were all read to a new file (`createBranchedSession`) |
 * | `ERR_SESSION_LOCKED` | another manager or process has locked the session at `path` | close it there, or try again
 * later |
 * | `ERR_SESSION_READ_ONLY` | the session at `path` was opened with `readonly: true`, and the call would change it |
 * open it without |
 * | `ERR_ENTRY_NOT_FOUND` | no entry has this id | use an id of `getEntries()` |
 * | `ERR_ENTRY_NOT_EDITABLE` | a context edit cannot apply to its target | choose an entry of the active branch with
 * content |
 * | `ERR_TOO_LONG` | a line or value is too long for a session file or a JavaScript string | shorten the value |
 * | `ERR_SYSTEM` | an error of the operating system for which Node has no code | see the message |
 * | `ERR_INTERNAL` | a bug in this package | report it |
 *
 * @example
 * ```ts
 * try {
 * 	manager.branch("00000000");
 * } catch (error) {
 * 	const code: SessionErrorCode = (error as SessionError).code as SessionErrorCode;
 * 	console.log(code); // → ERR_ENTRY_NOT_FOUND
 * }
 * ```
 */
export type SessionErrorCode =
	| "ERR_INVALID_ARGUMENT"
	| "ERR_SESSION_INVALID"
	| "ERR_SESSION_CHANGED"
	| "ERR_SESSION_DELETED"
	| "ERR_SESSION_LOCKED"
	| "ERR_SESSION_READ_ONLY"
	| "ERR_ENTRY_NOT_FOUND"
	| "ERR_ENTRY_NOT_EDITABLE"
	| "ERR_TOO_LONG"
	| "ERR_SYSTEM"
	| "ERR_INTERNAL";

/**
 * An error of this package. Errors of the caller's own code and of `JSON.stringify` are thrown unchanged.
 *
 * @example
 * ```ts
 * try {
 * 	SessionManager.verify("/nowhere/session.jsonl");
 * } catch (error) {
 * 	const { code, path }: SessionError = error as SessionError;
 * 	console.log(code, path); // → ENOENT /nowhere/session.jsonl
 * }
 * ```
 */
export interface SessionError extends Error {
	/** A code of this package, or Node's code for an error of the operating system. */
	code: SessionErrorCode | (string & {});
	/** The file or directory that the error concerns. */
	path?: string;
	/** The system's error number, negative as in Node. */
	errno?: number;
	/** The system call that failed. */
	syscall?: string;
}

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

// The functions and constants; src/api/functions.rs contains the functions in Rust.

/**
 * Which binding artifact the generated loader actually loaded: `'native'` for
 * a native addon, otherwise the `platformArchABI` of the WASI flavor. Every
 * flavor napi-rs can build is listed, because `NAPI_RS_NATIVE_LIBRARY_PATH`
 * can point the loader at a WASI artifact this package does not build itself.
 */
export declare const __napiBindingTarget: "native" | "wasm32-wasi" | "wasm32-wasip1";

/**
 * Throws if a session id cannot be part of a file name.
 *
 * @throws If the id is empty, has characters other than letters, digits, `-`, `_` and `.`, or does not begin and end
 * with a letter or digit.
 * @example
 * ```ts
 * assertValidSessionId("2025-06-01.draft");
 * ```
 */
export declare function assertValidSessionId(id: string): void;

/**
 * The entries of the context at an entry: the newest compaction on its path, then the entries that it kept, then all
 * later entries.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(buildContextEntries(entries, id).length); // → 1
 * ```
 */
export declare function buildContextEntries(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionEntry[];

/**
 * The model's context at an entry: messages, thinking level and model.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * const [all, none] = [buildSessionContext(entries), buildSessionContext(entries, null)];
 * console.log(all.messages.length, none.messages.length); // → 2 0
 * ```
 */
export declare function buildSessionContext(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionContext;

/**
 * The context at an entry, for each entry of its path and as one list of messages.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(buildSessionProjection(entries).entries.map((one) => one.messages.length)); // → [ 1, 1 ]
 * ```
 */
export declare function buildSessionProjection(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionProjection;

/**
 * The version of new session files.
 *
 * @example
 * ```ts
 * console.log(CURRENT_SESSION_VERSION); // → 3
 * ```
 */
export declare const CURRENT_SESSION_VERSION: SessionVersion;

/**
 * The session file in a directory that changed last, optionally only for one working directory; null if there is
 * none.
 *
 * @throws `TypeError` for a directory that is not a string or not a valid path. If it is missing or cannot be read,
 * the result is null.
 * @example
 * ```ts
 * console.log(findMostRecentSession(dir) === file, findMostRecentSession("/nowhere")); // → true null
 * ```
 */
export declare function findMostRecentSession(sessionDir: string, cwd?: string): string | null;

/**
 * The session directory that is configured for pi in a working directory, by default the process's: the environment
 * variable `PI_CODING_AGENT_SESSION_DIR`, otherwise `sessionDir` in the project's `.pi/settings.json`, otherwise
 * `sessionDir` in the agent's `settings.json`. Undefined if there is none, and sessions are in the default
 * directories. `search`, `usage`, `findByIdPrefix` and `pi-sessions` use this directory; `list`, `create` and the
 * others use only the directory in their arguments, as in pi.
 *
 * `onWarning` is called with a text if settings cannot be read and are therefore ignored.
 *
 * @throws `TypeError` for an argument of a wrong type, or an unknown option.
 * @example
 * ```ts
 * const configured = getConfiguredSessionDir(cwd, { onWarning: (text) => console.error(text) });
 * const sessions = await SessionManager.list(cwd, configured ?? dir);
 * console.log(configured, sessions.length); // → undefined 1
 * ```
 */
export declare function getConfiguredSessionDir(
	cwd?: string,
	options?: { onWarning?: ((text: string) => void) | undefined },
): string | undefined;

/**
 * The default session directory of a working directory. It is created if necessary, unless `create` is false.
 *
 * @throws If the directory cannot be created.
 * @example
 * ```ts
 * const named = getDefaultSessionDir("/home/me/other", dir, { create: false });
 * console.log(findMostRecentSession(named)); // → null
 * ```
 */
export declare function getDefaultSessionDir(
	cwd: string,
	agentDir: string | undefined,
	options: { create?: boolean | undefined },
): string;

/**
 * The default session directory of a working directory, created if necessary. `agentDir` replaces the agent's own
 * directory.
 *
 * @throws If the directory cannot be created.
 * @example
 * ```ts
 * console.log(getDefaultSessionDir("/home/me/shop", dir).endsWith("--home-me-shop--")); // → true
 * ```
 */
export declare function getDefaultSessionDir(cwd: string, agentDir?: string): string;

/**
 * The last compaction entry of an array, or null.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(getLatestCompactionEntry(entries)); // → null
 * ```
 */
export declare function getLatestCompactionEntry(entries: SessionEntry[]): CompactionEntry | null;

/**
 * The header and entries of a session file, without migration; empty if the file does not exist or is not a session.
 *
 * @throws If the file exists and cannot be read.
 * @example
 * ```ts
 * console.log(loadEntriesFromFile(file).length, loadEntriesFromFile("/nowhere.jsonl").length); // → 3 0
 * ```
 */
export declare function loadEntriesFromFile(filePath: string): FileEntry[];

/**
 * Migrates the objects of a session to the current version, in place.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * const old = parseSessionEntries(`{"type":"session","id":"s"}
 * {"type":"message","message":{"role":"user","content":"Hi"}}`);
 * migrateSessionEntries(old);
 * console.log((old[0] as SessionHeader).version, typeof old[1]?.id); // → 3 string
 * ```
 */
export declare function migrateSessionEntries(entries: FileEntry[]): void;

/**
 * Every value in a text of JSON lines; invalid lines are skipped.
 *
 * @throws `TypeError` if the content is not a string.
 * @example
 * ```ts
 * const values = parseSessionEntries(`{"type":"session","id":"s"}
 * not JSON`);
 * console.log(values.length); // → 1
 * ```
 */
export declare function parseSessionEntries(content: string): FileEntry[];

/**
 * The messages of an entry in the model's context, after an edit.
 *
 * @throws `TypeError` if the entry is not an object.
 * @example
 * ```ts
 * console.log(projectContextEntry(manager.getEntry(id)!, undefined).length); // → 1
 * ```
 */
export declare function projectContextEntry(entry: SessionEntry, edit: ContextEditEntry | undefined): AgentMessage[];

/**
 * The header of a session file, read without the entries; null if the file is not a session. Nothing is migrated.
 *
 * The header is the first line that is JSON. At most 64 MiB of damaged lines before it are skipped, as in lists.
 *
 * @throws `TypeError` if the path is not a string. The error of the system if the file is missing, is not a regular
 * file, or cannot be read.
 * @example
 * ```ts
 * console.log(readSessionHeader(file)?.version); // → 3
 * ```
 */
export declare function readSessionHeader(path: string): SessionHeader | null;

/**
 * Redacts lines that are in no session file, such as lines of a store. Returns the lines that change, as
 * `SessionManager.redact` reports them. If a session file is named and contains the entry of such a line, the line of
 * the file is redacted and returned in place of the given one, because a user may have edited the file. No file is
 * changed.
 *
 * @throws `TypeError` for an invalid argument. The error of the system if the file cannot be read.
 * @example
 * ```ts
 * const line = Buffer.from(`{"type":"custom","id":"c0ffee00","parentId":null,"customType":"x","data":"hunter2"}`);
 * const [changed] = redactLines([line], { text: "hunter2" });
 * console.log(Buffer.from(changed!.line).includes("[redacted]")); // → true
 * ```
 */
export declare function redactLines(
	lines: readonly Uint8Array[],
	what: RedactInput,
	path?: string,
): RedactReport["lines"];

/**
 * The messages of a single entry in the model's context.
 *
 * @throws `TypeError` if the entry is not an object.
 * @example
 * ```ts
 * console.log(sessionEntryToContextMessages(manager.getEntry(id)!)[0]?.role); // → user
 * ```
 */
export declare function sessionEntryToContextMessages(entry: SessionEntry): AgentMessage[];

/**
 * Sets the agent's directory for this thread, because a renamed build of pi has its own directory, which other
 * programs must use. It overrides `PI_CODING_AGENT_DIR` and `~/.pi/agent`; undefined returns to these. Under
 * `pi-native` it is set already.
 *
 * @throws `TypeError` if it is not a path.
 * @example
 * ```ts
 * setAgentDir("/home/me/.acme/agent");
 * console.log(getDefaultSessionDir("/shop", undefined, { create: false })); // → /home/me/.acme/agent/sessions/--shop--
 * setAgentDir(undefined);
 * ```
 */
export declare function setAgentDir(agentDir: string | undefined): void;

/**
 * Returns the table of kinds: for each type of an entry and each role of a message that pi writes, its texts, the
 * fields that refer to other entries, and the message that it makes for the model. Entries of other types are kept
 * and returned unchanged.
 *
 * @example
 * ```ts
 * const { entries, roles } = entryKinds();
 * console.log(entries.label?.refersTo, roles.toolResult?.speaker); // → [ 'targetId' ] tool
 * ```
 */
export declare function entryKinds(): EntryKinds;

/**
 * Locks a file without waiting, so that one process at a time does something. The file is created if necessary,
 * readable only by its owner, and is never removed.
 *
 * Returns a function that releases the lock, or null if another process or this one has already locked the file. The
 * lock also ends when that function is collected, when the thread ends, and at any end of the process. Child
 * processes do not inherit it. It is a lock of the operating system (`flock`, on Windows `LockFileEx`).
 *
 * @throws `TypeError` if the path is not a string. If the file cannot be opened or locked, with the system's code:
 * `ENOENT` if its directory is missing, `ELOOP` if it is a symbolic link, `ENOLCK` or `EOPNOTSUPP` on a file system
 * without locks.
 * @example
 * ```ts
 * const release = tryLockFile(`${dir}/only-one.lock`);
 * console.log(typeof release, tryLockFile(`${dir}/only-one.lock`)); // → function null
 * release?.();
 * ```
 */
export declare function tryLockFile(path: string): (() => void) | null;

/**
 * Removes the escape sequences of terminals (ECMA-48: colours, cursor movements, links, titles) from a text, because a
 * reader does not see them. Search, lists and `pi-sessions` use the same rule: a sequence begins with U+001B, and an
 * incomplete one is text. Other control characters stay, so the result is not yet safe for a terminal.
 *
 * @throws `TypeError` if it is not a string.
 * @example
 * ```ts
 * console.log(withoutEscapeSequences("\u001b[32m12 passed\u001b[39m")); // → 12 passed
 * ```
 */
export declare function withoutEscapeSequences(text: string): string;
