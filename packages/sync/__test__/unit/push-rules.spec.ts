// Sessions and lines that never leave a machine: private sessions, and lines that contain a secret.
import { execFileSync } from "node:child_process";
import {
	appendFileSync,
	chmodSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { SessionManager, setAgentDir } from "pi-session-native";
import { expect, onTestFinished, test, vi } from "vitest";
import { root } from "../../../../__test__/support/scratch.js";
import { dirName, testWith } from "../../../../__test__/support/windows.js";
import { loadAll, SessionSync } from "../../lib/index.js";
import { emptyDirectory, entry, header, ids, library, SESSION, said, writeSettings } from "../support/lines.js";
import { text, world } from "../support/machines.js";

const { lostRules } = await import(join(root, "lib/cli/store-rules.mjs"));
const { FilePush } = createRequire(library)("./sync/push.js");
const { pushRules, projectIn, readSettings, setPrivate } = createRequire(import.meta.url)(
	"../../lib/machine/settings.js",
);
const settingsOf = (value: unknown, agent = emptyDirectory()) => {
	writeSettings(agent, value);
	return agent;
};
/** They are joined here, so that no scanner reports them as keys. */
const KEYS = [
	`AKIA${"ABCDEFGHIJ234567"}`,
	`sk-${"ant-"}${"a1".repeat(24)}`,
	`ghp_${"a1B2".repeat(9)}`,
	`AIza${"a1B2c".repeat(7)}`,
	`xoxb-${"1234567890-abc"}`,
	`-----BEGIN ${"OPENSSH PRIVATE KEY"}-----`,
	`hf_${"aB".repeat(17)}`,
	`npm_${"a1B2".repeat(9)}`,
	`glpat-${"a1B2".repeat(5)}`,
	`sk_live_${"a1B2".repeat(6)}`,
	`sk-${"or-v1-"}${"a1b2".repeat(16)}`,
	`gsk_${"a1B2".repeat(13)}`,
	`xai-${"a1B2".repeat(20)}`,
	`SG.${"a1B2c3".repeat(4).slice(0, 22)}.${"a1B2c3".repeat(8).slice(0, 43)}`,
];

test("a provider's key keeps its line and later lines back", async () => {
	for (const key of KEYS) {
		const { machine, begin } = world();
		const a = machine("a");
		const { secretIn } = pushRules(settingsOf({ secrets: true }));
		const sync = () => new SessionSync({ ...a.options, secretIn });
		begin(a, entry("a"), said("b", null, `export KEY=${key}\nmore`), entry("c"));
		expect(await sync().push(), key).toMatchObject([
			{ error: { code: "held-back", message: expect.stringMatching(/entry b contains .*pi-sync redact/) } },
		]);
		expect(ids(await loadAll(a.store, SESSION))).toEqual(["a"]);
		appendFileSync(a.file, text(entry("d")));
		expect(await sync().push()).toMatchObject([{ error: { code: "held-back" } }]);
		expect(ids(await loadAll(a.store, SESSION))).toEqual(["a"]);
		writeFileSync(a.file, readFileSync(a.file, "utf8").replace(key, "gone"));
		expect(await sync().push()).toMatchObject([{ lag: 0 }]);
		expect(ids(await loadAll(a.store, SESSION))).toEqual(["a", "b", "c", "d"]);
	}
});

// Regression: the second push had a note. So it did not compare, and did not push a line that the store has, nor the
// lines after it.
test("a stored line is not held back", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(
		a,
		said("a", null, "x".repeat(600_000)),
		said("b", null, "x".repeat(600_000)),
		said("c", null, KEYS[0] as string),
		entry("d"),
	);
	await a.sync.push();
	const { secretIn } = pushRules(settingsOf({ secrets: true }));
	let note: { offset: number } | undefined;
	const store = (beforePortion?: () => void) =>
		new FilePush(
			{
				...{ store: a.store, project: "shop", secretIn, isPrivate: () => false },
				notes: { get: () => note, set: async (_: string, one: typeof note) => void (note = one) },
				redactions: {
					pushUnlessKnown: async () => beforePortion?.(),
					redactKnownCopies: async () => false,
					forget: () => {},
				},
			},
			{ session: SESSION, file: a.file },
		).run();
	const end = () => {
		if (note) throw new Error("killed");
	};
	await expect(store(end)).rejects.toThrow("killed");
	await store();
	expect(note?.offset).toBe(statSync(a.file).size);
	appendFileSync(a.file, text(said("e", null, KEYS[0] as string)));
	await expect(store()).rejects.toMatchObject({ code: "held-back" });
});

