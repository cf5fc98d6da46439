// Loads the library with its addon at its first use, for the pi of this process.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** @typedef {typeof import("../../index.js")} Library */
/**
 * The used exports of pi.
 * @typedef {{ SessionManager: any, CURRENT_SESSION_VERSION?: number, VERSION?: string, getAgentDir(): string,
 * getPackageDir?(): string }} Pi
 */

const require = createRequire(import.meta.url);

/** The symbol under which the addon finds the pi of this process. */
const APP = Symbol.for("pi-session-native.app");
const scope = /** @type {{ [APP]?: { name: string, getAgentDir(): string } }} */ (globalThis);

/** The name of this pi in errors; a renamed build has its own. @param {Pi} pi */
function nameOf(pi) {
	try {
		const { piConfig } = JSON.parse(
			readFileSync(join(/** @type {() => string} */ (pi.getPackageDir)(), "package.json"), "utf8"),
		);
		return String(piConfig?.name ?? "pi");
	} catch {
		return "pi";
	}
}

/**
 * Returns the library, which then uses the session directories of this pi. We load it by Node's own `require`, because
 * pi's loader of extensions loads everything again after `/reload`. Throws if the process already serves a pi that
 * stores its sessions elsewhere.
 * @param {Pi} pi
 * @returns {Library}
 */
export function library(pi) {
	const loaded = require("../addon.js");
	scope[APP] ??= { name: nameOf(pi), getAgentDir: pi.getAgentDir };
	const [served, asked] = [scope[APP].getAgentDir(), pi.getAgentDir()];
	if (served !== asked)
		throw new Error(`this process already serves a pi that stores its sessions in ${served}, not in ${asked}`);
	return loaded;
}
