// The id of this machine, by which stores and other machines know it.
const { createHash, randomBytes } = require("node:crypto");
const { hostname, userInfo } = require("node:os");
const { join } = require("node:path");
const { checkId, isId } = require("../base/names.js");
const { hostLock } = require("./host-lock.js");
const { readSmall, writeSmall } = require("./small-file.js");

/** The id of this machine, the same in every process: created once, and kept in a folder. @param {string} folder */
async function hostId(folder) {
	const set = process.env.PI_SYNC_HOST;
	if (set) return checkId(set, "host");
	// Each machine has its own id, even if they share a home directory. A machine without an id of the system is known by
	// its network name.
	const machine = plain(hostname(), 40) || "host";
	const path = join(folder, `host-${machineKey() ?? machine}`);
	const known = () => [readSmall(path)?.toString().trim()].find(isId);
	// If several processes start at once, one of them creates the id.
	const make = async () => {
		const made = known() ?? `${plain(`${userName()}-${machine}`, 60)}-${randomBytes(4).toString("hex")}`;
		await writeSmall(path, `${made}\n`);
		return made;
	};
	return known() ?? hostLock([path], folder)("host", make);
}

/** @param {string} text @param {number} length */
const plain = (text, length) =>
	text
		.replace(/[^A-Za-z0-9-]+/g, "-")
		.replace(/^-+|-+$/g, "")
		.toLowerCase()
		.slice(0, length)
		.replace(/-+$/, "");

function userName() {
	try {
		return userInfo().username;
	} catch {
		// In a container the number of the user may have no name.
		return "user";
	}
}

/**
 * A key of this machine that does not depend on its network name: its id by systemd. On macOS and Windows machines do
 * not share home directories. Containers are left out, because all containers of an image may have the same id.
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

/** Other errors are thrown, because the machine would get another id as long as the error lasts. */
const ABSENT = new Set(["EACCES", "EPERM"]);

/** The text of a file; undefined if it is missing for this user. @param {string} path */
function textOf(path) {
	try {
		return readSmall(path)?.toString();
	} catch (error) {
		if (ABSENT.has(Object(Object(error).cause).code)) return undefined;
		throw error;
	}
}

exports.hostId = hostId;
exports.machineKey = machineKey;
