// Finds the session directory of a command: from options, the environment and pi's settings, in the same order as pi.
import { statSync } from "node:fs";
import { getConfiguredSessionDir } from "../../index.mjs";
import { projectScope } from "../shared/repository.mjs";
import { pathOf } from "../shared/session-dir.mjs";
import { safeLine } from "../shared/text.mjs";
import { CommandError } from "./errors.mjs";
import { writeWarning } from "./output.mjs";

/** @typedef {{ cwd?: string, dir?: string, all?: boolean, repository?: boolean, json?: boolean }} DirOptions */

/**
 * The process's working directory, or undefined if it was deleted.
 * @returns {string | undefined}
 */
function currentDirectory() {
	try {
		return process.cwd();
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return undefined;
		throw error;
	}
}

/**
 * The working directory whose sessions are selected: `--cwd`, else the process's own.
 * @param {DirOptions} options
 */
export const cwdOf = ({ cwd }) => (cwd === undefined ? currentDirectory() : pathOf(cwd));

/**
 * Like `cwdOf`, but throws if the working directory was deleted.
 * @param {DirOptions} options
 */
export function workingDirectory(options) {
	const cwd = cwdOf(options);
	if (cwd === undefined)
		throw new CommandError(
			"The working directory was deleted. Name another by --cwd, or use --all for the sessions of every directory",
		);
	return cwd;
}

/**
 * The selected sessions, as options of `SessionManager.search` and `usage`: all sessions, or the sessions of the
 * repository or of the working directory.
 * @param {DirOptions} options
 * @returns {{ cwd?: string, folders?: string[] }}
 */
export function scopeOf(options) {
	if (options.all) return {};
	const cwd = workingDirectory(options);
	return options.repository ? projectScope(cwd) : { cwd };
}

/** A name of the selected sessions for messages. @param {DirOptions} options */
export const scopeName = (options) =>
	`${options.repository ? "the repository of " : ""}${safeLine(workingDirectory(options))}`;

/**
 * The session directory, or undefined for the default one: from `--dir`, then the environment, then pi's settings. It
 * is absolute, because the paths of its sessions begin with it and are compared with other paths.
 * @param {DirOptions} options
 * @returns {string | undefined}
 */
export function sessionDir(options) {
	const dir = options.dir ?? configuredDir(options);
	return dir === undefined ? undefined : pathOf(dir);
}

/** The directory of `--dir` for messages; empty without the option. @param {DirOptions} options */
export const inNamedDir = ({ dir }) => (dir === undefined ? "" : ` (session directory ${safeLine(dir)})`);

/**
 * The same for a command that only reads: throws if the directory of `--dir` does not exist.
 * @param {DirOptions} options
 * @returns {string | undefined}
 */
export function existingSessionDir(options) {
	const dir = sessionDir(options);
	if (options.dir !== undefined && dir !== undefined && !statSync(dir, { throwIfNoEntry: false })?.isDirectory())
		throw new CommandError(`The directory of --dir does not exist: ${options.dir}`);
	return dir;
}

/**
 * @type {Map<string, string | undefined>} by working directory, so that each settings file is read once and causes one
 * warning
 */
const configured = new Map();

/**
 * The session directory from the environment or pi's settings.
 * @param {DirOptions} options
 */
function configuredDir(options) {
	const cwd = cwdOf(options);
	const key = cwd ?? "";
	if (!configured.has(key))
		configured.set(
			key,
			getConfiguredSessionDir(cwd, { onWarning: (text) => writeWarning(text, Boolean(options.json)) }),
		);
	return configured.get(key);
}
