// The overlay of `/find`: its state, its keys and its searches. `find-lines.mjs` draws it.
import { Input, matchesKey, truncateToWidth } from "@earendil-works/pi-tui";
import { CATALOG_WARNING } from "../shared/delete-session.mjs";
import { foundCounts, isHitStart } from "../shared/hit-groups.mjs";
import { unmarked } from "../shared/snippet.mjs";
import { safeBlock } from "../shared/text.mjs";
import { FindLines } from "./find-lines.mjs";
import { safeMessage } from "./go-to.mjs";
import { ReadView } from "./read-view.mjs";
import { LIMIT } from "./search-options.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../index.js").SearchOptions} SearchOptions */
/** @typedef {import("../shared/delete-session.mjs").Deletion} Deletion */
/**
 * @typedef {{ action: "entry" | "edit" | "session", hit: SearchHit } | { action: "editor", text: string } | undefined}
 * Choice
 */
/**
 * @typedef {{ by: number } | { by?: never, choose: (hit: SearchHit) => Choice } | { by?: never, act: (hit: SearchHit)
 * => void }} RowKey the effect of a key on a hit
 */

/**
 * @typedef {object} FindOptions
 * @property {import("@earendil-works/pi-tui").TUI} tui
 * @property {import("@earendil-works/pi-coding-agent").Theme} theme
 * @property {import("@earendil-works/pi-tui").KeybindingsManager} keybindings
 * @property {(choice: Choice) => void} done
 * @property {string} query
 * @property {boolean} isAll
 * @property {boolean} subagents whether sessions of subagents are searched
 * @property {string | undefined} only the file of the only session that is searched
 * @property {string | undefined} leftOut sessions of subagents that the search of one session leaves out
 * @property {string | undefined} dir the only directory that is searched
 * @property {(hit: SearchHit) => string | undefined} textOf the whole text of a hit; undefined if the session no longer
 * contains the entry
 * @property {(hit: SearchHit) => import("../../index.js").SessionManager} managerOf opens the session of a hit
 * read-only
 * @property {(hit: SearchHit) => Deletion} deletionOf the files to delete with the session of a hit; throws if the
 * session is in use
 * @property {(deletion: Deletion) => { isInTrash: boolean, isCatalogClean: boolean }} remove
 * @property {(query: string, scope: { isAll: boolean, session?: string }, more: SearchOptions) => Promise<SearchHit[]>}
 * search
 */

/** @typedef {import("./find-lines.mjs").Filter} Filter */
/** The filters by text and by time, in the order of their keys. @type {[Filter, ...Filter[]]} */
const ROLES = [
	{ title: "messages" },
	{ title: "user", in: ["user"] },
	{ title: "assistant", in: ["assistant"] },
	{ title: "tools", in: ["tool"] },
];
/** @type {[Filter, ...Filter[]]} */
const TIMES = [
	{ title: "any time" },
	{ title: "today", since: () => new Date().setHours(0, 0, 0, 0) },
	{ title: "7 days", since: () => daysAgo(7) },
	{ title: "30 days", since: () => daysAgo(30) },
];
/** The next filter. @param {[Filter, ...Filter[]]} filters @param {Filter} filter */
const after = (filters, filter) => filters[filters.indexOf(filter) + 1] ?? filters[0];
const daysAgo = (/** @type {number} */ days) => Date.now() - days * 86_400_000;
/** If the chosen hit is this close to the last one, the search for more begins. */
const AHEAD = 20;
/** The largest number of hits shown if the user asks for all hits of a session. */
const ALL_OF_SESSION = 5_000;
export class FindView {
	#options;
	#input = new Input();
	/** The state that is drawn. @type {import("./find-lines.mjs").Screen} */
	#screen;
	/** The hits of the search, and whether it ended because it reached the limit. @type {SearchHit[]} */
	#found = [];
	#isCut = false;
	/** The limit of hits, and the number of queries so far. */
	#limit = LIMIT;
	#searches = 0;
	/** Keys that were typed before the query had hits. @type {string[]} */
	#waiting = [];
	/** Stops the search that runs. @type {AbortController | undefined} */
	#running;
	/** @type {ReturnType<typeof setImmediate> | undefined} */
	#previewing;
	/** @type {ReadView | undefined} */
	#reading;
	/** Whether a paste has begun and not ended. */
	#isPasting = false;

