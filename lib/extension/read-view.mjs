// Shows the entries before and after a hit on its branch, for reading. The leaf does not move.
import { partsOf, roleOf, speakerOf } from "../shared/entries.mjs";
import { asText, clip, counted, withoutEscapeSequences } from "../shared/text.mjs";
import { ageOf, markedLines } from "./find-text.mjs";

/** @typedef {import("../../index.js").SessionEntry} SessionEntry */
/** @typedef {{ line: string, isMarked: boolean }} Line */

/** The largest number of characters shown of the found entry, and of other entries. */
const [FOUND_CHARS, OTHER_CHARS] = [200_000, 4_000];

export class ReadView {
	#options;
	/** The entries shown so far, from the earliest to the latest. @type {SessionEntry[]} */
	#entries;
	/** The entry at the top of the screen, and its line there. */
	#top = { at: 0, line: 0 };
	/** The lines of entries for the present width. @type {Map<SessionEntry, Line[]>} */
	#lines = new Map();
	#width = 0;
	/** The number of lines on a page. */
	#page = 1;
	#isPlaced = false;

	/**
	 * @param {object} options
	 * @param {import("@earendil-works/pi-coding-agent").Theme} options.theme
	 * @param {import("@earendil-works/pi-tui").KeybindingsManager} options.keybindings
	 * @param {import("../../index.js").SessionManager} options.manager
	 * @param {import("../../index.js").SearchHit} options.hit
	 * @param {RegExp | undefined} options.words
	 */
	constructor(options) {
		this.#options = options;
		const entry = options.manager.getEntry(options.hit.entryId);
		if (!entry) throw new Error("The session no longer contains this entry");
		this.#entries = [entry];
	}

	/** The hit around which the user reads. */
	get hit() {
		return this.#options.hit;
	}

	/** @param {string} data */
	handleInput(data) {
		const { keybindings } = this.#options;
		if (keybindings.matches(data, "tui.select.up")) this.#move(-1);
		else if (keybindings.matches(data, "tui.select.down")) this.#move(1);
		else if (keybindings.matches(data, "tui.select.pageUp")) this.#move(-this.#page);
		else if (keybindings.matches(data, "tui.select.pageDown")) this.#move(this.#page);
	}

	/** @param {number} by lines */
	#move(by) {
		for (let left = Math.abs(by); left > 0; left--) {
			const isEnd = by > 0 && this.#below(this.#page + 1).length <= this.#page;
			if (isEnd || !(by < 0 ? this.#moveUp() : this.#moveDown())) return;
		}
	}

	#moveUp() {
		const top = this.#top;
		if (top.line > 0) top.line--;
		else {
			if (top.at === 0 && !this.#addBefore()) return false;
			top.at--;
			top.line = this.#linesAt(top.at).length - 1;
		}
		return true;
	}

	#moveDown() {
		const top = this.#top;
		if (top.line + 1 < this.#linesAt(top.at).length) top.line++;
		else {
			if (top.at + 1 === this.#entries.length && !this.#addAfter()) return false;
			[top.at, top.line] = [top.at + 1, 0];
		}
		return true;
	}

	/** Adds the parent of the first entry. Returns false if there is none. */
	#addBefore() {
		const entry = this.#options.manager.getEntry(this.#entries[0]?.parentId ?? "");
		if (!entry || this.#entries.includes(entry)) return false;
		this.#entries.unshift(entry);
		this.#top.at++;
		return true;
	}

	/** Adds the newest child of the last entry. Returns false if there is none. */
	#addAfter() {
		const entry = this.#options.manager.getChildren(this.#entries.at(-1)?.id ?? "").at(-1);
		if (!entry || this.#entries.includes(entry)) return false;
		this.#entries.push(entry);
		return true;
	}

	/** @param {number} at */
	#linesAt(at) {
		const entry = this.#entries[at];
		if (!entry) return [];
		let lines = this.#lines.get(entry);
		if (!lines) this.#lines.set(entry, (lines = this.#made(entry)));
		return lines;
	}

	/** @param {SessionEntry} entry */
	#made(entry) {
		const { theme, words, hit } = this.#options;
		const isFound = entry.id === hit.entryId;
		const text = partsOf(entry)
			.filter(({ kind }) => kind !== "image")
			.map(({ kind, title, text }) => (kind === "call" ? `${title}: ${text}` : text))
			.join("\n\n");
		const plain = withoutEscapeSequences(text);
		const most = isFound ? FOUND_CHARS : OTHER_CHARS;
		const role = roleOf(entry);
		const head = `${clip(speakerOf(role), 20)} · ${ageOf({ timestamp: asText(entry.timestamp) })}`;
		return [
			{ line: theme.fg(isFound ? "accent" : "muted", theme.bold(head)), isMarked: false },
			...markedLines(plain.slice(0, most), isFound ? words : undefined, this.#width, theme),
			...(plain.length > most
				? [{ line: theme.fg("dim", `… ${counted(plain.length - most, "more character")}`), isMarked: false }]
				: []),
			{ line: "", isMarked: false },
		];
	}

	/** The lines from the top of the screen on. @param {number} rows */
	#below(rows) {
		const lines = this.#linesAt(this.#top.at).slice(this.#top.line);
		for (let at = this.#top.at + 1; lines.length < rows && (at < this.#entries.length || this.#addAfter()); at++)
			lines.push(...this.#linesAt(at));
		return lines.slice(0, rows);
	}

	/**
	 * @param {number} width
	 * @param {number} rows
	 */
	render(width, rows) {
		const { theme, keybindings } = this.#options;
		if (width !== this.#width) {
			this.#width = width;
			this.#lines.clear();
			this.#top.line = Math.min(this.#top.line, this.#linesAt(this.#top.at).length - 1);
		}
		const key = (/** @type {Parameters<typeof keybindings.getKeys>[0]} */ name) => keybindings.getKeys(name)[0] ?? "";
		const foot = [
			theme.fg(
				"dim",
				clip(
					`${key("tui.select.up")}/${key("tui.select.down")} scroll · ${key("tui.select.confirm")} goes there · ` +
						`${key("tui.select.cancel")} back to the hits`,
					width,
				),
			),
		];
		this.#page = Math.max(1, rows - foot.length);
		if (!this.#isPlaced) {
			this.#isPlaced = true;
			// The first word found is a third of the page below the top.
			this.#top.line = Math.max(
				0,
				this.#linesAt(0).findIndex(({ isMarked }) => isMarked),
			);
			this.#move(-Math.floor(this.#page / 3));
		}
		let lines = this.#below(this.#page);
		while (lines.length < this.#page && this.#moveUp()) lines = this.#below(this.#page);
		return [...lines.map(({ line }) => line), ...Array.from({ length: this.#page - lines.length }, () => ""), ...foot];
	}
}
