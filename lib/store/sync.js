// The sessions of one project on this machine, and a store.
const fs = require("node:fs");
const { join } = require("node:path");
const { StoreError, asError, privateError } = require("./errors.js");
const { isObject } = require("./lines.js");
const { inParallel } = require("./in-parallel.js");
const { fileFor, localSessions } = require("./local.js");
const { LastErrors } = require("./last-errors.js");
const { Notes, revisionOf } = require("./notes.js");
const { projectOf } = require("./project.js");
const { isAsNoted, localHeader, pull } = require("./pull.js");
const { Push } = require("./push.js");
const { RedactionSync } = require("./redaction-sync.js");
const { lagOf } = require("./session-file.js");
const { idInName } = require("./session-path.js");

/** What the public methods do is said there. @typedef {import("./index").SessionSync} Sync */
/** @typedef {import("./index").StoredSession} StoredSession */
/** @typedef {import("./local").LocalSession} LocalSession */
/** @typedef {import("./index").SyncItem} SyncItem */

/** A session that lacks more than this, in bytes, is pulled beside the others, with one other: a pull has in memory what it loads. */
const LARGE_BYTES = 4 << 20;
const LARGE_PARALLEL = 2;
/** How often a push that was asked for is tried in a row, some seconds in all. */
const TRIES = 5;

/** Whether a session lacks much here, as far as its sizes tell. @param {SyncItem} item */
const isLarge = ({ file, stored }) => stored.bytes - (file === undefined ? 0 : (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0)) > LARGE_BYTES;

/** Whether a pull has to do with a session. @param {SyncItem} item */
const isToPull = ({ state }) => state === "new" || state === "changed";

class SessionSync {
	#options;
	#notes;
	#errors;
	#redactions;
	/** @type {Map<string, Push>} by file */
	#pushes = new Map();
	/** The sessions that `compare` found last, by file. @type {Map<string, LocalSession>} */
	#found = new Map();

	/**
	 * @param {import("./index").SessionSyncOptions & { call?: import("./local").CallManager }} options `call` is internal, for
	 *   the follower: another process may have a session open
	 */
	constructor(options) {
		this.#options = options;
		this.#notes = new Notes(options.notes, options.address, options.dir);
		this.#errors = new LastErrors(options.notes, options.address);
		this.#redactions = new RedactionSync(options, this.#notes, this.#errors);
		/** @readonly */
		this.dir = options.dir;
		/** @readonly */
		this.project = options.project ?? projectOf(options.cwd, options.store.host);
	}

	/**
	 * @param {string} [session]
	 * @param {import("./index").SessionList} [known]
	 * @param {(stored: StoredSession) => boolean} [isSettled] internal, for the follower, which compares again and again: whether a session was
	 *   pulled as it is in the list. Its file is not looked at, nor are headers read again
	 * @returns {ReturnType<Sync["compare"]>}
	 */
	async compare(session, known, isSettled) {
		const { store, dir } = this.#options;
		const local = await localSessions(dir, undefined, isSettled && this.#found);
		this.#found = new Map([...local.values()].map((one) => [one.file, one]));
		const list = known ?? await store.list(session === undefined ? { project: this.project, headers: false } : { session });
		const { sessions, problems } = list;
		const items = await inParallel(sessions, async (stored) => {
			const file = local.get(stored.session)?.file;
			/** @type {SyncItem["state"]} */
			let state = "new";
			if (file !== undefined) state = isSettled?.(stored) || (await this.#isSame(stored, file)) ? "same" : "changed";
			// A session that was deleted here comes back if it is named.
			else if (this.#notes.has(stored.session) && session === undefined) state = "deleted";
			return { session: stored.session, stored, ...(file !== undefined && { file }), state };
		});
		await this.#noticeLosses(list, session === undefined ? [...local.values()].filter(({ cwd }) => this.#isHere(cwd)) : []);
		return { items, problems, deleted: list.deleted.flatMap(({ session }) => local.get(session) ?? []) };
	}

	/** Whether a file has what is stored. One that was put back from a backup lacks lines. @param {StoredSession} stored @param {string} file */
	async #isSame(stored, file) {
		const note = this.#notes.get(stored.session);
		return note?.revision === revisionOf(stored) && isAsNoted(file, note);
	}

	/** @type {Sync["behind"]} */
	async behind(items) {
		const isBehind = await inParallel(items, (item) => this.#isBehind(item));
		return items.filter((_, at) => isBehind[at]);
	}

	/** @param {SyncItem} item */
	async #isBehind(item) {
		const { session, stored, file } = item;
		const note = this.#notes.get(session);
		if (!isToPull(item)) return false;
		if (file === undefined || !note) return true;
		if (note.needsAll || (note.redactions ?? 0) !== stored.redactions || !(await isAsNoted(file, note))) return true;
		// A push notes no revision: others may have appended meanwhile. What is wrong with the store, a pull says.
		const page = await this.#options.store.load(session, note.cursor, stored).catch(() => undefined);
		return page === undefined || page.more || page.lines.length + page.problems.length > 0;
	}

	/**
	 * Notes that the store lacks sessions that it had: it is another one, or was set back to before it had them. They count as not stored from
	 * then on.
	 * @param {import("./index").SessionList} list of the project
	 * @param {LocalSession[]} local
	 */
	async #noticeLosses(list, local) {
		const there = new Set([...list.sessions, ...list.problems, ...list.deleted].map(({ session }) => session));
		const elsewhere = list.store ?? "";
		await inParallel(local, async ({ session }) => {
			const note = there.has(session) ? undefined : this.#notes.get(session);
			if (!note || note.elsewhere === elsewhere) return;
			// The store may also have it under the name of another project. That is asked once.
			const { sessions, problems, deleted } = await this.#options.store.list({ session });
			const isLost = sessions.length + problems.length + deleted.length === 0;
			await this.#notes.set(session, isLost ? undefined : { ...note, elsewhere });
		});
	}

	/** Whether a session with this working directory is one of the project. @param {string | undefined} cwd */
	#isHere(cwd) {
		return !this.#options.isShared || cwd === this.#options.cwd;
	}

