// Heads: what a directory or a bucket knows of itself, in store.json, and of each session.
//
// A head is a line of JSON, `{"project":"github.com/me/shop","life":1}`, and the line of the session's header. An id that was deleted and
// put back has another life; `deleted` is in the head of one that was deleted, and there is no header then.
const { randomUUID } = require("node:crypto");
const { StoreError } = require("./errors.js");
const { headerFault, isCount, isObject, parse } = require("./lines.js");
const { folderOf, headPath } = require("./log-names.js");
const { untilWritten } = require("./log-objects.js");

/** @typedef {import("./log-objects").Objects} Objects */
/**
 * @typedef {object} Head
 * @property {string} folder of the project
 * @property {string} [project]
 * @property {number} life
 * @property {boolean} isDeleted
 * @property {Buffer} [header]
 * @property {string} [tag] of the object
 */

const VERSION = 1;
const LAYOUT_FILE = "store.json";
const NEWLINE = 0x0a;

class Heads {
	/** @type {Objects} */
	#objects;
	/** The store's id once the layout's version was checked. @type {string | undefined} */
	#id;
	/** The heads of sessions that were not deleted when they were last read. @type {Map<string, Head>} */
	#known = new Map();

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
		const file = await this.#objects.get(LAYOUT_FILE);
		if (!file) {
			this.#id = undefined;
			this.#known.clear();
			// Without a bucket or a drive this is an error: it is not an empty store.
			await this.#objects.list(LAYOUT_FILE);
			return undefined;
		}
		const value = parse(file.bytes);
		if (!isObject(value) || value.store !== "pi-session-native" || typeof value.version !== "number")
			throw new StoreError("failed", `${this.#objects.name()}: ${LAYOUT_FILE} is not that of a store of sessions`);
		if (value.version !== VERSION)
			throw new StoreError("newer-schema", `${this.#objects.name()} has layout ${value.version}, this release knows ${VERSION}: install a newer pi-session-native`);
		this.#id = String(value.id ?? "");
		return this.#id;
	}

	/** Creates the file if it is not there, and checks the layout's version. */
	async prepareToWrite() {
		await this.prepareToRead();
		if (this.#id !== undefined) return;
		const file = Buffer.from(`${JSON.stringify({ store: "pi-session-native", version: VERSION, id: randomUUID() })}\n`);
		if (await this.#objects.create(LAYOUT_FILE, file)) await this.#objects.check?.(LAYOUT_FILE, file);
		await this.prepareToRead();
	}

	/**
	 * The head of a session; undefined if it was never stored. What was read before is given again while the session is not deleted.
	 * @param {string} session
	 * @param {{ again?: boolean }} [options] `again`: reads it anew
	 * @returns {Promise<Head | undefined>}
	 */
	async get(session, { again = false } = {}) {
		const known = again ? undefined : this.#known.get(session);
		if (known) return known;
		this.#known.delete(session);
		const object = await this.#objects.get(headPath(session));
		return object && this.#keep(session, this.#decode(session, object));
	}

	/** What is known of a session is read anew the next time. @param {string} session */
	forget(session) {
		this.#known.delete(session);
	}

	/**
	 * The head to append with: that of the session, or a new one if there is none, or it was deleted and is to be put back.
	 * @param {string} session
	 * @param {{ header: Buffer, project?: string, restores?: boolean }} made
	 * @returns {Promise<Head>}
	 */
	make(session, { header, project, restores }) {
		return untilWritten(this.#objects, headPath(session), async (tries) => {
			const head = await this.get(session, { again: tries > 0 });
			if (head && !(head.isDeleted && restores)) return head;
			const from = head ?? { project, folder: folderOf(project), life: 0 };
			await this.#write(session, { ...from, life: from.life + 1, isDeleted: false, header }, head);
			return undefined;
		});
	}

	/**
	 * Marks a session as deleted. Gives its head if it was ever stored.
	 * @param {string} session
	 */
	async end(session) {
		const { head } = await untilWritten(this.#objects, headPath(session), async () => {
			const head = await this.get(session, { again: true });
			if (!head || head.isDeleted) return { head };
			await this.#write(session, { ...head, isDeleted: true, header: undefined }, head);
			return undefined;
		});
		return head;
	}

	/** @param {string} session @param {Head} head @param {Head} [before] */
	async #write(session, { project, life, isDeleted, header }, before) {
		const line = JSON.stringify({ project, life, ...(isDeleted && { deleted: true }) });
		const bytes = Buffer.concat([Buffer.from(`${line}\n`), ...(header ? [header, Buffer.from("\n")] : [])]);
		this.forget(session);
		if (before) await this.#objects.replace(headPath(session), bytes, before.tag);
		else await this.#objects.create(headPath(session), bytes);
	}

	/** @param {string} session @param {Head} head */
	#keep(session, head) {
		if (!head.isDeleted) this.#known.set(session, head);
		return head;
	}

	/**
	 * @param {string} session
	 * @param {{ bytes: Buffer, tag?: string }} object
	 * @returns {Head}
	 */
	#decode(session, { bytes, tag }) {
		const end = bytes.indexOf(NEWLINE);
		const value = parse(bytes.subarray(0, Math.max(0, end)));
		if (!isObject(value) || !isCount(value.life) || (value.project !== undefined && typeof value.project !== "string"))
			throw new StoreError("failed", `${this.#objects.name()}: ${headPath(session)} is not the head of a session`);
		const { life, project, deleted } = value;
		return { project, folder: folderOf(project), life, isDeleted: deleted === true, header: bytes.subarray(end + 1, bytes.lastIndexOf(NEWLINE)), tag };
	}
}

/**
 * What is wrong with the header in a head; undefined if nothing is.
 * @param {Head} head
 * @param {string} session
 */
const faultOfHead = ({ header }, session) => (header ? headerFault(header, session) : "it has no header");

exports.Heads = Heads;
exports.faultOfHead = faultOfHead;
