// The filter of /resume in slices, held against the function of pi 1.5.2 that it gives sessions to.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { root } from "../../support/scratch.js";

const load = (path: string): Promise<any> => import(pathToFileURL(join(root, path)).href);
const { filterInSlices, sliceFilter } = await load("lib/extension/filter.mjs");
const { filterAndSortSessions } = await load("reference/pi-1.5.2/dist/modes/interactive/components/session-selector-search.js");

const WORDS = ["quince", "pie", "Garden", "apple tree", "the", "xylophone"];

/** A list as pi's: its texts say when they are asked for. */
class SessionList {
	read: number[] = [];
	onSelect: (...args: any[]) => void = () => {};
	nameFilter = "all";
	sortMode = "threaded";
	selectedIndex = 0;
	filteredSessions: any[] = [];
	allSessions: any[];

	constructor(count = 50) {
		const { read } = this;
		this.allSessions = Array.from({ length: count }, (_, n) => ({
			path: `/s/${n}`,
			id: `id-${n}`,
			cwd: n % 3 ? "/garden" : "/shop",
			...(n % 7 ? {} : { name: `Pie ${n}` }),
			modified: new Date(1e12 - n),
			get allMessagesText() {
				if (!read.includes(n)) read.push(n);
				return `${WORDS[n % WORDS.length]} ${WORDS[(n * 5 + 1) % WORDS.length]} message ${n}`;
			},
		}));
	}

