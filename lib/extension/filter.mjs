// The filter of `/resume`. pi looks at the texts of all sessions within the handling of a key. Its own lists have read them; ours leave
// them in their files. Here other threads read them, before they are asked for where there is time, and pi's own function filters once they
// are there.
import { SessionList, isLoading, redraw, replaceInSelectors, showsList } from "./session-selector.mjs";

/** @typedef {import("./session-selector.mjs").Session} Session */
/** @typedef {(sessions: Session[], signal: AbortSignal) => Promise<void>} ReadTexts */

/**
 * @typedef {object} FilterOptions
 * @property {() => void} redraw
 * @property {ReadTexts} readTexts
 * @property {() => boolean} isLoading whether the list is not complete
 */

/** Of how many sessions the texts are read at a time. */
const BATCH = 32;
/** How much is read before it is asked for, in characters. */
const AHEAD_CHARS = 320 << 20;
/** Keys whose effect depends on the rows, or on which of them is selected. */
const ROW_KEYS = ["tui.select.confirm", "tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown", "tui.input.tab", "app.session.delete", "app.session.rename"];

/**
 * Has the texts read before pi filters in every selector of sessions from now on; gives the function that ends it. Where pi's selector is
 * not as expected, nothing is changed.
 * @param {object} pi
 * @param {ReadTexts} readTexts
 */
export function readBeforeFilter(pi, readTexts) {
	/** @type {WeakMap<object, Filter | undefined>} */
	const filters = new WeakMap();
	return replaceInSelectors(pi, "handleInput", (selector, own, [data]) => {
		const list = selector.getSessionList();
		if (list && !filters.has(list)) {
			const known = SessionList.of(list);
			filters.set(list, known && new Filter(known, { redraw: () => redraw(selector), readTexts, isLoading: () => isLoading(selector) }));
		}
		const filter = showsList(selector) ? filters.get(list) : undefined;
		return filter?.isPostponed(data, () => own(data)) ? undefined : own(data);
	});
}

/** The filter of a list. */
class Filter {
	#list;
	#options;
	/** The sessions whose texts were read. @type {WeakSet<Session>} */
	#read = new WeakSet();
	#isReading = false;
	#closing = new AbortController();
	/** The query whose rows wait for texts. @type {string | undefined} */
	#awaited;
	/** The keys that wait for these rows. @type {(() => void)[]} */
	#waiting = [];
	/** The sessions that the rows were made of. */
	#filtered;

	/**
	 * @param {SessionList} list
	 * @param {FilterOptions} options
	 */
	constructor(list, options) {
		this.#list = list;
		this.#options = options;
		this.#filtered = list.sessions;
		list.beforeClose(() => {
			this.#closing.abort();
			[this.#awaited, this.#waiting] = [undefined, []];
		});
		list.replaceFilter((query) => this.#filter(query));
	}

	/**
	 * Whether a key has to wait for the rows of what is typed, so that it acts on the row that it acts on in pi. It is then handled after those
	 * before it. A key that cancels takes back those that wait.
	 * @param {string} key
	 * @param {() => void} handle
	 */
	isPostponed(key, handle) {
		const isBoundTo = (/** @type {string} */ name) => this.#list.isKey(key, name);
		const isCancel = isBoundTo("tui.select.cancel");
		const isRowKey = !isCancel && ROW_KEYS.some(isBoundTo);
		if (this.#waiting.length === 0 && (this.#awaited === undefined || !isRowKey)) return false;
		if (isCancel) this.#waiting = [];
		else this.#waiting.push(handle);
		return true;
	}

	/** What pi calls. @param {string} query */
	#filter(query) {
		this.#awaited = query;
		// Without a query no text is looked at.
		if (query.trim() === "" || this.#unread().length === 0) this.#show(query);
		if (this.#awaited !== undefined || !this.#options.isLoading()) void this.#readTexts();
	}

	#unread() {
		return this.#list.sessions.filter((session) => !this.#read.has(session));
	}

	/** Filters as pi does. Of other sessions than before the selected one stays selected, as in pi. @param {string} query */
	#show(query) {
		const path = this.#filtered === this.#list.sessions ? undefined : this.#list.chosenPath;
		this.#list.filter(query);
		if (path !== undefined) this.#list.select(path);
		[this.#filtered, this.#awaited] = [this.#list.sessions, undefined];
		// pi may still be within the handling of a key.
		if (this.#waiting.length > 0) setImmediate(() => this.#handleWaiting());
	}

	/** Handles the keys that waited, until one of them waits for rows again. */
	#handleWaiting() {
		while (this.#awaited === undefined && this.#waiting.length > 0) this.#waiting.shift()?.();
		this.#options.redraw();
	}

	/** Reads the texts of all sessions, or of as many as are read ahead, and then shows the rows that wait for them. */
	async #readTexts() {
		if (this.#isReading) return;
		this.#isReading = true;
		let chars = 0;
		for (let batch = this.#unread(); batch.length > 0 && (this.#awaited !== undefined || chars < AHEAD_CHARS); batch = this.#unread()) {
			batch.length = Math.min(batch.length, BATCH);
			const hasFailed = await this.#options.readTexts(batch, this.#closing.signal).then(() => false, () => true);
			if (this.#closing.signal.aborted) return;
			// What cannot be read here pi's function reads, when it asks for it.
			for (const session of hasFailed ? this.#unread() : batch) this.#read.add(session);
			if (!hasFailed) chars += batch.reduce((sum, { allMessagesText }) => sum + allMessagesText.length, 0);
		}
		this.#isReading = false;
		if (this.#awaited === undefined) return;
		this.#show(this.#awaited);
		this.#options.redraw();
	}
}
