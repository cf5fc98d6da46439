// Called when pi opens a session.
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { safeLine } from "../cli/terminal.mjs";
import { BesidePi } from "./beside-pi.mjs";

const require = createRequire(import.meta.url);

/**
 * Starts the process beside pi, if a store is named and the session has a file.
 * @param {{ getAgentDir(): string }} pi
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 */
export function begin(pi, ctx) {
	const manager = ctx.sessionManager;
	const file = manager.getSessionFile();
	if (file === undefined) return undefined;
	const agentDir = pi.getAgentDir();
	const { pushRules, storeAddress } = require("../machine/settings.js");
	const { readAddress } = require("../base/address.js");
	const { markOpen } = require("../machine/open-files.js");
	const { notesIn } = require("../machine/agent-dir.js");
	const [session, cwd, dir] = [manager.getSessionId(), manager.getCwd(), manager.getSessionDir()];
	try {
		const address = storeAddress(agentDir);
		if (address === undefined) return undefined;
		readAddress(address);
		showMark(ctx, pushRules(agentDir).isPrivate({ session, file, cwd }));
		const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
		// In pi's own process and before pi continues, because the process beside pi needs some 200 ms to start, and may
		// end before pi.
		const unmark = markOpen(notesIn(agentDir), file);
		// A default session directory of pi has a name made from the path of its working directory.
		const isShared = !/[\\/]--.*--$/.test(dir);
		return new BesidePi({ session, file, cwd, dir, isShared, agentDir, size }, unmark);
	} catch (error) {
		tell(ctx, `pi-sync: no store is used: ${safeLine(error instanceof Error ? error.message : error)}`);
		return undefined;
	}
}

/** @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx @param {string} text */
function tell(ctx, text) {
	if (ctx.hasUI) ctx.ui.notify(text, "error");
	else process.stderr.write(`${text}\n`);
}

/**
 * Shows in pi's status line whether a session is private.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {boolean} isPrivate
 */
export function showMark(ctx, isPrivate) {
	if (ctx.hasUI) ctx.ui.setStatus("pi-session-sync", isPrivate ? "private" : undefined);
}
