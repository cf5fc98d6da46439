// Lines in logs: one for each session and host, in a directory or a bucket. Names are in log-names.js, what a log holds in log-batches.js, how
// logs are read in log-reader.js.
//
// A host appends to its own logs alone, and its processes write to one of them one after the other (host-lock.js). So a log only grows, and
// only redactions, of whatever host, change bytes in it: they overwrite them with spaces. In a
// directory it is a file, whose torn end the next append cuts off; in a bucket it is a row of objects, of which the last one is replaced
// by a longer one, if it is still what it was, until it is full. Neither names nor order depend on the time of day.
//
// A writer looks at the session's names before it writes and once more after: a session that was deleted or a line that was redacted
// meanwhile is found by whoever comes later, either by this writer, or by the one who deletes or redacts.
const { setTimeout: pause } = require("node:timers/promises");
const { LogCursor } = require("./cursor.js");
const { StoreError, deletedError, resetError } = require("./errors.js");
const { inParallel } = require("./in-parallel.js");
const { checkAppend, checkProject, checkTtl, compareText, headerFault, sha256 } = require("./lines.js");
const { decodeBatches, encodeBatch, shortHash, shortened } = require("./log-batches.js");
const { Claims } = require("./log-claims.js");
const { LINES, deletedPath, folderOf, headerPath, headersOf, idInClaim, listingsOf, movedIn, movedPath, newListing, partPath, prefixOf, projectPath, redactedPath } = require("./log-names.js");
const { untilWritten } = require("./log-objects.js");
const { LAST_CLOCK, LogReader, checkCursor } = require("./log-reader.js");
const { LogRecords } = require("./log-records.js");
const { checkId } = require("./names.js");
const { settleRedactions, toRedactions } = require("./redactions.js");

/** @typedef {import("./index").CompleteStore} Store */
/** @typedef {import("./index").Problem} Problem */
/** @typedef {import("./log-batches").Batch} Batch */
/** @typedef {import("./log-names").SessionListing} SessionListing */
/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./cursor").Seen} Seen */
/** How often a session is read again because something was gone, or was being written; after that it counts as missing or damaged. */
const REREADS = 5;
const REREAD_MS = 20;
/** Of how many sessions the last append is remembered. */
const MAX_LAST_APPENDS = 64;
/** What follows the name of a session in the paths of its logs and headers: a generation. */
const OF_A_GENERATION = /^(\d+)(?:\/|$)/;
/** Sessions share locks, because the files of locks stay. */
const LOCKS = 64;

/**
 * What an append leaves for the next one: a cursor that has passed this host's log to its end, the listing then, and what the objects keep of
 * the log's last part.
 * @typedef {{ cursor: string, listing: SessionListing, cachedPart: unknown }} LastAppend
 */

class LogStore {
	/** @type {Objects} */
	#objects;
	#records;
	#claims;
	#lock;
	#reader;
	/** @type {Map<string, LastAppend>} */
	#lastAppends = new Map();
	/** The listings of the sessions that a list gave. @type {WeakMap<import("./index").StoredSession, SessionListing>} */
	#listings = new WeakMap();

	/**
	 * @param {Objects} objects
	 * @param {string} host
	 * @param {import("./host-lock").HostLock} lock
	 */
	constructor(objects, host, lock) {
		this.#objects = objects;
		this.#records = new LogRecords(objects);
		this.#claims = new Claims(objects, host);
		this.#lock = lock;
		this.#reader = new LogReader(objects);
		/** @readonly */
		this.host = checkId(host, "host");
	}

