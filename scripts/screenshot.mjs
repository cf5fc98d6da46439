// Takes the pictures of the README, the pages of `pi-sessions tree --html` and `stats --html`, in a browser.
//   node scripts/screenshot.mjs        writes docs/images/tree.png and docs/images/usage.png
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";
import { writeSession, writeStore } from "./demo/example-sessions.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const pictures = join(root, "docs/images");

const dir = mkdtempSync(join(tmpdir(), "pi-session-picture-"));
try {
	const { file, shown } = writeSession(dir);
	const html = join(dir, "tree.html");
	execFileSync(process.execPath, [join(root, "bin/pi-sessions.mjs"), "tree", file, "--html", html]);
	const executablePath = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
	if (!executablePath) throw new Error("No browser: apt-get install -y chromium (or name one in CHROMIUM)");
	const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] });
	const page = await browser.newPage();
	await page.setViewport({ width: 1240, height: 700 });
	await page.goto(`${pathToFileURL(html).href}#${shown}`);
	await page.waitForSelector("#detail:not([hidden])");
	await page.click("#fit");
	await page.type("#query", "runs good");
	await page.waitForFunction(() => /\d found$/.test(document.querySelector("#found")?.textContent ?? ""));
	await new Promise((done) => setTimeout(done, 300));
	await page.screenshot({ path: join(pictures, "tree.png") });
	writeStore(join(dir, "store"));
	const usage = join(dir, "usage.html");
	execFileSync(process.execPath, [join(root, "bin/pi-sessions.mjs"), "stats", "--all", "--utc", "--dir", join(dir, "store"), "--html", usage], { env: { ...process.env, PI_SESSION_NATIVE_CATALOG: "off" } });
	await page.setViewport({ width: 1240, height: 760 });
	await page.goto(pathToFileURL(usage).href);
	await page.hover(".period:nth-of-type(38)");
	await page.screenshot({ path: join(pictures, "usage.png") });
	await browser.close();
	for (const name of ["tree.png", "usage.png"]) console.log(`${name}: ${statSync(join(pictures, name)).size} bytes`);
} finally {
	rmSync(dir, { recursive: true, force: true });
}
