// Resolves the session directory that a command works on: from options, the environment and pi's settings, in pi's
// order.
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
 * Like `cwdOf`, but throws if there is no working directory.
 * @param {DirOptions} options
 */
export function workingDirectory(options) {
	const cwd = cwdOf(options);
	if (cwd === undefined)
		throw new CommandError(
			"The working directory was deleted; use --cwd to name another, or --all for the sessions of every directory",
		);
	return cwd;
}

/**
 * Which sessions are meant, as `SessionManager.search` and `usage` take it: all, those of the repository, or those of
 * the working directory.
 * @param {DirOptions} options
 * @returns {{ cwd?: string, folders?: string[] }}
 */
export function scopeOf(options) {
	if (options.all) return {};
	const cwd = workingDirectory(options);
	return options.repository ? projectScope(cwd) : { cwd };
}

/** What the sessions that are meant are called, for people. @param {DirOptions} options */
export const scopeName = (options) =>
	`${options.repository ? "the repository of " : ""}${safeLine(workingDirectory(options))}`;

/**
 * The session directory if it is not the default one: from `--dir`, then pi's environment variable, then pi's settings.
 * @param {DirOptions} options
 * @returns {string | undefined}
 */
export const sessionDir = (options) => options.dir ?? configuredDir(options);

/**
 * The same for a command that only reads it: one that was named must be there. Others may make it.
 * @param {DirOptions} options
 * @returns {string | undefined}
 */
export function existingSessionDir(options) {
	const dir = sessionDir(options);
	if (options.dir !== undefined && !statSync(pathOf(options.dir), { throwIfNoEntry: false })?.isDirectory())
		throw new CommandError(`No such directory: ${options.dir}`);
	return dir;
}

/**
 * @type {Map<string, string | undefined>} by working directory, so that a settings file is read, and warned about, once
 */
const configured = new Map();

/**
 * The session directory that the environment or pi's settings name.
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
