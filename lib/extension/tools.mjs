// Tools for the model, where the user has turned them on: they search earlier sessions and read around a hit. They only read.
import { partsOf, roleOf } from "../shared/entries.mjs";
import { pieces } from "../shared/snippet.mjs";
import { asText, safeBlock, safeLine } from "../shared/text.mjs";
import { library } from "./library.mjs";
import { customDir, searchOptions } from "./search-options.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionContext} Context */

/** How many characters an answer has at most. */
const [SEARCH_CHARS, READ_CHARS] = [6_000, 12_000];
/** How many hits, how wide, and how many entries on each side of one. */
const [HITS, SNIPPET_COLUMNS, AROUND] = [60, 200, 3];

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** What the model is told of the tools. */
export const definitions = {
	search: {
		name: "search_sessions",
		label: "Search sessions",
		description: "Find words in the user's earlier sessions. Every word must occur in a message.",
		parameters: { type: "object", properties: { query: { type: "string" }, all: { type: "boolean", description: "every project, not only this one" } }, required: ["query"] },
		annotations,
	},
	read: {
		name: "read_session",
		label: "Read session",
		description: "Read the messages around a hit of search_sessions.",
		parameters: { type: "object", properties: { session: { type: "string" }, entry: { type: "string" } }, required: ["session", "entry"] },
		annotations,
	},
};

/**
 * @param {Pi} pi
 * @param {{ query: string, all?: boolean }} params
 * @param {AbortSignal | undefined} signal
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export async function searchSessions(pi, { query, all }, signal, ctx) {
	const open = ctx.sessionManager.getSessionFile() ?? ctx.sessionManager.getSessionId();
	const options = { ...searchOptions(ctx, { isAll: Boolean(all) }), limit: HITS, excludeSession: open, ...(signal ? { signal } : {}) };
	const hits = await library(pi).SessionManager.search(query, options);
	if (hits.length === 0) return result(`Nothing found in ${all ? "all sessions" : "the sessions of this project; set all to search every project"}.`);
	const lines = hits.map((hit) => {
		const snippet = pieces(hit.snippet, SNIPPET_COLUMNS).map(({ text }) => text).join("");
		return `session ${safeLine(hit.id)} entry ${safeLine(hit.entryId)} ${safeLine(hit.timestamp)} ${hit.role}${all ? ` in ${safeLine(hit.cwd)}` : ""}: ${snippet}`;
	});
	return result(bounded(lines, SEARCH_CHARS, "more hits: use rarer words"));
}

/**
 * @param {Pi} pi
 * @param {{ session: string, entry: string }} params
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function readSession(pi, { session, entry }, ctx) {
	const { SessionManager } = library(pi);
	const [found, ...others] = session === "" ? [] : SessionManager.findByIdPrefix(session, customDir(ctx));
	if (!found) throw new Error(`There is no session ${session}`);
	if (others.some(({ id }) => id !== found.id)) throw new Error(`Several sessions begin with ${session}: give the whole id`);
	const manager = SessionManager.open(found.path, { readonly: true });
	try {
		const path = manager.getPath(entry);
		const chosen = manager.getEntry(entry);
		if (!chosen) throw new Error(`Session ${session} has no entry ${entry}`);
		// What followed on the branch that was written last.
		const after = [];
		for (let next = manager.getChildren(entry).at(-1); next && after.length < AROUND; next = manager.getChildren(next.id).at(-1)) after.push(next);
		const shown = [...path.slice(-1 - AROUND, -1), chosen, ...after];
		// The one that was asked for has half of the room, the others share the rest.
		const share = Math.floor(READ_CHARS / 2 / (2 * AROUND)) - 100;
		const texts = shown.map((one) => {
			const most = one === chosen ? READ_CHARS / 2 - 200 : share;
			const text = safeBlock(partsOf(one).filter(({ kind }) => kind !== "image").map(({ text }) => text).join("\n"));
			const cut = text.length > most ? `${text.slice(0, most).toWellFormed()} … (${text.length - most} characters more)` : text;
			return `[${safeLine(roleOf(one))} ${safeLine(one.id)} ${safeLine(asText(one.timestamp))}]\n${cut}`;
		});
		return result(bounded(texts, READ_CHARS, "more"));
	} finally {
		manager.close();
	}
}

/**
 * Texts in lines, as many as there is room for.
 * @param {string[]} texts
 * @param {number} most characters
 * @param {string} more what is said of those that are left out
 */
function bounded(texts, most, more) {
	const kept = [];
	let room = most - more.length - 20;
	for (const text of texts) {
		room -= text.length + 1;
		if (room < 0) return [...kept, `(${texts.length - kept.length} ${more})`].join("\n");
		kept.push(text);
	}
	return kept.join("\n");
}

/** @param {string} text */
const result = (text) => ({ content: [{ type: /** @type {const} */ ("text"), text }], details: undefined });