	/** @type {Store["append"]} */
	async append(session, append) {
		checkId(session, "session");
		const given = new Map(checkAppend(session, append).map(({ line }) => [shortHash(line), line]));
		const after = new LogCursor(append.after);
		await this.#records.prepareToWrite();
		return this.#lock(lockOf(session), async () => {
			const known = this.#lastAppends.get(session);
			this.#lastAppends.delete(session);
			// Where the log is not what it was, another process of this host wrote, or another machine that has the same id.
			return untilWritten(this.#objects, `the log of host ${this.host} and session ${session}`, async (tries) => {
				if (tries > 1) await pause(tries * 5 * Math.random());
				return this.#tryAppend(session, append, { given, after, known: tries === 0 ? known : undefined });
			});
		});
	}

	/**
	 * Undefined if the log is not what it was when this began.
	 * @param {string} session
	 * @param {import("./index").Append} append
	 * @param {{ given: Map<string, Buffer>, after: LogCursor, known: LastAppend | undefined }} state `given`: lines by hash; `known`: what the
	 *   append before this one left
	 * @returns {Promise<import("./index").Appended | undefined>}
	 */
	async #tryAppend(session, append, { given, after, known }) {
		const isNext = known !== undefined && known.cursor === append.after;
		const there = isNext ? known.listing : await this.#look(session);
		const listing = there ?? newListing(folderOf(append.project), session);
		if (listing.hosts.size === 0) {
			if (listing.deleted && !append.restores) throw deletedError(session);
			if (!after.isEmpty) throw resetError(session);
			if (given.size === 0) return { stored: 0, cursor: after.toString() };
		}
		if (!after.isEmpty && after.generation !== listing.generation) throw resetError(session);
		const ownCursor = new LogCursor(append.after);
		ownCursor.generation = listing.generation;
		// The caller's cursor passes what the caller has, after all that it had passed. Another checkout of this host, or another machine
		// that has the same id, may have written more: then the cursor stays, so that this is loaded.
		let isCallers = true;
		const lines = new Map(given);
		let size = ownCursor.of(this.host).end;
		if (!isNext) {
			size = await this.#passOwn(listing, ownCursor, (batch) => {
				// A damaged one is stored again.
				for (const { hash, line } of batch.lines) if (shortHash(line) === hash) lines.delete(hash);
				isCallers &&= batch.clock > after.clock && batch.lines.every(({ hash }) => given.has(hash));
			});
		}
		const cursor = () => (isCallers ? ownCursor : after).toString();
		await this.#dropRedacted(listing, lines);
		if (lines.size === 0) return { stored: 0, cursor: cursor() };
		if (ownCursor.clock >= LAST_CLOCK) throw new StoreError("failed", `Session ${session}: the clock of its batches has come to its end`);
		if (listing.hosts.size === 0) {
			// A store that was set back may have lost what is known of the session. Where another host was faster, its project counts.
			const project = there ? await this.#records.projectOf(session) : append.project;
			if (!(await this.#records.setProject(session, project)) && !there) return undefined;
		}
		await this.#records.setHeader(listing, append.header);
		const lastBatch = ownCursor.of(this.host);
		const isFull = lastBatch.end >= this.#objects.partSize;
		const [part, start] = isFull ? [lastBatch.part + 1, 0] : [lastBatch.part, lastBatch.end];
		const { sum, bytes } = encodeBatch({ session, host: this.host, clock: ownCursor.clock + 1, prev: lastBatch.sum, lines: [...lines.values()] });
		const path = partPath(listing, this.host, part);
		const cachedPart = isNext && !isFull ? known.cachedPart : undefined;
		const written = await this.#objects.append(path, { size: isFull ? 0 : size, endOffset: start, cachedPart }, bytes);
		if (!written) {
			// The session may have been deleted before its header was stored again.
			const { generation } = await this.#listingOf(listing.folder, session);
			if (generation > listing.generation) await this.#objects.remove([headerPath(listing)]);
			return undefined;
		}
		const batch = { part, start, end: start + bytes.length, sum, clock: ownCursor.clock + 1 };
		const now = await this.#check(listing, decodeBatches(bytes, start, { session, host: this.host }).batches, path);
		ownCursor.pass(this.host, batch);
		this.#remember(session, { cursor: ownCursor.toString(), listing: now, cachedPart: written.cachedPart });
		return { stored: [...lines.keys()].filter((hash) => !now.redacted.has(hash)).length, cursor: cursor() };
	}

	/**
	 * What there is of a session after a batch was written: throws, and removes it, if the session was deleted meanwhile, and removes the
	 * bytes of what was redacted meanwhile.
	 * @param {SessionListing} before
	 * @param {Batch[]} batches
	 * @param {string} path
	 */
	async #check(before, batches, path) {
		const { session, folder, generation } = before;
		for (let looks = 0; looks < REREADS; looks++) {
			const listing = await this.#listingOf(folder, session);
			if (listing.generation > generation) {
				// Without what was before it nobody could read it, and it must not come back.
				await this.#objects.remove([path, headerPath(before)]);
				throw deletedError(session);
			}
			if (listing.hosts.size > 0) {
				await this.#blank(path, batches, listing);
				return listing;
			}
			// A drive may list what was written a moment later. A deletion leaves its mark for ever.
			await pause(REREAD_MS);
		}
		throw new StoreError("unreachable", `Session ${session}: ${this.#objects.name} does not list ${path}, which was written: it is tried again`);
	}

	/** @param {string} session @param {LastAppend} append */
	#remember(session, append) {
		this.#lastAppends.set(session, append);
		const [oldest] = this.#lastAppends.keys();
		if (this.#lastAppends.size > MAX_LAST_APPENDS && oldest !== undefined) this.#lastAppends.delete(oldest);
	}

	/** What there is of a session; undefined if it was never stored. @param {string} session */
	async #look(session) {
		const project = await this.#records.projectOf(session);
		return project === undefined ? undefined : this.#listingOf(folderOf(project), session);
	}

	/** @param {string} folder @param {string} session */
	async #listingOf(folder, session) {
		const listings = listingsOf(await this.#objects.list(prefixOf(folder, session)));
		return listings.find((listing) => listing.session === session) ?? newListing(folder, session);
	}

	/** @type {Store["load"]} */
	async load(session, after, stored) {
		checkId(session, "session");
		const start = new LogCursor(after);
		await this.#records.prepareToRead();
		for (let reads = 0; ; reads++) {
			const known = reads === 0 && stored ? this.#listings.get(stored) : undefined;
			const listing = known ?? (await this.#look(session));
			const isThere = listing !== undefined && listing.hosts.size > 0;
			if (!isThere && !start.isEmpty) throw resetError(session);
			if (!isThere) return { lines: [], cursor: start.toString(), comesAfter: true, more: false, problems: [] };
			const page = await this.#reader.page(listing, start, reads >= REREADS);
			// What is wrong may have been redacted since it was listed.
			if (page && !(known && page.problems.length > 0)) return page;
			if (!page) await pause(REREAD_MS);
		}
	}

	/**
	 * Goes on to the end of this host's log. Gives how large its last part is: a batch at its end may be torn. So may be one whose end was
	 * written and whose middle was not, as a power failure leaves it in a directory: it was not acknowledged, unless the drive has lost what it
	 * had synchronised. What a cursor has passed is not read here, and stays.
	 * @param {SessionListing} listing
	 * @param {LogCursor} cursor
	 * @param {(batch: Batch & Seen) => void} onBatch
	 */
	async #passOwn(listing, cursor, onBatch) {
		const { session } = listing;
		// In a directory that is synchronised, what another host has may be away for a moment.
		checkCursor(listing, cursor, this.host);
		/** @type {Map<string, Batch[]>} */
		const passed = new Map();
		const { problems, isWaiting, isLast } = await this.#reader.log(listing, this.host, cursor, Infinity, (batch, path) => {
			passed.set(path, [...(passed.get(path) ?? []), batch]);
			onBatch(batch);
		});
		const problem = isWaiting && !isLast ? problems.at(-1) : undefined;
		if (problem) throw new StoreError("failed", `Session ${session}: ${problem.where}: ${problem.message}`);
		// A process that was killed after it wrote them did not look at what was redacted.
		for (const [path, batches] of passed) await this.#blank(path, batches, listing);
		const lastPart = (listing.hosts.get(this.host) ?? []).find(({ part }) => part === cursor.of(this.host).part);
		return lastPart?.size ?? 0;
	}

	/**
	 * Removes the bytes of redacted lines.
	 * @param {string} path
	 * @param {Batch[]} batches in it
	 * @param {SessionListing} listing
	 */
	async #blank(path, batches, { redacted }) {
		if (redacted.size === 0) return;
		const found = batches.flatMap(({ lines }) => lines).filter(({ hash, line }) => redacted.has(hash) && line.some((byte) => byte !== 0x20));
		if (found.length > 0) await this.#objects.blank(path, found.map(({ at, line }) => ({ at, length: line.length })));
	}

	/**
	 * Takes from lines what was redacted, and what stands in the place of a redacted line that is stored.
	 * @param {SessionListing} listing
	 * @param {Map<string, Buffer>} lines by hash
	 */
	async #dropRedacted(listing, lines) {
		const { redacted } = listing;
		if (redacted.size === 0) return;
		for (const hash of redacted.keys()) lines.delete(hash);
		const originals = new Map([...redacted].flatMap(([hash, { other }]) => (other !== undefined && lines.has(other) ? [[hash, other]] : [])));
		if (originals.size === 0) return;
		for (const host of listing.hosts.keys())
			await this.#reader.log(listing, host, new LogCursor(), Infinity, (batch) => {
				for (const { hash } of batch.lines) lines.delete(originals.get(hash) ?? "");
			});
	}

	/** @type {Store["list"]} */
	async list({ session, project, headers = true, claims = true, onAnswer } = {}) {
		if (session !== undefined) checkId(session, "session");
		const store = await this.#records.readId();
		onAnswer?.();
		/** @type {import("./index").SessionList} */
		const list = { sessions: [], deleted: [], problems: [], ...(store !== undefined && { store }) };
		const [listings, holders] = await Promise.all([this.#listingsFor({ session, project }, list.problems), claims ? this.#claims.holders() : new Map()]);
		await inParallel(listings, async (listing) => {
			if (listing.hosts.size > 0) {
				const claim = holders.get(idInClaim(listing.session));
				const stored = await this.#describe(listing, { isAsked: headers, project }, list.problems);
				if (!stored) return;
				const described = { ...stored, ...(claim && { claim }) };
				this.#listings.set(described, listing);
				list.sessions.push(described);
			} else if (listing.deleted) list.deleted.push({ session: listing.session, at: listing.deleted });
		});
		for (const all of [list.sessions, list.deleted]) all.sort((a, b) => compareText(a.session, b.session));
		return list;
	}

	/** @param {{ session?: string, project?: string }} filter @param {Problem[]} problems */
	async #listingsFor({ session, project }, problems) {
		// The sessions of a project that got this one's name stay where they are, and a mark says that they are this one's, too.
		const own = project === undefined ? undefined : await this.#objects.list(folderOf(project));
		if (session !== undefined) {
			const { project: named, fault } = await this.#records.readProject(session);
			if (fault !== undefined) problems.push({ session, where: projectPath(session), message: fault });
			const listing = named === undefined ? undefined : await this.#listingOf(folderOf(named), session);
			return listing && (!own || [folderOf(project), ...movedIn(own)].includes(listing.folder)) ? [listing] : [];
		}
		if (!own) return listingsOf(await this.#objects.list(LINES));
		const moved = await Promise.all(movedIn(own).map((folder) => this.#objects.list(folder)));
		return listingsOf([...own, ...moved.flat()]);
	}

	/** Nothing is copied or deleted, so that nothing that somebody appends meanwhile can be lost. @type {Store["move"]} */
	async move(from, to) {
		for (const project of [from, to]) checkProject(project);
		await this.#records.prepareToRead();
		const moved = movedIn(await this.#objects.list(folderOf(from)));
		for (const folder of [folderOf(from), ...moved]) if (folder !== folderOf(to)) await this.#objects.create(movedPath(to, folder), Buffer.alloc(0));
	}

	/**
	 * @param {SessionListing} listing
	 * @param {{ isAsked: boolean, project?: string }} options `isAsked`: the header is wanted
	 * @param {Problem[]} problems
	 * @returns {Promise<import("./index").StoredSession | undefined>}
	 */
	async #describe(listing, { isAsked, project }, problems) {
		const { session, hosts, redacted } = listing;
		const header = isAsked ? await this.#records.headerOf(listing) : undefined;
		const named = isAsked ? await this.#records.readProject(session) : {};
		if (isAsked) {
			const faults = { [headerPath(listing)]: await this.#headerFault(listing, header), [projectPath(session)]: projectFault(listing, named) };
			const found = Object.entries(faults).flatMap(([where, message]) => (message === undefined ? [] : { session, where, message }));
			problems.push(...found);
			if (found.length > 0 || !header) return undefined;
		}
		const parts = [...hosts.values()].flat();
		return {
			...{ session, header: header ?? Buffer.alloc(0), project: project ?? (named.project || undefined) },
			...{ hosts: [...hosts.keys()].sort(compareText), redactions: redacted.size },
			bytes: parts.reduce((sum, { size }) => sum + size, 0),
			modified: parts.map(({ modified }) => modified).reduce((last, one) => (one > last ? one : last)),
		};
	}

	/**
	 * What is wrong with a session's header. That it is missing is not if the session was deleted since it was listed.
	 * @param {SessionListing} listing
	 * @param {Buffer} [header]
	 */
	async #headerFault({ session, folder, generation }, header) {
		if (header) return headerFault(header, session);
		const now = await this.#listingOf(folder, session);
		return now.generation === generation ? "its header is missing" : undefined;
	}

	/** @type {Store["header"]} */
	async header(session, stored) {
		checkId(session, "session");
		await this.#records.prepareToRead();
		const listing = (stored && this.#listings.get(stored)) ?? (await this.#look(session));
		if (!listing || listing.hosts.size === 0) return undefined;
		const header = await this.#records.headerOf(listing);
		const fault = await this.#headerFault(listing, header);
		if (fault !== undefined) throw new StoreError("failed", `${headerPath(listing)}: ${fault}`);
		return header;
	}

	/** @type {Store["delete"]} */
	async delete(session) {
		checkId(session, "session");
		await this.#records.prepareToRead();
		this.#lastAppends.delete(session);
		const before = await this.#look(session);
		if (!before) return;
		// What an interrupted deletion left is removed without another mark.
		const isOver = before.hosts.size === 0 && before.deleted !== undefined;
		const generation = isOver ? before.generation - 1 : before.generation;
		// First: so lists say that it is deleted, however this is stopped.
		if (!isOver) await this.#objects.create(deletedPath(before.folder, session, generation), Buffer.alloc(0));
		// Who appends looks once more after writing, and removes what this list does not have. What was put back meanwhile stays.
		const prefix = prefixOf(before.folder, session);
		const objects = await this.#objects.list(prefix);
		const headers = headersOf(session);
		const isEnded = (/** @type {string} */ end) => Number(OF_A_GENERATION.exec(end)?.[1]) <= generation;
		const pathsOf = (/** @type {import("./log-objects").ObjectInfo[]} */ all, /** @type {string} */ start) =>
			all.map(({ path }) => path).filter((path) => isEnded(path.slice(start.length)));
		await this.#objects.remove(pathsOf(objects, prefix));
		await this.#objects.remove(pathsOf(await this.#objects.list(headers), headers));
		// That a line was redacted stays known, but not what stands in its place.
		const listing = listingsOf(objects).find((listing) => listing.session === session);
		if (!listing || listing.hosts.size > 0) return;
		for (const [short, { hash, line }] of await this.#reader.redactedIn(listing)) {
			if (line === undefined) continue;
			await this.#objects.create(redactedPath(listing.folder, session, short), Buffer.from(`${hash}\n`));
			await this.#objects.remove([redactedPath(listing.folder, session, short, shortHash(line))]);
		}
		await this.#removeLost(listing);
	}

	/** Removes what was put in the places of redacted lines and does not stand there. @param {SessionListing} listing */
	async #removeLost({ redacted }) {
		await this.#objects.remove([...redacted.values()].flatMap(({ lost }) => lost));
	}

	/** @type {Store["redact"]} */
	async redact(session, redactions) {
		checkId(session, "session");
		await this.#records.prepareToRead();
		settleRedactions(session, redactions, []);
		const before = await this.#thereOf(session);
		for (const { hash, line } of settleRedactions(session, redactions, await this.#redactionsIn(before))) {
			const short = shortened(Buffer.from(hash, "hex"));
			const path = redactedPath(before.folder, session, short, line && shortHash(line));
			await this.#objects.create(path, Buffer.concat([Buffer.from(`${hash}\n`), line ?? Buffer.alloc(0)]));
		}
		// All of them are applied, because whoever made the others may have been stopped here.
		const listing = await this.#thereOf(session);
		await this.#removeLost(listing);
		for (const [host, parts] of listing.hosts)
			await inParallel(parts, async ({ path }) => {
				const content = await this.#objects.get(path);
				if (content) await this.#blank(path, decodeBatches(content.bytes, 0, { session, host }).batches, listing);
			});
	}

	/** What there is of a session; throws if it is not there. @param {string} session */
	async #thereOf(session) {
		const listing = await this.#look(session);
		if (listing && listing.hosts.size > 0) return listing;
		throw listing?.deleted ? deletedError(session) : new StoreError("not-found", `There is no session ${session}`);
	}

	/** @type {Store["redactions"]} */
	async redactions(session) {
		checkId(session, "session");
		await this.#records.prepareToRead();
		const listing = await this.#look(session);
		return listing ? this.#redactionsIn(listing) : [];
	}

	/** @param {SessionListing} listing */
	async #redactionsIn(listing) {
		return toRedactions(new Map([...(await this.#reader.redactedIn(listing)).values()].map(({ hash, line }) => [hash, line])));
	}

	/** @type {Store["claim"]} */
	async claim(session, claim) {
		checkId(session, "session");
		const ttl = checkTtl(claim);
		await this.#records.prepareToRead();
		await this.#thereOf(session);
		return this.#lock("claims", async () => {
			const claimed = await this.#claims.claim(session, ttl);
			// What other users left may be theirs to remove.
			await this.#claims.sweep().catch(() => {});
			return claimed;
		});
	}

	async close() {
		this.#objects.close?.();
	}
}

/**
 * What is wrong with what is stored of a session's project. In a directory that is synchronised two hosts may have stored the session first,
 * each under another name of its project: appends, deletions and redactions go to one of the two folders, and lists show both.
 * @param {SessionListing} listing
 * @param {{ project?: string, fault?: string }} named
 */
function projectFault({ folder }, { project, fault }) {
	if (fault !== undefined) return fault;
	if (project === undefined) return "it is missing";
	const own = folderOf(project);
	return own === folder ? undefined : `it names the project ${JSON.stringify(project)}, whose lines are in ${own}, but there are some in ${folder}`;
}

/** The name of the lock of a session. @param {string} session */
const lockOf = (session) => `session-${Number(sha256(Buffer.from(session))[0]) % LOCKS}`;

exports.LogStore = LogStore;
