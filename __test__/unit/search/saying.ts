// Sessions with given texts, and searches in their directory.
import type { SearchHit, SearchOptions } from "../../../index.js";
import { api, header, message, scratch, user, writeSession } from "../../support/scratch.js";

/** A directory with a session for each of these texts, as a message of the user. */
export function saying(...texts: string[]): string {
	const dir = scratch();
	for (const [n, text] of texts.entries())
		writeSession(dir, [header({ id: `s-${n}` }), message("m", null, user(text))], `${n}.jsonl`);
	return dir;
}

export const search = (dir: string, query: string, options: SearchOptions = {}): Promise<SearchHit[]> =>
	api.SessionManager.search(query, { sessionDir: dir, ...options });
