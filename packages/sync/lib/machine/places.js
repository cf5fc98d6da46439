// Where things are on this machine: pi's directories, the directory of this machine's notes, session files.
const { readdirSync, statSync } = require("node:fs");
const { homedir } = require("node:os");
const { dirname, join } = require("node:path");

const EXTENSION = ".jsonl";
/** The variable that names the store, and the file in pi's directory that does. */
const STORE_VARIABLE = "PI_SYNC_STORE";
const SETTINGS_FILE = "session-store.json";

/** The directory that contains all default session directories of pi. */
const sessionsRoot = () =>
	dirname(require("pi-session-native").getDefaultSessionDir(homedir(), undefined, { create: false }));

/** pi's own directory. */
const agentDir = () => dirname(sessionsRoot());

/** Where this machine's notes about its stores are. @param {string} agent */
const notesIn = (agent) => join(agent, "session-stores");

/** The paths in a directory; none where it is missing or is no directory. @param {string} dir */
function pathsIn(dir) {
	try {
		return readdirSync(dir)
			.sort()
			.map((name) => join(dir, name));
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(Object(error).code)) return [];
		throw error;
	}
}

/** @param {string} path */
const isDirectory = (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** @param {string} dir */
const directoriesIn = (dir) => pathsIn(dir).filter(isDirectory);

/**
 * Every session file that may have copies of another session's entries: of every working directory, of these
 * directories, and of subagents, which are in folders beside the session that they belong to.
 * @param {(string | undefined)[]} dirs
 */
function everySessionFile(dirs) {
	const all = [...directoriesIn(sessionsRoot()), ...dirs.flatMap((dir) => dir ?? [])];
	const found = [...new Set(all)].flatMap((dir) =>
		pathsIn(dir).flatMap((path) => (path.endsWith(EXTENSION) ? [path, ...subagentFiles(path)] : [])),
	);
	return [...new Set(found)];
}

/** The session files of a session's subagents. Links are not followed. @param {string} file */
function subagentFiles(file) {
	const folder = file.slice(0, -EXTENSION.length);
	if (!file.endsWith(EXTENSION) || !isDirectory(folder)) return [];
	const below = readdirSync(folder, { recursive: true, withFileTypes: true });
	return below
		.filter((one) => one.isFile() && one.name.endsWith(EXTENSION))
		.map((one) => join(one.parentPath, one.name))
		.sort();
}

exports.SETTINGS_FILE = SETTINGS_FILE;
exports.STORE_VARIABLE = STORE_VARIABLE;
exports.agentDir = agentDir;
exports.directoriesIn = directoriesIn;
exports.everySessionFile = everySessionFile;
exports.notesIn = notesIn;
exports.sessionsRoot = sessionsRoot;
exports.subagentFiles = subagentFiles;
