// V8's compile cache, in a directory of the user's own. V8 runs what it finds there and does not check it, so no other user may be
// able to write the directory: Node's default is in the directory for temporary files, which all users share.
import { lstatSync, mkdirSync, statSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

/** The user's cache directory, by the convention of the system. */
function userCacheFolder() {
	const { env, platform } = process;
	const given = platform === "win32" ? env.LOCALAPPDATA : env.XDG_CACHE_HOME;
	if (given && isAbsolute(given)) return given;
	const usual = platform === "darwin" ? "Library/Caches" : platform === "win32" ? "AppData/Local" : ".cache";
	const home = homedir();
	// `HOME` may be empty or relative: the directory would then be below the working directory, which others may have filled.
	if (!isAbsolute(home)) throw new Error(`The home folder is not an absolute path: ${JSON.stringify(home)}`);
	return join(home, usual);
}

/** Windows keeps others out of the user's directory. @param {import("node:fs").Stats} stats */
const isOwn = ({ uid }) => process.geteuid === undefined || uid === process.geteuid();

/** Creates a directory in one of the user's own. Root in another user's home would leave there what that user cannot write. @param {string} path */
function makeFolder(path) {
	if (lstatSync(path, { throwIfNoEntry: false })) return;
	if (!isOwn(statSync(dirname(path)))) throw new Error(`${dirname(path)} belongs to another user`);
	mkdirSync(path, { mode: 0o700 });
}

/** @param {string} path */
function assertPrivate(path) {
	// Not `stat`: a link may lead to a directory of the user that others chose.
	const stats = lstatSync(path);
	const isPrivate = stats.isDirectory() && isOwn(stats) && (process.geteuid === undefined || (stats.mode & 0o022) === 0);
	if (!isPrivate) throw new Error(`others may write ${path}`);
}

/** The directory, created if it does not exist. Throws an error if others may write it, or the one that it is in. */
function compiledFolder() {
	const cache = userCacheFolder();
	const own = join(cache, "pi-session-native");
	const compiled = join(own, "compiled");
	// One after the other: below a path like /proc, which says that the parent is missing, `recursive` never returns.
	for (const path of [cache, own, compiled]) makeFolder(path);
	for (const path of [own, compiled]) assertPrivate(path);
	return compiled;
}

/**
 * Keeps the code that V8 compiles, as pi's own command does; where pi asks for it, it is on by then. A directory that the user has
 * set in NODE_COMPILE_CACHE stays. Without one of our own nothing is turned on here.
 */
export function keepCompiled() {
	if (!module.enableCompileCache || process.env.NODE_COMPILE_CACHE || process.env.NODE_DISABLE_COMPILE_CACHE) return;
	try {
		module.enableCompileCache(compiledFolder());
	} catch {
		// A home that is not there, is read-only or is somebody else's. It only costs time.
	}
}
