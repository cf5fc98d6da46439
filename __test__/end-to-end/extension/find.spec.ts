// `/find` in the real pi: on the screen, in print mode and in RPC mode, on pi's session manager and on this package's.
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openFilesOf } from "../../support/open-files.js";
import { assistant, type Json, root, toolResult, user } from "../../support/scratch.js";
import { closed, fill, find } from "./find.js";
import { inRpc, inTerminal, notices, print, put, said, world } from "./pi.js";

const textOf = ({ message }: Json): string => String(message);

test.each([
	{ how: "pi's own manager", hooked: false },
	{ how: "this package's manager", hooked: true },
])("on $how /find searches, filters and goes to the entry", async ({ hooked }) => {
	const at = await world([{ text: "Unused." }]);
	fill(at);
	const terminal = await inTerminal(at, { hooked });
	await terminal.enter("/find");
	await terminal.shows(find, "f1 shows the keys");
	await terminal.type("quince");
	// Entries that the fork copied are shown once, for the newest session. The message of the first hit is shown below.
	const screen = await terminal.shows(
		"2 hits in 1 session",
		/^How do we bake/m,
		"› ",
		"assistant  Bake the quince pie",
	);
	expect(screen).not.toContain("0194-");
	terminal.press("Tab");
	// The text is shown as characters, not as an escape sequence.
	await terminal.shows("Find  all sessions", "3 hits in 2 sessions", /^quince \\u202e elsewhere/m);
	terminal.press("C-r");
	await terminal.shows("all sessions · user", "2 hits in 2 sessions");
	terminal.press("C-t");
	await terminal.shows(
		"user · today",
		"nothing found",
		"Not searched: texts other than user (ctrl+r), times before today (ctrl+t).",
	);
	for (const [key, shown] of [
		["C-t", "7 days"],
		["C-t", "30 days"],
		["C-t", "any time"],
		["C-r", "assistant"],
		["C-r", "tools"],
	] as const) {
		terminal.press(key);
		await terminal.shows(shown);
	}
	await terminal.shows("tools · any time", "1 hit in 1 session", "quince output");
	terminal.press("C-r");
	terminal.press("Tab");
	await terminal.shows(find, "2 hits in 1 session");
	terminal.press("Down");
	await terminal.shows(/› +\d+d assistant|› +\d+d user/);
	terminal.press("Enter");
	// The leaf is the entry, so the conversation ends with it.
	const opened = await terminal.shows(closed, "bake the quince pie");
	expect(opened).not.toContain("Another question");
});

test("more hits are found as one goes down", async () => {
	const at = await world();
	for (let n = 0; n < 230; n++) put(at, `0194-${n}`, [said("a", null, user(`quince ${n}`), n + 1)]);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("at least 200 hits in at least 200 sessions", /› .*«?quince 229/);
	for (let n = 0; n < 19; n++) terminal.press("PageDown");
	// The selected hit stays selected.
	await terminal.shows("230 hits in 230 sessions", /› .*quince 39$/m);
	for (let n = 0; n < 4; n++) terminal.press("PageDown");
	await terminal.shows(/› .*quince 0$/m);
});

// Regression: one long session hid all others.
test("a long session shows three hits; ctrl+s shows all", async () => {
	const at = await world();
	put(at, "0194-short", [said("a", null, user("A quince alone"))]);
	const entries = Array.from({ length: 250 }, (_, n) =>
		said(`e${n}`, n === 0 ? null : `e${n - 1}`, user(`quince number ${n}`)),
	);
	put(at, "0194-long", entries);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows(
		"251 hits in 2 sessions",
		/^quince number 0 {2}247 more · /m,
		"quince number 247",
		"A quince alone",
	);
	terminal.press("Down");
	await terminal.shows(/› .*quince number 248/);
	terminal.press("C-s");
	await terminal.shows(/› .*quince number 248/, "quince number 243", /^quince number 0 {2}(?!247 more)/m);
	terminal.press("C-s");
	await terminal.shows(/^quince number 0 {2}247 more · /m, "A quince alone");
	const one = "/find --session 0194-lo quince";
	const [all, some, ofOne] = (await notices(at, ["/find quince", `${one} number 24`, one])).map(textOf);
	expect(all).toContain("  247 more in this session: /find --session 0194-long quince\n");
	expect(all).toContain("A quince alone");
	expect(some?.match(/^ {2}e\d+ /gm)).toHaveLength(13);
	// Regression: it named the command that had printed it.
	expect(ofOne).toMatch(/\nOnly the first 200 hits of 250 are shown\.$/);
	expect(ofOne).not.toContain("more in this session");
});

