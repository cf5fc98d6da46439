// The folder in which setup keeps what it installed, and the rule by which a part of it counts as installed.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "pi-session-native/platforms");

/**
 * Makes a folder of the cache unless an earlier run did, and returns its path. `works` uses what was made, and returns
 * whether that gave the expected result. The folder counts as made only then: a part that was made wrong would
 * otherwise stay wrong in every later run.
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
