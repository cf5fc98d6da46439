// Types of what messages hold. The build puts them above the declarations it generates from the Rust side, and those of
// `header.d.ts` between the two: see scripts/declarations.mjs.

// ---- JSON ----------------------------------------------------------------------------------------------------

/**
 * A value that `JSON.parse` can give.
 *
 * @example
 * ```ts
 * const value: JsonValue = { list: [1, "two", null] };
 * ```
 */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/**
 * An object all of whose values are JSON.
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
	/** The provider withheld the reasoning; what it wants back is in `thinkingSignature`. */
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
	/** The result names it as `toolCallId`. */
	id: string;
	/** Name of the tool. */
	name: string;
	/** As the model gave them, read from its JSON. */
	arguments: JsonObject;
	/** What the model gave was no JSON object: what is wrong with it, and its text. `arguments` is then empty. */
	argumentsError?: string;
	/** Opaque proof by which a provider recognises the thought that led here. */
	thoughtSignature?: string;
	/** Group the tool was offered under, for providers that group tools. */
	namespace?: string;
}

// ---- Parts of messages ---------------------------------------------------------------------------------------

/**
 * Tokens of one or more model calls, and their price in US dollars.
 *
 * @example
 * ```ts
 * const usage: Usage = { input: 12, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 } };
 * ```
 */
export interface Usage {
	/** Tokens sent that no cache had. */
	input: number;
	/** Tokens the model wrote, its reasoning among them. */
	output: number;
	/** Tokens read from the provider's cache. */
	cacheRead: number;
	/** Tokens written to the provider's cache. */
	cacheWrite: number;
	/** Tokens of `cacheWrite` that are kept for an hour; absent if the provider does not say. */
	cacheWrite1h?: number;
	/** Tokens of `output` spent on reasoning; absent if the provider does not say. */
	reasoning?: number;
	/** Tokens of all four together. */
	totalTokens: number;
	/** US dollars. */
	cost: {
		input: number;
		output: number;
		cacheRead: number;
		cacheWrite: number;
		total: number;
		/** Whether `total` is what the provider billed; else it is calculated from the model's prices. */
		totalFromProvider?: boolean;
	};
}

/**
 * Why a model's answer ended.
 *
 * @example
 * ```ts
 * const reason: StopReason = "toolUse";
 * ```
 */
export type StopReason = "pending" | "stop" | "length" | "toolUse" | "error" | "aborted" | "deferred";

/**
 * Where to fetch an answer that the provider will have ready later.
 *
 * @example
 * ```ts
 * const later: DeferredHandle = { provider: "acme", modelId: "large", api: "messages", id: "batch-7" };
 * ```
 */
export interface DeferredHandle {
	/** Who runs the model. */
	provider: string;
	/** The model that was asked. */
	modelId: string;
	/** The interface that was spoken. */
	api: string;
	/** The provider's own token for the answer. */
	id: string;
	/** When the provider forgets the answer, in milliseconds since 1970. */
	expiresAt?: number;
	/** Milliseconds to wait before asking for it. */
	pollAfterMs?: number;
	/** What is needed to make a message of the answer. */
	data?: JsonValue;
}

/**
 * What is kept of a thrown value.
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
 * A note about trouble during a model call.
 *
 * @example
 * ```ts
 * const note: AssistantMessageDiagnostic = { type: "retry", timestamp: Date.now(), error: { message: "overloaded" } };
 * ```
 */
export interface AssistantMessageDiagnostic {
	/** The kind of trouble, a word that the writer chooses. */
	type: string;
	/** Milliseconds since 1970. */
	timestamp: number;
	error?: DiagnosticErrorInfo;
	/** Whatever else is worth knowing. */
	details?: JsonObject;
}

/**
 * JSON schema of a tool's arguments; any object is taken.
 *
 * @example
 * ```ts
 * const schema: ToolSchema = { type: "object", properties: { path: { type: "string" } } };
 * ```
 */
export interface ToolSchema {}

