// What this package uses of pi's selector of sessions, asked of both releases of pi; and a selector that lacks any of it.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root } from "../../support/scratch.js";

const AT = join(root, "lib/extension/session-selector.mjs");
const { SessionList, replaceInSelectors } = await import(pathToFileURL(AT).href);

/** Runs in a Node that is new enough for pi. */
const PROGRAM = `
	import { SessionList, isLoading, redraw, replaceInSelectors, showsList } from ${JSON.stringify(pathToFileURL(AT).href)};
	const pi = await import(process.argv[1]);
	pi.initTheme("dark");
	const sessions = ["apple", "quince"].map((id, n) => ({ path: "/s/" + id, id, cwd: "/x", created: new Date(0), modified: new Date(1e12 - n), messageCount: 7, firstMessage: id, allMessagesText: id }));
	const seen = {};
	let selected;
	let redraws = 0;
	const load = async () => sessions;
	const selector = new pi.SessionSelectorComponent(load, load, (path) => (selected = path), () => {}, () => {}, () => redraws++);
	seen.before = [showsList(selector), isLoading(selector)];
	while (isLoading(selector)) await new Promise((resolve) => setImmediate(resolve));
	const list = SessionList.of(selector.getSessionList());
	seen.list = [list.sessions.length, list.selectedIndex, list.sortMode, list.chosenPath ?? "none", list.isKey("\\r", "tui.select.confirm"), list.isKey("x", "tui.select.confirm")];
	seen.filtered = list.rowsOf(sessions, "quince", "recent").map(({ session }) => session.id);
	const before = redraws;
	redraw(selector);
	seen.redraws = redraws - before;
	const queries = [];
	list.replaceFilter((query) => (queries.push(query), list.filter(query)));
	list.drawAs((session) => Object.create(session, { messageCount: { value: "anna" } }));
	let closes = 0;
	list.beforeClose(() => closes++);
	let sets = 0;
	list.aroundSetSessions((set) => (sets++, set()));
	const keys = [];
	const undo = replaceInSelectors(pi, "handleInput", (one, own, [data]) => (keys.push(data), own(data)));
	for (const key of ["\\x1b[B", "q"]) selector.handleInput(key);
	undo();
	seen.typed = [keys.length, [...queries], list.chosenPath];
	const text = selector.render(80).join("\\n");
	seen.drawn = [text.includes("quince"), text.includes("apple"), text.includes("anna")];
	list.show(sessions.map((session) => ({ session, depth: 0, isLast: true, ancestorContinues: [] })), 0);
	selector.getSessionList().setSessions(sessions, false);
	selector.handleInput("\\r");
	seen.closed = [sets, closes, selected];
	console.log(JSON.stringify(seen));
	process.exit();`;

test.each([
	["0.87.1", "scripts/reference/node_modules/@earendil-works/pi-coding-agent/dist/index.js"],
	["1.5.2", "scripts/reference/pi-1.5.2/dist/bundle/index.js"],
])("pi %s has what is used", (_, path) => {
	const node = join(root, "scripts/reference/node_modules/node/bin/node");
	const out = execFileSync(node, ["--input-type=module", "-e", PROGRAM, pathToFileURL(join(root, path)).href], { encoding: "utf8" });
	expect(JSON.parse(out.trim().split("\n").at(-1) ?? "")).toEqual({
		before: [true, true],
		list: [2, 0, "threaded", "none", true, false],
		filtered: ["quince"],
		redraws: 1,
		typed: [2, ["q"], "/s/quince"],
		drawn: [true, false, true],
		closed: [1, 1, "/s/quince"],
	});
});

test("a list that lacks anything of it is left alone, and so is a pi without a selector", () => {
	const whole = {
		...{ filterSessions() {}, setSessions() {}, render: () => [], getSelectedSessionPath() {}, keybindings: { matches: () => false } },
		...{ allSessions: [], filteredSessions: [], selectedIndex: 0, selectionTouched: false, sortMode: "recent" },
	};
	expect(SessionList.of(whole)).toBeInstanceOf(SessionList);
	for (const name of Object.keys(whole)) expect(SessionList.of({ ...whole, [name]: undefined })).toBeUndefined();
	expect(SessionList.of(undefined)).toBeUndefined();
	expect(() => replaceInSelectors({}, "render", () => [])()).not.toThrow();
});
