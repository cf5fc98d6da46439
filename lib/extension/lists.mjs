// `/resume` made fast: `SessionManager.list` and `listAll` of a pi that runs on its own manager are replaced by this package's. Nothing
// else of pi is changed.
import { isHooked, library } from "./library.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionContext} Context */
/** @typedef {(...args: any[]) => Promise<any>} List */

/** What is replaced, with the number of arguments that it is known to take. */
const KNOWN = /** @type {const} */ ({ list: 4, listAll: 3 });
/** @typedef {keyof typeof KNOWN} Name */
const NAMES = /** @type {Name[]} */ (Object.keys(KNOWN));
/** How often a list that is not complete is shown. For each, pi asks the system for the real paths of all its sessions. */
const PARTIAL_MS = 250;

/**
 * Replaces the lists, and gives the function that puts pi's own back. Where this pi's lists are not as expected nothing is replaced; where
 * ours fails, pi's own answers. `warn` is told why, once.
 * @param {Pi} pi
 * @param {Context} ctx
 * @param {(text: string) => void} warn
 */
export function replaceLists(pi, ctx, warn) {
	if (isHooked()) return () => {};
	const holder = /** @type {Record<string, any>} */ (/** @type {unknown} */ (pi.SessionManager));
	const unexpected = NAMES.find((name) => !Object.hasOwn(holder, name) || typeof holder[name] !== "function" || holder[name].length !== KNOWN[name]);
	if (unexpected) {
		warn(`pi-session-native: /resume is pi's own, because SessionManager.${unexpected} of pi ${pi.VERSION} is not as expected`);
		return () => {};
	}
	const expected = defaultDirOf(ctx);
	let isUsed = true;
	const fail = (/** @type {unknown} */ error) => {
		if (isUsed) warn(`pi-session-native: /resume is pi's own, because ${error instanceof Error ? error.message : error}`);
		isUsed = false;
	};
	/** Ours, or undefined if pi's own has to answer. */
	const ours = () => {
		try {
			return isUsed ? managerFor(pi, expected) : undefined;
		} catch (error) {
			return fail(error);
		}
	};
	const undo = NAMES.map((name) => {
		const own = holder[name];
		const replacement = withOurs(holder, name, { ours, fail });
		holder[name] = replacement;
		// Another extension may have replaced ours since: it still calls it, and ours then calls pi's.
		return () => void (holder[name] === replacement && (holder[name] = own));
	});
	return () => {
		isUsed = false;
		undo.forEach((one) => one());
	};
}

/**
 * This package's manager. Throws where its lists would not be those of this pi.
 * @param {Pi} pi
 * @param {ReturnType<typeof defaultDirOf>} expected
 */
function managerFor(pi, expected) {
	const loaded = library(pi);
	const found = expected && loaded.getDefaultSessionDir(expected.cwd, undefined, { create: false });
	if (loaded.CURRENT_SESSION_VERSION !== pi.CURRENT_SESSION_VERSION) throw new Error(`sessions of pi ${pi.VERSION} have version ${pi.CURRENT_SESSION_VERSION}`);
	if (expected && found !== expected.dir) throw new Error(`pi ${pi.VERSION} keeps sessions in ${expected.dir}, not in ${found}`);
	return loaded.SessionManager;
}

/**
 * A list of pi's that asks ours first.
 * @param {Record<string, any>} holder pi's `SessionManager`
 * @param {Name} name
 * @param {{ ours: () => import("./library.mjs").Library["SessionManager"] | void, fail: (error: unknown) => void }} manager
 * @returns {List}
 */
function withOurs(holder, name, { ours, fail }) {
	/** @type {List} */
	const own = holder[name];
	/** @this {unknown} @param {any[]} args @returns {Promise<any>} */
	async function replaced(...args) {
		// A subclass keeps what it inherits from pi.
		const manager = this === undefined || this === holder ? ours() : undefined;
		if (!manager) return own.apply(this, args);
		try {
			return await /** @type {List} */ (manager[name]).apply(manager, args.map((arg) => (typeof arg === "function" ? withFewPartials(arg) : arg)));
		} catch (error) {
			args.find((arg) => arg instanceof AbortSignal)?.throwIfAborted();
			fail(error);
			return own.apply(this, args);
		}
	}
	return Object.defineProperties(replaced, { name: { value: name }, length: { value: KNOWN[name] } });
}

/**
 * Passes progress on, and a list that is not complete only now and then.
 * @param {(loaded: number, total: number, partial?: unknown) => void} onProgress
 */
function withFewPartials(onProgress) {
	let shownAt = performance.now();
	return (/** @type {number} */ loaded, /** @type {number} */ total, /** @type {unknown} */ partial) => {
		const now = performance.now();
		const isShown = loaded === total || now >= shownAt + PARTIAL_MS;
		if (partial && isShown) shownAt = now;
		onProgress(loaded, total, isShown ? partial : undefined);
	};
}

/**
 * The default session directory of the session's working directory, as pi names it; undefined where the session is elsewhere.
 * @param {Context} ctx
 */
function defaultDirOf({ sessionManager }) {
	// The manager is whole, though its type shows only what reads the session.
	const manager = /** @type {typeof sessionManager & { usesDefaultSessionDir?(): boolean }} */ (sessionManager);
	if (!manager.usesDefaultSessionDir?.()) return undefined;
	return { cwd: manager.getCwd(), dir: manager.getSessionDir() };
}
