// `/resume` in the real pi, with the extension and without it.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { referenceVersion } from "../../../scripts/demo/pi.mjs";
import { Normaliser } from "../../support/agent/normalise.js";
import { assistant, header, root, text, user } from "../../support/scratch.js";
import { Both } from "../register/terminal.js";
import { inRpc, inTerminal, type PiOptions, put, RELEASES, said, type World, withoutAddon, world } from "./pi.js";

/** Actions that load the addon. pi's own lists need none of them. */
const catalogs = (at: World): string[] =>
	readdirSync(join(at.home, "agent")).filter((name) => name.startsWith("session-catalog"));

/** Sessions, some of them hostile to a terminal, in two projects. */
function fill(at: World, count = 12): void {
	for (let n = 0; n < count; n++) {
		const entries = [
			said("a", null, user(`question ${n} \u001b[2J\u202egnirts`), 2 * n + 2),
			said("b", "a", assistant(`answer ${n} pear${n}end`), 2 * n + 2),
		];
		if (n % 5 === 1)
			entries.push({
				type: "session_info",
				id: "n",
				parentId: "b",
				timestamp: "x",
				name: `\u001b]0;title\u0007Name ${n} \u{1f468}‍\u{1f469}`,
			});
		put(at, `0194-${String(n).padStart(2, "0")}`, entries, n % 4 === 3 ? { cwd: "/other" } : {});
	}
	writeFileSync(join(at.here, "broken.jsonl"), "not a session\n");
	mkdirSync(join(at.here, "folder.jsonl"));
	symlinkSync("/nowhere", join(at.here, "dangling.jsonl"));
}

const listed = /Resume Session/;
const closed = /^(?![\s\S]*Resume Session)[\s\S]*scripted • medium/;
/** The keys that remove a word. */
const erased = (word: string): string[] => [...word].map(() => "BSpace");

/** pi alone, and pi with this package in the same or in another home. */
class Lists extends Both {
	static async start(at: World, beside: World, options: PiOptions): Promise<Lists> {
		return new Lists(
			await inTerminal(at, { ...options, extension: false, hooked: false }),
			await inTerminal(beside, options),
		);
	}

	/** Waits until both show the expected text and the same list. */
	see(...wanted: (string | RegExp)[]): Promise<string> {
		// Dates and paths of the two homes have the same length.
		return this.agree(wanted, (screen) => screen.slice(screen.search(listed)).replaceAll(/psn-extension-\w+/g, "home"));
	}

	/** Opens `/resume` and waits for the whole list. */
	async resume(count: number): Promise<void> {
		await this.do((terminal) => terminal.enter("/resume"));
		await this.see(listed, `/${count})`);
	}

	/** The texts of the opened session, which must be equal. */
	opened(screen = closed): Promise<string> {
		const said = /^.*(?:question|answer).*$/gm;
		return this.agree([screen, /question|answer/], (shown) => (shown.match(said) ?? []).slice(-2).join("\n"));
	}
}

/** Ways to run the newest release, and the one before with the extension. */
const WAYS: { version: string; how: string; options: PiOptions }[] = [
	...RELEASES.map(({ version, release }) => ({ version, how: "the extension", options: { release, hooked: false } })),
	{ version: referenceVersion, how: "pi-native alone", options: { hooked: "pi-native", extension: false } },
];

/**
 * An extension that notes for each session: how it began, whose class its manager has, and whose class the next manager
 * would have.
 */
function observe(at: World): { notes(): string[]; args: string[] } {
	const [notes, observer] = [join(at.root, "notes"), join(at.root, "observer.mjs")];
	writeFileSync(
		observer,
		`import { appendFileSync } from "node:fs";
		import { SessionManager } from "@earendil-works/pi-coding-agent";
		const isOurs = (manager) => "getDiagnostics" in manager;
		export default (pi) => pi.on("session_start", ({ reason }, { sessionManager: one }) => appendFileSync(
			${JSON.stringify(notes)},
			[reason, isOurs(one), one instanceof SessionManager, isOurs(SessionManager.inMemory())].join(" ") + "\\n"));\n`,
	);
	return { notes: () => [...new Set(readFileSync(notes, "utf8").trim().split("\n"))], args: ["-e", observer] };
}

