// The objects of a directory or a bucket that are not logs: store.json, which marks it as a store, the name of each
// session's project, and headers. None of them ever changes. A deleted session keeps its project and loses its header.
// The name of the project determines the folder of the session's lines.
const { randomUUID } = require("node:crypto");
const { StoreError, deletedError } = require("../base/errors.js");
const { inParallel } = require("../base/in-parallel.js");
const { buffer, headerFault, isObject, parse } = require("../base/lines.js");
const {
	folderOf,
	headerPath,
	listingsOf,
	logsOf,
	newListing,
	prefixOf,
	projectPath,
	redactionsOf,
} = require("./log-names.js");
const { checkId } = require("../base/names.js");

/** @typedef {import("./log-names").SessionListing} SessionListing */
/** @typedef {import("./log-objects").Objects} Objects */

const VERSION = 4;
const LAYOUT_FILE = "store.json";
const CUT_OFF =
	"it is cut off: remove it, and push the session again from a machine that has it, in a directory of its project";

class LogRecords {
	/** @type {Objects} */
	#objects;
	/** Whether the version of the layout was checked. */
	#isChecked = false;

	/** @param {Objects} objects */
	constructor(objects) {
		this.#objects = objects;
	}

	/** Checks the version of the layout, if there is a store. */
	async prepareToRead() {
		if (!this.#isChecked) await this.readId();
	}

	/** Checks the version of the layout. Returns the store's id; undefined if nothing was ever stored. */
	async readId() {
		const file = await this.#objects.get(LAYOUT_FILE);
		if (!file) {
			this.#isChecked = false;
			// Fails if there is no bucket or no drive: that is not an empty store.
			await this.#objects.list(LAYOUT_FILE);
			return undefined;
		}
		const value = parse(file.bytes);
		if (!isObject(value) || value.store !== "pi-session-native" || typeof value.version !== "number")
			throw new StoreError("failed", `${this.#objects.name}: ${LAYOUT_FILE} does not belong to a store of sessions`);
		// Earlier layouts were never released.
		if (value.version !== VERSION)
			throw new StoreError(
				"newer-schema",
				`${this.#objects.name} has layout ${value.version}, and this release reads only layout ${VERSION}: ` +
					"install the pi-session-sync that created the store",
			);
		this.#isChecked = true;
		return String(value.id ?? "");
	}

	/** Creates the store if there is none, and checks the version of the layout. */
	async prepareToWrite() {
		await this.prepareToRead();
		if (this.#isChecked) return;
		// The check comes first, because it is not repeated for a store that exists.
		await this.#objects.check?.();
		await this.#objects.create(
			LAYOUT_FILE,
			Buffer.from(`${JSON.stringify({ store: "pi-session-native", version: VERSION, id: randomUUID() })}\n`),
		);
		await this.prepareToRead();
	}

	/**
	 * The project of a session (empty if it has none; undefined if the session was never stored), or the fault of its
	 * object.
	 * @param {string} session
	 * @returns {Promise<{ project?: string, fault?: string }>}
	 */
	async readProject(session) {
		const text = (await this.#objects.get(projectPath(session)))?.bytes.toString();
		if (text === undefined) return {};
		// The beginning of a name may be the name of another project.
		return text.endsWith("\n") ? { project: text.slice(0, -1) } : { fault: CUT_OFF };
	}

	/** Undefined if the session was never stored. @param {string} session */
	async findListing(session) {
		checkId(session, "session");
		await this.prepareToRead();
		const { project, fault } = await this.readProject(session);
		if (fault !== undefined) throw new StoreError("failed", `${this.#objects.name}: ${projectPath(session)}: ${fault}`);
		return project === undefined ? undefined : this.listingOf(folderOf(project), session);
	}

	/** @param {string} folder of the project @param {string} session */
	async listingOf(folder, session) {
		const listings = listingsOf(await this.#objects.list(prefixOf(folder, session)));
		return listings.find((listing) => listing.session === session) ?? newListing(folder, session);
	}

	/** The paths that a deletion removes. @param {SessionListing} listing */
	async removable(listing) {
		const objects = [
			...(await this.#objects.list(logsOf(listing))),
			...(await this.#objects.list(redactionsOf(listing))),
		];
		return [...objects.map(({ path }) => path), headerPath(listing.session)];
	}

	/**
	 * Removes objects that were written beside a deletion, as far as this host may, and returns the error that the
	 * session was deleted.
	 * @param {SessionListing} listing
	 */
	async finishDeletion(listing) {
		await inParallel(await this.removable(listing), async (path) => {
			await this.#objects.remove([path]).catch((error) => {
				// After the error `deleted` the caller may never try again, so an error that may pass comes first.
				if (error.retryable) throw error;
			});
		});
		return deletedError(listing.session);
	}

	/** Stores the project of a session; false if it has one. @param {string} session @param {string} [project] */
	async setProject(session, project = "") {
		return this.#objects.create(projectPath(session), Buffer.from(`${project}\n`));
	}

	/**
	 * Stores the header of a session if it has none. It may be missing in a restored backup.
	 * @param {SessionListing} listing
	 * @param {Uint8Array} header
	 */
	async setHeader({ session, hosts }, header) {
		if (hosts.size > 0 && (await this.#objects.get(headerPath(session)))) return;
		await this.#objects.create(headerPath(session), buffer(header));
	}

	/** The header of a session; undefined if it is not stored. @param {string} session */
	async readHeader(session) {
		checkId(session, "session");
		await this.prepareToRead();
		const header = (await this.#objects.get(headerPath(session)))?.bytes;
		if (header === undefined && !(await this.findListing(session))?.hosts.size) return undefined;
		const fault = header ? headerFault(header, session) : "its header is missing";
		if (fault !== undefined) throw new StoreError("failed", `${headerPath(session)}: ${fault}`);
		return header;
	}
}

exports.LogRecords = LogRecords;
