#!/usr/bin/env node
// The command `pi-sessions`, which `lib/cli/program.mjs` defines.
import { explained } from "../lib/load-error.js";

/** @type {typeof import("../lib/cli/main.mjs") | undefined} */
let loaded;
try {
	loaded = await import("../lib/cli/main.mjs");
} catch (error) {
	// If only packages are missing, as in a fresh clone, we print one line instead of a stack trace.
	const text = explained(error);
	if (text === /** @type {Error} */ (error).message) throw error;
	process.stderr.write(`${text}\n`);
	process.exitCode = 1;
}
await loaded?.main(process.argv.slice(2));
