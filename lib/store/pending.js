// The sessions that were opened with a store on this machine and may not be stored to their end: whoever opens one says so before there
// is anything to store, so that a later process goes on with it however this one ends, in whatever project that process is.
const { createHash, randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { join } = require("node:path");
const { replaceFileSync } = require("../replace-file.js");
const { addressKey } = require("./address.js");
const { isObject, parse } = require("./lines.js");

/**
 * A session of this machine. Without a project it was not known yet.
 * @typedef {{ session: string, file: string, cwd: string, project?: string }} PendingSession
 */

const NAME = /^(\d+)-[0-9a-f]{16}\.json$/;

class Pending {
	#folder;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notes, address) {
		this.#folder = join(notes, "open", addressKey(address));
	}

	/** Says that this process has opened a session. @param {PendingSession} one */
	add({ session, file, cwd, project }) {
		const path = this.#pathOf(file);
		const draft = `${path}.${randomBytes(6).toString("hex")}`;
		fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
		fs.writeFileSync(draft, JSON.stringify({ session, file, cwd, project }), { mode: 0o600 });
		replaceFileSync(draft, path);
	}

	/** Takes back what this process said of a file. @param {string} file */
	remove(file) {
		fs.rmSync(this.#pathOf(file), { force: true });
	}

	/**
	 * What every process said. `take` gives whether it is still to be remembered; what a process that runs has said always is.
	 * @param {(one: PendingSession) => boolean} take
	 */
	review(take) {
		for (const name of this.#names()) {
			const path = join(this.#folder, name);
			const one = read(path);
			const isNeeded = one !== undefined && take(one);
			if (!isNeeded && !isRunning(Number(NAME.exec(name)?.[1]))) fs.rmSync(path, { force: true });
		}
	}

	/** The files that other processes of this machine have open now. @param {number} own the process that does not count */
	openElsewhere(own) {
		const others = this.#names().filter((name) => {
			const process = Number(NAME.exec(name)?.[1]);
			return process !== own && isRunning(process);
		});
		return new Set(others.flatMap((name) => read(join(this.#folder, name))?.file ?? []));
	}

	#names() {
		try {
			return fs.readdirSync(this.#folder).filter((name) => NAME.test(name));
		} catch (error) {
			if (isObject(error) && error.code === "ENOENT") return [];
			throw error;
		}
	}

	/** @param {string} file */
	#pathOf(file) {
		return join(this.#folder, `${process.pid}-${hash(file)}.json`);
	}
}

/** @param {string} path @returns {PendingSession | undefined} */
function read(path) {
	let value;
	try {
		value = parse(fs.readFileSync(path));
	} catch (error) {
		// Its process has taken it back.
		if (isObject(error) && error.code === "ENOENT") return undefined;
		throw error;
	}
	if (!isObject(value)) return undefined;
	const { session, file, cwd, project } = value;
	if (typeof session !== "string" || typeof file !== "string" || typeof cwd !== "string") return undefined;
	return { session, file, cwd, ...(typeof project === "string" && { project }) };
}

/** @param {number} process */
function isRunning(process) {
	try {
		return globalThis.process.kill(process, 0);
	} catch (error) {
		return isObject(error) && error.code === "EPERM";
	}
}

/** @param {string} text */
const hash = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);

exports.Pending = Pending;
