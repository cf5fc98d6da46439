// Lines that must not compile. Each expectation fails if the line below it compiles.
import { buildSessionContext, type FileEntry, type SessionEntry, SessionManager } from "pi-session-native";

// @ts-expect-error: a manager comes from a static, never from `new`
new SessionManager();

// @ts-expect-error: nor from a class of one's own
class Mine extends SessionManager {}

const manager = SessionManager.inMemory();

// @ts-expect-error: a message, not its text
manager.appendMessage("hello");
// @ts-expect-error: summaries are entries of their own, appended by appendCompaction and branchWithSummary
manager.appendMessage({ role: "compactionSummary", summary: "", tokensBefore: 0, timestamp: 0 });
// @ts-expect-error: a tool result says whether it failed
manager.appendMessage({ role: "toolResult", toolCallId: "", toolName: "", content: [], timestamp: 0 });
// @ts-expect-error: an id is a string
manager.getEntry(1);
// @ts-expect-error: the label must be said, if only as undefined
manager.appendLabelChange("00000000");
// @ts-expect-error: tokens are a number
manager.appendCompaction("", null, "many");
// @ts-expect-error: null or content, nothing bare
manager.appendContextEdit("00000000", "text");
// @ts-expect-error: null is no entry to branch from; that is resetLeaf
manager.branch(null);
// @ts-expect-error: the leaf may be null
manager.getLeafId().length;
// @ts-expect-error: the entry may be missing
manager.getEntry("00000000").id;
// @ts-expect-error: an entry's message exists on messages alone
manager.getEntries()[0].message;
// @ts-expect-error: methods are not to be replaced by other shapes
manager.getEntries = () => [1];

// @ts-expect-error: a path is required
SessionManager.open();
// @ts-expect-error: options are an object
SessionManager.create("/", undefined, "id");
// @ts-expect-error: a directory or progress first, a signal never
SessionManager.listAll(new AbortController().signal);
// @ts-expect-error: after a directory comes progress
SessionManager.listAll("/sessions", new AbortController().signal);
// @ts-expect-error: lists are promised
SessionManager.list("/").length;

declare const lines: FileEntry[];
// @ts-expect-error: a header is no entry
buildSessionContext(lines);
// @ts-expect-error: nor is an entry without an id
const entry: SessionEntry = { type: "custom", customType: "", parentId: null, timestamp: "" };

export { entry, Mine };
