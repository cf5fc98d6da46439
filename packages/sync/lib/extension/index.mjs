// The extension of pi. It marks the session as open, tells a process beside pi (lib/beside) about it, and provides the
// command `/private`. It never calls the store, and loads the addon only if a store is named.
import { writeSync } from "node:fs";
import * as pi from "@earendil-works/pi-coding-agent";

/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionAPI} ExtensionAPI */

/** @param {ExtensionAPI} api */
export default function extension(api) {
	// A subagent has no user and ends soon.
	if (process.env.PI_SUBAGENT_CHILD === "1" || Number(process.env.PI_SUBAGENT_DEPTH) > 0) return;
	/** @type {import("./beside-pi.mjs").BesidePi | undefined} */
	let beside;
	api.on("session_start", async (_event, ctx) => {
		const { begin } = await import("./session.mjs");
		beside = begin(pi, ctx);
	});
	api.on("session_shutdown", async ({ reason }) => {
		const ending = beside;
		beside = undefined;
		// If pi continues with another session, this one is stored meanwhile.
		if (reason !== "quit") return ending?.close({ isReload: reason === "reload" });
		const message = await ending?.end();
		// After pi has restored the screen.
		if (message !== undefined) process.once("exit", () => print(message));
	});
	api.registerCommand("private", {
		description: "Keep this session out of the store: /private [on|off|status]",
		handler: async (args, ctx) => (await import("./private.mjs")).answer(pi, args, ctx),
	});
}

/** @param {string} text */
function print(text) {
	try {
		writeSync(2, text);
	} catch {
		// Standard error is closed.
	}
}