test.each([
	...WAYS,
	{ version: referenceVersion, how: "the extension on this package's manager", options: { hooked: true } },
])("with $how pi $version lists sessions as pi's own /resume", async ({ options }) => {
	const at = await world();
	fill(at);
	const { notes, args } = observe(at);
	const both = await Lists.start(at, at, { ...options, args });
	const resume = async (): Promise<void> => {
		await both.do((terminal) => terminal.enter("/resume"));
		await both.see(listed, "question 0", "question 10");
		both.press("Tab");
		await both.see(listed, "/other", "(1/12)");
		await both.do((terminal) => terminal.type("pear3end"));
		await both.see(listed, /› question 3 .*\/other/);
		both.press("Escape");
		await both.do((terminal) => terminal.shows(closed));
	};
	await resume();
	// The addon is loaded only now.
	expect(catalogs(at)).not.toEqual([]);
	await both.ours.enter("/reload");
	await both.ours.shows(/Reloaded/);
	await resume();
	const isOurs = options.hooked !== false;
	// pi's own screens would be equal.
	expect(notes().slice(-2)).toEqual([`startup ${isOurs} true true`, `reload ${isOurs} true true`]);
});

// Regression: pi 1.6.0 selects the best match of a query, but this package selected the row that was selected before.
test.each(WAYS)("with $how pi $version selects the row that pi does", async ({ options }) => {
	const at = await world();
	for (let n = 0; n < 12; n++) {
		const word = n % 3 === 1 ? `needle${n}` : n % 3 === 2 ? `n e e d l e ${n}` : "other";
		put(at, `0194-${n}`, [
			said("a", null, user(`question ${n}`), n + 1),
			said("b", "a", assistant(`${"answer ".repeat(n)} ${word} needs an answer ${n}`), n + 1),
		]);
	}
	const both = await Lists.start(at, at, options);
	/** Steps of keys. After each step both lists must be equal; within a step they are not compared. */
	const cases: string[][][] = [
		[[..."Down Down Down Down Down".split(" ")], [..."needle", "Enter"]],
		[["Down", "Down", "Down"], ["n"], ["BSpace"], ["Enter"]],
		[[..."needle4", "Enter"]],
		[[..."need"], ["Down", "Down"], [..."l"], ["Enter"]],
		[[..."need"], ["Down", "Down", ..."le"], ["Down"], ["Enter"]],
		[[..."needle7"], erased("needle7"), ["Down"], ["Enter"]],
		[[..."eedle", "Home", "n", "End", "1"], ["Left", "0", "Right"], ["BSpace", "BSpace"], ["Enter"]],
		[[..."needle", "Left", "Left", "Right", "x"], ["BSpace"], ["Enter"]],
	];
	for (const steps of cases) {
		await both.resume(12);
		for (const [at, keys] of steps.entries()) {
			both.press(...keys);
			if (at < steps.length - 1) await both.see(listed);
		}
		await both.opened();
	}
});

