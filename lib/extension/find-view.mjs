// The overlay of `/find`: a line to type in, the hits by session, and the message of the one that is chosen.
import { Input, matchesKey, truncateToWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { pieces } from "../shared/snippet.mjs";
import { age, clip, clipMiddle, counted, safeBlock, widthOf, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { isForEditor, safeMessage } from "./go-to.mjs";
import { LIMIT } from "./search-options.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../index.js").SearchOptions} SearchOptions */
/** @typedef {{ action: "entry" | "session", hit: SearchHit } | { action: "editor", text: string } | undefined} Choice */

/**
 * @typedef {object} FindOptions
 * @property {import("@earendil-works/pi-tui").TUI} tui
 * @property {import("@earendil-works/pi-coding-agent").Theme} theme
 * @property {import("@earendil-works/pi-tui").KeybindingsManager} keybindings
 * @property {(choice: Choice) => void} done
 * @property {string} query
 * @property {boolean} isAll
 * @property {string | undefined} dir the one directory that is searched
 * @property {import("./writers.mjs").WriterOf} writerOf
 * @property {(hit: SearchHit) => string | undefined} textOf the whole text of a hit; undefined if the session no longer has it
 * @property {(query: string, scope: { isAll: boolean }, more: SearchOptions) => Promise<SearchHit[]>} search
 */

/** What a search can be limited to, in the order in which a key goes through it. */
const ROLES = /** @type {const} */ ([
	{ title: "messages" },
	{ title: "user", roles: ["user"] },
	{ title: "assistant", roles: ["assistant"] },
	{ title: "tools", roles: ["toolResult", "bashExecution", "assistant"], in: ["tool"] },
]);
const TIMES = [{ title: "any time" }, { title: "today", since: () => new Date().setHours(0, 0, 0, 0) }, { title: "7 days", since: () => daysAgo(7) }, { title: "30 days", since: () => daysAgo(30) }];
const daysAgo = (/** @type {number} */ days) => Date.now() - days * 86_400_000;
/** How many characters of a message the preview looks at, before and after what was found. */
const PREVIEWED = 20_000;

export class FindView {
	#options;
	#input = new Input();
	#isAll;
	#role = 0;
	#time = 0;
	/** @type {SearchHit[]} */
	#hits = [];
	#selected = 0;
	/** Whether the first hit of the query is still awaited. The hits are those of the query before until then. */
	#isAwaited = false;
	/** The keys that wait for the hits of the query. @type {string[]} */
	#waiting = [];
	/** What the search says of itself. */
	#status = "";
	/** @type {AbortController | undefined} of the search that runs */
	#running;
	/** @type {{ hit: SearchHit, text: string } | undefined} */
	#preview;
	/** @type {ReturnType<typeof setImmediate> | undefined} */
	#previewing;

	/** @param {FindOptions} options */
	constructor(options) {
		this.#options = options;
		this.#isAll = options.isAll;
		// Pasted, which leaves the cursor at its end.
		if (options.query !== "") this.#input.handleInput(`\x1b[200~${options.query}\x1b[201~`);
		this.#search();
	}

	get focused() {
		return this.#input.focused;
	}

	set focused(focused) {
		this.#input.focused = focused;
	}

