#!/usr/bin/env node
/** @type {typeof import("../lib/cli/main.mjs") | undefined} */
let loaded;
try {
	loaded = await import("../lib/cli/main.mjs");
} catch (error) {
	// If only a package is missing, as in a fresh clone, we print one line instead of a stack trace.
	const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
	const name = code === "ERR_MODULE_NOT_FOUND" && /^Cannot find package '([^']+)'/.exec(message)?.[1];
	if (!name) throw error;
	process.stderr.write(
		`pi-session-sync: the package ${name} is missing. In a clone run \`npm install && npm run build\`; ` +
			`elsewhere install pi-session-sync again.\n`,
	);
	process.exitCode = 1;
}
await loaded?.main(process.argv.slice(2));
