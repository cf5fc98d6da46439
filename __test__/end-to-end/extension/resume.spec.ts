// `/resume` in the real pi, with the extension and without it.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assistant, root, user } from "../../support/scratch.js";
import { DEADLINE_MS } from "../register/terminal.js";
import { type World, inTerminal, put, said, withoutAddon, world } from "./pi.js";

/** What loads the addon: pi's own lists need none of these. */
const catalogs = (at: World): string[] => readdirSync(join(at.home, "agent")).filter((name) => name.startsWith("session-catalog"));

/** Sessions, some of them hostile to a terminal, in two projects. */
function fill(at: World, count = 12): void {
	for (let n = 0; n < count; n++) {
		const entries = [said("a", null, user(`question ${n} \u001b[2J\u202egnirts`), 2 * n + 2), said("b", "a", assistant(`answer ${n} pear${n}end`), 2 * n + 2)];
		if (n % 5 === 1) entries.push({ type: "session_info", id: "n", parentId: "b", timestamp: "x", name: `\u001b]0;title\u0007Name ${n} \u{1f468}‍\u{1f469}` });
		put(at, `0194-${String(n).padStart(2, "0")}`, entries, n % 4 === 3 ? { cwd: "/other" } : {});
	}
	writeFileSync(join(at.here, "broken.jsonl"), "not a session\n");
	mkdirSync(join(at.here, "folder.jsonl"));
	symlinkSync("/nowhere", join(at.here, "dangling.jsonl"));
}

const listed = /Resume Session/;
/** The keys that take a word back. */
const erased = (word: string): string[] => [...word].map(() => "BSpace");

test.each([
	{ how: "pi's own manager", hooked: false },
	{ how: "this package's manager", hooked: true },
])("on $how /resume shows line by line what pi's own shows, here and everywhere, filtered and after /reload", async ({ hooked }) => {
	const at = await world();
	fill(at);
	const own = await inTerminal(at, { extension: false });
	const ours = await inTerminal(at, { hooked });
	const see = async (...wanted: (string | RegExp)[]): Promise<void> => {
		const list = (screen: string): string => screen.slice(screen.search(listed));
		for (const deadline = Date.now() + DEADLINE_MS; ; ) {
			const [expected, shown] = await Promise.all([own.shows(...wanted), ours.shows(...wanted)]);
			if (list(shown) === list(expected)) return;
			if (Date.now() > deadline) expect(list(shown)).toBe(list(expected));
		}
	};
	const both = async (act: (terminal: typeof own) => unknown): Promise<void> => {
		await Promise.all([act(own), act(ours)]);
	};
	const resume = async (): Promise<void> => {
		await both((terminal) => terminal.enter("/resume"));
		await see(listed, "question 0", "question 10");
		await both((terminal) => terminal.press("Tab"));
		await see(listed, "/other", "(1/12)");
		await both((terminal) => terminal.type("pear3end"));
		await see(listed, /› question 3 .*\/other/);
		await both((terminal) => terminal.press("Escape"));
		await both((terminal) => terminal.shows("scripted • medium"));
	};
	await resume();
	// Only then was the addon loaded.
	expect(catalogs(at)).not.toEqual([]);
	await ours.enter("/reload");
	await ours.shows(/Reloaded/);
	await resume();
});

test("a word and Enter, typed at once, resume the session that has the word", async () => {
	const at = await world();
	for (let n = 0; n < 200; n++) put(at, `0194-${n}`, [said("a", null, user(`question ${n}`), n + 1), said("b", "a", assistant(`${"many words ".repeat(5000)} pear${n}end`), n + 1)]);
	const terminal = await inTerminal(at);
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 0", "(1/200)");
	terminal.press(..."pear137end", "Enter");
	await terminal.shows("Resumed session", "pear137end", "scripted • medium");
});

// Regression: these keys acted on the rows of the query before, so that another session than the one on the screen was deleted.
test("a word and the key that deletes or renames, typed at once, act on the session that has the word", async () => {
	const at = await world();
	const paths = Array.from({ length: 400 }, (_, n) => put(at, `0194-${n}`, [said("a", null, user(`question ${n}`), n + 1), said("b", "a", assistant(`${"many words ".repeat(5000)} pear${n}end`), n + 1)]));
	const gone = (): string[] => paths.filter((path) => !existsSync(path));
	const terminal = await inTerminal(at);
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 0", "(1/400)");
	terminal.press(..."pear137end", "C-d");
	await terminal.shows("› question 137 ", "Delete session?");
	expect(gone()).toEqual([]);
	terminal.press("Enter");
	await terminal.shows("pear137end", "No sessions in current folder", "◉ Current Folder");
	expect(gone()).toEqual([paths[137]]);
	// Without a look at the screen in between: confirmed, and with another name. pi gives no name while it lists.
	terminal.press(...erased("pear137end"), ..."pear138end", "C-d", "Enter");
	await terminal.shows("pear138end", "No sessions in current folder", "◉ Current Folder");
	expect(gone()).toEqual([paths[137], paths[138]]);
	terminal.press(...erased("pear138end"), ..."pear139end", "C-r", ..."Quince", "Enter");
	await terminal.shows(listed, "pear139end", "› Quince ");
	expect(gone()).toEqual([paths[137], paths[138]]);
	expect(readFileSync(paths[139] as string, "utf8")).toContain('"name":"Quince"');
});

test.each([
	{ how: "pi alone", extension: false as const },
	{ how: "pi with the extension", extension: root },
])("in $how a session that another process deletes while it is in the list is an empty one when it is chosen; the filter finds the others", async ({ extension }) => {
	const at = await world();
	const paths = ["first", "second", "third"].map((word, n) => put(at, `0194-${n}`, [said("a", null, user(`question ${word}`), n + 1)]));
	const terminal = await inTerminal(at, { extension });
	await terminal.enter("/resume");
	await terminal.shows(listed, /question first[^]*question third/);
	for (const path of paths.slice(0, 2)) rmSync(path);
	await terminal.type("third");
	await terminal.shows(listed, "› question third");
	terminal.press(...erased("third"));
	await terminal.shows("› question first", "question third");
	terminal.press("Enter");
	await terminal.shows(/^(?![^]*Resume Session)(?![^]*question)[^]*Resumed session/, "scripted • medium");
});

test("pi starts, and works, without the addon being loaded", async () => {
	const at = await world([{ text: "An answer." }]);
	fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("Hello");
	await terminal.shows("An answer.");
	expect(catalogs(at)).toEqual([]);
});

test("the setting `resume` leaves /resume as it is in pi", async () => {
	const at = await world([], { "pi-session-native": { resume: false } });
	fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 10");
	expect(catalogs(at)).toEqual([]);
});

test("a setting that is not known, or not true or false, is named", async () => {
	const at = await world([], { "pi-session-native": { resum: false, resume: "no" } });
	const terminal = await inTerminal(at);
	await terminal.shows('there is no setting "resum"', '"resume" must be true or false');
});

test("without its addon pi's own list answers, and a message says why", async () => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at, { extension: withoutAddon(at) });
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 0", "question 10");
	terminal.press("Escape");
	await terminal.shows("/resume is pi's own, because");
});

test("in the process of a subagent the extension adds nothing", async () => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at, { env: { PI_SUBAGENT_CHILD: "1" } });
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 10");
	expect(catalogs(at)).toEqual([]);
});
