// The overlay of `/costs`: a table at a time.
import { truncateToWidth } from "@earendil-works/pi-tui";
import { GROUPINGS, summary, table } from "./costs-table.mjs";
import { safeMessage } from "./go-to.mjs";

/** @typedef {import("./costs-table.mjs").Grouping} Grouping */
/** @typedef {import("./costs-table.mjs").Report} Report */

/**
 * @typedef {object} CostsOptions
 * @property {import("@earendil-works/pi-tui").TUI} tui
 * @property {import("@earendil-works/pi-coding-agent").Theme} theme
 * @property {import("@earendil-works/pi-tui").KeybindingsManager} keybindings
 * @property {(result: undefined) => void} done
 * @property {Grouping} by
 * @property {string | undefined} dir the one directory whose sessions are added up
 * @property {(more: import("../../index.js").UsageOptions) => Promise<Report>} addUp
 */

/** Those that are shown below the table. */
const KEYS = /** @type {const} */ (["tui.input.tab", "tui.select.up", "tui.select.down", "tui.select.cancel"]);

export class CostsView {
	#options;
	#by;
	#first = 0;
	#status = "adding up";
	/** @type {Report | undefined} */
	#report;
	/** @type {{ by: Grouping, width: number, lines: string[] } | undefined} the table that was drawn last */
	#drawn;
	#running = new AbortController();

	/** @param {CostsOptions} options */
	constructor(options) {
		this.#options = options;
		this.#by = options.by;
		const onProgress = (/** @type {number} */ read, /** @type {number} */ total) => this.#tell(`adding up ${read}/${total}`);
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

	/** @param {string} data */
	handleInput(data) {
		const { keybindings, done, tui } = this.#options;
		if (keybindings.matches(data, "tui.select.cancel") || keybindings.matches(data, "tui.select.confirm")) {
			this.dispose();
			return done(undefined);
		}
		const page = Math.max(1, tui.terminal.rows - 10);
		const next = () => {
			this.#by = GROUPINGS[(GROUPINGS.indexOf(this.#by) + 1) % GROUPINGS.length] ?? "day";
			this.#first = 0;
		};
		if (keybindings.matches(data, "tui.select.up")) this.#first--;
		else if (keybindings.matches(data, "tui.select.down")) this.#first++;
		else if (keybindings.matches(data, "tui.select.pageUp")) this.#first -= page;
		else if (keybindings.matches(data, "tui.select.pageDown")) this.#first += page;
		else if (keybindings.matches(data, "tui.input.tab")) next();
		else return;
		tui.requestRender();
	}

	dispose() {
		this.#running.abort();
	}

	invalidate() {}

	/** @param {number} width */
	render(width) {
		const { theme, tui, keybindings } = this.#options;
		const rows = Math.max(8, tui.terminal.rows - 1);
		const rule = theme.fg("border", "─".repeat(width));
		const tabs = GROUPINGS.map((one) => (one === this.#by ? theme.fg("accent", theme.bold(one)) : theme.fg("muted", one))).join("  ");
		const report = this.#report;
		const head = [rule, `${theme.bold("Costs")}  ${tabs}  ${theme.fg("dim", this.#status)}`, ...(report ? summary(report, this.#options.dir) : []), rule];
		const [next, up, down, cancel] = KEYS.map((key) => keybindings.getKeys(key)[0] ?? "");
		const foot = [rule, theme.fg("dim", `${next} shows the next table · ${up}/${down} scrolls · ${cancel} closes`)];
		const room = rows - head.length - foot.length;
		if (report && (this.#drawn?.by !== this.#by || this.#drawn.width !== width)) this.#drawn = { by: this.#by, width, lines: table(report, this.#by, width) };
		const drawn = this.#drawn?.lines ?? [];
		const [title, total] = [drawn[0] ?? "", drawn.at(-1) ?? ""];
		const shown = Math.max(1, room - 2);
		this.#first = Math.max(0, Math.min(this.#first, drawn.length - 2 - shown));
		const rowsShown = drawn.slice(1 + this.#first, Math.min(1 + this.#first + shown, drawn.length - 1));
		const body = report ? [theme.fg("dim", title), ...rowsShown, theme.bold(total)] : [];
		const empty = Array.from({ length: Math.max(0, room - body.length) }, () => "");
		return [...head, ...body, ...empty, ...foot].map((line) => truncateToWidth(line, width, "…", true));
	}
}
