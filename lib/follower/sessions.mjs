// The follower's sessions: those that pi has open, which are followed and shown to others, and pending ones of earlier processes. At pi's end
// the rest of all of them is stored.
import { promises, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname } from "node:path";
import { everySessionFile } from "../shared/session-dir.mjs";
import { callPi, endCalls } from "./messages.mjs";
import { lateness } from "./common.mjs";

const require = createRequire(import.meta.url);
const { PING } = require("../store/calls.js");
const { SessionSync } = require("../store/index.js");
const { inParallel } = require("../store/in-parallel.js");
const { callHere, filesIn, localSessions } = require("../store/local.js");
const { Notes } = require("../store/notes.js");
const { lagOf } = require("../store/session-file.js");
const { fileOnDisk, idInName, onDisk } = require("../store/session-path.js");
const { projectIn } = require("../store/settings.js");

/** How many pending sessions are begun at the same time: each takes some megabytes. */
const SESSIONS_AT_ONCE = 4;
/** How often it is looked whether a session that is open here is in the store, and how often others are shown that it is open. */
const FOLLOW_MS = 400;
const PRESENCE_MS = 20_000;
/** How often pending sessions of earlier processes are looked for: on a slow drive they are found late. */
const PENDING_MS = 5000;
/** After how long without a word here others' lines are asked for more rarely. */
const IDLE_MS = 10 * 60_000;
/** A session that is open here is pulled up to this size, in bytes: pi waits while its file is written. A larger one waits for the next start. */
const LARGEST_OPEN = 32 << 20;

/**
 * Where sessions are, and whose they are.
 * @typedef {object} Place
 * @property {string} dir of the files
 * @property {string} cwd their working directory
 * @property {string} project
 * @property {boolean} [isShared] whether the directory has sessions of other working directories, too
 */
/** What pi has open. @typedef {{ session: string, file: string, cwd: string }} OpenSession */
/** @typedef {import("../store/pending.js").PendingSession} PendingSession */

/** Whether another file of its directory has the session, and is the one that is pushed. @param {{ session: string, file: string }} one */
async function isSuperseded({ session, file }) {
	const dir = dirname(file);
	const named = (await filesIn(dir)).filter((path) => idInName(path) === session);
	if (named.length < 2) return false;
	const pushed = (await localSessions(dir)).get(session);
	return pushed !== undefined && basename(pushed.file) !== basename(file);
}

export class Sessions {
	isEnding = false;
	/** @type {OpenSession[]} */
	#open = [];
	/** Their files, as pi calls them, by where they are on the disk. @type {Map<string, string>} */
	#openFiles = new Map();
	#begun = Date.now();
	/** The pending sessions of earlier processes, by file. @type {Map<string, PendingSession>} */
	#pending = new Map();
	/** Promises of the projects that were asked for, by what was set and the working directory. */
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

