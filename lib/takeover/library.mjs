// The library, with its addon, loaded when it is first used, for the pi that this process runs.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** @typedef {typeof import("../../index.js")} Library */
/**
 * What is used of what pi exports.
 * @typedef {{ SessionManager: any, CURRENT_SESSION_VERSION?: number, VERSION?: string, getAgentDir(): string,
 * getPackageDir?(): string }} Pi
 */

const require = createRequire(import.meta.url);

/** Under this symbol the addon finds the pi that this process runs. */
const APP = Symbol.for("pi-session-native.app");
const scope = /** @type {{ [APP]?: { name: string, getAgentDir(): string } }} */ (globalThis);

/** What a renamed build of pi calls itself in its errors. @param {Pi} pi */
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
 * The library, which looks where this pi keeps its sessions. Node's own `require` loads it: pi's loader of extensions
 * loads everything once more after `/reload`. Throws in a process that serves another pi, which keeps its sessions
 * elsewhere.
 * @param {Pi} pi
 * @returns {Library}
 */
export function library(pi) {
	const loaded = require("../addon.js");
	scope[APP] ??= { name: nameOf(pi), getAgentDir: pi.getAgentDir };
	const [served, asked] = [scope[APP].getAgentDir(), pi.getAgentDir()];
	if (served !== asked)
		throw new Error(`this process already serves a pi that keeps its sessions in ${served}, not in ${asked}`);
	return loaded;
}