test.each(WAYS)("with $how pi $version deletes and renames as pi does", async ({ version, options }) => {
	const worlds = [await world(), await world()] as const;
	const paths = worlds.map((at) =>
		Array.from({ length: 150 }, (_, n) =>
			put(at, `0194-${n}`, [
				said("a", null, user(`question ${n}`), 150 - n),
				said("b", "a", assistant(`${"many words ".repeat(8_000)} pear${n}end answer`), 150 - n),
			]),
		),
	);
	const gone = () => paths.map((of) => of.flatMap((path, n) => (existsSync(path) ? [] : [n])));
	const both = await Lists.start(...worlds, options);
	// The first row is also the newest session in a partial list.
	await both.do((terminal) => terminal.enter("/resume"));
	await both.do((terminal) => terminal.shows(listed, "› question 149"));
	both.press("C-d");
	await both.do((terminal) => terminal.shows("Delete session?"));
	both.press("Enter");
	await both.see(listed, "› question 148", "/149)");
	const deleted = [149];
	expect(gone()).toEqual([deleted, deleted]);
	// After a deletion, or a new name further down, only the selected row of pi 1.5.2 depends on how fast it reads the
	// list.
	if (version === referenceVersion) {
		both.press("Down", "Down", "Down");
		await both.see(listed, "› question 145");
		both.press("C-d");
		await both.do((terminal) => terminal.shows("Delete session?"));
		both.press("Enter");
		await both.see(listed, "/148)");
		deleted.unshift(145);
		expect(gone()).toEqual([deleted, deleted]);
		both.press("Down", "Down");
		await both.see(listed);
		both.press("C-r");
		await both.do((terminal) => terminal.shows("Rename Session"));
		both.press(..."Damson", "Enter");
		await both.see(listed, "Damson", "/148)");
	}
	both.press("Escape");
	// If a key follows Escape at once, the terminal reads Alt and that key.
	await both.do((terminal) => terminal.shows(closed));
	await both.do((terminal) => terminal.enter("/resume"));
	both.press(..."pear137end");
	await both.see(listed, "› question 137 ");
	both.press("C-r");
	await both.do((terminal) => terminal.shows("Rename Session"));
	both.press(..."Quince", "Enter");
	await both.see(listed, "› Quince ");
	both.press("C-d", "Enter");
	await both.see(listed, "pear137end", "No sessions in current folder", "◉ Current Folder");
	deleted.unshift(137);
	expect(gone()).toEqual([deleted, deleted]);
	// All keys are typed at once, however much of the list is read by then.
	both.press(...erased("pear137end"), ..."pear138end", "Enter");
	expect(await both.opened()).toContain("pear138end");
});

test.each(RELEASES)("in pi $version all but the first session are ours", async ({ release }) => {
	const at = await world([{ text: "An answer." }, { text: "An answer." }]);
	const path = put(at, "0194-pie", [said("a", null, user("Quince pie")), said("b", "a", assistant("Yes"))]);
	const { notes, args } = observe(at);
	await inRpc(
		at,
		async (client) => {
			await client.send({ type: "switch_session", sessionPath: path });
			await client.send({ type: "fork", entryId: "a" });
			await client.send({ type: "new_session" });
		},
		{ release, args },
	);
	// RPC mode starts some sessions twice.
	expect(notes()).toEqual([
		"startup false true true",
		"resume true true true",
		"fork true true true",
		"new true true true",
	]);
});

test.each(RELEASES)("in pi $version /import, /clone and /tree store the same", async ({ release }) => {
	const worlds = [await world([{ text: "An answer." }]), await world([{ text: "An answer." }])] as const;
	for (const at of worlds) {
		const entries = [1, 2].flatMap((n) => [
			said(`u${n}`, n === 1 ? null : "a1", user(`question ${n}`)),
			said(`a${n}`, `u${n}`, assistant(`answer ${n}`)),
		]);
		writeFileSync(join(at.work, "shared.jsonl"), text([header({ id: "0194-shared", cwd: at.work }), ...entries]));
	}
	const { notes, args } = observe(worlds[1]);
	const both = await Lists.start(...worlds, { release, args });
	const see = (...wanted: (string | RegExp)[]) => both.do((terminal) => terminal.shows(...wanted));
	await both.do((terminal) => terminal.enter("/import shared.jsonl"));
	await see("Replace current session");
	both.press("Enter");
	await see("Session imported from: shared.jsonl", "answer 2");
	await both.do((terminal) => terminal.enter("/clone"));
	await see("Cloned to new session");
	await both.do((terminal) => terminal.enter("/tree"));
	await see("Session Tree", "› • assistant: answer 2");
	both.press("Up");
	await see("› • user: question 2");
	both.press("Enter");
	await see("No summary");
	both.press("Enter");
	await see("Navigated to selected point");
	both.press("C-c");
	await see(/^(?![\s\S]*question 2)/);
	await both.do((terminal) => terminal.enter("Another question"));
	await see("An answer.");
	const [own, ours] = worlds.map((at) => {
		const normal = new Normaliser(at.root);
		const files = readdirSync(at.here).sort();
		return files.map((name) => normal.text(readFileSync(join(at.here, name), "utf8")));
	});
	expect(ours).toHaveLength(2);
	expect(ours).toEqual(own);
	expect(notes().sort()).toEqual([
		"fork false true false",
		"fork true true true",
		"resume false true false",
		"resume true true true",
		"startup false true false",
		"startup false true true",
	]);
});

