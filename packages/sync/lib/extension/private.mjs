// `/private [on|off|status]`: keeps the open session, and its forks, out of every store.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { safeLine } from "../cli/terminal.mjs";
import { showMark } from "./mark.mjs";

const require = createRequire(import.meta.url);
const USAGE = "Usage: /private [on|off|status]";

/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */

/**
 * @param {{ getAgentDir(): string }} pi
 * @param {string} args
 * @param {Context} ctx
 */
export async function setPrivate(pi, args, ctx) {
	const word = args.trim() || "on";
	if (!["on", "off", "status"].includes(word)) return say(ctx, USAGE, "error");
	const file = ctx.sessionManager.getSessionFile();
	if (file === undefined) return say(ctx, "This session has no file, so it is never pushed to a store.");
	const agentDir = pi.getAgentDir();
	const local = { session: ctx.sessionManager.getSessionId(), file, cwd: ctx.sessionManager.getCwd() };
	const { makePrivate, makePublic, pushRules, storeAddress } = require("../machine/settings.js");
	const { SETTINGS_FILE } = require("../machine/places.js");
	const settings = safeLine(join(agentDir, SETTINGS_FILE));
	/** @type {string | undefined} */
	let address;
	let isPrivate = false;
	try {
		address = storeAddress(agentDir);
		// Also if no store is named: a command may name one by --store, and another shell by PI_SYNC_STORE.
		if (word === "on") await makePrivate(agentDir, local.session);
		if (word === "off") await makePublic(agentDir, local.session);
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
	if (!isPrivate) return say(ctx, `This session is not private: ${fateOf(address, agentDir)}`);
	if (address === undefined)
		return say(
			ctx,
			`This session is private (private in ${settings}). No store is named now; one that you name later gets nothing of this session and its forks.`,
		);
	const isSo = `This session is private: no store gets what is said in it and in its forks (private in ${settings}).`;
	const stored = storedPart(agentDir, address, local);
	await say(ctx, stored === undefined ? isSo : `${isSo}\n${stored}`);
}

/** @param {unknown} error */
const messageIn = (error) => safeLine(error instanceof Error ? error.message : error);

/** What happens with a session that is not private. @param {string | undefined} address @param {string} agentDir */
function fateOf(address, agentDir) {
	if (address === undefined) return "no store is named, so it stays on this machine.";
	const { readSettings } = require("../machine/settings.js");
	return readSettings(agentDir).push ? "what is said in it is stored." : "pi-sync push stores it.";
}

/**
 * The line about what the store contains of a private session; undefined if it contains nothing.
 * @param {string} agentDir
 * @param {string} address
 * @param {{ session: string, file: string }} local
 */
function storedPart(agentDir, address, { session, file }) {
	const { Notes } = require("../machine/notes.js");
	const { notesIn } = require("../machine/places.js");
	try {
		if (!new Notes(notesIn(agentDir), address, dirname(file)).has(session)) return undefined;
		return `The part that was stored before stays in the store until you run pi-sync delete ${safeLine(session)}.`;
	} catch (error) {
		return `It is not known whether the store contains a part of it: ${messageIn(error)}`;
	}
}

/**
 * Shows an answer in pi's screen, or on standard output. An error makes `pi -p` end with 1.
 * @param {Context} ctx
 * @param {string} text
 * @param {"info" | "error"} [kind]
 */
async function say(ctx, text, kind = "info") {
	if (ctx.hasUI) return ctx.ui.notify(text, kind);
	if (kind === "error") {
		process.stderr.write(`${text}\n`);
		process.exitCode = 1;
		return;
	}
	const line =
		ctx.mode === "json" ? JSON.stringify({ type: "extension_message", extension: "pi-session-sync", text }) : text;
	// pi replaces `process.stdout.write`, so that output of extensions goes to standard error.
	await new Promise((resolve) => Writable.prototype.write.call(process.stdout, `${line}\n`, "utf8", resolve));
}