	/** @param {FindOptions} options */
	constructor(options) {
		this.#options = options;
		this.#screen = {
			...{ input: [], words: undefined, isAll: options.isAll, role: ROLES[0], time: TIMES[0], status: "" },
			...{ hits: [], selected: 0, opened: new Map(), isAwaited: false, isHelpOpen: false },
			...{ preview: undefined, deleting: undefined },
		};
		// We paste the query, because the cursor is behind it then.
		if (options.query !== "") this.#input.handleInput(`\x1b[200~${options.query.replace(/\s+/g, " ")}\x1b[201~`);
		this.#search();
	}

	get focused() {
		return this.#input.focused;
	}

	set focused(focused) {
		this.#input.focused = focused;
	}

	/** The filters as options of a search. @returns {SearchOptions} */
	#limits() {
		const { role, time } = this.#screen;
		return { ...(role.in ? { in: role.in } : {}), ...(time.since ? { since: time.since() } : {}) };
	}

	/**
	 * Stops the running search and searches for the typed words. The previous hits stay, dim, until the first new hit
	 * comes or the search ends.
	 * @param {number} [limit] the largest number of hits. If it is larger than before, the search adds hits to the shown
	 * ones
	 */
	#search(limit = LIMIT) {
		this.#running?.abort();
		const isMore = limit > LIMIT;
		this.#limit = limit;
		if (!isMore) {
			this.#waiting = [];
			this.#screen.opened.clear();
			this.#searches++;
		}
		const query = this.#input.getValue().trim();
		if (query === "") {
			this.#running = undefined;
			return this.#show([], false, "");
		}
		const running = new AbortController();
		this.#running = running;
		this.#screen.isAwaited = !isMore;
		this.#screen.status = "searching";
		const least = isMore ? this.#found.length : 0;
		/** @type {SearchHit[]} */
		const hits = [];
		/** @type {SearchOptions} */
		const more = {
			...this.#limits(),
			limit,
			signal: running.signal,
			onProgress: (searched, total) => {
				if (running === this.#running) this.#tell(`searching ${searched}/${total}`);
			},
			onHit: (hit) => {
				if (running !== this.#running) return;
				hits.push(hit);
				if (hits.length <= least) return;
				this.#show(hits, true, this.#screen.status);
				// Keys that move the selection wait for all hits.
				if (!this.#waiting.some((key) => this.#rowKey(key)?.by !== undefined)) this.#handleWaiting();
			},
		};
		this.#options.search(query, { isAll: this.#screen.isAll }, more).then(
			(found) => {
				if (running !== this.#running) return;
				this.#running = undefined;
				const isCut = found.length >= limit;
				this.#show(found, isCut, found.length === 0 ? "nothing found" : foundCounts(found, isCut));
				this.#handleWaiting();
			},
			(error) => {
				if (running !== this.#running || running.signal.aborted) return;
				this.#waiting = [];
				this.#show(hits, false, safeMessage(error));
			},
		);
	}

	/** @param {string} status */
	#tell(status) {
		this.#screen.status = status;
		this.#options.tui.requestRender();
	}

	/**
	 * @param {SearchHit[]} found
	 * @param {boolean} isCut whether there may be more
	 * @param {string} status
	 */
	#show(found, isCut, status) {
		const isNew = this.#screen.isAwaited;
		this.#screen.isAwaited = false;
		[this.#found, this.#isCut] = [found, isCut];
		this.#arrange(isNew);
		this.#tell(status);
	}

	/** Computes the shown hits, and keeps the chosen hit. @param {boolean} [isNew] */
	#arrange(isNew = false) {
		const chosen = this.#screen.hits[this.#screen.selected];
		this.#screen.hits =
			this.#screen.opened.size === 0
				? this.#found
				: this.#found.flatMap(
						(hit, at) =>
							(isHitStart(this.#found, at) ? this.#screen.opened.get(hit.path) : undefined) ??
							(this.#screen.opened.has(hit.path) ? [] : [hit]),
					);
		const at =
			isNew || !chosen
				? -1
				: this.#screen.hits.findIndex(({ path, entryId }) => path === chosen.path && entryId === chosen.entryId);
		this.#select(at < 0 ? this.#screen.selected : at);
	}

	/** @param {number} at */
	#select(at) {
		this.#screen.selected = Math.max(0, Math.min(at, this.#screen.hits.length - 1));
		this.#makePreview();
		if (this.#isCut && this.#running === undefined && this.#screen.selected + AHEAD >= this.#screen.hits.length)
			this.#search(this.#limit + LIMIT);
	}

	/** Shows all hits of a session, or only the first hits again. @param {SearchHit} hit */
	#toggleSession({ path, owner }) {
		if (this.#screen.opened.delete(path)) {
			this.#arrange();
			// The chosen hit may no longer be shown.
			return this.#select(this.#screen.hits.findIndex((hit) => hit.path === path));
		}
		const searches = this.#searches;
		this.#options
			.search(
				this.#input.getValue().trim(),
				{ isAll: true, session: path },
				{ ...this.#limits(), limit: ALL_OF_SESSION },
			)
			.then(
				(hits) => {
					if (searches !== this.#searches || hits.length === 0) return;
					this.#screen.opened.set(path, owner ? hits.map((hit) => ({ ...hit, owner })) : hits);
					this.#arrange();
					this.#options.tui.requestRender();
				},
				(error) => this.#tell(safeMessage(error)),
			);
	}

	/** Reads the chosen message in a later turn of the event loop, so that a large session does not delay a key. */
	#makePreview() {
		const hit = this.#screen.hits[this.#screen.selected];
		// `ReadView` uses the manager of its session, which reading another message would close.
		if (this.#screen.preview?.hit === hit || this.#reading) return;
		clearImmediate(this.#previewing);
		this.#previewing = setImmediate(() => {
			if (hit === undefined) this.#screen.preview = undefined;
			else {
				try {
					this.#screen.preview = {
						hit,
						text: this.#options.textOf(hit) ?? `(the session no longer contains this entry) ${unmarked(hit.snippet)}`,
					};
				} catch (error) {
					this.#screen.preview = { hit, text: `(${safeMessage(error)})` };
				}
			}
			this.#options.tui.requestRender();
		});
	}

	/**
	 * The effect of a key on a hit; undefined for keys without one.
	 * @param {string} data
	 * @returns {RowKey | undefined}
	 */
	#rowKey(data) {
		const { keybindings } = this.#options;
		if (keybindings.matches(data, "tui.select.up")) return { by: -1 };
		if (keybindings.matches(data, "tui.select.down")) return { by: 1 };
		if (keybindings.matches(data, "tui.select.pageUp")) return { by: -10 };
		if (keybindings.matches(data, "tui.select.pageDown")) return { by: 10 };
		if (keybindings.matches(data, "tui.select.confirm")) return { choose: (hit) => ({ action: "entry", hit }) };
		if (matchesKey(data, "ctrl+x")) return { choose: (hit) => ({ action: "edit", hit }) };
		if (matchesKey(data, "ctrl+o")) return { choose: (hit) => ({ action: "session", hit }) };
		if (matchesKey(data, "ctrl+g")) return { choose: (hit) => ({ action: "editor", text: this.#textFor(hit) }) };
		if (matchesKey(data, "ctrl+l")) return { act: (hit) => this.#read(hit) };
		if (keybindings.matches(data, /** @type {any} */ ("app.session.delete")))
			return { act: (hit) => this.#askToDelete(hit) };
		if (matchesKey(data, "ctrl+s")) return { act: (hit) => this.#toggleSession(hit) };
		return undefined;
	}

	/** @param {string} data */
	handleInput(data) {
		const { keybindings } = this.#options;
		if (this.#reading) return this.#handleReading(data);
		if (this.#screen.deleting) return this.#delete(keybindings.matches(data, "tui.select.confirm"));
		if (keybindings.matches(data, "tui.select.cancel")) return this.#end(undefined);
		if (this.#rowKey(data)) {
			this.#waiting.push(data);
			// The user means a hit of the new query, so the key waits if the screen still shows old hits.
			if (!this.#screen.isAwaited && this.#waiting.length === 1) this.#handleWaiting();
			return;
		}
		if (matchesKey(data, "f1")) {
			this.#screen.isHelpOpen = !this.#screen.isHelpOpen;
			return this.#options.tui.requestRender();
		}
		if (keybindings.matches(data, "tui.input.tab")) this.#screen.isAll = !this.#screen.isAll;
		else if (matchesKey(data, "ctrl+r")) this.#screen.role = after(ROLES, this.#screen.role);
		else if (matchesKey(data, "ctrl+t")) this.#screen.time = after(TIMES, this.#screen.time);
		else {
			const before = this.#input.getValue();
			this.#input.handleInput(this.#onOneLine(data));
			if (this.#input.getValue() === before) return this.#options.tui.requestRender();
		}
		this.#screen.selected = 0;
		this.#search();
	}

	/** Replaces line ends in a paste by spaces, because pi's input field removes them. @param {string} data */
	#onOneLine(data) {
		if (data.includes("\x1b[200~")) this.#isPasting = true;
		const line = this.#isPasting ? data.replace(/\s*[\r\n]+\s*/g, " ") : data;
		if (data.includes("\x1b[201~")) this.#isPasting = false;
		return line;
	}

	/** Applies the waiting keys to the hits. */
	#handleWaiting() {
		for (const data of this.#waiting.splice(0)) {
			const key = this.#rowKey(data);
			const hit = this.#screen.hits[this.#screen.selected];
			if (!key || !hit) continue;
			if ("choose" in key) return this.#end(key.choose(hit));
			if ("act" in key) key.act(hit);
			else this.#select(this.#screen.selected + key.by);
			this.#options.tui.requestRender();
		}
	}

	/** Asks whether to delete the session of a hit. @param {SearchHit} hit */
	#askToDelete(hit) {
		try {
			this.#screen.deleting = { hit, deletion: this.#options.deletionOf(hit) };
		} catch (error) {
			this.#tell(safeMessage(error));
		}
	}

	/** @param {boolean} isConfirmed */
	#delete(isConfirmed) {
		const { hit, deletion } = this.#screen.deleting ?? {};
		this.#screen.deleting = undefined;
		if (!hit || !deletion || !isConfirmed) return this.#options.tui.requestRender();
		try {
			const { isInTrash, isCatalogClean } = this.#options.remove(deletion);
			this.#found = this.#found.filter(({ path }) => !deletion.files.includes(path));
			this.#arrange();
			this.#tell(`${isInTrash ? "moved to the trash" : "deleted"}${isCatalogClean ? "" : `; ${CATALOG_WARNING}`}`);
		} catch (error) {
			this.#tell(safeMessage(error));
		}
	}

	/** Shows the entries around a hit. @param {SearchHit} hit */
	#read(hit) {
		const { theme, keybindings, managerOf } = this.#options;
		try {
			this.#reading = new ReadView({ theme, keybindings, manager: managerOf(hit), hit, words: this.#words() });
		} catch (error) {
			this.#tell(safeMessage(error));
		}
	}

	/** @param {string} data */
	#handleReading(data) {
		const { keybindings, tui } = this.#options;
		const key = this.#rowKey(data);
		const reading = this.#reading;
		if (!reading || keybindings.matches(data, "tui.select.cancel") || matchesKey(data, "ctrl+l")) {
			this.#reading = undefined;
			this.#makePreview();
		} else if (key && "choose" in key) return this.#end(key.choose(reading.hit));
		else reading.handleInput(data);
		tui.requestRender();
	}

	/** @param {SearchHit} hit */
	#textFor(hit) {
		try {
			return safeBlock(this.#options.textOf(hit) ?? unmarked(hit.snippet));
		} catch {
			// The session was deleted, but we still have the snippet.
			return unmarked(hit.snippet);
		}
	}

	/** @param {Choice} choice */
	#end(choice) {
		this.dispose();
		this.#options.done(choice);
	}

	dispose() {
		this.#running?.abort();
		this.#running = undefined;
		clearImmediate(this.#previewing);
	}

	invalidate() {
		this.#input.invalidate();
	}

	/** A pattern of the words that are searched for; undefined if there are none. */
	#words() {
		const words = this.#input.getValue().trim().split(/\s+/).filter(Boolean);
		return words.length === 0
			? undefined
			: new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|"), "giu");
	}

	/** @param {number} width */
	render(width) {
		const { tui } = this.#options;
		const rows = Math.max(3, tui.terminal.rows - 1);
		if (this.#reading) return this.#reading.render(width, rows).map((line) => truncateToWidth(line, width, "…", true));
		[this.#screen.input, this.#screen.words] = [this.#input.render(width), this.#words()];
		return new FindLines(this.#options, this.#screen, width).draw(rows);
	}
}
