// The names by which a user says which store is used. A file of its own, because every pi looks for them, and most have no store.

/** The variable that names the store. */
exports.STORE_VARIABLE = "PI_SESSION_NATIVE_STORE";
/** The file that does, in the agent's directory. */
exports.SETTINGS_FILE = "session-store.json";
