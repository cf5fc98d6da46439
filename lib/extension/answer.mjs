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
	await print(
		ctx.mode === "json" ? JSON.stringify({ type: "extension_message", extension: "pi-session-native", text }) : text,
	);
}

/**
 * Says why a command does nothing. A pi that ends with its answer then ends with 1.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {string} text safe for a terminal
 */
export async function refuse(ctx, text) {
	if (ctx.hasUI) return ctx.ui.notify(text, "error");
	process.exitCode = 1;
	await answer(ctx, text);
}

/** How often a client is told how far a command is, and under which name. */
const [STATUS_MS, STATUS] = [250, "pi-session-native"];

/**
 * Does what a command does where there is no screen to draw on: a client of RPC sees how far it is.
 * @template T
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {string} doing
 * @param {(onProgress: (done: number, total: number) => void) => Promise<T>} work
 */
export async function withStatus(ctx, doing, work) {
	if (!ctx.hasUI) return await work(() => {});
	let shownAt = performance.now();
	ctx.ui.setStatus(STATUS, doing);
	return await work((done, total) => {
		if (performance.now() < shownAt + STATUS_MS) return;
		shownAt = performance.now();
		ctx.ui.setStatus(STATUS, `${doing} ${done}/${total}`);
	}).finally(() => ctx.ui.setStatus(STATUS, undefined));
}

/**
 * Writes to standard output. pi has replaced the stream's own `write`, so that what extensions print goes to standard
 * error.
 * @param {string} text
 */
const print = (text) =>
	new Promise((resolve, reject) => {
		Writable.prototype.write.call(process.stdout, `${text}\n`, "utf8", (error) =>
			error ? reject(error) : resolve(undefined),
		);
	});
