// The filter of `/resume`, in slices. pi looks at the texts of all sessions within the handling of a key. Its own lists have read them; ours
// leave them in their files. Here other threads read them, before they are asked for where there is time, and pi's own function gets a few
// sessions at a time: keys are handled in between.
import { setImmediate as nextTurn } from "node:timers/promises";
import { SessionList, isLoading, redraw, replaceInSelectors, showsList } from "./session-selector.mjs";

/** @typedef {import("./session-selector.mjs").Session} Session */
/** @typedef {import("./session-selector.mjs").Row} Row */
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
	/** @type {WeakMap<object, ReturnType<typeof filterInSlices>>} */
	const filters = new WeakMap();
	return replaceInSelectors(pi, "handleInput", (selector, own, [data]) => {
		const list = selector.getSessionList();
		if (list && !filters.has(list)) filters.set(list, filterInSlices(list, { redraw: () => redraw(selector), readTexts, isLoading: () => isLoading(selector) }));
		const filter = showsList(selector) ? filters.get(list) : undefined;
		return filter?.isPostponed(data, () => own(data)) ? undefined : own(data);
	});
}

/**
 * Makes a list filter in slices. Undefined if the list is not as expected, and is left as it was.
 * @param {object} list
 * @param {FilterOptions} options
 */
export function filterInSlices(list, options) {
	const known = SessionList.of(list);
	return known && new SlicedFilter(known, options);
}

/**
 * One run of the filter.
 * @typedef {{ number: number, query: string, sortMode: string, sessions: Session[], next: number, found: Session[], shownAt: number, isInCall: boolean }} Run
 * `next`: the first session that was not looked at; `isInCall`: pi's call of the filter has not returned
 */

/** The filter of a list. Of several runs the last one counts; those before it end. */
class SlicedFilter {
	#list;
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
		this.#options = { redraw, isLoading, sliceMs, aheadChars };
		const closing = new AbortController();
		this.#textsOf = textReader(readTexts, closing.signal);
		list.beforeClose(() => {
			closing.abort();
			this.#last++;
			this.#isRunning = false;
			this.#waiting.length = 0;
		});
		list.replaceFilter((query) => this.#filter(query));
		list.aroundSetSessions((set) => {
			const selected = this.#selectedAnew();
			set();
			this.#wanted = selected;
		});
	}

	/**
	 * Whether a key has to wait for the filter that runs, so that it acts on the row that is selected in the whole result, as in pi. It
	 * is then handled after those before it. A key that cancels takes back those that wait.
	 * @param {string} key
	 * @param {() => void} handle
	 */
	isPostponed(key, handle) {
		const isBoundTo = (/** @type {string} */ name) => this.#list.isKey(key, name);
		const isCancel = isBoundTo("tui.select.cancel");
		if (!this.#isRunning || (this.#waiting.length === 0 && (isCancel || !ROW_KEYS.some(isBoundTo)))) return false;
		if (isCancel) this.#waiting.length = 0;
		else this.#waiting.push(handle);
		return true;
	}

	/** What is to be selected in other sessions. As in pi it is the selected session: the one that the filter will select, if it runs. */
	#selectedAnew() {
		if (this.#isRunning) return this.#wanted;
		const { chosenPath: path, selectedIndex: index } = this.#list;
		return path === undefined ? { index: 0 } : { path, index };
	}

	/** What pi calls. @param {string} query */
	#filter(query) {
		const { sessions, sortMode } = this.#list;
		const number = ++this.#last;
		if (query.trim() === "") {
			if (this.#isRunning) this.#list.selectedIndex = this.#wanted.index;
			this.#list.filter(query);
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
		if (isComplete) this.#show(run, run.sortMode === "recent" ? this.#list.rowsOf(run.found, "", "recent") : this.#list.rowsOf(run.found, run.query, run.sortMode));
		else if (run.next > 0 && performance.now() > run.shownAt + SHOWN_MS) this.#show(run, this.#list.rowsOf(run.found, "", "recent"));
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
			for (const { session } of this.#list.rowsOf(run.sessions.slice(run.next, run.next + BATCH), run.query, "recent")) run.found.push(session);
			run.next += BATCH;
		} while (run.next < run.sessions.length && performance.now() < until);
		return undefined;
	}

	/** @param {Run} run @param {Row[]} rows */
	#show(run, rows) {
		const { path, index } = this.#wanted;
		const at = path === undefined ? -1 : rows.findIndex(({ session }) => session.path === path);
		this.#list.show(rows, at >= 0 ? at : Math.max(0, Math.min(index, rows.length - 1)));
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
			this.#list.rowsOf(batch, "a", "recent");
			chars += batch.reduce((sum, { allMessagesText }) => sum + (allMessagesText?.length ?? 0), 0);
			await nextTurn();
		}
	}
}

/** @param {Promise<void> | undefined} unread @param {() => void} slice */
function continueLater(unread, slice) {
	if (unread) void unread.then(slice);
	else setImmediate(slice);
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
