/** The name of the mark in pi's status line. */
const MARK = "pi-session-sync";

/**
 * Shows in pi's status line whether a session is private.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {boolean} isPrivate
 */
export const showMark = (ctx, isPrivate) => {
	if (ctx.hasUI) ctx.ui.setStatus(MARK, isPrivate ? "private" : undefined);
};
