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
	/** The provider withheld the reasoning; what it wants back stands in `thinkingSignature`. */
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
	data: string;
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
	id: string;
	name: string;
	arguments: JsonObject;
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
	provider: string;
	modelId: string;
	api: string;
	/** The provider's own token for the answer. */
	id: string;
	expiresAt?: number;
	pollAfterMs?: number;
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
	type: string;
	timestamp: number;
	error?: DiagnosticErrorInfo;
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
 * changes it, so that all of them replayed in order give the prompt and the tools of now.
 *
 * @example
 * ```ts
 * const change: SystemMessage = { role: "system", content: "", sections: { skills: null }, timestamp: Date.now() };
 * ```
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
	customType: string;
	content: string | (TextContent | ImageContent)[];
	display: boolean;
	details?: T;
	timestamp: number;
}

/**
 * Stands in the context for a branch that was left.
 *
 * @example
 * ```ts
 * const message: BranchSummaryMessage = { role: "branchSummary", summary: "Did not work.", fromId: "1f2e3d4c", timestamp: Date.now() };
 * ```
 */
export interface BranchSummaryMessage {
	role: "branchSummary";
	summary: string;
	fromId: string | null;
	timestamp: number;
}

/**
 * Stands in the context for everything before a compaction.
 *
 * @example
 * ```ts
 * const message: CompactionSummaryMessage = { role: "compactionSummary", summary: "So far: …", tokensBefore: 90_000, timestamp: Date.now() };
 * ```
 */
export interface CompactionSummaryMessage {
	role: "compactionSummary";
	summary: string;
	tokensBefore: number;
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
