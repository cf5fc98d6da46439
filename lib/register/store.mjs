// A store of sessions (PI_SESSION_NATIVE_STORE) while pi runs: this project's sessions are pulled before pi starts, what pi
// appends is pushed while it runs, and the rest when it ends. Only other processes touch the store: a worker (store-worker.mjs) at the
// start and at the end, for which pi waits two seconds each, and a follower (store-follower.mjs) between them, for which it never waits.
// This process tells the follower which sessions are open, and knows from the notes on this machine what is stored.
import { existsSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { manifestOf } from "./package.mjs";
import { Follower, runTask } from "./store-processes.mjs";
import { CLAIM_MS, STORE_VARIABLE, agentDirIn, expandHome, isExclusive, isStoreNamed, rulesBeside, unpacked } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
/** How long pi's start and end wait for the store, in milliseconds. */
const TIMEOUT_VARIABLE = "PI_SESSION_NATIVE_STORE_TIMEOUT";
const TIMEOUT_MS = 2000;
const TICK_MS = 400;
/** After how long a follower that ended by itself is started again: twice as long each time. */
const RESTART_MS = 1000;
const LONGEST_RESTART_MS = 60_000;
/** How many lines of one kind are said when pi starts. */
const MAX_LINES = 5;
/** Statics that give a manager with a file. */
const STATICS = ["create", "open", "continueRecent", "forkFrom"];
/** Arguments with which pi shows no stored session. */
const SHOWS_NOTHING = new Set(["--help", "-h", "--version", "-v", "--list-models", "--no-session", "--export"]);
/** pi's commands that are about no session, as the first argument. */
const COMMANDS = new Set(["install", "remove", "uninstall", "update", "list", "config", "auth"]);

/**
 * The store that the environment or the settings name, or undefined. From then on the environment, which pi's tools get, has the
 * address without its password.
 */
export function storeOfEnvironment(env = process.env) {
	const agentDir = agentDirIn(env);
	if (!isStoreNamed(env)) return undefined;
	const { publicAddress, readSettings, storeAddress } = require("../store/settings.js");
	const given = { [STORE_VARIABLE]: env[STORE_VARIABLE] };
	const show = (address) => {
		const seen = address && publicAddress(address);
		if (seen === undefined) delete env[STORE_VARIABLE];
		else env[STORE_VARIABLE] = seen;
	};
	// First: whatever is wrong with the settings, pi's tools get no password.
	show(given[STORE_VARIABLE]);
	try {
		const address = storeAddress(agentDir, given);
		if (address === undefined) return undefined;
		show(address);
		return new StoreInPi(address, timeoutOf(env[TIMEOUT_VARIABLE]), readSettings(agentDir));
	} catch (error) {
		say(`no store is used: ${error.message}`);
		return undefined;
	}
}

function timeoutOf(text = "") {
	const timeout = text === "" ? TIMEOUT_MS : Number(text);
	if (Number.isInteger(timeout) && timeout >= 1 && timeout < 2 ** 31) return timeout;
	say(`${TIMEOUT_VARIABLE} must be a whole number of milliseconds, 1 or more, not ${JSON.stringify(text.slice(0, 100))}; ${TIMEOUT_MS} is used`);
	return TIMEOUT_MS;
}

class StoreInPi {
	#address;
	#timeout;
	/** Managers that have or will have a file. */
	#managers = new Set();
	/** By working directory. */
	#projects = new Map();
	/** Which sessions other hosts use, by session: a sentence, and how long it holds unless it is heard again. */
	#inUse = new Map();
	/** What the follower said that it claimed. */
	#claimed = new Set();
	#notesFolder;
	/** What earlier processes did not manage to store. */
	#leftover = [];
	/** What managers had open so far, by file, as it is written down; they may have gone on to other sessions since. */
	#opened = new Map();
	#follower;
	/** When the next follower may be started, and how long the one after it waits should that end by itself. */
	#followsFrom = 0;
	#restart = RESTART_MS;
	/** What pulls in the background need to know, if there are any. */
	#pull;
	#settings;
	#agentDir;
	/** The class that pi uses. */
	#SessionManager;
	/** The lines that were shown while pi ran, and those that wait until it has ended. */
	#shown = new Set();
	#delayed = [];

	constructor(address, timeout, settings) {
		this.#address = address;
		this.#settings = settings;
		this.#timeout = timeout;
	}

	/** Pulls what this project's sessions lack, for two seconds at most. `pi` is the one that is going to start. */
	pullBefore(pi, args = process.argv.slice(2)) {
		const messages = args.indexOf("--");
		const options = messages < 0 ? args : args.slice(0, messages);
		if (COMMANDS.has(options[0]) || options.some((arg) => SHOWS_NOTHING.has(arg))) return;
		const at = options.findIndex((arg) => arg === "--session-dir");
		const dir = at < 0 ? options.find((arg) => arg.startsWith("--session-dir="))?.slice("--session-dir=".length) : options[at + 1];
		const agentDir = agentDirOf(pi);
		this.#notesFolder = () => join(agentDir, "session-stores");
		this.#agentDir = agentDir;
		if (this.#settings.pull) this.#pull = { dir };
		if (this.#silence((silence) => silence.isRecent())) {
			say("the store did not answer less than a minute ago, and is not asked; pi starts with the sessions that are here");
			return;
		}
		const { result, error } = this.#run({ task: "pull", dir, pulls: this.#settings.pull }, { PI_CODING_AGENT_DIR: agentDir });
		const pull = dir === undefined ? "pi-sessions pull" : `pi-sessions pull --dir ${dir}`;
		const { leftover = [], inUse = [], errors = [], project, problem } = result;
		this.#leftover = leftover;
		for (const one of leftover) if (one.project !== undefined) this.#projects.set(one.cwd, one.project);
		if (project !== undefined) this.#projects.set(process.cwd(), project);
		if (problem !== undefined) say(problem);
		sayFew(errors, (count) => `${count} more problems; ${pull} names them`);
		for (const { session, host } of inUse) this.#use(session, `Session ${session} is in use on ${host}`);
		sayFew(inUse.map(({ session, host }) => `session ${session} is in use on ${host}`), (count) => `${count} more sessions are in use on other hosts; pi-sessions remote shows them`);
		if (error !== undefined) say(this.#incomplete(error, result, pull));
	}

	/** Notes that another host uses a session. */
	#use(session, sentence) {
		this.#inUse.set(session, { sentence: safe(sentence), until: performance.now() + CLAIM_MS });
	}

	/** What is lacking after a pull that was stopped. */
	#incomplete(error, { lacking, isReached }, pull) {
		const isLate = error === "timeout";
		if (lacking === undefined && isLate) return `${isReached ? `the store was not read to its end within ${this.#timeout / 1000} s` : this.#lateness()}; pi starts with the sessions that are here`;
		if (lacking === undefined) return `the store was not asked: ${error}`;
		const { left, of } = lacking;
		const why = isLate ? `${this.#timeout / 1000} s were over` : error;
		return `what is new in ${left} of ${of} stored sessions did not come (${why}); pi starts without it, and ${pull} gets it`;
	}

	/** Follows the sessions that managers of this class have from now on. */
	watch(SessionManager, getDefaultSessionDir) {
		this.#SessionManager = SessionManager;
		this.#notesFolder = () => require("../store/notes.js").notesBeside(dirname(getDefaultSessionDir(homedir(), undefined, { create: false })));
		const register = (manager) => this.#register(manager);
		for (const name of STATICS) {
			const declared = Object.getOwnPropertyDescriptor(SessionManager, name);
			const original = declared.value;
			const value = {
				[name](...args) {
					const manager = original.apply(this, args);
					// A session that is only looked at has nothing to store, and nobody is to see that it is in use.
					return args.some((arg) => arg?.readonly === true) ? manager : register(manager);
				},
			}[name];
			Object.defineProperty(value, "length", { value: original.length, configurable: true });
			Object.defineProperty(SessionManager, name, { ...declared, value });
		}
		const tick = setInterval(() => this.#tick(), TICK_MS);
		// The timer does not keep pi running.
		tick.unref();
		process.on("exit", () => this.#end());
	}

	/** Takes a manager that was made; throws if its session is in use elsewhere and wanted alone. */
	#register(manager) {
		const use = this.#inUse.get(manager.getSessionId());
		if (use !== undefined && performance.now() < use.until && isExclusive()) {
			manager.close();
			throw new Error(`${use.sentence}, and PI_SESSION_NATIVE_LOCK=exclusive is set`);
		}
		this.#managers.add(new WeakRef(manager));
		this.#writeDown();
		return manager;
	}

	/** Writes down which sessions are open, before they have anything to store: this process may be killed at any time. */
	#writeDown() {
		const opened = [...this.#sessions()].map((one) => ({ ...one, project: this.#projects.get(one.cwd) || process.env.PI_SESSION_NATIVE_PROJECT }));
		for (const one of opened) {
			const known = this.#opened.get(one.file);
			if (known && known.project === one.project) continue;
			this.#opened.set(one.file, one);
			try {
				this.#pending()?.add(one);
			} catch (error) {
				this.#show(`which sessions are open cannot be written down (${error.message}): what is not stored when pi is killed waits for pi-sessions push`);
			}
		}
	}

	/** Takes back what was written down of files that are stored, or were never made. */
	#strikeOut() {
		const pending = this.#pending();
		for (const one of this.#opened.values()) {
			if (existsSync(one.file) && this.#isUnstored(one)) continue;
			try {
				pending?.remove(one.file);
			} catch {
				// The next start finds that there is nothing to do.
			}
		}
	}

	/** Undefined if the address is not understood: the worker says what is wrong with it. */
	#pending() {
		const { Pending } = require("../store/pending.js");
		try {
			return new Pending(this.#notesFolder(), this.#address);
		} catch {
			return undefined;
		}
	}

	/** What the managers have open now: they may have moved to another session since. */
	#sessions() {
		const sessions = new Map();
		for (const ref of this.#managers) {
			const manager = ref.deref();
			if (!manager) this.#managers.delete(ref);
			const file = manager?.getSessionFile();
			if (file !== undefined) sessions.set(file, { session: manager.getSessionId(), file, cwd: manager.getCwd() });
		}
		return sessions.values();
	}

	/** Tells the follower what is open. A pi that pulls nothing, has no session with a file and nothing left to store, has no follower. */
	#tick() {
		this.#writeDown();
		const open = [...this.#sessions()].filter(({ file }) => existsSync(file));
		const isNeeded = this.#pull || open.length + this.#leftover.length > 0;
		if (!this.#follower && isNeeded && performance.now() >= this.#followsFrom && !this.#silence((silence) => silence.isRecent())) this.#follower = this.#startFollower();
		this.#follower?.follow(this.#settings.push ? open : []);
	}

	#startFollower() {
		const leftover = this.#settings.push ? this.#leftover : [];
		const first = { notes: this.#notesFolder(), timeout: this.#timeout, leftover, pull: this.#pull, projects: [...this.#projects], inUse: [...this.#inUse.keys()] };
		const begun = performance.now();
		const onEnd = (why) => {
			this.#show(`the process that stores what is appended has ended (${why}), and is started again`);
			// One that has long been at work did not end because of how it begins.
			const pause = performance.now() - begun > LONGEST_RESTART_MS ? RESTART_MS : this.#restart;
			this.#follower = undefined;
			this.#followsFrom = performance.now() + pause;
			this.#restart = Math.min(pause * 2, LONGEST_RESTART_MS);
		};
		return new Follower(first, { env: { [STORE_VARIABLE]: this.#address, ...(this.#agentDir && { PI_CODING_AGENT_DIR: this.#agentDir }) }, onReport: (report) => this.#hear(report), onEnd });
	}

	/** What the follower says. */
	#hear({ project, claimed, inUse, call, show }) {
		if (project) this.#projects.set(...project);
		if (claimed) {
			this.#claimed.add(claimed);
			this.#inUse.delete(claimed);
		}
		if (inUse) this.#use(...inUse);
		if (call) this.#call(call);
		if (show) this.#show(show);
	}

	/** Changes the file of a session that is open here, and lets its managers take that in. */
	#call({ id, name, file, input }) {
		try {
			const report = this.#SessionManager[name](file, unpacked(input));
			this.#takeIn(file);
			this.#follower?.answer({ id, report });
		} catch ({ message, code }) {
			this.#follower?.answer({ id, error: { message, code } });
		}
	}

	#takeIn(file) {
		for (const ref of this.#managers) {
			const manager = ref.deref();
			if (manager?.getSessionFile() !== file) continue;
			try {
				manager.reload();
			} catch (error) {
				this.#show(`what was pulled of session ${manager.getSessionId()} is not taken in: ${error.message}`);
			}
		}
	}

	/** A line now, or after pi where it would be drawn over pi's screen; once. */
	#show(line) {
		if (this.#shown.has(line)) return;
		this.#shown.add(line);
		if (process.stdin.isTTY && process.stderr.isTTY) this.#delayed.push(line);
		else say(line);
	}

	#end() {
		// What it was about to do is done below, in the time that there is for it.
		this.#follower?.stop();
		this.#writeDown();
		const opened = [...this.#opened.values()].filter(({ file }) => existsSync(file));
		const all = new Map([...this.#leftover, ...opened].map((one) => [one.file, one]));
		const unstored = !this.#settings.push ? [] : [...all.values()].filter((one) => existsSync(one.file) && this.#isUnstored(one));
		const sessions = unstored.map((one) => ({ ...one, project: this.#projects.get(one.cwd) }));
		// The follower may have claimed more than it could say. Giving up what another host has changes nothing.
		const claimed = [...new Set([...this.#claimed, ...opened.map(({ session }) => session)])];
		for (const line of this.#delayed) say(line);
		if (sessions.length > 0 && this.#silence((silence) => silence.isRecent())) say(this.#notAllStored(this.#lateness()));
		else if (sessions.length > 0 || claimed.length > 0) {
			endBySignals();
			const { result, error } = this.#run({ task: "push", notes: this.#notesFolder(), sessions, claimed });
			for (const line of result.told ?? []) if (!this.#shown.has(line)) say(line);
			// Where only claims were to be given up, all is stored, and they end by themselves.
			const why = error === undefined ? result.errors[0] : error === "timeout" ? this.#lateness() : error;
			if (sessions.length > 0 && why !== undefined) say(this.#notAllStored(why));
		}
		this.#strikeOut();
	}

	#notAllStored(why) {
		return `not all is stored yet (${why}); the next start goes on with it, or pi-sessions push`;
	}

	/** Whether a file has lines that are not known to be stored, by this machine's notes. */
	#isUnstored(one) {
		const { SessionSync } = require("../store/sync.js");
		try {
			const notes = this.#notesFolder();
			return new SessionSync({ address: this.#address, notes, dir: dirname(one.file), cwd: one.cwd, project: "", ...rulesBeside(notes) }).lagOf(one) > 0;
		} catch {
			// There are no notes of an address that is not understood. The worker says what is wrong with it.
			return true;
		}
	}

	#run(task, env = {}) {
		const done = runTask(task, { timeout: this.#timeout, env: { [STORE_VARIABLE]: this.#address, ...env } });
		if (done.result.isReached) this.#silence((silence) => silence.end());
		else if (done.error === "timeout") {
			this.#silence((silence) => silence.begin());
			this.#noteError(this.#lateness());
		}
		return done;
	}

	/** Notes that the store is silent, or asks for it; undefined if that cannot be noted: then it is asked, and waited for. */
	#silence(work) {
		const { Silence } = require("../store/silence.js");
		try {
			return work(new Silence(this.#notesFolder(), this.#address));
		} catch {
			return undefined;
		}
	}

	/** Notes why the store was not reached, for `pi-sessions remote status`. The worker notes what else fails. */
	#noteError(message) {
		const { LastErrors } = require("../store/last-errors.js");
		try {
			new LastErrors(this.#notesFolder(), this.#address).set(undefined, Object.assign(new Error(message), { code: "unreachable" }));
		} catch {
			// There are no notes of an address that is not understood, which is said.
		}
	}

	#lateness() {
		return `the store did not answer within ${this.#timeout / 1000} s`;
	}
}

/** From here on signals end this process at once: pi has ended, and nobody would hear of them while the store is waited for. */
function endBySignals() {
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(signal);
}

/** One line that is fit for a terminal: what a store holds was written by others. */
const safe = (text) => require("../cli/text.mjs").safeLine(text);

function say(line) {
	try {
		writeSync(2, `pi-session-native: ${safe(line)}\n`);
	} catch {
		// Nobody reads the errors of this process, or not now: pi goes on.
	}
}

/** The first lines, and how many more there are. */
function sayFew(lines, more) {
	for (const line of lines.slice(0, MAX_LINES)) say(line);
	if (lines.length > MAX_LINES) say(more(lines.length - MAX_LINES));
}

/** The directory of a pi's settings and sessions: renamed builds have their own. */
function agentDirOf(pi) {
	const { name = "pi", configDir = ".pi" } = manifestOf(pi.dir)?.piConfig ?? {};
	return expandHome(process.env[`${name.toUpperCase()}_CODING_AGENT_DIR`] || join("~", configDir, "agent"));
}
