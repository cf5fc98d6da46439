// The extension of pi: what `pi install` adds to an unchanged pi. pi shows this file's name when it starts, and calls
// the function, so it only registers. Whatever needs the addon, or takes time to load, is loaded when it is first used.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import * as pi from "@earendil-works/pi-coding-agent";
import { findKeys, readExtensionSettings } from "./settings.mjs";

/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionAPI} ExtensionAPI */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionContext} Context */

const require = createRequire(import.meta.url);

/** What tells the model when to use the tools. */
const SKILLS = fileURLToPath(new URL("../../skills", import.meta.url));

/** @param {ExtensionAPI} api */
export default function extension(api) {
	// The process of a subagent has no user, and ends soon.
	if (isSubagent()) return;
	api.registerCommand("find", {
		description: "Search all sessions: /find [--all] [words]",
		handler: async (args, ctx) => runCommand(ctx, async () => (await import("./find.mjs")).find(pi, args, ctx)),
	});
	for (const key of findKeys(pi)) {
		// What a key runs may open no session; a command may.
		api.registerShortcut(key, {
			description: "Search all sessions (/find)",
			handler: () => api.sendUserMessage("/find", { expandPromptTemplates: true }),
		});
	}
	api.registerCommand("costs", {
		description: "What all sessions cost: /costs [--repository] [day|week|month|model|project|session]",
		handler: async (args, ctx) => runCommand(ctx, async () => (await import("./costs.mjs")).costs(pi, args, ctx)),
	});
	/** @type {(() => void) | undefined} */
	let giveBack;
	api.on("session_start", async (_event, ctx) => {
		const warn = (/** @type {string} */ text) => tell(ctx, text);
		const settings = readExtensionSettings(api, warn);
		giveBack?.();
		// pi opens the next session before it ends the one at hand.
		giveBack = settings.sessions ? (await import("../takeover/take-over.mjs")).takeOver(pi, { warn }) : undefined;
		if (settings.tools) await registerTools(api);
	});
	// A model that was told of tools which it does not have would ask for them.
	api.on("resources_discover", () => (readExtensionSettings(api, () => {}).tools ? { skillPaths: [SKILLS] } : {}));
	api.on("session_shutdown", () => {
		giveBack?.();
		giveBack = undefined;
	});
}

/**
 * Runs a command to its end. Whatever fails is a message: an error that reaches pi may end it.
 * @param {Context} ctx
 * @param {() => Promise<unknown>} work
 */
async function runCommand(ctx, work) {
	try {
		await work();
	} catch (error) {
		const text = require("../load-error.js").explained(error);
		// An error of the addon's loader has the name already.
		tell(ctx, text.startsWith("pi-session-native: ") ? text : `pi-session-native: ${text}`);
	}
}

/** @param {ExtensionAPI} api */
async function registerTools(api) {
	const { definitions, readSession, searchSessions } = await import("./tools.mjs");
	/** @type {(tool: object) => void} */
	const register = (tool) => api.registerTool(/** @type {any} */ (tool));
	register({
		...definitions.search,
		execute: (
			/** @type {string} */ _id,
			/** @type {any} */ params,
			/** @type {AbortSignal | undefined} */ signal,
			/** @type {unknown} */ _update,
			/** @type {Context} */ ctx,
		) => searchSessions(pi, params, signal, ctx),
	});
	register({
		...definitions.read,
		execute: async (
			/** @type {string} */ _id,
			/** @type {any} */ params,
			/** @type {unknown} */ _signal,
			/** @type {unknown} */ _update,
			/** @type {Context} */ ctx,
		) => readSession(pi, params, ctx),
	});
}

/** Whether this pi was started by another, as packages of subagents mark it. */
const isSubagent = () => process.env.PI_SUBAGENT_CHILD === "1" || Number(process.env.PI_SUBAGENT_DEPTH) > 0;

/**
 * A warning for the user. One that comes after its session has ended has nobody to tell.
 * @param {Context} ctx
 * @param {string} text
 */
function tell(ctx, text) {
	let hasUI;
	try {
		hasUI = ctx.hasUI;
	} catch {
		// pi's contexts throw at every use once their session has ended.
		return;
	}
	if (hasUI) ctx.ui.notify(text, "warning");
	else process.stderr.write(`${text}\n`);
}
