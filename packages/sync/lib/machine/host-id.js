// The id of this machine, and what others see of it.
const { createHash, randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { hostname, userInfo } = require("node:os");
const { dirname, join } = require("node:path");
const { isObject } = require("../base/lines.js");
const { checkId, isId } = require("../base/names.js");
const { readSettings } = require("./settings.js");
const { unlessAbsentSync } = require("./small-file.js");

/** How often a file without an id is read again: another process may be writing it. */
const TRIES = 50;
const PAUSE_MS = 10;

/**
 * The id of this machine, the same in every process here: made once, and kept in the directory. @param {string} folder
 */
function hostId(folder) {
	const set = process.env.PI_SYNC_HOST;
	if (set) return checkId(set, "host");
	// A home that several machines share has an id for each. Where a machine has no id of the system, its network name
	// stands for it.
	const machine = plain(hostname(), 40) || "host";
	const path = join(folder, `host-${machineKey() ?? machine}`);
	const read = () => {
		const id = unlessAbsentSync(() => fs.readFileSync(path, "utf8"))?.trim();
		return isId(id) ? id : undefined;
	};
	const known = read();
	if (known !== undefined) return known;
	const made = `${nameHere(folder, machine)}-${randomBytes(4).toString("hex")}`;
	fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
	try {
		// Of several processes that start at once one names the machine.
		fs.writeFileSync(path, `${made}\n`, { flag: "wx", mode: 0o600 });
		return made;
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
	}
	for (let tries = 0; tries < TRIES; tries++) {
		const other = read();
		if (other !== undefined) return other;
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
	}
	// The process that made it was killed before it wrote.
	fs.writeFileSync(path, `${made}\n`);
	return made;
}

/** @param {string} text @param {number} length */
const plain = (text, length) =>
	text
		.replace(/[^A-Za-z0-9-]+/g, "-")
		.replace(/^-+|-+$/g, "")
		.toLowerCase()
		.slice(0, length)
		.replace(/-+$/, "");

/**
 * What others are to see of this machine: the name that the settings give it, or its user and its network name when it
 * was first asked.
 * @param {string} folder
 * @param {string} machine
 */
function nameHere(folder, machine) {
	const { name } = readSettings(dirname(folder));
	const text = name ?? `${userName()}-${machine}`;
	return plain(text, 60) || "host";
}

function userName() {
	try {
		return userInfo().username;
	} catch {
		// A container may have no user of this number.
		return "user";
	}
}

/**
 * A key of this machine that its network name does not change: its id by systemd. macOS and Windows share no homes.
 * Containers of one image may have one id.
 * @param {NodeJS.Platform} [platform]
 * @param {(path: string) => string | undefined} [read] a file's text
 */
function machineKey(platform = process.platform, read = textOf) {
	if (platform !== "linux") return "here";
	if (["/.dockerenv", "/run/.containerenv"].some((path) => read(path) !== undefined)) return undefined;
	const id = (read("/etc/machine-id") ?? "").trim();
	return /^[0-9a-f]{32}$/.test(id)
		? createHash("sha256").update(`pi-session-native\n${id}`).digest("hex").slice(0, 16)
		: undefined;
}

/**
 * What says that a file is not there for this user. Anything else may pass, and with it the machine would be another
 * one.
 */
const ABSENT = ["ENOENT", "ENOTDIR", "EACCES", "EPERM"];

/** @param {string} path */
function textOf(path) {
	try {
		return fs.readFileSync(path, "utf8");
	} catch (error) {
		if (isObject(error) && ABSENT.includes(String(error.code))) return undefined;
		throw error;
	}
}

exports.hostId = hostId;
exports.machineKey = machineKey;
