// Prints the answer of a command in modes without a screen: print, JSON and RPC mode.
import { Writable } from "node:stream";

/**
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {string} text safe for a terminal
 */
export async function answer(ctx, text) {
	// In a terminal pi shows the notification, in RPC mode the client does.
	if (ctx.hasUI) return ctx.ui.notify(text, "info");
	// JSON mode prints one line of JSON for each event.
	await print(
		ctx.mode === "json" ? JSON.stringify({ type: "extension_message", extension: "pi-session-native", text }) : text,
	);
}

/**
 * Prints why a command did nothing, and sets the exit code 1 for modes that end with the answer.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionContext} ctx
 * @param {string} text safe for a terminal
 */
export async function refuse(ctx, text) {
	if (ctx.hasUI) return ctx.ui.notify(text, "error");
	process.exitCode = 1;
	await answer(ctx, text);
}

/** The pause between two reports of progress in milliseconds, and the name of the status line. */
const [STATUS_MS, STATUS] = [250, "pi-session-native"];

/**
 * Runs `work`, and shows its progress to the client in RPC mode.
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
 * Writes to standard output by the method of the stream's class, because pi replaces `process.stdout.write` and sends
 * the output of extensions to standard error.
 * @param {string} text
 */
const print = (text) =>
	new Promise((resolve, reject) => {
		Writable.prototype.write.call(process.stdout, `${text}\n`, "utf8", (error) =>
			error ? reject(error) : resolve(undefined),
		);
	});
