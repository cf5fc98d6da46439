// The process beside pi. It calls the store while pi has one session open (lib/extension starts it), because a call to
// a network drive whose server is gone never ends, and would block pi. Its argument describes the open session. When
// its standard input ends, pi has closed the session or was killed. When the whole session is stored, it writes
// `STORED`.
//
//   work                                       repeated after
//   push that session, if its file has grown   0.25 s
//   pull all other sessions of the project     5 s; a minute if nothing was said in the session for ten minutes
//   push sessions that earlier processes left  once, after the first pull
//
// A pull does not change a session that a pi of this machine has open, because its manager would not notice. So this
// session is pulled when it is closed.
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

/** The pauses before the next look at the file, before the next pull, and before the next pull of an idle session. */
const FOLLOW_MS = 250;
const PULL_MS = 5000;
const LONG_PULL_MS = 60_000;
const IDLE_MS = 10 * 60_000;
/** The pause before the next pull of a session that failed or was open. */
const RETRY_MS = 60_000;
/** The longest time that this process continues after pi has closed the session. */
const END_MS = 60_000;
/** The number of sessions of earlier processes that are pushed at the same time. */
const ABANDONED_AT_ONCE = 4;
/** The output when the whole session is stored. */
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
	/** The size of the file at the last push. */
	#pushedSize = -1;
	/** The time of the next look at a session, by its revision in the store. @type {Map<string, number>} */
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
		// First, because this process may be killed at any time.
		this.#pending.add(this.#open);
		this.#store = await openStore(this.#address, { host: await hostId(this.#notesDir), locks: this.#notesDir });
		const { push, pull } = this.#settings;
		const add = (/** @type {() => Promise<number | undefined>} */ work) => this.#schedule.add(work).catch(ignore);
		if (push) void add(() => this.#pushGrown());
		// The pull comes first, because it notices that a store was restored.
		const pulled = pull ? add(() => this.#pullOthers()) : Promise.resolve();
		if (push) void pulled.then(() => add(() => this.#pushAbandoned()));
	}

	/** Called when pi has closed the session: stores the rest, then pulls the session. */
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

	/** Pushes the session if its file has grown. The slower the store answers, the more lines share a call. */
	async #pushGrown() {
		const size = (await unlessAbsent(promises.stat(this.#open.file)))?.size ?? 0;
		if (size === this.#pushedSize || size === 0) return FOLLOW_MS;
		const sync = await this.#syncOf(this.#open);
		const [result] = await sync.push({ local: [this.#open] });
		// If a part was stored, the push continues soon. After an error that does not pass it waits for more lines.
		if (result?.error && Object(result.error).retryable) {
			if (result.bytes === 0) throw result.error;
		} else this.#pushedSize = size;
		return FOLLOW_MS;
	}

	/** Pulls the sessions of the project, except those that a pi of this machine has open. */
	async #pullOthers() {
		const sync = await this.#syncOf(this.#open);
		const list = await this.#noted(this.#store.list({ project: sync.project }));
		const now = performance.now();
		const revisions = new Set(list.sessions.map(revisionOf));
		const isDue = (/** @type {import("../index.js").StoredSession} */ one) =>
			(this.#lookAgainAt.get(revisionOf(one)) ?? 0) <= now;
		// If the list does not contain a session any more, the store may have lost it, which `compare` notices.
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

	/** Pushes sessions that ended processes left, of any project. */
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
	 * Whether a session's file contains lines that are not known to be stored.
	 * @param {PendingSession} one
	 * @param {boolean} givesUpMissing
	 */
	async #isUnstored(one, givesUpMissing) {
		try {
			// Asynchronously, because on a drive that hangs the call never ends.
			await promises.stat(one.file);
			return !this.#rules.isPrivate(one) && lagOf(one.file, this.#noteOf(one)) > 0;
		} catch (error) {
			if (!["ENOENT", "ENOTDIR"].includes(Object(error).code)) return true;
			// If the directory is missing, too, its drive may come back.
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
		// The variable names the project of pi's own working directory only.
		const set = cwd === this.#open.cwd ? undefined : "";
		const finding = settings.projectIn(cwd, this.#store.host, this.#open.agentDir, set).then(({ project }) => project);
		finding.catch(() => this.#projects.delete(cwd));
		this.#projects.set(cwd, finding);
		return finding;
	}

	/** Notes whether the store answers, for `pi-sync status`. @template T @param {Promise<T>} call */
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

/** Writes to pi, if it still runs. @param {string} text */
function say(text) {
	try {
		writeSync(1, text);
	} catch {
		// pi has ended, so nobody waits for it.
	}
}

/** Ends at once, because `process.exit` waits for calls to a drive that hangs. */
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
