// The names by which a user says which store is used, and where they are. A file of its own, because every pi looks for them, and most have
// no store.
const { existsSync } = require("node:fs");
const { homedir } = require("node:os");
const { join } = require("node:path");
const { normalizePath } = require("../../../../lib/shared/paths.js");

/** The variable that names the store. */
exports.STORE_VARIABLE = "PI_SESSION_NATIVE_STORE";
/** The file that does, in the agent's directory. */
exports.SETTINGS_FILE = "session-store.json";
/** The variable that says how long a store may take to answer, in milliseconds. */
exports.TIMEOUT_VARIABLE = "PI_SESSION_NATIVE_STORE_TIMEOUT";

/**
 * The agent's directory, which has pi's settings and sessions, by the rule of the addon, which is not loaded for it.
 * @param {{ name?: string, configDir?: string }} [piConfig] that of a renamed build's package
 */
exports.agentDirOf = ({ name = "pi", configDir = ".pi" } = {}) => {
	const dir = process.env[`${name.toUpperCase()}_CODING_AGENT_DIR`];
	return dir ? normalizePath(dir) : join(homedir(), configDir, "agent");
};

/** Whether the environment names a store, or there are settings that may. @param {string} agentDir */
exports.isStoreNamed = (agentDir) => Boolean(process.env[exports.STORE_VARIABLE]) || existsSync(join(agentDir, exports.SETTINGS_FILE));

/** Where this machine's notes about its stores are. @param {string} agentDir */
exports.notesIn = (agentDir) => join(agentDir, "session-stores");
