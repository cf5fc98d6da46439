// The sessions of one project on this machine, and a store.
const fs = require("node:fs");
const { join } = require("node:path");
const { StoreError, asError, privateError } = require("../base/errors.js");
const { isObject } = require("../base/lines.js");
const { inParallel } = require("../base/in-parallel.js");
const { callUnlessOpen, fileFor, localSessions } = require("../machine/local-sessions.js");
const { LastErrors } = require("../machine/last-errors.js");
const { Notes, revisionOf } = require("../machine/notes.js");
const { isAsNoted, localHeader, pull } = require("./pull.js");
const { FilePush } = require("./push.js");
const { RedactionSync } = require("./redaction-sync.js");
const { lagOf } = require("../machine/session-file.js");
const { idInName } = require("../machine/session-path.js");

/** Its documentation describes the public methods. @typedef {import("../index").SessionSync} Sync */
/** @typedef {import("../index").StoredSession} StoredSession */
/** @typedef {import("../machine/local-sessions").LocalSession} LocalSession */
/** @typedef {import("../index").SyncItem} SyncItem */
/** @typedef {{ session: string, file: string, cwd?: string }} Local */

/**
 * Sessions that miss more than this, in bytes, are pulled last and two at a time, because a pull keeps in memory what
 * it loads.
 */
const LARGE_BYTES = 4 << 20;
const LARGE_PARALLEL = 2;

/** Whether a session misses much, by its sizes. @param {SyncItem} item */
const isLarge = ({ file, stored }) =>
	stored.bytes - (file === undefined ? 0 : (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0)) > LARGE_BYTES;

/** Whether a pull is needed for a session. @param {SyncItem} item */
const isToPull = ({ state }) => state === "new" || state === "changed";

class SessionSync {
	/** @type {import("../index").SessionSyncOptions & { call: import("../machine/local-sessions").CallManager }} */
	#options;
	#notes;
	#errors;
	#redactions;
	/** The sessions of this machine, by id, at the last comparison. @type {Map<string, LocalSession>} */
	#local = new Map();
	/** The sessions in the store's lists so far. @type {Set<string>} */
	#listed = new Set();

	/** @param {import("../index").SessionSyncOptions} options */
	constructor(options) {
		this.#options = { ...options, call: callUnlessOpen((file) => this.#isOpen(file)) };
		this.#notes = new Notes(options.notes, options.address, options.dir);
		this.#errors = new LastErrors(options.notes, options.address);
		this.#redactions = new RedactionSync(this.#options, this.#notes, this.#errors);
		/** @readonly */
		this.dir = options.dir;
		/** @readonly */
		this.project = options.project;
		/** @readonly */
		this.projectProblem = options.projectProblem;
	}

	/** @type {Sync["compare"]} */
	async compare({ session, list: known } = {}) {
		const { store } = this.#options;
		const local = (this.#local = await localSessions(this.dir));
		const list = known ?? (await store.list(session === undefined ? { project: this.project } : { session }));
		const { sessions, problems } = list;
		for (const one of sessions) this.#listed.add(one.session);
		const items = await inParallel(sessions, async (stored) => {
			const file = local.get(stored.session)?.file;
			/** @type {SyncItem["state"]} */
			let state = "new";
			if (file !== undefined)
				state = (await this.#isSame(stored, file)) ? "same" : (await this.#isOpen(file)) ? "open" : "changed";
			// A session that was deleted on this machine comes back if it is named.
			else if (this.#notes.has(stored.session) && session === undefined) state = "deleted";
			return { session: stored.session, stored, ...(file !== undefined && { file }), state };
		});
		return { items, problems, deleted: list.deleted.flatMap(({ session }) => local.get(session) ?? []) };
	}

	/**
	 * Whether a file contains all stored lines. A file that was restored from a backup may not.
	 * @param {StoredSession} stored
	 * @param {string} file
	 */
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
		if (!isToPull(item) && item.state !== "open") return false;
		if (file === undefined || !note) return true;
		if (note.mustReload || (note.redactions ?? 0) !== stored.redactions || !(await isAsNoted(file, note))) return true;
		// A push notes no revision, because others may have appended meanwhile. A pull reports errors of the store.
		const page = await this.#options.store.load(session, note.cursor, stored).catch(() => undefined);
		return page === undefined || page.more || page.lines.length + page.problems.length > 0;
	}

	/** @param {string} file @returns {Promise<boolean>} */
	async #isOpen(file) {
		return (await this.#options.isOpen?.(file)) ?? false;
	}

	/** @param {string | undefined} cwd */
	#isOfProject(cwd) {
		return !this.#options.isShared || cwd === this.#options.cwd;
	}

	/** @type {Sync["pull"]} */
	async pull({ session, items } = {}) {
		const all = items ?? (await this.compare({ session })).items;
		const wanted = all.filter(isToPull).sort((a, b) => b.stored.modified.getTime() - a.stored.modified.getTime());
		// First, because lines that are pulled into a fork must not contain what was redacted in its parent session.
		const fetched = await this.#redactions.fetch(all);
		/** @type {Map<SyncItem, import("../index").PullResult>} */
		const results = new Map();
		const pullSome = async (/** @type {SyncItem[]} */ some) => {
			const pullOne = async (/** @type {SyncItem} */ item) => {
				const { session } = item;
				const result = await this.#pullOne(item, fetched.results.get(session));
				const [problem] = result.problems;
				const error = result.error ?? (problem && new StoreError("failed", `${problem.where}: ${problem.message}`));
				await this.#errors.set(session, error, "pull");
				results.set(item, result);
			};
			const large = new Set(some.filter(isLarge));
			await inParallel(
				some.filter((item) => !large.has(item)),
				pullOne,
			);
			await inParallel([...large], pullOne, { limit: LARGE_PARALLEL });
		};
		await pullSome(wanted.filter(({ session }) => !fetched.results.has(session)));
		// This comes after other pulls, because it reads every session file.
		const others = await this.#redactions.apply(fetched);
		await pullSome(wanted.filter(({ session }) => fetched.results.has(session)));
		return [...wanted.flatMap((item) => results.get(item) ?? []), ...others];
	}

	/**
	 * @param {SyncItem} item
	 * @param {number | Error | undefined} applied the number of lines that were redacted as on other machines, or the
	 * error
	 * @returns {Promise<import("../index").PullResult>}
	 */
	async #pullOne(item, applied = 0) {
		const { session, stored, state } = item;
		const { store, cwd, dir, call } = this.#options;
		let file = item.file ?? "";
		const report = { session, isNew: state === "new", redacted: typeof applied === "number" ? applied : 0 };
		try {
			if (typeof applied !== "number") throw applied;
			let header;
			if (report.isNew) {
				const there = await store.header(session);
				if (!there) throw new StoreError("not-found", `Session ${session} was deleted from the store meanwhile`);
				// A listed parent session is pulled later.
				const parentOf = (/** @type {string} */ name) =>
					this.#local.get(idInName(name))?.file ?? (this.#listed.has(idInName(name)) ? join(dir, name) : undefined);
				file = fileFor(dir, session, there);
				header = localHeader(session, there, { cwd, parentOf });
				await fs.promises.mkdir(dir, { recursive: true, mode: 0o700 });
			}
			// Also without a file, for example if it was deleted: the store may still contain lines that were redacted in it.
			const isChanged = await this.#redactions.push({ session, file });
			const pulled = await pull({
				store,
				stored,
				isChanged,
				file,
				header,
				notes: this.#notes,
				redactKnownCopies: (lines) => this.#redactions.redactKnownCopies({ session, file }, lines),
				call,
			});
			return { ...report, file, ...pulled };
		} catch (error) {
			// Another process pulls the session, too, and has created the file.
			if (report.isNew && isObject(error) && error.code === "EEXIST")
				return this.#pullOne({ ...item, file, state: "changed" }, applied);
			return { ...report, file, added: 0, problems: [], error: asError(error) };
		}
	}

