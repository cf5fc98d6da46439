// The folders of a project: all worktrees of the repository that contains the working directory, subfolders included.
// Outside of a repository a project is only its working directory.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";

/** git may hang for a repository on a broken network drive. */
const TIMEOUT_MS = 2000;
/** Variables that would make git use another repository. */
const WITHHELD = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"];

/**
 * The path relative to a folder; undefined if it is not in the folder.
 * @param {string} folder
 * @param {string} path
 */
export function placeIn(folder, path) {
	if (!isAbsolute(path)) return undefined;
	const place = relative(folder, path);
	return place === ".." || /^\.\.[\\/]/.test(place) || isAbsolute(place) ? undefined : place;
}

/**
 * The output of git in a directory; undefined if it fails.
 * @param {string} dir
 * @param {string[]} args
 */
function git(dir, args) {
	const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !WITHHELD.includes(name)));
	// Windows looks for a program in the working directory first, which may contain a stranger's, so git runs in the
	// home.
	const { status, stdout } = spawnSync("git", ["-C", dir, ...args], {
		cwd: homedir(),
		encoding: "utf8",
		env: { ...env, LC_ALL: "C" },
		timeout: TIMEOUT_MS,
		windowsHide: true,
	});
	return status === 0 ? stdout : undefined;
}

/** The root of the working tree that contains a directory, or whose git directory it is. @param {string} dir */
function rootOf(dir) {
	const root = git(dir, ["rev-parse", "--show-toplevel"])?.replace(/\r?\n$/, "");
	return root ? [resolve(root)] : [];
}

/**
 * The worktrees of the repository that contains a directory. Undefined outside of a repository, if git is not
 * installed, and if a worktree is the home directory or above it, because a repository of settings does not make the
 * whole home a project.
 * @param {string} cwd
 * @returns {string[] | undefined}
 */
function worktreesOf(cwd) {
	const records = git(cwd, ["worktree", "list", "--porcelain"])
		?.split(/\r?\n\r?\n/)
		.map((record) => record.split(/\r?\n/));
	if (records === undefined) return undefined;
	// The directory of a bare repository contains no files of the project.
	const [main = "", ...linked] = records
		.filter((lines) => !lines.includes("bare"))
		.flatMap(([first = ""]) => (first.startsWith("worktree ") ? [resolve(first.slice("worktree ".length))] : []));
	if (main === "") return undefined;
	// In a submodule, and if the git directory is elsewhere, git lists that directory in place of the working tree.
	const roots = existsSync(join(main, "HEAD")) ? [...rootOf(main), ...rootOf(cwd)] : [main];
	const folders = [...new Set([...roots, ...linked])];
	return folders.some((folder) => placeIn(folder, homedir()) !== undefined) ? undefined : folders;
}

/**
 * The sessions of the project of a working directory, as options of `SessionManager.search` and `usage`.
 * @param {string} cwd
 * @returns {{ cwd: string, folders?: string[] }}
 */
export function projectScope(cwd) {
	const folders = worktreesOf(cwd);
	// The working directory may be a symbolic link into a worktree.
	return folders === undefined ? { cwd } : { cwd, folders: [cwd, ...folders] };
}
