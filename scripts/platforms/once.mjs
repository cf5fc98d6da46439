// The folder of the installed parts, and the rule by which a part counts as installed.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "pi-session-native/platforms");

/**
 * Creates a folder of the cache, unless an earlier run did, and returns its path. `works` tries the result, and returns
 * whether it works. Only then the folder counts as created, because otherwise a wrong part would stay wrong in every
 * later run.
 */
export function once(name, make, works = () => true, parent = cache) {
	const dir = join(parent, name);
	const ready = `${dir}.ready`;
	if (existsSync(ready)) return dir;
	console.log(`.. installing ${dir}`);
	rmSync(dir, { recursive: true, force: true });
	mkdirSync(parent, { recursive: true });
	make(dir);
	if (!works(dir))
		throw new Error(`${dir} was made, but does not work: run this again, and look at what was printed above`);
	writeFileSync(ready, "");
	return dir;
}
