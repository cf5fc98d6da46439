// The library as the command sees it. Sessions are its business; the command shows what it gives.
import * as library from "../../index.js";
import { CommandError } from "./errors.mjs";

export const {
	CURRENT_SESSION_VERSION,
	SessionManager,
	findMostRecentSession,
	getDefaultSessionDir,
	loadEntriesFromFile,
	migrateSessionEntries,
} = library;

/** @typedef {import("../../index.js").SessionEntry} SessionEntry */
/** @typedef {import("../../index.js").SessionHeader} SessionHeader */
/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("../../index.js").SessionTreeNode} SessionTreeNode */
/** @typedef {import("../../index.js").Usage} Usage */
/** @typedef {import("../../index.js").SessionManager} Manager */

/**
 * A static of `SessionManager` that an addon built earlier may lack.
 * @template {(...args: any[]) => any} F
 * @param {string} name
 * @returns {F}
 */
export function staticNamed(name) {
	const found = /** @type {any} */ (SessionManager)[name];
	if (typeof found === "function") return found.bind(SessionManager);
	throw new CommandError(`The installed pi-session-native has no SessionManager.${name}: update the package, or build it again`);
}
