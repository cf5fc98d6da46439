// Draws the overlay of `/find`: the hits by session, the chosen message, and the keys.
import { truncateToWidth } from "@earendil-works/pi-tui";
import { speakerOf } from "../shared/entries.mjs";
import { isHitStart } from "../shared/hit-groups.mjs";
import { pieces } from "../shared/snippet.mjs";
import { clip, clipMiddle, count, counted, widthOf, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { ageOf, mark, markedLines, titleOf } from "./find-text.mjs";
import { isForEditor } from "./go-to.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../index.js").SearchedSession} SearchedSession */
/**
 * The message of a hit. `lines` caches its lines for the width and words that `made` names.
 * @typedef {{ hit: SearchHit, text: string, made?: string, lines?: { line: string, isMarked: boolean }[] }} Preview
 */
/** @typedef {{ hit: SearchHit, deletion: import("../shared/delete-session.mjs").Deletion }} Deleting */

/**
 * The limits of a search.
 * @typedef {{ title: string, in?: import("../../index.js").SearchOptions["in"], since?: () => number }} Filter
 */

/**
 * The state that is drawn.
 * @typedef {object} Screen
 * @property {string[]} input the lines of the input field
 * @property {RegExp | undefined} words the words that are searched for
 * @property {boolean} isAll whether all projects are searched
 * @property {Filter} role the filter by text, which is off without `in`
 * @property {Filter} time the filter by time, which is off without `since`
 * @property {string} status the progress of the search, its result or its error
 * @property {SearchHit[]} hits
 * @property {number} selected
 * @property {Map<string, SearchHit[]>} opened all hits of the sessions for which the user asked for them
 * @property {boolean} isAwaited whether the query has no hit yet, so that the hits of the previous query are shown
 * @property {Preview | undefined} preview the message that was read last
 * @property {Deleting | undefined} deleting the session that the next key deletes if it confirms that
 * @property {boolean} isHelpOpen
 */

