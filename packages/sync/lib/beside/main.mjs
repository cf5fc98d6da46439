// The process beside pi: it alone calls the store, for as long as pi has one session open (lib/extension starts it). A
// call to a network drive whose server is gone never ends; here it blocks nobody else. Its argument is what pi has
// open. The end of its standard input says that pi has closed the session, or was killed. It says one word: `STORED`,
// once all that pi has said is stored.
//
//   what                    again after
//   a push of that session  0.25 s, if its file has grown
//   a pull of all others    5 s; a minute if nothing was said here for ten minutes
//   a push of what earlier processes left unstored, once the first pull has ended
//
// Nothing is pulled into a session that any pi of this machine has open: its manager would not notice. So this one is
// pulled once it is closed.
import { promises, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { setAgentDir } from "pi-session-native";
import { everySessionFile } from "pi-session-native/session-files";
import { unlessAbsent } from "../base/calls.js";
import { asError } from "../base/errors.js";
import { inParallel } from "../base/in-parallel.js";
import { hostId, openStore, SessionSync } from "../index.js";
import { LastErrors } from "../machine/last-errors.js";
import { Notes, revisionOf } from "../machine/notes.js";
import { Pending } from "../machine/pending.js";
import places from "../machine/places.js";
import { lagOf } from "../machine/session-file.js";
import { fileOnDisk } from "../machine/session-path.js";
import settings from "../machine/settings.js";
import { Schedule } from "./schedule.mjs";

/** How often the file is looked at, and others' lines are asked for; and that where nobody says anything here. */
const FOLLOW_MS = 250;
const PULL_MS = 5000;
const LONG_PULL_MS = 60_000;
const IDLE_MS = 10 * 60_000;
/** When a session is looked at again whose pull failed or could not be done yet. */
const RETRY_MS = 60_000;
/** For how long this process goes on at most after pi has closed the session. */
const END_MS = 60_000;
/** How many sessions of earlier processes are pushed at the same time. */
const ABANDONED_AT_ONCE = 4;
/** What it says once all is stored. */
const STORED = "stored\n";

/** @typedef {import("../machine/pending.js").PendingSession} PendingSession */
/**
 * @typedef {{ session: string, file: string, cwd: string, dir: string, isShared: boolean, agentDir: string }} Open what
 * pi has open, and where its sessions are
 */

class BesidePi {
	#open;
	#address;
	#notesDir;
	#settings;
	#rules;
	#pending;
	#errors;
	#schedule = new Schedule();
	#isClosed = false;
	/** @type {import("../index.js").LineStore} */
	#store = /** @type {any} */ (undefined);
	/** @type {Map<string, Promise<string>>} by working directory */
	#projects = new Map();
	/** How long the file was when it was pushed. */
	#pushedSize = -1;
	/** From when on a session is looked at again, by its revision in the store. @type {Map<string, number>} */
	#lookAgainAt = new Map();

	/** @param {Open} open @param {string} address */
	constructor(open, address) {
		this.#open = open;
		this.#address = address;
		this.#notesDir = places.notesIn(open.agentDir);
		this.#settings = settings.readSettings(open.agentDir);
		this.#rules = settings.pushRules(open.agentDir);
		this.#pending = new Pending(this.#notesDir, address);
		this.#errors = new LastErrors(this.#notesDir, address);
	}

	async begin() {
		// First: this process may be killed at any time.
		this.#pending.add(this.#open);
		this.#store = await openStore(this.#address, { host: await hostId(this.#notesDir), locks: this.#notesDir });
		const { push, pull } = this.#settings;
		const add = (/** @type {() => Promise<number | undefined>} */ work) => this.#schedule.add(work).catch(ignore);
		if (push) void add(() => this.#pushGrown());
		// The pull notices that a store was set back.
		const pulled = pull ? add(() => this.#pullOthers()) : Promise.resolve();
		if (push) void pulled.then(() => add(() => this.#pushAbandoned()));
	}

	/** pi has closed the session: what is not stored is stored, then what others said in it is pulled. */
	async end() {
		this.#isClosed = true;
		this.#schedule.stop();
		setTimeout(exit, END_MS);
		const { push, pull } = this.#settings;
		const sync = await this.#syncOf(this.#open);
		const [result] = push ? await sync.push({ local: [this.#open] }) : [];
		if (result?.error) return this.#pending.close();
		this.#pending.remove();
		say(STORED);
		if (pull && !this.#pending.isOpenElsewhere(this.#open.file)) await sync.pull({ session: this.#open.session });
	}

	/** Pushes the session if its file has grown: so the slower the store answers, the more lines share a call. */
	async #pushGrown() {
		const size = (await unlessAbsent(promises.stat(this.#open.file)))?.size ?? 0;
		if (size === this.#pushedSize || size === 0) return FOLLOW_MS;
		const sync = await this.#syncOf(this.#open);
		const [result] = await sync.push({ local: [this.#open] });
		// What a flaky store took a part of goes on at once. An error that does not pass waits for more lines.
		if (result?.error && Object(result.error).retryable) {
			if (result.bytes === 0) throw result.error;
		} else this.#pushedSize = size;
		return FOLLOW_MS;
	}

	/** Pulls what is new of the project, except into sessions that are open here. */
	async #pullOthers() {
		const sync = await this.#syncOf(this.#open);
		const list = await this.#noted(this.#store.list({ project: sync.project }));
		const now = performance.now();
		const revisions = new Set(list.sessions.map(revisionOf));
		const isDue = (/** @type {import("../index.js").StoredSession} */ one) =>
			(this.#lookAgainAt.get(revisionOf(one)) ?? 0) <= now;
		// A session that the list does not have any more may be lost.
		if (revisions.size !== this.#lookAgainAt.size || list.sessions.some(isDue)) {
			for (const revision of this.#lookAgainAt.keys()) if (!revisions.has(revision)) this.#lookAgainAt.delete(revision);
			const { items } = await sync.compare({ list, only: isDue });
			const failed = new Set(
				(await sync.pull({ items }))
					.filter(({ error, problems }) => error || problems.length > 0)
					.map(({ session }) => session),
			);
			for (const { session, stored, state } of items)
				this.#lookAgainAt.set(revisionOf(stored), state === "open" || failed.has(session) ? now + RETRY_MS : Infinity);
		}
		const saidAt = statSync(this.#open.file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
		return performance.now() > IDLE_MS && Date.now() - saidAt > IDLE_MS ? LONG_PULL_MS : PULL_MS;
	}

	/** Pushes what processes that have ended left unstored: in whatever project they were. */
	async #pushAbandoned() {
		/** @type {Map<string, PendingSession>} */
		const found = new Map();
		await this.#pending.visitAbandoned(async (one, givesUpMissing) => {
			const isNeeded = await this.#isUnstored(one, givesUpMissing);
			if (isNeeded) found.set(fileOnDisk(one.file), one);
			return isNeeded;
		});
		/** @type {Error[]} */
		const failures = [];
		await inParallel(
			[...found.values()],
			async (one) => {
				const result = await (await this.#syncOf(one)).push({ local: [one] }).then(
					([result]) => result,
					(error) => ({ error }),
				);
				if (Object(result?.error).retryable) failures.push(asError(result?.error));
			},
			{ limit: ABANDONED_AT_ONCE },
		);
		if (failures[0]) throw failures[0];
		return undefined;
	}

	/**
	 * Whether a session's file has lines that are not known to be stored.
	 * @param {PendingSession} one
	 * @param {boolean} givesUpMissing
	 */
	async #isUnstored(one, givesUpMissing) {
		try {
			// Not on this thread: on a drive that hangs the call never ends.
			await promises.stat(one.file);
			return !this.#rules.isPrivate(one) && lagOf(one.file, this.#noteOf(one)) > 0;
		} catch (error) {
			if (!["ENOENT", "ENOTDIR"].includes(Object(error).code)) return true;
			// Without its directory it may be on a drive that is away, for a while.
			return promises.stat(dirname(one.file)).then(
				() => false,
				() => !givesUpMissing,
			);
		}
	}

	/** @param {PendingSession} one */
	#noteOf({ session, file }) {
		return new Notes(this.#notesDir, this.#address, dirname(file)).get(session);
	}

	/** @param {PendingSession & Partial<Open>} one */
	async #syncOf({ file, cwd, dir = dirname(file), isShared = false, project }) {
		const name = project ?? (await this.#projectOf(cwd));
		const isOpen = (/** @type {string} */ path) =>
			(!this.#isClosed && fileOnDisk(path) === fileOnDisk(this.#open.file)) || this.#pending.isOpenElsewhere(path);
		const otherFiles = () => everySessionFile(this.#open.dir);
		return new SessionSync({
			store: this.#store,
			address: this.#address,
			notes: this.#notesDir,
			dir,
			cwd,
			isShared,
			project: name,
			otherFiles,
			isOpen,
			...this.#rules,
		});
	}

	/** git is asked once for each working directory. @param {string} cwd */
	#projectOf(cwd) {
		const known = this.#projects.get(cwd);
		if (known) return known;
		// The name that is set in the environment is that of pi's own directory.
		const set = cwd === this.#open.cwd ? undefined : "";
		const finding = settings.projectIn(cwd, this.#store.host, this.#open.agentDir, set).then(({ project }) => project);
		finding.catch(() => this.#projects.delete(cwd));
		this.#projects.set(cwd, finding);
		return finding;
	}

	/** Writes down whether the store answers, for `pi-sync status`. @template T @param {Promise<T>} call */
	async #noted(call) {
		try {
			const result = await call;
			await this.#errors.set(undefined, undefined);
			return result;
		} catch (error) {
			await this.#errors.set(undefined, asError(error));
			throw error;
		}
	}
}

const ignore = () => {};

/** pi may be gone. @param {string} text */
function say(text) {
	try {
		writeSync(1, text);
	} catch {
		// Then nobody waits for it.
	}
}

/** Ends at once: `process.exit` waits for calls to a drive that hangs. */
const exit = () => process.kill(process.pid, "SIGKILL");

const open = /** @type {Open} */ (JSON.parse(process.argv[2] ?? "{}"));
// A renamed build of pi has its own directory.
setAgentDir(open.agentDir);
const address = settings.storeAddress(open.agentDir);
if (address === undefined) exit();
else {
	const beside = new BesidePi(open, address);
	const begun = beside.begin();
	process.stdin.resume().once("end", () => void begun.then(() => beside.end()).then(exit, exit));
	begun.catch(exit);
}
