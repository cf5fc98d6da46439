// Which store this machine uses: PI_SESSION_NATIVE_STORE, or `session-store.json` in the agent's directory.
//
// An address may hold a password. So the file is refused if others may read it, and what other programs get as the variable has no
// password: the agent's tools print their environment, and what they print is stored.
const fs = require("node:fs");
const { join } = require("node:path");
const { hasPassword, readAddress, withoutPassword } = require("./address.js");
const { StoreError } = require("./errors.js");
const { isObject, parse } = require("./lines.js");
const { SETTINGS_FILE, STORE_VARIABLE } = require("./setting-names.js");

/** The rights of everybody but the owner. */
const OTHERS = 0o077;

/**
 * The address of the store; undefined if none is named. Where both name the same store, the file's counts: it may have the password that
 * the variable of a program that pi started lacks.
 * @param {string} agentDir
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string | undefined}
 */
function storeAddress(agentDir, env = process.env) {
	const set = env[STORE_VARIABLE] || undefined;
	const kept = readSettings(join(agentDir, SETTINGS_FILE));
	return set === undefined || (kept !== undefined && isSameStore(set, kept)) ? kept : set;
}

/** @param {string} path */
function readSettings(path) {
	const file = openIfThere(path);
	if (file === undefined) return undefined;
	try {
		const { mode } = fs.fstatSync(file);
		if (process.platform !== "win32" && (mode & OTHERS) !== 0)
			throw new StoreError("denied", `${path} may hold a password, and others may read or change it: chmod 600 ${path}`);
		const value = parse(fs.readFileSync(file));
		if (!isObject(value) || (value.store !== undefined && typeof value.store !== "string"))
			throw new StoreError("invalid", `${path} must be a JSON object such as {"store": "postgres://me@host/database"}`);
		return value.store || undefined;
	} finally {
		fs.closeSync(file);
	}
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

exports.checkArgument = checkArgument;
exports.publicAddress = publicAddress;
exports.storeAddress = storeAddress;