/** The number of characters that the preview formats, around the first word found. */
const PREVIEWED = 20_000;
/** The numbers of terminal lines from which on rules are drawn, and help and the preview. */
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

	/** The lines of the overlay. @param {number} rows */
	draw(rows) {
		const { theme } = this.#options;
		const width = this.#width;
		const dim = (/** @type {string} */ text) => theme.fg("dim", text);
		const rules = rows < ROWS_FOR_RULES ? [] : [theme.fg("border", "─".repeat(width))];
		const head = [...rules, ...this.#titleLines(rows), ...this.#screen.input, ...rules];
		const isQuiet = rows < ROWS_FOR_MORE && !this.#screen.isHelpOpen && !this.#screen.deleting;
		const foot = isQuiet ? [] : [...rules, ...(this.#screen.deleting ? this.#question() : this.#helpLines().map(dim))];
		const room = Math.max(1, rows - head.length - foot.length);
		const { titles, lines, at } = this.#hitLines();
		const preview = rows < ROWS_FOR_MORE || this.#screen.hits.length === 0 ? [] : this.#previewLines();
		// The preview uses the lines that the hits leave, and at least a third.
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

	/** The title, the filters and the status, on two lines if one is too narrow. @param {number} rows */
	#titleLines(rows) {
		const width = this.#width;
		const { theme, only, subagents } = this.#options;
		const dir = this.#options.dir === undefined ? "" : ` in ${clipMiddle(this.#options.dir, Math.floor(width / 4))}`;
		const where =
			only === undefined
				? `${this.#screen.isAll ? "all sessions" : "this project"}${dir}${subagents ? "" : " without subagents"}`
				: "one session";
		const filters = `${where} · ${this.#screen.role.title} · ${this.#screen.time.title}`;
		const find = theme.fg("accent", theme.bold("Find"));
		const status = theme.fg("dim", this.#screen.status);
		if (widthOf(filters) + widthOf(this.#screen.status) + 8 <= width || this.#screen.status === "")
			return [`${find}  ${filters}  ${status}`];
		// A low terminal has no second line. The end of a line that is too long is cut, so the status comes first.
		return rows < ROWS_FOR_MORE ? [`${find}  ${status}  ${filters}`] : [`${find}  ${status}`, filters];
	}

	/** The most important keys on one line, or all keys. */
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
					`f1 shows the keys · ${cancel} ` +
						`closes${hit === undefined ? "" : ` · ${enter} ${goes} · ctrl+l reads · ctrl+s all of the session`}`,
					width,
				),
			];
		return [
			`${enter} ${goes} and moves the session's leaf there (what follows stays as a ` +
				`branch)${isSaid ? " · ctrl+x puts the message into the editor and the leaf before it" : ""} · ctrl+l ` +
				"reads the place and moves nothing · ctrl+o opens the session only · ctrl+g takes the text to the editor",
			`ctrl+s all hits of the session, or the first · ${tab} project/all · ctrl+r role · ctrl+t time · ` +
				`${key("app.session.delete")} deletes the session · f1 closes this · ${cancel} closes`,
		].flatMap((text) => wrapped(text, width));
	}

	/** The lines that are shown if nothing was found. They name the sessions and texts that were not searched. */
	#emptyLines() {
		if (this.#screen.status !== "nothing found") return [];
		const { only, leftOut, subagents, keybindings } = this.#options;
		const left = [
			...(this.#screen.isAll || only !== undefined
				? []
				: [`other projects (${keybindings.getKeys("tui.input.tab")[0] ?? ""})`]),
			this.#screen.role.in
				? `texts other than ${this.#screen.role.title} (ctrl+r)`
				: "tool calls and their output (ctrl+r)",
			...(this.#screen.time.since ? [`times before ${this.#screen.time.title} (ctrl+t)`] : []),
			...(leftOut === undefined ? [] : [leftOut]),
			...(subagents || only !== undefined ? [] : ["sessions of subagents (--no-subagents)"]),
		];
		return wrapped(`Not searched: ${left.join(", ")}.`, this.#width).map((line) =>
			this.#options.theme.fg("muted", line),
		);
	}

	/** The lines of the hits. `titles` contains the title line of the session for each line; `at` is the chosen line. */
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
				const more = hit.hitsInSession - this.#shownOf(index);
				title = this.#sessionLine(hit, hit.owner ? "↳ " : "", more);
				add(title, title);
			}
			const isSelected = index === this.#screen.selected && !this.#screen.isAwaited;
			if (isSelected) made.at = made.lines.length;
			const place =
				`${isSelected ? "› " : "  "}${ageOf(hit).padStart(4)} ` +
				`${clip(speakerOf(hit.role), 10).padEnd(width < 60 ? 0 : 10)} `;
			const snippet = pieces(hit.snippet, Math.max(1, width - place.length))
				.map(({ text, found }) => (this.#screen.isAwaited ? dim(text) : found ? mark(theme, text) : text))
				.join("");
			add(`${isSelected ? theme.fg("accent", place) : dim(place)}${snippet}`, title);
		}
		return made;
	}

	/** The number of shown hits of a session whose first hit is at `from`. @param {number} from */
	#shownOf(from) {
		let to = from + 1;
		while (to < this.#screen.hits.length && !isHitStart(this.#screen.hits, to)) to++;
		return to - from;
	}

	/**
	 * @param {SearchedSession} session
	 * @param {string} indent
	 * @param {number} more the number of its hits that are not shown
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

	/** The lines of the chosen message, with the words marked. */
	#previewLines() {
		const { preview, words, hits, selected } = this.#screen;
		if (!preview || preview.hit !== hits[selected]) return [];
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

	/** The question before a session is deleted. */
	#question() {
		const { keybindings } = this.#options;
		if (!this.#screen.deleting) return [];
		const { hit, deletion } = this.#screen.deleting;
		const more = [
			...(deletion.subagents > 0
				? [counted(deletion.subagents, "session of a subagent", "sessions of subagents")]
				: []),
			...(deletion.backups > 0 ? [counted(deletion.backups, "backup")] : []),
		];
		const what = `${clip(titleOf(hit), 60)}${more.length > 0 ? ` with ${more.join(" and ")}` : ""}`;
		const link = deletion.target === undefined ? "" : " It is a link; the file that it leads to stays.";
		const others =
			deletion.stays.length === 0 ? "" : ` ${counted(deletion.stays.length, "other file")} in its folder will stay.`;
		return wrapped(
			`Delete ${what} ${deletion.hasTrash ? "to the trash" : "permanently"}?${link}${others} ` +
				`${keybindings.getKeys("tui.select.confirm")[0]} deletes it, any other key does not.`,
			this.#width,
		).map((line) => this.#options.theme.fg("warning", line));
	}
}

/**
 * The lines that fit, from one line before the first marked line on.
 * @template {{ isMarked: boolean }} T
 * @param {T[]} lines
 * @param {number} rows
 */
function fromMark(lines, rows) {
	const first = Math.max(0, Math.min(lines.findIndex(({ isMarked }) => isMarked) - 1, lines.length - rows));
	return lines.slice(first, first + rows);
}

/**
 * The lines that fit around the chosen line. The first of them is the title of its session.
 * @param {string[]} lines
 * @param {string[]} titles
 * @param {number} at
 * @param {number} rows
 */
function around(lines, titles, at, rows) {
	const from = Math.max(0, Math.min(at - Math.floor(rows / 2), lines.length - rows));
	const shown = lines.slice(from, from + rows);
	// If there is room for one line only, it is the chosen hit.
	if (from !== at && shown.length > 1) shown[0] = titles[from] ?? "";
	return shown;
}
