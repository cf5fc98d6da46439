// A store of logs: one log for each session and host, in a directory or a bucket. docs/store-adapters.md has the rules
// that every change must keep. log-names.js contains the names, log-batches.js the content of a log, log-reader.js and
// log-writer.js read and append.
const { setTimeout: pause } = require("node:timers/promises");
const { LogCursor } = require("./cursor.js");
const { StoreError, resetError } = require("../base/errors.js");
const { inParallel } = require("../base/in-parallel.js");
const { checkAppend, checkProject, compareText, sha256 } = require("../base/lines.js");
const { checksumOf } = require("./log-batches.js");
const {
	LINES,
	deletedPath,
	folderOf,
	listingsOf,
	marksIn,
	movedPath,
	newNamesIn,
	projectPath,
} = require("./log-names.js");
const { untilWritten } = require("./log-objects.js");
const { LogReader } = require("./log-reader.js");
const { LogRecords } = require("./log-records.js");
const { LogRedactions } = require("./log-redactions.js");
const { LogWriter } = require("./log-writer.js");
const { checkId } = require("../base/names.js");
const { settleRedactions, toRedactions } = require("../base/redaction-rules.js");

/** @typedef {import("../index").LineStore} Store */
/** @typedef {import("../index").Problem} Problem */
/** @typedef {import("./log-names").SessionListing} SessionListing */
/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./log-writer").LastAppend} LastAppend */
/** The number of times that a load tries again if something is missing or being written. Then it counts as damaged. */
const REREADS = 5;
const REREAD_MS = 20;
/** The number of sessions whose last append is remembered. */
const MAX_LAST_APPENDS = 64;
/** Sessions share this number of locks, because the files of locks stay. */
const LOCKS = 64;

class LogStore {
	/** @type {Objects} */
	#objects;
	#records;
	#redactions;
	#reader;
	#context;
	#lock;
	/** @type {Map<string, LastAppend>} */
	#lastAppends = new Map();
	/**
	 * The listing of each session that `list` returned.
	 * @type {WeakMap<import("../index").StoredSession, SessionListing>}
	 */
	#listings = new WeakMap();

	/**
	 * @param {Objects} objects
	 * @param {string} host
	 * @param {import("../machine/host-lock").HostLock} lock
	 */
	constructor(objects, host, lock) {
		this.#objects = objects;
		this.#records = new LogRecords(objects);
		this.#redactions = new LogRedactions(objects);
		this.#reader = new LogReader(objects, this.#redactions, host);
		this.#lock = lock;
		/** @readonly */
		this.host = checkId(host, "host");
		this.#context = { host, objects, records: this.#records, reader: this.#reader, redactions: this.#redactions };
	}

	/** @type {Store["append"]} */
	async append(session, append) {
		checkId(session, "session");
		const given = new Map(checkAppend(session, append).map((line) => [checksumOf(line), line]));
		await this.#records.prepareToWrite();
		return this.#lock(lockOf(session), async () => {
			const before = this.#lastAppends.get(session);
			this.#lastAppends.delete(session);
			// An attempt fails if another process of this host wrote, or another machine with the same id.
			const { appended, last } = await untilWritten(
				this.#objects,
				`the log of host ${this.host} and session ${session}`,
				async (tries) => {
					if (tries > 1) await pause(tries * 5 * Math.random());
					const isNext = tries === 0 && before?.cursor === append.after;
					return new LogWriter(this.#context, session, append, given, isNext ? before : undefined).run();
				},
			);
			if (this.#lastAppends.size >= MAX_LAST_APPENDS) this.#lastAppends.clear();
			if (last) this.#lastAppends.set(session, last);
			return appended;
		});
	}

