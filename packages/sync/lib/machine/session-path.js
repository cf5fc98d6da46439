// The names of session files, and their paths on the disk.
const fs = require("node:fs");
const { basename, dirname, join } = require("node:path");

const EXTENSION = ".jsonl";

/** Whether a file may be a session, by its name. @param {string} name */
const isSessionName = (name) => name.endsWith(EXTENSION);

/**
 * pi's name for the file of a session: the time of its beginning and its id.
 * @param {string} time in ISO 8601
 * @param {string} session
 */
const fileName = (time, session) => `${time.replace(/[:.]/g, "-")}_${session}${EXTENSION}`;

/**
 * The id of a session by its file's name: the part after the time, or the whole of another name.
 * @param {string} path
 */
const idInName = (path) => basename(path, EXTENSION).replace(/^[^_]*_/, "");

/**
 * A path with its links resolved. Files about a path are named after this one, because two processes may use different
 * paths to the same file.
 * @param {string} path
 * @returns {string}
 */
function onDisk(path) {
	try {
		return fs.realpathSync.native(path);
	} catch {
		// The file is missing, but its directory may still be a link.
		return path === dirname(path) ? path : join(onDisk(dirname(path)), basename(path));
	}
}

/** A path whose folder has its links resolved, but not the file itself. @param {string} path */
const fileOnDisk = (path) => join(onDisk(dirname(path)), basename(path));

exports.fileName = fileName;
exports.fileOnDisk = fileOnDisk;
exports.idInName = idInName;
exports.isSessionName = isSessionName;
exports.onDisk = onDisk;
