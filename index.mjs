// The package for `import`. Of a CommonJS module Node reads the whole text to find the names it exports, which for the
// loader in index.js takes longer than all else that it does. Bundlers get index.js, by the condition `module`.
import { createRequire } from "node:module";

const addon = createRequire(import.meta.url)("./index.js");

export default addon;
export const {
	CURRENT_SESSION_VERSION,
	SessionManager,
	assertValidSessionId,
	buildContextEntries,
	buildSessionContext,
	buildSessionProjection,
	findMostRecentSession,
	getDefaultSessionDir,
	getLatestCompactionEntry,
	loadEntriesFromFile,
	migrateSessionEntries,
	parseSessionEntries,
	projectContextEntry,
	sessionEntryToContextMessages,
} = addon;