	/**
	 * Adds what is stored to the files of this machine, the newest first, each separately: an error is in the report of its session. What
	 * was redacted elsewhere is redacted here. Throws if the store cannot be asked.
	 * @param {import("./index").SyncOptions & { items?: SyncItem[], chosen?: SyncItem[], fetched?: import("./redaction-sync").FetchedRedactions, duration?: number, onResult?: (result: import("./index").PullResult) => void }} [options]
	 *   Internal, for the follower, are `chosen`: those of the items that are pulled, where others may be their parent sessions; `fetched`:
	 *   what `fetchRedactions` gave, where several pulls are made of some items; `duration`: no more sessions are begun after so many
	 *   milliseconds, counted again for those that were redacted elsewhere
	 * @returns {Promise<import("./index").PullResult[]>}
	 */
	async pull({ session, items: compared, chosen, fetched: given, signal, duration, onProgress, onResult } = {}) {
		const items = compared ?? (await this.compare(session)).items;
		const files = new Map(items.map(({ session, file }) => [session, file]));
		const wanted = (chosen ?? items).filter(isToPull).sort((a, b) => b.stored.modified.getTime() - a.stored.modified.getTime());
		// First: what is pulled into a fork must not have lines that were redacted in its parent session.
		const fetched = given ?? (await this.fetchRedactions(items));
		/** @type {Map<string, number | Error>} */
		let applied = new Map();
		/** @type {Map<SyncItem, import("./index").PullResult>} */
		const results = new Map();
		const work = async (/** @type {SyncItem} */ item) => {
			const result = await this.#pullOne(item, files, applied.get(item.session));
			this.#errors.set(item.session, result.error);
			results.set(item, result);
			onProgress?.(results.size, wanted.length);
			onResult?.(result);
		};
		const pullAll = async (/** @type {SyncItem[]} */ some) => {
			const ends = duration === undefined ? signal : AbortSignal.timeout(duration);
			await Promise.all([
				inParallel(some.filter((item) => !isLarge(item)), work, { signal: ends }),
				inParallel(some.filter(isLarge), work, { signal: ends, limit: LARGE_PARALLEL }),
			]);
		};
		const isRedacted = (/** @type {SyncItem} */ { session }) => fetched.sessions.has(session);
		await pullAll(wanted.filter((item) => !isRedacted(item)));
		if (!signal?.aborted) applied = await fetched.apply();
		await pullAll(wanted.filter(isRedacted));
		return wanted.flatMap((item) => results.get(item) ?? []);
	}

