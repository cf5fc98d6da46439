// `pi-sessions stats --html`: one page that shows what sessions cost, and needs nothing else: no network, and no script.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { writeText } from "./files.mjs";
import { write, writeJson } from "./output.mjs";
import { escaped, hash, part } from "./page.mjs";
import { clip, clipMiddle, count, counted, dollars, safeLine, size, widthOf } from "./text.mjs";

/** @typedef {import("./library.mjs").UsageReport} Report */
/** @typedef {import("./library.mjs").UsageRow} Row */
/** @typedef {import("./library.mjs").UsageSum} Sum */
/** @typedef {{ json?: boolean, force?: boolean, utc?: boolean, by?: string }} Options */

/** The groupings of a page. */
export const PAGE_GROUPINGS = /** @type {const} */ (["day", "week", "month", "model", "project", "session"]);
/** The largest number of bars in a chart: longer times are drawn by week, then by month. */
const BARS = 92;
/** The largest number of bars that is drawn with empty periods. */
const MAX_BARS = 4 * BARS;
/** Models with a colour of their own. */
const COLOURS = 8;
/** How many rows the tables have. */
const MODELS = 2 * COLOURS;
const PROJECTS = 20;
const SESSIONS = 30;
/** Columns of the line above a chart: some 145 are as wide as it is, and a picture does not wrap its texts. */
const CAPTION_COLUMNS = 130;
/** Columns of a name where the whole of it is told. */
const WHOLE = 300;
const DAY = 86_400_000;

/** The size of the chart in its own units: it is drawn as wide as the page. */
const CHART = { width: 960, height: 280, left: 64, bottom: 28, top: 34 };

/**
 * @param {Report} report
 * @param {string} notes what is not in the sums
 * @param {string} file where to, or `-`
 * @param {Options} options
 */
export async function writeUsagePage(report, notes, file, options) {
	const page = usagePage(report, notes, options, file === "-" ? "." : dirname(file));
	const bytes = await writeText(file, [page], { force: Boolean(options.force), source: report.by.session.map((row) => row.key) });
	if (file === "-") return;
	if (options.json) return await writeJson({ path: file, bytes, sessions: report.sessions });
	await write(`${safeLine(file)}: ${counted(report.sessions, "session")}, ${dollars(report.total.cost)}, ${size(bytes)}\n`);
}

/** @param {unknown} value */
const text = (value) => escaped(safeLine(value));

/**
 * A name as HTML; if it had to be cut, the whole of it is shown while it is pointed at.
 * @param {unknown} value
 * @param {number} width
 * @param {(value: unknown, width: number) => string} cut
 */
function named(value, width, cut = clipMiddle) {
	const [short, whole] = [cut(value, width), clipMiddle(value, WHOLE)];
	return short === whole ? escaped(short) : `<span title="${escaped(whole)}">${escaped(short)}</span>`;
}

/** Adds sums, which are finite, to one that is. @param {number[]} sums */
const plus = (...sums) => Math.min(Number.MAX_VALUE, sums.reduce((all, one) => all + one, 0));

/** The tokens of all kinds. @param {Sum} sum */
export const tokens = (sum) => plus(sum.input, sum.output, sum.cacheRead, sum.cacheWrite);

/**
 * @param {Report} report
 * @param {string} notes
 * @param {Options} options
 * @param {string} dir where the page will be
 */
function usagePage(report, notes, options, dir) {
	const style = part("colours.css") + part("usage.css");
	const { total, by } = report;
	// Models that cost nothing are compared by their tokens.
	const byCost = total.cost > 0;
	/** @type {(sum: Sum) => number} */
	const measure = byCost ? (sum) => sum.cost : tokens;
	const shown = (/** @type {number} */ amount) => (byCost ? dollars(amount) : `${count(amount)} tokens`);
	const periods = periodsOf(report, options.by);
	const models = byCost ? by.model : [...by.model].sort((a, b) => tokens(b) - tokens(a));
	const colours = new Map(models.slice(0, COLOURS - 1).map(({ key }, index) => [key, index]));
	const what = byCost ? "Cost" : "Tokens";
	const facts = [counted(report.sessions, "session"), counted(total.calls, "model call"), `${count(tokens(total))} tokens`, periods.span];
	const values = {
		policy: escaped(`default-src 'none'; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`),
		style,
		total: text(shown(measure(total))),
		about: text(facts.filter(Boolean).join(", ")),
		notes: notes === "" ? "" : `<p class="notes">${text(notes)}</p>`,
		chartTitle: `${what} by ${periods.name}, by model`,
		chart: chart(periods.rows, measure, shown, colours, `${what} by ${periods.name}`),
		models: rowsOf(models.slice(0, MODELS), measure, shown, ({ key }) => `<span class="swatch m${colours.get(key) ?? COLOURS - 1}"></span>${named(key, 60)}`, "Model") + more(models, MODELS, "model"),
		projects: rowsOf(byMeasure(by.project, measure, PROJECTS), measure, shown, ({ key }) => named(key || "(no directory)", 80), "Directory") + more(by.project, PROJECTS, "project"),
		sessions: rowsOf(byMeasure(by.session, measure, SESSIONS), measure, shown, (row) => `${linked(row, dir)}<small>${named(row.cwd, 60)}</small>`, "Session") + more(by.session, SESSIONS, "session"),
	};
	return part("usage.html").replace(/\{\{(\w+)\}\}/g, (_, name) => values[/** @type {keyof typeof values} */ (name)]);
}

