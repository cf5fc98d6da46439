// The extension that `pi install` adds to pi. pi calls this function at each start, so it only registers commands;
// modules that need the addon or load slowly are imported at their first use. pi shows the name of this file at its
// start.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import * as pi from "@earendil-works/pi-coding-agent";
import { findKeys, readExtensionSettings } from "./settings.mjs";

/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionAPI} ExtensionAPI */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionContext} Context */

const require = createRequire(import.meta.url);

/** pi's reasons to end a session that another one follows. */
const FOLLOWED = ["reload", "new", "resume", "fork"];
/** How long the next session may take to start, in milliseconds, until we assume that it is without this extension. */
const START_MS = 60_000;
/** @type {any} */
const globals = globalThis;
/**
 * The functions that undo the takeovers of ended sessions. pi loads this file again for the next session.
 * @type {Set<() => void>}
 */
const ended = (globals[Symbol.for("pi-session-native.ended")] ??= new Set());

/** The skill that tells the model when to use the tools. */
const SKILLS = fileURLToPath(new URL("../../skills", import.meta.url));

/** @param {ExtensionAPI} api */
export default function extension(api) {
	// A subagent has no user and ends soon.
	if (isSubagent()) return;
	api.registerCommand("find", {
		description: "Search the sessions of this project (--all: of every project): /find [--all] [words]",
		handler: async (args, ctx) => runCommand(ctx, async () => (await import("./find.mjs")).find(pi, args, ctx)),
	});
	for (const key of findKeys(pi)) {
		// pi lets commands open sessions, but not shortcuts, so the shortcut runs the command.
		api.registerShortcut(key, {
			description: "Search the sessions of this project (/find)",
			handler: () => api.sendUserMessage("/find", { expandPromptTemplates: true }),
		});
	}
	api.registerCommand("costs", {
		description: "Tokens and cost of all sessions: /costs [--repository] [day|week|month|model|project|session]",
		handler: async (args, ctx) => runCommand(ctx, async () => (await import("./costs.mjs")).costs(pi, args, ctx)),
	});
	/** @type {(() => void) | undefined} */
	let giveBack;
	let hasEnded = false;
	api.on("session_start", async (_event, ctx) => {
		hasEnded = false;
		const warn = (/** @type {string} */ text) => tell(ctx, text);
		const settings = readExtensionSettings(api, warn);
		const takeover = settings.sessions ? await import("../takeover/take-over.mjs") : undefined;
		// The session may have ended during the import.
		if (hasEnded) return;
		if (giveBack) ended.add(giveBack);
		giveBack = takeover?.takeOver(pi, { warn });
		for (const undo of ended) undo();
		ended.clear();
		if (settings.tools) for (const tool of (await import("./tools.mjs")).toolsFor(pi)) api.registerTool(tool);
	});
	// Without the tools the skill would make the model ask for them.
	api.on("resources_discover", () => (readExtensionSettings(api, () => {}).tools ? { skillPaths: [SKILLS] } : {}));
	api.on("session_shutdown", ({ reason }) => {
		const undo = giveBack;
		giveBack = undefined;
		hasEnded = true;
		if (!undo || !FOLLOWED.includes(reason)) return undo?.();
		// The takeover lasts until the next session has taken over. If it were undone before, and another extension had
		// replaced a static, the next session could not take over again.
		ended.add(undo);
		setTimeout(() => ended.delete(undo) && undo(), START_MS).unref();
	});
}

/**
 * Runs a command. Errors become notifications, because an error that reaches pi may end pi.
 * @param {Context} ctx
 * @param {() => Promise<unknown>} work
 */
async function runCommand(ctx, work) {
	try {
		await work();
	} catch (error) {
		const text = require("../load-error.js").explained(error);
		// Errors of the addon's loader already begin with the name.
		tell(ctx, text.startsWith("pi-session-native: ") ? text : `pi-session-native: ${text}`);
	}
}

/** Whether a package of subagents started this pi, by the variables that these packages set. */
const isSubagent = () => process.env.PI_SUBAGENT_CHILD === "1" || Number(process.env.PI_SUBAGENT_DEPTH) > 0;

/**
 * Shows a warning, unless the session of the context has ended.
 * @param {Context} ctx
 * @param {string} text
 */
function tell(ctx, text) {
	let hasUI;
	try {
		hasUI = ctx.hasUI;
	} catch {
		// Contexts throw after their session has ended.
		return;
	}
	if (hasUI) ctx.ui.notify(text, "warning");
	else process.stderr.write(`${text}\n`);
}
