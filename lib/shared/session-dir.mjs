// Finds sessions: resolves paths of users, pi's session directories, and the session files in them.
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { getDefaultSessionDir } from "../../index.mjs";
import { normalizePath } from "./paths.mjs";

/**
 * The absolute path of a user's path.
 * @param {string} text
 */
export const pathOf = (text) => resolve(normalizePath(text));

/** The most links that are followed to a target that does not exist: the limit of Linux. */
const MOST_LINKS = 40;

/**
 * A path with symbolic links resolved, as far as it exists. A link whose target does not exist is resolved, too.
 * @param {string} path
 * @param {{ links: number }} [left] how many such links are followed
 * @returns {string}
 */
export function withoutLinks(path, left = { links: MOST_LINKS }) {
	try {
		return realpathSync.native(path);
	} catch {
		const dir = dirname(path);
		if (dir === path) return path;
		const place = join(withoutLinks(dir, left), basename(path));
		const target = left.links-- > 0 ? targetOf(place) : undefined;
		return target === undefined ? place : withoutLinks(resolve(dirname(place), target), left);
	}
}

/** The path in a link, undefined if the path is no link. @param {string} path */
function targetOf(path) {
	try {
		return readlinkSync(path);
	} catch {
		return undefined;
	}
}

/**
 * The default session directory of a working directory. It is not created.
 * @param {string} cwd
 */
export const defaultDir = (cwd) => getDefaultSessionDir(cwd, undefined, { create: false });

/** The directory that contains all default session directories. */
export const sessionsRoot = () => dirname(defaultDir(homedir()));

/** The default session directories that exist, of all working directories. */
export const sessionFolders = () => pathsIn(sessionsRoot()).filter(isDirectory);

/**
 * Every session file of every working directory, or of one session directory, sorted by name. Unlike lists, it includes
 * files without a readable header.
 * @param {string | undefined} dir
 * @returns {string[]}
 */
export const sessionFiles = (dir) => filesIn(dir === undefined ? pathsIn(sessionsRoot()) : [pathOf(dir)]);

/**
 * Every file that may contain copies of entries: in the directories of every working directory, in these directories,
 * and of subagents. In the folders beside the sessions it may be a file of another format.
 * @param {(string | undefined)[]} dirs
 */
export function everySessionFile(...dirs) {
	const files = [undefined, ...otherDirs(dirs)].flatMap((dir) => filesOfSessions(dir, isAnyOfPi));
	return [...new Set(files)].filter((file) => !isEmpty(file));
}

/**
 * The directories that are no default session directories. A directory with two spellings, as by a link, occurs once.
 * @param {(string | undefined)[]} dirs
 */
function otherDirs(dirs) {
	const known = new Set(sessionFolders().map((dir) => withoutLinks(dir)));
	const named = dirs.flatMap((dir) => (dir === undefined ? [] : [pathOf(dir)]));
	return named.filter((dir) => known.size < known.add(withoutLinks(dir)).size);
}

/**
 * Whether a path leads to a file that contains nothing: an empty file, a pipe, a socket or a device. A file of the
 * system (`/proc/self/pagemap`) may have the size 0 and never end.
 * @param {string} path
 */
function isEmpty(path) {
	try {
		const status = statSync(path);
		return status.isFile() ? status.size === 0 : !status.isDirectory();
	} catch {
		return false;
	}
}

/**
 * Every folder that may have session files or temporary files: the folder of all working directories, the folders of
 * every working directory and of their subagents, and the same of these directories.
 * @param {(string | undefined)[]} dirs
 */
export function everySessionFolder(...dirs) {
	const named = otherDirs(dirs);
	const below = named.flatMap((dir) => {
		const files = new Set(sessionFiles(dir));
		const folders = [
			...[...files].map((file) => file.replace(/\.jsonl$/, "")),
			...foldersOfMissing(dir, files, isAnyOfPi),
		];
		return folders.flatMap(foldersBelow);
	});
	const root = sessionsRoot();
	const roots = isDirectory(root) ? [root] : [];
	return [
		...new Set([...roots, ...sessionFolders().flatMap((dir) => [dir, ...foldersBelow(dir)]), ...named, ...below]),
	];
}

