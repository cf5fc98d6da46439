import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Whether Node was started with the module that has this `import.meta.url`, even through symbolic links. */
export function isMain(url) {
	const [, started] = process.argv;
	return started !== undefined && existsSync(started) && realpathSync(started) === fileURLToPath(url);
}
