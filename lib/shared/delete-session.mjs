// Deletes a session with all its files: into the trash, as pi does, or permanently if the command `trash` is not
// installed. The manager's class is an argument, because the extension loads the addon at its first use.
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, realpathSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** @typedef {typeof import("../../index.js").SessionManager} Manager */
/**
 * The files of a session that would be deleted.
 * @typedef {object} Deletion
 * @property {string} path the session's file
 * @property {string[]} paths all files and folders. The session's file is last, so that after a failed deletion the
 * remaining files still belong to it
 * @property {number} backups
 * @property {number} subagents the number of subagents' sessions
 * @property {string[]} files the session's file and its subagents' session files
 * @property {string} [inUse] why the session may be in use
 * @property {string} [target] where the session's file leads if it is a symbolic link. As in pi only the link is
 * deleted, and that file stays
 */

/** A session may be in use for this time after a write, in milliseconds, because pi takes no lock. */
const IN_USE_MS = 60_000;

/**
 * @param {Manager} manager
 * @param {string} path the session's file
 * @returns {Deletion}
 */
export function planDeletion(manager, path) {
	const { backups, subagents, folder } = manager.filesOf(path);
	const files = [path, ...subagents];
	return {
		path,
		paths: [...backups, ...(folder === null ? subagents : [folder]), path],
		backups: backups.length,
		subagents: subagents.length,
		files,
		inUse: useOf(manager, files),
		target: lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? realpathSync(path) : undefined,
	};
}

/**
 * The reason why a session may be in use: another process has locked it, or one of its files was written within the
 * last minute. Undefined if there is none.
 * @param {Manager} manager
 * @param {string[]} files the session's file and its subagents' session files
 * @returns {string | undefined}
 */
export function useOf(manager, files) {
	for (const file of files) {
		if (manager.isLocked(file)) return "another process has its lock";
		const modified = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
		if (Math.abs(Date.now() - modified) < IN_USE_MS) return "it was written within the last minute";
	}
	return undefined;
}

/** Whether the command `trash` is installed, so that deleted files can be restored. */
export function hasTrash() {
	const name = process.platform === "win32" ? "trash.exe" : "trash";
	return (process.env.PATH ?? "").split(delimiter).some((dir) => dir !== "" && existsSync(join(dir, name)));
}

/**
 * Deletes a session, and its data in the catalog.
 * @param {Manager} manager
 * @param {Deletion} deletion
 * @returns {{ isInTrash: boolean, isCatalogClean: boolean }}
 */
export function deleteSession(manager, { paths, files }) {
	// Windows looks for a program in the working directory first, which may contain a stranger's program.
	const trash = spawnSync("trash", paths, { encoding: "utf8", cwd: homedir() });
	const left = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
	try {
		for (const path of left) rmSync(path, { recursive: true });
	} catch (error) {
		const [said] = trash.error ? [trash.error.message] : (trash.stderr ?? "").trim().split("\n");
		throw said ? new Error(`${/** @type {Error} */ (error).message} (trash: ${said})`, { cause: error }) : error;
	}
	const isCatalogClean = files.map((file) => manager.forget(file)).every(Boolean);
	return { isInTrash: left.length === 0, isCatalogClean };
}
