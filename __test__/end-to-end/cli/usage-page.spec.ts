// The page of `pi-sessions stats --html` in a real browser.
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type Json, assistant, entry, message, user } from "../../support/scratch.js";
import { type World, good, goodJson, put, run, world } from "../../support/cli.js";
import { tool } from "../../support/tools.js";

/** A loaded machine is slow, not wrong. */
const PATIENCE = 500_000;

let browser: Browser | undefined;

beforeEach(async () => {
	const executablePath = process.env.CHROMIUM ?? tool(["chromium", "chromium-browser", "google-chrome"]);
	browser ??= await puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage"], timeout: PATIENCE, protocolTimeout: PATIENCE });
});
afterAll(() => browser?.close());

const call = (id: string, day: number, model: string, total: number): Json =>
	message(id, null, { ...assistant("x"), provider: "acme", model, usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { total } }, timestamp: Date.UTC(2025, 0, day, 12) });

/** Two projects, three days of which one is without calls, and a title that would be a script. */
function twoProjects(): World {
	const at = world();
	put(at, "s-1", [message("u", null, user("the parser")), call("a", 1, "large", 2), call("b", 1, "small", 0.5), call("c", 3, "large", 1)]);
	put(at, "s-2", [call("d", 3, "<img src=x onerror=alert(1)>", 0.25), entry("session_info", "n", "d", { name: "<script>alert(1)</script>" })], { cwd: "/other/<b>" });
	return at;
}

async function open(at: World, args: string[] = [], viewport = { width: 1200, height: 900 }): Promise<{ page: Page; requests: string[]; errors: string[] }> {
	const file = join(at.cwd, "usage.html");
	expect(await run(at, ["stats", "--all", "--utc", "--html", file, "--force", ...args])).toMatchObject({ code: 0, err: "" });
	const page = await (browser as Browser).newPage();
	page.setDefaultTimeout(PATIENCE);
	const [requests, errors]: [string[], string[]] = [[], []];
	page.on("request", (request) => requests.push(request.url()));
	page.on("pageerror", (error) => errors.push(String(error)));
	page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
	page.on("dialog", (dialog) => errors.push(dialog.message()));
	await page.setViewport(viewport);
	await page.goto(pathToFileURL(file).href);
	return { page, requests: requests.filter((url) => !url.startsWith("file:")), errors };
}

const labels = (page: Page): Promise<(string | null)[]> => page.$$eval(".period", (all) => all.map((one) => one.getAttribute("aria-label")));