/**
 * How strictly a provider should hold a model to a tool's arguments.
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
 * A tool as it is offered to a model.
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
 * A tool named, without its definition.
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
 * Instructions and tools from one point of the conversation on. The first is the system prompt; each later one
 * changes it, so that all of them, replayed in order, give the current prompt and tools.
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
	/** Tools that models may use from here on. */
	toolsAdded?: Tool[];
	/** Tools that models may not use any more. */
	toolsRemoved?: ToolReference[];
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * What the user said.
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
 * What the model answered.
 *
 * @example
 * ```ts
 * const usage = { input: 12, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 } };
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
	/** The interface that was spoken. */
	api: string;
	/** Who runs the model. */
	provider: string;
	/** The model that was asked. */
	model: string;
	/** Model named in the answer, if another than the one asked. */
	responseModel?: string;
	/** The provider's id of the answer. */
	responseId?: string;
	/** Level of thinking that pi asked for; absent in old answers, and in those that pi's agent did not ask for. */
	thinkingLevel?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
	/** Level of effort in the provider's own words. */
	providerThinkingLevel?: string;
	/** Problems during the call. */
	diagnostics?: AssistantMessageDiagnostic[];
	usage: Usage;
	stopReason: StopReason;
	/** Where to fetch the answer; with `stopReason` `deferred`. */
	deferred?: DeferredHandle;
	/** What went wrong; with `stopReason` `error` or `aborted`. */
	errorMessage?: string;
	/** Reason in the provider's own words. */
	rawStopReason?: string;
	/** Whether the model itself said that its turn is over. */
	endTurn?: boolean;
	/** When the request began, in milliseconds since 1970. */
	timestamp: number;
	/** Milliseconds from `timestamp` to the end of the answer. */
	durationMs?: number;
}

/**
 * A call that a tool made to another tool.
 *
 * @example
 * ```ts
 * const call: NestedToolCallRecord = { id: "1", name: "read", arguments: { path: "a.ts" }, status: "ok", durationMs: 3 };
 * ```
 */
export interface NestedToolCallRecord {
	id: string;
	/** Name of the other tool. */
	name: string;
	/** Absent if they were too large. */
	arguments?: JsonObject;
	/** How many bytes the arguments have as JSON, where they are absent. */
	argumentsBytes?: number;
	/** `unfinished`: the call still ran when the tool that made it ended. */
	status: "ok" | "error" | "unfinished";
	/** Milliseconds that it took. */
	durationMs?: number;
	/** What went wrong, cut. */
	error?: string;
}

/**
 * The calls that a tool made to other tools, without what they gave back.
 *
 * @example
 * ```ts
 * const calls: NestedToolCalls = { calls: [{ id: "1", name: "read", status: "unfinished" }], complete: false };
 * ```
 */
export interface NestedToolCalls {
	calls: NestedToolCallRecord[];
	/** False if calls or arguments are left out, or a call was not finished. */
	complete: boolean;
}

/**
 * What a tool gave back.
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
	/** The `id` of the tool call that it answers. */
	toolCallId: string;
	toolName: string;
	content: (TextContent | ImageContent)[];
	/** Data for the display, never sent to a model. */
	details?: TDetails;
	/** Tokens that the tool itself spent on models. */
	usage?: Usage;
	/** Calls that it made to other tools. Models do not get them. */
	nestedCalls?: NestedToolCalls;
	/** Whether the tool failed; `content` tells how. */
	isError: boolean;
	/** Milliseconds since 1970. */
	timestamp: number;
	/** Milliseconds that the tool took. */
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
	/** What it printed, both streams, cut if `truncated`. */
	output: string;
	/** Undefined if it was stopped. */
	exitCode: number | undefined;
	/** Whether the user stopped it. */
	cancelled: boolean;
	truncated: boolean;
	/** File with the whole output, where `output` was cut. */
	fullOutputPath?: string;
	/** Milliseconds since 1970. */
	timestamp: number;
	/** The command was run with `!!`: models do not see it. */
	excludeFromContext?: boolean;
}

/**
 * A message that an extension put into the conversation.
 *
 * @example
 * ```ts
 * const message: CustomMessage = { role: "custom", customType: "ext", content: "Hello", display: true, timestamp: Date.now() };
 * ```
 */
export interface CustomMessage<T = unknown> {
	role: "custom";
	/** Names the extension, or a kind of data of it. */
	customType: string;
	content: string | (TextContent | ImageContent)[];
	/** Whether the user sees it; models do in any case. */
	display: boolean;
	/** Data of the extension; never sent to a model. */
	details?: T;
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * Represents a branch that was left in the context.
 *
 * @example
 * ```ts
 * const message: BranchSummaryMessage = { role: "branchSummary", summary: "Did not work.", fromId: "1f2e3d4c", timestamp: Date.now() };
 * ```
 */
export interface BranchSummaryMessage {
	role: "branchSummary";
	summary: string;
	/** Id of the leaf that was left, or `root`. */
	fromId: string | null;
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * Represents everything before a compaction in the context.
 *
 * @example
 * ```ts
 * const message: CompactionSummaryMessage = { role: "compactionSummary", summary: "So far: …", tokensBefore: 90_000, timestamp: Date.now() };
 * ```
 */
export interface CompactionSummaryMessage {
	role: "compactionSummary";
	summary: string;
	/** Tokens of the context before. */
	tokensBefore: number;
	/** Milliseconds since 1970. */
	timestamp: number;
}

/**
 * Messages beyond those of models, by role. Open: add your own by declaration merging.
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
 * Every message that a session's context may hold.
 *
 * @example
 * ```ts
 * const roles = manager.buildSessionContext().messages.map((message: AgentMessage) => message.role);
 * ```
 */
export type AgentMessage = Message | CustomAgentMessages[keyof CustomAgentMessages];
