// The entry `pi-session-native/session-files`: where the session files of this machine are.
export { everySessionFile, everySessionFolder, sessionFolders, subagentFiles } from "./lib/shared/session-dir.mjs";