	/**
	 * @param {SyncItem} item
	 * @param {Map<string, string | undefined>} files of the sessions that there are, or will be
	 * @param {number | Error | undefined} applied how many lines were redacted here as elsewhere, or why not
	 * @returns {Promise<import("./index").PullResult>}
	 */
	async #pullOne(item, files, applied = 0) {
		const { session, stored, state } = item;
		const { store, cwd, dir, call } = this.#options;
		let file = item.file ?? "";
		const report = { session, isNew: state === "new", redacted: typeof applied === "number" ? applied : 0 };
		try {
			if (typeof applied !== "number") throw applied;
			let header;
			if (report.isNew) {
				const parentOf = (/** @type {string} */ name) => {
					const id = idInName(name);
					return files.has(id) ? (files.get(id) ?? join(dir, name)) : undefined;
				};
				const described = { ...stored, header: await storedHeader(store, stored) };
				file = fileFor(dir, described);
				header = localHeader(described, { cwd, parentOf });
				await fs.promises.mkdir(dir, { recursive: true, mode: 0o700 });
			}
			// Also where there is no file, such as one that was deleted since: the store may still have what was redacted in it.
			const isChanged = await this.#redactions.push({ session, file });
			return { ...report, file, ...(await pull({ store, stored, isChanged, file, header, notes: this.#notes, redactAgain: (lines) => this.#redactions.redactAgain({ session, file }, lines), call })) };
		} catch (error) {
			// Another process pulls it, too, and made its file first.
			if (report.isNew && isObject(error) && error.code === "EEXIST") return this.#pullOne({ ...item, file, state: "changed" }, files, applied);
			return { ...report, file, added: 0, problems: [], error: asError(error) };
		}
	}

	/**
	 * What `RedactionSync` does. Internal: only `pull` and the follower call it.
	 * @param {SyncItem[]} items
	 */
	fetchRedactions(items) {
		return this.#redactions.fetch(items);
	}

	/** @type {Sync["redact"]} */
	redact(local, what) {
		return this.#redactions.redact(local, what);
	}

	/** @type {Sync["push"]} */
	async push({ session, signal, tries = TRIES, onProgress } = {}) {
		const all = await this.local(session);
		const wanted = all.filter((one) => !this.isPrivate(one));
		if (session !== undefined && wanted.length < all.length) throw privateError(session);
		const total = onProgress ? wanted.reduce((sum, one) => sum + this.lagOf(one), 0) : 0;
		let done = 0;
		return inParallel(wanted, async ({ session, file }) => {
			const offset = () => this.#notes.get(session)?.offset ?? 0;
			let before = offset();
			/** @type {Error | undefined} */
			let skipped;
			const push = this.#pushOf({ session, file }, {
				verifiesCursor: true,
				onSkipped: (error) => (skipped = error),
				onNote: (note) => {
					if (!note) before = 0;
					return this.#setPushed(session, note);
				},
				onProgress: (bytes) => {
					done += bytes;
					// What is only compared with the store counts, too.
					onProgress?.(Math.min(done, total), total);
				},
			});
			const isStored = await push.flush({ timeout: Infinity, tries });
			await push.stop();
			const error = isStored ? skipped : push.error;
			this.#errors.set(session, error);
			return { session, file, bytes: Math.max(0, offset() - before), lag: push.lag(), ...(error ? { error } : {}) };
		}, { signal });
	}

	/** @type {Sync["local"]} */
	async local(session) {
		const all = [...(await localSessions(this.#options.dir)).values()];
		return all.filter((one) => (session === undefined ? this.#isHere(one.cwd) : one.session === session));
	}

	/** @type {Sync["isNoted"]} */
	isNoted(session) {
		return this.#notes.has(session);
	}

	/** @type {Sync["lagOf"]} */
	lagOf(local) {
		return this.isPrivate(local) ? 0 : lagOf(local.file, this.#notes.get(local.session));
	}

	/** @type {Sync["isPrivate"]} */
	isPrivate({ session, file, cwd = this.#options.cwd }) {
		return this.#options.isPrivate?.({ session, file, cwd }) ?? false;
	}

	/** @type {Sync["follow"]} */
	follow({ session, file }) {
		if (this.#pushes.has(file) || this.isPrivate({ session, file })) return;
		const { onError } = this.#options;
		const push = this.#pushOf({ session, file }, {
			onStored: () => this.#errors.set(session, undefined),
			onError: (error) => {
				this.#errors.set(session, error);
				onError?.(error, session);
			},
			onSkipped: (error) => onError?.(error, session),
		});
		this.#pushes.set(file, push);
		push.follow();
	}

	/** @type {Sync["flush"]} */
	async flush({ timeout }) {
		const done = await Promise.all([...this.#pushes.values()].map((push) => push.flush({ timeout })));
		return done.every(Boolean);
	}

	lag() {
		return [...this.#pushes.values()].reduce((sum, push) => sum + push.lag(), 0);
	}

	/** After calls that are under way have ended. The store stays open. */
	async stop() {
		await Promise.all([...this.#pushes.values()].map((push) => push.stop()));
		this.#pushes.clear();
	}

	/**
	 * The revision before a push is forgotten: a store that was set back to it has it again, and lacks what was pushed. From then on
	 * this host is the one that wrote last.
	 * @param {string} session
	 * @param {import("./notes").Note | undefined} note
	 */
	async #setPushed(session, note) {
		if (!note) this.#redactions.forget(session);
		await this.#notes.set(session, note && { redactions: this.#notes.get(session)?.redactions, ...note, revision: undefined, writer: undefined });
	}

	/**
	 * @param {{ session: string, file: string }} local
	 * @param {Partial<import("./push").PushOptions>} more
	 */
	#pushOf(local, more) {
		const { session, file } = local;
		const { store, secretIn } = this.#options;
		return new Push({
			...{ store, session, file, secretIn, project: this.project },
			readNote: () => this.#notes.get(session),
			onNote: (note) => this.#setPushed(session, note),
			isPrivate: () => this.isPrivate(local),
			onStart: () => this.#redactions.pushUnknown(local),
			redactAgain: (lines) => this.#redactions.redactAgain(local, lines),
			...more,
		});
	}
}

/**
 * @param {import("./index").LineStore} store
 * @param {StoredSession} stored
 */
async function storedHeader(store, stored) {
	const { session, header } = stored;
	if (header.length > 0) return header;
	const found = store.header ? await store.header(session, stored) : (await store.list({ session })).sessions[0]?.header;
	if (!found) throw new StoreError("not-found", `Session ${session} was deleted from the store meanwhile`);
	return found;
}

exports.SessionSync = SessionSync;
exports.isLarge = isLarge;
exports.isToPull = isToPull;
