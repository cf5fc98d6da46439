// What this machine's user says about its store: PI_SYNC_STORE, and `session-store.json` in the agent's directory.
//
// An address may hold a password. So the file is refused if others may read it, and what other programs get as the
// variable has no password: the agent's tools print their environment, and what they print is stored.
const fs = require("node:fs");
const { basename, dirname, isAbsolute, join, resolve, sep } = require("node:path");
const { expandHome, hasPassword, readAddress } = require("../base/address.js");
const { StoreError } = require("../base/errors.js");
const { hostLock } = require("./host-lock.js");
const { isObject, parse } = require("../base/lines.js");
const { quotedName } = require("../base/text.js");
const { findProject } = require("./project.js");
const { secretIn } = require("./secrets.js");
const { PARENT_FIELDS } = require("./session-file.js");
const { idInName, isSessionName, onDisk } = require("./session-path.js");
const { SETTINGS_FILE, STORE_VARIABLE, notesIn } = require("./places.js");
const { readSmall, writeSmall } = require("./small-file.js");

/**
 * @typedef {object} Settings
 * @property {string} [store] the address
 * @property {string} [name] of this user and machine, for others to see; it becomes part of the host's id when that is
 * made
 * @property {boolean} push whether pi pushes
 * @property {boolean} pull whether pi pulls
 * @property {string[]} private directories, and ids of sessions, that are never pushed: see `CHECKS`
 * @property {Record<string, string>} projects the names of projects, by directory
 * @property {boolean} secrets whether lines that contain a secret stay here
 */

/** The name of a session directory that pi makes for one working directory. */
const OWN_DIRECTORY = /^--.*--$/;
/** The ids that pi makes. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** What begins any other id in `private`: a word alone may be meant as a directory. */
const ID_MARK = "id:";

/** @param {unknown} value */
const isText = (value) => typeof value === "string";
/** @param {unknown} value */
const isBoolean = (value) => typeof value === "boolean";
/** Whether a path is the same for every process. @param {string} path */
const isWholePath = (path) => isAbsolute(expandHome(path));
/** The id of a session; undefined if it is a directory. @param {string} entry of `private` */
const sessionIn = (entry) =>
	UUID.test(entry) ? entry : entry.startsWith(ID_MARK) ? entry.slice(ID_MARK.length) : undefined;

/** @type {Record<keyof Settings, [isRight: (value: unknown) => boolean, what: string]>} */
const CHECKS = {
	store: [isText, "text"],
	name: [isText, "text"],
	push: [isBoolean, "true or false"],
	pull: [isBoolean, "true or false"],
	private: [
		(value) =>
			Array.isArray(value) && value.every((one) => isText(one) && (isWholePath(one) || sessionIn(one) !== undefined)),
		`a list of directories, each a whole path or one in ~/, and of ids of sessions (one that is not a UUID as "${ID_MARK}…")`,
	],
	projects: [
		(value) =>
			isObject(value) && Object.entries(value).every(([dir, name]) => isWholePath(dir) && isText(name) && name !== ""),
		"names by directories, each a whole path or one in ~/",
	],
	secrets: [isBoolean, "true or false"],
};
const DEFAULTS = { push: true, pull: true, private: [], projects: {}, secrets: false };

/**
 * The settings of an agent's directory. Throws if others may read the file, or it is not what it should be.
 * @param {string} agentDir
 * @returns {Settings}
 */
const readSettings = (agentDir) => ({ ...DEFAULTS, ...readFile(join(agentDir, SETTINGS_FILE)) });

/** What the file says. @param {string} path @returns {Partial<Settings>} */
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
				`${path} has an unknown setting, ${quotedName(name)}; the settings are ${Object.keys(CHECKS).join(", ")}`,
			);
		const [isRight, what] = CHECKS[/** @type {keyof Settings} */ (name)];
		if (!isRight(one)) throw new StoreError("invalid", `${path}: the setting ${name} must be ${what}`);
	}
	return value;
}

/**
 * The address of the store; undefined if none is named. Where both name the same store, the file's counts: it may have
 * the password that the variable of a program that pi started lacks.
 * @param {string} agentDir
 * @param {string} [set] what the variable says
 * @returns {string | undefined}
 */
function storeAddress(agentDir, set = process.env[STORE_VARIABLE]) {
	const kept = readSettings(agentDir).store || undefined;
	return !set || (kept !== undefined && isSameStore(set, kept)) ? kept : set;
}

