// The settings of this machine: PI_SYNC_STORE, and `session-store.json` in pi's directory.
//
// An address may contain a password, so the file is refused if others may read it.
const fs = require("node:fs");
const { basename, dirname, isAbsolute, join, relative, resolve, sep } = require("node:path");
const { expandHome, hasPassword, readAddress } = require("../base/address.js");
const { StoreError } = require("../base/errors.js");
const { hostLock } = require("./host-lock.js");
const { isObject, parse } = require("../base/lines.js");
const { safeJson } = require("../base/text.js");
const { findProject } = require("./project.js");
const { secretIn } = require("./secrets.js");
const { PARENT_FIELDS } = require("./session-file.js");
const { idInName, isSessionName, onDisk } = require("./session-path.js");
const { SETTINGS_FILE, STORE_VARIABLE, notesIn } = require("./agent-dir.js");
const { readSmall, writeSmall } = require("./small-file.js");

/**
 * @typedef {object} Settings
 * @property {string} [store] the address
 * @property {boolean} push whether the process beside pi pushes
 * @property {boolean} pull whether the process beside pi pulls
 * @property {string[]} private directories, and ids of sessions, that are never pushed: see `CHECKS`
 * @property {Record<string, string>} projects the names of projects, by directory
 * @property {boolean} secrets whether lines that contain a secret are not pushed
 */

/** The name of a default session directory of pi, for one working directory. */
const OWN_DIRECTORY = /^--.*--$/;
/** The form of pi's own ids. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The beginning of any other id in `private`, because a word alone may be meant as a directory. */
const ID_MARK = "id:";

/** @param {unknown} value */
const isText = (value) => typeof value === "string";
/** @param {unknown} value */
const isBoolean = (value) => typeof value === "boolean";
/** Whether a path is the same file for every process. @param {string} path */
const isWholePath = (path) => isAbsolute(expandHome(path));
/** An id as it is compared: programs write UUIDs in small and in capital letters. @param {string} id */
const comparedId = (id) => (UUID.test(id) ? id.toLowerCase() : id);
/** The id of the session in an entry of `private`; undefined if that is a directory. @param {string} entry */
const sessionIn = (entry) =>
	UUID.test(entry) || entry.startsWith(ID_MARK) ? comparedId(entry.replace(ID_MARK, "")) : undefined;

/** @type {Record<keyof Settings, [isRight: (value: unknown) => boolean, expected: string]>} */
const CHECKS = {
	store: [isText, "text"],
	push: [isBoolean, "true or false"],
	pull: [isBoolean, "true or false"],
	private: [
		(value) =>
			Array.isArray(value) && value.every((one) => isText(one) && (isWholePath(one) || sessionIn(one) !== undefined)),
		"a list of directories, each an absolute path or one in ~/, and of ids of sessions (an id that is not a " +
			`UUID as "${ID_MARK}…")`,
	],
	projects: [
		(value) =>
			isObject(value) && Object.entries(value).every(([dir, name]) => isWholePath(dir) && isText(name) && name !== ""),
		"names by directories, each an absolute path or one in ~/",
	],
	secrets: [isBoolean, "true or false"],
};
const DEFAULTS = { push: true, pull: true, private: [], projects: {}, secrets: false };

/**
 * The settings in pi's directory. Throws if others may read the file, or its content is wrong.
 * @param {string} agentDir
 * @returns {Settings}
 */
const readSettings = (agentDir) => ({ ...DEFAULTS, ...readFile(join(agentDir, SETTINGS_FILE)) });

/** The content of the file. @param {string} path @returns {Partial<Settings>} */
function readFile(path) {
	const bytes = readSmall(path, { ownerOnly: true });
	if (bytes === undefined) return {};
	const value = parse(bytes);
	if (!isObject(value))
		throw new StoreError("invalid", `${path} must be a JSON object such as {"store": "postgres://me@host/database"}`);
	for (const [name, one] of Object.entries(value)) {
		if (!Object.hasOwn(CHECKS, name))
			throw new StoreError(
				"invalid",
				`${path} has an unknown setting, ${safeJson(name.slice(0, 100))}; the settings are ` +
					`${Object.keys(CHECKS).join(", ")}`,
			);
		const [isRight, expected] = CHECKS[/** @type {keyof Settings} */ (name)];
		if (!isRight(one)) throw new StoreError("invalid", `${path}: the setting ${name} must be ${expected}`);
	}
	return value;
}

/**
 * The address of the store; undefined if none is named.
 * @param {string} agentDir
 * @returns {string | undefined}
 */
function storeAddress(agentDir) {
	const { store } = readSettings(agentDir);
	return process.env[STORE_VARIABLE] || store || undefined;
}

/**
 * Refuses a password in an argument of a command, because every user of the machine can see it.
 * @param {string} address
 */
function checkArgument(address) {
	if (hasPassword(readAddress(address)))
		throw new StoreError(
			"invalid",
			"--store contains a password, which every user of this machine can see: put the password into ~/.pgpass " +
				`or ${SETTINGS_FILE}`,
		);
}

/** A path as it is written, and with its links resolved. @param {string} path */
function spellings(path) {
	const written = resolve(expandHome(path));
	return [written, onDisk(written)];
}

/**
 * The shortest path from a directory to one below it, in parts; undefined if it is not below.
 * @param {string} dir
 * @param {string} cwd
 */
