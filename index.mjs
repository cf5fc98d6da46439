// The package for `import`. Node reads the text of a CommonJS module that is imported to find the names that it
// exports: of the loader in index.js that takes longer than all else that it does. lib/addon.js hides it from Node, and
// shows it to bundlers.
import addon from "./lib/addon.js";

export default addon;
export const {
	CURRENT_SESSION_VERSION,
	SessionManager,
	__napiBindingTarget,
	assertValidSessionId,
	buildContextEntries,
	buildSessionContext,
	buildSessionProjection,
	findMostRecentSession,
	getConfiguredSessionDir,
	getDefaultSessionDir,
	getLatestCompactionEntry,
	loadEntriesFromFile,
	migrateSessionEntries,
	parseSessionEntries,
	projectContextEntry,
	redactLines,
	sessionEntryToContextMessages,
	setAgentDir,
	tryLockFile,
} = addon;
