// `/find`: searches sessions while the user types, and opens the session at the chosen hit.
import { deleteSession, planDeletion } from "../shared/delete-session.mjs";
import { speakerOf } from "../shared/entries.mjs";
import { isHitEnd, isHitStart } from "../shared/hit-groups.mjs";
import { unmarked } from "../shared/snippet.mjs";
import { clip, count, counted, safeLine, withoutEscapeSequences } from "../shared/text.mjs";
import { library } from "../takeover/library.mjs";
import { answer, refuse, withStatus } from "./answer.mjs";
import { ageOf, titleOf } from "./find-text.mjs";
import { FindView } from "./find-view.mjs";
import { goTo, textOf } from "./go-to.mjs";
import { foundSession, onlyDir, searchOptions, subagentsLeftOut } from "./search-options.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */
/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {{ query: string, isAll: boolean, subagents: boolean, session?: string }} Arguments */

/** For modes without a screen: the number of hits, and the width of titles and snippets. */
const [TEXT_LIMIT, TITLE_COLUMNS, TEXT_COLUMNS] = [20, 80, 160];

const USAGE = "Usage: /find [--all] [--no-subagents] [--session ID] [--] words";

/**
 * Parses the arguments of `/find`: options, then words. After `--` come only words.
 * @param {string} text
 * @returns {Arguments | string} a text is an error
 */
function argumentsOf(text) {
	/** @type {Arguments} */
	const given = { query: "", isAll: false, subagents: true };
	let rest = text.trim();
	for (let option; (option = /^--\S*/.exec(rest)?.[0]) !== undefined; ) {
		rest = rest.slice(option.length).trimStart();
		if (option === "--") break;
		if (option === "--all") given.isAll = true;
		else if (option === "--no-subagents") given.subagents = false;
		else if (option === "--session") {
			[given.session = ""] = rest.split(/\s/, 1);
			if (given.session === "") return `--session needs the beginning of a session id. ${USAGE}`;
			rest = rest.slice(given.session.length).trimStart();
		} else return `There is no option ${safeLine(option)}. ${USAGE}`;
	}
	return { ...given, query: rest };
}

/**
 * @param {Pi} pi
 * @param {string} args
 * @param {Context} ctx
 */
export async function find(pi, args, ctx) {
	const given = argumentsOf(args);
	if (typeof given === "string") return await refuse(ctx, given);
	const { SessionManager } = library(pi);
	const only = given.session === undefined ? undefined : foundSession(SessionManager, given.session, ctx).path;
	if (ctx.mode !== "tui")
		return given.query === "" ? await refuse(ctx, USAGE) : await answer(ctx, await asText(pi, given, only, ctx));
	/**
	 * @type {{ path: string, manager: import("../../index.js").SessionManager } | undefined} the session whose
	 * text was read last
	 */
	let opened;
	const managerOf = (/** @type {SearchHit} */ hit) => {
		if (opened?.path !== hit.path) {
			opened?.manager.close();
			opened = undefined;
			opened = { path: hit.path, manager: SessionManager.open(hit.path, { readonly: true }) };
		}
		return opened.manager;
	};
	const textOfHit = (/** @type {SearchHit} */ hit) => {
		const entry = managerOf(hit).getEntry(hit.entryId);
		return entry && withoutEscapeSequences(textOf(entry));
	};
	const search = (
		/** @type {string} */ text,
		/** @type {{ isAll: boolean, session?: string }} */ { isAll, session = only },
		/** @type {object} */ more,
	) => SessionManager.search(text, { ...searchOptions(ctx, { isAll, session }), subagents: given.subagents, ...more });
	const deletionOf = (/** @type {SearchHit} */ { path }) => {
		const own = ctx.sessionManager.getSessionFile();
		const deletion = planDeletion(SessionManager, path);
		const inUse = own !== undefined && deletion.files.includes(own) ? "it is open in this pi" : deletion.inUse;
		if (inUse !== undefined) throw new Error(`The session was not deleted: ${inUse}`);
		return deletion;
	};
	const remove = (/** @type {import("../shared/delete-session.mjs").Deletion} */ deletion) => {
		opened?.manager.close();
		opened = undefined;
		return deleteSession(SessionManager, deletion);
	};
	let redraw = () => {};
	/** @type {import("./find-view.mjs").Choice} */
	let chosen;
	try {
		chosen = await ctx.ui.custom(
			(tui, theme, keybindings, done) => {
				redraw = () => tui.requestRender();
				return new FindView({
					...given,
					tui,
					theme,
					keybindings,
					done,
					only,
					leftOut: subagentsLeftOut(SessionManager, only),
					dir: onlyDir(ctx),
					textOf: textOfHit,
					managerOf,
					search,
					deletionOf,
					remove,
				});
			},
			{ overlay: true, overlayOptions: { width: "100%", maxHeight: "100%", anchor: "top-left" } },
		);
	} finally {
		opened?.manager.close();
	}
	if (chosen === undefined) return;
	if (chosen.action === "editor") {
		const before = ctx.ui.getEditorText();
		ctx.ui.setEditorText(before === "" ? chosen.text : `${before}\n${chosen.text}`);
		// pi has already drawn the screen without the new text.
		return redraw();
	}
	await goTo(pi, ctx, chosen.hit, chosen.action);
}

