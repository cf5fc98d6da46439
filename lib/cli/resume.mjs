// Going on with a session in pi: the line that says how.
import { dirname } from "node:path";
import { defaultDir, pathOf } from "../shared/session-dir.mjs";
import { safeLine, widthOf } from "../shared/text.mjs";
import { cwdOf, sessionDir } from "./dir-options.mjs";
import { columns, isInTerminal, paint } from "./output.mjs";
import { isPlainId } from "./sessions.mjs";

/** @typedef {import("./dir-options.mjs").DirOptions} DirOptions */
/** @typedef {{ path: string, id: string, cwd: string }} Session what is known of one */

/**
 * The line that goes on with a session, for a terminal; none in a pipe.
 * @param {Session} session
 * @param {DirOptions} options
 * @param {string} [what] which session that is, where several were shown
 * @returns {string[]}
 */
export function resumeLines(session, options, what = "") {
	const command = isInTerminal() ? resumeCommand(session, options) : undefined;
	if (command === undefined) return [];
	const line = `Go on${what}: ${command}`;
	// What may be copied is not cut, nor broken.
	return (widthOf(line) <= columns() ? [line] : [`Go on${what}:`, command]).map((text) => paint.dim(text));
}

/**
 * What is typed to go on with a session. By its id pi finds those of the working directory; another it would copy there
 * first, so that is named by its file.
 * @param {Session} session
 * @param {DirOptions} options
 * @returns {string | undefined} undefined where the name holds what a terminal must not get
 */
function resumeCommand({ path, id, cwd }, options) {
	const isHere =
		options.dir === undefined &&
		cwd === cwdOf(options) &&
		options.cwd === undefined &&
		dirname(path) === pathOf(sessionDir(options) ?? defaultDir(cwd));
	const name = isHere && isPlainId(id) ? id : path;
	return safeLine(name) === name ? `pi --session ${quoted(name)}` : undefined;
}

/** @param {string} text for a shell */
function quoted(text) {
	if (/^[\w@%+=:,./-]+$/.test(text)) return text;
	return process.platform === "win32" ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}
