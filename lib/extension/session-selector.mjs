// pi's selector of sessions, `/resume`. pi exports its class, `SessionSelectorComponent`; public are the class's `handleInput`, `render` and
// `getSessionList`, and the list's `render`, `setSessions`, `getSelectedSessionPath` and what is called when it closes. Its own filter and
// rows have no public way. Every private field that this package uses is used here, and nowhere else:
//
//   of the selector   mode ("list" or "rename"), header.loading, requestRender
//   of the list       allSessions, filteredSessions (rows: `{ session }`), selectedIndex, selectionTouched, sortMode, keybindings, filterSessions
//
// pi 0.87.1 and 1.5.2 have them (__test__/integration/extension/session-selector.spec.ts asks both). Where one is missing, or is another
// thing, `SessionList.of` gives undefined, and the selector stays as pi made it.

/** @typedef {{ path: string, id: string, messageCount: number, allMessagesText: string }} Session */
/** @typedef {{ session: Session }} Row */
/** @typedef {(query: string) => void} Filter */

/**
 * Changes a method of every selector of sessions from now on; gives the function that ends it. Where this pi has no such selector, nothing
 * is changed.
 * @param {object} pi
 * @param {"handleInput" | "render"} name
 * @param {(selector: any, own: (...args: any[]) => unknown, args: any[]) => unknown} replacement
 */
export function replaceInSelectors(pi, name, replacement) {
	const prototype = /** @type {any} */ (pi).SessionSelectorComponent?.prototype;
	const own = prototype?.[name];
	if (typeof own !== "function" || typeof prototype.getSessionList !== "function") return () => {};
	const isInherited = !Object.hasOwn(prototype, name);
	/** @this {any} @param {any[]} args */
	function replaced(...args) {
		return replacement(this, (...args) => own.apply(this, args), args);
	}
	prototype[name] = replaced;
	return () => {
		// Another extension may have replaced it since.
		if (prototype[name] !== replaced) return;
		if (isInherited) delete prototype[name];
		else prototype[name] = own;
	};
}

/** Whether the selector shows its list, and not the field for a new name. @param {any} selector */
export const showsList = (selector) => selector.mode === "list";

/** Whether the selector's list is not complete. @param {any} selector */
export const isLoading = (selector) => selector.header?.loading === true;

/** @param {any} selector */
export const redraw = (selector) => selector.requestRender?.();

/** The list of a selector. */
export class SessionList {
	#list;
	#filter;

	/** @param {any} list */
	constructor(list) {
		this.#list = list;
		/** @type {Filter} */
		this.#filter = list.filterSessions;
	}

	/** @param {any} list pi's; undefined where it is not as expected */
	static of(list) {
		const isExpected =
			[list?.filterSessions, list?.setSessions, list?.render, list?.getSelectedSessionPath, list?.keybindings?.matches].every((one) => typeof one === "function") &&
			Array.isArray(list.allSessions) &&
			Array.isArray(list.filteredSessions) &&
			typeof list.selectedIndex === "number" &&
			typeof list.selectionTouched === "boolean" &&
			typeof list.sortMode === "string";
		return isExpected ? new SessionList(list) : undefined;
	}

	/** @returns {Session[]} */
	get sessions() {
		return this.#list.allSessions;
	}

	/** @returns {string} */
	get sortMode() {
		return this.#list.sortMode;
	}

	/** @returns {number} */
	get selectedIndex() {
		return this.#list.selectedIndex;
	}

	set selectedIndex(index) {
		this.#list.selectedIndex = index;
	}

	/** The session that somebody went to; undefined while nobody chose one. @returns {string | undefined} */
	get chosenPath() {
		return this.#list.selectionTouched ? this.#list.getSelectedSessionPath() : undefined;
	}

	/** @param {Row[]} rows @param {number} selectedIndex */
	show(rows, selectedIndex) {
		Object.assign(this.#list, { filteredSessions: rows, selectedIndex });
	}

	/** Whether a key is bound to something. @param {string} data @param {string} name */
	isKey(data, name) {
		return this.#list.keybindings.matches(data, name);
	}

	/** Filters as pi does. @param {string} query */
	filter(query) {
		this.#filter.call(this.#list, query);
	}

	/** The rows that pi's filter gives of some sessions. @param {Session[]} sessions @param {string} query @param {string} sortMode @returns {Row[]} */
	rowsOf(sessions, query, sortMode) {
		const part = Object.assign(Object.create(this.#list), { allSessions: sessions, filteredSessions: [], selectedIndex: 0, sortMode });
		this.#filter.call(part, query);
		return part.filteredSessions;
	}

	/** Filters otherwise from now on. @param {Filter} filter */
	replaceFilter(filter) {
		this.#list.filterSessions = filter;
	}

	/** Is called around what gives the list other sessions. @param {(set: () => void) => void} around */
	aroundSetSessions(around) {
		const { setSessions } = this.#list;
		this.#list.setSessions = (/** @type {unknown[]} */ ...args) => around(() => setSessions.apply(this.#list, args));
	}

	/** Is called before the list closes. @param {() => void} before */
	beforeClose(before) {
		for (const name of ["onSelect", "onCancel", "onExit"]) {
			const own = this.#list[name];
			this.#list[name] = (/** @type {unknown[]} */ ...args) => {
				before();
				own?.apply(this.#list, args);
			};
		}
	}

	/** Draws other sessions in the rows from now on. Only those of the rows that are drawn are asked for. @param {(session: Session) => Session} shownFor */
	drawAs(shownFor) {
		const list = this.#list;
		const { render } = list;
		list.render = (/** @type {number} */ width) => {
			const rows = new Proxy(list.filteredSessions, {
				get(all, key) {
					const row = Reflect.get(all, key);
					return row?.session ? { ...row, session: shownFor(row.session) } : row;
				},
			});
			return render.call(Object.create(list, { filteredSessions: { value: rows } }), width);
		};
	}
}
