// Small files of this machine: settings, notes, redactions, the id of the machine. All are read and written here. A
// file is for its owner alone, and is replaced as a whole. docs/store-adapters.md says what is lost with each.
const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { dirname, join } = require("node:path");
const { unlessAbsent, withFile } = require("../base/calls.js");
const { StoreError, messageOf } = require("../base/errors.js");
const { isObject, parse } = require("../base/lines.js");
const { replaceFile, syncFolder } = require("../base/replace-file.js");

/** A thousand times the size of settings and notes. */
const LIMIT = 1024 * 1024;
/** Without it, to open a pipe would wait for a writer. Windows has no such flag. */
const NO_WAIT = fs.constants.O_NONBLOCK ?? 0;
/** The rights of everybody but the owner. */
const OTHERS = 0o077;
/** A draft of this age belongs to a process that was killed. */
const ABANDONED_MS = 24 * 3600 * 1000;
/** No other program has files of this name, also in the directory of the settings. */
const DRAFT = ".pi-session-native-draft-";

/** @param {unknown} error */
const isAbsence = (error) => isObject(error) && (error.code === "ENOENT" || error.code === "ENOTDIR");

/**
 * The bytes of a file; undefined if it is missing. Reads as many as the file's status says: files in /proc that have no
 * end say 0. Throws if it is not a regular file, is larger than the limit, or cannot be read.
 * @param {string} path
 * @param {{ limit?: number, ownerOnly?: boolean }} [options] `ownerOnly`: throws, too, if others may read or change it
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
				`${path} may hold a password, and others may read or change it: chmod 600 ${path}`,
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
 * Writes a file: under another name, to the disk, and then under its own. The rename may wait for the disk, so not on
 * the caller's thread.
 * @param {string} path
 * @param {string} text
 * @param {string} [last] synchronises also the folders that contain the file, up to this one, because they may be new:
 * from then on the file outlives a power failure
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

/** The folders that this process has swept, with the beginning of the names. @type {Set<string>} */
const swept = new Set();

/**
 * Removes the drafts that killed processes left in a folder, when this process first writes a file there.
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
		// They may belong to another user, and only that user may remove them then.
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
