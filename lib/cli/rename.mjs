// `pi-sessions rename`: gives a session another name, as pi does.
import { statSync, utimesSync } from "node:fs";
import { SessionManager } from "../../index.mjs";
import { safeLine } from "../shared/text.mjs";
import { write, writeJson } from "./output.mjs";
import { sessionPath } from "./sessions.mjs";

/**
 * @param {string} query
 * @param {string} name the empty text takes the name away
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
		// pi continues the session whose file changed last, and a name is nothing that was said.
		if (manager.getDiagnostics().foreignChanges.length === 0) utimesSync(path, atimeMs / 1000, mtimeMs / 1000);
	}
}