	/** What may be pulled now: other processes of this machine pull what only they have open. */
	changeable(items) {
		const elsewhere = this.#context.pending.openElsewhere();
		const isSmall = ({ file, stored }) => Math.max(stored.bytes, statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= LARGEST_OPEN;
		const isChangeable = (item) => (this.#openFile(item.file) ? isSmall(item) : !elsewhere.has(fileOnDisk(item.file)));
		return items.filter((item) => item.file === undefined || isChangeable(item));
	}

	/** Follows what pi has open from now on, and shows others what the store has of it. @param {OpenSession[]} open */
	follow(open) {
		this.#open = open;
		this.#openFiles = new Map(open.map(({ file }) => [onDisk(file), file]));
		if (!this.#context.settings.push || this.isEnding) return;
		for (const { file } of open) void this.#context.schedule.add(`follow ${file}`, this.#following(file));
	}

	/**
	 * Gives what looks at a file that pi has opened, and then gives after how many milliseconds it is to look again: until pi has closed the file,
	 * and it is stored.
	 */
	#following(file) {
		const { rules, pending, presence } = this.#context;
		const openOne = () => this.#open.find((one) => one.file === file);
		/** @type {SessionSync | undefined} */
		let sync;
		/** @type {OpenSession | undefined} */
		let followed;
		return async () => {
			const one = openOne();
			if (!one) {
				if (followed && (await this.#isUnstored(followed))) return PENDING_MS;
				await sync?.stop();
				[sync, followed] = [undefined, undefined];
				// Meanwhile pi may have opened it again.
				return openOne() && FOLLOW_MS;
			}
			try {
				const project = await this.cachedProject(one.cwd);
				if (rules.isPrivate(one) || this.isEnding) return FOLLOW_MS;
				if (!sync) {
					const made = this.syncFor({ dir: dirname(file), cwd: one.cwd, project });
					// Its directory may be gone when a later process is to find its project.
					pending.add({ ...one, project });
					made.follow(one);
					// Last: what fails is tried again.
					[sync, followed] = [made, one];
				}
				if (!sync.isNoted(one.session)) return FOLLOW_MS;
				await presence.show(one.session);
				return PRESENCE_MS;
			} catch (error) {
				this.#showFailure(error, one.session);
				return FOLLOW_MS;
			}
		};
	}

	/** A new sync. It lets pi's process change the files that pi has open, until pi ends and answers no more. @param {Place} place */
	syncFor(place) {
		const { store, address, notesDir, namedDir, rules } = this.#context;
		const call = (name, file, input) => {
			const open = this.isEnding ? undefined : this.#openFile(file);
			return open ? callPi({ name, file: open, input }) : callHere(name, file, input);
		};
		const otherFiles = async () => everySessionFile(namedDir(place.cwd));
		const onError = (error, session) => this.#showFailure(error, session);
		return new SessionSync({ store, address, notes: notesDir, ...place, ...rules, otherFiles, call, onError });
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
		if (!this.#projects.has(key)) {
			const finding = this.#findProject(cwd, set);
			finding.catch(() => this.#projects.delete(key));
			this.#projects.set(key, finding);
		}
		return this.#projects.get(key);
	}

	async #findProject(cwd, set) {
		const { store, notesDir, reports } = this.#context;
		const { project, problem } = await projectIn(cwd, store.host, dirname(notesDir), set);
		if (problem !== undefined) reports.show(problem);
		return project;
	}

	/** Whether a file has lines that are not known to be stored, by this machine's notes; it may, where that cannot be told. */
	async #isUnstored(one) {
		try {
			// First, and not on this thread: on a drive that hangs the calls after it would never end.
			await promises.stat(one.file);
			const { address, notesDir, rules } = this.#context;
			const note = new Notes(notesDir, address, dirname(one.file)).get(one.session);
			return !rules.isPrivate(one) && lagOf(one.file, note) > 0 && !(await isSuperseded(one));
		} catch (error) {
			if (error.code !== "ENOENT" && error.code !== "ENOTDIR") return true;
			// Without its directory it may be on a drive that is away, for a while.
			return promises.stat(dirname(one.file)).then(() => false, () => !one.isForgotten);
		}
	}

	/**
	 * Finds the pending sessions of earlier processes: of this project's sessions, and of whatever they had open. What is on a drive that hangs is
	 * never found, and this does not end then.
	 * @param {Place} place
	 */
	async findPending(place) {
		const turns = new Map();
		// One after the other in a directory: each call to a drive that hangs takes a thread of this process.
		const take = (one) => {
			const turn = Promise.resolve(turns.get(dirname(one.file))).then(() => this.#take(one));
			turns.set(dirname(one.file), turn.catch(() => {}));
			return turn;
		};
		const sync = this.syncFor(place);
		const here = async () => {
			const noted = (await sync.local()).filter(({ session }) => sync.isNoted(session));
			await Promise.all(noted.map((local) => take({ ...local, cwd: place.cwd, project: place.project })));
		};
		// What cannot be read waits for a later start.
		await Promise.allSettled([here(), this.#context.pending.visitAbandoned(take)]);
	}

	/** Takes a session that is not stored to its end, once: several processes may have left it. Gives whether it is one. @param {PendingSession} one */
	async #take(one) {
		if (!(await this.#isUnstored(one))) return false;
		const file = fileOnDisk(one.file);
		if (this.#pending.has(file)) return true;
		// The name that is set here is not that of another directory.
		const project = one.project ?? (await this.cachedProject(one.cwd, ""));
		this.#pending.set(file, { ...one, file, project });
		return true;
	}

	/**
	 * Stores the pending sessions of earlier processes: each once, though its last line may never get an end. Gives after how many milliseconds
	 * that is to be done again.
	 */
	async storePending() {
		const failures = await this.#store([...this.#pending.values()]);
		if (failures.length > 0) throw failures[0];
		return PENDING_MS;
	}

	/** pi's end: stores what is not stored yet, unless the store is silent, and shows others that it is closed. */
	async storeRest() {
		this.isEnding = true;
		this.#context.schedule.stop();
		endCalls();
		const { settings, timeout, pending, reports, errors, list, presence } = this.#context;
		const unstored = settings.push ? await this.#unstoredOf(pending.own()) : [];
		const own = new Set(unstored.map(({ file }) => file));
		const others = settings.push ? [...this.#pending.values()].filter(({ file }) => !own.has(file)) : [];
		const rest = [...unstored, ...others];
		reports.send({ unstored: rest.length });
		try {
			if (errors.isSilent()) throw new Error(lateness(timeout));
			// It is known soon whether the store answers.
			if (rest.length > 0) await list(PING);
			const [failed] = await this.#store(rest);
			await presence.end();
			if (failed) throw failed;
		} finally {
			if ((await this.#unstoredOf(unstored)).length === 0) pending.remove();
		}
	}

	async #unstoredOf(sessions) {
		const found = await Promise.all(sessions.map(async (one) => ((await this.#isUnstored(one)) ? [one] : [])));
		return found.flat();
	}

	/** Stores what the files of these sessions hold. Gives the errors that may pass. @param {PendingSession[]} sessions */
	async #store(sessions) {
		const failures = [];
		const push = async ({ session, file, cwd, project }) => {
			// A directory may have sessions of several projects: what is set may be another name each time that pi starts.
			const sync = this.syncFor({ dir: dirname(file), cwd, project: project ?? (await this.cachedProject(cwd)) });
			const [result] = await sync.push({ session, tries: 1 });
			return result?.error;
		};
		const store = async (one) => {
			const error = await push(one).catch((error) => error);
			if (error?.retryable) return failures.push(error);
			this.#pending.delete(one.file);
			if (error) this.#showFailure(error, one.session);
		};
		await inParallel(sessions, store, { limit: SESSIONS_AT_ONCE });
		return failures;
	}

	/** Errors that may pass are retried, and reported when pi ends if they did not. */
	#showFailure(error, session) {
		if (!error.retryable) this.#context.reports.show(`session ${session} is not stored: ${error.message}`, `${session} ${error.code}`);
	}
}
