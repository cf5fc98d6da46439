// The line that tells how to continue a session in pi.
import { dirname } from "node:path";
import { defaultDir } from "../shared/session-dir.mjs";
import { safeLine, widthOf } from "../shared/text.mjs";
import { cwdOf, sessionDir } from "./dir-options.mjs";
import { columns, isInTerminal, paint } from "./output.mjs";
import { isPlainId } from "./sessions.mjs";

/** @typedef {import("./dir-options.mjs").DirOptions} DirOptions */
/** @typedef {{ path: string, id: string, cwd: string }} Session */

/**
 * The line for a terminal; none for a pipe.
 * @param {Session} session
 * @param {DirOptions} options
 * @param {string} [what] names the session if several were shown
 * @returns {string[]}
 */
export function resumeLines(session, options, what = "") {
	const command = isInTerminal() ? resumeCommand(session, options) : undefined;
	if (command === undefined) return [];
	const line = `Resume${what}: ${command}`;
	// The user may copy the command, so it is neither cut nor wrapped.
	return (widthOf(line) <= columns() ? [line] : [`Resume${what}:`, command]).map((text) => paint.dim(text));
}

/**
 * The command that continues a session. pi finds an id only in the working directory, and would copy a session of
 * another directory there first; such a session is named by its file.
 * @param {Session} session
 * @param {DirOptions} options
 * @returns {string | undefined} undefined if the name contains characters that are not safe in a terminal
 */
function resumeCommand({ path, id, cwd }, options) {
	const isHere =
		options.dir === undefined &&
		cwd === cwdOf(options) &&
		options.cwd === undefined &&
		dirname(path) === (sessionDir(options) ?? defaultDir(cwd));
	const name = isHere && isPlainId(id) ? id : path;
	return safeLine(name) === name ? `pi --session ${quoted(name)}` : undefined;
}

/** @param {string} text for a shell */
function quoted(text) {
	if (/^[\w@%+=:,./-]+$/.test(text)) return text;
	return process.platform === "win32" ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}
