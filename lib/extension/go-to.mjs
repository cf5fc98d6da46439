// Going to a session, and to an entry of it.
import { partsOf, roleOf } from "../shared/entries.mjs";
import { safeBlock, safeLine } from "../shared/text.mjs";
import { library } from "../takeover/library.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */
/** @typedef {import("../../index.js").SearchHit} SearchHit */

/**
 * Opens the session of a hit, and moves its leaf: to the entry, or to the end of the answer to it if a user said it
 * (`entry`); to the entry as pi's own tree does, which puts what a user said into the editor (`edit`); or not
 * (`session`). What goes wrong is a message.
 * @param {Pi} pi
 * @param {Context} ctx
 * @param {SearchHit} hit
 * @param {"entry" | "edit" | "session"} where
 */
export async function goTo(pi, ctx, hit, where) {
	const { path } = hit;
	if (!ctx.isIdle())
		return ctx.ui.notify("Wait until the answer is complete, or stop it, before you go to another place", "warning");
	if (path === ctx.sessionManager.getSessionFile()) return where === "session" ? undefined : moveTo(ctx, hit, where);
	try {
		// An error of pi's switch would end pi. Opened read-only, a session that is gone or damaged is found first.
		library(pi).SessionManager.open(path, { readonly: true }).close();
	} catch (error) {
		return ctx.ui.notify(`The session cannot be opened: ${safeMessage(error)}`, "error");
	}
	await ctx.switchSession(path, {
		// The context of before is of no use any more.
		withSession: async (opened) => {
			if (where !== "session") await moveTo(opened, hit, where);
		},
	});
}

/**
 * @param {Context} ctx of the session that has the entry
 * @param {SearchHit} hit
 * @param {"entry" | "edit"} where
 */
async function moveTo(ctx, hit, where) {
	const found = ctx.sessionManager.getEntry(hit.entryId) ?? numbered(ctx, hit);
	const entry = found && where === "entry" && isForEditor(roleOf(found)) ? (answerTo(ctx, found) ?? found) : found;
	if (!entry) return ctx.ui.notify("The session no longer has this entry", "warning");
	try {
		const [draft, leaf] = [ctx.ui.getEditorText(), ctx.sessionManager.getLeafId()];
		const { cancelled } = await ctx.navigateTree(entry.id);
		// pi leaves the message out where something is in the editor.
		const isLeftOut = !cancelled && leaf !== entry.id && draft.trim() !== "" && isForEditor(roleOf(entry));
		if (isLeftOut) ctx.ui.setEditorText(`${draft}\n${safeBlock(textOf(entry))}`);
	} catch (error) {
		ctx.ui.notify(`The leaf cannot be moved there: ${safeMessage(error)}`, "error");
	}
}

/**
 * The end of the answer to what a user said: the last entry before the next that is for the editor, on the branch that
 * was written last. Undefined if nothing was answered.
 * @param {Context} ctx
 * @param {import("@earendil-works/pi-coding-agent").SessionEntry} said
 */
function answerTo({ sessionManager }, said) {
	const children = new Map(sessionManager.getEntries().map((entry) => [entry.parentId, entry]));
	let answer;
	for (let next = children.get(said.id); next && !isForEditor(roleOf(next)); next = children.get(next.id)) {
		// Entries that are their own ancestors have no end.
		children.delete(next.parentId);
		answer = next;
	}
	return answer;
}

/**
 * The entry of a hit that was found when its file had version 1, whose entries have numbers: opening it, pi has given
 * them ids.
 * @param {Context} ctx
 * @param {SearchHit} hit
 */
function numbered({ sessionManager }, { entryId, timestamp }) {
	const entry = /^\d{8}$/.test(entryId) ? sessionManager.getEntries()[Number(entryId) - 1] : undefined;
	return entry?.timestamp === timestamp ? entry : undefined;
}

/** Whether pi puts such a message into the editor, and the leaf before it. @param {string} role */
export const isForEditor = (role) => role === "user" || role === "custom_message";

/** The text of an entry. @param {object} entry */
export const textOf = (entry) =>
	partsOf(entry)
		.filter(({ kind }) => kind !== "image")
		.map(({ text }) => text)
		.join("\n\n");

/** @param {unknown} error */
export const safeMessage = (error) => safeLine(error instanceof Error ? error.message : error);
