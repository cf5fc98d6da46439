// Draws the overlay of `/find`.
import { truncateToWidth } from "@earendil-works/pi-tui";
import { isHitStart } from "../shared/hit-groups.mjs";
import { pieces } from "../shared/snippet.mjs";
import { clip, clipMiddle, count, counted, widthOf, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { ageOf, mark, markedLines, speakerOf, titleOf } from "./find-text.mjs";
import { isForEditor } from "./go-to.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../index.js").SearchedSession} SearchedSession */
/**
 * The message of a hit; `lines` are the ones made last, for the width and the words in `made`.
 * @typedef {{ hit: SearchHit, text: string, made?: string, lines?: { line: string, isMarked: boolean }[] }} Preview
 */
/** @typedef {{ hit: SearchHit, deletion: import("../shared/delete-session.mjs").Deletion }} Deleting */

/**
 * What the overlay shows.
 * @typedef {object} Screen
 * @property {string[]} input the line to type in
 * @property {RegExp | undefined} words what is searched for
 * @property {boolean} isAll whether all projects are searched
 * @property {string} role whose messages are searched
 * @property {boolean} isAnyRole
 * @property {string} time
 * @property {boolean} isAnyTime
 * @property {string} status
 * @property {SearchHit[]} hits
 * @property {number} selected
 * @property {Map<string, SearchHit[]>} opened all hits of the sessions that show them
 * @property {boolean} isAwaited the hits are those of the query before
 * @property {Preview | undefined} preview of the chosen hit
 * @property {Deleting | undefined} deleting
 * @property {boolean} isHelpOpen
 */

/** How many characters of a message the preview looks at, before and after what was found. */
const PREVIEWED = 20_000;
/** Below so many lines there are no rules, and below so many no help and no preview. */
const [ROWS_FOR_RULES, ROWS_FOR_MORE] = [16, 9];

export class FindLines {
	#options;
	#screen;
	#width;

	/**
	 * @param {import("./find-view.mjs").FindOptions} options
	 * @param {Screen} screen
	 * @param {number} width
	 */
	constructor(options, screen, width) {
		this.#options = options;
		this.#screen = screen;
		this.#width = width;
	}

