// Shortens paths for people.
import { homedir } from "node:os";
import { asText } from "./text.mjs";

/**
 * A path that begins with `~` if it is in the user's home.
 * @param {unknown} dir
 */
export function underHome(dir) {
	const [path, home] = [asText(dir), homedir()];
	return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
