// Tools for the model, if the user has turned them on: one searches earlier sessions, the other reads around a hit.
// Both only read.
import { roleOf } from "../shared/entries.mjs";
import { isHitEnd, isHitStart } from "../shared/hit-groups.mjs";
import { unmarked } from "../shared/snippet.mjs";
import { asText, clip, safeBlock, safeLine } from "../shared/text.mjs";
import { library } from "../takeover/library.mjs";
import { textOf } from "./go-to.mjs";
import { foundSession, searchOptions, subagentsLeftOut } from "./search-options.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionContext} Context */

/** The largest number of characters in an answer. */
const [SEARCH_CHARS, READ_CHARS] = [6_000, 12_000];
/** The number of hits, the widths of snippets and titles, and the number of entries shown on each side of a hit. */
const [HITS, SNIPPET_COLUMNS, TITLE_COLUMNS, AROUND] = [60, 200, 80, 3];

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** The declarations of the tools for the model. */
export const definitions = {
	search: {
		name: "search_sessions",
		label: "Search sessions",
		description: "Find words in the user's earlier sessions. Every word must occur in a message.",
		parameters: {
			type: "object",
			properties: {
				query: { type: "string" },
				all: { type: "boolean", description: "every project, not only this one" },
				session: { type: "string", description: "more hits, of this session only" },
			},
			required: ["query"],
		},
		annotations,
	},
	read: {
		name: "read_session",
		label: "Read session",
		description: "Read the messages around a hit of search_sessions.",
		parameters: {
			type: "object",
			properties: { session: { type: "string" }, entry: { type: "string" } },
			required: ["session", "entry"],
		},
		annotations,
	},
};

/**
 * @typedef {(id: string, params: any, signal: AbortSignal | undefined, update: unknown, ctx: Context) => Promise<any>}
 * Execute
 */

/** The tools with their functions. @param {Pi} pi @returns {any[]} */
export function toolsFor(pi) {
	/** @type {Execute} */
	const search = (_id, params, signal, _update, ctx) => searchSessions(pi, params, signal, ctx);
	/** @type {Execute} */
	const read = async (_id, params, _signal, _update, ctx) => readSession(pi, params, ctx);
	return [
		{ ...definitions.search, execute: search },
		{ ...definitions.read, execute: read },
	];
}

/**
 * @param {Pi} pi
 * @param {{ query: string, all?: boolean, session?: string }} params
 * @param {AbortSignal | undefined} signal
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export async function searchSessions(pi, { query, all, session }, signal, ctx) {
	if (query.trim() === "") throw new Error("The query is empty: use one or two words");
	const { SessionManager } = library(pi);
	const open = ctx.sessionManager.getSessionFile() ?? ctx.sessionManager.getSessionId();
	const only = session === undefined || session === "" ? undefined : foundSession(SessionManager, session, ctx).path;
	const where = {
		...searchOptions(ctx, { isAll: Boolean(all), session: only }),
		...(only === undefined ? { excludeSession: open } : {}),
	};
	const hits = await SessionManager.search(query, { ...where, limit: HITS, ...(signal ? { signal } : {}) });
	const leftOut = subagentsLeftOut(SessionManager, only);
	if (hits.length === 0)
		return result(
			only === undefined
				? `Nothing found in ${all ? "all sessions" : "the sessions of this project; set all to search every project"}.`
				: `Nothing found in this session.${leftOut ? ` Not searched: ${leftOut}.` : ""}`,
		);
	let ofSession = 0;
	const lines = hits.flatMap((hit, at) => {
		const snippet = unmarked(hit.snippet, SNIPPET_COLUMNS);
		const begins = isHitStart(hits, at);
		ofSession = begins ? 1 : ofSession + 1;
		const left = hit.hitsInSession - ofSession;
		return [
			...(begins ? [sessionLine(hit, Boolean(all))] : []),
			`  entry ${safeLine(hit.entryId)} ${safeLine(hit.timestamp)} ${hit.role}: ${snippet}`,
			...(isHitEnd(hits, at) && left > 0 && only === undefined
				? [`  (${left} more of ${hit.hitsInSession} hits in this session; set session to see them)`]
				: []),
		];
	});
	const [isCut, total] = [hits.length === HITS, hits[0]?.hitsInSession ?? 0];
	/** The line about hits that are not shown. @param {number} left the number of lines that are left out */
	const rest = (left) => {
		if (only !== undefined) {
			const more = left + total - hits.length;
			return more > 0 ? `(${more} more of ${total} hits: use rarer words)` : "";
		}
		if (left > 0) return `(${isCut ? "at least " : ""}${left} more lines: use rarer words)`;
		return isCut ? "(more hits: use rarer words)" : "";
	};
	return result(bounded(lines, SEARCH_CHARS, rest));
}

/**
 * A line with the id and the title of a session, so that the model can name it.
 * @param {import("../../index.js").SearchHit} hit
 * @param {boolean} withDirectory
 */
function sessionLine({ id, name, firstMessage, cwd, owner }, withDirectory) {
	const title = clip(name || firstMessage, TITLE_COLUMNS);
	const named = `session ${safeLine(id)}${title && ` ${JSON.stringify(title)}`}`;
	const place = withDirectory ? ` in ${safeLine(cwd)}` : "";
	return `${named}${place}${owner ? `, of a subagent of session ${safeLine(owner.id)}` : ""}`;
}

/**
 * @param {Pi} pi
 * @param {{ session: string, entry: string }} params
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function readSession(pi, { session, entry }, ctx) {
	const { SessionManager } = library(pi);
	const found = foundSession(SessionManager, session, ctx);
	const manager = SessionManager.open(found.path, { readonly: true });
	try {
		const path = manager.getPath(entry);
		const chosen = manager.getEntry(entry);
		if (!chosen) throw new Error(`Session ${session} contains no entry ${entry}`);
		// The entries after it on the newest branch.
		const after = [];
		for (
			let next = manager.getChildren(entry).at(-1);
			next && after.length < AROUND;
			next = manager.getChildren(next.id).at(-1)
		)
			after.push(next);
		const shown = [...path.slice(-1 - AROUND, -1), chosen, ...after];
		// The chosen entry may use half of the characters; the others share the rest.
		const share = Math.floor(READ_CHARS / 2 / (2 * AROUND)) - 100;
		const texts = shown.map((one) => {
			const most = one === chosen ? READ_CHARS / 2 - 200 : share;
			const text = safeBlock(textOf(one));
			const cut =
				text.length > most ? `${text.slice(0, most).toWellFormed()} … (${text.length - most} characters more)` : text;
			return `[${safeLine(roleOf(one))} ${safeLine(one.id)} ${safeLine(asText(one.timestamp))}]\n${cut}`;
		});
		return result(bounded(texts, READ_CHARS, (left) => (left > 0 ? `(${left} more)` : "")));
	} finally {
		manager.close();
	}
}

/**
 * Joins texts by newlines until `most` characters are reached.
 * @param {string[]} texts
 * @param {number} most characters
 * @param {(left: number) => string} rest the last line for the number of texts that are left out; empty for no line
 */
function bounded(texts, most, rest) {
	const kept = [];
	let room = most - rest(texts.length).length - 1;
	for (const text of texts) {
		room -= text.length + 1;
		if (room < 0) break;
		kept.push(text);
	}
	const last = rest(texts.length - kept.length);
	return [...kept, ...(last === "" ? [] : [last])].join("\n");
}

/** @param {string} text */
const result = (text) => ({ content: [{ type: /** @type {const} */ ("text"), text }], details: undefined });
