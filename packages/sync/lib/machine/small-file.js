// Reads and writes the small files of this machine: settings, notes, redactions, the id of the machine. Only its owner
// may read a file, and it is replaced as a whole. docs/store-adapters.md says what is lost with each.
const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { dirname, join } = require("node:path");
const { isAbsence, unlessAbsent, withFile } = require("../base/calls.js");
const { StoreError, messageOf } = require("../base/errors.js");
const { parse } = require("../base/lines.js");
const { replaceFile, syncFolder } = require("../base/replace-file.js");

/** A thousand times the usual size of settings and notes. */
const LIMIT = 1024 * 1024;
/** Without this flag, opening a pipe waits for a writer. Windows does not have it. */
const NO_WAIT = fs.constants.O_NONBLOCK ?? 0;
/** The rights of everybody except the owner. */
const OTHERS = 0o077;
/** A draft of this age was left by a killed process. */
const ABANDONED_MS = 24 * 3600 * 1000;
/** No other program has files with this beginning in pi's directory. */
const DRAFT = ".pi-session-native-draft-";

/**
 * The bytes of a file; undefined if it is missing. It reads only the size in the file's status, which is 0 for endless
 * files in /proc. Throws if the file is not a regular file, is larger than the limit, or cannot be read.
 * @param {string} path
 * @param {{ limit?: number, ownerOnly?: boolean }} [options] `ownerOnly`: also throws if others may read or change it
 */
function readSmall(path, { limit = LIMIT, ownerOnly = false } = {}) {
	let file;
	try {
		file = fs.openSync(path, fs.constants.O_RDONLY | NO_WAIT);
		const stat = fs.fstatSync(file);
		const { mode, size } = stat;
		if (!stat.isFile()) throw new StoreError("invalid", `${path} must be a regular file`);
		if (ownerOnly && process.platform !== "win32" && (mode & OTHERS) !== 0)
			throw new StoreError(
				"denied",
				`${path} may contain a password, and others may read or change it: chmod 600 ${path}`,
			);
		if (size > limit)
			throw new StoreError("invalid", `${path} has ${size} bytes, and must not have more than ${limit}`);
		const bytes = Buffer.alloc(size);
		let length = 0;
		for (let read = 1; read > 0 && length < size; length += read)
			read = fs.readSync(file, bytes, length, size - length, length);
		return bytes.subarray(0, length);
	} catch (error) {
		if (isAbsence(error)) return undefined;
		if (error instanceof StoreError) throw error;
		throw new StoreError("denied", `${path} cannot be read: ${messageOf(error)}`, { cause: error });
	} finally {
		if (file !== undefined) fs.closeSync(file);
	}
}

/** The value of a JSON file; undefined if the file is missing, damaged or unreadable. @param {string} path */
function readJson(path) {
	try {
		const bytes = readSmall(path);
		return bytes && parse(bytes);
	} catch {
		return undefined;
	}
}

/**
 * Writes a file under another name, synchronises it, and renames it. It is asynchronous because the rename may wait for
 * the disk.
 * @param {string} path
 * @param {string} text
 * @param {string} [last] also synchronises the folders that contain the file, up to this one, because they may be new:
 * so the file outlives a power failure
 */
async function writeSmall(path, text, last) {
	const folder = dirname(path);
	await fs.promises.mkdir(folder, { recursive: true, mode: 0o700 });
	await sweep(folder, DRAFT);
	const draft = join(folder, `${DRAFT}${randomBytes(6).toString("hex")}`);
	try {
		await withFile(fs.promises.open(draft, "wx", 0o600), async (file) => {
			await file.writeFile(text);
			await file.sync();
		});
		await replaceFile(draft, path);
	} catch (error) {
		await fs.promises.rm(draft, { force: true });
		throw error;
	}
	for (let at = path; last !== undefined && at !== last && at !== dirname(at); ) {
		at = dirname(at);
		await syncFolder(at);
	}
}

/** The folders that this process has swept, with the beginning of the drafts' names. @type {Set<string>} */
const swept = new Set();

/**
 * Removes the drafts that killed processes left in a folder, once in each process.
 * @param {string} folder
 * @param {string} beginning of the names of drafts
 */
async function sweep(folder, beginning) {
	const key = join(folder, beginning);
	if (swept.has(key)) return;
	swept.add(key);
	try {
		for (const name of (await unlessAbsent(fs.promises.readdir(folder))) ?? []) {
			const path = join(folder, name);
			const stat = name.startsWith(beginning) ? await unlessAbsent(fs.promises.stat(path)) : undefined;
			if (stat && Date.now() - stat.mtimeMs > ABANDONED_MS) remove(path);
		}
	} catch {
		// Drafts of another user can only be removed by that user.
	}
}

/** @param {string} path */
const remove = (path) => fs.rmSync(path, { force: true });

/** The names in a directory; none if it is missing. @param {string} path */
function namesIn(path) {
	try {
		return fs.readdirSync(path);
	} catch (error) {
		if (isAbsence(error)) return [];
		throw error;
	}
}

exports.namesIn = namesIn;
exports.readJson = readJson;
exports.readSmall = readSmall;
exports.remove = remove;
exports.sweep = sweep;
exports.writeSmall = writeSmall;