/** @param {string} a @param {string} b */
function isSameStore(a, b) {
	try {
		return readAddress(a).identity === readAddress(b).identity;
	} catch {
		// Whoever uses the one that is not understood says so.
		return false;
	}
}

/** Refuses a password in an argument of a command, which every user of the machine can see. @param {string} address */
function checkArgument(address) {
	if (hasPassword(readAddress(address)))
		throw new StoreError(
			"invalid",
			`Every user of this machine can see arguments: put the password into ~/.pgpass or ${SETTINGS_FILE}`,
		);
}

/** A path as it is written, and as it is on the disk, where a link in it leads elsewhere. @param {string} path */
function spellings(path) {
	const written = resolve(expandHome(path));
	return [written, onDisk(written)];
}

/**
 * The path of a directory below another one, by the shortest way, in parts; undefined if it is not below it.
 * @param {string} dir
 * @param {string} cwd
 */
function pathBelow(dir, cwd) {
	const ways = spellings(dir).flatMap((above) => {
		const start = above.endsWith(sep) ? above : above + sep;
		return spellings(cwd)
			.filter((path) => (path + sep).startsWith(start))
			.map((path) =>
				path
					.slice(start.length)
					.split(sep)
					.filter((part) => part !== ""),
			);
	});
	return ways.sort((a, b) => a.length - b.length)[0];
}

/**
 * The name that the settings give the project of a directory: that of the nearest directory that has one, with the path
 * below it after a colon.
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
 * The project of a directory: set in the environment or in the settings, or found there.
 * @param {string} cwd
 * @param {string} host
 * @param {string} agentDir
 * @param {string} [set] the one that is set in the environment
 */
const projectIn = async (cwd, host, agentDir, set = process.env.PI_SYNC_PROJECT) =>
	findProject(cwd, host, set || projectSet(readSettings(agentDir), cwd) || "");

/**
 * What may leave this machine, as options of a `SessionSync`. What is private is read each time: a session may become
 * private while it is open. A fork of a private session is private, because it has copies of its entries; so is one of
 * which it cannot be known: where the file of a parent session is gone, its directory may be a private one.
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
						sessionIn(entry) === session ||
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
 * The session that a session was forked from, the one that was forked from, and so on. One whose file is gone
 * (`isGone`) is known by its file's path. Undefined if a file does not tell.
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
		// Programs may give an id alone, which never was a file.
		const isGone = !isThere && isSessionName(path);
		if (path !== file)
			parents.push({
				session: String(header.id ?? idInName(path)),
				cwd: typeof header.cwd === "string" ? header.cwd : undefined,
				path,
				isGone,
			});
		// A set is gone through to its end, with what is added meanwhile, and takes no path twice.
		for (const field of PARENT_FIELDS)
			if (typeof header[field] === "string") paths.add(resolve(dirname(path), header[field]));
	}
	return parents;
}

/**
 * Whether a session may have had this working directory, or one below it, by where its file was: pi names the directory
 * of a working directory's sessions by its path, with dashes, so that several have one name.
 * @param {string} dir
 * @param {string} path of the file, as the system wrote it on which the session was made
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

/** Adds a session to those that are never pushed. @param {string} agentDir @param {string} session */
const makePrivate = (agentDir, session) =>
	changePrivate(agentDir, (entries, entry) => (entries.includes(entry) ? entries : [...entries, entry]), session);

/** Takes a session out of them. @param {string} agentDir @param {string} session */
const makePublic = (agentDir, session) =>
	changePrivate(agentDir, (entries, entry) => entries.filter((one) => one !== entry), session);

/**
 * Changes the setting `private`.
 * @param {string} agentDir
 * @param {(entries: string[], entry: string) => string[]} change
 * @param {string} session
 */
async function changePrivate(agentDir, change, session) {
	const path = join(agentDir, SETTINGS_FILE);
	// Another process may do the same.
	return hostLock([path], notesIn(agentDir))("settings", async () => {
		const value = readFile(path);
		const before = value.private ?? [];
		const after = change(before, UUID.test(session) ? session : ID_MARK + session);
		if (after.length === before.length) return;
		// The file may be kept elsewhere, with a link to it here.
		const target = fs.existsSync(path) ? fs.realpathSync(path) : path;
		await writeSmall(target, `${JSON.stringify({ ...value, private: after }, undefined, "\t")}\n`, dirname(target));
	});
}

exports.checkArgument = checkArgument;
exports.makePrivate = makePrivate;
exports.makePublic = makePublic;
exports.projectIn = projectIn;
exports.pushRules = pushRules;
exports.readSettings = readSettings;
exports.storeAddress = storeAddress;
