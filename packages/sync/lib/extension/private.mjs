// `/private [on|off|status]`: keeps the open session, and its forks, out of every store.
import { createRequire } from "node:module";
import { join } from "node:path";
import { safeLine } from "../cli/terminal.mjs";
import { showMark } from "./session.mjs";

const require = createRequire(import.meta.url);
const USAGE = "Usage: /private [on|off|status]";

/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */

/**
 * @param {{ getAgentDir(): string }} pi
 * @param {string} args
 * @param {Context} ctx
 */
export async function answer(pi, args, ctx) {
	const word = args.trim() || "on";
	if (!["on", "off", "status"].includes(word)) return say(ctx, USAGE, "error");
	const file = ctx.sessionManager.getSessionFile();
	if (file === undefined) return say(ctx, "This session has no file, so it is never pushed to a store.");
	const agentDir = pi.getAgentDir();
	const local = { session: ctx.sessionManager.getSessionId(), file, cwd: ctx.sessionManager.getCwd() };
	const { pushRules, setPrivate, storeAddress } = require("../machine/settings.js");
	const { SETTINGS_FILE } = require("../machine/agent-dir.js");
	const settings = safeLine(join(agentDir, SETTINGS_FILE));
	/** @type {string | undefined} */
	let address;
	let isPrivate = false;
	try {
		address = storeAddress(agentDir);
		// Also if no store is named: a command may name one by --store, and another shell by PI_SYNC_STORE.
		if (word !== "status") await setPrivate(agentDir, local.session, word === "on");
		isPrivate = pushRules(agentDir).isPrivate(local);
	} catch (error) {
		const why = messageIn(error);
		return say(
			ctx,
			word === "on" ? `This session is NOT private: ${why}` : `It is not known whether this session is private: ${why}`,
			"error",
		);
	}
	showMark(ctx, isPrivate && address !== undefined);
	if (isPrivate && word === "off")
		return say(
			ctx,
			`This session is still private: ${settings} lists its directory, or the session that it was forked from.`,
			"error",
		);
	if (!isPrivate) return say(ctx, "This session is not private.");
	if (address === undefined)
		return say(
			ctx,
			`This session is private (private in ${settings}). No store is named now; one that you name later gets ` +
				"nothing of this session and its forks.",
		);
	say(
		ctx,
		`This session is private: no store gets what is said in it and in its forks (private in ${settings}). ` +
			`What was stored before stays in the store until you run pi-sync delete ${safeLine(local.session)}.`,
	);
}

/** @param {unknown} error */
const messageIn = (error) => safeLine(error instanceof Error ? error.message : error);

/**
 * Shows an answer in pi's screen, or on standard error, because pi alone writes to standard output. An error makes
 * `pi -p` end with 1.
 * @param {Context} ctx
 * @param {string} text
 * @param {"info" | "error"} [kind]
 */
function say(ctx, text, kind = "info") {
	if (ctx.hasUI) return ctx.ui.notify(text, kind);
	process.stderr.write(`${text}\n`);
	if (kind === "error") process.exitCode = 1;
}
