// The process beside pi. It calls the store while pi has one session open (lib/extension starts it), because a call to
// a network drive whose server is gone never ends, and would block pi. Its argument describes the open session. When
// its standard input ends, pi has closed the session or was killed. Then it stores the rest and writes the result, one
// of `ANSWERS`; nothing if a later process must try again.
//
//   work                                       repeated after
//   push that session, if its file has grown   0.25 s
//   pull all other sessions of the project     5 s; a minute if nothing was said in the session for ten minutes
//   push sessions that earlier processes left  once
//
// A pull does not change a session that a pi of this machine has open (open-files.js), because its manager would not
// notice. So this session is pulled when it is closed.
import { promises, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { setAgentDir } from "pi-session-native";
import { everySessionFile } from "pi-session-native/session-files";
import { unlessAbsent } from "../base/calls.js";
import { asError } from "../base/errors.js";
import { inParallel } from "../base/in-parallel.js";
import { hostId, openStore, SessionSync } from "../index.js";
import { notesIn } from "../machine/agent-dir.js";
import { LastErrors } from "../machine/last-errors.js";
import { revisionOf } from "../machine/notes.js";
import { isOpen } from "../machine/open-files.js";
import { Pending } from "../machine/pending.js";
import settings from "../machine/settings.js";

/** The pauses before the next look at the file, before the next pull, and before the next pull of an idle session. */
const FOLLOW_MS = 250;
const PULL_MS = 5000;
const LONG_PULL_MS = 60_000;
const IDLE_MS = 10 * 60_000;
/** The pause before sessions that have not changed in the store are looked at again: they failed, or were open. */
const LOOK_AGAIN_MS = 60_000;
/** The pause after the first failure, and the longest one. */
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;
/** The longest time that this process continues after pi has closed the session. */
const END_MS = 60_000;
/** The number of sessions of earlier processes that are pushed at the same time. */
const ABANDONED_AT_ONCE = 4;
/**
 * The output at the end: nothing is left to store; it cannot be stored before the user changes something; or the
 * session has grown since it was deleted from the store.
 */
const ANSWERS = { done: "done\n", refused: "refused\n", deleted: "deleted\n" };
/**
 * Errors after which a later process need not try again: the session was deleted, a line is held back, or the store can
 * never store a line. A user can mend the others.
 */
const FINAL = new Set(["deleted", "held-back", "invalid"]);

/** @typedef {import("../machine/pending.js").PendingSession} PendingSession */
/**
 * @typedef {{ session: string, file: string, cwd: string, dir: string, isShared: boolean, agentDir: string, size:
 * number }} Open what pi has open, and where its sessions are. `size`: the size of the file when pi opened it, because
 * pi may write before this process has started
 */

/** Synchronises the project of the session that pi has open. */
class OpenSessionSync {
	#open;
	#address;
	#notesDir;
	#settings;
	#rules;
	#pending;
	#errors;
	#isClosed = false;
	/** @type {import("../index.js").LineStore} */
	#store = /** @type {any} */ (undefined);
	/** The sessions of the project; undefined until it is known. @type {SessionSync | undefined} */
	#sync;
	/** The size of the file at the last push. */
	#pushedSize = -1;
	/** The size of the file when pi opened it, and then at the last push without an error. */
	#storedSize;
	/** The revisions of the stored sessions that were looked at. @type {Set<string>} */
	#seen = new Set();
	#lookAgainAt = 0;

	/** @param {Open} open @param {string} address */
	constructor(open, address) {
		this.#open = open;
		this.#address = address;
		this.#notesDir = notesIn(open.agentDir);
		this.#settings = settings.readSettings(open.agentDir);
		this.#rules = settings.pushRules(open.agentDir);
		this.#pending = new Pending(this.#notesDir, address);
		this.#errors = new LastErrors(this.#notesDir, address);
		this.#storedSize = open.size;
	}

	async begin() {
		// First, because this process may be killed at any time.
		await this.#pending.add(this.#open);
		this.#store = await openStore(this.#address, { host: await hostId(this.#notesDir), locks: this.#notesDir });
		const { push, pull } = this.#settings;
		if (push) void this.#repeat(() => this.#pushGrown());
		if (pull) void this.#repeat(() => this.#pullOthers());
		if (push) void this.#repeat(() => this.#pushAbandoned());
	}

	/**
	 * Repeats work after the number of milliseconds that it returns, until it returns undefined or pi has closed the
	 * session. After a failure it is tried again; the pause doubles with each failure in a row. Half of the pause is
	 * random, so that hosts that failed together do not retry together.
	 * @param {() => Promise<number | undefined>} work
	 */
	async #repeat(work) {
		for (let failures = 0; !this.#isClosed; ) {
			/** @type {number | undefined} */
			let pause;
			try {
				pause = await work();
				failures = 0;
			} catch {
				pause = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++) * (0.5 + Math.random() / 2);
			}
			if (pause === undefined) return;
			await wait(pause);
		}
	}

	/** Called when pi has closed the session: stores the rest, then pulls the session. */
	async end() {
		this.#isClosed = true;
		setTimeout(exit, END_MS);
		const { push, pull } = this.#settings;
		const sync = await this.#openSync();
		const [result] = push ? await sync.push({ local: [this.#open] }) : [];
		const { code, retryable } = Object(result?.error);
		if (retryable) return;
		if (isFinal(result)) this.#pending.remove(this.#open.file);
		const hasGrown = sizeOf(this.#open.file) > this.#storedSize;
		if (!result?.error || (code === "deleted" && !hasGrown)) say(ANSWERS.done);
		else say(code === "deleted" ? ANSWERS.deleted : ANSWERS.refused);
		if (pull) await sync.pull({ session: this.#open.session });
	}

	/** Pushes the session if its file has grown. The slower the store answers, the more lines share a call. */
	async #pushGrown() {
		const size = (await unlessAbsent(promises.stat(this.#open.file)))?.size ?? 0;
		if (size === this.#pushedSize || size === 0) return FOLLOW_MS;
		const [result] = await (await this.#openSync()).push({ local: [this.#open] });
		// If a part was stored, the push continues soon. After an error that does not pass it waits for more lines.
		if (result?.error && Object(result.error).retryable) {
			if (result.bytes === 0) throw result.error;
		} else {
			this.#pushedSize = size;
			if (!result?.error) this.#storedSize = size;
		}
		return FOLLOW_MS;
	}

	/** Pulls the sessions of the project, except those that a pi of this machine has open. */
	async #pullOthers() {
		const sync = await this.#openSync();
		// It is not noted, because the push notes it, and `pi-sync status` asks git itself.
		if (sync.projectProblem !== undefined) throw new Error(sync.projectProblem);
		const list = await this.#noted(this.#store.list({ project: sync.project }));
		const now = performance.now();
		if (now >= this.#lookAgainAt) {
			this.#seen.clear();
			this.#lookAgainAt = now + LOOK_AGAIN_MS;
		}
		const sessions = list.sessions.filter((one) => !this.#seen.has(revisionOf(one)));
		if (sessions.length > 0) {
			await sync.pull({ items: (await sync.compare({ list: { ...list, sessions } })).items });
			for (const one of sessions) this.#seen.add(revisionOf(one));
		}
		const saidAt = statSync(this.#open.file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
		return performance.now() > IDLE_MS && Date.now() - saidAt > IDLE_MS ? LONG_PULL_MS : PULL_MS;
	}

	/** Pushes sessions that ended processes left, of any project. */
	async #pushAbandoned() {
		/** @type {Error[]} */
		const failures = [];
		const push = async (/** @type {ReturnType<Pending["abandoned"]>[0]} */ one) => {
			// If the directory of the file is missing, its drive may come back.
			if (!(await unlessAbsent(promises.stat(dirname(one.file))))) return;
			const [result] = await (await this.#syncOf(one)).push({ local: [one] });
			if (isFinal(result)) this.#pending.remove(one.file);
			// A push is repeated after an error that may pass. Other errors need a user, to whom `pi-sync status` shows them:
			// then each later process beside pi tries once.
			else if (Object(result?.error).retryable) failures.push(/** @type {Error} */ (result?.error));
		};
		await inParallel(
			this.#pending.abandoned(),
			(one) => push(one).catch((error) => void failures.push(asError(error))),
			{ limit: ABANDONED_AT_ONCE },
		);
		if (failures[0]) throw failures[0];
		return undefined;
	}

	/** The sessions of the project of the open session. git is asked for it until it answers. */
	async #openSync() {
		const sync = this.#sync ?? (await this.#syncOf(this.#open));
		if (sync.projectProblem === undefined) this.#sync = sync;
		return sync;
	}

	/** @param {PendingSession & Partial<Open>} one */
	async #syncOf({ file, cwd, dir = dirname(file), isShared = false }) {
		// The variable names the project of pi's own working directory only.
		const set = cwd === this.#open.cwd ? undefined : "";
		const { project, problem } = await settings.projectIn(cwd, this.#store.host, this.#open.agentDir, set);
		const otherFiles = () => everySessionFile(this.#open.dir);
		return new SessionSync({
			store: this.#store,
			address: this.#address,
			notes: this.#notesDir,
			dir,
			cwd,
			isShared,
			project,
			projectProblem: problem,
			otherFiles,
			isOpen: (path) => isOpen(this.#notesDir, path),
			...this.#rules,
		});
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

/** @param {import("../index.js").PushResult | undefined} result undefined if the session is private */
const isFinal = (result) => !result?.error || FINAL.has(Object(result.error).code);

/** The size of a file; 0 if it is missing. @param {string} file */
const sizeOf = (file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

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
	const sync = new OpenSessionSync(open, address);
	const begun = sync.begin();
	process.stdin.resume().once("end", () => void begun.then(() => sync.end()).then(exit, exit));
	begun.catch(exit);
}