/**
 * @param {Row[]} rows
 * @param {(sum: Sum) => number} measure
 * @param {number} limit
 */
const byMeasure = (rows, measure, limit) => [...rows].sort((a, b) => measure(b) - measure(a)).slice(0, limit);

/**
 * Says how many rows a table does not have.
 * @param {Row[]} rows
 * @param {number} limit
 * @param {string} by
 */
const more = ({ length }, limit, by) => (length > limit ? `<p class="notes">(${count(length - limit)} more; pi-sessions stats --by ${by} with --json or --csv for all)</p>` : "");

/**
 * A session's title; a link to its tree where `tree --html` has written it beside this page.
 * @param {Row} row
 * @param {string} dir
 */
function linked(row, dir) {
	const page = `${basename(row.key).replace(/\.jsonl$/, "")}.html`;
	const title = named(row.title || row.id || "(no messages)", 80, clip);
	return existsSync(join(dir, page)) ? `<a href="./${escaped(encodeURIComponent(page))}">${title}</a>` : title;
}

/**
 * A table with a bar in each row.
 * @param {Row[]} rows
 * @param {(sum: Sum) => number} measure
 * @param {(amount: number) => string} shown
 * @param {(row: Row) => string} name HTML
 * @param {string} title
 */
function rowsOf(rows, measure, shown, name, title) {
	const largest = rows.reduce((largest, row) => Math.max(largest, measure(row)), 0);
	const line = (/** @type {Row} */ row) => {
		const share = largest > 0 ? 100 * (measure(row) / largest) : 0;
		const bar = `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${share.toFixed(2)}" height="8"/></svg>`;
		return `<tr><th scope="row">${name(row)}${bar}</th><td>${count(row.calls)}</td><td>${count(tokens(row))}</td><td>${text(shown(measure(row)).replace(/ tokens$/, ""))}</td></tr>`;
	};
	const head = `<thead><tr><th scope="col">${title}</th><th scope="col">Calls</th><th scope="col">Tokens</th><th scope="col">${shown(0).startsWith("$") ? "Cost" : "Tokens"}</th></tr></thead>`;
	return `<table>${head}<tbody>${rows.map(line).join("\n")}</tbody></table>`;
}

/**
 * What a time is divided into, so that there are not too many parts.
 * @param {Row[]} days those with calls, in order
 * @returns {"day" | "week" | "month"}
 */
export function periodOf(days) {
	const dated = days.filter(({ key }) => !key.startsWith("("));
	const length = (Date.parse(dated.at(-1)?.key ?? "") - Date.parse(dated[0]?.key ?? "")) / DAY;
	return length >= 7 * BARS ? "month" : length >= BARS ? "week" : "day";
}

/**
 * The rows of a chart: of every day, week or month from the first to the last, so that empty periods are shown.
 * @param {Report} report
 * @param {string | undefined} wanted
 * @returns {{ name: string, span: string, rows: Row[] }}
 */
