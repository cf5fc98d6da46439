// The page of `pi-sessions tree --html` in a real browser.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { type Json, assistant, entry, message, user } from "../../support/scratch.js";
import { branched, good, put, run, world } from "../../support/cli.js";
import { tool } from "../../support/tools.js";

/** A loaded machine is slow, not wrong. */
const PATIENCE = 500_000;
const CARD = { across: 262, down: 54 };

let browser: Browser | undefined;

/** A browser, or the one that `CHROMIUM` names. */
beforeEach(async () => {
	const executablePath = process.env.CHROMIUM ?? tool(["chromium", "chromium-browser", "google-chrome"]);
	browser ??= await puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage"], timeout: PATIENCE, protocolTimeout: PATIENCE });
});
afterAll(() => browser?.close());

interface Opened {
	page: Page;
	/** What the page asked for, itself left out. */
	requests: string[];
	errors: string[];
	file: string;
}

/** Writes the page of a session and opens it from its file. */
async function open(lines: Json[], args: string[] = [], hash = ""): Promise<Opened> {
	const at = world();
	const session = put(at, "s-page", lines);
	const file = join(at.cwd, "page.html");
	expect(await run(at, ["tree", session, "--html", file, ...args])).toMatchObject({ code: 0, err: "" });
	const page = await (browser as Browser).newPage();
	page.setDefaultTimeout(PATIENCE);
	const [requests, errors]: [string[], string[]] = [[], []];
	page.on("request", (request) => requests.push(request.url()));
	page.on("pageerror", (error) => errors.push(String(error)));
	page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
	await page.setViewport({ width: 1200, height: 800 });
	await page.goto(pathToFileURL(file).href + hash);
	await page.waitForSelector("#tree[data-ready=true][data-scale]");
	return { page, requests: requests.filter((url) => !url.startsWith("file:")), errors, file };
}

const view = (page: Page): Promise<{ x: number; y: number; scale: number }> =>
	page.$eval("#tree", (tree) => {
		const { x, y, scale } = (tree as HTMLElement).dataset;
		return { x: Number(x), y: Number(y), scale: Number(scale) };
	});

/** The view is as it is drawn after the next frame. */
const settled = (page: Page): Promise<unknown> =>
	page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Clicks the card in a column and a row. */
async function clickCard(page: Page, column: number, row: number): Promise<void> {
	await settled(page);
	const { x, y, scale } = await view(page);
	const box = (await (await page.$("#tree"))?.boundingBox()) ?? { x: 0, y: 0 };
	await page.mouse.click(box.x + (column * CARD.across + 30 - x) * scale, box.y + (row * CARD.down + 20 - y) * scale);
}

const detailText = (page: Page): Promise<string> => page.$eval("#detail", (detail) => (detail as HTMLElement).innerText);
const foundText = (page: Page): Promise<string> => page.$eval("#found", (found) => found.textContent ?? "");

async function find(page: Page, words: string): Promise<string> {
	await page.type("#query", words);
	await page.waitForFunction(() => /\d found$/.test(document.querySelector("#found")?.textContent ?? ""));
	return foundText(page);
}

