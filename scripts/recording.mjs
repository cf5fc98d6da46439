// Records `pi-sessions` in a terminal for the README: an SVG that shows one command after another, in colour.
//   node scripts/recording.mjs        writes docs/images/terminal.svg
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SessionManager } from "../index.js";
import { writeSession, writeStore } from "./demo/example-sessions.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [COLUMNS, LINES] = [100, 22];
/** The size of a character in pixels, and the margin around all characters. */
const [WIDTH, HEIGHT, MARGIN] = [8.4, 18, 16];
const SECONDS = 5;
/** The colours of a terminal by the codes that select them. */
const COLOURS = {
	31: "#ff7b72",
	32: "#7ee787",
	33: "#d29922",
	34: "#79c0ff",
	35: "#d2a8ff",
	36: "#56d4dd",
	90: "#8b949e",
};

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A line of output as SVG, with colours, bold, dim and underlined text. */
function drawnLine(line, y) {
	let style = {};
	const spans = line.split(/(\x1b\[[\d;]*m)/).flatMap((piece) => {
		const codes = /^\x1b\[([\d;]*)m$/.exec(piece)?.[1];
		if (codes === undefined) return piece === "" ? [] : [`<tspan${attributes(style)}>${escaped(piece)}</tspan>`];
		for (const code of codes.split(";").map(Number)) style = styleAfter(style, code);
		return [];
	});
	return `<text x="${MARGIN}" y="${y}">${spans.join("")}</text>`;
}

function styleAfter(style, code) {
	if (code === 0) return {};
	if (code === 1) return { ...style, "font-weight": "bold" };
	if (code === 2) return { ...style, "fill-opacity": "0.6" };
	if (code === 4) return { ...style, "text-decoration": "underline" };
	const { "font-weight": weight, "fill-opacity": opacity, "text-decoration": decoration, fill, ...rest } = style;
	if (code === 22) return { ...rest, "text-decoration": decoration, fill };
	if (code === 24) return { ...rest, "font-weight": weight, "fill-opacity": opacity, fill };
	if (code === 39) return { ...rest, "font-weight": weight, "fill-opacity": opacity, "text-decoration": decoration };
	return COLOURS[code] ? { ...style, fill: COLOURS[code] } : style;
}

const attributes = (style) =>
	Object.entries(style)
		.map(([name, value]) => (value ? ` ${name}="${value}"` : ""))
		.join("");

/** An SVG that shows each frame for some seconds, in a loop. Without animation it shows the first frame. */
function drawn(frames) {
	const share = 100 / frames.length;
	const drawings = frames.map(({ command, output }, at) => {
		const lines = [`\x1b[32m$\x1b[0m \x1b[1m${command}\x1b[0m`, ...output.trimEnd().split("\n")];
		const shown = lines.length > LINES ? [...lines.slice(0, LINES - 1), "\x1b[2m…\x1b[0m"] : lines;
		const texts = shown.map((line, row) => drawnLine(line, MARGIN + (row + 1) * HEIGHT));
		return (
			`<g class="frame" ` +
			`style="animation-delay:${at * SECONDS}s"${at > 0 ? ' opacity="0"' : ""}>\n${texts.join("\n")}\n</g>`
		);
	});
	const [width, height] = [Math.ceil(COLUMNS * WIDTH + 2 * MARGIN), (LINES + 1) * HEIGHT + MARGIN];
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ` +
			`${height}" role="img">`,
		`<title>pi-sessions in a terminal: ${frames.map(({ command }) => escaped(command)).join(", ")}</title>`,
		`<style>text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; ` +
			"fill: #e6edf3; white-space: pre; }",
		`.frame { animation: shown ${frames.length * SECONDS}s step-end infinite; }`,
		`@keyframes shown { 0% { opacity: 1; } ${share}% { opacity: 0; } 100% { opacity: 0; } }</style>`,
		`<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
		...drawings,
		"</svg>\n",
	].join("\n");
}

const dir = mkdtempSync(join(tmpdir(), "pi-session-recording-"));
try {
	const sessions = join(dir, "sessions");
	writeStore(sessions);
	const file = writeSession(sessions);
	const id = SessionManager.open(file).getSessionId().slice(0, 8);
	const run = (...args) => {
		const env = {
			PATH: process.env.PATH,
			HOME: dir,
			PI_CODING_AGENT_DIR: join(dir, "agent"),
			FORCE_COLOR: "1",
			COLUMNS: String(COLUMNS),
			PAGER: "",
			TZ: "UTC",
			LANG: "C.UTF-8",
		};
		const output = execFileSync(process.execPath, [join(root, "bin/pi-sessions.mjs"), ...args, "--dir", sessions], {
			cwd: dir,
			env,
			encoding: "utf8",
		});
		const words = args.map((word) => (/\s/.test(word) ? `'${word}'` : word));
		return { command: ["pi-sessions", ...words].join(" "), output };
	};
	const svg = drawn([
		run("list", "--all", "--limit", "16"),
		run("search", "written before", "--all"),
		run("tree", id),
		run("stats", "--all", "--by", "model"),
	]);
	const path = join(root, "docs/images/terminal.svg");
	writeFileSync(path, svg);
	console.log(`${basename(path)}: ${Buffer.byteLength(svg)} bytes`);
} finally {
	rmSync(dir, { recursive: true, force: true });
}
