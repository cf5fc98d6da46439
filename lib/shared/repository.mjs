// The folders of a project: the worktrees of the repository that a working directory is in, each with the folders below
// it. This is what "this project" means. Outside of a repository a project is its working directory alone.
import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { isAbsolute, relative, resolve } from "node:path";

/** A repository on a broken network drive must not keep anybody waiting. */
const TIMEOUT_MS = 2000;
/** Variables that would make git use another repository. */
const WITHHELD = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"];

/**
 * Where a path is in a folder; undefined if it is elsewhere.
 * @param {string} folder
 * @param {string} path
 */
export function placeIn(folder, path) {
	if (!isAbsolute(path)) return undefined;
	const place = relative(folder, path);
	return place === ".." || /^\.\.[\\/]/.test(place) || isAbsolute(place) ? undefined : place;
}

/**
 * The worktrees of the repository that a directory is in; undefined outside of a repository, where git is not
 * installed, and where a worktree is the home directory or above it: a repository of settings makes no project of all
 * that is there.
 * @param {string} cwd
 * @returns {string[] | undefined}
 */
export function worktreesOf(cwd) {
	const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !WITHHELD.includes(name)));
	// Windows looks for a program in the working directory first, which may have anything: git is told the directory.
	const asked = spawnSync("git", ["-C", cwd, "worktree", "list", "--porcelain"], {
		cwd: homedir(),
		encoding: "utf8",
		env: { ...env, LC_ALL: "C" },
		timeout: TIMEOUT_MS,
		windowsHide: true,
	});
	if (asked.status !== 0) return undefined;
	const records = asked.stdout.split(/\r?\n\r?\n/).map((record) => record.split(/\r?\n/));
	// The directory of a bare repository has no files of the project.
	const folders = records
		.filter((lines) => !lines.includes("bare"))
		.flatMap(([first = ""]) => (first.startsWith("worktree ") ? [resolve(first.slice("worktree ".length))] : []));
	return folders.length === 0 || folders.some((folder) => placeIn(folder, homedir()) !== undefined)
		? undefined
		: folders;
}

/**
 * Which sessions are those of the project of a working directory, as `SessionManager.search` and `usage` take it.
 * @param {string} cwd
 * @returns {{ cwd: string, folders?: string[] }}
 */
export function projectScope(cwd) {
	const folders = worktreesOf(cwd);
	// The directory as it was named may lead there through a link.
	return folders === undefined ? { cwd } : { cwd, folders: [cwd, ...folders] };
}
