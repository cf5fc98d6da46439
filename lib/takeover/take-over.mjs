// Takes over pi's class `SessionManager`: the static methods by which pi makes, finds and lists sessions then use this
// package's manager. No text of pi is read or changed, and nothing private of pi is touched. Where pi is not as
// expected, it runs on its own manager, and one line says why. What is expected of the statics is checked at once; the
// rest at the first call, which loads the addon.
//
// Managers that pi made before go on, and so do ours when this is undone. A class that is derived from pi's keeps what
// it inherits.
import { existsSync } from "node:fs";
import { library } from "./library.mjs";

/** @typedef {import("./library.mjs").Library} Library */
/** @typedef {import("./library.mjs").Pi} Pi */
/** @typedef {Record<string, any>} Statics */

/**
 * The statics of pi's class: how many arguments each declares, and at which places the working directory and the
 * directory of sessions are, where pi has a default for the second.
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
/** Of how many sessions the texts are read at a time, so that few of them wait for JavaScript's thread. */
const READ_BATCH = 32;

/**
 * On a static of ours: pi's own. Each copy of this file that a process loads knows it, and shares what was taken over.
 */
const OWN = Symbol.for("pi-session-native.own");
/** @type {any} */
const globals = globalThis;
/** @type {{ taken: WeakMap<object, Takeover>, said: Set<string> }} */
const shared = (globals[Symbol.for("pi-session-native.takeover")] ??= { taken: new WeakMap(), said: new Set() });

/**
 * Takes over the class that a pi exports, and returns the function that undoes it. Each caller undoes its own part: the
 * class is taken over once, until the last of them has undone it.
 * @param {Pi} pi
 * @param {object} options
 * @param {(line: string) => void} options.warn is told, in one line, why pi runs on its own manager
 * @param {() => void} [options.onTaken] is called where the class was not taken over before, and is now
 * @param {(pi: Pi) => Library} [options.load]
 * @returns {() => void}
 */
export function takeOver(pi, { warn, onTaken = () => {}, load = library }) {
	const holder = pi.SessionManager;
	const say = (/** @type {string} */ line) => {
		// An extension asks anew for each session.
		if (!shared.said.has(line)) warn(line);
		shared.said.add(line);
	};
	if (!shared.taken.get(holder)?.isOn) {
		const reason = reasonAgainst(holder);
		if (reason) {
			say(refusal(pi, reason));
			return () => {};
		}
		shared.taken.set(holder, new Takeover(pi, { say, load }));
		onTaken();
	}
	const takeover = /** @type {Takeover} */ (shared.taken.get(holder));
	takeover.users++;
	let isUndone = false;
	return () => {
		if (!isUndone && --takeover.users === 0) takeover.end();
		isUndone = true;
	};
}

/** @param {Pi} pi @param {string} reason */
const refusal = ({ VERSION }, reason) =>
	`pi-session-native: pi${VERSION ? ` ${VERSION}` : ""} runs on its own session manager, because ${reason}`;

