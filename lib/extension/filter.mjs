// The filter of `/resume`, in slices. pi looks at the texts of all sessions within the handling of a key. Its own lists have read them; ours
// leave them in their files. Here other threads read them, before they are asked for where there is time, and pi's own function gets a few
// sessions at a time: keys are handled in between.
import { setImmediate as nextTurn } from "node:timers/promises";

/** @typedef {{ path: string, allMessagesText: string }} Session */
/** @typedef {{ session: Session }} Row */
/** @typedef {(...args: unknown[]) => void} Callback */
/** @typedef {{ filterSessions(query: string): void, setSessions(...args: unknown[]): void, allSessions: Session[], filteredSessions: Row[], selectedIndex: number, selectionTouched: boolean, sortMode: string, onSelect?: Callback, onCancel?: Callback, onExit?: Callback }} SessionList */
/** @typedef {"row" | "cancel" | "query"} Key what a key is for: a row of the list, leaving, or the query and how it is shown */
/** @typedef {(sessions: Session[], signal: AbortSignal) => Promise<void>} ReadTexts */

/**
 * @typedef {object} FilterOptions
 * @property {() => void} redraw
 * @property {ReadTexts} readTexts reads the texts that these sessions do not have yet
 * @property {() => boolean} [isLoading] whether the list is not complete
 * @property {number} [sliceMs]
 * @property {number} [aheadChars]
 */

/** How long a slice may take, and after how long what was found so far is shown. */
const [SLICE_MS, SHOWN_MS] = [12, 60];
/** How many sessions pi's function gets at a time, and of how many the texts are read at a time. */
const [BATCH, READ_BATCH] = [4, 32];
/** How much is read before it is asked for, in characters. pi's function keeps as much again in lower case. */
const AHEAD_CHARS = 320 << 20;
/** Keys whose effect depends on the rows, or on which of them is selected. */
const ROW_KEYS = ["tui.select.confirm", "tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown", "tui.input.tab", "app.session.delete", "app.session.rename"];

/**
 * Filters in slices in every selector of sessions from now on; gives the function that ends it. Where pi's selector is not as expected,
 * nothing is changed.
 * @param {object} pi
 * @param {ReadTexts} readTexts
 */
export function sliceFilter(pi, readTexts) {
	const prototype = /** @type {any} */ (pi).SessionSelectorComponent?.prototype;
	const own = prototype && Object.getOwnPropertyDescriptor(prototype, "handleInput")?.value;
	if (typeof own !== "function" || typeof prototype.getSessionList !== "function") return () => {};
	/** @type {WeakMap<object, ReturnType<typeof filterInSlices>>} */
	const filters = new WeakMap();
	/** @this {any} @param {string} data */
	function handleInput(data) {
		const list = this.getSessionList();
		const matches = (/** @type {string} */ name) => list.keybindings.matches(data, name);
		// Without knowing what a key is for, no filter could run in slices.
		if (list && !filters.has(list) && typeof list.keybindings?.matches === "function") {
			filters.set(list, filterInSlices(list, { redraw: () => this.requestRender?.(), readTexts, isLoading: () => this.header?.loading === true }));
		}
		const filter = this.mode === "list" ? filters.get(list) : undefined;
		const handle = () => own.call(this, data);
		if (filter?.isPostponed(matches("tui.select.cancel") ? "cancel" : ROW_KEYS.some(matches) ? "row" : "query", handle)) return;
		return handle();
	}
	prototype.handleInput = handleInput;
	return () => {
		if (prototype.handleInput === handleInput) prototype.handleInput = own;
	};
}

/**
 * Makes a list filter in slices. Undefined if the list is not as expected, and is left as it was.
 * @param {SessionList} list
 * @param {FilterOptions} options
 */
