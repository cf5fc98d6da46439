// The entry `pi-session-native/session-files`: where the session files of this machine are, and redactions of all of
// them.
export { isUnchanged, redactEverywhere, remainsOf, summaryOf } from "./lib/shared/redact-copies.mjs";
export { everySessionFile, everySessionFolder, sessionFolders, subagentFiles } from "./lib/shared/session-dir.mjs";
