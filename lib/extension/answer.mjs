// An answer of a command where there is no screen to draw on.
import { Writable } from "node:stream";

/**
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {string} text safe for a terminal
 */
export async function answer(ctx, text) {
	// RPC clients show it, and pi shows it in a terminal.
	if (ctx.hasUI) return ctx.ui.notify(text, "info");
	// The output of JSON mode is a line of JSON for each event.
	await print(ctx.mode === "json" ? JSON.stringify({ type: "extension_message", extension: "pi-session-native", text }) : text);
}

/**
 * Writes to standard output. pi has replaced the stream's own `write`, so that what extensions print goes to standard error.
 * @param {string} text
 */
const print = (text) =>
	new Promise((resolve, reject) => {
		Writable.prototype.write.call(process.stdout, `${text}\n`, "utf8", (error) => (error ? reject(error) : resolve(undefined)));
	});
