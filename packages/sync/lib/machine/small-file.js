// Small files in the directory of this machine's notes, for their owner alone. docs/store-adapters.md says what is lost
// with each.
const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { dirname, join } = require("node:path");
const { replaceFile, syncFolder } = require("../base/replace-file.js");
const { withFile } = require("../base/calls.js");
const { Drafts } = require("./drafts.js");
const { isObject, parse } = require("../base/lines.js");

/**
 * What a call gives; undefined if what it is about is not there.
 * @template T
 * @param {() => T} call
 * @returns {T | undefined}
 */
function unlessAbsentSync(call) {
	try {
		return call();
	} catch (error) {
		if (isObject(error) && error.code === "ENOENT") return undefined;
		throw error;
	}
}

/** What a file of JSON holds; undefined if it is not there or is not JSON. @param {string} path @returns {unknown} */
const readJson = (path) => unlessAbsentSync(() => parse(fs.readFileSync(path)));

/** The names in a directory; none if it is not there. @param {string} path */
const namesIn = (path) => unlessAbsentSync(() => fs.readdirSync(path)) ?? [];

/** No other program has files of this name, also in the directory of the settings. */
const DRAFT = ".pi-session-native-draft-";
const drafts = new Drafts(DRAFT);

/** @param {string} path */
const remove = (path) => fs.rmSync(path, { force: true });

/**
 * A path beside a file, to write it under. What killed processes left of such files there is removed. @param {string}
 * path
 */
async function draftOf(path) {
	await drafts.sweep(dirname(path));
	return join(dirname(path), `${DRAFT}${randomBytes(6).toString("hex")}`);
}

/**
 * Writes a file as a whole. The rename may wait for the disk, so not on the caller's thread.
 * @param {string} path
 * @param {string} text
 * @param {string} [last] synchronises the file, and the folders that it is in up to this one, as they may be new: from
 * then on it outlives a
 *   power failure
 */
async function writeWhole(path, text, last) {
	await fs.promises.mkdir(dirname(path), { recursive: true, mode: 0o700 });
	const draft = await draftOf(path);
	try {
		await fs.promises.writeFile(draft, text, { mode: 0o600 });
		if (last !== undefined) await withFile(fs.promises.open(draft, "r+"), (file) => file.sync());
		await replaceFile(draft, path);
	} catch (error) {
		await fs.promises.rm(draft, { force: true });
		throw error;
	}
	for (let folder = path; last !== undefined && folder !== last && folder !== dirname(folder); ) {
		folder = dirname(folder);
		await syncFolder(folder);
	}
}

exports.draftOf = draftOf;
exports.namesIn = namesIn;
exports.readJson = readJson;
exports.remove = remove;
exports.unlessAbsentSync = unlessAbsentSync;
exports.writeWhole = writeWhole;
