// Deletes a session with all its files: into the trash, as pi does, or permanently if the command `trash` is not
// installed. Unlike pi, it deletes nothing permanently if `trash` fails, because the user was asked about the trash.
// The manager's class is an argument, because the extension loads the addon at its first use.
import { spawnSync } from "node:child_process";
import { accessSync, constants, lstatSync, realpathSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { isDeepStrictEqual } from "node:util";

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
 * @property {Record<string, string>} states of `files`, to notice a change between the plan and the deletion
 * @property {string[]} stays files and links in the folder of the subagents that are not sessions, and stay
 * @property {string} [inUse] why the session may be in use
 * @property {boolean} hasTrash whether the command `trash` is installed, so that deleted files can be restored
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
	const { backups, subagents, others, folder } = manager.filesOf(path);
	const files = [path, ...subagents];
	return {
		path,
		paths: [...backups, ...(folder === null ? subagents : [folder]), path],
		backups: backups.length,
		subagents: subagents.length,
		files,
		states: statesOf(files),
		stays: others,
		inUse: useOf(manager, files),
		hasTrash: hasTrash(),
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

/**
 * The state of each file, and of the file that it leads to if it is a symbolic link, to notice a change. The inode is
 * compared, because a link may be replaced by the file that it led to, which has the same size and time.
 * @param {string[]} files
 * @returns {Record<string, string>}
 */
export const statesOf = (files) =>
	Object.fromEntries(
		files.map((file) => [file, [lstatSync, statSync].map((status) => stateOf(status(file, STATUS))).join(" ")]),
	);

const STATUS = /** @type {const} */ ({ bigint: true, throwIfNoEntry: false });

/** @param {import("node:fs").BigIntStats | undefined} status */
const stateOf = (status) =>
	status && [status.mode & BigInt(constants.S_IFMT), status.dev, status.ino, status.size, status.mtimeNs].join();

/**
 * The reason why a session no longer corresponds to a plan; minutes may pass until the user agrees. Undefined if there
 * is none.
 * @param {Manager} manager
 * @param {string[]} files the session's file and its subagents' session files
 * @param {Record<string, string>} states those of the plan
 * @returns {string | undefined}
 */
export const changeOf = (manager, files, states) =>
	useOf(manager, files) ?? (isDeepStrictEqual(statesOf(files), states) ? undefined : "it changed after it was listed");

/** Whether the command `trash` is installed. */
function hasTrash() {
	const name = process.platform === "win32" ? "trash.exe" : "trash";
	return (process.env.PATH ?? "").split(delimiter).some((dir) => dir !== "" && isProgram(join(dir, name)));
}

/** Whether a path is a file that can be executed. @param {string} path */
function isProgram(path) {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}

/**
 * Deletes a session, and its data in the catalog. Throws if a file is left, or if the session changed after the plan or
 * may be in use.
 * @param {Manager} manager
 * @param {Deletion} planned
 * @param {{ force?: boolean | undefined }} [options] `force`: also deletes a session that changed or may be in use
 * @returns {{ isInTrash: boolean, isCatalogClean: boolean, stays: string[] }} `isCatalogClean`: whether the catalog
 * contains no data of the session any more
 */
export function deleteSession(manager, { path, states, hasTrash }, { force } = {}) {
	const { paths, files, stays } = planDeletion(manager, path);
	const change = force ? undefined : changeOf(manager, files, states);
	if (change !== undefined) throw new Error(change);
	const isInTrash = hasTrash && moveToTrash(paths);
	if (!hasTrash) for (const path of paths) rmSync(path, { recursive: true });
	const isCatalogClean = files.map((file) => manager.forget(file)).every(Boolean);
	return { isInTrash, isCatalogClean, stays };
}

/** Whether the command succeeded. Throws if it left a path. @param {string[]} paths */
function moveToTrash(paths) {
	// Windows looks for a program in the working directory first, which may contain a stranger's program.
	const { status, error, stderr } = spawnSync("trash", paths, { encoding: "utf8", cwd: homedir() });
	const left = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
	const [said] = error ? [error.message] : (stderr ?? "").trim().split("\n");
	if (left.length > 0) throw new Error(`the command trash left ${left.join(", ")}${said ? `: ${said}` : ""}`);
	return status === 0;
}

/** The warning for a session whose data are still in the catalog. */
export const CATALOG_WARNING =
	"the catalog may still contain its first message: end the programs that use the catalog, then run " +
	"pi-sessions list --all";