// Regression: JSON writes a line break as \n, and its n was read as a part of the word.
test("keys are found after line breaks, colours and in JSON", () => {
	const { secretIn } = pushRules(settingsOf({ secrets: true }));
	for (const key of KEYS)
		for (const before of ["x\n", "\n", "\t", "\u001b[31m", "\u001b[01;31m\u001b[K", "\\", "\\u001b[31m"]) {
			const content = `${before}${key}\nmore`;
			for (const one of [content, JSON.stringify({ content }), JSON.stringify(JSON.stringify([content]))])
				expect(secretIn(said("a", null, one)), one).toBeDefined();
		}
	expect(secretIn(said("a", null, `x\n${(KEYS[0] as string).toLowerCase()}`))).toBeUndefined();
});

test("private sessions are not pushed, by directory and by id", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("a"));
	const rules = (value: object) => pushRules(settingsOf(value));
	for (const own of [rules({ private: ["/work/secret"] }), rules({ private: [SESSION] })]) {
		const sync = new SessionSync({ ...a.options, cwd: "/work/secret/app", ...own });
		writeFileSync(a.file, text(header().toString().replace("/home/me/shop", "/work/secret/app"), entry("a")));
		expect(await sync.push()).toEqual([]);
		await expect(sync.push({ session: SESSION })).rejects.toThrow(/is private/);
		expect(await sync.push({ local: [{ session: SESSION, file: a.file }] })).toEqual([]);
		expect(await sync.lagOf({ session: SESSION, file: a.file })).toBe(0);
		expect((await a.store.list()).sessions).toEqual([]);
	}
	const { isPrivate } = rules({ private: ["~/secret", "/work/app"] });
	const of = (cwd: string) => isPrivate({ session: "x", cwd });
	expect([of(join(homedir(), "secret", "deep")), of("/work/app"), of("/work/app2"), of("/work")]).toEqual([
		true,
		true,
		false,
		false,
	]);
});

// Regression: it was compared letter by letter, so the session was stored.
test("a private UUID may be written in capitals", async () => {
	const id = "0194aaaa-1111-7111-8111-abcdefabcdef";
	const settings = (...entries: string[]) => ({ private: entries });
	const isPrivate = (agent: string, session: string) =>
		pushRules(agent).isPrivate({ session, file: join(agent, "missing.jsonl"), cwd: "/work" });
	for (const entry of [id.toUpperCase(), `id:${id.toUpperCase()}`, id])
		for (const session of [id, id.toUpperCase()]) expect(isPrivate(settingsOf(settings(entry)), session)).toBe(true);
	expect(isPrivate(settingsOf(settings("id:ABC")), "abc")).toBe(false);
	const agent = settingsOf(settings(id.toUpperCase()));
	await setPrivate(agent, id, false);
	expect(isPrivate(agent, id)).toBe(false);
});

// Regression: each was pushed.
testWith("links")("private directories and projects are found through links", async () => {
	const path = emptyDirectory();
	const [real, link] = [join(path, "data"), join(path, "link")];
	mkdirSync(join(real, "app"), { recursive: true });
	symlinkSync(real, link);
	for (const [listed, cwd] of [
		[link, real],
		[real, link],
	] as const) {
		const agent = settingsOf({ private: [listed], projects: { [listed]: "shop", [join(listed, "app")]: "app" } });
		const { isPrivate } = pushRules(agent);
		expect([isPrivate({ session: "x", cwd: join(cwd, "app") }), isPrivate({ session: "x", cwd: path })]).toEqual([
			true,
			false,
		]);
		const named = async (below: string) => (await projectIn(join(cwd, below), "host", agent, "")).project;
		expect([await named(""), await named("app"), await named("other/deep")]).toEqual([
			"shop",
			"app",
			"shop:other/deep",
		]);
	}
});

// Regression: a header of more than 64 KiB was not recognized.
test("a fork of an unreadable parent is private", () => {
	const dir = emptyDirectory();
	const { isPrivate } = pushRules(settingsOf({ private: [SESSION] }));
	const fork = join(dir, "x_fork.jsonl");
	const write = (parentSession: string, note: string) =>
		writeFileSync(
			fork,
			`\n${text(JSON.stringify({ ...JSON.parse(header("fork").toString()), note, parentSession }), entry("a"))}`,
		);
	write(join(dir, `x_${SESSION}.jsonl`), "ä".repeat(100_000));
	expect(isPrivate({ session: "fork", file: fork, cwd: "/" })).toBe(true);
	const parent = join(dir, "x_parent.jsonl");
	write(parent, "");
	const isForkPrivate = (first: Buffer | string) => {
		writeFileSync(parent, text(first, entry("a")));
		return isPrivate({ session: "fork", file: fork, cwd: "/" });
	};
	expect([isForkPrivate(header("parent")), isForkPrivate("no header"), isForkPrivate(entry("b"))]).toEqual([
		false,
		true,
		true,
	]);
	// A damaged line before the header is skipped, as when the session is opened.
	expect([
		isForkPrivate(`{"type":"mess\n${header("parent")}`),
		isForkPrivate(`{"type":"mess\n${header(SESSION)}`),
	]).toEqual([false, true]);
});

