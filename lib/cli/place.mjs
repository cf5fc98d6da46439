// Where the sessions are that the user means: the working directory, and pi's session directory as pi finds it.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError } from "./errors.mjs";
import { getDefaultSessionDir } from "./library.mjs";
import { writeWarning } from "./output.mjs";

/** @typedef {{ cwd?: string, dir?: string, all?: boolean, json?: boolean }} Place */

/**
 * A path as the library understands it, where no shell has put the home in.
 * @param {string} text
 * @param {string} [base] what a relative one is below, if not the process's working directory
 */
export function pathOf(text, base = "") {
	if (text.startsWith("file://")) return fileURLToPath(text);
	return resolve(base, /^~(?=[\\/]|$)/.test(text) ? join(homedir(), text.slice(1)) : text);
}

/**
 * The name of a file to write, `~` and `file://` understood; any other stays as it was typed.
 * @param {string} text
 */
export const targetOf = (text) => (/^(?:file:\/\/|~(?:[\\/]|$))/.test(text) ? pathOf(text) : text);

/**
 * The folder that the process is in, unless it was deleted.
 * @returns {string | undefined}
 */
function currentFolder() {
	try {
		return process.cwd();
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return undefined;
		throw error;
	}
}

/**
 * The working directory whose sessions are meant, if there is one.
 * @param {Place} place
 */
const folderMeant = ({ cwd }) => (cwd === undefined ? currentFolder() : pathOf(cwd));

/**
 * The same where nothing goes without it.
 * @param {Place} place
 */
export function workingDirectory(place) {
	const folder = folderMeant(place);
	if (folder === undefined) throw new CommandError("The working directory is gone; --cwd names another, --all means every folder's sessions");
	return folder;
}

/**
 * The default directory of a working directory's sessions. It is not made: looking makes nothing.
 * @param {string} cwd
 */
export const defaultDir = (cwd) => getDefaultSessionDir(cwd, undefined, { create: false });

/** The folder that holds the default directories. */
export const store = () => dirname(defaultDir(homedir()));

/**
 * The directory to look in, if another than the default one is asked for, in pi's order: told, from pi's environment
 * variable, from pi's settings.
 * @param {Place} place
 * @returns {string | undefined}
 */
export const sessionDir = (place) => place.dir ?? (process.env.PI_CODING_AGENT_SESSION_DIR || settingOf(place));

/** @type {Map<string, string | undefined>} by working directory: a file is read, and complained about, once */
const known = new Map();

/**
 * `sessionDir` of pi's settings: the project's go before the agent's. A relative one is below the working directory.
 * @param {Place} place
 */
function settingOf(place) {
	const cwd = folderMeant(place);
	const key = cwd ?? "";
	if (known.has(key)) return known.get(key);
	const files = [join(dirname(store()), "settings.json"), ...(cwd === undefined ? [] : [join(cwd, ".pi", "settings.json")])];
	/** @type {string | undefined} */
	let found;
	for (const file of files) found = sessionDirIn(file, Boolean(place.json)) ?? found;
	// An empty one of the project takes back the agent's, as it does in pi.
	const dir = found ? pathOf(found, cwd) : undefined;
	known.set(key, dir);
	return dir;
}

/**
 * What a settings file says of it. One that cannot be read counts as none, as in pi, and is told of.
 * @param {string} file
 * @param {boolean} asJson
 * @returns {string | undefined}
 */
function sessionDirIn(file, asJson) {
	try {
		const text = readFileSync(file, "utf8").replace(/^\ufeff/, "");
		const dir = text === "" ? undefined : JSON.parse(text)?.sessionDir;
		if (dir === undefined || typeof dir === "string") return dir;
		writeWarning(`${file}: sessionDir is no text and left out`, asJson);
	} catch (error) {
		const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
		if (code !== "ENOENT" && code !== "ENOTDIR") writeWarning(`Settings are left out, they cannot be read: ${file}: ${message}`, asJson);
	}
	return undefined;
}