// Regression: for a session with more hits than are shown at once, it showed that there are no more.
test("ctrl+s shows at most 5,000 hits, and counts the others", async () => {
	const at = await world();
	const entries = Array.from({ length: 5_003 }, (_, n) =>
		said(`e${n}`, n === 0 ? null : `e${n - 1}`, user(`quince number ${n}`)),
	);
	put(at, "0194-long", entries);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("5,003 hits in 1 session", "5,000 more · ");
	terminal.press("C-s");
	await terminal.shows(/^quince number 0 {2}3 more · /m);
});

// Regression: they were not searched, and no line said so.
test("/find shows subagents' sessions below their session", async () => {
	const at = await world();
	const main = put(at, "0194-main", [said("a", null, user("Bake something")), said("b", "a", assistant("Done."))]);
	const below = join(main.replace(/\.jsonl$/, ""), "r1/run-0");
	mkdirSync(below, { recursive: true });
	renameSync(
		put(at, "0194-helper", [said("a", null, user("Look for the quince")), said("b", "a", assistant("Nowhere."))]),
		join(below, "session.jsonl"),
	);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("1 hit in 1 session", /^Bake something {2}.*\n↳ Look for the quince {2}.*\n› .*quince/m);
	terminal.press("Enter");
	await terminal.shows(closed, "Look for the quince", "Nowhere.");
	await terminal.enter("/find --no-subagents quince");
	await terminal.shows("this project without subagents", "nothing found");
	terminal.press("Escape");
	await terminal.shows(closed);
	// Regression: no line said that the subagents of one session are not searched.
	await terminal.enter("/find --session 0194-main quince");
	await terminal.shows("one session", "nothing found", /Not searched: .*1\s+session\s+of\s+its\s+subagents\./);
	const [ofMain, ofAll] = (await notices(at, ["/find --session 0194-main quince", "/find quince"])).map(textOf);
	expect(ofMain).toBe(
		"Nothing found for quince in this session. Not searched: tool calls and their output, thinking, entries of " +
			"extensions, 1 session of its subagents.",
	);
	expect(ofAll).toMatch(/^0194-main {2}Bake something {2}.*\n {2}↳ 0194-helper {2}Look for the quince {2}/);
});

// Regression: because of four lines of help and three empty lines, a screen of 24 lines showed four hits, one of 12
// lines a hit without its session, and one of 8 lines no hit.
test("a small terminal shows as many hits as it can", async () => {
	const at = await world();
	for (let n = 0; n < 6; n++)
		put(at, `0194-${n}`, [
			said("a", null, user(`About ${n}`)),
			...Array.from({ length: 3 }, (_, m) => said(`e${m}`, "a", assistant(`quince ${n} ${m}\nsecond\nthird\nfourth`))),
		]);
	const terminal = await inTerminal(at);
	for (const { rows, columns, hits } of [
		{ rows: 24, columns: 80, hits: 9 },
		{ rows: 12, columns: 80, hits: 3 },
		{ rows: 8, columns: 30, hits: 3 },
	]) {
		terminal.resize(columns, rows);
		await terminal.enter("/find quince");
		await terminal.shows("18 hits in 6 sessions", /^About 5/m);
		// pi may not know the size yet.
		await vi.waitFor(
			() => expect(terminal.screen().match(/^[› ].* quince \d \d/gm), `${columns} by ${rows}`).toHaveLength(hits),
			{ timeout: 60_000, interval: 50 },
		);
		for (let n = 0; n < 17; n++) terminal.press("Down");
		// However few lines there are, the title is shown, and no line is empty.
		await terminal.shows(/› .*quince 0 0/, /^About 0/m);
		expect(terminal.screen()).not.toMatch(/\n\n/);
		terminal.press("Escape");
		await terminal.shows(closed);
	}
	// Regression: the end of the filters was cut.
	terminal.resize(40, 24);
	await terminal.enter("/find quince");
	await terminal.shows(/^Find {2}18 hits in 6 sessions\nthis project · messages · any time\n> quince/m);
});

