// The file of a store of segments that has the version of its layout, and an id that no other store has.
const { randomUUID } = require("node:crypto");
const { StoreError } = require("./errors.js");
const { isObject, parse } = require("./lines.js");

const VERSION = 1;
const LAYOUT_FILE = "store.json";

class SegmentLayout {
	/** @type {import("./segment-store").Objects} */
	#objects;
	#prepared = { read: false, write: false };

	/** @param {import("./segment-store").Objects} objects */
	constructor(objects) {
		this.#objects = objects;
	}

	/** Checks the layout's version once it is there. */
	async prepareToRead() {
		if (!this.#prepared.read) await this.readId();
	}

	/** Checks the layout's version. Gives the store's id; undefined if nothing has been written yet. */
	async readId() {
		const file = await this.#objects.get(LAYOUT_FILE);
		if (!file) {
			this.#prepared = { read: false, write: false };
			return undefined;
		}
		const value = parse(file);
		if (!isObject(value) || value.store !== "pi-session-native" || typeof value.version !== "number")
			throw new StoreError("failed", `${this.#objects.name()}: ${LAYOUT_FILE} is not that of a store of sessions`);
		if (value.version > VERSION)
			throw new StoreError("newer-schema", `${this.#objects.name()} has layout ${value.version}, this release knows ${VERSION}: install a newer pi-session-native`);
		this.#prepared.read = true;
		return typeof value.id === "string" ? value.id : undefined;
	}

	/** Creates the file if it is not there, and checks the layout's version. */
	async prepareToWrite() {
		if (this.#prepared.write) return;
		const file = Buffer.from(`${JSON.stringify({ store: "pi-session-native", version: VERSION, id: randomUUID() })}\n`);
		// Everything depends on this: a writer that replaces an existing object loses lines.
		if ((await this.#objects.create(LAYOUT_FILE, file)) && (await this.#objects.create(LAYOUT_FILE, file)))
			throw new StoreError("unsupported", `${this.#objects.name()} replaces objects that it was told to keep (If-None-Match)`);
		await this.prepareToRead();
		this.#prepared.write = true;
	}
}

exports.SegmentLayout = SegmentLayout;
