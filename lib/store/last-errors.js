// The last error of a store and of each session in it, for `pi-sessions remote status`: who meets an error is often a process beside pi,
// which nobody sees.
const fs = require("node:fs");
const { join } = require("node:path");
const { addressKey } = require("./address.js");
const { isObject, parse } = require("./lines.js");
const { idOf, nameOf } = require("./names.js");

/** @typedef {{ session: string | undefined, at: string, code: string | undefined, message: string }} LastError without a session it is the store's */

/** The name of the store's own; no id of a session is one. */
const STORE = "_";

class LastErrors {
	#folder;

	/**
	 * @param {string} notes the directory of this machine's notes
	 * @param {string} address of the store; nothing secret of it is kept
	 */
	constructor(notes, address) {
		this.#folder = join(notes, `errors-${addressKey(address)}`);
	}

	/**
	 * Notes what failed last, or that nothing does any more. That it cannot be noted is no error: the caller has one to tell already.
	 * @param {string | undefined} session
	 * @param {Error & { code?: string } | undefined} error
	 */
	set(session, error) {
		const path = join(this.#folder, `${session === undefined ? STORE : nameOf(session)}.json`);
		try {
			if (!error) return fs.rmSync(path, { force: true });
			fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
			fs.writeFileSync(path, JSON.stringify({ at: new Date().toISOString(), code: error.code, message: error.message }), { mode: 0o600 });
		} catch {
			// Who met the error says it, too.
		}
	}

	/** @returns {LastError[]} the store's own first */
	all() {
		return this.#names().flatMap((name) => {
			const session = name === STORE ? undefined : idOf(name);
			const value = this.#read(name);
			if (!isObject(value) || typeof value.at !== "string" || typeof value.message !== "string" || (name !== STORE && session === undefined)) return [];
			return { session, at: value.at, code: typeof value.code === "string" ? value.code : undefined, message: value.message };
		});
	}

	#names() {
		try {
			const names = fs.readdirSync(this.#folder).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
			return names.sort((a, b) => Number(b === STORE) - Number(a === STORE) || (a < b ? -1 : 1));
		} catch (error) {
			if (isObject(error) && error.code === "ENOENT") return [];
			throw error;
		}
	}

	/** @param {string} name */
	#read(name) {
		try {
			return parse(fs.readFileSync(join(this.#folder, `${name}.json`)));
		} catch (error) {
			// It is over.
			if (isObject(error) && error.code === "ENOENT") return undefined;
			throw error;
		}
	}
}

exports.LastErrors = LastErrors;
