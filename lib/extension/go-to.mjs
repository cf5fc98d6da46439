// Going to a session, and to an entry of it.
import { partsOf, roleOf } from "../cli/entries.mjs";
import { safeBlock, safeLine } from "../cli/text.mjs";
import { library } from "./library.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */

/**
 * Opens a session, and moves its leaf to an entry, if one is named. What goes wrong is a message.
 * @param {Pi} pi
 * @param {Context} ctx
 * @param {string} path
 * @param {string | undefined} entryId
 */
export async function goTo(pi, ctx, path, entryId) {
	if (!ctx.isIdle()) return ctx.ui.notify("Wait until the answer is complete, or stop it, before you go to another place", "warning");
	if (path === ctx.sessionManager.getSessionFile()) return entryId === undefined ? undefined : moveTo(ctx, entryId);
	try {
		// An error of pi's switch would end pi. Opened read-only, a session that is gone or damaged is found first.
		library(pi).SessionManager.open(path, { readonly: true }).close();
	} catch (error) {
		return ctx.ui.notify(`The session cannot be opened: ${messageOf(error)}`, "error");
	}
	await ctx.switchSession(path, {
		// The context of before is of no use any more.
		withSession: async (opened) => {
			if (entryId !== undefined) await moveTo(opened, entryId);
		},
	});
}

/**
 * @param {Context} ctx of the session that has the entry
 * @param {string} entryId
 */
async function moveTo(ctx, entryId) {
	// A warning, because pi's own line on the session takes the place of an information.
	if (entryId === "") return ctx.ui.notify("The session is open at its end: when it was found, its entries had no ids", "warning");
	const entry = ctx.sessionManager.getEntry(entryId);
	if (!entry) return ctx.ui.notify("The session no longer has this entry", "warning");
	try {
		const [draft, leaf] = [ctx.ui.getEditorText(), ctx.sessionManager.getLeafId()];
		const { cancelled } = await ctx.navigateTree(entryId);
		// pi leaves the message out where something is in the editor.
		const isLeftOut = !cancelled && leaf !== entryId && draft.trim() !== "" && isForEditor(roleOf(entry));
		if (isLeftOut) ctx.ui.setEditorText(`${draft}\n${safeBlock(textOf(entry))}`);
	} catch (error) {
		ctx.ui.notify(`The leaf cannot be moved there: ${messageOf(error)}`, "error");
	}
}

/** Whether pi puts such a message into the editor, and the leaf before it. @param {string} role */
export const isForEditor = (role) => role === "user" || role === "custom_message";

/** The text of an entry. @param {object} entry */
export const textOf = (entry) => partsOf(entry).filter(({ kind }) => kind !== "image").map(({ text }) => text).join("\n\n");

/** @param {unknown} error */
export const messageOf = (error) => safeLine(error instanceof Error ? error.message : error);
