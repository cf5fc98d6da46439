// A store of sessions (PI_SESSION_NATIVE_STORE) while pi runs: this project's sessions are pulled before pi starts, what pi
// appends is pushed while it runs, and the rest when it ends. Only another process touches the store, the follower: pi waits for it at
// its start and at its end, two seconds each, and never between them (store-process.mjs). This process tells it which sessions are open,
// and knows from the notes on this machine what is stored.
import { existsSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { manifestOf } from "./package.mjs";
import { Follower } from "./store-process.mjs";
import { CLAIM_MS, STORE_VARIABLE, agentDirIn, doubled, expandHome, isExclusive, isStoreNamed, pullCommand, unpacked } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
/** How long pi's start and end wait for the store, in milliseconds. */
const TIMEOUT_VARIABLE = "PI_SESSION_NATIVE_STORE_TIMEOUT";
const TIMEOUT_MS = 2000;
const TICK_MS = 400;
/** After how long a follower that ended by itself is started again: twice as long each time. */
const RESTART_MS = 1000;
const LONGEST_RESTART_MS = 60_000;
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
	const { readAddress } = require("../store/address.js");
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
		readAddress(address);
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
	#notesFolder;
	/** What managers had open so far, by file, as it is written down; they may have gone on to other sessions since. */
	#opened = new Map();
	/** Those of them that could not be written down. */
	#unwritten = [];
	#follower;
	/** When this one was started, when the next one may be, and how long the one after it waits should that end by itself. */
	#begun = 0;
	#followsFrom = 0;
	#restart = RESTART_MS;
	/** What the follower is asked first, where pi starts. */
	#start;
	/** What was heard of the request that is waited for: whether the store answers, what did not come yet, and what is not stored. */
	#isReached = false;
	#lacking;
	#unstored;
	/** Whether pi waits for the follower, and so draws nothing. */
	#isWaiting = false;
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
		this.#start = { name: "start", dir, pulls: this.#settings.pull };
		if (this.#isSilent()) {
			say("the store did not answer less than a minute ago, and is not asked; pi starts with the sessions that are here");
			return;
		}
		const { isDone, error } = this.#ask(this.#start);
		if (isDone) return;
		say(this.#incomplete(error, pullCommand(dir)));
		if (error !== "timeout") this.#dropFollower();
	}

	/** Notes that another host uses a session. */
	#use(session, sentence) {
		this.#inUse.set(session, { sentence: safe(sentence), until: performance.now() + CLAIM_MS });
	}

	/** What is lacking after a pull that was not waited for any longer. */
	#incomplete(error, pull) {
		const isLate = error === "timeout";
		if (this.#lacking === undefined && isLate) return `${this.#isReached ? `the store was not read to its end within ${this.#timeout / 1000} s` : this.#lateness()}; pi starts with the sessions that are here`;
		if (this.#lacking === undefined) return `the store was not asked: ${error}`;
		const { left, of } = this.#lacking;
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
		const { Pending } = require("../store/pending.js");
		const opened = [...this.#sessions()].map((one) => ({ ...one, project: this.#projects.get(one.cwd) || process.env.PI_SESSION_NATIVE_PROJECT }));
		for (const one of opened) {
			const known = this.#opened.get(one.file);
			if (known && known.project === one.project) continue;
			this.#opened.set(one.file, one);
			try {
				new Pending(this.#notesFolder(), this.#address).add(one);
			} catch (error) {
				this.#unwritten.push(one);
				this.#show(`which sessions are open cannot be written down (${error.message}): what is not stored when pi is killed waits for pi-sessions push`);
			}
		}
	}

	/** Does something with the notes of this machine. Gives nothing if they cannot be read or written: the store is asked, and waited for, then. */
	#noted(work) {
		try {
			return work(this.#notesFolder(), this.#address);
		} catch {
			return undefined;
		}
	}

	/** Whether the store did not answer a moment ago. */
	#isSilent() {
		const { Silence } = require("../store/silence.js");
		return this.#noted((notes, address) => new Silence(notes, address).isRecent());
	}

	/** Notes whether the store answers, also for `pi-sessions remote status`. The follower notes what else fails. */
	#noteAnswer(answers) {
		const { LastErrors } = require("../store/last-errors.js");
		const { Silence } = require("../store/silence.js");
		this.#noted((notes, address) => (answers ? new Silence(notes, address).end() : new Silence(notes, address).begin()));
		if (!answers) this.#noted((notes, address) => new LastErrors(notes, address).set(undefined, Object.assign(new Error(this.#lateness()), { code: "unreachable" })));
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

	/** Hears what the follower has done, and tells it what is open. An SDK host without a session that has a file has none. */
	#tick() {
		this.#writeDown();
		this.#follower?.read();
		const open = [...this.#sessions()].filter(({ file }) => existsSync(file));
		const isNeeded = this.#start !== undefined || open.length > 0;
		if (!this.#follower && isNeeded && performance.now() >= this.#followsFrom && !this.#isSilent()) this.#startFollower(this.#start);
		this.#follower?.follow(open);
	}

	#startFollower(request) {
		const first = { notes: this.#notesFolder(), timeout: this.#timeout, pushes: this.#settings.push, projects: [...this.#projects], request };
		this.#begun = performance.now();
		const onEnd = (why) => {
			this.#show(`the process that stores what is appended has ended (${why}), and is started again`);
			this.#dropFollower();
		};
		this.#follower = new Follower(first, { env: { [STORE_VARIABLE]: this.#address, ...(this.#agentDir && { PI_CODING_AGENT_DIR: this.#agentDir }) }, onReport: (report) => this.#hear(report), onEnd });
	}

	/** Another one is started after a pause. */
	#dropFollower() {
		this.#follower.stop();
		this.#follower = undefined;
		// One that has long been at work did not end because of how it begins.
		const pause = performance.now() - this.#begun > LONGEST_RESTART_MS ? RESTART_MS : this.#restart;
		this.#followsFrom = performance.now() + pause;
		this.#restart = doubled(pause, RESTART_MS, LONGEST_RESTART_MS);
	}

	/** What the follower says. */
	#hear({ isReached, project, lacking, unstored, claimed, inUse, call, show, done, error }) {
		if (isReached) {
			this.#isReached = true;
			this.#noteAnswer(true);
		}
		if (project) this.#projects.set(...project);
		if (unstored !== undefined) this.#unstored = unstored;
		if (lacking) this.#lacking = lacking;
		if (claimed) this.#inUse.delete(claimed);
		if (inUse) this.#use(...inUse);
		// Nobody looks at a manager any more when pi ends.
		if (call && !this.#isWaiting) this.#call(call);
		if (show) this.#show(show);
		if (done === "start" && error) this.#show(error);
	}

	/** Asks the follower, and waits: see `Follower.wait`. */
	#ask(request) {
		[this.#isReached, this.#isWaiting] = [false, true];
		if (this.#follower) this.#follower.send({ request });
		else this.#startFollower(request);
		const answer = this.#follower.wait(request.name, this.#timeout);
		this.#isWaiting = false;
		if (answer.error === "timeout" && !this.#isReached && request.asks !== false) this.#noteAnswer(false);
		return answer;
	}

	/** Changes the file of a session that is open here, and lets its managers take that in. */
	#call({ id, name, file, input }) {
		try {
			const report = this.#SessionManager[name](file, unpacked(input));
			this.#takeIn(file);
			this.#follower?.send({ answer: { id, report } });
		} catch ({ message, code }) {
			this.#follower?.send({ answer: { id, error: { message, code } } });
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
		if (!this.#isWaiting && process.stdin.isTTY && process.stderr.isTTY) this.#delayed.push(line);
		else say(line);
	}

	#end() {
		this.#writeDown();
		for (const line of this.#delayed) say(line);
		this.#follower?.read();
		if (this.#follower?.hasEnded) this.#dropFollower();
		if (!this.#follower && this.#opened.size === 0) return;
		endBySignals();
		const asks = !this.#isSilent();
		// The follower reads what is written down. A message that does not fit into the pipe would not be written while this process waits.
		const { error } = this.#ask({ name: "end", sessions: this.#unwritten, asks });
		const why = asks && error !== "timeout" ? error : this.#lateness();
		// Where only claims were to be given up, all is stored, and they end by themselves.
		if (why !== undefined && this.#unstored !== 0) say(`not all is stored yet (${why}); the next start goes on with it, or pi-sessions push`);
		this.#follower.stop();
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

/** The directory of a pi's settings and sessions: renamed builds have their own. */
function agentDirOf(pi) {
	const { name = "pi", configDir = ".pi" } = manifestOf(pi.dir)?.piConfig ?? {};
	return expandHome(process.env[`${name.toUpperCase()}_CODING_AGENT_DIR`] || join("~", configDir, "agent"));
}
