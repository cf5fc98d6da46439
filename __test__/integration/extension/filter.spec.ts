// The filter of /resume in slices, held against the function of pi 1.5.2 that it gives sessions to.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { root } from "../../support/scratch.js";

const load = (path: string): Promise<any> => import(pathToFileURL(join(root, path)).href);
const { filterInSlices, sliceFilter } = await load("lib/extension/filter.mjs");
const { filterAndSortSessions } = await load("reference/pi-1.5.2/dist/modes/interactive/components/session-selector-search.js");

const WORDS = ["quince", "pie", "Garden", "apple tree", "the", "xylophone"];

/** A list as pi's: its texts say when they are read. */
class SessionList {
	read: number[] = [];
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

const turns = async (list: SessionList, count: number): Promise<void> => {
	for (let n = 0; n < 1000 && list.read.length < count; n++) await new Promise((resolve) => setImmediate(resolve));
	await new Promise((resolve) => setImmediate(resolve));
};
const shown = (list: SessionList) => ({ rows: list.filteredSessions, selected: list.selectedIndex });

test.each(["threaded", "recent", "relevance"])("sorted as %s, it gives in the end what pi gives at once", async (sortMode) => {
	for (const query of ["", "e", "pie", "quince pie", '"apple tree"', "re:m.ssage 1", "re:(", "gdn", "nothing at all"]) {
		const [own, sliced] = [new SessionList(), new SessionList()];
		const redraw = vi.fn();
		filterInSlices(sliced, redraw, 0);
		for (const list of [own, sliced]) {
			list.sortMode = sortMode;
			list.selectedIndex = 20;
			list.filterSessions(query);
		}
		await turns(sliced, own.read.length);
		await new Promise((resolve) => setTimeout(resolve, 0));
		await turns(sliced, own.read.length);
		for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
		expect(shown(sliced), query).toEqual(shown(own));
	}
});

test("a key reads only some of the texts, and the next key ends the filter of the one before", async () => {
	const list = new SessionList();
	filterInSlices(list, () => {}, 0);
	list.filterSessions("q");
	expect(list.read.length).toBeLessThanOrEqual(4);
	list.filterSessions("");
	expect(list.filteredSessions).toHaveLength(50);
	for (let n = 0; n < 30; n++) await new Promise((resolve) => setImmediate(resolve));
	expect(list.read.length).toBeLessThanOrEqual(4);
	expect(list.filteredSessions).toHaveLength(50);
});

test("a selector that is not as expected is left as it is, and what was changed is put back", () => {
	expect(sliceFilter({})).toBeTypeOf("function");
	class Other {
		getSessionList() {
			return { filterSessions: "no function" };
		}
		handleInput(data: string) {
			return `own ${data}`;
		}
	}
	const own = Other.prototype.handleInput;
	const restore = sliceFilter({ SessionSelectorComponent: Other });
	expect(Other.prototype.handleInput).not.toBe(own);
	expect(new Other().handleInput("x")).toBe("own x");
	restore();
	expect(Other.prototype.handleInput).toBe(own);
});