/**
 * The session files of {@link sessionFiles}, each followed by the session files of its subagents. Then the session
 * files of subagents whose session's file is missing, because pi deletes only that file.
 * @param {string | undefined} dir
 */
export const allSessionFiles = (dir) => filesOfSessions(dir, hasNameOfSession);

/**
 * The same. `isOfSession` decides which folders belong to sessions whose file is missing.
 * @param {string | undefined} dir
 * @param {(folder: string) => boolean} isOfSession
 */
function filesOfSessions(dir, isOfSession) {
	const files = new Set(sessionFiles(dir));
	const dirs = dir === undefined ? pathsIn(sessionsRoot()) : [pathOf(dir)];
	const alone = dirs.flatMap((dir) => foldersOfMissing(dir, files, isOfSession)).flatMap(filesBelow);
	return [...withSubagents([...files]), ...alone];
}

/** Session files, each followed by the session files of its subagents. @param {string[]} files */
export const withSubagents = (files) => files.flatMap((file) => [file, ...subagentFiles(file)]);

/**
 * The folders in a directory that belong to sessions whose file is missing.
 * @param {string} dir
 * @param {Set<string>} files every session file of the directory
 * @param {(folder: string) => boolean} isOfSession
 */
function foldersOfMissing(dir, files, isOfSession) {
	return pathsIn(dir).filter(
		(path) =>
			path !== dir &&
			!files.has(path) &&
			!files.has(`${path}.jsonl`) &&
			isOfSession(path) &&
			kindOf(path)?.isDirectory(),
	);
}

/**
 * Whether a folder has the name that pi gives to session files: a time and an id. The core has the same rule
 * (listing/subagents.rs).
 * @param {string} folder
 */
const hasNameOfSession = (folder) => /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_./s.test(basename(folder));

/**
 * Whether a folder may contain copies of entries: it has a session's name, or it is in one of pi's own directories,
 * `--path--`, where packages of subagents create folders for the output of subagents.
 * @param {string} folder
 */
const isAnyOfPi = (folder) => hasNameOfSession(folder) || /^--.*--$/s.test(basename(dirname(folder)));

/** The session files of a session's subagents, in folders of any depth. @param {string} file */
export const subagentFiles = (file) => (file.endsWith(".jsonl") ? filesBelow(file.slice(0, -".jsonl".length)) : []);

/**
 * The session files at a path, in folders of any depth. For a folder that cannot be read the result contains the
 * folder.
 * @param {string} path
 */
const filesBelow = (path) => treeBelow(path).files;

/** A folder and the folders in it, of any depth. @param {string} path */
const foldersBelow = (path) => treeBelow(path).folders;

/** The folders and session files at a path, without following links. @param {string} path */
function treeBelow(path) {
	/** @type {{ folders: string[], files: string[] }} */
	const found = { folders: [], files: [] };
	const waiting = [path];
	for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
		const kind = kindOf(at);
		if (kind?.isDirectory()) {
			found.folders.push(at);
			for (const below of pathsIn(at).reverse()) (below === at ? found.files : waiting).push(below);
		} else if (kind === undefined || (kind.isFile() && at.endsWith(".jsonl"))) found.files.push(at);
	}
	return found;
}

/**
 * The status of a path, without following links; undefined if the system cannot tell, as for a path that is too long.
 * @param {string} path
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
		// A broken link may have been a session. Reading it reports the error.
		return false;
	}
}

/**
 * The paths in a directory; none if it does not exist or is no directory. For a directory that cannot be read the
 * result contains the directory, so that reading it reports the error.
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