describe("the page of all sessions", () => {
	test("shows cost by day stacked by model, by directory and by session, and takes no text for more than text", async () => {
		const { page, requests, errors } = await open(twoProjects());
		expect(await page.$eval("h1", (title) => title.textContent)).toBe("$3.75");
		expect(await labels(page)).toEqual(["2025-01-01: $2.50, 2 calls, acme/large $2.00, acme/small $0.5000", "2025-01-02: $0.00, 0 calls", "2025-01-03: $1.25, 2 calls, acme/large $1.00, acme/<img src=x onerror=alert(1)> $0.2500"]);
		// The stack of the first day: four fifths of it are the dearer model.
		const heights = await page.$$eval(".period", (all) => [...(all[0] as Element).querySelectorAll("rect:not(.target)")].map((rect) => Number(rect.getAttribute("height"))));
		expect(heights).toHaveLength(2);
		expect((heights[0] ?? 0) / (heights[1] ?? 1)).toBeCloseTo(4, 1);
		const rows = (section: number) => page.$$eval("table", (tables, at) => [...(tables[at] as HTMLTableElement).tBodies[0]!.rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim().replace(/\s+/g, " "))), section);
		expect(await rows(0)).toEqual([["acme/large", "2", "30", "$3.00"], ["acme/small", "1", "15", "$0.5000"], ["acme/<img src=x onerror=alert(1)>", "1", "15", "$0.2500"]]);
		expect((await rows(1)).map(([folder, ...rest]) => [folder?.split("/").at(-1), ...rest])).toContainEqual(["<b>", "1", "15", "$0.2500"]);
		expect((await rows(2)).map(([title]) => title?.slice(0, 25))).toEqual(["the parser " + (await rows(1))[0]?.[0]?.slice(0, 14), "<script>alert(1)</script>"]);
		expect(await page.$$eval("script, img, b", (found) => found.length)).toBe(0);
		expect({ requests, errors }).toEqual({ requests: [], errors: [] });
		await page.close();
	});

	test("by keyboard: what a day stands for is shown while it has the focus", async () => {
		const { page } = await open(twoProjects());
		const shown = () => page.$$eval(".said", (all) => all.filter((one) => getComputedStyle(one).display !== "none").map((one) => one.textContent));
		expect(await shown()).toEqual([]);
		await page.keyboard.press("Tab");
		expect(await page.evaluate(() => document.activeElement?.className)).toBe("scroll");
		await page.keyboard.press("Tab");
		expect(await shown()).toEqual([expect.stringMatching(/^2025-01-01: \$2\.50/)]);
		// A day without calls is skipped.
		await page.keyboard.press("Tab");
		expect(await shown()).toEqual([expect.stringMatching(/^2025-01-03: \$1\.25/)]);
		await page.close();
	});

	test("light and dark, and narrow without a page wider than the window", async () => {
		const { page } = await open(twoProjects(), [], { width: 360, height: 700 });
		const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		const seen = new Set<string>();
		for (const value of ["light", "dark"]) {
			await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
			seen.add(await colour());
		}
		expect(seen.size).toBe(2);
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
		await page.close();
	});

	test("of one session whose models cost nothing: tokens by week, models beyond the colours together, and what is not added", async () => {
		const at = world();
		const free = Array.from({ length: 10 }, (_, index) => call(`c${index}`, 1 + 20 * index, `model-${index}`, 0));
		const odd = message("odd", null, { ...assistant("x"), provider: "acme", model: "model-0", usage: { input: -7, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { total: 0 } }, timestamp: Date.UTC(2025, 0, 1) });
		put(at, "s-free", [...free, odd]);
		writeFileSync(join(at.cwd, "page.html"), await good(at, ["stats", "--utc", "--html", "-"]));
		const page = await (browser as Browser).newPage();
		await page.goto(pathToFileURL(join(at.cwd, "page.html")).href);
		expect(await page.$eval("h1", (title) => title.textContent)).toBe("150 tokens");
		expect(await page.$eval("#periods", (title) => title.textContent)).toBe("Tokens by week, by model");
		expect(await page.$eval(".notes", (notes) => notes.textContent)).toBe("Not added: 1 call with amounts below 0.");
		// Every week has a bar, also those without calls.
		const said = await labels(page);
		expect([said.length, said[0], said[1]]).toEqual([27, "2024-12-30: 15 tokens, 2 calls, acme/model-0 15 tokens", "2025-01-06: 0 tokens, 0 calls"]);
		// Three models have the last colour.
		expect(await page.$$eval(".chart rect.m7", (bars) => bars.length)).toBe(3);
		expect(await page.$$eval(".swatch.m7", (swatches) => swatches.length)).toBe(3);
		await page.close();
	});

	test("says how many rows a table does not have, and has the whole of long names", async () => {
		const at = world();
		const model = (n: number) => `${"a-rather-long-name-of-a-model/".repeat(4)}${n}`;
		for (let n = 0; n < 33; n++) put(at, `s-${n}`, [call("a", 1, model(n), 100_000 + n)], { cwd: `/home/somebody/${"projects/".repeat(10)}${n}` });
		const { page, errors } = await open(at);
		const ends = await page.$$eval("table + .notes", (all) => all.map((one) => one.textContent));
		expect(ends).toEqual([["17", "model"], ["13", "project"], ["3", "session"]].map(([left, by]) => `(${left} more; pi-sessions stats --by ${by} with --json or --csv for all)`));
		const names = await page.$$eval("table", (tables) => tables.map((one) => [...one.querySelectorAll("tbody th [title]")].map((name) => [name.getAttribute("title"), name.textContent])));
		expect(names.map((rows) => rows.length)).toEqual([16, 20, 30]);
		expect(names[0]?.[0]).toEqual([`acme/${model(32)}`, expect.stringMatching(/^acme\/a-rather.*….*\/32$/)]);
		expect(names[1]?.[0]).toEqual([`/home/somebody/${"projects/".repeat(10)}32`, expect.stringMatching(/^\/home\/.*….*\/32$/)]);
		// What a day stands for fits into the picture, and tells the models apart.
		for (let n = 0; n < 2; n++) await page.keyboard.press("Tab");
		const said = await page.$eval(".period .said", (text) => ({ text: text.textContent, right: (text as SVGTextElement).getBBox().x + (text as SVGTextElement).getBBox().width }));
		expect(said.text).toMatch(/, acme\/[^,…]*…[^,…]*\/32 \$100,032\.00, acme\/[^,…]*…[^,…]*\/31 \$/);
		expect(said.right).toBeLessThanOrEqual(960);
		const label = (await labels(page))[0];
		expect(label).toContain(`acme/${model(32)} $100,032.00`);
		expect(await page.$eval(".period title", (title) => title.textContent)).toBe(label);
		expect(errors).toEqual([]);
		await page.close();
	});

	test("a clock that was wrong for one call neither ends the command nor draws the pause", async () => {
		const at = twoProjects();
		const late = (timestamp: number): Json => message(`t${timestamp}`, null, { ...assistant("x"), provider: "acme", model: "large", usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 1 } }, timestamp });
		put(at, "s-3", [late(8.64e15), late(-8.64e15), late(-1e12)]);
		for (const [by, last] of [["day", "+275760-09-13"], ["week", "+275760-09-08"], ["month", "+275760-09"]] as const) {
			const { page } = await open(at, ["--by", by]);
			const said = await labels(page);
			expect(said.at(-1)).toMatch(`${last}: $1.00`);
			// Two of the five days are in one week.
			expect(said).toHaveLength(by === "day" ? 5 : 4);
			await page.close();
		}
	});

	test("a session whose tree was written beside the page is a link to it", async () => {
		const at = twoProjects();
		const { sessions } = { sessions: await goodJson(at, ["list", "--all"]) };
		const { path } = sessions.find((one: Json) => one.id === "s-1");
		await good(at, ["tree", path, "--html"]);
		const { page } = await open(at);
		expect(await page.$$eval("a", (links) => links.map((link) => link.textContent))).toEqual(["the parser"]);
		await Promise.all([page.waitForNavigation(), page.click("a")]);
		await page.waitForSelector("#tree[data-ready=true]");
		await page.close();
	});
});