/** Why a class cannot be taken over, as far as its statics tell; undefined if it can. @param {unknown} holder */
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
 * Whether a static is a method that a class body defines, or ours, and can be replaced. What another program has put in
 * its place is known by its name or its arguments, or by being a function that `new` accepts.
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
	users = 0;
	/** The manager's class, once everything was found as expected. @type {Library["SessionManager"] | undefined} */
	manager;
	#pi;
	#options;
	/** Whether the default directory of sessions was compared with pi's. */
	#isDirKnown = false;
	/** Stops the reading of texts ahead. */
	#reading = new AbortController();

	/** @param {Pi} pi @param {{ say: (line: string) => void, load: (pi: Pi) => Library }} options */
	constructor(pi, options) {
		this.#pi = pi;
		this.#options = options;
		const holder = pi.SessionManager;
		const former = shared.taken.get(holder);
		this.manager = former?.manager;
		if (!former) recogniseOurs(holder);
		for (const name of NAMES) this.#define(name, this.#replacement(name, own(holder[name])));
	}

	/** Puts pi's own statics back, but for those that another program has replaced since. */
	end() {
		if (!this.isOn) return;
		this.isOn = false;
		this.#reading.abort();
		for (const name of NAMES) {
			const current = this.#pi.SessionManager[name];
			if (current?.[OWN]) this.#define(name, own(current));
			else
				this.#options.say(
					`pi-session-native: SessionManager.${name} was replaced by another program and is left alone`,
				);
		}
	}

	/** @param {string} name @param {Function} value */
	#define(name, value) {
		Object.defineProperty(this.#pi.SessionManager, name, {
			value,
			writable: true,
			enumerable: false,
			configurable: true,
		});
	}

	/** @param {string} name @param {Function} piOwn */
	#replacement(name, piOwn) {
		const [holder, manager] = [this.#pi.SessionManager, this.#managerFor.bind(this)];
		const [readAhead, stopReading] = [this.#readAhead.bind(this), () => this.#reading.abort()];
		// A method, as pi's is: `new` refuses it.
		const { [name]: replacement } = {
			/** @this {unknown} @param {any[]} args */
			[name](...args) {
				const ours = this === undefined || this === holder ? manager(name, args) : undefined;
				if (!ours) return piOwn.apply(this, args);
				if (name === "open") stopReading();
				const result = /** @type {Statics} */ (ours)[name](...args);
				if (name.startsWith("list") && args.some((arg) => typeof arg === "function")) readAhead(ours, result);
				return result;
			},
		};
		Object.defineProperty(replacement, OWN, { value: piOwn });
		return Object.defineProperty(replacement, "length", { value: STATICS[name].length });
	}

	/**
	 * The manager's class for a call; undefined where pi's own has to answer. @param {string} name @param {any[]} args
	 */
	#managerFor(name, args) {
		if (!this.isOn) return undefined;
		try {
			this.manager ??= this.#load();
			this.#isDirKnown ||= this.#compareDir(name, args);
			return this.manager;
		} catch (error) {
			const reason = (error instanceof Error ? error.message : String(error)).split("\n", 1)[0];
			this.#options.say(refusal(this.#pi, reason.replace(/^pi-session-native: /, "")));
			this.end();
			return undefined;
		}
	}

	/** Throws where managers of ours would not be what this pi expects. */
	#load() {
		const loaded = this.#options.load(this.#pi);
		const { SessionManager, CURRENT_SESSION_VERSION } = this.#pi;
		if (loaded.CURRENT_SESSION_VERSION !== CURRENT_SESSION_VERSION)
			throw new Error(`its sessions have version ${CURRENT_SESSION_VERSION}`);
		const [theirs, ours] = [SessionManager.prototype, /** @type {Statics} */ (loaded.SessionManager.prototype)];
		const odd = Reflect.ownKeys(theirs).find((key) => {
			if (String(key).startsWith("_") || key === "constructor") return false;
			const { value } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(theirs, key));
			return !(key in ours) || (typeof value === "function" && value.length !== Reflect.get(ours, key).length);
		});
		if (odd !== undefined) throw new Error(`its managers have a ${String(odd)} that this package's do not have`);
		return loaded.SessionManager;
	}

	/**
	 * Compares the default directory of sessions with pi's where a call uses it, and throws if it is another one. Returns
	 * whether that was possible: asking pi creates the directory, as these calls do anyway.
	 * @param {string} name
	 * @param {any[]} args
	 */
	#compareDir(name, args) {
		const { cwd: at, dir } = STATICS[name];
		const isDefault = dir === undefined ? name === "listAll" && typeof args[0] !== "string" : !args[dir];
		const cwd = at === undefined ? process.cwd() : args[at];
		if (!isDefault || typeof cwd !== "string") return false;
		const expected = this.#options.load(this.#pi).getDefaultSessionDir(cwd, undefined, { create: false });
		if (dir === undefined && !existsSync(expected)) return false;
		const { SessionManager } = this.#pi;
		const asked = attempt(() => own(SessionManager.create).call(SessionManager, cwd, expected));
		if (asked && !asked.usesDefaultSessionDir()) throw new Error(`it does not keep its sessions in ${expected}`);
		return asked !== undefined;
	}

	/**
	 * Reads the texts of a list that is shown, on other threads, so that they are there when the user types. It ends when
	 * a session is opened, with the next list, and when nobody has the list any more.
	 * @param {Library["SessionManager"]} manager
	 * @param {Promise<any[]>} listing
	 */
	#readAhead(manager, listing) {
		const start = (/** @type {any[]} */ sessions) => {
			this.#reading.abort();
			this.#reading = new AbortController();
			return readTexts(manager, new WeakRef(sessions), this.#reading.signal);
		};
		// A list that fails is the caller's. A text that was not read is read when it is asked for.
		listing.then(start).catch(() => {});
	}
}

/** @param {Library["SessionManager"]} manager @param {WeakRef<any[]>} list @param {AbortSignal} signal */
async function readTexts(manager, list, signal) {
	for (let at = 0; ; at += READ_BATCH) {
		const batch = list.deref()?.slice(at, at + READ_BATCH) ?? [];
		if (batch.length === 0) return;
		await manager.readTexts(batch, signal);
	}
}

/**
 * Makes `instanceof` true for managers of ours. This stays, because they may be used for longer than the statics.
 * @param {any} holder
 */
function recogniseOurs(holder) {
	const before = holder[Symbol.hasInstance];
	const hasInstance = {
		/** @this {unknown} @param {unknown} value */
		value(value) {
			const manager = this === holder ? shared.taken.get(holder)?.manager : undefined;
			return before.call(this, value) || (manager !== undefined && value instanceof manager);
		},
		configurable: true,
	};
	Object.defineProperty(holder, Symbol.hasInstance, hasInstance);
}

/** What a call returns; undefined if it fails. @template T @param {() => T} work @returns {T | undefined} */
function attempt(work) {
	try {
		return work();
	} catch {
		return undefined;
	}
}

/**
 * pi's own static where this is one of ours, a former one too, which another program may have put back. @param {any}
 * value
 */
function own(value) {
	let found = value;
	while (found?.[OWN]) found = found[OWN];
	return found;
}
