// Resolves paths of users: in settings, in variables, and in quoted arguments, which no shell expands.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ON_WINDOWS = process.platform === "win32";
const HOME = ON_WINDOWS ? /^~(?:[\\/]|$)/ : /^~(?:\/|$)/;
/** A drive in the notation of Windows' shells: `/c/dir`, `/mnt/c/dir`, `/cygdrive/c/dir`. */
const SHELL_DRIVE = /^\/(?:mnt\/|cygdrive\/)?([a-z])(?:\/([^\\]*))?$/i;

/**
 * Replaces a `~` at the beginning of a path by the home directory.
 * @param {string} path
 */
export const expandHome = (path) => (HOME.test(path) ? join(homedir(), path.slice(1)) : path);

/**
 * Normalises a path by pi's rule, as the core does (`paths::normalize`): resolves `~`, `file://` and, on Windows, the
 * drives of its shells. A relative path stays relative.
 * @param {string} path
 */
export function normalizePath(path) {
	if (path.startsWith("file://")) return fileURLToPath(path);
	const [, drive, names = ""] = (ON_WINDOWS && SHELL_DRIVE.exec(path)) || [];
	return drive ? `${drive.toUpperCase()}:\\${names.replaceAll("/", "\\")}` : expandHome(path);
}
