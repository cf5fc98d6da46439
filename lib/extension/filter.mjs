// The filter of `/resume`, in slices. pi looks at the texts of all sessions within the handling of a key, which reads them from their files
// when the first letter is typed. Here pi's own function gets a few sessions at a time, and keys are handled in between.

/** @typedef {{ session: { path: string } }} Row */
/** @typedef {{ filterSessions(query: string): void, allSessions: Row["session"][], filteredSessions: Row[], selectedIndex: number, sortMode: string }} SessionList */

/** How long a slice may take, and after how long what was found so far is shown. */
const [SLICE_MS, SHOWN_MS] = [12, 60];
/** How many sessions pi's function gets at a time. */
const BATCH = 4;

/**
 * Filters in slices in every selector of sessions from now on; gives the function that ends it. Where pi's selector is not as expected,
 * nothing is changed.
 * @param {object} pi
 */
export function sliceFilter(pi) {
	const prototype = /** @type {any} */ (pi).SessionSelectorComponent?.prototype;
	const own = prototype && Object.getOwnPropertyDescriptor(prototype, "handleInput")?.value;
	if (typeof own !== "function" || typeof prototype.getSessionList !== "function") return () => {};
	const seen = new WeakSet();
	/** @this {any} @param {string} data */
	function handleInput(data) {
		const list = this.getSessionList();
		if (list && !seen.has(list)) {
			seen.add(list);
			filterInSlices(list, () => this.requestRender?.());
		}
		return own.call(this, data);
	}
	prototype.handleInput = handleInput;
	return () => {
		if (prototype.handleInput === handleInput) prototype.handleInput = own;
	};
}

/**
 * @param {SessionList} list
 * @param {() => void} redraw
 * @param {number} [sliceMs]
 */
export function filterInSlices(list, redraw, sliceMs = SLICE_MS) {
	const own = list.filterSessions;
	if (typeof own !== "function" || !Array.isArray(list.allSessions) || !Array.isArray(list.filteredSessions) || typeof list.selectedIndex !== "number") return;
	/** What pi's function gives for some sessions. @type {(sessions: Row["session"][], query: string, sortMode: string) => Row[]} */
	const filtered = (sessions, query, sortMode) => {
		const part = Object.assign(Object.create(list), { allSessions: sessions, filteredSessions: [], selectedIndex: 0, sortMode });
		own.call(part, query);
		return part.filteredSessions;
	};
	let last = 0;
	list.filterSessions = (query) => {
		const run = ++last;
		if (query.trim() === "") return own.call(list, query);
		const { allSessions, sortMode, selectedIndex: wanted } = list;
		/** @type {Row["session"][]} */
		const found = [];
		let next = 0;
		let selected = wanted;
		let shownAt = Number.NEGATIVE_INFINITY;
		const show = () => {
			// In the order of the list they are found; any other order is made of those that were found.
			list.filteredSessions = filtered(found, query, sortMode);
			// A selection that the user has moved meanwhile stays.
			if (list.selectedIndex === selected) list.selectedIndex = Math.max(0, Math.min(wanted, list.filteredSessions.length - 1));
			selected = list.selectedIndex;
			shownAt = performance.now();
		};
		const slice = () => {
			if (run !== last) return;
			const until = performance.now() + sliceMs;
			do {
				for (const { session } of filtered(allSessions.slice(next, next + BATCH), query, "recent")) found.push(session);
				next += BATCH;
			} while (next < allSessions.length && performance.now() < until);
			const isComplete = next >= allSessions.length;
			if (isComplete || performance.now() > shownAt + SHOWN_MS) {
				const isFirst = shownAt === Number.NEGATIVE_INFINITY;
				show();
				if (!isFirst) redraw();
			}
			if (!isComplete) setImmediate(slice);
		};
		slice();
	};
}
