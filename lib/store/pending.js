// The sessions that were opened with a store on this machine and may not be stored to their end: whoever opens one says so before there
// is anything to store, so that a later process goes on with it however this one ends, in whatever project that process is.
const { createHash } = require("node:crypto");
const { join } = require("node:path");
const { addressKey } = require("./address.js");
const { isObject } = require("./lines.js");
const { namesIn, readJson, remove, writeWholeSync } = require("./small-file.js");

/**
 * A session of this machine. Without a project it was not known yet.
 * @typedef {{ session: string, file: string, cwd: string, project?: string }} PendingSession
 */

const NAME = /^(\d+)-[0-9a-f]{16}\.json$/;

class Pending {
	#folder;
	#process;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 * @param {number} [process] the one that has sessions open
	 */
	constructor(notes, address, process = globalThis.process.pid) {
		this.#process = process;
		this.#folder = join(notes, "open", addressKey(address));
	}

	/** Says that the process has opened a session. @param {PendingSession} one */
	add({ session, file, cwd, project }) {
		writeWholeSync(this.#pathOf(file), JSON.stringify({ session, file, cwd, project }));
	}

	/** Takes back what the process said of a file. @param {string} file */
	remove(file) {
		remove(this.#pathOf(file));
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
			if (!isNeeded && !isRunning(Number(NAME.exec(name)?.[1]))) remove(path);
		}
	}

	/** What the process said, and did not take back. */
	own() {
		return this.#saidBy((process) => process === this.#process);
	}

	/** The files that other processes of this machine have open now. */
	openElsewhere() {
		return new Set(this.#saidBy((process) => process !== this.#process && isRunning(process)).map(({ file }) => file));
	}

	/** @param {(process: number) => boolean} isWanted */
	#saidBy(isWanted) {
		const names = this.#names().filter((name) => isWanted(Number(NAME.exec(name)?.[1])));
		return names.flatMap((name) => read(join(this.#folder, name)) ?? []);
	}

	#names() {
		return namesIn(this.#folder).filter((name) => NAME.test(name));
	}

	/** @param {string} file */
	#pathOf(file) {
		return join(this.#folder, `${this.#process}-${hash(file)}.json`);
	}
}

/** What is written down, unless its process has taken it back. @param {string} path @returns {PendingSession | undefined} */
function read(path) {
	const value = readJson(path);
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