// Regression: only hits were marked, and a word with a colour in it was not found.
test("found words are marked in hits and message despite colours", async () => {
	const at = await world();
	put(at, "0194-colours", [
		said("a", null, user("Run it")),
		said("t", "a", toolResult("\u001b[32m✓ \u001b[39mtests \u001b[33m33\u001b[39m\u001b[2mms\u001b[22m")),
	]);
	const terminal = await inTerminal(at);
	await terminal.enter("/find 33MS");
	await terminal.shows("nothing found", "Not searched: other projects (tab), tool calls and their output (ctrl+r).");
	for (const role of ["user", "assistant", "tools"]) {
		terminal.press("C-r");
		await terminal.shows(`· ${role} ·`);
	}
	const screen = await terminal.shows("1 hit in 1 session", /› .*✓ tests 33ms$/m, /─\n✓ tests 33ms$/m);
	expect(screen).not.toMatch(/\[3\dm|\[2m/);
	expect(terminal.colours().match(/\u001b\[[\d;]*m33ms\u001b\[/g)).toHaveLength(2);
});

// Regression: "--al x" was a query, and two pasted lines were joined without a space.
test("unknown options are refused, and pasted lines are words", async () => {
	const at = await world();
	fill(at);
	const usage = "Usage: /find [--all] [--no-subagents] [--session ID] [--] words";
	const unknown = `There is no option --al. ${usage}`;
	expect(await print(at, "/find --al x")).toMatchObject({ code: 1, stdout: `${unknown}\n` });
	expect(await notices(at, ["/find --al x", "/find", "/find --session", "/find -- --al x"])).toMatchObject([
		{ notifyType: "error", message: unknown },
		{ notifyType: "error", message: usage },
		{ notifyType: "error", message: `--session needs the beginning of a session id. ${usage}` },
		{ notifyType: "info", message: expect.stringContaining("Nothing found for --al x") },
	]);
	const terminal = await inTerminal(at);
	await terminal.enter("/find --al x");
	await terminal.shows("There is no option --al.");
	await terminal.enter("/find");
	await terminal.shows(find);
	terminal.paste("the crust\nAnd");
	await terminal.shows("> the crust And", "1 hit in 1 session");
});

test("today is the day of the clock, not 24 hours", async () => {
	const at = await world();
	put(at, "0194-today", [said("a", null, user("quince of today"), 1), said("b", "a", user("quince of yesterday"), 20)]);
	// A time zone in which it is about noon.
	const east = 12 - new Date().getUTCHours();
	const terminal = await inTerminal(at, { env: { TZ: `Etc/GMT${east > 0 ? "-" : "+"}${Math.abs(east)}` } });
	await terminal.enter("/find quince");
	await terminal.shows("2 hits in 1 session");
	terminal.press("C-t");
	await terminal.shows("messages · today", "1 hit in 1 session", "quince of today");
});

test("previews leave no session file open", async () => {
	const at = await world();
	for (let n = 0; n < 6; n++)
		put(at, `0194-${n}`, [said("a", null, user(`Question ${n}`)), said("b", "a", assistant(`quince answer ${n}`))]);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("6 hits in 6 sessions");
	// The file that was written last comes first.
	for (let n = 4; n >= 0; n--) {
		terminal.press("Down");
		await terminal.shows(new RegExp(`─\n *quince answer ${n}$`, "m"));
	}
	const open = (): string[] => openFilesOf(terminal.pid()).filter((path) => path.startsWith(at.here));
	expect(open().length).toBeLessThanOrEqual(1);
	terminal.press("Escape");
	await terminal.shows(closed);
	expect(open()).toEqual([]);
});

// Regression: if a session is in another folder, that folder is searched, but no line said so.
test.each([
	{ how: "a session file", args: (dir: string) => ["--session", join(dir, "0194-elsewhere.jsonl")] },
	{ how: "a session directory", args: (dir: string) => ["--session-dir", dir] },
])("where pi was started with $how, that directory is searched, and named", async ({ args }) => {
	const at = await world();
	fill(at);
	const dir = join(at.root, "elsewhere");
	mkdirSync(dir);
	renameSync(put(at, "0194-elsewhere", [said("a", null, user("Quince elsewhere"))]), join(dir, "0194-elsewhere.jsonl"));
	const options = { args: args(dir) };
	const terminal = await inTerminal(at, options);
	await terminal.enter("/find --all quince");
	await terminal.shows(/Find {2}all sessions in \S*elsewhere · messages/, "1 hit in 1 session");
	terminal.press("Escape");
	await terminal.shows(closed);
	await terminal.enter("/costs");
	await terminal.shows(`1 session in ${dir}; 0 model calls`);
	expect((await notices(at, ["/find quince", "/find --all crust", "/costs"], options)).map(textOf)).toEqual([
		expect.stringContaining(`Searched: the sessions of this project in ${dir}.`),
		expect.stringContaining(`Nothing found for crust in all sessions in ${dir}. `),
		expect.stringContaining(`in ${dir}; `),
	]);
});

test("/find shows sessions in the order of pi-sessions search", async () => {
	const at = await world();
	const paths = [30, 10, 20].map((hours) =>
		put(at, `0194-${hours}`, [said("a", null, user(`quince of ${hours}`), hours)]),
	);
	// The order depends on the last message, not on the files' times.
	for (const [n, path] of paths.entries()) utimesSync(path, 1e9 + n, 1e9 + n);
	const order = (text: string): string[] => [...new Set(text.match(/quince of \d+/g))];
	const command = [join(root, "bin/pi-sessions.mjs"), "search", "quince"];
	const env = { ...process.env, PI_CODING_AGENT_DIR: join(at.home, "agent") };
	const run = (...args: string[]): string =>
		execFileSync(process.execPath, args, { cwd: at.work, env, encoding: "utf8" });
	run(command[0] as string, "list");
	const searched = order(run(...command));
	expect(searched).toEqual(["quince of 10", "quince of 20", "quince of 30"]);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	expect(order(await terminal.shows("3 hits in 3 sessions"))).toEqual(searched);
});

test("the user's own keys move, and close", async () => {
	const at = await world();
	fill(at);
	writeFileSync(
		join(at.home, "agent/keybindings.json"),
		JSON.stringify({ "tui.select.cancel": "ctrl+x", "tui.select.down": "ctrl+n" }),
	);
	const terminal = await inTerminal(at);
	await terminal.enter("/find quince");
	await terminal.shows("2 hits in 1 session", "ctrl+x closes");
	await terminal.shows(/› +2d assistant/);
	terminal.press("C-n");
	await terminal.shows(/› +2d user/);
	terminal.press("C-x");
	await terminal.shows(closed);
});

test("in print, JSON and RPC mode /find prints text", async () => {
	const at = await world();
	fill(at);
	const printed = await print(at, "/find quince");
	expect(printed).toMatchObject({ code: 0 });
	expect(printed.stdout).toMatch(
		/^0194-fork {2}How do we bake the quince pie\? {2}\/.*\n {2}\S+ 2d (assistant|user): .*quince pie.*\n/,
	);
	expect(printed.stdout).not.toContain("0194-there");
	const json = await print(at, "/find crust", { args: ["--mode", "json"] });
	const lines = json.stdout
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as Json);
	expect(lines).toContainEqual({
		type: "extension_message",
		extension: "pi-session-native",
		text: expect.stringContaining("And the crust?"),
	});
	await inRpc(at, async (client) => {
		await client.send({ type: "prompt", message: "/find crust" });
		// It reports its work until the work is done.
		const statuses = client.records
			.filter((record: Json) => record.method === "setStatus" && record.statusKey === "pi-session-native")
			.map(({ statusText }: Json) => statusText);
		expect([statuses[0], statuses.at(-1)]).toEqual(["searching", undefined]);
	});
	// Regression: nothing said that --all was a word.
	const asked = ["/find crust", "/find --all quince elsewhere", "/find nowhere", "/find nowhere --all"];
	expect((await notices(at, asked)).map(textOf)).toEqual([
		expect.stringContaining("And the crust?"),
		expect.stringContaining("quince \\u202e elsewhere"),
		"Nothing found for nowhere in the sessions of this project; /find --all searches all sessions. Not searched: tool calls and their output, thinking, entries of extensions.",
		expect.stringMatching(/^Nothing found for nowhere --all in .* Options come before the words\.$/),
	]);
});
