#!/usr/bin/env node
// The command `pi-sessions`: what it can do is in `lib/cli/program.mjs`.
import { explained } from "../lib/load-error.js";

/** @type {typeof import("../lib/cli/main.mjs") | undefined} */
let loaded;
try {
	loaded = await import("../lib/cli/main.mjs");
} catch (error) {
	// Whatever is no more than a clone without its packages is said in a line.
	const text = explained(error);
	if (text === /** @type {Error} */ (error).message) throw error;
	process.stderr.write(`${text}\n`);
	process.exitCode = 1;
}
await loaded?.main(process.argv.slice(2));