	filterSessions(query: string): void {
		const found = filterAndSortSessions(this.allSessions, query, this.sortMode, "all");
		this.filteredSessions = found.map((session: any) => ({ session, depth: 0, isLast: true, ancestorContinues: [] }));
		this.selectedIndex = Math.min(this.selectedIndex, Math.max(0, this.filteredSessions.length - 1));
	}
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const shown = (list: SessionList) => ({ rows: list.filteredSessions, selected: list.selectedIndex });
/** Until the filter that runs is complete. */
const complete = (filter: any): Promise<void> => new Promise((resolve) => void (filter.isPostponed(resolve) || resolve()));

/** A list that filters in slices, each of one batch, and what it has asked for. */
function sliced(list: SessionList, more: object = {}) {
	const redraw = vi.fn();
	const readTexts = vi.fn(async (_sessions: any[], _signal: AbortSignal) => {});
	return { filter: filterInSlices(list, { redraw, readTexts, sliceMs: 0, ...more }), redraw, readTexts };
}

test.each(["threaded", "recent", "relevance"])("sorted as %s, it gives in the end what pi gives at once", async (sortMode) => {
	for (const query of ["", "e", "pie", "quince pie", '"apple tree"', "re:m.ssage 1", "re:(", "gdn", "nothing at all"]) {
		const [own, ours] = [new SessionList(), new SessionList()];
		const { filter } = sliced(ours);
		for (const list of [own, ours]) {
			list.sortMode = sortMode;
			list.selectedIndex = 20;
			list.filterSessions(query);
		}
		await complete(filter);
		expect(shown(ours), query).toEqual(shown(own));
	}
});

test("a key asks for only some of the texts, and the next key ends the filter of the one before", async () => {
	const list = new SessionList();
	const { filter } = sliced(list, { isLoading: () => true });
	list.filterSessions("q");
	await turn();
	await turn();
	expect(list.read.length).toBeLessThan(50);
	const before = list.read.length;
	list.filterSessions("");
	expect(list.filteredSessions).toHaveLength(50);
	for (let n = 0; n < 30; n++) await turn();
	expect(list.read.length).toBe(before);
	expect(list.filteredSessions).toHaveLength(50);
	expect(filter.isPostponed(() => {})).toBe(false);
});

test("texts are read once, before pi's function asks for them, a part of the sessions at a time", async () => {
	const list = new SessionList(100);
	const known = new Set<object>();
	const readTexts = vi.fn(async (sessions: any[]) => {
		await turn();
		for (const session of sessions) {
			expect(known.has(session)).toBe(false);
			expect(list.read).not.toContain(Number(session.path.slice(3)));
			known.add(session);
		}
	});
	const { filter } = sliced(list, { readTexts });
	list.filterSessions("q");
	expect(list.read).toEqual([]);
	await turn();
	// One key after the other, while texts are read.
	list.filterSessions("qu");
	await complete(filter);
	expect(known.size).toBe(100);
	expect(Math.max(...readTexts.mock.calls.map(([sessions]) => sessions.length))).toBeLessThan(100);
	readTexts.mockClear();
	list.filterSessions("qui");
	await complete(filter);
	expect(readTexts).not.toHaveBeenCalled();
});

test("once the list is complete, its texts are read ahead, and a letter then waits for no file", async () => {
	const list = new SessionList(100);
	let isLoading = true;
	const { readTexts } = sliced(list, { isLoading: () => isLoading });
	list.filterSessions("");
	for (let n = 0; n < 10; n++) await turn();
	expect(readTexts).not.toHaveBeenCalled();
	isLoading = false;
	list.filterSessions("");
	while (list.read.length < 100) await turn();
	readTexts.mockClear();
	const own = new SessionList(100);
	for (const one of [own, list]) one.filterSessions("quince");
	while (list.filteredSessions.length !== own.filteredSessions.length) await turn();
	expect(readTexts).not.toHaveBeenCalled();
});

test("only so much text is read ahead", async () => {
	const list = new SessionList(200);
	const { readTexts } = sliced(list, { aheadChars: 100 });
	list.filterSessions("");
	for (let n = 0; n < 100; n++) await turn();
	expect(readTexts).toHaveBeenCalledTimes(1);
	expect(list.read.length).toBeGreaterThan(0);
	expect(list.read.length).toBeLessThan(20);
});

test("what is chosen while the filter runs waits for its result; another key ends that", async () => {
	const list = new SessionList();
	const { filter } = sliced(list);
	const [chosen, dropped] = [vi.fn(() => list.filteredSessions.length), vi.fn()];
	list.filterSessions("quince");
	expect(filter.isPostponed(dropped)).toBe(true);
	list.filterSessions("pie");
	expect(filter.isPostponed(chosen)).toBe(true);
	expect(chosen).not.toHaveBeenCalled();
	while (chosen.mock.calls.length === 0) {
		expect(filter.isPostponed(chosen)).toBe(true);
		await turn();
	}
	const own = new SessionList();
	own.filterSessions("pie");
	expect(chosen.mock.results[0]?.value).toBe(own.filteredSessions.length);
	expect(dropped).not.toHaveBeenCalled();
	expect(filter.isPostponed(chosen)).toBe(false);
});

test("once the selector has closed, nothing more is read", async () => {
	const list = new SessionList(200);
	const onSelect = vi.fn();
	list.onSelect = onSelect;
	const { readTexts } = sliced(list);
	list.filterSessions("");
	await turn();
	list.onSelect("/s/1");
	expect(onSelect).toHaveBeenCalledWith("/s/1");
	expect(readTexts.mock.calls[0]?.[1].aborted).toBe(true);
	const { length } = readTexts.mock.calls;
	for (let n = 0; n < 100; n++) await turn();
	expect(readTexts.mock.calls.length).toBeLessThanOrEqual(length + 1);
	expect(list.read.length).toBeLessThan(200);
});

test("where texts cannot be read ahead, pi's function reads them", async () => {
	const [own, ours] = [new SessionList(), new SessionList()];
	const readTexts = vi.fn(async () => {
		throw new Error("no addon");
	});
	const { filter } = sliced(ours, { readTexts });
	for (const list of [own, ours]) list.filterSessions("quince");
	await complete(filter);
	expect(shown(ours)).toEqual(shown(own));
	expect(readTexts).toHaveBeenCalledTimes(1);
});

test("a selector that is not as expected is left as it is, and what was changed is put back", () => {
	expect(sliceFilter({}, async () => {})).toBeTypeOf("function");
	class Other {
		getSessionList() {
			return { filterSessions: "no function" };
		}
		handleInput(data: string) {
			return `own ${data}`;
		}
	}
	const own = Other.prototype.handleInput;
	const restore = sliceFilter({ SessionSelectorComponent: Other }, async () => {});
	expect(Other.prototype.handleInput).not.toBe(own);
	expect(new Other().handleInput("x")).toBe("own x");
	restore();
	expect(Other.prototype.handleInput).toBe(own);
});