// Regression: it was pushed.
test("a fork without its parent's file is private", () => {
	const dir = emptyDirectory();
	const [fork, between] = [join(dir, "x_fork.jsonl"), join(dir, "x_between.jsonl")];
	const write = (file: string, id: string, parentSession: string) =>
		writeFileSync(file, text(JSON.stringify({ ...JSON.parse(header(id).toString()), parentSession })));
	const isForkPrivate = (...named: string[]) =>
		pushRules(settingsOf({ private: named })).isPrivate({ session: "fork", file: fork, cwd: "/other" });
	write(between, "between", join(dir, "x_gone.jsonl"));
	for (const parent of [join(dir, "x_gone.jsonl"), between]) {
		write(fork, "fork", parent);
		expect([
			isForkPrivate("/shop"),
			isForkPrivate("id:else", "/shop"),
			isForkPrivate("id:else"),
			isForkPrivate("id:gone"),
			isForkPrivate(),
		]).toEqual([true, true, false, true, false]);
	}
	// From an id alone we cannot tell whether its file is missing.
	write(fork, "fork", "gone");
	expect([isForkPrivate("/shop"), isForkPrivate("id:gone")]).toEqual([false, true]);
});

test.each([
	["/other", "/shop", false],
	["/shop", "/shop", true],
	["/shop/sub", "/shop", true],
	// pi gives both the same name.
	["/work-secret", "/work/secret", true],
	["sessions", "/shop", true],
])("the fork's parent in %s, private %s: private is %s", (of, named, isPrivate) => {
	const name = of.startsWith("/") ? dirName(of) : of;
	const own = join(emptyDirectory(), name);
	mkdirSync(own);
	const fork = join(own, "x_fork.jsonl");
	for (const parentSession of [
		join(own, "x_gone.jsonl"),
		`C:\\Users\\me\\.pi\\agent\\sessions\\${name}\\x_gone.jsonl`,
	]) {
		writeFileSync(fork, text(JSON.stringify({ ...JSON.parse(header("fork").toString()), parentSession })));
		expect(pushRules(settingsOf({ private: [named] })).isPrivate({ session: "fork", file: fork, cwd: "/other" })).toBe(
			isPrivate,
		);
	}
});

// Regression: it was pushed.
test("a migrated fork of a private session is private", () => {
	const dir = emptyDirectory();
	const file = join(dir, "x_fork.jsonl");
	writeFileSync(
		file,
		text(
			JSON.stringify({
				type: "session",
				version: 2,
				id: "fork",
				timestamp: "2025-06-01T09:00:00.000Z",
				cwd: dir,
				branchedFrom: join(dir, `x_${SESSION}.jsonl`),
			}),
			entry("a"),
		),
	);
	SessionManager.open(file).close();
	expect(pushRules(settingsOf({ private: [SESSION] })).isPrivate({ session: "fork", file, cwd: dir })).toBe(true);
});

test("neither a newly private session nor its forks are stored", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("a"));
	const agent = emptyDirectory();
	const sync = new SessionSync({ ...a.options, ...pushRules(agent) });
	const [first, second] = [
		{ session: "fork-1", file: join(a.dir, "x_fork-1.jsonl") },
		{ session: "fork-2", file: join(a.dir, "x_fork-2.jsonl") },
	];
	const forkOf = (parent: string, { session, file }: { session: string; file: string }) =>
		writeFileSync(
			file,
			text(
				JSON.stringify({ ...JSON.parse(header(session).toString()), parentSession: parent }),
				entry("a"),
				entry("own"),
			),
		);
	const local = [{ session: SESSION, file: a.file }];
	await sync.push({ local });
	await setPrivate(agent, SESSION, true);
	appendFileSync(a.file, text(entry("b")));
	expect(await sync.push({ local })).toEqual([]);
	expect(ids(await loadAll(a.store, SESSION))).toEqual(["a"]);
	// A fork of a fork, and a fork whose parent's file is missing.
	forkOf(a.file, first);
	forkOf(first.file, second);
	expect(await sync.push({ local: [first, second] })).toEqual([]);
	expect(await sync.push()).toEqual([]);
	rmSync(a.file);
	expect([first, second].map((fork) => sync.isPrivate(fork))).toEqual([true, true]);
	await expect(sync.push({ session: "fork-2" })).rejects.toThrow(/is private and is not pushed/);
	expect((await a.store.list()).sessions.map(({ session }) => session)).toEqual([SESSION]);
	// The search also ends for forks of forks that name each other.
	forkOf(second.file, first);
	expect(pushRules(settingsOf({ private: ["id:other"] })).isPrivate({ ...first, cwd: "/" })).toBe(false);
});

