// Which sessions a command looks at.
import { CLOSE, OPEN } from "../shared/snippet.mjs";
import { safeLine } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";

/** How many hits are shown. */
export const LIMIT = 200;

/**
 * Where a search looks, with marks that text cannot hold.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {{ isAll: boolean }} scope
 * @returns {import("../../index.js").SearchOptions}
 */
export const searchOptions = (ctx, { isAll }) => ({ ...(isAll ? {} : { cwd: ctx.cwd }), ...customDir(ctx), limit: LIMIT, mark: [OPEN, CLOSE] });

/**
 * A session directory that pi was started with: the library finds the configured and the default one by itself.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function customDir({ sessionManager }) {
	const manager = /** @type {typeof sessionManager & { usesDefaultSessionDir?(): boolean }} */ (sessionManager);
	return manager.getSessionFile() !== undefined && manager.usesDefaultSessionDir?.() === false ? { sessionDir: manager.getSessionDir() } : {};
}

/**
 * The one directory that a command looks at, for people; undefined where pi keeps its sessions in the usual place.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function onlyDir(ctx) {
	const { sessionDir } = customDir(ctx);
	return sessionDir === undefined ? undefined : safeLine(underHome(sessionDir));
}
