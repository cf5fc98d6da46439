// Takes over pi's class `SessionManager`: the static methods by which pi creates, finds and lists sessions then use
// this package's manager. This file reads no text of pi, and uses nothing private. If pi is not as expected, pi runs on
// its own manager, and one line says why. The statics are checked at once, everything else at the first call, which
// loads the addon.
//
// Managers that pi created before keep working, and so do ours after this is undone. Classes that are derived from pi's
// keep the methods that they inherit.
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { library } from "./library.mjs";

/** @typedef {import("./library.mjs").Library} Library */
/** @typedef {import("./library.mjs").Pi} Pi */
/** @typedef {Record<string, any>} Statics */

/**
 * The statics of pi's class: the number of declared parameters, and the positions of the working directory and the
 * session directory if the latter has a default.
 * @type {Record<string, { length: number, cwd?: number, dir?: number }>}
 */
const STATICS = {
	create: { length: 3, cwd: 0, dir: 1 },
	open: { length: 3 },
	continueRecent: { length: 2, cwd: 0, dir: 1 },
	inMemory: { length: 0 },
	forkFrom: { length: 4, cwd: 1, dir: 2 },
	findById: { length: 3, cwd: 0, dir: 2 },
	list: { length: 4, cwd: 0, dir: 1 },
	listAll: { length: 3 },
};
const NAMES = Object.keys(STATICS);
/** The number of sessions whose texts are read at a time, so that few of them wait for JavaScript's thread. */
const READ_BATCH = 32;

/** The property of our statics that contains pi's own static, in all versions of this package. */
const OWN = Symbol.for("pi-session-native.own");
/**
 * All copies of this file in a process share the state under this symbol. Its number changes with the state's shape.
 */
const STATE = Symbol.for("pi-session-native.takeover.2");
/** @type {any} */
const globals = globalThis;
/** @type {{ taken: WeakMap<object, Takeover>, said: Set<string> }} */
const shared = (globals[STATE] ??= { taken: new WeakMap(), said: new Set() });

/**
 * Takes over the class that a pi exports, and returns the function that undoes it. If there are several callers, the
 * class is taken over once, until the last of them has undone it.
 * @param {Pi} pi
 * @param {object} options
 * @param {(line: string) => void} options.warn called with a line that says why pi runs on its own manager
 * @param {() => void} [options.onTaken] called when the class is taken over and was not before
 * @param {(pi: Pi) => Library} [options.load]
 * @returns {() => void}
 */
export function takeOver(pi, { warn, onTaken = () => {}, load = library }) {
	const holder = pi.SessionManager;
	const say = (/** @type {string} */ line) => {
		// An extension calls this for each session, but each line is printed once.
		if (!shared.said.has(line)) warn(line);
		shared.said.add(line);
	};
	if (!shared.taken.get(holder)?.isOn) {
		const line = begin(pi, load);
		if (line) {
			say(line);
			return () => {};
		}
		onTaken();
	}
	const takeover = /** @type {Takeover} */ (shared.taken.get(holder));
	takeover.users.add(say);
	return () => {
		if (takeover.users.has(say) && takeover.users.size === 1) takeover.end();
		takeover.users.delete(say);
	};
}

/**
 * Takes over a class, or changes nothing and returns a line that says why.
 * @param {Pi} pi
 * @param {(pi: Pi) => Library} load
 */
function begin(pi, load) {
	const takeover = new Takeover(pi, load);
	try {
		const reason = reasonAgainst(pi.SessionManager);
		if (reason) return refusal(pi, reason);
		if (isTakenByOtherVersion(pi.SessionManager))
			return "pi-session-native: another version of this package has taken over SessionManager before, and is used";
		takeover.begin();
	} catch (error) {
		takeover.end();
		return refusal(pi, firstLine(error));
	}
	shared.taken.set(pi.SessionManager, takeover);
	return undefined;
}

/** The first line of an error's message. @param {unknown} error */
const firstLine = (error) => (error instanceof Error ? error.message : String(error)).split("\n", 1)[0];

/** Whether statics of a class belong to a takeover that is not in our state. @param {any} holder */
const isTakenByOtherVersion = (holder) => !shared.taken.has(holder) && NAMES.some((name) => holder[name][OWN]);