test("marking a session changes nothing else in the settings", async () => {
	const agent = settingsOf({ store: "/x", secrets: true });
	const path = join(agent, "session-store.json");
	await Promise.all(["a", "b", "c", "a", "e"].map((id) => setPrivate(agent, id, true)));
	await setPrivate(agent, "e", false);
	expect(readSettings(agent)).toMatchObject({ store: "/x", secrets: true });
	expect(readSettings(agent).private.sort()).toEqual(["id:a", "id:b", "id:c"]);
	expect(readdirSync(agent)).not.toContainEqual(expect.stringContaining("session-store.json."));
	if (process.platform !== "win32") {
		expect(statSync(path).mode & 0o777).toBe(0o600);
		renameSync(path, join(agent, "kept.json"));
		symlinkSync("kept.json", path);
		await setPrivate(agent, "d", true);
		expect(JSON.parse(readFileSync(join(agent, "kept.json"), "utf8")).private.sort()).toEqual([
			"id:a",
			"id:b",
			"id:c",
			"id:d",
		]);
	}
	const bad = settingsOf({ stroe: 1 });
	await expect(setPrivate(bad, "a", true)).rejects.toThrow(/unknown setting, "stroe"/);
	expect(JSON.parse(readFileSync(join(bad, "session-store.json"), "utf8"))).toEqual({ stroe: 1 });
	const fresh = emptyDirectory();
	await setPrivate(fresh, "a", true);
	await setPrivate(fresh, SESSION, true);
	expect(readSettings(fresh).private).toEqual(["id:a", SESSION]);
	expect(["a", SESSION, "b"].map((session) => pushRules(fresh).isPrivate({ session, cwd: "/" }))).toEqual([
		true,
		true,
		false,
	]);
});

test("unknown and wrong settings are named", () => {
	expect(readSettings(emptyDirectory())).toMatchObject({ push: true, pull: true, private: [], secrets: false });
	// Regression: a path depended on the working directory, and a word was read as an id.
	const badEntries = ["./x", "work/secret", "secret", "~me/x", ""].map(
		(one) =>
			[
				{ private: [one] },
				/setting private must be a list of directories, each an absolute path or one in ~\//,
			] as const,
	);
	for (const [value, message] of [
		[[], /must be a JSON object/],
		[{ stroe: "x" }, /unknown setting, "stroe"; the settings are store/],
		// Regression: these reached the terminal.
		[{ "\u009b2J\u202estore": 1 }, /unknown setting, "\\u009b2J\\u202estore"; /],
		[{ push: "no" }, /setting push must be true or false/],
		[{ private: "x" }, /setting private must be a list/],
		...badEntries,
		[{ projects: { "/x": "" } }, /setting projects must be names/],
		[{ projects: { x: "x" } }, /setting projects must be names/],
		[{ secrets: "rules.json" }, /setting secrets must be true or false/],
	] as const)
		expect(() => readSettings(settingsOf(value))).toThrow(message);
	if (process.platform === "win32") return;
	const agent = settingsOf({});
	chmodSync(join(agent, "session-store.json"), 0o604);
	expect(() => readSettings(agent)).toThrow(/chmod 600/);
	// Regression: it was replaced by one with a file's rights, which could then not be read.
	const odd = emptyDirectory();
	mkdirSync(join(odd, "session-store.json"));
	expect(() => readSettings(odd)).toThrow(/session-store\.json must be a regular file$/);
});

// Regression: a link to an endless file used all memory, and with a pipe the command waited for ever.
testWith("pipes")("settings must be a small regular file", () => {
	const agent = emptyDirectory();
	const path = join(agent, "session-store.json");
	execFileSync("mkfifo", ["-m", "600", path]);
	expect(() => readSettings(agent)).toThrow(/must be a regular file$/);
	rmSync(path);
	writeFileSync(path, Buffer.alloc(2 << 20, " "), { mode: 0o600 });
	expect(() => readSettings(agent)).toThrow(/must not have more than 1048576$/);
	if (process.platform !== "linux") return;
	rmSync(path);
	symlinkSync("/proc/self/pagemap", path);
	expect(() => readSettings(agent)).toThrow();
});

