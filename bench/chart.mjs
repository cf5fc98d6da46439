// Draws results as a chart: `node bench/chart.mjs chart.svg results.json…`, with results of
// `npm run bench -- --json results.json`. `npm run bench -- --chart chart.svg` draws the results of its own run, and
// `--readme` draws the README's chart.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { time, times } from "./report.mjs";

const WIDTH = 960;
const ROW = 26;
const TOP = 58;
/** The end of the names, and the beginning and end of the scale. Times are to its right. */
const NAMES = 450;
const SCALE = { from: 464, to: 770 };

/** The colours of both schemes. The viewer of the chart selects one. */
const STYLE = `
	text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
	.title { font-weight: 600; font-size: 15px; }
	.note { fill: #59636e; }
	.grid { stroke: #d1d9e0; }
	.one { stroke: #59636e; }
	.faster { fill: #1f883d; }
	.slower { fill: #bf8700; }
	@media (prefers-color-scheme: dark) {
		text { fill: #f0f6fc; }
		.note { fill: #9198a1; }
		.grid { stroke: #3d444d; }
		.one { stroke: #9198a1; }
		.faster { fill: #3fb950; }
		.slower { fill: #d29922; }
	}`;

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const text = (x, y, said, attributes = "") =>
	`<text x="${x}" y="${y}"${attributes && ` ${attributes}`}>${escaped(said)}</text>`;

/**
 * An SVG with a bar for each row that has a ratio, on a logarithmic scale from 1 on. Bars to the right are cases in
 * which ours is faster. `pi` is the version of pi; `about` is the line below the bars; `show` of a row formats its
 * figures, as times by default.
 */
export function chart(rows, pi, about) {
	const shown = rows.filter(({ ratio }) => ratio > 0);
	if (shown.length === 0) throw new Error("No case was measured on both sides: there is nothing to draw");
	const powers = shown.map(({ ratio }) => Math.log10(ratio));
	const low = Math.min(0, ...powers);
	const high = Math.ceil(Math.max(1, ...powers));
	const at = (power) => Math.round(SCALE.from + ((power - low) / (high - low)) * (SCALE.to - SCALE.from));
	const bottom = TOP + shown.length * ROW;
	const drawn = [
		text(16, 24, `Time of pi ${pi} divided by time of pi-session-native`, 'class="title"'),
		text(WIDTH - 16, 24, "logarithmic; longer is better", 'class="note" text-anchor="end"'),
	];
	for (let power = Math.ceil(low) || 0; power <= high; power++) {
		drawn.push(`<path class="${power === 0 ? "one" : "grid"}" d="M${at(power)} ${TOP - 6}V${bottom}"/>`);
		drawn.push(text(at(power), TOP - 12, times(10 ** power), 'class="note" text-anchor="middle"'));
	}
	for (const [index, { title, case: name, ratio, pi, ours, show = time }] of shown.entries()) {
		const y = TOP + index * ROW;
		const [from, to] = [at(0), at(Math.log10(ratio))].sort((a, b) => a - b);
		const isFaster = ratio >= 1;
		drawn.push(text(NAMES, y + 16, title ?? name, 'text-anchor="end"'));
		drawn.push(
			`<rect class="${isFaster ? "faster" : "slower"}" x="${from}" y="${y + 4}" ` +
				`width="${Math.max(to - from, 1)}" height="16" rx="2"/>`,
		);
		drawn.push(text(to + 6, y + 16, times(ratio)));
		drawn.push(text(WIDTH - 16, y + 16, `${show(pi)} → ${show(ours)}`, 'class="note" text-anchor="end"'));
	}
	if (about) drawn.push(text(16, bottom + 24, about, 'class="note"'));
	const height = bottom + (about ? 36 : 12);
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ` +
			`${height}" role="img">`,
		`<title>Time of pi ${pi} divided by time of pi-session-native, by case</title>`,
		`<style>${STYLE}\n</style>`,
		...drawn,
		"</svg>\n",
	].join("\n");
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
	const [to, ...results] = process.argv.slice(2);
	if (results.length === 0) {
		console.error("node bench/chart.mjs chart.svg results.json…");
		process.exit(2);
	}
	const read = results.map((path) => JSON.parse(readFileSync(path, "utf8")));
	writeFileSync(
		to,
		chart(
			read.flatMap(({ rows }) => rows),
			read[0].pi,
		),
	);
}
