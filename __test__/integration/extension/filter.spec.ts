// The filter of /resume, held against the function of pi 1.5.2 that it calls.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { root } from "../../support/scratch.js";

const load = (path: string): Promise<any> => import(pathToFileURL(join(root, path)).href);
const { readBeforeFilter } = await load("lib/extension/filter.mjs");
const { filterAndSortSessions } = await load("reference/pi-1.5.2/dist/modes/interactive/components/session-selector-search.js");

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
function selector(list = new SessionList(400), readTexts: (sessions: any[], signal: AbortSignal) => Promise<void> = async () => await turn()) {
	const header = { loading: true };
	class Selector {
		mode = "list";
		header = header;
		getSessionList(): SessionList {
			return list;
		}
		handleInput(data: string): void {
			list.handleInput(data);
		}
	}
	onTestFinished(readBeforeFilter({ SessionSelectorComponent: Selector }, readTexts));
	const one = new Selector();
	const press = (...keys: string[]): void => keys.forEach((key) => one.handleInput(key));
	// With the first key the list gets its filter.
	press("\x1b[A");
	list.selectionTouched = false;
	return { list, header, press };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const shown = (list: SessionList) => ({ rows: list.filteredSessions, selected: list.selectedIndex });
/** Until a key that waits for rows is handled. */
const complete = async ({ list, press }: ReturnType<typeof selector>): Promise<void> => {
	const { length } = list.did;
	press("\x12");
	while (list.did.length === length) await turn();
};

test.each(["threaded", "recent", "relevance"])("sorted as %s, it gives what pi gives once the texts are there", async (sortMode) => {
	for (const query of ["", "e", "pie", "quince pie", '"apple tree"', "re:m.ssage 1", "re:(", "gdn", "nothing at all"]) {
		const own = new SessionList();
		own.filterSessions("");
		const ours = selector(new SessionList());
		for (const list of [own, ours.list]) {
			list.sortMode = sortMode;
			list.selectedIndex = 20;
			list.filterSessions(query);
		}
		await complete(ours);
		expect(shown(ours.list), query).toEqual(shown(own));
	}
});

test("texts are read once, before pi's function asks for them, a part of the sessions at a time", async () => {
	const list = new SessionList(100);
	const known = new Set<object>();
	const asked: number[] = [];
	const readTexts = async (sessions: any[]): Promise<void> => {
		asked.push(sessions.length);
		await turn();
		for (const session of sessions) {
			expect(known.has(session)).toBe(false);
			known.add(session);
		}
	};
	const ours = selector(list, readTexts);
	list.filterSessions("q");
	expect(list.filteredSessions).toEqual([]);
	await turn();
	// One key after the other, while texts are read.
	list.filterSessions("qu");
	await complete(ours);
	expect(known.size).toBe(100);
	expect(Math.max(...asked)).toBeLessThan(100);
	const { length } = asked;
	list.filterSessions("qui");
	await complete(ours);
	expect(asked).toHaveLength(length);
});

test("once the list is complete, its texts are read ahead, and a letter then waits for no file", async () => {
	const list = new SessionList(100);
	const readTexts = vi.fn(async () => await turn());
	const { header } = selector(list, readTexts);
	list.filterSessions("");
	for (let n = 0; n < 10; n++) await turn();
	expect(readTexts).not.toHaveBeenCalled();
	header.loading = false;
	list.filterSessions("");
	while (list.read.length < 100) await turn();
	await turn();
	readTexts.mockClear();
	const own = new SessionList(100);
	for (const one of [own, list]) one.filterSessions("quince");
	expect(shown(list)).toEqual(shown(own));
	expect(readTexts).not.toHaveBeenCalled();
});

test("only so much text is read ahead", async () => {
	const list = new SessionList(200);
	const long = "quince ".repeat(3_000_000);
	const setText = (textOf: (n: number) => string): void => list.allSessions.forEach((session, n) => Object.defineProperty(session, "allMessagesText", { value: textOf(n), configurable: true }));
	setText(() => long);
	const readTexts = vi.fn(async () => await turn());
	const ours = selector(list, readTexts);
	ours.header.loading = false;
	list.filterSessions("");
	for (let n = 0; n < 100; n++) await turn();
	expect(readTexts).toHaveBeenCalledTimes(1);
	setText((n) => `quince ${n}`);
	list.filterSessions("quince");
	await complete(ours);
	expect(readTexts.mock.calls.length).toBeGreaterThan(1);
	expect(list.filteredSessions).toHaveLength(200);
});

/** What pi does for these keys. */
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
])("$what: while texts are read, keys wait for the rows, and act on them in their order", async ({ keys }) => {
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
	const signals: AbortSignal[] = [];
	const readTexts = async (_sessions: any[], signal: AbortSignal): Promise<void> => {
		signals.push(signal);
		await turn();
	};
	selector(list, readTexts);
	list.filterSessions("q");
	list.onSelect("/s/1");
	expect(onSelect).toHaveBeenCalledWith("/s/1");
	for (let n = 0; n < 100; n++) await turn();
	expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
	expect(list.read).toEqual([]);
});

test("where texts cannot be read ahead, pi's function reads them", async () => {
	const own = new SessionList();
	const readTexts = vi.fn(async () => {
		throw new Error("no addon");
	});
	const ours = selector(new SessionList(), readTexts);
	for (const list of [own, ours.list]) list.filterSessions("quince");
	await complete(ours);
	expect(shown(ours.list)).toEqual(shown(own));
	expect(readTexts).toHaveBeenCalledTimes(1);
});

test("a selector that is not as expected is left as it is, and what was changed is put back", () => {
	expect(readBeforeFilter({}, async () => {})).toBeTypeOf("function");
	class Other {
		getSessionList() {
			return { filterSessions: "no function" };
		}
		handleInput(data: string) {
			return `own ${data}`;
		}
	}
	const own = Other.prototype.handleInput;
	const restore = readBeforeFilter({ SessionSelectorComponent: Other }, async () => {});
	expect(Other.prototype.handleInput).not.toBe(own);
	expect(new Other().handleInput("x")).toBe("own x");
	restore();
	expect(Other.prototype.handleInput).toBe(own);
});
