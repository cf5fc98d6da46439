// The filter of /resume in slices, held against the function of pi 1.5.2 that it gives sessions to.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { root } from "../../support/scratch.js";

const load = (path: string): Promise<any> => import(pathToFileURL(join(root, path)).href);
const { filterInSlices, sliceFilter } = await load("lib/extension/filter.mjs");
const { filterAndSortSessions } = await load("scripts/reference/pi/dist/modes/interactive/components/session-selector-search.js");

const WORDS = ["quince", "pie", "Garden", "apple tree", "the", "xylophone"];

/** A list as pi's: its texts say when they are asked for. */
class SessionList {
	read: number[] = [];
	onSelect: (...args: any[]) => void = () => {};
	nameFilter = "all";
	sortMode = "threaded";
	selectedIndex = 0;
	selectionTouched = false;
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

	query = "";

	render(): string[] {
		return [];
	}

	getSelectedSessionPath(): string | undefined {
		return this.filteredSessions[this.selectedIndex]?.session.path;
	}

	setSessions(sessions: any[]): void {
		const path = this.selectionTouched ? this.filteredSessions[this.selectedIndex]?.session.path : undefined;
		this.allSessions = sessions;
		this.filterSessions(this.query);
		const at = this.selectionTouched ? this.filteredSessions.findIndex(({ session }) => session.path === path) : 0;
		if (at >= 0) this.selectedIndex = at;
	}

	keybindings = { matches: (data: string, name: string) => KEYS[data] === name };
	did: string[] = [];

	/** What pi does for a key, where it matters; what it did for the selected session is written down. */
	handleInput(data: string): void {
		const name = KEYS[data];
		const path = this.filteredSessions[this.selectedIndex]?.session.path;
		this.selectionTouched = true;
		if (name === "tui.select.down") this.selectedIndex = Math.min(this.filteredSessions.length - 1, this.selectedIndex + 1);
		else if (name === "tui.select.up") this.selectedIndex = Math.max(0, this.selectedIndex - 1);
		else if (name) this.did.push(`${name} ${path}`);
		else this.filterSessions((this.query += data));
	}
}

/** Keys, and what they are bound to. */
const KEYS: Record<string, string> = { "\r": "tui.select.confirm", "\x1b": "tui.select.cancel", "\x1b[B": "tui.select.down", "\x1b[A": "tui.select.up", "\x1b[5~": "tui.select.pageUp", "\x1b[6~": "tui.select.pageDown", "\t": "tui.input.tab", "\x04": "app.session.delete", "\x12": "app.session.rename" };

/** A selector as pi's, with such a list: its keys, and all that it has done once they are handled. */
function selector(list = new SessionList(400)) {
	class Selector {
		mode = "list";
		getSessionList(): SessionList {
			return list;
		}
		handleInput(data: string): void {
			list.handleInput(data);
		}
	}
	onTestFinished(sliceFilter({ SessionSelectorComponent: Selector }, async () => await turn()));
	const one = new Selector();
	return { list, press: (...keys: string[]) => keys.forEach((key) => one.handleInput(key)) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const shown = (list: SessionList) => ({ rows: list.filteredSessions, selected: list.selectedIndex });
/** Until the filter that runs is complete. */
const complete = (filter: any): Promise<void> => new Promise((resolve) => void (filter.isPostponed("\r", resolve) || resolve()));

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

test("sorted by time, no session is looked at twice", async () => {
	const list = new SessionList();
	list.sortMode = "recent";
	const { filter } = sliced(list);
	const looked: number[] = [];
	list.allSessions.forEach((session, n) => Object.defineProperty(session, "allMessagesText", { get: () => (looked.push(n), "quince") }));
	list.filterSessions("quince");
	await complete(filter);
	expect(list.filteredSessions).toHaveLength(50);
	// pi's function asks for a text several times in a row.
	expect(looked).toEqual([...looked].sort((a, b) => a - b));
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
	expect(filter.isPostponed("\r", () => {})).toBe(false);
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

/** What pi does for these keys, without slices. */
function inPi(...keys: string[]): SessionList {
	const list = new SessionList(400);
	for (const key of keys) list.handleInput(key);
	return list;
}

// Regression: only Enter waited. Delete and rename acted on the rows of the query before.
test.each([
	{ what: "delete", keys: ["\x04"] },
	{ what: "delete, confirmed", keys: ["\x04", "\r"] },
	{ what: "rename", keys: ["\x12"] },
	{ what: "choose", keys: ["\r"] },
	{ what: "another scope", keys: ["\t"] },
	{ what: "a row further down", keys: ["\x1b[B", "\x1b[B", "\x04", "\x1b[A", "\r"] },
	{ what: "after the letters that follow", keys: ["\x1b[B", "\x12", ..." pie", "\x04"] },
	{ what: "after other letters", keys: [..." pie", "\x04"] },
])("$what: while a filter runs, keys wait for its result, and act on it in their order", async ({ keys }) => {
	const { list, press } = selector();
	const all = [..."quince", ...keys];
	press(...all);
	expect(list.did).toEqual([]);
	const own = inPi(...all);
	while (list.did.length < own.did.length) await turn();
	for (let n = 0; n < 50; n++) await turn();
	expect(list.did).toEqual(own.did);
	expect(own.did.length).toBeGreaterThan(0);
	expect(shown(list)).toMatchObject({ selected: own.selectedIndex });
});

test("a key that cancels takes back the keys that wait; without any it closes the list at once", async () => {
	const { list, press } = selector();
	press(..."quince", "\x04", "\r", "\x1b");
	for (let n = 0; n < 200; n++) await turn();
	expect(list.did).toEqual([]);
	expect(list.filteredSessions).toHaveLength(inPi(..."quince").filteredSessions.length);
	press("s", "\x1b");
	expect(list.did).toEqual([expect.stringMatching(/^tui\.select\.cancel/)]);
});

test("keys that wait survive that the list grows, and the selected session stays selected while it does", async () => {
	const { list, press } = selector();
	const sessions = list.allSessions;
	list.setSessions(sessions.slice(100, 300));
	press(..."quince", "\x1b[B");
	while (list.selectedIndex !== 1) await turn();
	const { path } = list.filteredSessions[1].session;
	list.setSessions(sessions.slice(50));
	press("\x04");
	list.setSessions(sessions);
	expect(list.did).toEqual([]);
	while (list.did.length === 0) await turn();
	expect(list.did).toEqual([`app.session.delete ${path}`]);
	expect(list.filteredSessions[list.selectedIndex].session.path).toBe(path);
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
