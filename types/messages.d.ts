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
