// What this machine's user says about its store: PI_SESSION_NATIVE_STORE, and `session-store.json` in the agent's directory.
//
// An address may hold a password. So the file is refused if others may read it, and what other programs get as the variable has no
// password: the agent's tools print their environment, and what they print is stored.
const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { basename, dirname, join, resolve, sep } = require("node:path");
const { expandHome } = require("../home.js");
const { replaceFile } = require("../replace-file.js");
const { hasPassword, readAddress, withoutPassword } = require("./address.js");
const { StoreError } = require("./errors.js");
const { hostLock } = require("./host-lock.js");
const { isObject, parse } = require("./lines.js");
const { findProject } = require("./project.js");
const { secretsOf } = require("./secrets.js");
const { SETTINGS_FILE, STORE_VARIABLE } = require("./setting-names.js");

/**
 * @typedef {object} Settings
 * @property {string} [store] the address
 * @property {string} [name] of this user and machine, for others to see; it becomes part of the host's id when that is made
 * @property {boolean} push whether pi pushes
 * @property {boolean} pull whether pi pulls
 * @property {string[]} private directories, and ids of sessions, that are never pushed
 * @property {Record<string, string>} projects the names of projects, by directory
 * @property {boolean | string} secrets whether lines that hold a secret stay here: by the rules of this package, or of a file
 */

/** The rights of everybody but the owner. */
const OTHERS = 0o077;
/** @type {Record<keyof Settings, (value: unknown) => boolean>} */
const CHECKS = {
	store: (value) => typeof value === "string",
	name: (value) => typeof value === "string",
	push: (value) => typeof value === "boolean",
	pull: (value) => typeof value === "boolean",
	private: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
	projects: (value) => isObject(value) && Object.values(value).every((one) => typeof one === "string" && one !== ""),
	secrets: (value) => typeof value === "boolean" || typeof value === "string",
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
	const file = openIfThere(path);
	if (file === undefined) return {};
	try {
		const { mode } = fs.fstatSync(file);
		if (process.platform !== "win32" && (mode & OTHERS) !== 0)
			throw new StoreError("denied", `${path} may hold a password, and others may read or change it: chmod 600 ${path}`);
		const value = parse(fs.readFileSync(file));
		if (!isObject(value)) throw new StoreError("invalid", `${path} must be a JSON object such as {"store": "postgres://me@host/database"}`);
		for (const [name, one] of Object.entries(value)) {
			const isRight = Object.hasOwn(CHECKS, name) ? CHECKS[/** @type {keyof Settings} */ (name)](one) : undefined;
			if (isRight === undefined) throw new StoreError("invalid", `${path} has a setting that is not known, ${JSON.stringify(name.slice(0, 100))}; known are ${Object.keys(CHECKS).join(", ")}`);
			if (!isRight) throw new StoreError("invalid", `${path}: the setting ${name} cannot be used as it is (docs/stores.md has the settings)`);
		}
		return value;
	} finally {
		fs.closeSync(file);
	}
}

/**
 * The address of the store; undefined if none is named. Where both name the same store, the file's counts: it may have the password that
 * the variable of a program that pi started lacks.
 * @param {string} agentDir
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string | undefined}
 */
function storeAddress(agentDir, env = process.env) {
	const set = env[STORE_VARIABLE] || undefined;
	const kept = readSettings(agentDir).store || undefined;
	return set === undefined || (kept !== undefined && isSameStore(set, kept)) ? kept : set;
}

