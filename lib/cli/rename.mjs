// `pi-sessions rename`: renames a session as pi does, by an entry of type session_info.
import { statSync, utimesSync } from "node:fs";
import { SessionManager } from "../../index.mjs";
import { safeLine } from "../shared/text.mjs";
import { write, writeJson } from "./output.mjs";
import { sessionPath } from "./sessions.mjs";

/**
 * @param {string} query
 * @param {string} name an empty text removes the name
 * @param {import("./dir-options.mjs").DirOptions} options
 */
export async function rename(query, name, options) {
	const path = await sessionPath(query, options);
	const { atimeMs, mtimeMs } = statSync(path);
	const manager = SessionManager.open(path);
	try {
		manager.appendSessionInfo(name);
		const id = manager.getSessionId();
		const now = manager.getSessionName();
		if (options.json) await writeJson({ path, id, name: now });
		else await write(`${safeLine(id)}  ${now === undefined ? "(no name)" : safeLine(now)}\n`);
	} finally {
		manager.close();
		// `pi --continue` opens the session whose file changed last; a new name must not decide that.
		if (manager.getDiagnostics().foreignChanges.length === 0) setTime(path, atimeMs / 1000, mtimeMs / 1000);
	}
}

/**
 * Sets a file's times. Only the owner of a file may set them, and the name is changed already.
 * @param {string} path
 * @param {number} accessed in seconds
 * @param {number} modified
 */
function setTime(path, accessed, modified) {
	try {
		utimesSync(path, accessed, modified);
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EPERM") throw error;
	}
}
