// A store of sessions (PI_SESSION_NATIVE_STORE) while pi runs: this project's sessions are pulled before pi starts, what pi
// appends is pushed while it runs, and the rest when it ends. Only another process touches the store, the follower: pi waits for it at
// its start and at its end, two seconds each, and never between them (process.mjs). This process tells it which sessions are open,
// and writes down on this machine that they are pending (machine/pending.js).
import { existsSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { messageOf } from "../base/errors.js";
import { Follower } from "./process.mjs";
import { STORE_VARIABLE, agentDirOf, notesIn } from "../machine/setting-names.js";
import { lateness, pullCommand } from "./common.mjs";

/** @typedef {import("../../../../index.js").SessionManager} Manager */
/** @typedef {import("./messages.mjs").Report} Report */

const require = createRequire(import.meta.url);
/** What the variable said before its password was taken out. */
const NAMED = process.env[STORE_VARIABLE];
/** How long pi's start and end wait for the store, in milliseconds, if nothing else is set. */
const TIMEOUT_MS = 2000;
const TICK_MS = 400;
/** After how long another follower may be started where one ended by itself: some never can be. */
const RESTART_MS = 60_000;
/** Statics that give a manager with a file, and methods after which a manager may have another one. */
const STATICS = ["create", "open", "continueRecent", "forkFrom"];
const METHODS = ["newSession", "createBranchedSession", "setSessionFile"];
/** Arguments with which pi shows no stored session. */
const SHOWS_NOTHING = new Set(["--help", "-h", "--version", "-v", "--list-models", "--no-session", "--export"]);
/** pi's commands that are about no session, as the first argument. Known here alone: one that a later pi has waits for the store, two seconds at most. */
const COMMANDS = new Set(["install", "remove", "uninstall", "update", "list", "config", "auth"]);

/**
 * The store that the environment or the settings of pi's directory name, or undefined. From then on the environment, which pi's tools get,
 * has the address without its password.
 */
export function storeOfEnvironment(agentDir = agentDirOf()) {
	const { readAddress } = require("../base/address.js");
	const { answerTimeout, publicAddress, storeAddress } = require("../machine/settings.js");
	const show = (/** @type {string | undefined} */ address) => {
		const seen = address && publicAddress(address);
		if (seen === undefined) delete process.env[STORE_VARIABLE];
		else process.env[STORE_VARIABLE] = seen;
	};
	// First: whatever is wrong with the settings, pi's tools get no password.
	show(NAMED);
	try {
		const address = storeAddress(agentDir, NAMED ?? "");
		if (address === undefined) return undefined;
		readAddress(address);
		show(address);
		return new StoreInPi(address, notesIn(agentDir), answerTimeout(TIMEOUT_MS, print));
	} catch (error) {
		print(`no store is used: ${messageOf(error)}`);
		return undefined;
	}
}

class StoreInPi {
	#address;
	#timeout;
	#notesDir;
	/** @type {import("../machine/pending.js").Pending} */
	#pending;
	/** @type {import("../machine/last-errors.js").LastErrors} */
	#errors;
	/** Those that have or will have a file. @type {Set<WeakRef<Manager>>} */
	#managers = new Set();
	/** @type {Set<string>} */
	#openedFiles = new Set();
	/** @type {Follower | undefined} */
	#follower;
	/** The open sessions as they were last sent to it, as a text. @type {string | undefined} */
	#sentOpen;
	/** When the next follower may be started. */
	#followsFrom = 0;
	/** What each follower is told of pi's start, where pi starts. @type {import("./messages.mjs").First["start"]} */
	#start;
	/** Whether pi waits for the follower, and so draws nothing. */
	#isWaiting = false;
	/** @type {Set<string>} */
	#shown = new Set();
	/** The lines that wait until pi has ended. @type {string[]} */
	#delayed = [];

	/** @param {string} address @param {string} notesDir @param {number} timeout */
	constructor(address, notesDir, timeout) {
		const { LastErrors } = require("../machine/last-errors.js");
		const { Pending } = require("../machine/pending.js");
		this.#address = address;
		this.#timeout = timeout;
		this.#notesDir = notesDir;
		this.#pending = new Pending(notesDir, address);
		this.#errors = new LastErrors(notesDir, address);
	}

	/** Pulls what this project's sessions lack, for two seconds at most, before pi starts. */
	pullBefore(args = process.argv.slice(2)) {
		const messages = args.indexOf("--");
		const options = messages < 0 ? args : args.slice(0, messages);
		if (COMMANDS.has(options[0]) || options.some((arg) => SHOWS_NOTHING.has(arg))) return;
		const at = options.findIndex((arg) => arg === "--session-dir");
		const dir = at < 0 ? options.find((arg) => arg.startsWith("--session-dir="))?.slice("--session-dir=".length) : options[at + 1];
		this.#start = { dir };
		if (this.#errors.isSilent()) {
			print("the store did not answer less than a minute ago, and is not asked; pi starts with the sessions that are here");
			return;
		}
		const answer = this.#waitFor(this.#startFollower(), "start");
		if (answer.outcome !== "done") print(this.#incomplete(answer, pullCommand(dir)));
		if (answer.outcome === "ended") this.#dropFollower();
	}

	/** What is lacking after a pull that was not waited for any longer, or ended by an error. @param {Report} answer @param {string} pull */
	#incomplete({ error, isReached, lacking }, pull) {
		const here = "pi starts with the sessions that are here";
		const seconds = `${this.#timeout / 1000} s`;
		if (lacking) return `what is new in ${lacking.left} of ${lacking.of} stored sessions did not come (${error ?? `${seconds} were over`}); pi starts without it, and ${pull} gets it`;
		if (error !== undefined) return `the store was not asked: ${error}`;
		return isReached ? `the store was not read to its end within ${seconds}; ${here}` : `${lateness(this.#timeout)}; ${here}`;
	}

	/** Follows the sessions that managers of this class have from now on. @param {typeof import("../../../../index.js").SessionManager} SessionManager */
	watch(SessionManager) {
		// A session that is only looked at has nothing to store, and nobody is to see that it is in use.
		const register = (/** @type {Manager} */ manager, /** @type {unknown[]} */ args) => {
			if (args.some((arg) => Object(arg).readonly === true)) return;
			this.#managers.add(new WeakRef(manager));
			this.#addPending();
		};
		for (const name of STATICS) doAfter(SessionManager, name, register);
		for (const name of METHODS) doAfter(SessionManager.prototype, name, () => this.#addPending());
		// The timer does not keep pi running.
		setInterval(() => this.#tick(), TICK_MS).unref();
		process.on("exit", () => this.#end());
	}

	/** The sessions that managers have open: they may have gone on to other ones since. */
	#sessions() {
		return [...this.#managers].flatMap((reference) => {
			const manager = reference.deref();
			if (!manager) this.#managers.delete(reference);
			const file = manager?.getSessionFile();
			return !manager || file === undefined ? [] : [{ manager, session: manager.getSessionId(), file, cwd: manager.getCwd() }];
		});
	}

	/** Writes down which sessions are open, before they have anything to store: this process may be killed at any time. */
	#addPending() {
		for (const one of this.#sessions().filter(({ file }) => !this.#openedFiles.has(file))) {
			this.#openedFiles.add(one.file);
			try {
				this.#pending.add({ ...one, project: process.env.PI_SESSION_NATIVE_PROJECT || undefined });
			} catch (error) {
				this.#show(`which sessions are open cannot be written down (${messageOf(error)}): what is not stored when pi is killed waits for pi-sessions push`);
			}
		}
	}

	/** Takes what the follower reports, and tells it what is open. An application without a session that has a file has none. */
	#tick() {
		this.#addPending();
		this.#follower?.read();
		const why = this.#follower?.ended;
		if (why !== undefined) {
			this.#show(`the process that stores what is appended has ended (${why}), and is started again`);
			this.#dropFollower();
		}
		const open = this.#sessions().filter(({ file }) => existsSync(file)).map(({ session, file, cwd }) => ({ session, file, cwd }));
		const isNeeded = this.#start !== undefined || open.length > 0;
		if (!this.#follower && isNeeded && performance.now() >= this.#followsFrom && !this.#errors.isSilent()) this.#startFollower();
		const text = JSON.stringify(open);
		if (text !== this.#sentOpen) this.#follower?.send({ open });
		this.#sentOpen = this.#follower && text;
	}

	#startFollower() {
		const first = { address: this.#address, notesDir: this.#notesDir, pendingId: this.#pending.id, timeout: this.#timeout, start: this.#start };
		this.#follower = new Follower(first, (report) => this.#receive(report), (call) => this.#changeFile(call));
		this.#followsFrom = performance.now() + RESTART_MS;
		return this.#follower;
	}

	#dropFollower() {
		this.#follower?.stop();
		[this.#follower, this.#sentOpen] = [undefined, undefined];
	}

	/** @param {Report} report */
	#receive({ show, done, error }) {
		if (show) this.#show(show);
		if (done === "start" && error) this.#show(error);
	}

	/** See `Follower.wait`. @param {Follower} follower @param {"start" | "end"} name */
	#waitFor(follower, name) {
		this.#isWaiting = true;
		const answer = follower.wait(name, this.#timeout);
		this.#isWaiting = false;
		if (answer.outcome === "late" && !answer.isReached) this.#errors.set(undefined, Object.assign(new Error(lateness(this.#timeout)), { code: "unreachable", isSilent: true }));
		return answer;
	}

	/**
	 * Changes the file of a session that is open here, and lets its managers take that in.
	 * @param {import("./messages.mjs").Call} call
	 * @returns {import("./messages.mjs").Answer}
	 */
	#changeFile({ name, file, input }) {
		try {
			const report = require("../../../../index.js").SessionManager[name](file, input);
			for (const one of this.#sessions().filter((one) => one.file === file)) this.#reload(one);
			return { report };
		} catch (error) {
			const { message, code } = Object(error);
			return { error: { message, code } };
		}
	}

	/** The file is changed, whether its managers take that in or not. @param {{ manager: Manager, session: string }} one */
	#reload({ manager, session }) {
		try {
			manager.reload();
		} catch (error) {
			this.#show(`session ${session}: what others said is in its file, and is not taken in here: ${messageOf(error)}`);
		}
	}

	/** Lets the follower change the files, which it did not while pi had them open. A manager that is used again opens its file again. */
	#closeFiles() {
		for (const { manager } of this.#sessions()) {
			try {
				manager.close();
			} catch {
				// Its lock is released all the same, and its file is stored as it is.
			}
		}
	}

	/** Shows a line now, or after pi where it would be drawn over pi's screen; once. @param {string} line */
	#show(line) {
		if (this.#shown.has(line)) return;
		this.#shown.add(line);
		if (!this.#isWaiting && process.stdin.isTTY && process.stderr.isTTY) this.#delayed.push(line);
		else print(line);
	}

	#end() {
		this.#addPending();
		for (const line of this.#delayed) print(line);
		this.#follower?.read();
		// What ends a service ends all of its processes.
		if (this.#follower?.hasEnded()) this.#dropFollower();
		if (!this.#follower && this.#openedFiles.size === 0) return;
		endBySignals();
		this.#closeFiles();
		this.#start = undefined;
		const follower = this.#follower ?? this.#startFollower();
		follower.end();
		const { outcome, error, unstored } = this.#waitFor(follower, "end");
		const why = outcome === "late" ? lateness(this.#timeout) : error;
		// Where others were only to be shown that all is closed, they see that within a minute. One that did not say yet has at most what was open here.
		if (why !== undefined && (unstored ?? this.#openedFiles.size) > 0) print(`not all is stored yet (${why}); the next start goes on with it, or pi-sessions push`);
		follower.stop();
	}
}

/**
 * Lets a method do something more, which is given its result and its arguments.
 * @param {object} object
 * @param {string} name
 * @param {(result: Manager, args: unknown[]) => void} more
 */
function doAfter(object, name, more) {
	/** @type {ProxyHandler<any>["apply"]} */
	const apply = (original, self, args) => {
		const result = Reflect.apply(original, self, args);
		more(result, args);
		return result;
	};
	Object.defineProperty(object, name, { value: new Proxy(Reflect.get(object, name), { apply }) });
}

/** From here on signals end this process at once: pi has ended, and nobody would hear of them while the store is waited for. */
function endBySignals() {
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(signal);
}

/** One line that is fit for a terminal: what a store holds was written by others. @param {string} line */
function print(line) {
	try {
		writeSync(2, `pi-session-native: ${require("../../../../lib/shared/text.mjs").safeLine(line)}\n`);
	} catch {
		// Nobody reads the errors of this process, or not now: pi goes on.
	}
}
