// Takes the pictures of the extension: runs the reference pi in a terminal (tmux), and draws its screen by a browser.
//   node scripts/pi-pictures.mjs        writes docs/images/find.png and docs/images/costs.png
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { writeSession, writeStore } from "./demo/example-sessions.mjs";
import { startModelServer } from "./demo/model-server.mjs";
import * as pi from "./demo/pi.mjs";

const pictures = join(pi.root, "docs/images");
const [COLUMNS, LINES] = [110, 28];
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Converts a screen with escape sequences to HTML: bold text and 24-bit colours, which pi's theme uses. */
function drawn(screen) {
	let style = {};
	return screen
		.split(/(\x1b\[[\d;]*m)/)
		.map((piece) => {
			const codes = /^\x1b\[([\d;]*)m$/.exec(piece)?.[1];
			if (codes === undefined)
				return `<span style="${Object.entries(style)
					.map(([name, value]) => `${name}:${value}`)
					.join(";")}">${escaped(piece)}</span>`;
			const numbers = codes.split(";").map(Number);
			for (let code = numbers.shift(); code !== undefined; code = numbers.shift()) {
				if (code === 0) style = {};
				else if (code === 1) style = { ...style, "font-weight": "bold" };
				else if (code === 2) style = { ...style, opacity: "0.6" };
				else if (code === 7) style = { ...style, background: "#e6edf3", color: "#0d1117" };
				else if (code === 39 || code === 22)
					style = code === 39 ? { ...style, color: "#e6edf3" } : { ...style, "font-weight": "normal", opacity: "1" };
				else if ((code === 38 || code === 48) && numbers[0] === 2)
					style = {
						...style,
						[code === 38 ? "color" : "background"]: `rgb(${numbers.splice(0, 4).slice(1).join(",")})`,
					};
				else if ((code === 38 || code === 48) && numbers[0] === 5) numbers.splice(0, 2);
			}
			return "";
		})
		.join("");
}

const dir = mkdtempSync(join(tmpdir(), "pi-pictures-"));
const server = await startModelServer([]);
const tmux = (...args) =>
	execFileSync("tmux", ["-u", "-S", join(dir, "tmux"), "-f", "/dev/null", ...args], {
		encoding: "utf8",
		env: { PATH: process.env.PATH, LANG: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh" },
	});
const browser = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
	(path) => path && existsSync(path),
);
if (!browser) throw new Error("No browser: apt-get install -y chromium (or name one in CHROMIUM)");
try {
	const [home, work] = ["home", "shop"].map((name) => join(dir, name));
	// In pi's usual directory, because the screen would name another one.
	const sessions = join(pi.agentDirOf(home), "sessions/examples");
	for (const path of [work, dirname(sessions)]) mkdirSync(path, { recursive: true });
	writeStore(sessions);
	writeSession(sessions);
	pi.writeAgentDir(home, server.baseUrl, { quietStartup: true, theme: "dark" });
	const { NO_COLOR, ...env } = { ...pi.isolatedEnv(home), COLORTERM: "truecolor", TERM: "tmux-256color" };
	const command = [
		"env",
		"-i",
		...Object.entries(env).map(([name, value]) => `${name}=${value}`),
		pi.nodeBin,
		join(pi.referencePackage, "dist/bundle/cli.js"),
		"-e",
		pi.root,
	];
	tmux(
		"set-option",
		"-g",
		"status",
		"off",
		";",
		"set-option",
		"-ga",
		"terminal-features",
		",*:RGB",
		";",
		"new-session",
		"-d",
		"-x",
		String(COLUMNS),
		"-y",
		String(LINES),
		"-c",
		work,
		...command,
	);
	const shows = async (...wanted) => {
		for (let tries = 0; tries < 600; tries++, await pause(100)) {
			const screen = tmux("capture-pane", "-p");
			if (wanted.every((one) => screen.includes(one))) return;
		}
		throw new Error(`The screen never showed ${wanted.join(" and ")}:\n${tmux("capture-pane", "-p")}`);
	};
	const picture = async (name) => {
		// Waits until the screen is complete.
		await pause(500);
		const page = join(dir, "screen.html");
		const font = "font: 15px/19px 'DejaVu Sans Mono', monospace";
		writeFileSync(
			page,
			`<meta charset="utf-8"><body style="margin:0;background:#0d1117;color:#e6edf3"><pre style="margin:18px ` +
				`20px;${font}">${drawn(tmux("capture-pane", "-e", "-p"))}</pre></body>`,
		);
		const size = `--window-size=${COLUMNS * 9 + 40},${LINES * 19 + 36}`;
		execFileSync(
			browser,
			[
				"--headless",
				"--no-sandbox",
				"--hide-scrollbars",
				size,
				`--screenshot=${join(pictures, name)}`,
				pathToFileURL(page).href,
			],
			{ stdio: "ignore" },
		);
		console.log(`${name}: ${statSync(join(pictures, name)).size} bytes`);
	};
	await shows("scripted");
	tmux("send-keys", "-l", "/find --all checkout");
	await shows("/find --all checkout");
	tmux("send-keys", "Enter");
	await shows("Find  all sessions", " hits in ", "› ");
	tmux("send-keys", "Down");
	await picture("find.png");
	tmux("send-keys", "Escape");
	await pause(1000);
	tmux("send-keys", "-l", "/costs model");
	await shows("/costs model");
	tmux("send-keys", "Enter");
	await shows("MODEL", "total");
	await picture("costs.png");
} finally {
	tmux("kill-server");
	await server.close();
	rmSync(dir, { recursive: true, force: true });
}
