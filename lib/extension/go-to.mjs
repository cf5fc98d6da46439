// Opens a session in pi, and moves its leaf to an entry.
import { partsOf, roleOf } from "../shared/entries.mjs";
import { safeBlock, safeLine } from "../shared/text.mjs";
import { library } from "../takeover/library.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */
/** @typedef {import("../../index.js").SearchHit} SearchHit */

/**
 * Opens the session of a hit and moves its leaf. `entry`: to the entry, or for a user message to the end of its answer.
 * `edit`: to the entry as pi's tree does, which puts a user message into the editor. `session`: the leaf does not move.
 * Errors become notifications.
 * @param {Pi} pi
 * @param {Context} ctx
 * @param {SearchHit} hit
 * @param {"entry" | "edit" | "session"} where
 */
export async function goTo(pi, ctx, hit, where) {
	const { path } = hit;
	if (!ctx.isIdle())
		return ctx.ui.notify(
			"The model is still answering. Wait for the end of the answer or stop it, then try again",
			"warning",
		);
	if (path === ctx.sessionManager.getSessionFile()) return where === "session" ? undefined : moveTo(ctx, hit, where);
	try {
		// An error in `switchSession` would end pi, so we first check that the session opens.
		library(pi).SessionManager.open(path, { readonly: true }).close();
	} catch (error) {
		return ctx.ui.notify(`Cannot open the session: ${safeMessage(error)}`, "error");
	}
	await ctx.switchSession(path, {
		// The switch invalidates `ctx`.
		withSession: async (opened) => {
			if (where !== "session") await moveTo(opened, hit, where);
		},
	});
}

/**
 * @param {Context} ctx the context of the hit's session
 * @param {SearchHit} hit
 * @param {"entry" | "edit"} where
 */
async function moveTo(ctx, hit, where) {
	const found = ctx.sessionManager.getEntry(hit.entryId) ?? numbered(ctx, hit);
	const entry = found && where === "entry" && isForEditor(roleOf(found)) ? (answerTo(ctx, found) ?? found) : found;
	if (!entry) return ctx.ui.notify("The session no longer contains this entry", "warning");
	try {
		const [draft, leaf] = [ctx.ui.getEditorText(), ctx.sessionManager.getLeafId()];
		const { cancelled } = await ctx.navigateTree(entry.id);
		// pi does not add the message if the editor contains text.
		const isLeftOut = !cancelled && leaf !== entry.id && draft.trim() !== "" && isForEditor(roleOf(entry));
		if (isLeftOut) ctx.ui.setEditorText(`${draft}\n${safeBlock(textOf(entry))}`);
	} catch (error) {
		ctx.ui.notify(`Cannot move the leaf: ${safeMessage(error)}`, "error");
	}
}

/**
 * The last entry of the answer to a user message, on the newest branch; undefined if there is no answer. The answer
 * ends before the next entry that belongs into the editor.
 * @param {Context} ctx
 * @param {import("@earendil-works/pi-coding-agent").SessionEntry} said
 */
function answerTo({ sessionManager }, said) {
	const children = new Map(sessionManager.getEntries().map((entry) => [entry.parentId, entry]));
	let answer;
	for (let next = children.get(said.id); next && !isForEditor(roleOf(next)); next = children.get(next.id)) {
		// We delete visited entries, so that a cycle of parents ends.
		children.delete(next.parentId);
		answer = next;
	}
	return answer;
}

/**
 * The entry of a hit by its number: entries of version 1 have numbers in place of ids, until pi migrates the file when
 * it opens it.
 * @param {Context} ctx
 * @param {SearchHit} hit
 */
function numbered({ sessionManager }, { entryId, timestamp }) {
	const entry = /^\d{8}$/.test(entryId) ? sessionManager.getEntries()[Number(entryId) - 1] : undefined;
	return entry?.timestamp === timestamp ? entry : undefined;
}

/**
 * Whether pi's tree puts entries of this role into the editor and moves the leaf to the entry before.
 * @param {string} role
 */
export const isForEditor = (role) => role === "user" || role === "custom_message";

/** The text of an entry. @param {object} entry */
export const textOf = (entry) =>
	partsOf(entry)
		.filter(({ kind }) => kind !== "image")
		.map(({ text }) => text)
		.join("\n\n");

/** @param {unknown} error */
export const safeMessage = (error) => safeLine(error instanceof Error ? error.message : error);
