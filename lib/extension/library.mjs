// The library, with its addon, loaded when it is first used.
import { createRequire } from "node:module";

/** @typedef {typeof import("../../index.js")} Library */

/** pi runs on this package's manager: the hook has named the agent's directory. */
export const isHooked = () => Symbol.for("pi-session-native.app") in globalThis;

/**
 * The library. It looks where this pi keeps its sessions. Node's own `require` loads it, not pi's loader of extensions, which loads
 * everything once more after `/reload`.
 * @param {{ getAgentDir(): string }} pi
 * @returns {Library}
 */
export function library(pi) {
	const loaded = createRequire(import.meta.url)("../addon.js");
	if (!isHooked()) loaded.setAgentDir(pi.getAgentDir());
	return loaded;
}