test("stats --html writes a new file that only its owner reads, and never over a session", async () => {
	const at = twoProjects();
	expect(await good(at, ["stats", "--all", "--html"])).toMatch(/^usage\.html: 2 sessions, \$3\.75, /);
	expect(statSync(join(at.cwd, "usage.html")).mode & 0o777).toBe(0o600);
	expect(await run(at, ["stats", "--all", "--html"])).toMatchObject({ code: 1, err: expect.stringContaining("There is a file already") });
	expect(await run(at, ["stats", "--all", "--html", "s-1"])).toMatchObject({ code: 2, err: expect.stringContaining("Put the session before --html") });
	const page = await good(at, ["stats", "--all", "--html", "-"]);
	expect(page).toBe(readFileSync(join(at.cwd, "usage.html"), "utf8"));
	expect(page).not.toMatch(/<script|https?:\/\/|\bstyle="/);
	// Another name of a session.
	const { linkSync } = await import("node:fs");
	const { path } = (await goodJson(at, ["list", "--all"]))[0];
	linkSync(path, join(at.cwd, "link.html"));
	const before = readFileSync(path, "utf8");
	expect(await run(at, ["stats", "--all", "--html", "link.html", "--force"])).toMatchObject({ code: 1, err: expect.stringContaining("is the session itself") });
	expect(readFileSync(path, "utf8")).toBe(before);
	expect(readdirSync(at.cwd).filter((name) => name.endsWith(".tmp"))).toEqual([]);
	// Nothing to draw is no error.
	const empty = world();
	expect(await good(empty, ["stats", "--all", "--html"])).toContain("0 sessions");
	expect(existsSync(join(empty.cwd, "usage.html"))).toBe(true);
});
