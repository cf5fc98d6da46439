// What a search can be limited to.

/** The texts that are searched. */
export const SCOPES = ["user", "assistant", "name", "summary", "tool", "thinking", "custom"];

/** Those that are searched unless others are named. */
export const DEFAULT_SCOPES = SCOPES.slice(0, 4);

/** Whose texts are searched. */
export const ROLES = [
	"user",
	"assistant",
	"toolResult",
	"bashExecution",
	"custom",
	"session_info",
	"label",
	"compaction",
	"branch_summary",
	"custom_message",
	"context_edit",
];