	/** @type {Store["load"]} */
	async load(session, after, stored) {
		const start = new LogCursor(after);
		for (let reads = 0; ; reads++) {
			const known = reads === 0 && stored ? this.#listings.get(stored) : undefined;
			const listing = known ?? (await this.#records.findListing(session));
			const isThere = listing !== undefined && listing.hosts.size > 0;
			if (!isThere && !start.isEmpty) throw resetError(session);
			if (!isThere) return { lines: [], cursor: start.toString(), comesAfter: true, more: false, problems: [] };
			const page = await this.#reader.page(listing, start, reads >= REREADS).catch((error) => {
				// The cursor may have passed lines that were stored since the list.
				if (known && error.code === "reset") return undefined;
				throw error;
			});
			// A line with a problem may have been redacted since the list.
			if (page && !(known && page.problems.length > 0)) return page;
			if (!page) await pause(REREAD_MS);
		}
	}

	/** @type {Store["list"]} */
	async list({ session, project } = {}) {
		if (session !== undefined) checkId(session, "session");
		const store = await this.#records.readId();
		/** @type {import("../index").SessionList} */
		const list = { sessions: [], deleted: [], problems: [], ...(store !== undefined && { store }) };
		const found = await this.#find({ session, project }, list.problems);
		for (const { listing, project } of found) {
			const { session: id, hosts, deleted: at } = listing;
			if (hosts.size === 0 && at) list.deleted.push({ session: id, at });
			if (hosts.size === 0) continue;
			const stored = { session: id, ...summaryOf(listing), project: project || undefined };
			this.#listings.set(stored, listing);
			list.sessions.push(stored);
		}
		for (const all of [list.sessions, list.deleted]) all.sort((a, b) => compareText(a.session, b.session));
		return list;
	}

	/**
	 * @param {{ session?: string, project?: string }} filter
	 * @param {Problem[]} problems
	 * @returns {Promise<{ listing: SessionListing, project: string | undefined }[]>}
	 */
	async #find({ session, project }, problems) {
		// `move` leaves sessions in their folder, and a mark says that they belong to this project, too.
		const own = project === undefined ? undefined : await this.#objects.list(folderOf(project));
		const movedFolders = marksIn(own ?? []).map(({ moved }) => moved);
		if (session !== undefined) {
			const { project: named, fault } = await this.#records.readProject(session);
			if (fault !== undefined) problems.push({ session, where: projectPath(session), message: fault });
			const listing = named === undefined ? undefined : await this.#records.listingOf(folderOf(named), session);
			return listing && (!own || [folderOf(project), ...movedFolders].includes(listing.folder))
				? [{ listing, project: project ?? named }]
				: [];
		}
		if (!own) return this.#withProjects(await this.#objects.list(LINES), problems);
		const moved = await Promise.all(movedFolders.map((folder) => this.#objects.list(folder)));
		return listingsOf([...own, ...moved.flat()]).map((listing) => ({ listing, project }));
	}

	/** The new name of a project that was moved; undefined if there is none. @param {string | undefined} path */
	async #readName(path) {
		const text = path === undefined ? undefined : (await this.#objects.get(path))?.bytes.toString();
		return text?.endsWith("\n") ? text.slice(0, -1) : undefined;
	}

	/**
	 * Adds the names of projects. The name is read once for each folder, from its first session, and for each session
	 * that is in two folders, because one of them belongs to another project. A session whose project is missing or
	 * another one becomes a problem.
	 * @param {import("./log-objects").ObjectInfo[]} objects
	 * @param {Problem[]} problems
	 */
	async #withProjects(objects, problems) {
		const newNames = newNamesIn(objects);
		const listings = listingsOf(objects);
		/** @type {Map<string, SessionListing[]>} */
		const folders = new Map();
		const [ids, twice] = [new Set(), new Set()];
		for (const listing of listings.sort((a, b) => compareText(a.session, b.session))) {
			folders.set(listing.folder, folders.get(listing.folder) ?? []);
			folders.get(listing.folder)?.push(listing);
			(ids.has(listing.session) ? twice : ids).add(listing.session);
		}
		const named = await inParallel([...folders.values()], async (some) => {
			/** @type {string | undefined} */
			let project;
			const renamed = await this.#readName(newNames.get(some[0]?.folder ?? ""));
			const found = [];
			for (const listing of some) {
				const { session, hosts } = listing;
				if (hosts.size > 0 && (project === undefined || twice.has(session))) {
					const named = await this.#records.readProject(session);
					const message = projectFault(listing, named);
					if (message !== undefined) {
						problems.push({ session, where: projectPath(session), message });
						continue;
					}
					project = named.project;
				}
				found.push({ listing, project: renamed ?? project });
			}
			return found;
		});
		return named.flat();
	}

	/**
	 * Copies and deletes no lines, so that lines that are appended meanwhile cannot be lost.
	 * @type {Store["move"]}
	 */
	async move(from, to) {
		for (const project of [from, to]) checkProject(project);
		await this.#records.prepareToRead();
		const marks = marksIn(await this.#objects.list(LINES));
		const moved = marks.filter(({ folder }) => folder === folderOf(from)).map((mark) => mark.moved);
		// The sessions in a folder that was moved have another name already.
		if (!marks.some((mark) => mark.moved === folderOf(from))) moved.unshift(folderOf(from));
		for (const folder of moved) {
			// In its own project a folder needs no mark.
			if (folder !== folderOf(to)) await this.#objects.create(movedPath(to, folder), Buffer.from(`${to}\n`));
			const others = marks.filter((mark) => mark.moved === folder && mark.folder !== folderOf(to));
			await this.#objects.remove(others.map(({ path }) => path));
		}
	}

	/** @type {Store["header"]} */
	async header(session) {
		return this.#records.readHeader(session);
	}

	/** @type {Store["delete"]} */
	async delete(session) {
		this.#lastAppends.delete(session);
		const before = await this.#records.findListing(session);
		if (!before) return;
		// The mark comes first, so that lists show the deletion even if the rest is interrupted. The next deletion removes
		// what is left.
		if (!before.deleted) await this.#objects.create(deletedPath(before), Buffer.alloc(0));
		// Whoever appends or redacts meanwhile looks once more after writing, and removes what these lists do not show.
		await this.#objects.remove(await this.#records.removable(before));
	}

	/** @type {Store["redact"]} */
	async redact(session, redactions) {
		settleRedactions(session, redactions, []);
		const before = await this.#requireSession(session);
		await this.#redactions.add(before, settleRedactions(session, redactions, await this.redactions(session)));
		// This applies earlier redactions, too, because their process may have been stopped here.
		const listing = await this.#requireSession(session);
		await this.#objects.remove([...listing.redacted.values()].flatMap(({ unused }) => unused));
		for (const host of listing.hosts.keys()) await this.#redactions.blank(listing, host);
	}

	/** @param {string} session */
	async #requireSession(session) {
		const listing = await this.#records.findListing(session);
		if (listing && listing.hosts.size > 0) return listing;
		throw listing?.deleted
			? await this.#records.finishDeletion(listing)
			: new StoreError("not-found", `There is no session ${session}`);
	}

	/** @type {Store["redactions"]} */
	async redactions(session) {
		const listing = await this.#records.findListing(session);
		if (!listing) return [];
		return toRedactions(
			new Map([...(await this.#redactions.read(listing)).values()].map(({ hash, line }) => [hash, line])),
		);
	}

	async close() {
		this.#objects.close?.();
	}
}

/** The fields of a list that come from the listing alone. @param {SessionListing} listing */
function summaryOf({ hosts, redacted }) {
	const parts = [...hosts.values()].flat();
	return {
		hosts: [...hosts.keys()].sort(compareText),
		bytes: parts.reduce((sum, { size }) => sum + size, 0),
		modified: new Date(Math.max(...parts.map(({ modified }) => modified.getTime()))),
		redactions: redacted.size,
	};
}

/**
 * The fault of a session's project; undefined if there is none. In a synchronised directory two hosts may have stored
 * the session first, each under another name of its project. Then lists show both folders, and appends, deletions and
 * redactions use one of them.
 * @param {SessionListing} listing
 * @param {{ project?: string, fault?: string }} named
 */
function projectFault({ folder }, { project, fault }) {
	if (fault !== undefined) return fault;
	if (project === undefined) return "it is missing";
	const own = folderOf(project);
	return own === folder
		? undefined
		: `it names the project ${JSON.stringify(project)}, whose lines are in ${own}, but there are lines in ${folder}`;
}

/** The name of the lock of a session. @param {string} session */
const lockOf = (session) => `session-${Number(sha256(Buffer.from(session))[0]) % LOCKS}`;

exports.LogStore = LogStore;
