// `/find`: searches all sessions while one types, and goes to what was found.
import { pieces } from "../shared/snippet.mjs";
import { clip, counted, safeLine } from "../shared/text.mjs";
import { answer, withStatus } from "./answer.mjs";
import { FindView, ageOf, byWriter, speakerOf, titleOf } from "./find-view.mjs";
import { goTo, textOf } from "./go-to.mjs";
import { library } from "./library.mjs";
import { onlyDir, searchOptions } from "./search-options.mjs";
import { lastWriters } from "./writers.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */
/** @typedef {import("../../index.js").SearchHit} SearchHit */

/** How many hits a mode without a screen gives, and how wide a session's title and a line may be there. */
const [TEXT_LIMIT, TITLE_COLUMNS, TEXT_COLUMNS] = [20, 80, 160];

/**
 * @param {Pi} pi
 * @param {string} args `--all`, then the words
 * @param {Context} ctx
 */
export async function find(pi, args, ctx) {
	const isAll = /^--all(?:\s|$)/.test(args.trim());
	const query = args.trim().replace(/^--all(?:\s+|$)/, "");
	const { SessionManager } = library(pi);
	if (ctx.mode !== "tui") return await answer(ctx, await asText(pi, query, ctx, isAll));
	/** @type {{ path: string, manager: import("../../index.js").SessionManager } | undefined} the session whose text was shown last */
	let opened;
	const textOfHit = (/** @type {SearchHit} */ hit) => {
		if (opened?.path !== hit.path) {
			opened?.manager.close();
			opened = undefined;
			opened = { path: hit.path, manager: SessionManager.open(hit.path, { readonly: true }) };
		}
		const entry = opened.manager.getEntry(hit.entryId);
		return entry && textOf(entry);
	};
	const search = (/** @type {string} */ text, /** @type {{ isAll: boolean }} */ scope, /** @type {object} */ more) => SessionManager.search(text, { ...searchOptions(ctx, scope), ...more });
	let redraw = () => {};
	/** @type {import("./find-view.mjs").Choice} */
	let chosen;
	try {
		chosen = await ctx.ui.custom(
			(tui, theme, keybindings, done) => {
				redraw = () => tui.requestRender();
				return new FindView({ tui, theme, keybindings, done, query, isAll, dir: onlyDir(ctx), writerOf: lastWriters(pi), textOf: textOfHit, search });
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
		// pi has drawn the screen without the overlay already.
		return redraw();
	}
	await goTo(pi, ctx, chosen.hit, { isEntry: chosen.action === "entry" });
}

/**
 * Hits as text, for modes without a screen.
 * @param {Pi} pi
 * @param {string} query
 * @param {Context} ctx
 * @param {boolean} isAll
 */
async function asText(pi, query, ctx, isAll) {
	if (query === "") return "Usage: /find [--all] words";
	const writerOf = lastWriters(pi);
	const hits = await withStatus(ctx, "searching", (onProgress) => library(pi).SessionManager.search(query, { ...searchOptions(ctx, { isAll }), limit: TEXT_LIMIT, onProgress }));
	const dir = onlyDir(ctx);
	const searched = `${isAll ? "all sessions" : "the sessions of this project"}${dir === undefined ? "" : ` in ${dir}`}`;
	if (hits.length === 0) return `Nothing found for ${safeLine(query)} in ${searched}${isAll ? "" : "; /find --all searches all"}.`;
	const lines = hits.flatMap((hit, at) => {
		const line = pieces(hit.snippet, TEXT_COLUMNS).map(({ text }) => text).join("");
		const place = `  ${clip(hit.entryId, 8)} ${ageOf(hit)} ${clip(speakerOf(hit), 16)}: ${line}`;
		return hit.path === hits[at - 1]?.path ? [place] : [`${safeLine(hit.id)}  ${clip(titleOf(hit), TITLE_COLUMNS)}  ${safeLine(hit.cwd)}${byWriter(writerOf(hit))}`, place];
	});
	return [...lines, ...(dir === undefined ? [] : [`Searched: ${searched}.`]), ...(hits.length === TEXT_LIMIT ? [`The first ${counted(TEXT_LIMIT, "hit")}.`] : [])].join("\n");
}
