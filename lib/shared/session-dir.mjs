// Where sessions are: paths as people write them, pi's directories, and the files in them.
import { lstatSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { getDefaultSessionDir } from "../../index.mjs";
import paths from "./paths.js";

/**
 * Makes a path absolute.
 * @param {string} text
 */
export const pathOf = (text) => resolve(paths.normalizePath(text));

/**
 * The default session directory of a working directory. It is not created.
 * @param {string} cwd
 */
export const defaultDir = (cwd) => getDefaultSessionDir(cwd, undefined, { create: false });

/** The directory that contains all default session directories. */
export const sessionsRoot = () => dirname(defaultDir(homedir()));

/**
 * Every session file of every working directory, or of a session directory that is set, sorted by name. Unlike a list,
 * it includes files without a readable header.
 * @param {string | undefined} dir
 * @returns {string[]}
 */
export const sessionFiles = (dir) => filesIn(dir === undefined ? pathsIn(sessionsRoot()) : [pathOf(dir)]);

/**
 * Every session file that may have copies of another one's entries: of every working directory and these directories,
 * and those of subagents.
 * @param {(string | undefined)[]} dirs
 */
export function everySessionFile(...dirs) {
	const files = [...new Set([undefined, ...dirs])].flatMap((dir) => sessionFiles(dir));
	return [...new Set(withSubagents(files))];
}

/** Session files, and those of their subagents. @param {string[]} files */
export const withSubagents = (files) => files.flatMap((file) => [file, ...subagentFiles(file)]);

/** The session files of a session's subagents, in folders of any depth. @param {string} file */
export const subagentFiles = (file) => (file.endsWith(".jsonl") ? filesBelow(file.slice(0, -".jsonl".length)) : []);

/**
 * The session files at a path, in folders of any depth. Links are not followed. A folder that cannot be read is
 * returned itself.
 * @param {string} path
 */
function filesBelow(path) {
	/** @type {string[]} */
	const found = [];
	const waiting = [path];
	for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
		const kind = kindOf(at);
		if (kind === undefined) found.push(at);
		else if (kind.isDirectory())
			for (const below of pathsIn(at).reverse()) (below === at ? found : waiting).push(below);
		else if (kind.isFile() && at.endsWith(".jsonl")) found.push(at);
	}
	return found;
}

/**
 * What is at a path, links not followed; undefined if that cannot be told, as of a path that is too long. @param
 * {string} path
 */
function kindOf(path) {
	try {
		return lstatSync(path, { throwIfNoEntry: false }) ?? { isDirectory: () => false, isFile: () => false };
	} catch {
		return undefined;
	}
}

/** @param {string[]} directories */
function filesIn(directories) {
	return directories.flatMap((directory) =>
		pathsIn(directory).filter((path) => path === directory || (path.endsWith(".jsonl") && !isDirectory(path))),
	);
}

/** @param {string} path */
function isDirectory(path) {
	try {
		return statSync(path).isDirectory();
	} catch {
		// A dangling link may have been a session: reading it reports the error.
		return false;
	}
}

/**
 * The paths in a directory; none if it is missing or not a directory. A directory that cannot be read is returned
 * itself, so that reading it reports the error.
 * @param {string} directory
 */
function pathsIn(directory) {
	try {
		return readdirSync(directory)
			.sort()
			.map((name) => join(directory, name));
	} catch (error) {
		return ["ENOENT", "ENOTDIR"].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? "") ? [] : [directory];
	}
}
