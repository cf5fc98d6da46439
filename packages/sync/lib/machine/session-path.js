// The paths of session files: their names, and where they are on the disk.
const fs = require("node:fs");
const { basename, dirname, join } = require("node:path");

const EXTENSION = ".jsonl";

/** Whether a file may be a session, by its name. @param {string} name */
const isSessionName = (name) => name.endsWith(EXTENSION);

/**
 * What pi calls a session's file: when it was begun, in ISO 8601, and its id. @param {string} time @param {string}
 * session
 */
const fileName = (time, session) => `${time.replace(/[:.]/g, "-")}_${session}${EXTENSION}`;

/** The id of a session by its file's name: what is after the time, or all of another name. @param {string} path */
const idInName = (path) => basename(path, EXTENSION).replace(/^[^_]*_/, "");

/**
 * A path as it is on the disk. What is kept by a path is kept by this one: a link in a path leads to the same file by
 * another one, and two processes may have gone either way.
 * @param {string} path
 * @returns {string}
 */
function onDisk(path) {
	try {
		return fs.realpathSync.native(path);
	} catch {
		// It is gone, but the directory that it was in may be a link still.
		return path === dirname(path) ? path : join(onDisk(dirname(path)), basename(path));
	}
}

/**
 * A file in its directory on the disk. It may be a link itself: what is kept of a session goes by the directory that
 * names it. @param {string} path
 */
const fileOnDisk = (path) => join(onDisk(dirname(path)), basename(path));

exports.fileName = fileName;
exports.fileOnDisk = fileOnDisk;
exports.idInName = idInName;
exports.isSessionName = isSessionName;
exports.onDisk = onDisk;