/** @param {Pi} pi @param {string} reason */
const refusal = ({ VERSION }, reason) =>
	`pi-session-native: pi${VERSION ? ` ${VERSION}` : ""} runs on its own session manager, because ${reason}`;

/** The reason why a class cannot be taken over, by its statics; undefined if it can. @param {unknown} holder */
function reasonAgainst(holder) {
	if (typeof holder !== "function") return "it exports no class SessionManager";
	if (!Object.isExtensible(holder)) return "SessionManager cannot be changed";
	const odd = NAMES.find((name) => !isOwnStatic(holder, name));
	if (odd) return `SessionManager.${odd} is not as expected`;
	const unknown = Object.getOwnPropertyNames(holder).find(
		(name) => typeof Reflect.get(holder, name) === "function" && !NAMES.includes(name),
	);
	return unknown && `SessionManager.${unknown} is not known`;
}

/**
 * Whether a static can be replaced and is a method of a class body, or ours. The replacement of another program has
 * another name, other parameters, or is a function that `new` accepts.
 * @param {Function} holder
 * @param {string} name
 */
function isOwnStatic(holder, name) {
	const { value, configurable } = Object.getOwnPropertyDescriptor(holder, name) ?? {};
	return (
		typeof value === "function" &&
		configurable &&
		value.name === name &&
		value.length === STATICS[name].length &&
		!Object.hasOwn(value, "prototype")
	);
}

/** A class that is taken over. */
class Takeover {
	isOn = true;
	/**
	 * For each caller that has not undone the takeover: its function that shows a line. The last caller's function is
	 * used, because the session of an earlier one may have ended.
	 * @type {Set<(line: string) => void>}
	 */
	users = new Set();
	/** The manager's class, after all checks have passed. @type {Library["SessionManager"] | undefined} */
	manager;
	#pi;
	#loadLibrary;
	/** Whether the default session directory was compared with pi's. */
	#isDirKnown = false;
	/** Stops reading texts ahead. */
	#reading = new AbortController();
	/** @type {NodeJS.Immediate | undefined} */
	#stop;

	/** @param {Pi} pi @param {(pi: Pi) => Library} loadLibrary */
	constructor(pi, loadLibrary) {
		this.#pi = pi;
		this.#loadLibrary = loadLibrary;
		this.manager = shared.taken.get(pi.SessionManager)?.manager;
	}

