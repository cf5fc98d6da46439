// The values of the options `--in` and `--role`.

/** The texts that can be searched. */
export const SCOPES = ["user", "assistant", "name", "summary", "tool", "thinking", "custom"];

/** The texts that are searched by default. */
export const DEFAULT_SCOPES = SCOPES.slice(0, 4);

/** The roles of messages and the types of entries that can be searched. */
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