test("settings name the project of a directory without a remote", async () => {
	const path = emptyDirectory();
	const [app, other] = [join(path, "acme", "app"), join(path, "other", "app")];
	for (const dir of [join(app, "below"), other]) mkdirSync(dir, { recursive: true });
	const agent = settingsOf({ projects: { [app]: "acme-app" } });
	const named = async (cwd: string) => (await projectIn(cwd, "host", agent, "")).project;
	expect([await named(app), await named(join(app, "below")), await named(other)]).toEqual([
		"acme-app",
		"acme-app:below",
		`host:${other}`,
	]);
	expect((await projectIn(app, "host", agent, "set")).project).toBe("set");
});

// `pi-sessions move` is in another package, and reads the same settings to tell which rules a renamed folder loses.
testWith("links")("pi-sessions move reads rules as a push does", async () => {
	const home = emptyDirectory();
	const [from, to, agent] = [join(home, "from"), join(home, "to"), join(home, "agent")];
	vi.stubEnv("HOME", home);
	// Without git, which would look for remotes.
	vi.stubEnv("PATH", "");
	setAgentDir(agent);
	onTestFinished(() => {
		setAgentDir(undefined);
		vi.unstubAllEnvs();
	});
	for (const dir of [join(from, "sub/deep"), agent, join(home, "From"), join(home, "..from")])
		mkdirSync(dir, { recursive: true });
	for (const [name, target] of [
		["folder", from],
		["inner", "from/sub"],
		["above", "."],
		["future", to],
		["twice", "inner"],
		["circle", "circle"],
	] as const)
		symlinkSync(target, join(home, name));
	const rules = [
		...[from, `${from}/`, `${from}//sub/../sub/`, join(from, "sub/deep"), `${home}/../${basename(home)}/from`, "/"],
		...["~", "~/", "~/from", "~/from/", "~/from/sub/deep/deeper", "~/From", "~/fro", "~/from*", "~/*", "~/..from"],
		...["~/folder", "~/folder/sub", "~/inner", "~/inner/deep", "~/above", "~/above/from/", "~/twice", "~/circle"],
		...["~/to", "~/to/sub", "~/future", "~/elsewhere", `${home}\\from`, "~/from\\sub", SESSION, "id:from", "id:/from"],
	];
	const invalid = [
		"",
		"*",
		"from",
		"./from",
		"../from",
		"~me/from",
		"C:\\from",
		"\\from",
		`file://${from}`,
		5,
		null,
		{},
	];
	const others = ["~/to/sub", "~/future", "~/elsewhere"];
	const lists = [...rules.map((rule) => [rule]), ...rules.flatMap((rule) => others.map((other) => [rule, other]))];
	const places = ["", "sub", "sub/deep", "sub/deep/deeper"];
	const arePrivate = (list: unknown[], folder: string): boolean[] => {
		const { isPrivate } = pushRules(settingsOf({ private: list }, agent));
		return places.map((place) => isPrivate({ session: "s", cwd: join(folder, place) }));
	};
	const isNamed = async (rule: string, folder: string): Promise<boolean> =>
		(
			await projectIn(join(folder, "sub/deep/deeper"), "host", settingsOf({ projects: { [rule]: "shop" } }, agent), "")
		).project.startsWith("shop");
	const directories = rules.filter((rule) => /^[~/]/.test(rule));
	const [before, namedBefore] = [lists.map((list) => arePrivate(list, from)), new Set<string>()];
	for (const rule of directories) if (await isNamed(rule, from)) namedBefore.add(rule);
	renameSync(from, to);
	for (const [at, list] of lists.entries()) {
		const after = arePrivate(list, to);
		const { hidden, error } = lostRules({ from, to });
		const isLost = before[at]?.some((isPrivate, place) => isPrivate && !after[place]);
		expect([hidden.length > 0, error], list.join()).toEqual([isLost, undefined]);
	}
	for (const rule of directories) {
		const isNamedAfter = await isNamed(rule, to);
		const isLost = namedBefore.has(rule) && !isNamedAfter;
		expect(lostRules({ from, to }).named, rule).toEqual(isLost ? [rule] : []);
	}
	// Nothing at all is pushed with these entries.
	for (const entry of invalid) {
		expect(() => arePrivate([entry], from), String(entry)).toThrow(/setting private must be/);
		expect(lostRules({ from, to }).hidden).toEqual([]);
		if (typeof entry !== "string") continue;
		await expect(isNamed(entry, from), entry).rejects.toThrow(/setting projects must be/);
		expect(lostRules({ from, to }).named).toEqual([]);
	}
});
