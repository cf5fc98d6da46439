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
	/** The entry of the hit. */
	#found;
	/** The entries read so far, from the earliest to the latest, and their lines for the present width. */
	#entries;
	/** @type {Line[]} */
	#lines = [];
	/** The line at the top of the screen; it may be before the first or after the last until the next drawing. */
	#top = 0;
	#width = 0;
	/** The number of lines on a page. */
	#page = 1;

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
		this.#found = entry;
		this.#entries = [entry];
	}

	/** The hit around which the user reads. */
	get hit() {
		return this.#options.hit;
	}

	/** @param {string} data */
	handleInput(data) {
		const { keybindings } = this.#options;
		if (keybindings.matches(data, "tui.select.up")) this.#top--;
		else if (keybindings.matches(data, "tui.select.down")) this.#top++;
		else if (keybindings.matches(data, "tui.select.pageUp")) this.#top -= this.#page;
		else if (keybindings.matches(data, "tui.select.pageDown")) this.#top += this.#page;
	}

	/** Adds the parent of the first entry. Returns false if there is none. */
	#addBefore() {
		const entry = this.#options.manager.getEntry(this.#entries[0]?.parentId ?? "");
		if (!entry || this.#entries.includes(entry)) return false;
		const lines = this.#made(entry);
		this.#entries.unshift(entry);
		this.#lines.unshift(...lines);
		this.#top += lines.length;
		return true;
	}

	/** Adds the newest child of the last entry. Returns false if there is none. */
	#addAfter() {
		const entry = this.#options.manager.getChildren(this.#entries.at(-1)?.id ?? "").at(-1);
		if (!entry || this.#entries.includes(entry)) return false;
		this.#entries.push(entry);
		this.#lines.push(...this.#made(entry));
		return true;
	}

	/** @param {SessionEntry} entry */
	#made(entry) {
		const { theme, words } = this.#options;
		const isFound = entry === this.#found;
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

	/**
	 * @param {number} width
	 * @param {number} rows
	 */
	render(width, rows) {
		const { theme, keybindings } = this.#options;
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
		if (width !== this.#width) {
			this.#width = width;
			this.#entries = [this.#found];
			this.#lines = this.#made(this.#found);
			// The first word found is a third of the page below the top.
			const marked = this.#lines.findIndex(({ isMarked }) => isMarked);
			this.#top = Math.max(0, marked) - Math.floor(this.#page / 3);
		}
		// The branch may begin on this page: then the first entry is at its top.
		while (Math.max(0, this.#top) + this.#page > this.#lines.length && this.#addAfter());
		this.#top = Math.min(this.#top, this.#lines.length - this.#page);
		while (this.#top < 0 && this.#addBefore());
		this.#top = Math.max(0, this.#top);
		const lines = this.#lines.slice(this.#top, this.#top + this.#page).map(({ line }) => line);
		return [...lines, ...Array.from({ length: this.#page - lines.length }, () => ""), ...foot];
	}
}
