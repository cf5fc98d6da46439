// The session files of a directory, and the path for a session that a pull creates.
const { promises: fs } = require("node:fs");
const { join } = require("node:path");
const { unlessAbsent } = require("../base/calls.js");
const { StoreError, messageOf } = require("../base/errors.js");
const { inParallel } = require("../base/in-parallel.js");
const { isObject, parse } = require("../base/lines.js");
const { checkId } = require("../base/names.js");
const { NotASession, readHeader } = require("./session-file.js");
const { fileName, isSessionName } = require("./session-path.js");

/** @typedef {{ session: string, file: string, cwd: string | undefined }} LocalSession */

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * The sessions in a directory, by id; of two files of one session, the file whose name comes last. Files that are not
 * sessions, or have another version, are skipped.
 * @param {string} dir
 * @param {(file: string, why: string) => void} [onSkipped]
 */
async function localSessions(dir, onSkipped) {
	/** @type {Map<string, LocalSession>} */
	const found = new Map();
	const read = await inParallel(await filesIn(dir), async (file) => {
		try {
			return await describe(file);
		} catch (error) {
			onSkipped?.(file, messageOf(error));
			return undefined;
		}
	});
	for (const one of read) if (one) found.set(one.session, one);
	return found;
}

/** The files in a directory that may be sessions. @param {string} dir */
const filesIn = async (dir) =>
	((await unlessAbsent(fs.readdir(dir))) ?? [])
		.filter(isSessionName)
		.sort()
		.map((name) => join(dir, name));

/**
 * The session in a file. Throws if it cannot be stored; `NotASession` if the file is not a session.
 * @param {string} path
 * @returns {Promise<LocalSession>}
 */
async function describe(path) {
	const stat = await fs.stat(path);
	if (stat.isDirectory()) throw new StoreError("invalid", "It is a folder");
	// Opening a pipe would wait for a writer.
	if (!stat.isFile()) throw new NotASession("It is not a file");
	const { id, cwd } = readHeader(path);
	return { session: checkId(id, "session"), file: path, cwd };
}

/**
 * The path for the file of a stored session: in this directory, whatever the header says.
 * @param {string} dir
 * @param {string} session
 * @param {Buffer} header
 */
function fileFor(dir, session, header) {
	const value = parse(header);
	const time =
		isObject(value) && typeof value.timestamp === "string" && TIME.test(value.timestamp)
			? value.timestamp
			: new Date(0).toISOString();
	return join(dir, fileName(time, session));
}

// The addon is loaded only here, because programs that only read do not need it.
/** @typedef {typeof import("pi-session-native").SessionManager} Manager */
/**
 * @typedef {<Name extends "merge" | "redact">(name: Name, file: string, input: Parameters<Manager[Name]>[1]) =>
 * Promise<ReturnType<Manager[Name]>>} CallManager
 */

/** Calls `SessionManager[name](file, input)`. @type {CallManager} */
const callHere = async (name, file, input) =>
	/** @type {any} */ (require("pi-session-native").SessionManager)[name](file, input);

/**
 * The same, unless a pi of this machine has the file open, because that pi would not notice the change.
 * @param {(file: string) => Promise<boolean>} isOpen
 * @returns {CallManager}
 */
const callUnlessOpen = (isOpen) => async (name, file, input) => {
	if (await isOpen(file))
		throw new StoreError(
			"open",
			`${file} is open in a pi of this machine: the next pull after pi has closed it changes the file`,
		);
	return callHere(name, file, input);
};

exports.callHere = callHere;
exports.callUnlessOpen = callUnlessOpen;
exports.describe = describe;
exports.fileFor = fileFor;
exports.filesIn = filesIn;
exports.localSessions = localSessions;
