// pi's directories on this machine, and the directory of this machine's notes.
const { homedir } = require("node:os");
const { dirname, join } = require("node:path");

/** The variable that names the store, and the file in pi's directory that does. */
const STORE_VARIABLE = "PI_SYNC_STORE";
const SETTINGS_FILE = "session-store.json";

/** pi's own directory, which contains the folder of all default session directories. */
const agentDir = () =>
	dirname(dirname(require("pi-session-native").getDefaultSessionDir(homedir(), undefined, { create: false })));

/** Where this machine's notes about its stores are. @param {string} agent */
const notesIn = (agent) => join(agent, "session-stores");

exports.SETTINGS_FILE = SETTINGS_FILE;
exports.STORE_VARIABLE = STORE_VARIABLE;
exports.agentDir = agentDir;
exports.notesIn = notesIn;
