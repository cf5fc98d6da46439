// The place of a hit, for reading: what was said before and after it on its branch. Nothing moves.
import { stripVTControlCharacters } from "node:util";
import { partsOf, roleOf } from "../shared/entries.mjs";
import { asText, clip, counted } from "../shared/text.mjs";
import { ageOf, markedLines, speakerOf } from "./find-text.mjs";

/** @typedef {import("../../index.js").SessionEntry} SessionEntry */
/** @typedef {{ line: string, isMarked: boolean }} Line */

/** How many characters of an entry are shown, of the one that was found and of others. */
const [FOUND_CHARS, OTHER_CHARS] = [200_000, 4_000];

export class ReadView {
	#options;
	/** The entries that were shown so far, the earliest first. @type {SessionEntry[]} */
	#entries;
	/** The entry and its line that are at the top. */
	#top = { at: 0, line: 0 };
	/** @type {Map<SessionEntry, Line[]>} for the width */
	#lines = new Map();
	#width = 0;
	/** How many lines a page has. */
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
		if (!entry) throw new Error("The session no longer has this entry");
		this.#entries = [entry];
	}

	/** The hit whose place is read. */
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

	/** Adds the entry before the first. */
	#addBefore() {
		const entry = this.#options.manager.getEntry(this.#entries[0]?.parentId ?? "");
		if (!entry || this.#entries.includes(entry)) return false;
		this.#entries.unshift(entry);
		this.#top.at++;
		return true;
	}

	/** Adds the entry after the last, on the branch that was written last. */
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
		const plain = stripVTControlCharacters(text);
		const most = isFound ? FOUND_CHARS : OTHER_CHARS;
		const role = roleOf(entry);
		const head = `${clip(speakerOf({ role }), 20)} · ${ageOf({ timestamp: asText(entry.timestamp) })}`;
		return [
			{ line: theme.fg(isFound ? "accent" : "muted", theme.bold(head)), isMarked: false },
			...markedLines(plain.slice(0, most), isFound ? words : undefined, this.#width, theme),
			...(plain.length > most
				? [{ line: theme.fg("dim", `… ${counted(plain.length - most, "more character")}`), isMarked: false }]
				: []),
			{ line: "", isMarked: false },
		];
	}

	/** So many lines from the top on. @param {number} rows */
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
					`${key("tui.select.up")}/${key("tui.select.down")} scroll · ${key("tui.select.confirm")} goes there · ${key("tui.select.cancel")} back to the hits`,
					width,
				),
			),
		];
		this.#page = Math.max(1, rows - foot.length);
		if (!this.#isPlaced) {
			this.#isPlaced = true;
			// What was found is a third of the page below its top.
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