function pathBelow(dir, cwd) {
	return spellings(dir)
		.flatMap((above) => spellings(cwd).map((path) => relative(above, path)))
		.filter((path) => !isAbsolute(path) && path.split(sep)[0] !== "..")
		.map((path) => path.split(sep).filter((part) => part !== ""))
		.sort((a, b) => a.length - b.length)[0];
}

/**
 * The project of a directory by the settings: the name of the nearest directory that has one, a colon, and the path
 * below that directory.
 * @param {Settings} settings
 * @param {string} cwd
 */
function projectSet({ projects }, cwd) {
	const named = Object.entries(projects).flatMap(([dir, name]) => {
		const below = pathBelow(dir, cwd);
		return below ? [{ name, below }] : [];
	});
	const [nearest] = named.sort((a, b) => a.below.length - b.below.length);
	return nearest && [nearest.name, ...(nearest.below.length > 0 ? [nearest.below.join("/")] : [])].join(":");
}

/**
 * The project of a directory: from the environment, from the settings, or by its git remote.
 * @param {string} cwd
 * @param {string} host
 * @param {string} agentDir
 * @param {string} [set] the value of the variable
 */
const projectIn = async (cwd, host, agentDir, set = process.env.PI_SYNC_PROJECT) =>
	findProject(cwd, host, set || projectSet(readSettings(agentDir), cwd) || "");

/**
 * The options of a `SessionSync` that say what may leave this machine. The setting `private` is read each time, because
 * a session may become private while it is open. A fork of a private session is private, because it contains copies of
 * its entries. If the file of a parent session is missing, the fork counts as private if that file may have been in a
 * private directory.
 * @param {string} agentDir
 * @returns {Required<Pick<import("../index").SessionSyncOptions, "isPrivate">> &
 * Pick<import("../index").SessionSyncOptions, "secretIn">}
 */
function pushRules(agentDir) {
	return {
		...(readSettings(agentDir).secrets && { secretIn }),
		isPrivate: (local) => {
			const named = readSettings(agentDir).private;
			/** @param {{ session: string, cwd: string | undefined }} one */
			const isNamed = ({ session, cwd }) =>
				named.some(
					(entry) =>
						sessionIn(entry) === comparedId(session) ||
						(cwd !== undefined && sessionIn(entry) === undefined && pathBelow(entry, cwd) !== undefined),
				);
			if (named.length === 0) return false;
			if (isNamed(local)) return true;
			const parents = local.file === undefined ? [] : parentsOf(local.file);
			const directories = named.filter((entry) => sessionIn(entry) === undefined);
			return (
				parents === undefined ||
				parents.some(
					(parent) => isNamed(parent) || (parent.isGone && directories.some((dir) => mayBeOf(dir, parent.path))),
				)
			);
		},
	};
}

/**
 * The parent session of a session, its parent, and so on. A session whose file is missing (`isGone`) is known by the
 * path. Undefined if a file is not a session.
 * @param {string} file
 */
function parentsOf(file) {
	const { readSessionHeader } = require("pi-session-native");
	const parents = [];
	const paths = new Set([file]);
	for (const path of paths) {
		const isThere = fs.statSync(path, { throwIfNoEntry: false })?.isFile();
		/** @type {any} */
		const header = isThere ? readSessionHeader(path) : {};
		if (!header) return undefined;
		// A program may write an id in place of a path: then there was no file.
		const isGone = !isThere && isSessionName(path);
		if (path !== file)
			parents.push({
				session: String(header.id ?? idInName(path)),
				cwd: typeof header.cwd === "string" ? header.cwd : undefined,
				path,
				isGone,
			});
		// The loop also visits paths that are added here, each once.
		for (const field of PARENT_FIELDS)
			if (typeof header[field] === "string") paths.add(resolve(dirname(path), header[field]));
	}
	return parents;
}

/**
 * Whether a session may have had this working directory, or one below it, by the path of its file. pi's default session
 * directories are named after the working directory, with dashes in place of separators, so several have one name.
 * @param {string} dir
 * @param {string} path of the file, as the system wrote it on which the session was created
 */
function mayBeOf(dir, path) {
	const name = path.split(/[\\/]/).at(-2) ?? "";
	const { getDefaultSessionDir } = require("pi-session-native");
	return (
		!OWN_DIRECTORY.test(name) ||
		spellings(dir).some((one) =>
			name.startsWith(basename(getDefaultSessionDir(one, undefined, { create: false })).slice(0, -"--".length)),
		)
	);
}

/**
 * Adds a session to the setting `private`, or removes it.
 * @param {string} agentDir
 * @param {string} session
 * @param {boolean} isPrivate
 */
async function setPrivate(agentDir, session, isPrivate) {
	const path = join(agentDir, SETTINGS_FILE);
	const entry = UUID.test(session) ? session : ID_MARK + session;
	// Another process may change it at the same time.
	return hostLock([path], notesIn(agentDir))("settings", async () => {
		const value = readFile(path);
		const before = value.private ?? [];
		const isNamed = (/** @type {string} */ one) => sessionIn(one) === comparedId(session);
		if (before.some(isNamed) === isPrivate) return;
		const after = isPrivate ? [...before, entry] : before.filter((one) => !isNamed(one));
		// The path may be a link to a file elsewhere.
		const target = fs.existsSync(path) ? fs.realpathSync(path) : path;
		await writeSmall(target, `${JSON.stringify({ ...value, private: after }, undefined, "\t")}\n`, dirname(target));
	});
}

exports.checkArgument = checkArgument;
exports.projectIn = projectIn;
exports.pushRules = pushRules;
exports.readSettings = readSettings;
exports.setPrivate = setPrivate;
exports.storeAddress = storeAddress;
