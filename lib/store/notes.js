// What this machine notes about its stores: its own id, and for each session of a store how far its file is stored. Losing it
// only costs time.
const { createHash, randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { hostname, userInfo } = require("node:os");
const { dirname, join, resolve } = require("node:path");
const { addressKey } = require("./address.js");
const { StoreError } = require("./errors.js");
const { isObject } = require("./lines.js");
const { checkId, isId, nameOf } = require("./names.js");
const { readSettings } = require("./settings.js");
const { readJson, writeWhole } = require("./small-file.js");

/**
 * @typedef {import("./outbox").Note & { listed?: string, redactions?: number, elsewhere?: string }} Note `listed`: what the store's list said
 *   of it then; `redactions`: how many of the store's are taken over; `elsewhere`: the id of the store, if that has the session under the
 *   name of another project
 */

/**
 * Where the notes of an agent's stores are, beside its sessions.
 * @param {string} sessions the directory of all sessions
 */
const notesBeside = (sessions) => join(dirname(sessions), "session-stores");

/**
 * The id of this machine, the same in every process here: made once, and kept in the directory.
 * @param {string} folder
 */
function hostId(folder) {
	const set = process.env.PI_SESSION_NATIVE_HOST;
	if (set) return checkId(set, "host");
	// A home that several machines share has an id for each. Where a machine has no id of the system, its network name stands for it.
	const machine = plain(hostname(), 40) || "host";
	const path = join(folder, `host-${machineKey() ?? machine}`);
	const read = () => {
		try {
			const id = fs.readFileSync(path, "utf8").trim();
			return isId(id) ? id : undefined;
		} catch {
			return undefined;
		}
	};
	const known = read();
	if (known !== undefined) return known;
	fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
	const draft = `${path}.${randomBytes(6).toString("hex")}`;
	fs.writeFileSync(draft, `${nameHere(folder, machine)}-${randomBytes(4).toString("hex")}\n`, { mode: 0o600 });
	try {
		// Of several processes that start at once one names the machine.
		fs.linkSync(draft, path);
	} catch {
		if (read() === undefined) fs.copyFileSync(draft, path);
	} finally {
		fs.rmSync(draft, { force: true });
	}
	const id = read();
	if (id === undefined) throw new StoreError("failed", `The id of this machine cannot be kept in ${path}`);
	return id;
}

/** @param {string} text @param {number} length */
const plain = (text, length) => text.replace(/[^A-Za-z0-9-]+/g, "-").replace(/^-+|-+$/g, "").toLowerCase().slice(0, length).replace(/-+$/, "");

/**
 * What others are to see of this machine: the name that the settings give it, or its user and its network name when it was first asked.
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
 * A key of this machine that its network name does not change: its id by systemd. macOS and Windows share no homes. Containers of one image
 * may have one id.
 * @param {NodeJS.Platform} [platform]
 * @param {(path: string) => string | undefined} [read] a file's text
 */
function machineKey(platform = process.platform, read = textOf) {
	if (platform !== "linux") return "here";
	if (["/.dockerenv", "/run/.containerenv"].some((path) => read(path) !== undefined)) return undefined;
	const id = (read("/etc/machine-id") ?? "").trim();
	return /^[0-9a-f]{32}$/.test(id) ? createHash("sha256").update(`pi-session-native\n${id}`).digest("hex").slice(0, 16) : undefined;
}

/** @param {string} path */
function textOf(path) {
	try {
		return fs.readFileSync(path, "utf8");
	} catch {
		return undefined;
	}
}

class Notes {
	#folder;

	/**
	 * @param {string} folder
	 * @param {string} address of the store; nothing secret of it is kept
	 * @param {string} dir of the session files: another checkout of a project has files of its own
	 */
	constructor(folder, address, dir) {
		this.#folder = join(folder, addressKey(address, `\n${resolve(dir)}`));
	}

	/** @param {string} session @returns {Note | undefined} */
	get(session) {
		try {
			const value = readJson(this.#path(session));
			if (!isObject(value)) return undefined;
			const { cursor, offset, check, needsAll, elsewhere, writer, listed, redactions } = value;
			if (typeof cursor !== "string" || typeof check !== "string" || typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) return undefined;
			return {
				...{ cursor, offset, check, needsAll: needsAll === true },
				...(typeof elsewhere === "string" ? { elsewhere } : {}),
				...(isId(writer) ? { writer } : {}),
				...(typeof listed === "string" ? { listed } : {}),
				...(typeof redactions === "number" ? { redactions } : {}),
			};
		} catch {
			return undefined;
		}
	}

	/** Whether the session was noted, though nothing may be known of it now. @param {string} session */
	has(session) {
		return fs.existsSync(this.#path(session));
	}

	/**
	 * Keeps a note, or only that the session is to be stored: then nothing is known of the store.
	 * @param {string} session
	 * @param {Note | undefined} note
	 */
	async set(session, note) {
		await writeWhole(this.#path(session), note ? JSON.stringify(note) : "");
	}

	/**
	 * Forgets what is known of the store, if there is a note: the next push compares the file with all that is stored.
	 * @param {string} session
	 */
	async forget(session) {
		if (this.has(session)) await this.set(session, undefined);
	}

	/** @param {string} session */
	#path(session) {
		return join(this.#folder, `${nameOf(checkId(session, "session"))}.json`);
	}
}

exports.Notes = Notes;
exports.hostId = hostId;
exports.machineKey = machineKey;
exports.notesBeside = notesBeside;
