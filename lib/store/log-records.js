// Session records: what a directory or a bucket knows of itself, in store.json, and of each session.
//
// A record is a line of JSON, `{"project":"github.com/me/shop","generation":1}`, and the line of the session's header. An id that was deleted
// and put back has another generation; `deleted` is in the record of one that was deleted, and there is no header then.
const { randomUUID } = require("node:crypto");
const { StoreError } = require("./errors.js");
const { headerFault, isCount, isObject, parse } = require("./lines.js");
const { deletedPath, folderOf, recordPath } = require("./log-names.js");
const { untilWritten } = require("./log-objects.js");

/** @typedef {import("./log-objects").Objects} Objects */
/**
 * @typedef {object} SessionRecord
 * @property {string} folder of the project
 * @property {string} [project]
 * @property {number} generation
 * @property {boolean} isDeleted
 * @property {Buffer} [header]
 * @property {string} [tag] of the object
 */

const VERSION = 2;
const LAYOUT_FILE = "store.json";
const NEWLINE = 0x0a;

class SessionRecords {
	/** @type {Objects} */
	#objects;
	/** The store's id once the layout's version was checked. @type {string | undefined} */
	#id;
	/** The records of sessions that were not deleted when they were last read. @type {Map<string, SessionRecord>} */
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
			throw new StoreError("failed", `${this.#objects.name}: ${LAYOUT_FILE} is not that of a store of sessions`);
		if (value.version < VERSION)
			throw new StoreError("unsupported", `${this.#objects.name} has layout ${value.version}, which no release has: empty this place, or name another one, and push again`);
		if (value.version > VERSION)
			throw new StoreError("newer-schema", `${this.#objects.name} has layout ${value.version}, this release knows ${VERSION}: install a newer pi-session-native`);
		this.#id = String(value.id ?? "");
		return this.#id;
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
	 * The record of a session; undefined if it was never stored. What was read before is given again while the session is not deleted.
	 * @param {string} session
	 * @param {{ again?: boolean }} [options] `again`: reads it anew
	 * @returns {Promise<SessionRecord | undefined>}
	 */
	async get(session, { again = false } = {}) {
		const known = again ? undefined : this.#known.get(session);
		if (known) return known;
		this.#known.delete(session);
		const object = await this.#objects.get(recordPath(session));
		const record = object && this.#decode(session, object);
		if (record && !record.isDeleted) this.#known.set(session, record);
		return record;
	}

	/** What is known of a session is read anew the next time. @param {string} session */
	forget(session) {
		this.#known.delete(session);
	}

	/**
	 * The record to append with: that of the session, or a new one if there is none, or it was deleted and is to be put back.
	 * @param {string} session
	 * @param {{ header: Buffer, project?: string, restores?: boolean, isUnlisted: boolean }} made `isUnlisted`: a list shows nothing of it
	 * @returns {Promise<SessionRecord>}
	 */
	make(session, { header, project, restores, isUnlisted }) {
		return untilWritten(this.#objects, recordPath(session), async (tries) => {
			const record = await this.get(session, { again: tries > 0 });
			// A deletion may have been stopped before it marked the record. What was made here just now was not deleted.
			const mark = record && isUnlisted && tries === 0 ? await this.#objects.get(deletedPath(record.folder, session, record.generation)) : undefined;
			const isDeleted = record?.isDeleted || mark !== undefined;
			if (record && !(isDeleted && restores)) return { ...record, isDeleted };
			const from = record ?? { project, folder: folderOf(project), generation: 0 };
			await this.#write(session, { ...from, generation: from.generation + 1, isDeleted: false, header }, record);
			return undefined;
		});
	}

	/**
	 * Marks a session as deleted: first its generation, so that lists say it however this is stopped. Gives its record if it was ever stored.
	 * @param {string} session
	 */
	async end(session) {
		const { record } = await untilWritten(this.#objects, recordPath(session), async () => {
			const record = await this.get(session, { again: true });
			if (!record) return { record };
			await this.#objects.create(deletedPath(record.folder, session, record.generation), Buffer.alloc(0));
			if (record.isDeleted) return { record };
			await this.#write(session, { ...record, isDeleted: true, header: undefined }, record);
			return undefined;
		});
		return record;
	}

	/** @param {string} session @param {SessionRecord} record @param {SessionRecord} [before] */
	async #write(session, { project, generation, isDeleted, header }, before) {
		const line = JSON.stringify({ project, generation, ...(isDeleted && { deleted: true }) });
		const bytes = Buffer.concat([Buffer.from(`${line}\n`), ...(header ? [header, Buffer.from("\n")] : [])]);
		this.forget(session);
		if (before) await this.#objects.replace(recordPath(session), bytes, before.tag);
		else await this.#objects.create(recordPath(session), bytes);
	}

	/**
	 * @param {string} session
	 * @param {{ bytes: Buffer, tag?: string }} object
	 * @returns {SessionRecord}
	 */
	#decode(session, { bytes, tag }) {
		const end = bytes.indexOf(NEWLINE);
		const value = parse(bytes.subarray(0, Math.max(0, end)));
		if (!isObject(value) || !isCount(value.generation) || (value.project !== undefined && typeof value.project !== "string"))
			throw new StoreError("failed", `${this.#objects.name}: ${recordPath(session)} is not the record of a session`);
		const { generation, project, deleted } = value;
		return { project, folder: folderOf(project), generation, isDeleted: deleted === true, header: bytes.subarray(end + 1, bytes.lastIndexOf(NEWLINE)), tag };
	}
}

/**
 * What is wrong with the header in a record; undefined if nothing is.
 * @param {SessionRecord} record
 * @param {string} session
 */
const faultOfRecord = ({ header }, session) => (header ? headerFault(header, session) : "it has no header");

exports.SessionRecords = SessionRecords;
exports.faultOfRecord = faultOfRecord;
