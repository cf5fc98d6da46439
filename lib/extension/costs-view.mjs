// The overlay of `/costs`, which shows one table at a time.
import { truncateToWidth } from "@earendil-works/pi-tui";
import { count, wrapped } from "../shared/text.mjs";
import { GROUPINGS } from "../shared/usage-tables.mjs";
import { rowsOf, summary, table } from "./costs-table.mjs";
import { safeMessage } from "./go-to.mjs";

/** @typedef {import("./costs-table.mjs").Grouping} Grouping */
/** @typedef {import("./costs-table.mjs").Report} Report */

/**
 * @typedef {object} CostsOptions
 * @property {import("@earendil-works/pi-tui").TUI} tui
 * @property {import("@earendil-works/pi-coding-agent").Theme} theme
 * @property {import("@earendil-works/pi-tui").KeybindingsManager} keybindings
 * @property {(path: string | undefined) => void} done called with the file of the session to open
 * @property {Grouping} by
 * @property {string | undefined} dir the only directory whose sessions are added up
 * @property {(more: import("../../index.js").UsageOptions) => Promise<Report>} addUp
 */

/** The texts before the chosen row and before the other rows. */
const [CHOSEN, OTHER] = ["› ", "  "];

export class CostsView {
	#options;
	#by;
	#selected = 0;
	#status = "adding up";
	/** @type {Report | undefined} */
	#report;
	/**
	 * @type {{ by: Grouping, width: number, table: ReturnType<typeof table> } | undefined} the last table that was drawn
	 */
	#drawn;
	#running = new AbortController();

	/** @param {CostsOptions} options */
	constructor(options) {
		this.#options = options;
		this.#by = options.by;
		const onProgress = (/** @type {number} */ read, /** @type {number} */ total) =>
			this.#tell(`adding up ${read}/${total}`);
		options.addUp({ signal: this.#running.signal, onProgress }).then(
			(report) => {
				this.#report = report;
				this.#tell("");
			},
			(error) => {
				if (!this.#running.signal.aborted) this.#tell(safeMessage(error));
			},
		);
	}

	/** @param {string} status */
	#tell(status) {
		this.#status = status;
		this.#options.tui.requestRender();
	}

	/** @param {string | undefined} path the session to open */
	#end(path) {
		this.dispose();
		this.#options.done(path);
	}

	/** @param {string} data */
	handleInput(data) {
		const { keybindings, tui } = this.#options;
		if (keybindings.matches(data, "tui.select.cancel")) return this.#end(undefined);
		const rows = this.#report ? rowsOf(this.#report, this.#by) : [];
		if (keybindings.matches(data, "tui.select.confirm")) {
			const path = this.#by === "session" ? rows[this.#selected]?.key : undefined;
			return path === undefined ? undefined : this.#end(path);
		}
		const page = Math.max(1, tui.terminal.rows - 10);
		if (keybindings.matches(data, "tui.select.up")) this.#selected--;
		else if (keybindings.matches(data, "tui.select.down")) this.#selected++;
		else if (keybindings.matches(data, "tui.select.pageUp")) this.#selected -= page;
		else if (keybindings.matches(data, "tui.select.pageDown")) this.#selected += page;
		else if (keybindings.matches(data, "tui.input.tab")) {
			this.#by = GROUPINGS[(GROUPINGS.indexOf(this.#by) + 1) % GROUPINGS.length] ?? "day";
			this.#selected = 0;
		} else return;
		this.#selected = Math.max(0, Math.min(this.#selected, rows.length - 1));
		tui.requestRender();
	}

	dispose() {
		this.#running.abort();
	}

	invalidate() {}

	/** @param {number} width */
	render(width) {
		const { theme, tui, keybindings, dir } = this.#options;
		const dim = (/** @type {string} */ text) => theme.fg("dim", text);
		const rule = theme.fg("border", "─".repeat(width));
		const report = this.#report;
		if (report && (this.#drawn?.by !== this.#by || this.#drawn.width !== width))
			this.#drawn = { by: this.#by, width, table: table(report, this.#by, width - CHOSEN.length) };
		const { head: titles, rows: all, total, note } = this.#drawn?.table ?? { head: "", rows: [], total: "", note: [] };
		const key = (/** @type {Parameters<typeof keybindings.getKeys>[0]} */ name) => keybindings.getKeys(name)[0] ?? "";
		const sums = report ? summary(report, dir, width) : [];
		const rows = Math.max(8, tui.terminal.rows - 1);
		const opens = this.#by === "session" && all.length > 0 ? [`${key("tui.select.confirm")} opens the session`] : [];
		const keys = [
			...opens,
			`${key("tui.input.tab")} shows the next table`,
			`${key("tui.select.up")}/${key("tui.select.down")} moves`,
			`${key("tui.select.cancel")} closes`,
		];
		const foot = [rule, ...wrapped(keys.join(" · "), width).map(dim)];
		const tabs = GROUPINGS.map((one) =>
			one === this.#by ? theme.fg("accent", theme.bold(one)) : theme.fg("muted", one),
		).join("  ");
		const head = [rule, `${theme.bold("Costs")}  ${tabs}  ${dim(this.#status)}`, ...sums, rule];
		// Two lines are the titles and the total of the table, and one tells which rows are shown.
		const free = rows - head.length - foot.length - note.length - 2;
		const room = Math.max(1, all.length > free ? free - 1 : free);
		const first = Math.max(0, Math.min(this.#selected - Math.floor(room / 2), all.length - room));
		const shown = all.slice(first, first + room);
		const place = `${count(first + 1)} to ${count(first + shown.length)} of ${count(all.length)}`;
		const row = (/** @type {string} */ text, /** @type {number} */ at) =>
			first + at === this.#selected ? theme.fg("accent", `${CHOSEN}${text}`) : `${OTHER}${text}`;
		const body = report
			? [
					dim(`${OTHER}${titles}`),
					...shown.map(row),
					theme.bold(`${OTHER}${total}`),
					...[...(all.length > room ? [place] : []), ...note].map((text) => dim(`${OTHER}${text}`)),
				]
			: [];
		const empty = Array.from({ length: Math.max(0, rows - head.length - body.length - foot.length) }, () => "");
		return [...head, ...body, ...empty, ...foot].map((line) => truncateToWidth(line, width, "…", true));
	}
}