/**
 * Hits as text, for modes without a screen.
 * @param {Pi} pi
 * @param {Arguments} given
 * @param {string | undefined} only the file of the only session that is searched
 * @param {Context} ctx
 */
async function asText(pi, { query, isAll, subagents }, only, ctx) {
	const where = searchOptions(ctx, { isAll, session: only });
	const limit = only === undefined ? TEXT_LIMIT : 10 * TEXT_LIMIT;
	const hits = await withStatus(ctx, "searching", (onProgress) =>
		library(pi).SessionManager.search(query, { ...where, subagents, limit, onProgress }),
	);
	const dir = onlyDir(ctx);
	const sessions = `${isAll ? "all sessions" : "the sessions of this project"}${dir === undefined ? "" : ` in ${dir}`}`;
	const without = subagents || only !== undefined ? "" : ", without sessions of subagents";
	const searched = `${only === undefined ? sessions : "this session"}${without}`;
	if (hits.length === 0) {
		const leftOut = subagentsLeftOut(library(pi).SessionManager, only);
		return (
			`Nothing found for ${safeLine(query)} in ${searched}` +
			`${isAll || only !== undefined ? "" : "; /find --all searches all sessions"}. ` +
			`Not searched: tool calls and their output, thinking, entries of extensions${leftOut ? `, ${leftOut}` : ""}.` +
			`${/\s--(?:all|no-subagents|session)\b/.test(query) ? " Options come before the words." : ""}`
		);
	}
	const sessionLine = (/** @type {import("../../index.js").SearchedSession} */ session) =>
		`${safeLine(session.id)}  ${clip(titleOf(session), TITLE_COLUMNS)}  ${safeLine(session.cwd)}`;
	/** @type {string[]} */
	const lines = [];
	let ofSession = 0;
	for (const [at, hit] of hits.entries()) {
		if (isHitStart(hits, at)) {
			ofSession = 0;
			if (hit.owner && hit.owner.path !== (hits[at - 1]?.owner ?? hits[at - 1])?.path)
				lines.push(sessionLine(hit.owner));
			lines.push(`${hit.owner ? "  ↳ " : ""}${sessionLine(hit)}`);
		}
		ofSession++;
		const place = `  ${clip(hit.entryId, 8)} ${ageOf(hit)} ${clip(speakerOf(hit.role), 16)}`;
		lines.push(`${place}: ${unmarked(hit.snippet, TEXT_COLUMNS)}`);
		const left = hit.hitsInSession - ofSession;
		if (isHitEnd(hits, at) && left > 0 && only === undefined)
			lines.push(`  ${count(left)} more in this session: /find --session ${safeLine(hit.id)} ${safeLine(query)}`);
	}
	const total = only === undefined ? limit + 1 : (hits[0]?.hitsInSession ?? 0);
	const of = only === undefined ? "" : ` of ${count(total)}`;
	return [
		...lines,
		...(dir === undefined ? [] : [`Searched: ${searched}.`]),
		...(hits.length === limit && total > limit ? [`Only the first ${counted(limit, "hit")}${of} are shown.`] : []),
	].join("\n");
}