	/** The lines of the overlay, as many as the terminal has room for. @param {number} rows */
	draw(rows) {
		const { theme } = this.#options;
		const width = this.#width;
		const dim = (/** @type {string} */ text) => theme.fg("dim", text);
		const rules = rows < ROWS_FOR_RULES ? [] : [theme.fg("border", "─".repeat(width))];
		const head = [...rules, this.#titleLine(), ...this.#screen.input, ...rules];
		const isQuiet = rows < ROWS_FOR_MORE && !this.#screen.isHelpOpen && !this.#screen.deleting;
		const foot = isQuiet ? [] : [...rules, ...(this.#screen.deleting ? this.#question() : this.#helpLines().map(dim))];
		const room = Math.max(1, rows - head.length - foot.length);
		const { titles, lines, at } = this.#hitLines();
		const preview = rows < ROWS_FOR_MORE || this.#screen.hits.length === 0 ? [] : this.#previewLines();
		// The message gets what the hits leave, and a third if they need more.
		const least = preview.length === 0 ? 0 : Math.min(preview.length + 1, Math.floor(room / 3) + 1);
		const listed =
			this.#screen.hits.length === 0
				? this.#emptyLines().slice(0, room)
				: around(lines, titles, at, Math.min(lines.length, room - least));
		const left = room - listed.length;
		const shown =
			left < 2 || preview.length === 0
				? []
				: [
						theme.fg("border", "─".repeat(width)),
						...fromMark(preview, left - 1).map(({ line }) => (this.#screen.isAwaited ? dim(line) : line)),
					];
		const empty = Array.from({ length: Math.max(0, left - shown.length) }, () => "");
		return [...head, ...listed, ...empty, ...shown, ...foot]
			.slice(0, rows)
			.map((line) => truncateToWidth(line, width, "…", true));
	}

	#titleLine() {
		const width = this.#width;
		const { theme, only, subagents } = this.#options;
		const dir = this.#options.dir === undefined ? "" : ` in ${clipMiddle(this.#options.dir, Math.floor(width / 4))}`;
		const where =
			only === undefined
				? `${this.#screen.isAll ? "all sessions" : "this project"}${dir}${subagents ? "" : " without subagents"}`
				: "one session";
		const filters = `${where} · ${this.#screen.role} · ${this.#screen.time}`;
		const find = theme.fg("accent", theme.bold("Find"));
		const status = theme.fg("dim", this.#screen.status);
		// What does not fit is cut off at the end.
		return widthOf(filters) + widthOf(this.#screen.status) + 8 > width && this.#screen.status !== ""
			? `${find}  ${status}  ${filters}`
			: `${find}  ${filters}  ${status}`;
	}

	/** One line, or all that there is to say. */
	#helpLines() {
		const width = this.#width;
		const { keybindings } = this.#options;
		const key = (/** @type {string} */ name) => keybindings.getKeys(/** @type {any} */ (name))[0] ?? "";
		const [enter, cancel, tab] = [key("tui.select.confirm"), key("tui.select.cancel"), key("tui.input.tab")];
		const hit = this.#screen.hits[this.#screen.selected];
		const isSaid = hit !== undefined && isForEditor(hit.role);
		const goes = isSaid ? "goes to the answer" : "goes to the entry";
		if (!this.#screen.isHelpOpen)
			return [
				clip(
					`f1 shows the keys · ${cancel} closes${hit === undefined ? "" : ` · ${enter} ${goes} · ctrl+l reads · ctrl+s all of the session`}`,
					width,
				),
			];
		return [
			`${enter} ${goes} and moves the session's leaf there (what follows stays as a branch)${isSaid ? " · ctrl+x puts the message into the editor and the leaf before it" : ""} · ctrl+l reads the place and moves nothing · ctrl+o opens the session only · ctrl+g takes the text to the editor`,
			`ctrl+s all hits of the session, or the first · ${tab} project/all · ctrl+r role · ctrl+t time · ${key("app.session.delete")} deletes the session · f1 closes this · ${cancel} closes`,
		].flatMap((text) => wrapped(text, width));
	}

	/** What is said where nothing is found. */
	#emptyLines() {
		if (this.#screen.status !== "nothing found") return [];
		const { only, keybindings } = this.#options;
		const left = [
			...(this.#screen.isAll || only !== undefined
				? []
				: [`other projects (${keybindings.getKeys("tui.input.tab")[0] ?? ""})`]),
			...(this.#screen.isAnyRole
				? ["tool calls and their output (ctrl+r)"]
				: [`texts other than ${this.#screen.role} (ctrl+r)`]),
			...(this.#screen.isAnyTime ? [] : [`times before ${this.#screen.time} (ctrl+t)`]),
			...(this.#options.subagents ? [] : ["sessions of subagents (--no-subagents)"]),
		];
		return wrapped(`Not searched: ${left.join(", ")}.`, this.#width).map((line) =>
			this.#options.theme.fg("muted", line),
		);
	}

	/** The hits by session. `titles` has for each line the title of its session, `at` is the line of the chosen hit. */
	#hitLines() {
		const width = this.#width;
		const { theme } = this.#options;
		const dim = (/** @type {string} */ text) => theme.fg("dim", text);
		/** @type {{ lines: string[], titles: string[], at: number }} */
		const made = { lines: [], titles: [], at: 0 };
		const add = (/** @type {string} */ line, /** @type {string} */ title) => {
			made.lines.push(line);
			made.titles.push(title);
		};
		let title = "";
		for (const [index, hit] of this.#screen.hits.entries()) {
			if (isHitStart(this.#screen.hits, index)) {
				const before = this.#screen.hits[index - 1];
				if (hit.owner && hit.owner.path !== (before?.owner ?? before)?.path) {
					const owner = this.#sessionLine(hit.owner, "", 0);
					add(owner, owner);
				}
				const more = this.#screen.opened.has(hit.path) ? 0 : hit.hitsInSession - this.#shownOf(index);
				title = this.#sessionLine(hit, hit.owner ? "↳ " : "", more);
				add(title, title);
			}
			const isSelected = index === this.#screen.selected && !this.#screen.isAwaited;
			if (isSelected) made.at = made.lines.length;
			const place = `${isSelected ? "› " : "  "}${ageOf(hit).padStart(4)} ${clip(speakerOf(hit), 10).padEnd(width < 60 ? 0 : 10)} `;
			const snippet = pieces(hit.snippet, Math.max(1, width - place.length))
				.map(({ text, found }) => (this.#screen.isAwaited ? dim(text) : found ? mark(theme, text) : text))
				.join("");
			add(`${isSelected ? theme.fg("accent", place) : dim(place)}${snippet}`, title);
		}
		return made;
	}

	/** How many hits follow each other in a session, from its first on. @param {number} from */
	#shownOf(from) {
		let to = from + 1;
		while (to < this.#screen.hits.length && !isHitStart(this.#screen.hits, to)) to++;
		return to - from;
	}

	/**
	 * @param {SearchedSession} session
	 * @param {string} indent
	 * @param {number} more how many hits it has that are not shown
	 */
	#sessionLine(session, indent, more) {
		const width = this.#width;
		const { theme } = this.#options;
		const left = more > 0 ? `${count(more)} more · ` : "";
		const title = `${indent}${clip(titleOf(session), Math.max(8, Math.floor(width / 2) - widthOf(indent)))}`;
		const place = `${left}${clip(underHome(session.cwd), Math.max(1, width - widthOf(title) - 2 - left.length))}`;
		return this.#screen.isAwaited
			? theme.fg("dim", `${title}  ${place}`)
			: `${theme.bold(title)}  ${theme.fg("muted", place)}`;
	}

	/** The chosen message in lines, the words in it marked. */
	#previewLines() {
		const { preview, words } = this.#screen;
		if (!preview) return [];
		const width = this.#width;
		const made = `${width} ${words?.source}`;
		if (preview.made !== made) {
			const first = words ? Math.max(0, preview.text.search(words)) : 0;
			const from = Math.max(0, first - PREVIEWED / 2);
			preview.lines = markedLines(preview.text.slice(from, from + PREVIEWED), words, width, this.#options.theme);
			preview.made = made;
		}
		return preview.lines ?? [];
	}

	/** What is asked before a session is deleted. */
	#question() {
		const { keybindings, hasTrash } = this.#options;
		if (!this.#screen.deleting) return [];
		const { hit, deletion } = this.#screen.deleting;
		const more = [
			...(deletion.subagents > 0
				? [counted(deletion.subagents, "session of a subagent", "sessions of subagents")]
				: []),
			...(deletion.backups > 0 ? [counted(deletion.backups, "backup")] : []),
		];
		const what = `${clip(titleOf(hit), 60)}${more.length > 0 ? ` with ${more.join(" and ")}` : ""}`;
		return wrapped(
			`Delete ${what} ${hasTrash() ? "to the trash" : "for ever"}? ${keybindings.getKeys("tui.select.confirm")[0]} deletes it, any other key does not.`,
			this.#width,
		).map((line) => this.#options.theme.fg("warning", line));
	}
}

/**
 * So many of these lines, from shortly before the first that is marked.
 * @template {{ isMarked: boolean }} T
 * @param {T[]} lines
 * @param {number} rows
 */
function fromMark(lines, rows) {
	const first = Math.max(0, Math.min(lines.findIndex(({ isMarked }) => isMarked) - 1, lines.length - rows));
	return lines.slice(first, first + rows);
}

/**
 * So many of the lines, with the chosen one. The first is the title of its session, also if that is further up.
 * @param {string[]} lines
 * @param {string[]} titles
 * @param {number} at
 * @param {number} rows
 */
function around(lines, titles, at, rows) {
	const from = Math.max(0, Math.min(at - Math.floor(rows / 2), lines.length - rows));
	const shown = lines.slice(from, from + rows);
	// With one line the chosen hit is shown.
	if (from !== at && shown.length > 1) shown[0] = titles[from] ?? "";
	return shown;
}
