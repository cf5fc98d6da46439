// The package for `import`. Node parses an imported CommonJS module to find the names of its exports, which for the
// loader in index.js takes longer than running it. lib/addon.js hides the loader from Node, but not from bundlers.
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
	entryKinds,
	findMostRecentSession,
	getConfiguredSessionDir,
	getDefaultSessionDir,
	getLatestCompactionEntry,
	loadEntriesFromFile,
	migrateSessionEntries,
	parseSessionEntries,
	projectContextEntry,
	readSessionHeader,
	redactLines,
	sessionEntryToContextMessages,
	setAgentDir,
	tryLockFile,
	withoutEscapeSequences,
} = addon;
