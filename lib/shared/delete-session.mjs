// Deletes a session with all that belongs to it: to the trash, as pi does, or for ever where there is no command
// `trash`. The manager is an argument, because the extension loads the addon at its first use.
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** @typedef {typeof import("../../index.js").SessionManager} Manager */
/**
 * What would be deleted of a session.
 * @typedef {object} Deletion
 * @property {string} path the session's file
 * @property {string[]} paths all files and folders, the session's file last: what is left of a deletion that failed
 * still belongs to it
 * @property {number} backups
 * @property {number} subagents how many sessions of subagents there are
 * @property {string[]} files the session's file and those of its subagents
 * @property {string} [inUse] why the session may be in use
 */

/** How long after a write a session may be in use, in milliseconds: pi takes no lock. */
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
	};
}

/**
 * Why somebody may be using a session: another process has its lock, or a file of it was written within the last
 * minute.
 * @param {Manager} manager
 * @param {string[]} files the session's file and those of its subagents
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

/** Whether there is a command `trash`: then what is deleted can be taken back. */
export function hasTrash() {
	const name = process.platform === "win32" ? "trash.exe" : "trash";
	return (process.env.PATH ?? "").split(delimiter).some((dir) => dir !== "" && existsSync(join(dir, name)));
}

/**
 * Deletes a session, and what the catalog has of it.
 * @param {Manager} manager
 * @param {Deletion} deletion
 * @returns {{ isInTrash: boolean, isCatalogClean: boolean }}
 */
export function deleteSession(manager, { paths, files }) {
	// Windows looks for a program in the working directory first, which may have anything.
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
