// What a directory or a bucket has besides lines: store.json, which marks it as a store, the name of each session's project, and headers. None
// of them ever changes. A session that was deleted keeps its project, and loses its header; one that is put back gets another header.
const { randomUUID } = require("node:crypto");
const { StoreError } = require("./errors.js");
const { buffer, isObject, parse } = require("./lines.js");
const { headerPath, projectPath } = require("./log-names.js");

/** @typedef {import("./log-names").SessionListing} SessionListing */
/** @typedef {import("./log-objects").Objects} Objects */

const VERSION = 3;
const LAYOUT_FILE = "store.json";

class LogRecords {
	/** @type {Objects} */
	#objects;
	/** The store's id once the layout's version was checked. @type {string | undefined} */
	#id;
	/** By session. @type {Map<string, string>} */
	#projects = new Map();
	/** The paths of those that this process has stored or found. @type {Set<string>} */
	#headers = new Set();

	/** @param {Objects} objects */
	constructor(objects) {
		this.#objects = objects;
	}

	/** Checks the layout's version once it is there. */
	async prepareToRead() {
		if (this.#id === undefined) await this.readId();
	}

	/** Checks the layout's version. Gives the store's id; undefined if nothing has been written yet. */
	async readId() {
		const before = this.#id;
		this.#id = await this.#idNow();
		if (this.#id !== before) for (const known of [this.#projects, this.#headers]) known.clear();
		return this.#id;
	}

	async #idNow() {
		const file = await this.#objects.get(LAYOUT_FILE);
		if (!file) {
			// Without a bucket or a drive this is an error: it is not an empty store.
			await this.#objects.list(LAYOUT_FILE);
			return undefined;
		}
		const value = parse(file.bytes);
		if (!isObject(value) || value.store !== "pi-session-native" || typeof value.version !== "number")
			throw new StoreError("failed", `${this.#objects.name}: ${LAYOUT_FILE} is not that of a store of sessions`);
		if (value.version < VERSION)
			throw new StoreError("unsupported", `${this.#objects.name} has layout ${value.version}, which no release has: empty this place, or name another one, and push again`);
		if (value.version > VERSION)
			throw new StoreError("newer-schema", `${this.#objects.name} has layout ${value.version}, this release knows ${VERSION}: install a newer pi-session-native`);
		return String(value.id ?? "");
	}

	/** Creates the file if it is not there, and checks the layout's version. */
	async prepareToWrite() {
		await this.prepareToRead();
		if (this.#id !== undefined) return;
		// First: what is there once is not checked again.
		await this.#objects.check?.();
		await this.#objects.create(LAYOUT_FILE, Buffer.from(`${JSON.stringify({ store: "pi-session-native", version: VERSION, id: randomUUID() })}\n`));
		await this.prepareToRead();
	}

	/**
	 * The project of a session, empty if it has none; undefined if the session was never stored. Or what is wrong with what is stored of that.
	 * @param {string} session
	 * @returns {Promise<{ project?: string, fault?: string }>}
	 */
	async readProject(session) {
		const known = this.#projects.get(session);
		if (known !== undefined) return { project: known };
		const text = (await this.#objects.get(projectPath(session)))?.bytes.toString();
		if (text === undefined) return {};
		// Its beginning may be the name of another project.
		if (!text.endsWith("\n")) return { fault: "it is cut off" };
		const project = text.slice(0, -1);
		this.#projects.set(session, project);
		return { project };
	}

	/** As `readProject`; throws if something is wrong with it. @param {string} session */
	async projectOf(session) {
		const { project, fault } = await this.readProject(session);
		if (fault !== undefined) throw new StoreError("failed", `${projectPath(session)}: ${fault}`);
		return project;
	}

	/** Gives false if the session has a project already. @param {string} session @param {string} [project] */
	async setProject(session, project = "") {
		return this.#objects.create(projectPath(session), Buffer.from(`${project}\n`));
	}

	/**
	 * Stores the header of a session if it has none, and looks for it once in a process: a backup may lack it. That of the host that appended first stays.
	 * @param {SessionListing} listing
	 * @param {Uint8Array} header
	 */
	async setHeader(listing, header) {
		const path = headerPath(listing);
		const isThere = listing.hosts.size > 0 && (this.#headers.has(path) || (await this.headerOf(listing)) !== undefined);
		if (!isThere) await this.#objects.create(path, buffer(header));
		this.#headers.add(path);
	}

	/** @param {SessionListing} listing */
	async headerOf(listing) {
		return (await this.#objects.get(headerPath(listing)))?.bytes;
	}
}

exports.LogRecords = LogRecords;