describe("the page of a session", () => {
	test("shows an entry that is clicked, on the main line and on a side branch", async () => {
		const { page, requests, errors } = await open(branched);
		await page.click("#fit");
		await clickCard(page, 0, 1);
		await page.waitForSelector("#detail:not([hidden])");
		expect(await detailText(page)).toContain("What is wrong with the parser?");
		expect(await page.evaluate(() => location.hash)).toBe("#e1");
		// The panel took room from the tree.
		await page.click("#fit");
		await clickCard(page, 1, 4);
		await page.waitForFunction(() => document.querySelector("#detail")?.textContent?.includes("Done with the first"));
		expect(await detailText(page)).toContain("e4, below e3");
		expect(requests).toEqual([]);
		expect(errors).toEqual([]);
		await page.close();
	});

	test("zooms with the wheel and the buttons, pans with the mouse and the wheel", async () => {
		const { page } = await open(branched);
		const start = await view(page);
		await page.click("#in");
		await settled(page);
		const zoomed = await view(page);
		expect(zoomed.scale).toBeCloseTo(start.scale * 1.3, 5);
		await page.mouse.move(500, 400);
		await page.keyboard.down("Control");
		await page.mouse.wheel({ deltaY: 200 });
		await page.keyboard.up("Control");
		await settled(page);
		const out = await view(page);
		expect(out.scale).toBeCloseTo(zoomed.scale * Math.exp(-1), 5);
		await page.mouse.wheel({ deltaY: 120 });
		await settled(page);
		expect((await view(page)).y).toBeCloseTo(out.y + 120 / out.scale, 3);
		const before = await view(page);
		await page.mouse.down();
		await page.mouse.move(440, 430, { steps: 3 });
		await page.mouse.up();
		await settled(page);
		const after = await view(page);
		expect(after.x).toBeCloseTo(before.x + 60 / before.scale, 3);
		expect(after.y).toBeCloseTo(before.y - 30 / before.scale, 3);
		// A drag is no click.
		expect(await page.$eval("#detail", (detail) => (detail as HTMLElement).hidden)).toBe(true);
		await page.close();
	});

	test("finds words in all of an entry's text and goes from one place to the next", async () => {
		const { page } = await open(branched);
		expect(await find(page, "MENDED")).toBe("2 found");
		await page.keyboard.press("Enter");
		await page.waitForSelector("#detail mark");
		expect(await foundText(page)).toBe("1 of 2");
		expect(await page.$eval("#detail mark", (mark) => mark.textContent)).toBe("mended");
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => document.querySelector("#detail")?.textContent?.includes("Both are mended"));
		expect(await foundText(page)).toBe("2 of 2");
		await page.close();
	});

	// Regression: such a letter froze the page.
	test("of a letter that is in a text a million times the first thousand places are marked", async () => {
		const many = "ab ".repeat(300_000);
		const { page, errors } = await open([message("a", null, user(many)), message("b", "a", assistant("ab and ab"))], ["--full"], "#a");
		expect(await find(page, "ab")).toBe("2 found");
		await page.keyboard.press("Enter");
		await page.waitForSelector("#detail mark");
		const shown = (): Promise<{ marks: number; text: string; places: string }> =>
			page.$eval("#detail", (detail) => ({ marks: detail.querySelectorAll("mark").length, text: detail.querySelector("pre")?.textContent ?? "", places: detail.querySelector(".places")?.textContent ?? "" }));
		expect(await shown()).toEqual({ marks: 1000, text: many, places: "The first 1000 of 300000 places are marked" });
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => document.querySelectorAll("#detail mark").length === 2);
		expect(await shown()).toEqual({ marks: 2, text: "ab and ab", places: "" });
		expect(errors).toEqual([]);
		await page.close();
	});

	// Regression: an address that ends in #100% left the page without its script.
	test("an address that ends in #100% leaves the page with its script", async () => {
		const plain = await open(branched, [], "#100%");
		expect(plain.errors).toEqual([]);
		await plain.page.close();
		const { page, errors } = await open([message("100%", null, user("all of it"))], [], "#100%");
		await page.waitForSelector("#detail:not([hidden])");
		expect(await detailText(page)).toContain("all of it");
		expect(errors).toEqual([]);
		await page.close();
	});

	// Regression: an image that was left out for its size did not say so.
	test("an image that is left out for its size says so", async () => {
		const image = (mimeType: string, length: number): Json => ({ type: "image", mimeType, data: "A".repeat(length) });
		const lines = [message("a", null, { role: "user", content: [image("image/png", 8000), image("image/png", 400), image("image/svg+xml", 400)] })];
		const { page } = await open(lines, ["--max-entry", "4"], "#a");
		await page.waitForSelector("#detail:not([hidden])");
		const notes = (where: Page): Promise<(string | null)[]> => where.$$eval("#detail pre", (all) => all.map((one) => one.textContent));
		expect(await notes(page)).toEqual(["image, image/png, 5.9 KiB, not in this page (--full)", "image, image/svg+xml, 300 B"]);
		expect(await page.$$eval("#detail img", (all) => all.length)).toBe(1);
		await page.close();
		const whole = await open(lines, ["--full"], "#a");
		await whole.page.waitForSelector("#detail img");
		expect(await notes(whole.page)).toEqual(["image, image/svg+xml, 300 B"]);
		await whole.page.close();
	});

	test("goes along the tree by keys, and to the entry that the address names", async () => {
		const { page } = await open(branched, [], "#e3");
		await page.waitForFunction(() => document.querySelector("#detail")?.textContent?.includes("Only the first"));
		await page.keyboard.press("ArrowUp");
		await page.waitForFunction(() => document.querySelector("#detail")?.textContent?.includes("Two things."));
		expect(await detailText(page)).toContain("⚑ before mending");
		await page.keyboard.press("l");
		await page.waitForFunction(() => document.querySelector("#detail")?.textContent?.includes("the leaf"));
		await page.keyboard.press("Escape");
		await page.waitForSelector("#detail[hidden]");
		await page.close();
	});

	test("shows markup in a session as text: none of it becomes part of the page", async () => {
		const evil = "</script><script>window.pwned = 1</script><!--<script><img src=x onerror='window.pwned=1'>\"'&{{script}}";
		const { page, requests, errors, file } = await open(
			[
				message("</script>", null, user(evil)),
				message("e2", "</script>", { ...assistant(evil), provider: evil, model: evil }),
				message("e3", "e2", { role: evil, content: [{ type: "image", mimeType: `image/png"><script>window.pwned=1</script>`, data: evil }], timestamp: 1 }),
				entry(evil, "e4", "e3", { field: evil }),
				entry("label", "e5", "e4", { targetId: "</script>", label: evil }),
				entry("session_info", "e6", "e5", { name: evil }),
			],
			[],
			`#${encodeURIComponent("</script>")}`,
		);
		await page.waitForSelector("#detail:not([hidden])");
		expect(await detailText(page)).toContain(evil);
		expect(await page.title()).toBe(evil);
		expect(await page.$eval("h1", (title) => title.textContent)).toBe(evil);
		for (const hash of ["e2", "e3", "e4"]) {
			await page.evaluate((id) => location.assign(`#${id}`), hash);
			await page.reload();
			await page.waitForFunction((id) => document.querySelector("#detail")?.textContent?.includes(id), {}, hash);
		}
		expect(await page.evaluate(() => (window as unknown as { pwned?: number }).pwned)).toBeUndefined();
		expect(await page.$$eval("script", (scripts) => scripts.length)).toBe(3);
		expect(requests).toEqual([]);
		expect(errors).toEqual([]);
		// What a session says stands in the file as base64, or escaped in the title.
		expect(readFileSync(file, "utf8").match(/<script/g)).toHaveLength(3);
		await page.close();
	});

	test("shows images of known types, within the page's own policy", async () => {
		const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
		const { page, errors } = await open([message("e1", null, user([{ type: "image", mimeType: "image/png", data: pixel }]))], [], "#e1");
		await page.waitForFunction(() => (document.querySelector("#detail img") as HTMLImageElement | null)?.naturalWidth === 1);
		expect(errors).toEqual([]);
		await page.close();
	});

	test("holds a session of 30,000 entries with a thousand branches at one fork", async () => {
		const lines: Json[] = [message("r", null, user("the root"))];
		for (let at = 1; at <= 29_000; at++) lines.push(message(`d${at}`, at === 1 ? "r" : `d${at - 1}`, user(`step ${at} ${"word ".repeat(40)}`)));
		for (let at = 0; at < 1_000; at++) lines.push(message(`w${at}`, "r", user(`try ${at}`)));
		lines.push(message("end", "d29000", assistant("the needle at the end")));
		const { page, errors, file } = await open(lines);
		expect(statSync(file).size).toBeLessThan(3_000_000);
		expect(await find(page, "needle")).toBe("1 found");
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => document.querySelector("#detail")?.textContent?.includes("the needle at the end"));
		await page.click("#fit");
		await page.click("#leaf");
		await settled(page);
		expect((await view(page)).y).toBeGreaterThan(28_000 * CARD.down);
		expect(errors).toEqual([]);
		await page.close();
	});

	// Regression: a page of 100,000 roots, or of as many branches at one fork, took time that grew with their square.
	test("a page of 100,000 roots, or of as many branches at one fork, takes linear time", async () => {
		const roots = Array.from({ length: 100_000 }, (_, at) => message(`r${at}`, null, user(`root ${at}`)));
		const branches = [message("top", null, user("the top")), ...Array.from({ length: 100_000 }, (_, at) => message(`b${at}`, "top", user(`branch ${at}`)))];
		for (const [lines, hash, said] of [[roots, "#r5", "root 5"], [branches, "#b5", "branch 5"]] as const) {
			const { page, errors } = await open(lines, [], hash);
			await page.waitForFunction((text) => document.querySelector("#detail")?.textContent?.includes(text), {}, said);
			expect(errors).toEqual([]);
			await page.close();
		}
	});

	test("a branch takes the first column right of its branch point that is free in its first row and above it", async () => {
		const seed = Number(process.env.PSN_SEED ?? 1);
		const random = new Random(seed);
		for (let round = 0; round < 5; round++) {
			const entries = Array.from({ length: 300 }, (_, at) => message(`m${at}`, at === 0 || random.chance(0.02) ? null : `m${random.chance(0.6) ? at - 1 : random.int(at)}`, user("word")));
			const at = world();
			const page = await good(at, ["tree", put(at, "s-columns", entries), "--html", "-"]);
			const packed = /id="index">([^<]*)</.exec(page)?.[1] ?? "";
			const { columns, rows, parents } = JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString()) as Record<string, number[]>;
			const taken = new Set(rows.map((row, node) => `${columns[node]},${row}`));
			expect({ seed, round, taken: taken.size }).toEqual({ seed, round, taken: entries.length });
			const isTaken = (column: number, row: number): boolean => taken.has(`${column},${row}`);
			for (const [node, parent] of parents.entries()) {
				const [column, row] = [columns[node], rows[node]] as [number, number];
				if (parent >= 0 && columns[parent] === column) continue;
				const from = parent < 0 ? 0 : (columns[parent] as number) + 1;
				const blocked = Array.from({ length: column - from }, (_, more) => isTaken(from + more, row) || isTaken(from + more, row - 1));
				expect({ seed, round, node, above: isTaken(column, row - 1), blocked: blocked.every(Boolean) }).toEqual({ seed, round, node, above: false, blocked: true });
			}
		}
	});

	test("of a large session holds the beginnings of its entries, unless all are asked for", async () => {
		const at = world();
		const words = Array.from({ length: 4000 }, (_, word) => Math.sin(word).toString(36).slice(3)).join(" ");
		const lines = Array.from({ length: 1500 }, (_, index) => message(`m${index}`, index === 0 ? null : `m${index - 1}`, user(`${index} ${words}`)));
		const session = put(at, "s-large", lines);
		const made = async (...args: string[]): Promise<any> => {
			const { code, out, err } = await run(at, ["tree", session, "--html", "page.html", "--force", "--json", ...args]);
			expect({ code, err }).toEqual({ code: 0, err: "" });
			return JSON.parse(out);
		};
		const [short, full, told] = [await made(), await made("--full"), await made("--max-entry", "1")];
		expect(short).toMatchObject({ cut: 1500, maxEntry: 16 });
		expect(full.cut).toBe(0);
		expect(told).toMatchObject({ cut: 1500, maxEntry: 1 });
		expect(full.bytes).toBeGreaterThan(2 * short.bytes);
		expect(short.bytes).toBeGreaterThan(2 * told.bytes);
		expect((await run(at, ["tree", session, "--html", "page.html", "--force"])).out).toMatch(/^page\.html: 1,500 entries, .*\n1,500 entries are cut at 16 KiB; --full holds all\n$/);
		expect((await run(at, ["tree", session, "--html", "--full", "--max-entry", "1"])).code).toBe(2);
	});

	// Regression: a name of 20 MB made a page of 40 MB.
	test("names of a session, a tool, a model and a directory are cut in it", async () => {
		const at = world();
		const long = "n".repeat(1 << 20);
		const call = { ...assistant(), provider: long, model: long, content: [{ type: "toolCall", id: "c", name: long, arguments: {} }, { type: "image", mimeType: long, data: "AA" }] };
		const path = put(at, "s-names", [message("a", null, call), { ...entry("session_info", "n", "a", { name: long }), timestamp: long }]);
		const file = join(at.cwd, "names.html");
		expect(await run(at, ["tree", path, "--html", file])).toMatchObject({ code: 0, err: "" });
		expect(statSync(file).size).toBeLessThan(1 << 17);
	});

	// Regression: the parts were the arguments of one call, which takes some 120,000.
	test("shows a message of any number of parts", async () => {
		const content = Array.from({ length: 70_000 }, (_, at) => ({ type: "toolCall", id: `c${at}`, name: "t", arguments: {} }));
		const { page, errors } = await open([message("e1", null, { ...assistant(), content })], [], "#e1");
		await page.waitForSelector("#detail:not([hidden])");
		expect(errors).toEqual([]);
		expect(await page.$eval("#detail", (detail) => detail.querySelectorAll("h3").length)).toBe(70_000);
		await page.close();
	});

	test("says where it holds less than the session does", async () => {
		const { page } = await open([message("e1", null, user("x".repeat(5_000)))], ["--max-entry", "1"], "#e1");
		await page.waitForSelector("#detail:not([hidden])");
		expect(await detailText(page)).toContain("3976 more characters are not in this page");
		await page.close();
	});
});
