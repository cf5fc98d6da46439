// Directories as people read them.
import { homedir } from "node:os";
import { asText } from "./text.mjs";

/**
 * A directory for people: below their home it begins with `~`.
 * @param {unknown} dir
 */
export function underHome(dir) {
	const [path, home] = [asText(dir), homedir()];
	return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