	/** Replaces pi's statics. Throws if the class accepts only some of the changes; then `end` undoes them. */
	begin() {
		const holder = this.#pi.SessionManager;
		for (const name of NAMES) {
			if (!this.#define(name, this.#replacement(name, own(holder[name]))))
				throw new Error(`SessionManager.${name} cannot be replaced`);
		}
		if (!shared.taken.has(holder)) recogniseOurs(holder);
	}

	/** Restores pi's own statics, except statics that another program has replaced since. */
	end() {
		if (!this.isOn) return;
		this.isOn = false;
		this.#reading.abort();
		for (const name of NAMES) {
			const current = attempt(() => this.#pi.SessionManager[name]);
			if (!current?.[OWN])
				this.#say(`pi-session-native: another program has replaced SessionManager.${name}, so its replacement stays`);
			else if (!this.#define(name, own(current)))
				this.#say("pi-session-native: SessionManager can no longer be changed, so its methods stay and call pi's own");
		}
	}

	/** @param {string} line */
	#say(line) {
		[...this.users].at(-1)?.(line);
	}

	/** Whether the class accepts a static. @param {string} name @param {Function} value */
	#define(name, value) {
		const property = { value, writable: true, enumerable: false, configurable: true };
		return attempt(() => Reflect.defineProperty(this.#pi.SessionManager, name, property)) ?? false;
	}

	/** @param {string} name @param {Function} piOwn */
	#replacement(name, piOwn) {
		const [holder, manager] = [this.#pi.SessionManager, this.#managerFor.bind(this)];
		const [show, stopReading] = [this.#show.bind(this), this.#stopReading.bind(this)];
		// We define a method, because `new` refuses pi's methods as well.
		const { [name]: replacement } = {
			/** @this {unknown} @param {any[]} args */
			[name](...args) {
				const ours = this === undefined || this === holder ? manager(name, args) : undefined;
				if (!ours) return piOwn.apply(this, args);
				if (name === "open") stopReading();
				const shows = args.findIndex((arg) => typeof arg === "function");
				if (name.startsWith("list") && shows >= 0) return show(ours, name, args, shows);
				return /** @type {Statics} */ (ours)[name](...args);
			},
		};
		Object.defineProperty(replacement, OWN, { value: piOwn });
		return Object.defineProperty(replacement, "length", { value: STATICS[name].length });
	}

	/**
	 * The manager's class for a call; undefined if pi's own static must answer.
	 * @param {string} name
	 * @param {any[]} args
	 */
	#managerFor(name, args) {
		if (!this.isOn) return undefined;
		try {
			this.manager ??= this.#load();
			return this.#isSameDir(name, args) ? this.manager : undefined;
		} catch (error) {
			this.#say(refusal(this.#pi, firstLine(error).replace(/^pi-session-native: /, "")));
			this.end();
			return undefined;
		}
	}

	/** Loads the library. Throws if this pi cannot use our managers. */
	#load() {
		const loaded = this.#loadLibrary(this.#pi);
		const { SessionManager, CURRENT_SESSION_VERSION } = this.#pi;
		if (loaded.CURRENT_SESSION_VERSION !== CURRENT_SESSION_VERSION)
			throw new Error(`its sessions have version ${CURRENT_SESSION_VERSION}`);
		const [theirs, ours] = [SessionManager.prototype, /** @type {Statics} */ (loaded.SessionManager.prototype)];
		for (const key of Reflect.ownKeys(theirs)) {
			if (String(key).startsWith("_") || key === "constructor") continue;
			if (!(key in ours)) throw new Error(`its managers have a member ${String(key)} that this package does not have`);
			const { value } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(theirs, key));
			if (typeof value !== "function") continue;
			const [given, known] = [value.length, Reflect.get(ours, key).length];
			if (given !== known)
				throw new Error(`its managers' ${String(key)} has another number of arguments: ${given} instead of ${known}`);
		}
		return loaded.SessionManager;
	}

	/**
	 * Whether our manager may answer a call: it names a session directory, or the default one is the same in pi. Throws
	 * if pi's is another one.
	 * Returns false if the two cannot be compared: because the call's path or the working directory is invalid, which is
	 * pi's error, or because no session directory exists yet. pi's function creates a missing directory, as calls with a
	 * working directory do anyway.
	 * @param {string} name
	 * @param {any[]} args
	 */
	#isSameDir(name, args) {
		const { cwd: at, dir } = STATICS[name];
		const isDefault = name === "listAll" ? typeof args[0] !== "string" : dir !== undefined && !args[dir];
		if (this.#isDirKnown || !isDefault) return true;
		const { getDefaultSessionDir, SessionManager: ours } = this.#loadLibrary(this.#pi);
		const dirOf = (/** @type {string} */ cwd) => getDefaultSessionDir(cwd, undefined, { create: false });
		const { SessionManager } = this.#pi;
		const asked = attempt(() => {
			// For listAll: a working directory that has one of the existing session directories.
			const cwd =
				at === undefined ? workingDirectories(dirname(dirOf("/"))).find((cwd) => existsSync(dirOf(cwd))) : args[at];
			// We create a missing directory before pi does, because pi would let other users read it.
			const expected = getDefaultSessionDir(cwd);
			if (isShortened(expected, ours.inMemory(cwd).getCwd())) return { isShortened: true };
			const manager = own(SessionManager.create).call(SessionManager, cwd, expected);
			return { isSame: manager.usesDefaultSessionDir(), expected };
		});
		if (!asked) return false;
		// pi cannot create a directory with such a long name, so a later call compares the directories.
		if (asked.isShortened) return true;
		if (!asked.isSame) throw new Error(`it does not store its sessions in ${asked.expected}`);
		this.#isDirKnown = true;
		return true;
	}

	/**
	 * Lists for a screen, and reads the texts on other threads before the user types. If pi reads texts while the list is
	 * running, the user has already typed. Then no further partial list follows, because pi would read its texts on the
	 * thread of the screen. The whole list follows when its texts are read.
	 * @param {Library["SessionManager"]} manager
	 * @param {string} name
	 * @param {any[]} args
	 * @param {number} at the position of the progress callback, which the signal follows
	 */
	async #show(manager, name, args, at) {
		clearImmediate(this.#stop);
		const [onProgress, signal] = args.slice(at);
		let isFiltered = false;
		const progress = (/** @type {number} */ loaded, /** @type {number} */ total, /** @type {any[]=} */ sessions) => {
			isFiltered ||= sessions?.some(isTextRead) ?? false;
			onProgress(loaded, total, isFiltered ? undefined : sessions);
			isFiltered ||= sessions?.some(isTextRead) ?? false;
		};
		/** @type {any[]} */
		const sessions = await /** @type {Statics} */ (manager)[name](...args.with(at, progress));
		// The list is complete: texts that cannot be read on other threads must not make it fail.
		if (isFiltered)
			await readTexts(manager, { deref: () => sessions }, signal).catch((error) => {
				if (signal?.aborted) throw error;
			});
		this.#reading.abort();
		this.#reading = new AbortController();
		// Texts that are not read here are read at their first use.
		readTexts(manager, new WeakRef(sessions), this.#reading.signal).catch(() => {});
		return sessions;
	}

	/**
	 * Stops reading texts ahead. pi opens a session also to rename it, and then lists again at once: then the reading
	 * continues.
	 */
	#stopReading() {
		clearImmediate(this.#stop);
		this.#stop = setImmediate(() => this.#reading.abort());
	}
}

/** Whether the text of a listed session was asked for. @param {any} session */
const isTextRead = (session) => Object.getOwnPropertyDescriptor(session, "allMessagesText")?.get === undefined;

/**
 * @param {Library["SessionManager"]} manager
 * @param {{ deref(): any[] | undefined }} list
 * @param {AbortSignal} [signal]
 */
async function readTexts(manager, list, signal) {
	for (let at = 0; ; at += READ_BATCH) {
		const batch = list.deref()?.slice(at, at + READ_BATCH) ?? [];
		if (batch.length === 0) return;
		await manager.readTexts(batch, signal);
	}
}

/**
 * Makes `instanceof` true for our managers. This is not undone, because they may be used for longer than the statics.
 * Throws if the class does not accept it.
 * @param {any} holder
 */
function recogniseOurs(holder) {
	const before = holder[Symbol.hasInstance];
	const property = {
		/** @this {unknown} @param {unknown} value */
		value(value) {
			const manager = this === holder ? shared.taken.get(holder)?.manager : undefined;
			return before.call(this, value) || (manager !== undefined && value instanceof manager);
		},
		configurable: true,
	};
	if (!Reflect.defineProperty(holder, Symbol.hasInstance, property))
		throw new Error("SessionManager[Symbol.hasInstance] cannot be replaced");
}

/**
 * Returns for each session directory a possible working directory. The name of the session directory contains the
 * working directory with dashes in place of slashes, and on Windows also in place of the drive's colon.
 * @param {string} sessions
 */
function workingDirectories(sessions) {
	const flat = readdirSync(sessions).map((name) => name.slice(2, -2));
	return flat.map((name) => (process.platform === "win32" ? name.replace("--", ":\\") : `/${name}`));
}

/**
 * Whether the name of a session directory does not contain the whole working directory, which would be too long.
 * @param {string} dir
 * @param {string} cwd an absolute path
 */
const isShortened = (dir, cwd) =>
	Buffer.byteLength(basename(dir)) < Buffer.byteLength(`--${cwd.replace(/^[/\\]/, "")}--`);

/** The result of a call; undefined if it throws. @template T @param {() => T} work @returns {T | undefined} */
function attempt(work) {
	try {
		return work();
	} catch {
		return undefined;
	}
}

/**
 * For a static of ours, pi's own static; also for a former static of ours, which another program may have restored.
 * @param {any} value
 */
function own(value) {
	let found = value;
	while (found?.[OWN]) found = found[OWN];
	return found;
}