test.each(RELEASES)("in pi $version `pi-native -r` opens the same session", async ({ release }) => {
	const at = await world();
	fill(at);
	const { notes, args } = observe(at);
	const options = { release, args: ["-r", ...args], ready: listed };
	const both = await Lists.start(at, at, { ...options, hooked: "pi-native", extension: false });
	await both.see(listed, "question 0", "question 10");
	both.press("Tab");
	await both.see(listed, "/other", "(1/12)");
	both.press(..."pear3end");
	await both.see(listed, /› question 3 .*\/other/);
	both.press(...erased("pear3end"), "Tab");
	await both.see(listed, "question 10");
	both.press("Down", "Down", "Enter");
	expect(await both.opened(/^(?![\s\S]*Resume Session)[\s\S]*Using loopback/)).toContain("answer 2");
	// Both wrote a note: pi alone, and pi with our manager.
	expect(notes().sort()).toEqual(["startup false true false", "startup true true true"]);
});

test.each([
	{ how: "pi alone", extension: false as const },
	{ how: "pi with the extension", extension: root },
])("$how opens a deleted session of the list as empty", async ({ extension }) => {
	const at = await world();
	const paths = ["first", "second", "third"].map((word, n) =>
		put(at, `0194-${n}`, [said("a", null, user(`question ${word}`), n + 1)]),
	);
	const terminal = await inTerminal(at, { extension });
	await terminal.enter("/resume");
	await terminal.shows(listed, /question first[\s\S]*question third/);
	for (const path of paths.slice(0, 2)) rmSync(path);
	await terminal.type("third");
	await terminal.shows(listed, "› question third");
	terminal.press(...erased("third"));
	await terminal.shows("› question first", "question third");
	terminal.press("Enter");
	await terminal.shows(/^(?![\s\S]*Resume Session)(?![\s\S]*question)[\s\S]*Resumed session/, "scripted • medium");
});

test("pi starts, and works, without the addon being loaded", async () => {
	const at = await world([{ text: "An answer." }]);
	fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("Hello");
	await terminal.shows("An answer.");
	expect(catalogs(at)).toEqual([]);
});

test("the setting `sessions` leaves /resume to pi", async () => {
	const at = await world([], { "pi-session-native": { sessions: false } });
	fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 10");
	expect(catalogs(at)).toEqual([]);
});

test("an unknown or wrong setting is named", async () => {
	const at = await world([], { "pi-session-native": { resume: false, sessions: "no" } });
	const terminal = await inTerminal(at);
	await terminal.shows('unknown setting "resume"', '"sessions" must be true or false');
});

test("without the addon pi lists sessions and says why", async () => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at, { extension: withoutAddon(at) });
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 0", "question 10");
	terminal.press("Escape");
	await terminal.shows(/runs on its own session manager,\s+because/);
});

test("in the process of a subagent the extension adds nothing", async () => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at, { env: { PI_SUBAGENT_CHILD: "1" } });
	await terminal.enter("/resume");
	await terminal.shows(listed, "question 10");
	expect(catalogs(at)).toEqual([]);
});