/** @param {string} path */
function openIfThere(path) {
	try {
		return fs.openSync(path, "r");
	} catch (error) {
		const code = isObject(error) ? error.code : undefined;
		if (code === "ENOENT" || code === "ENOTDIR") return undefined;
		throw new StoreError("denied", `${path} cannot be read (${code})`, { cause: error });
	}
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

/**
 * The address as other programs may see it; undefined if it is not understood, and may hold a password at any place.
 * @param {string} address
 */
function publicAddress(address) {
	try {
		return withoutPassword(readAddress(address));
	} catch {
		return undefined;
	}
}

/**
 * Refuses a password in an argument of a command, which every user of the machine can see.
 * @param {string} address
 */
function checkArgument(address) {
	if (hasPassword(readAddress(address)))
		throw new StoreError("invalid", `A password in an argument is seen by every user of this machine: let ~/.pgpass, ${STORE_VARIABLE} or ${SETTINGS_FILE} have it`);
}

/** @param {string} path */
const expanded = (path) => resolve(expandHome(path));

/** @param {string} dir @param {string} cwd */
const isWithin = (dir, cwd) => cwd === dir || cwd.startsWith(dir.endsWith(sep) ? dir : dir + sep);

/**
 * The name that the settings give the project of a directory: that of the nearest directory that has one, with the path below it after a
 * colon.
 * @param {Settings} settings
 * @param {string} cwd
 */
function projectSet({ projects }, cwd) {
	const [dir, name] = Object.entries(projects).map(([dir, name]) => [expanded(dir), name]).filter(([dir]) => isWithin(dir ?? "", cwd)).sort(([a = ""], [b = ""]) => b.length - a.length)[0] ?? [];
	if (dir === undefined) return undefined;
	const below = cwd.slice(dir.length).split(sep).filter((part) => part !== "").join("/");
	return below === "" ? name : `${name}:${below}`;
}

/**
 * The project of a directory: set in the environment or in the settings, or found there.
 * @param {string} cwd
 * @param {string} host
 * @param {string} agentDir
 * @param {string} [set] the one that is set in the environment
 */
const projectIn = async (cwd, host, agentDir, set = process.env.PI_SESSION_NATIVE_PROJECT) => findProject(cwd, host, set || projectSet(readSettings(agentDir), cwd) || "");

/**
 * What may leave this machine, as options of a `SessionSync`. What is private is read again when the file has changed: a session may
 * become private while it is open. A fork of a private session is private, because it has copies of its entries.
 * @param {string} agentDir
 * @returns {Required<Pick<import("./index").SessionSyncOptions, "isPrivate">> & Pick<import("./index").SessionSyncOptions, "secretIn">}
 */
function pushRules(agentDir) {
	const secretIn = secretsOf(readSettings(agentDir).secrets, (path) => resolve(agentDir, expandHome(path)));
	let seen = "";
	/** @type {string[]} */
	let directories = [];
	let sessions = new Set();
	const refresh = () => {
		const { ino, size, mtimeNs } = fs.statSync(join(agentDir, SETTINGS_FILE), { bigint: true, throwIfNoEntry: false }) ?? {};
		if (seen === `${ino} ${size} ${mtimeNs}`) return;
		const listed = readSettings(agentDir).private;
		directories = listed.filter((one) => /[\\/~]/.test(one)).map(expanded);
		sessions = new Set(listed.filter((one) => !/[\\/~]/.test(one)));
		seen = `${ino} ${size} ${mtimeNs}`;
	};
	/** @param {{ session: string, cwd: string | undefined }} local */
	const isListed = ({ session, cwd }) => sessions.has(session) || (cwd !== undefined && directories.some((dir) => isWithin(dir, resolve(cwd))));
	return {
		secretIn,
		isPrivate: (local) => {
			refresh();
			if (directories.length + sessions.size === 0) return false;
			return isListed(local) || (local.file !== undefined && parentsOf(local.file).some(isListed));
		},
	};
}

/** Enough for the headers of sessions here. */
const HEADER_BYTES = 64 * 1024;

/**
 * The session that a session was forked from, the one that was forked from, and so on. One whose file is gone is known by its file's name.
 * @param {string} file
 */
function parentsOf(file) {
	const parents = [];
	const paths = new Set([file]);
	for (const path of paths) {
		const header = headerOf(path);
		const named = basename(path, ".jsonl");
		if (path !== file) parents.push({ session: String(header?.id ?? named.slice(named.indexOf("_") + 1)), cwd: typeof header?.cwd === "string" ? header.cwd : undefined });
		// A set is gone through to its end, with what is added meanwhile, and takes no path twice.
		if (typeof header?.parentSession === "string") paths.add(resolve(dirname(path), header.parentSession));
	}
	return parents;
}

/** @param {string} path @returns {Record<string, unknown> | undefined} */
function headerOf(path) {
	if (!fs.statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
	const file = fs.openSync(path, "r");
	try {
		const bytes = Buffer.alloc(HEADER_BYTES);
		const [line] = bytes.toString("utf8", 0, fs.readSync(file, bytes)).trimStart().split("\n", 1);
		const value = parse(Buffer.from(line ?? ""));
		return isObject(value) ? value : undefined;
	} finally {
		fs.closeSync(file);
	}
}

/**
 * Adds a session to those that are never pushed. Gives false if it is one of them.
 * @param {string} agentDir
 * @param {string} session
 */
async function makePrivate(agentDir, session) {
	const path = join(agentDir, SETTINGS_FILE);
	// Another process may do the same.
	return hostLock({ store: path, host: "settings", locks: join(agentDir, "session-stores") })("settings", async () => {
		const value = readFile(path);
		if (value.private?.includes(session)) return false;
		// The file may be kept elsewhere, with a link to it here.
		const target = fs.existsSync(path) ? fs.realpathSync(path) : path;
		const draft = `${target}.${randomBytes(6).toString("hex")}`;
		try {
			fs.writeFileSync(draft, `${JSON.stringify({ ...value, private: [...(value.private ?? []), session] }, undefined, "\t")}\n`, { mode: 0o600, flush: true });
			await replaceFile(draft, target);
		} finally {
			fs.rmSync(draft, { force: true });
		}
		return true;
	});
}

exports.checkArgument = checkArgument;
exports.makePrivate = makePrivate;
exports.projectIn = projectIn;
exports.publicAddress = publicAddress;
exports.pushRules = pushRules;
exports.readSettings = readSettings;
exports.storeAddress = storeAddress;