function periodsOf({ by }, wanted) {
	const days = by.day.filter(({ key }) => !key.startsWith("("));
	const [first, last] = [days[0]?.key, days.at(-1)?.key];
	if (first === undefined || last === undefined) return { name: "day", span: "", rows: [] };
	const name = wanted === "day" || wanted === "week" || wanted === "month" ? wanted : periodOf(days);
	const rows = by[name].filter(({ key }) => !key.startsWith("("));
	const span = first === last ? first : `${first} to ${last}`;
	const known = new Map(rows.map((row) => [row.key, row]));
	/** @type {Row[]} */
	const all = [];
	// The loop also ends at the last possible date.
	for (let at = new Date(rows[0]?.key ?? ""); all.length <= MAX_BARS && !Number.isNaN(at.getTime()); ) {
		const key = at.toISOString().slice(0, name === "month" ? 7 : 10);
		all.push(known.get(key) ?? { key, calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, models: [] });
		if (key === rows.at(-1)?.key) return { name, span, rows: all };
		if (name === "month") at.setUTCMonth(at.getUTCMonth() + 1);
		else at = new Date(at.getTime() + (name === "week" ? 7 : 1) * DAY);
	}
	// If a clock was wrong once, the empty periods would be longer than the rest.
	return { name, span, rows };
}

/**
 * Stacked bars. The values of a bar are shown above it while it is pointed at or has the focus.
 * @param {Row[]} rows
 * @param {(sum: Sum) => number} measure
 * @param {(amount: number) => string} shown
 * @param {Map<string, number>} colours
 * @param {string} title
 */
function chart(rows, measure, shown, colours, title) {
	const { width, height, left, bottom, top } = CHART;
	const largest = rows.reduce((largest, row) => Math.max(largest, measure(row)), 0);
	if (largest === 0) return "<p>No calls with a date</p>";
	const high = niceAbove(largest);
	const drawn = height - top - bottom;
	const step = (width - left) / rows.length;
	const y = (/** @type {number} */ amount) => height - bottom - drawn * (amount / high);
	const number = (/** @type {number} */ value) => value.toFixed(1);
	const lines = [0, 0.25, 0.5, 0.75, 1].map((part) => `<line x1="${left}" x2="${width}" y1="${number(y(part * high))}" y2="${number(y(part * high))}"/><text class="axis" x="${left - 6}" y="${number(y(part * high) + 4)}" text-anchor="end">${escaped(shown(part * high).replace(/ tokens$/, ""))}</text>`);
	const every = Math.ceil(rows.length / 10);
	const bars = rows.map((row, index) => {
		const x = left + index * step;
		/** @type {number[]} */
		const parts = Array.from({ length: COLOURS }, () => 0);
		for (const model of row.models ?? []) {
			const colour = colours.get(model.key) ?? COLOURS - 1;
			parts[colour] = plus(parts[colour] ?? 0, measure(model));
		}
		let below = 0;
		const stack = parts.map((amount, colour) => {
			if (amount === 0) return "";
			below = plus(below, amount);
			return `<rect class="m${colour}" x="${number(x + step * 0.1)}" width="${number(step * 0.8)}" y="${number(y(below))}" height="${(drawn * (amount / high)).toFixed(2)}"/>`;
		});
		const models = (row.models ?? []).slice(0, 3);
		const captionOf = (/** @type {number} */ width) => [`${row.key}: ${shown(measure(row))}`, counted(row.calls, "call"), ...models.map((model) => `${clipMiddle(model.key, width)} ${shown(measure(model))}`)].join(", ");
		const whole = captionOf(WHOLE);
		const caption = widthOf(whole) > CAPTION_COLUMNS ? captionOf(Math.max(8, Math.floor((CAPTION_COLUMNS - widthOf(captionOf(0))) / models.length))) : whole;
		const full = caption === whole ? "" : `<title>${escaped(whole)}</title>`;
		const date = index % every === 0 ? `<text class="axis" x="${number(x + step / 2)}" y="${height - 8}" text-anchor="middle">${escaped(row.key.slice(rows.length > 1 && row.key.length > 7 ? 5 : 0))}</text>` : "";
		const target = `<rect class="target" x="${number(x)}" width="${number(step)}" y="${top}" height="${drawn}"/>`;
		return `${date}<g class="period"${row.calls > 0 ? ' tabindex="0"' : ""} role="img" aria-label="${escaped(whole)}">${full}${target}${stack.join("")}<text class="said" x="0" y="16">${escaped(caption)}</text></g>`;
	});
	return `<svg class="chart" viewBox="0 0 ${width} ${height}" role="group" aria-label="${escaped(title)}">${lines.join("")}${bars.join("\n")}</svg>`;
}

/** The next round amount that is not below this one; the amount itself where doubles have none. @param {number} amount */
function niceAbove(amount) {
	const power = 10 ** Math.floor(Math.log10(amount));
	const nice = ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= amount) ?? 10) * power;
	return nice >= amount && nice < Infinity ? nice : amount;
}