	/** @type {Sync["redact"]} */
	redact(local, what) {
		return this.#redactions.redact(local, what);
	}

	/** @type {Sync["push"]} */
	async push({ session, local } = {}) {
		const all = local ?? (await this.local(session));
		const wanted = all.filter((one) => !this.isPrivate(one));
		if (session !== undefined && wanted.length < all.length) throw privateError(session);
		const { store, secretIn } = this.#options;
		const parts = {
			...{ store, secretIn, project: this.project, projectProblem: this.projectProblem },
			...{ notes: this.#notes, redactions: this.#redactions },
			isPrivate: (/** @type {Local} */ one) => this.isPrivate(one),
		};
		return inParallel(wanted, async (one) => {
			const push = new FilePush(parts, one);
			const error = await push.run().then(
				() => push.skipped,
				(failure) => this.#noteDeletion(one.session, failure, { isNamed: session !== undefined, isReported: !local }),
			);
			// The note contains the deletion.
			await this.#errors.set(one.session, Object(error).code === "deleted" ? undefined : error, "push");
			return {
				session: one.session,
				file: one.file,
				bytes: push.bytes,
				lag: await this.lagOf(one),
				...(error && { error }),
			};
		});
	}

	/**
	 * Notes that a push found the session deleted from the store. Once a command has reported this, the next push is no
	 * failure, unless the session is named.
	 * @param {string} session
	 * @param {unknown} failure
	 * @param {{ isNamed: boolean, isReported: boolean }} how `isReported`: whether a command reports the result
	 */
	async #noteDeletion(session, failure, { isNamed, isReported }) {
		if (!(failure instanceof StoreError && failure.code === "deleted")) return asError(failure);
		const isKnown = this.#notes.get(session)?.isReported === true;
		await this.#notes.set(session, {
			...{ cursor: "", offset: 0, fingerprint: "", mustReload: true, isDeleted: true },
			isReported: isKnown || isReported,
		});
		return isKnown && isReported && !isNamed ? undefined : failure;
	}

	/** @type {Sync["local"]} */
	async local(session) {
		const all = [...(await localSessions(this.dir)).values()];
		return all.filter((one) => (session === undefined ? this.#isOfProject(one.cwd) : one.session === session));
	}

	/** @type {Sync["isNoted"]} */
	isNoted(session) {
		return this.#notes.has(session);
	}

	/** @type {Sync["lagOf"]} */
	async lagOf(local) {
		return this.isPrivate(local) ? 0 : lagOf(local.file, this.#notes.get(local.session));
	}

	/** @type {Sync["isPrivate"]} */
	isPrivate({ session, file, cwd = this.#options.cwd }) {
		return this.#options.isPrivate?.({ session, file, cwd }) ?? false;
	}
}

exports.SessionSync = SessionSync;
exports.isToPull = isToPull;
