// Small files in a directory that no other user can write. They only save time: with any doubt about the directory or a file
// (its owner, its mode, a link, its checksum) nothing is recalled. The user's other programs may write there, so the caller
// checks a recalled value.
import { createHash } from "node:crypto";
import {
	closeSync,
	constants,
	fstatSync,
	lstatSync,
	mkdirSync,
	openSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

/** Larger than anything that is written here. */
const LARGEST_BYTES = 1 << 20;

/** The user's cache directory, by the convention of the system. */
function userCacheFolder() {
	const { env, platform } = process;
	const given = platform === "win32" ? env.LOCALAPPDATA : env.XDG_CACHE_HOME;
	if (given && isAbsolute(given)) return given;
	const usual = { darwin: "Library/Caches", win32: "AppData/Local" }[platform] ?? ".cache";
	const home = homedir();
	// `HOME` may be empty or relative: the directory would then be below the working directory, which others may have filled.
	if (!isAbsolute(home)) throw new Error(`The home folder is not an absolute path: ${JSON.stringify(home)}`);
	return join(home, usual);
}

const cacheFolder = () => join(userCacheFolder(), "pi-session-native");

/** Whether no other user may write the file with these stats. Windows keeps others out of the user's directory. */
const isPrivate = ({ uid, mode }) => process.geteuid === undefined || (uid === process.geteuid() && (mode & 0o022) === 0);

function isPrivateFolder(path) {
	// Not `stat`: a link may lead to a directory of the user that others chose.
	const stats = lstatSync(path);
	return stats.isDirectory() && isPrivate(stats);
}

const checksum = (text) => createHash("sha256").update(text).digest("hex");

/** The value that was stored under this name, or undefined. */
export function recall(name) {
	let file;
	try {
		const folder = cacheFolder();
		if (!isPrivateFolder(folder)) return undefined;
		// Non-blocking: a pipe would wait for a writer.
		const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
		file = openSync(join(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		const stats = fstatSync(file);
		if (!stats.isFile() || !isPrivate(stats) || stats.size > LARGEST_BYTES) return undefined;
		const [sum, text] = readFileSync(file, "utf8").split("\n");
		return sum === checksum(text) ? JSON.parse(text) : undefined;
	} catch {
		return undefined;
	} finally {
		if (file !== undefined) closeSync(file);
	}
}

/** Creates a directory in one of the user's own. Root in another user's home would leave there what that user cannot write. */
function makeFolder(path) {
	if (lstatSync(path, { throwIfNoEntry: false })) return;
	const isOwn = process.geteuid === undefined || statSync(dirname(path)).uid === process.geteuid();
	if (!isOwn) throw new Error(`${dirname(path)} belongs to another user`);
	mkdirSync(path, { mode: 0o700 });
}

/** The directory that values are stored in, created if it does not exist. Throws an error if others may write it. */
function ownFolder() {
	const folder = cacheFolder();
	// One after the other: below a path like /proc, which says that the parent is missing, `recursive` never returns.
	for (const path of [dirname(folder), folder]) makeFolder(path);
	if (!isPrivateFolder(folder)) throw new Error(`others may write ${folder}`);
	return folder;
}

/** The path of a directory in it for other files, created if it does not exist; undefined if it cannot be created. */
export function privateFolder(name) {
	try {
		const path = join(ownFolder(), name);
		makeFolder(path);
		return isPrivateFolder(path) ? path : undefined;
	} catch {
		return undefined;
	}
}

/** Stores a value under this name, whole or not at all. Where it cannot be stored, the next start does the work again. */
export function remember(name, value) {
	try {
		const path = join(ownFolder(), name);
		const temporary = `${path}.${process.pid}.tmp`;
		try {
			const text = JSON.stringify(value);
			writeFileSync(temporary, `${checksum(text)}\n${text}\n`, { flag: "wx", mode: 0o600 });
			// Not loaded where nothing is written.
			createRequire(import.meta.url)("../replace-file.js").replaceFileSync(temporary, path);
		} catch {
			rmSync(temporary, { force: true });
		}
	} catch {
		// A home that is not there, is read-only or is somebody else's.
	}
}
