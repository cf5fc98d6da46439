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
export function filterInSlices(list, options) {
	const { filterSessions, setSessions, allSessions, filteredSessions, selectedIndex } = list;
	const isExpected = typeof filterSessions === "function" && typeof setSessions === "function" && Array.isArray(allSessions) && Array.isArray(filteredSessions) && typeof selectedIndex === "number";
	return isExpected ? new SlicedFilter(list, options) : undefined;
}

/**
 * One run of the filter.
 * @typedef {{ number: number, query: string, sortMode: string, sessions: Session[], next: number, found: Session[], shownAt: number, isInCall: boolean }} Run
 * `next`: the first session that was not looked at; `isInCall`: pi's call of the filter has not returned
 */

/** The filter of a list. Of several runs the last one counts; those before it end. */
class SlicedFilter {
	#list;
	#own;
	#textsOf;
	#options;
	#last = 0;
	#isRunning = false;
	/** The keys that wait for the result. @type {(() => void)[]} */
	#waiting = [];
	/** The row that the result is to select: that of a session, or else the one at an index. @type {{ path?: string | undefined, index: number }} */
	#wanted = { index: 0 };

	/**
	 * @param {SessionList} list
	 * @param {FilterOptions} options
	 */
	constructor(list, { redraw, readTexts, isLoading = () => false, sliceMs = SLICE_MS, aheadChars = AHEAD_CHARS }) {
		this.#list = list;
		this.#own = list.filterSessions;
		this.#options = { redraw, isLoading, sliceMs, aheadChars };
		const end = () => {
			this.#last++;
			this.#isRunning = false;
			this.#waiting.length = 0;
		};
		this.#textsOf = textReader(readTexts, closing(list, end));
		list.filterSessions = (query) => this.#filter(query);
		const { setSessions } = list;
		list.setSessions = (...args) => {
			const selected = this.#selectedAnew();
			setSessions.apply(list, args);
			this.#wanted = selected;
		};
	}

	/**
	 * Whether a key has to wait for the filter that runs, so that it acts on the row that is selected in the whole result, as in pi. It
	 * is then handled after those before it. A key that cancels takes back those that wait.
	 * @param {Key} key
	 * @param {() => void} handle
	 */
	isPostponed(key, handle) {
		if (!this.#isRunning || (this.#waiting.length === 0 && key !== "row")) return false;
		if (key === "cancel") this.#waiting.length = 0;
		else this.#waiting.push(handle);
		return true;
	}

	/** What is to be selected in other sessions. As in pi it is the selected session: the one that the filter will select, if it runs. */
	#selectedAnew() {
		if (this.#isRunning) return this.#wanted;
		const { filteredSessions, selectedIndex, selectionTouched } = this.#list;
		return selectionTouched ? { path: filteredSessions[selectedIndex]?.session.path, index: selectedIndex } : { index: 0 };
	}

	/** What pi calls. @param {string} query */
	#filter(query) {
		const { allSessions: sessions, sortMode } = this.#list;
		const number = ++this.#last;
		if (query.trim() === "") {
			if (this.#isRunning) this.#list.selectedIndex = this.#wanted.index;
			this.#own.call(this.#list, query);
			this.#complete(number, true);
			if (!this.#options.isLoading()) void this.#readAhead(number, sessions);
			return;
		}
		// The rows of a filter that did not end are not what was selected.
		if (!this.#isRunning) this.#wanted = { index: this.#list.selectedIndex };
		this.#isRunning = true;
		/** @type {Run} */
		const run = { number, query, sortMode, sessions, next: 0, found: [], shownAt: Number.NEGATIVE_INFINITY, isInCall: true };
		this.#slice(run);
		run.isInCall = false;
	}

	/** Looks at sessions for the time of a slice. @param {Run} run */
	#slice(run) {
		if (run.number !== this.#last) return;
		const unread = this.#lookAtSome(run);
		const isComplete = run.next >= run.sessions.length;
		// Until then they are shown in the order of the list: to sort by relevance pi looks at them once more.
		if (isComplete) this.#show(run, run.sortMode === "recent" ? this.#filtered(run.found, "", "recent") : this.#filtered(run.found, run.query, run.sortMode));
		else if (run.next > 0 && performance.now() > run.shownAt + SHOWN_MS) this.#show(run, this.#filtered(run.found, "", "recent"));
		else return continueLater(unread, () => this.#slice(run));
		if (isComplete) return this.#complete(run.number, run.isInCall);
		if (!run.isInCall) this.#options.redraw();
		continueLater(unread, () => this.#slice(run));
	}

	/** Gives what to wait for before the next slice: texts that are being read. @param {Run} run */
	#lookAtSome(run) {
		const until = performance.now() + this.#options.sliceMs;
		do {
			if (run.next % READ_BATCH === 0) {
				const unread = this.#textsOf(run.sessions.slice(run.next, run.next + READ_BATCH));
				// While these are looked at, the next ones are read.
				void this.#textsOf(run.sessions.slice(run.next + READ_BATCH, run.next + 2 * READ_BATCH));
				if (unread) return unread;
			}
			for (const { session } of this.#filtered(run.sessions.slice(run.next, run.next + BATCH), run.query, "recent")) run.found.push(session);
			run.next += BATCH;
		} while (run.next < run.sessions.length && performance.now() < until);
		return undefined;
	}

	/** @param {Run} run @param {Row[]} rows */
	#show(run, rows) {
		const { path, index } = this.#wanted;
		const at = path === undefined ? -1 : rows.findIndex(({ session }) => session.path === path);
		this.#list.filteredSessions = rows;
		this.#list.selectedIndex = at >= 0 ? at : Math.max(0, Math.min(index, rows.length - 1));
		run.shownAt = performance.now();
	}

	/** The rows of a run are complete. @param {number} run @param {boolean} isInCall whether pi is still to select a row */
	#complete(run, isInCall) {
		if (!isInCall) this.#finish(run);
		else if (this.#waiting.length > 0) setImmediate(() => this.#finish(run));
		else this.#isRunning = false;
	}

	/** Handles the keys that waited, until one of them starts a filter. @param {number} run */
	#finish(run) {
		if (run !== this.#last) return;
		this.#isRunning = false;
		for (let handle; !this.#isRunning && (handle = this.#waiting.shift()); ) handle();
		this.#options.redraw();
	}

	/** @param {number} run @param {Session[]} sessions */
	async #readAhead(run, sessions) {
		let chars = 0;
		for (let at = 0; at < sessions.length && chars < this.#options.aheadChars && run === this.#last; at += BATCH) {
			if (at % READ_BATCH === 0) await this.#textsOf(sessions.slice(at, at + READ_BATCH));
			const batch = sessions.slice(at, at + BATCH);
			// pi's function keeps each text in lower case once it has looked at it, which is most of the first key's work.
			this.#filtered(batch, "a", "recent");
			chars += batch.reduce((sum, { allMessagesText }) => sum + (allMessagesText?.length ?? 0), 0);
			await nextTurn();
		}
	}

	/** What pi's function gives for some sessions. @param {Session[]} sessions @param {string} query @param {string} sortMode */
	#filtered(sessions, query, sortMode) {
		const part = /** @type {SessionList} */ (Object.assign(Object.create(this.#list), { allSessions: sessions, filteredSessions: [], selectedIndex: 0, sortMode }));
		this.#own.call(part, query);
		return part.filteredSessions;
	}
}

/** @param {Promise<void> | undefined} unread @param {() => void} slice */
function continueLater(unread, slice) {
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
