// The follower's sessions: those that pi has open, which are stored as they grow and shown to others, and abandoned ones. At pi's end the rest
// of all of them is stored.
import { promises, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { everySessionFile } from "../../../../lib/shared/session-dir.mjs";
import { unlessAbsent } from "../base/calls.js";
import { SessionSync } from "../index.js";
import { inParallel } from "../base/in-parallel.js";
import { callHere, filesIn, localSessions } from "../machine/local-sessions.js";
import { Notes } from "../machine/notes.js";
import { lagOf } from "../machine/session-file.js";
import { fileOnDisk, idInName, onDisk } from "../machine/session-path.js";
import { projectIn } from "../machine/settings.js";
import { callPi, endCalls } from "./messages.mjs";
import { emptiedLine, lateness } from "./common.mjs";

/** How many sessions are begun at the same time: each takes some megabytes. */
const SESSIONS_AT_ONCE = 4;
/** How often it is looked whether the file of a session that is open here grew, and how often others are shown that it is open. */
const FOLLOW_MS = 250;
const SHOW_AGAIN_MS = 20_000;
/** How often abandoned sessions are stored: on a slow drive they are found late. */
const STORE_ABANDONED_MS = 5000;
/** After how long without a word here others' lines are asked for more rarely. */
const IDLE_MS = 10 * 60_000;
/** What is pulled into an open file that is larger is written at most once a minute: pi's process stands still meanwhile. */
const LARGE_BYTES = 32 << 20;

/**
 * Where sessions are, and whose they are.
 * @typedef {object} Place
 * @property {string} dir of the files
 * @property {string} cwd their working directory
 * @property {string} project
 * @property {boolean} [isShared] whether the directory has sessions of other working directories, too
 */
/** @typedef {import("./messages.mjs").OpenSession} OpenSession */
/** @typedef {import("../machine/pending.js").PendingSession} PendingSession */
/** @typedef {import("../index.js").SyncItem} SyncItem */
/** @typedef {Error & Partial<import("../index.js").StoreError>} PushError */
/** @typedef {{ error?: PushError, bytes: number }} Pushed */

/** Whether another file of its directory has the session, and is the one that is pushed. @param {{ session: string, file: string }} one */
async function isSuperseded({ session, file }) {
	const dir = dirname(file);
	const named = (await filesIn(dir)).filter((path) => idInName(path) === session);
	if (named.length < 2) return false;
	const pushed = (await localSessions(dir)).get(session);
	return pushed !== undefined && basename(pushed.file) !== basename(file);
}

/** Whether a push that failed may go on at once: its error may pass, and something was stored. @param {Pushed | undefined} result */
const isProgress = (result) => result?.error?.retryable && result.bytes > 0;

export class Sessions {
	isEnding = false;
	/** @type {OpenSession[]} */
	#open = [];
	/** Their files, as pi calls them, by where they are on the disk. @type {Map<string, string>} */
	#openFiles = new Map();
	/** The files that are looked at, as pi calls them. @type {Set<string>} */
	#followed = new Set();
	#begun = Date.now();
	/** By file. @type {Map<string, PendingSession>} */
	#abandoned = new Map();
	/** Promises of the projects that were asked for, by what was set and the working directory. @type {Map<string, Promise<string>>} */
	#projects = new Map();
	#context;

	/** @param {import("./follower.mjs").Context} context */
	constructor(context) {
		this.#context = context;
	}

	/** What pi calls a file that it has open; undefined for any other. @param {string} path */
	#openFile(path) {
		return this.#openFiles.get(onDisk(path));
	}

	/** Whether nothing was said here for a while. */
	isIdle() {
		return Date.now() - Math.max(this.#begun, ...this.#open.map(({ file }) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)) > IDLE_MS;
	}

	/** What may be pulled now: other processes of this machine pull what only they have open. @param {SyncItem[]} items */
	changeable(items) {
		const elsewhere = this.#context.pending.openElsewhere();
		return items.filter(({ file }) => file === undefined || this.#openFile(file) !== undefined || !elsewhere.has(fileOnDisk(file)));
	}

	/** The ids of the sessions that pi has open. */
	openIds() {
		return new Set(this.#open.map(({ session }) => session));
	}

	/** Whether pi has a file open that is large. @param {string | undefined} file */
	isLargeOpen(file) {
		return file !== undefined && this.#openFile(file) !== undefined && (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LARGE_BYTES;
	}

	/** Stores what is appended to what pi has open, from now on, and shows others that it is open. @param {OpenSession[]} open */
	follow(open) {
		this.#open = open;
		this.#openFiles = new Map(open.map(({ file }) => [onDisk(file), file]));
		if (!this.#context.settings.push || this.isEnding) return;
		for (const one of open.filter(({ file }) => !this.#followed.has(file))) {
			this.#followed.add(one.file);
			this.#context.schedule.add(this.#following(one)).catch(() => {});
		}
	}

	/**
	 * A task for the schedule: it pushes a file if it grew, and gives the pause until the next look in milliseconds; none once pi has closed the
	 * file and it is stored. So a single line only waits for the next look, and the slower the store answers, the more lines share a call.
	 * @param {OpenSession} one
	 */
	#following(one) {
		const { rules, pending, presence } = this.#context;
		const isOpen = () => this.#open.some(({ file }) => file === one.file);
		/** @type {SessionSync | undefined} */
		let sync;
		let [storedSize, shownAt] = [-1, -Infinity];
		return async () => {
			const [begun, wasOpen, isPrivate] = [performance.now(), isOpen(), rules.isPrivate(one)];
			if (!sync && !isPrivate) {
				const project = await this.cachedProject(one.cwd);
				// Its directory may be gone when a later process is to find its project.
				pending.add({ ...one, project });
				sync = this.syncFor({ dir: dirname(one.file), cwd: one.cwd, project });
			}
			const size = (await unlessAbsent(promises.stat(one.file)))?.size ?? storedSize;
			let failure;
			if (sync && !isPrivate && size !== storedSize) {
				// What a pull added is known to be stored. That the store was set back is noticed by the first push, and by the next line.
				const isStored = storedSize >= 0 && sync.lagOf(one) === 0;
				const [result] = isStored ? [] : await sync.push({ local: [one] });
				if (result?.emptied) this.#context.reports.show(emptiedLine(one.session));
				if (result?.error) this.#showFailure(result.error, one.session);
				else storedSize = size;
				// The rest of what a flaky store took a part of is not waited for.
				if (!isProgress(result)) failure = result?.error;
			} else if (!wasOpen && !isOpen()) {
				this.#followed.delete(one.file);
				return undefined;
			}
			const isInStore = !failure || sync?.isNoted(one.session);
			if (!isPrivate && isInStore && performance.now() - shownAt > SHOW_AGAIN_MS && !this.isEnding) {
				shownAt = performance.now();
				await presence.show(one.session);
			}
			if (failure) throw failure;
			return Math.max(0, FOLLOW_MS - (performance.now() - begun));
		};
	}

	/** A new sync. It lets pi's process change the files that pi has open, until pi ends and answers no more. @param {Place} place */
	syncFor(place) {
		const { store, address, notesDir, namedDir, rules } = this.#context;
		/** @type {import("../index.js").CallManager} */
		const call = async (name, file, input) => {
			const open = this.isEnding ? undefined : this.#openFile(file);
			return open ? callPi(name, open, input) : callHere(name, file, input);
		};
		const otherFiles = async () => everySessionFile(namedDir(place.cwd));
		return new SessionSync({ store, address, notes: notesDir, ...place, ...rules, otherFiles, call });
	}

	/**
	 * The project of a directory: `set` in the environment or in the settings, or found there. git is asked once, though the next call may come
	 * before it has answered.
	 * @param {string} cwd
	 * @param {string} [set]
	 * @returns {Promise<string>}
	 */
	cachedProject(cwd, set = process.env.PI_SESSION_NATIVE_PROJECT ?? "") {
		const key = `${set}\n${cwd}`;
		const known = this.#projects.get(key);
		if (known) return known;
		const finding = this.#findProject(cwd, set);
		finding.catch(() => this.#projects.delete(key));
		this.#projects.set(key, finding);
		return finding;
	}

	/** @param {string} cwd @param {string} set */
	async #findProject(cwd, set) {
		const { store, notesDir, reports } = this.#context;
		const { project, problem } = await projectIn(cwd, store.host, dirname(notesDir), set);
		if (problem !== undefined) reports.show(problem);
		return project;
	}

	/**
	 * Whether a file has lines that are not known to be stored, by this machine's notes; it may, where that cannot be told.
	 * @param {PendingSession} one
	 */
	async #isUnstored(one, givesUpMissing = false) {
		try {
			// First, and not on this thread: on a drive that hangs the calls after it would never end.
			await promises.stat(one.file);
			const { address, notesDir, rules } = this.#context;
			const note = new Notes(notesDir, address, dirname(one.file)).get(one.session);
			return !rules.isPrivate(one) && lagOf(one.file, note) > 0 && !(await isSuperseded(one));
		} catch (error) {
			if (!["ENOENT", "ENOTDIR"].includes(Object(error).code)) return true;
			// Without its directory it may be on a drive that is away, for a while.
			return promises.stat(dirname(one.file)).then(() => false, () => !givesUpMissing);
		}
	}

	/**
	 * Finds the abandoned sessions: of this project's, and of whatever earlier processes had open. What is on a drive that hangs is never found, and
	 * this does not end then.
	 * @param {Place} place
	 */
	async findAbandoned(place) {
		/** @type {Map<string, Promise<unknown>>} */
		const turns = new Map();
		// One after the other in a directory: each call to a drive that hangs takes a thread of this process.
		const add = (/** @type {PendingSession} */ one, givesUpMissing = false) => {
			const turn = Promise.resolve(turns.get(dirname(one.file))).then(() => this.#addIfUnstored(one, givesUpMissing));
			turns.set(dirname(one.file), turn.catch(() => {}));
			return turn;
		};
		const sync = this.syncFor(place);
		const here = async () => {
			const noted = (await sync.local()).filter(({ session }) => sync.isNoted(session));
			await Promise.all(noted.map((local) => add({ ...local, cwd: place.cwd, project: place.project })));
		};
		// What cannot be read waits for a later start.
		await Promise.allSettled([here(), this.#context.pending.visitAbandoned(add)]);
	}

	/**
	 * Adds a session that is not stored to its end, once: several processes may have left it. Gives whether it is one.
	 * @param {PendingSession} one
	 * @param {boolean} givesUpMissing
	 */
	async #addIfUnstored(one, givesUpMissing) {
		if (!(await this.#isUnstored(one, givesUpMissing))) return false;
		const file = fileOnDisk(one.file);
		if (this.#abandoned.has(file)) return true;
		// The name that is set here is not that of another directory.
		const project = one.project ?? (await this.cachedProject(one.cwd, ""));
		this.#abandoned.set(file, { ...one, file, project });
		return true;
	}

	/**
	 * Stores the abandoned sessions: each once, though its last line may never get an end. Gives after how many milliseconds that is to be done
	 * again.
	 */
	async storeAbandoned() {
		const failures = await this.#store([...this.#abandoned.values()]);
		if (failures.some(isProgress)) return FOLLOW_MS;
		if (failures.length > 0) throw failures[0].error;
		return STORE_ABANDONED_MS;
	}

	/** pi's end: stores what is not stored yet, unless the store is silent, and shows others that it is closed. */
	async storeRest() {
		this.isEnding = true;
		this.#context.schedule.stop();
		endCalls();
		const { settings, timeout, pending, reports, errors, reach, presence } = this.#context;
		const unstored = settings.push ? await this.#unstoredOf(pending.own()) : [];
		const own = new Set(unstored.map(({ file }) => file));
		const others = settings.push ? [...this.#abandoned.values()].filter(({ file }) => !own.has(file)) : [];
		const rest = [...unstored, ...others];
		reports.send({ unstored: rest.length });
		try {
			if (errors.isSilent()) throw new Error(lateness(timeout));
			if (rest.length > 0) await reach();
			const [failed] = await this.#store(rest);
			await presence.end();
			if (failed) throw failed.error;
		} finally {
			if ((await this.#unstoredOf(unstored)).length === 0) pending.remove();
		}
	}

	/** @param {PendingSession[]} sessions */
	async #unstoredOf(sessions) {
		const found = await Promise.all(sessions.map(async (one) => ((await this.#isUnstored(one)) ? [one] : [])));
		return found.flat();
	}

	/** Stores what the files of these sessions hold. Gives the results whose errors may pass. @param {PendingSession[]} sessions */
	async #store(sessions) {
		/** @type {Pushed[]} */
		const failures = [];
		const push = async (/** @type {PendingSession} */ one) => {
			const { file, cwd, project } = one;
			// A directory may have sessions of several projects: what is set may be another name each time that pi starts.
			const sync = this.syncFor({ dir: dirname(file), cwd, project: project ?? (await this.cachedProject(cwd)) });
			const [result] = await sync.push({ local: [one] });
			if (result?.emptied) this.#context.reports.show(emptiedLine(one.session));
			return result;
		};
		const store = async (/** @type {PendingSession} */ one) => {
			/** @type {Pushed | undefined} */
			const result = await push(one).catch((error) => ({ error, bytes: 0 }));
			if (result?.error?.retryable) return void failures.push(result);
			this.#abandoned.delete(one.file);
			if (result?.error) this.#showFailure(result.error, one.session);
		};
		await inParallel(sessions, store, { limit: SESSIONS_AT_ONCE });
		return failures;
	}

	/** Errors that may pass are retried, and reported when pi ends if they did not. @param {PushError} error @param {string} session */
	#showFailure(error, session) {
		if (!error.retryable) this.#context.reports.show(`session ${session} is not stored: ${error.message}`, `${session} ${error.code}`);
	}
}
