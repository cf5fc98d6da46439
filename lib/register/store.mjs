// A store of sessions (PI_SESSION_NATIVE_STORE) while pi runs: this project's sessions are pulled before pi starts, what pi
// appends is pushed while it runs, and the rest when it ends. Separate processes do the first and the last: both have two seconds,
// and pi's start and end wait for nothing else. No call to the store is between a prompt and its answer.
import { spawnSync } from "node:child_process";
import { existsSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { manifestOf } from "./package.mjs";

export const STORE_VARIABLE = "PI_SESSION_NATIVE_STORE";

const require = createRequire(import.meta.url);
const WORKER = fileURLToPath(new URL("store-worker.mjs", import.meta.url));
/** How long pi's start and end wait for the store, in milliseconds. */
const TIMEOUT_VARIABLE = "PI_SESSION_NATIVE_STORE_TIMEOUT";
const TIMEOUT_MS = 2000;
const TICK_MS = 400;
/** How long a session counts as in use here after the last claim, and when that is renewed. */
export const CLAIM_MS = 60_000;
const RENEW_MS = 20_000;
const IN_USE = "another host uses it, and PI_SESSION_NATIVE_LOCK=exclusive is set";
/** Statics that give a manager with a file. */
const STATICS = ["create", "open", "continueRecent", "forkFrom"];
/** Arguments with which pi shows no stored session. */
const SHOWS_NOTHING = new Set(["--help", "-h", "--version", "-v", "--list-models", "--no-session", "--export"]);
/** pi's commands that are about no session, as the first argument. */
const COMMANDS = new Set(["install", "remove", "uninstall", "update", "list", "config", "auth"]);

/** The store that the environment names, or undefined. */
export function storeOfEnvironment(env = process.env) {
	return env[STORE_VARIABLE] ? new StoreInPi(env[STORE_VARIABLE], timeoutOf(env[TIMEOUT_VARIABLE])) : undefined;
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
	/** By the directory of the files, and the working directory. */
	#syncs = new Map();
	/** Promises of these. */
	#opening = new Map();
	/** By working directory. */
	#projects = new Map();
	/** @type {Map<string, { at: number, epoch: number | undefined }>} */
	#claims = new Map();
	/** Sessions that other hosts use, by id. */
	#inUse = new Map();
	#library;
	#store;
	#notesFolder;
	/** What earlier processes did not manage to store. */
	#leftover = [];
	/** By file; managers may have gone on to other sessions since. */
	#followed = new Map();
	/** The lines that were shown while pi ran, and those that wait until it has ended. */
	#shown = new Set();
	#delayed = [];

	constructor(address, timeout) {
		this.#address = address;
		this.#timeout = timeout;
	}

	/** Pulls what this project's sessions lack, for two seconds at most. `pi` is the one that is going to start. */
	pullBefore(pi, args = process.argv.slice(2)) {
		const messages = args.indexOf("--");
		const options = messages < 0 ? args : args.slice(0, messages);
		if (COMMANDS.has(options[0]) || options.some((arg) => SHOWS_NOTHING.has(arg))) return;
		const at = options.findIndex((arg) => arg === "--session-dir");
		const dir = at < 0 ? options.find((arg) => arg.startsWith("--session-dir="))?.slice("--session-dir=".length) : options[at + 1];
		const { result, error } = this.#run({ task: "pull", dir }, { PI_CODING_AGENT_DIR: agentDirOf(pi) });
		const { leftover = [], inUse = [], errors = [], project, problem, lacking } = result;
		this.#leftover = leftover;
		if (project !== undefined) this.#projects.set(process.cwd(), project);
		if (problem !== undefined) say(problem);
		for (const line of errors) say(line);
		for (const { session, host } of inUse) {
			this.#inUse.set(session, safe(host));
			say(`session ${session} is in use on ${host}`);
		}
		if (error !== undefined) say(this.#incomplete(error, lacking, dir));
	}

	/** What is lacking after a pull that was stopped. */
	#incomplete(error, lacking, dir) {
		const isLate = error === "timeout";
		if (lacking === undefined) return isLate ? `${this.#lateness()}; pi starts with the sessions that are here` : `the store was not asked: ${error}`;
		const { left, of } = lacking;
		const command = dir === undefined ? "pi-sessions pull" : `pi-sessions pull --dir ${dir}`;
		const why = isLate ? `${this.#timeout / 1000} s were over` : error;
		return `what is new in ${left} of ${of} stored sessions did not come (${why}); pi starts without it, and ${command} gets it`;
	}

	/** Follows the sessions that managers of this class have from now on. */
	watch(SessionManager, getDefaultSessionDir) {
		this.#notesFolder = () => require("../store/notes.js").notesBeside(dirname(getDefaultSessionDir(homedir(), undefined, { create: false })));
		const register = (manager) => this.#register(manager);
		for (const name of STATICS) {
			const declared = Object.getOwnPropertyDescriptor(SessionManager, name);
			const original = declared.value;
			const value = { [name](...args) { return register(original.apply(this, args)); } }[name];
			Object.defineProperty(value, "length", { value: original.length, configurable: true });
			Object.defineProperty(SessionManager, name, { ...declared, value });
		}
		const tick = setInterval(() => void this.#tick(), TICK_MS);
		// The timer does not keep pi running.
		tick.unref();
		process.on("exit", () => this.#end());
	}

	/** Takes a manager that was made; throws if its session is in use elsewhere and wanted alone. */
	#register(manager) {
		const host = this.#inUse.get(manager.getSessionId());
		if (host !== undefined && isExclusive()) {
			manager.close();
			throw new Error(`Session ${manager.getSessionId()} is in use on ${host}, and PI_SESSION_NATIVE_LOCK=exclusive is set`);
		}
		this.#managers.add(new WeakRef(manager));
		return manager;
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

	async #tick() {
		for (const one of [...this.#leftover.splice(0), ...this.#sessions()]) {
			if (!existsSync(one.file)) continue;
			try {
				const sync = await this.#syncOf(one);
				sync.follow({ ...one, epoch: () => this.#epochOf(one.session) });
				this.#followed.set(one.file, one);
				await this.#claim(one.session, sync.lagOf(one) === 0 || this.#inUse.has(one.session));
			} catch (error) {
				this.#fail(error, one.session);
			}
		}
	}

	/** One for each directory of files and working directory, though the next tick may come before git has answered. */
	#syncOf(one) {
		const key = keyOf(one);
		const known = this.#opening.get(key);
		if (known) return known;
		const opening = this.#openSync(one);
		this.#opening.set(key, opening);
		opening.catch(() => this.#opening.delete(key));
		return opening;
	}

	async #openSync({ file, cwd }) {
		this.#library ??= require("../store/index.js");
		const { SessionSync, hostId, openStore } = this.#library;
		const notes = this.#notesFolder();
		this.#store ??= await openStore(this.#address, { host: hostId(notes) });
		const onError = (error, session) => this.#fail(error, session);
		const project = await this.#projectOf(cwd);
		const sync = new SessionSync({ store: this.#store, address: this.#address, notes, dir: dirname(file), cwd, project, onError });
		this.#syncs.set(keyOf({ file, cwd }), sync);
		return sync;
	}

	/** The project of a working directory; git is asked without waiting for it. */
	async #projectOf(cwd) {
		const known = this.#projects.get(cwd);
		if (known !== undefined) return known;
		const found = await require("../store/project.js").findProject(cwd);
		this.#projects.set(cwd, found.project);
		if (found.problem !== undefined) this.#show(found.problem);
		return found.project;
	}

	/** Claims a session for this host, if the store has claims. */
	async #claim(session, isStored) {
		const last = this.#claims.get(session);
		if (!this.#store.claim || !isStored || (last && performance.now() - last.at < RENEW_MS)) return;
		this.#claims.set(session, { at: performance.now(), epoch: last?.epoch });
		try {
			const { epoch } = await this.#store.claim(session, { ttl: CLAIM_MS });
			this.#claims.set(session, { at: performance.now(), epoch });
			this.#inUse.delete(session);
		} catch (error) {
			if (error.code !== "claimed") throw error;
			if (!this.#inUse.has(session)) this.#show(`${error.message}: its lines will be another branch of the tree`);
			this.#inUse.set(session, error.message);
		}
	}

	/** The claim that appends go by where this host is to have the session alone. Throws if another host has it. */
	#epochOf(session) {
		if (!isExclusive()) return undefined;
		if (this.#inUse.has(session)) throw new this.#library.StoreError("claimed", IN_USE);
		return this.#claims.get(session)?.epoch;
	}

	/** Errors that may pass are retried, and reported at the end if they did not. */
	#fail(error, session) {
		if (!error.retryable) this.#show(notStored(session, error));
	}

	/** A line now, or after pi where it would be drawn over pi's screen; once. */
	#show(line) {
		if (this.#shown.has(line)) return;
		this.#shown.add(line);
		if (process.stdin.isTTY && process.stderr.isTTY) this.#delayed.push(line);
		else say(line);
	}

	#end() {
		const all = new Map([...this.#leftover, ...this.#followed.values(), ...this.#sessions()].map((one) => [one.file, one]));
		const left = [...all.values()].filter(({ file }) => existsSync(file));
		const unstored = left.filter((one) => (this.#syncs.get(keyOf(one))?.lagOf(one) ?? 1) > 0);
		const isRefused = ({ session }) => isExclusive() && this.#inUse.has(session);
		const sessions = unstored.filter((one) => !isRefused(one)).map((one) => ({ ...one, project: this.#projects.get(one.cwd), epoch: this.#epochOf(one.session) }));
		const claimed = [...this.#claims].filter(([, { epoch }]) => epoch !== undefined).map(([session]) => session);
		for (const line of this.#delayed) say(line);
		const { session: refused } = unstored.find(isRefused) ?? {};
		let why = refused === undefined ? undefined : `session ${refused}: ${IN_USE}`;
		if (sessions.length > 0 || claimed.length > 0) {
			const { result, error } = this.#run({ task: "push", notes: this.#notesFolder(), sessions, claimed });
			for (const line of result.told ?? []) if (!this.#shown.has(line)) say(line);
			why = (error === undefined ? result.errors[0] : error === "timeout" ? this.#lateness() : error) ?? why;
		}
		if (why !== undefined) say(`not all is stored yet (${why}); the next start goes on with it, or pi-sessions push`);
	}

	/**
	 * Lets a process of its own work as long as the limit allows. Stopping it leaves every file as it was, or new. `result` is what it
	 * said until then.
	 */
	#run(task, env = {}) {
		const options = { input: JSON.stringify(task), encoding: "utf8", timeout: this.#timeout, killSignal: "SIGKILL", windowsHide: true };
		const { stdout, stderr, error } = spawnSync(process.execPath, [WORKER], { ...options, env: { ...process.env, ...env } });
		const result = Object.assign({}, ...(stdout ?? "").split("\n").map(parsed));
		if (!error && result.isDone) return { result };
		return { result, error: error?.code === "ETIMEDOUT" ? "timeout" : (error?.message ?? (stderr.trim().split("\n").pop() || "no answer")) };
	}

	#lateness() {
		return `the store did not answer within ${this.#timeout / 1000} s`;
	}
}

/** An answer of the worker; nothing if it was stopped within the line. */
function parsed(line) {
	try {
		return JSON.parse(line);
	} catch {
		return {};
	}
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

const keyOf = ({ file, cwd }) => `${dirname(file)}\n${cwd}`;

/** A failure that trying again does not mend. */
export const notStored = (session, { message }) => `session ${session} is not stored: ${message}`;

const isExclusive = () => process.env.PI_SESSION_NATIVE_LOCK === "exclusive";

/** The directory of a pi's settings and sessions: renamed builds have their own. */
function agentDirOf(pi) {
	const { name = "pi", configDir = ".pi" } = manifestOf(pi.dir)?.piConfig ?? {};
	return process.env[`${name.toUpperCase()}_CODING_AGENT_DIR`] || join(homedir(), configDir, "agent");
}