	/** Starts the search of what is typed; the one before it ends. Its hits stay, dim, until the first new one comes, or there is none. */
	#search() {
		this.#running?.abort();
		this.#waiting = [];
		const query = this.#input.getValue().trim();
		if (query === "") {
			this.#running = undefined;
			return this.#show([], "");
		}
		const running = new AbortController();
		this.#running = running;
		this.#isAwaited = true;
		this.#status = "searching";
		/** @type {SearchHit[]} */
		const hits = [];
		const [role, time] = [ROLES[this.#role] ?? ROLES[0], TIMES[this.#time]];
		/** @type {SearchOptions} */
		const more = {
			...("roles" in role ? { roles: role.roles } : {}),
			...("in" in role ? { in: role.in } : {}),
			...(time?.since ? { since: time.since() } : {}),
			signal: running.signal,
			onProgress: (searched, total) => {
				if (running === this.#running) this.#tell(`searching ${searched}/${total}`);
			},
			onHit: (hit) => {
				if (running !== this.#running) return;
				hits.push(hit);
				this.#show(hits, this.#status);
				// A key that moves has only one hit to move in.
				if (!this.#waiting.some((key) => this.#rowKey(key)?.by !== undefined)) this.#handleWaiting();
			},
		};
		this.#options.search(query, { isAll: this.#isAll }, more).then(
			(found) => {
				if (running !== this.#running) return;
				this.#show(found, foundText(found));
				this.#handleWaiting();
			},
			(error) => {
				if (running !== this.#running || running.signal.aborted) return;
				this.#waiting = [];
				this.#show(hits, safeMessage(error));
			},
		);
	}

	/** @param {string} status */
	#tell(status) {
		this.#status = status;
		this.#options.tui.requestRender();
	}

	/**
	 * @param {SearchHit[]} hits
	 * @param {string} status
	 */
	#show(hits, status) {
		this.#isAwaited = false;
		this.#hits = hits;
		this.#selected = Math.max(0, Math.min(this.#selected, hits.length - 1));
		this.#makePreview();
		this.#tell(status);
	}

	/** Reads the chosen message in a later turn: a key is never held up by a large session. */
	#makePreview() {
		const hit = this.#hits[this.#selected];
		if (this.#preview?.hit === hit) return;
		clearImmediate(this.#previewing);
		this.#previewing = setImmediate(() => {
			if (hit === undefined) this.#preview = undefined;
			else {
				try {
					this.#preview = { hit, text: this.#options.textOf(hit) ?? `(the session no longer has this entry) ${snippetText(hit)}` };
				} catch (error) {
					this.#preview = { hit, text: `(${safeMessage(error)})` };
				}
			}
			this.#options.tui.requestRender();
		});
	}

	/** What a key does to a hit; undefined for any other key. @param {string} data @returns {{ by: number } | { by?: never, choose: (hit: SearchHit) => Choice } | undefined} */
	#rowKey(data) {
		const { keybindings } = this.#options;
		if (keybindings.matches(data, "tui.select.up")) return { by: -1 };
		if (keybindings.matches(data, "tui.select.down")) return { by: 1 };
		if (keybindings.matches(data, "tui.select.pageUp")) return { by: -10 };
		if (keybindings.matches(data, "tui.select.pageDown")) return { by: 10 };
		if (keybindings.matches(data, "tui.select.confirm")) return { choose: (hit) => ({ action: "entry", hit }) };
		if (matchesKey(data, "ctrl+o")) return { choose: (hit) => ({ action: "session", hit }) };
		if (matchesKey(data, "ctrl+g")) return { choose: (hit) => ({ action: "editor", text: this.#textFor(hit) }) };
		return undefined;
	}

	/** @param {string} data */
	handleInput(data) {
		const { keybindings } = this.#options;
		if (keybindings.matches(data, "tui.select.cancel")) return this.#end(undefined);
		if (this.#rowKey(data)) {
			this.#waiting.push(data);
			// What is on the screen of another query is not what the key is for.
			if (!this.#isAwaited && this.#waiting.length === 1) this.#handleWaiting();
			return;
		}
		if (keybindings.matches(data, "tui.input.tab")) this.#isAll = !this.#isAll;
		else if (matchesKey(data, "ctrl+r")) this.#role = (this.#role + 1) % ROLES.length;
		else if (matchesKey(data, "ctrl+t")) this.#time = (this.#time + 1) % TIMES.length;
		else {
			const before = this.#input.getValue();
			this.#input.handleInput(data);
			if (this.#input.getValue() === before) return this.#options.tui.requestRender();
		}
		this.#selected = 0;
		this.#search();
	}

	/** Does what the keys that wait do to the hits. */
	#handleWaiting() {
		for (const data of this.#waiting.splice(0)) {
			const key = this.#rowKey(data);
			const hit = this.#hits[this.#selected];
			if (!key || !hit) continue;
			if (key.by === undefined) return this.#end(key.choose(hit));
			this.#selected = Math.max(0, Math.min(this.#selected + key.by, this.#hits.length - 1));
			this.#makePreview();
			this.#options.tui.requestRender();
		}
	}

	/** @param {SearchHit} hit */
	#textFor(hit) {
		try {
			return safeBlock(this.#options.textOf(hit) ?? snippetText(hit));
		} catch {
			// The session is gone; its snippet is not.
			return snippetText(hit);
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

	/** @param {number} width */
	render(width) {
		const { theme, tui, keybindings } = this.#options;
		const rows = Math.max(10, tui.terminal.rows - 1);
		const dim = (/** @type {string} */ text) => theme.fg("dim", text);
		const rule = theme.fg("border", "─".repeat(width));
		const dir = this.#options.dir === undefined ? "" : ` in ${clipMiddle(this.#options.dir, Math.floor(width / 4))}`;
		const filters = `${this.#isAll ? "all sessions" : "this project"}${dir} · ${ROLES[this.#role]?.title} · ${TIMES[this.#time]?.title}`;
		const key = (/** @type {Parameters<typeof keybindings.getKeys>[0]} */ name) => keybindings.getKeys(name)[0] ?? "";
		const head = [rule, `${theme.fg("accent", theme.bold("Find"))}  ${filters}  ${dim(this.#status)}`, ...this.#input.render(width), rule];
		const foot = [
			rule,
			...[
				`${key("tui.select.confirm")} ${effectOf(this.#hits[this.#selected])}`,
				`${key("tui.input.tab")} project/all · ctrl+r role · ctrl+t time · ctrl+o opens the session only · ctrl+g takes the text to the editor · ${key("tui.select.cancel")} closes`,
			].flatMap((text) => wrapped(text, width).map(dim)),
		];
		const room = rows - head.length - foot.length;
		const previewRows = this.#hits.length === 0 ? 0 : Math.min(Math.floor(room / 3) + 1, 10);
		const list = this.#hitLines(width, room - previewRows);
		const preview = previewRows > 1 ? [rule, ...this.#previewLines(width, previewRows - 1).map((line) => (this.#isAwaited ? dim(line) : line))] : [];
		const empty = Array.from({ length: Math.max(0, room - list.length - preview.length) }, () => "");
		return [...head, ...list, ...empty, ...preview, ...foot].map((line) => truncateToWidth(line, width, "…", true));
	}

	/**
	 * The hits by session, those around the chosen one.
	 * @param {number} width
	 * @param {number} rows
	 */
	#hitLines(width, rows) {
		const { theme } = this.#options;
		const dim = (/** @type {string} */ text) => theme.fg("dim", text);
		/** @type {string[]} */
		const lines = [];
		let at = 0;
		for (const [index, hit] of this.#hits.entries()) {
			if (hit.path !== this.#hits[index - 1]?.path) {
				const title = clip(titleOf(hit), Math.floor(width / 2));
				const by = byWriter(this.#options.writerOf(hit));
				const place = `${clip(underHome(hit.cwd), Math.max(1, width - widthOf(title) - 2 - by.length))}${by}`;
				lines.push(this.#isAwaited ? dim(`${title}  ${place}`) : `${theme.bold(title)}  ${theme.fg("muted", place)}`);
			}
			const isSelected = index === this.#selected && !this.#isAwaited;
			if (isSelected) at = lines.length;
			const place = `${isSelected ? "› " : "  "}${ageOf(hit).padStart(4)} ${clip(speakerOf(hit), 10).padEnd(10)} `;
			const snippet = pieces(hit.snippet, Math.max(1, width - place.length)).map(({ text, found }) => (this.#isAwaited ? dim(text) : found ? theme.fg("warning", theme.bold(text)) : text)).join("");
			lines.push(`${isSelected ? theme.fg("accent", place) : dim(place)}${snippet}`);
		}
		const from = Math.max(0, Math.min(at - Math.floor(rows / 2), lines.length - rows));
		return lines.slice(from, from + rows);
	}

	/**
	 * The chosen message, from shortly before what was found.
	 * @param {number} width
	 * @param {number} rows
	 */
	#previewLines(width, rows) {
		const text = this.#preview && this.#preview.hit === this.#hits[this.#selected] ? this.#preview.text : "";
		const words = this.#input.getValue().trim().toLowerCase().split(/\s+/);
		const lower = text.toLowerCase();
		const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
		const from = Math.max(0, Math.min(...places, text.length) - PREVIEWED / 2);
		const lines = safeBlock(text.slice(from, from + PREVIEWED).toWellFormed()).replaceAll("\t", "    ").split("\n").flatMap((line) => (line === "" ? [""] : wrapTextWithAnsi(line, width)));
		const found = lines.findIndex((line) => words.some((word) => line.toLowerCase().includes(word)));
		const first = Math.max(0, Math.min(found - 1, lines.length - rows));
		return lines.slice(first, first + rows);
	}
}

/** @param {SearchHit[]} hits */
const foundText = (hits) => {
	const sessions = counted(new Set(hits.map(({ path }) => path)).size, "session");
	if (hits.length === 0) return "nothing found";
	return hits.length < LIMIT ? `${counted(hits.length, "hit")} in ${sessions}` : `the first ${counted(LIMIT, "hit")}, in ${sessions}`;
};

/** What going to a hit does, as pi's own tree of a session does it. @param {SearchHit | undefined} hit */
const effectOf = (hit) => {
	if (hit && isForEditor(hit.role)) return "puts the message into the editor and the leaf before it (what follows stays as a branch)";
	return "goes to the entry and moves the session's leaf there (what follows stays as a branch)";
};

/** @param {SearchHit} hit */
const snippetText = (hit) => pieces(hit.snippet, hit.snippet.length).map(({ text }) => text).join("");

/** What people call those whose role is the name of a type. @type {Record<string, string>} */
const SPEAKERS = { toolResult: "tool", bashExecution: "command", session_info: "name", branch_summary: "summary", compaction: "summary", custom_message: "custom" };

/** @param {SearchHit} hit */
export const speakerOf = (hit) => SPEAKERS[hit.role] ?? hit.role;

/** What a session is known by, as in `/resume`. @param {SearchHit} hit */
export const titleOf = ({ name, firstMessage, id }) => name || firstMessage || id;

/** @param {string | undefined} writer who wrote a session last */
export const byWriter = (writer) => (writer === undefined ? "" : ` · ${writer}`);

/** @param {SearchHit} hit */
export const ageOf = (hit) => (Number.isNaN(Date.parse(hit.timestamp)) ? "?" : age(new Date(hit.timestamp)));
