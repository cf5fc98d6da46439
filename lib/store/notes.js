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
const { RedactedLines } = require("./redacted-lines.js");
const { readSettings } = require("./settings.js");
const { readJson, writeWhole } = require("./small-file.js");

/**
 * @typedef {import("./outbox").Note & { listed?: string, redactions?: number }} Note `listed`: what the store's list said of it then;
 *   `redactions`: how many of the store's are taken over
 */
/** @typedef {import("./redacted-lines").RedactedLine} RedactedLine */

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
	#redacted;

	/**
	 * @param {string} folder
	 * @param {string} address of the store; nothing secret of it is kept
	 * @param {string} dir of the session files: another checkout of a project has files of its own
	 */
	constructor(folder, address, dir) {
		this.#folder = join(folder, addressKey(address, `\n${resolve(dir)}`));
		this.#redacted = new RedactedLines(folder, dir);
	}

	/** @param {string} session @returns {Note | undefined} */
	get(session) {
		try {
			const value = readJson(this.#path(session));
			if (!isObject(value)) return undefined;
			const { cursor, offset, check, store, needsAll, isElsewhere, writer, listed, redactions } = value;
			if (typeof cursor !== "string" || typeof check !== "string" || typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) return undefined;
			return {
				...{ cursor, offset, check, needsAll: needsAll === true },
				...(typeof store === "string" ? { store } : {}),
				...(isElsewhere === true ? { isElsewhere } : {}),
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
	 * Keeps a note, or only that the session is to be stored. Then nothing is known of the store, nor what it was told.
	 * @param {string} session
	 * @param {Note | undefined} note
	 */
	async set(session, note) {
		await writeWhole(this.#path(session), note ? JSON.stringify(note) : "");
		if (!note) await this.forgetTold(session);
	}

	/**
	 * Makes a note match no file, if there is one: the next push compares the file with all that is stored.
	 * @param {string} session
	 */
	async invalidate(session) {
		const note = this.get(session);
		if (note) await this.set(session, { ...note, check: "" });
	}

	/**
	 * The lines that were redacted here and that the store may still have.
	 * @param {string} session
	 * @returns {RedactedLine[]}
	 */
	redactions(session) {
		const redacted = this.#redacted.of(session);
		if (redacted.length === 0) return [];
		const told = new Set(this.told(session));
		return redacted.filter(({ hash }) => !told.has(hash));
	}

	/**
	 * Keeps which lines were redacted here: a file is redacted only after that, so that the store gets to know of it however this process ends.
	 * @param {string} session
	 * @param {readonly RedactedLine[]} lines
	 */
	addRedactions(session, lines) {
		return this.#redacted.add(session, lines);
	}

	/**
	 * Keeps that the store knows that these lines were redacted.
	 * @param {string} session
	 * @param {readonly { hash: string }[]} lines
	 */
	async setTold(session, lines) {
		if (lines.length > 0) await writeWhole(this.#toldPath(session), JSON.stringify([...new Set([...this.told(session), ...lines.map(({ hash }) => hash)])]));
	}

	/** The store may not know any more what was redacted: it is told again. @param {string} session */
	async forgetTold(session) {
		await fs.promises.rm(this.#toldPath(session), { force: true });
	}

	/** The hashes of lines of which the store knows that they were redacted. @param {string} session @returns {unknown[]} */
	told(session) {
		const value = readJson(this.#toldPath(session));
		return Array.isArray(value) ? value : [];
	}

	/** @param {string} session */
	#path(session) {
		return join(this.#folder, `${nameOf(checkId(session, "session"))}.json`);
	}

	/** @param {string} session */
	#toldPath(session) {
		return join(this.#folder, "redacted", `${nameOf(checkId(session, "session"))}.json`);
	}
}

exports.Notes = Notes;
exports.hostId = hostId;
exports.machineKey = machineKey;
exports.notesBeside = notesBeside;