export function filterInSlices(list, { redraw, readTexts, isLoading = () => false, sliceMs = SLICE_MS, aheadChars = AHEAD_CHARS }) {
	const own = list.filterSessions;
	const setSessions = list.setSessions;
	if (typeof own !== "function" || typeof setSessions !== "function" || !Array.isArray(list.allSessions) || !Array.isArray(list.filteredSessions) || typeof list.selectedIndex !== "number") return undefined;
	/** The filter that counts; those before it end. */
	let last = 0;
	let isRunning = false;
	/** The keys that wait for the result. @type {(() => void)[]} */
	const waiting = [];
	/** The row that the result is to select: that of a session, or else the one at an index. @type {{ path?: string | undefined, index: number }} */
	let wanted = { index: 0 };
	const end = () => {
		last++;
		isRunning = false;
		waiting.length = 0;
	};
	const textsOf = textReader(readTexts, closing(list, end));
	/** What pi's function gives for some sessions. @type {(sessions: Session[], query: string, sortMode: string) => Row[]} */
	const filtered = (sessions, query, sortMode) => {
		const part = Object.assign(Object.create(list), { allSessions: sessions, filteredSessions: [], selectedIndex: 0, sortMode });
		own.call(part, query);
		return part.filteredSessions;
	};
	/** @type {(run: number, sessions: Session[]) => Promise<void>} */
	const readAhead = async (run, sessions) => {
		let chars = 0;
		for (let at = 0; at < sessions.length && chars < aheadChars && run === last; at += BATCH) {
			if (at % READ_BATCH === 0) await textsOf(sessions.slice(at, at + READ_BATCH));
			const batch = sessions.slice(at, at + BATCH);
			// pi's function keeps each text in lower case once it has looked at it, which is most of the first key's work.
			filtered(batch, "a", "recent");
			chars += batch.reduce((sum, { allMessagesText }) => sum + (allMessagesText?.length ?? 0), 0);
			await nextTurn();
		}
	};
	/** Handles the keys that waited, until one of them starts a filter. @param {number} run */
	const finish = (run) => {
		if (run !== last) return;
		isRunning = false;
		for (let handle; !isRunning && (handle = waiting.shift()); ) handle();
		redraw();
	};
	/** The rows of a filter that is complete. @param {number} run @param {boolean} isFirst whether pi's function, which called, is still to select a row */
	const complete = (run, isFirst) => {
		if (!isFirst) finish(run);
		else if (waiting.length > 0) setImmediate(finish, run);
		else isRunning = false;
	};
	list.filterSessions = (query) => {
		const run = ++last;
		if (query.trim() === "") {
			if (isRunning) list.selectedIndex = wanted.index;
			own.call(list, query);
			complete(run, true);
			if (!isLoading()) void readAhead(run, list.allSessions);
			return;
		}
		// The rows of a filter that did not end are not what was selected.
		if (!isRunning) wanted = { index: list.selectedIndex };
		isRunning = true;
		const { allSessions, sortMode } = list;
		/** @type {Session[]} */
		const found = [];
		let next = 0;
		let shownAt = Number.NEGATIVE_INFINITY;
		/** @param {Row[]} rows */
		const show = (rows) => {
			const at = wanted.path === undefined ? -1 : rows.findIndex(({ session }) => session.path === wanted.path);
			list.filteredSessions = rows;
			list.selectedIndex = at >= 0 ? at : Math.max(0, Math.min(wanted.index, rows.length - 1));
			shownAt = performance.now();
		};
		let isFirst = true;
		const slice = () => {
			if (run !== last) return;
			const until = performance.now() + sliceMs;
			/** @type {Promise<void> | undefined} */
			let unread;
			do {
				if (next % READ_BATCH === 0) {
					unread = textsOf(allSessions.slice(next, next + READ_BATCH));
					// While these are looked at, the next ones are read.
					void textsOf(allSessions.slice(next + READ_BATCH, next + 2 * READ_BATCH));
					if (unread) break;
				}
				for (const { session } of filtered(allSessions.slice(next, next + BATCH), query, "recent")) found.push(session);
				next += BATCH;
			} while (next < allSessions.length && performance.now() < until);
			const isComplete = next >= allSessions.length;
			// Until then they are shown in the order of the list: to sort by relevance pi looks at them once more.
			if (isComplete) show(sortMode === "recent" ? filtered(found, "", "recent") : filtered(found, query, sortMode));
			else if (next > 0 && performance.now() > shownAt + SHOWN_MS) show(filtered(found, "", "recent"));
			else return again(unread, slice);
			if (isComplete) return complete(run, isFirst);
			if (!isFirst) redraw();
			again(unread, slice);
		};
		slice();
		isFirst = false;
	};
	list.setSessions = (...args) => {
		// As in pi the selected session stays selected: the one that the filter will select, if it runs.
		const selected = isRunning ? wanted : list.selectionTouched ? { path: list.filteredSessions[list.selectedIndex]?.session.path, index: list.selectedIndex } : { index: 0 };
		setSessions.apply(list, args);
		wanted = selected;
	};
	return {
		/**
		 * Whether a key has to wait for the filter that runs, so that it acts on the row that is selected in the whole result, as in pi. It
		 * is then handled after those before it. A key that cancels takes back those that wait.
		 * @param {Key} key
		 * @param {() => void} handle
		 */
		isPostponed(key, handle) {
			if (!isRunning || (waiting.length === 0 && key !== "row")) return false;
			if (key === "cancel") waiting.length = 0;
			else waiting.push(handle);
			return true;
		},
	};
}

/** @param {Promise<void> | undefined} unread @param {() => void} slice */
function again(unread, slice) {
	if (unread) void unread.then(slice);
	else setImmediate(slice);
}

/**
 * Aborted when the selector of a list closes.
 * @param {SessionList} list
 * @param {() => void} end
 */
function closing(list, end) {
	const controller = new AbortController();
	for (const name of /** @type {const} */ (["onSelect", "onCancel", "onExit"])) {
		const own = list[name];
		list[name] = (...args) => {
			controller.abort();
			end();
			own?.apply(list, args);
		};
	}
	return controller.signal;
}

/**
 * Gives a function that reads the texts of some sessions, after those that it was asked for before; undefined if it has read them.
 * @param {ReadTexts} readTexts
 * @param {AbortSignal} signal
 */
function textReader(readTexts, signal) {
	/** @type {WeakSet<Session>} */
	const read = new WeakSet();
	const unreadOf = (/** @type {Session[]} */ sessions) => sessions.filter((session) => !read.has(session));
	let reading = Promise.resolve();
	let canRead = true;
	return (/** @type {Session[]} */ sessions) => {
		if (!canRead || unreadOf(sessions).length === 0) return undefined;
		reading = reading.then(async () => {
			const unread = unreadOf(sessions);
			if (!canRead || unread.length === 0) return;
			try {
				await readTexts(unread, signal);
				for (const session of unread) read.add(session);
			} catch {
				// The selector was closed. Else pi's function reads what is missing, when it asks for it.
				canRead = false;
			}
		});
		return reading;
	};
}
