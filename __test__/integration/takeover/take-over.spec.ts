// pi's class taken over: on the classes of the reference and of the release before it, in this process.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, win32 } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { earlierPackage, referencePackage } from "../../../scripts/demo/pi.mjs";
import {
	api,
	assistant,
	header,
	lockedOut,
	message,
	modeOf,
	ownAgent,
	root,
	scratch,
	setEnv,
	text,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";
import { agentDir, plain } from "../../unit/catalog/agent-dir.js";

const native = (path: string): Promise<any> => import(/* @vite-ignore */ pathToFileURL(path).href);
const { takeOver } = await native(join(root, "lib/takeover/take-over.mjs"));
const STATICS = ["create", "open", "continueRecent", "inMemory", "forkFrom", "findById", "list", "listAll"];
const modules = { "of the reference": referencePackage, "of the release before it": earlierPackage };
const SAID = Symbol.for("pi-session-native.takeover.2");

/** A fresh copy of a release's module: each test has a class of its own. */
let copies = 0;
async function freshPi(dir = referencePackage, more: Record<string, unknown> = {}): Promise<any> {
	const url = pathToFileURL(join(dir, "dist/core/session-manager.js")).href;
	const { SessionManager, CURRENT_SESSION_VERSION } = await import(/* @vite-ignore */ `${url}?copy=${++copies}`);
	return {
		SessionManager,
		CURRENT_SESSION_VERSION,
		VERSION: "1.6.0",
		getAgentDir: () => process.env.PI_CODING_AGENT_DIR,
		...more,
	};
}

/** Takes a pi over for the length of a test. */
function taken(pi: any, more: Record<string, unknown> = {}) {
	const warn = vi.fn();
	const undo = takeOver(pi, { warn, ...more });
	onTestFinished(undo);
	return { warn, undo, lines: () => warn.mock.calls.map(([line]) => line) };
}

const isOurs = (manager: unknown): boolean => manager instanceof api.SessionManager;
const because = (reason: string): string =>
	`pi-session-native: pi 1.6.0 runs on its own session manager, because ${reason}`;

afterEach(() => {
	// Each line is said once in a process.
	(globalThis as any)[SAID].said.clear();
	Reflect.deleteProperty(globalThis, Symbol.for("pi-session-native.app"));
});

describe.each(Object.entries(modules))("the class %s, taken over,", (_, dir) => {
	test("makes our managers by each static, and pi's own once that is undone", async () => {
		agentDir(3);
		const pi = await freshPi(dir);
		const own = STATICS.map((name) => pi.SessionManager[name]);
		const file = writeSession(scratch(), [header(), message("a", null, user())]);
		const made = () => {
			const { SessionManager: S } = pi;
			return [
				S.create("/project"),
				S.open(file),
				S.continueRecent("/project"),
				S.inMemory(),
				S.forkFrom(file, "/project"),
			];
		};
		const before = made();
		const { undo, lines } = taken(pi);
		const ours = made();
		expect(before.map(isOurs)).toEqual([false, false, false, false, false]);
		expect(ours.map(isOurs)).toEqual([true, true, true, true, true]);
		for (const manager of [...before, ...ours]) expect(manager).toBeInstanceOf(pi.SessionManager);
		expect(api.SessionManager).not.toBe(pi.SessionManager);
		expect({}).not.toBeInstanceOf(pi.SessionManager);
		for (const name of STATICS)
			expect([pi.SessionManager[name].name, pi.SessionManager[name].length, Object.keys(pi.SessionManager)]).toEqual([
				name,
				own[STATICS.indexOf(name)].length,
				[],
			]);
		undo();
		expect(STATICS.map((name) => pi.SessionManager[name])).toEqual(own);
		expect(made().map(isOurs)).toEqual([false, false, false, false, false]);
		// Managers of both kinds go on.
		for (const manager of [before[1], ours[1]]) expect(manager.appendMessage(user("more"))).toEqual(expect.any(String));
		for (const manager of ours) expect(manager).toBeInstanceOf(pi.SessionManager);
		expect(lines()).toEqual([]);
	});

	test("finds and lists what pi's own finds and lists", async () => {
		const { agent, dir: project } = agentDir();
		mkdirSync(join(agent, "sessions/none"));
		const pi = await freshPi(dir);
		const seen = async () => ({
			here: plain(await pi.SessionManager.list("/project")),
			all: plain(await pi.SessionManager.listAll()),
			there: plain(await pi.SessionManager.listAll(project)),
			found: pi.SessionManager.findById("/project", "s-2"),
		});
		const own = await seen();
		taken(pi);
		expect(await seen()).toEqual(own);
		expect(own.all.length).toBeGreaterThan(own.here.length);
	});
});

// Regression: without a call with a working directory before, listAll was always pi's own on Windows.
test("on Windows listAll is ours, although no call had a working directory", async () => {
	const { agent } = agentDir(0);
	const sessions = join(agent, "sessions");
	const dir = join(sessions, "--C--Users-me-pi--");
	mkdirSync(dir);
	writeSession(dir, [header({ cwd: "C:\\Users\\me\\pi" }), message("a", null, user())]);
	const pi = await freshPi();
	pi.SessionManager.prototype.usesDefaultSessionDir = () => true;
	const getDefaultSessionDir = (cwd: string) =>
		join(sessions, `--${win32.resolve("C:\\", cwd).replace(/[\\:]/g, "-")}--`);
	taken(pi, { load: () => ({ ...api, getDefaultSessionDir }) });
	const list = vi.spyOn(api.SessionManager, "listAll");
	const platform = Object.getOwnPropertyDescriptor(process, "platform") as PropertyDescriptor;
	Object.defineProperty(process, "platform", { ...platform, value: "win32" });
	onTestFinished(() => {
		Object.defineProperty(process, "platform", platform);
		list.mockRestore();
	});
	expect(await pi.SessionManager.listAll()).toHaveLength(1);
	expect(list).toHaveBeenCalled();
});

test("a subclass keeps what it inherits from pi", async () => {
	agentDir(2);
	const pi = await freshPi();
	class Sub extends pi.SessionManager {}
	taken(pi);
	for (const manager of [(Sub as any).inMemory(), (Sub as any).create("/project")]) {
		expect(isOurs(manager)).toBe(false);
		expect(manager).toBeInstanceOf(pi.SessionManager);
	}
	const ours = pi.SessionManager.inMemory();
	expect(isOurs(ours)).toBe(true);
	expect(ours).not.toBeInstanceOf(Sub);
	const { inMemory } = pi.SessionManager;
	expect(isOurs(inMemory())).toBe(true);
});

test("several who take a class over do it once, until the last has undone it", async () => {
	const pi = await freshPi();
	const own = pi.SessionManager.create;
	const first = taken(pi);
	const { create } = pi.SessionManager;
	const second = taken(pi);
	// Another copy of this file, as pi's loader of extensions makes one.
	const copy = await import(/* @vite-ignore */ `${pathToFileURL(join(root, "lib/takeover/take-over.mjs")).href}?copy`);
	const undoThird = copy.takeOver(pi, { warn() {} });
	expect(pi.SessionManager.create).toBe(create);
	first.undo();
	first.undo();
	second.undo();
	expect(pi.SessionManager.create).toBe(create);
	expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
	undoThird();
	expect(pi.SessionManager.create).toBe(own);
	taken(pi);
	expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
});

test("the library is loaded by the first call, and told pi's directory", async () => {
	const { agent } = agentDir(2);
	setEnv({ PI_CODING_AGENT_DIR: "/nowhere" });
	const pi = await freshPi(referencePackage, { getAgentDir: () => agent });
	// This copy of pi's class does not ask that function.
	pi.SessionManager.prototype.usesDefaultSessionDir = () => true;
	const load = vi.fn((exported) => {
		(globalThis as any)[Symbol.for("pi-session-native.app")] = { name: "pi", getAgentDir: exported.getAgentDir };
		return api;
	});
	taken(pi, { load });
	expect(load).not.toHaveBeenCalled();
	expect(await pi.SessionManager.listAll()).toHaveLength(2);
	expect(load).toHaveBeenCalled();
});

describe("pi runs on its own manager, and one line says why,", () => {
	async function refused(pi: any, reason: string | RegExp, more: Record<string, unknown> = {}) {
		const own = pi.SessionManager && { ...Object.getOwnPropertyDescriptors(pi.SessionManager) };
		const { lines, undo } = taken(pi, more);
		if (pi.SessionManager?.inMemory) expect(isOurs(pi.SessionManager.inMemory())).toBe(false);
		// A second session, for which an extension asks again.
		taken(pi, more);
		pi.SessionManager?.inMemory?.();
		undo();
		if (typeof reason === "string") expect(lines()).toEqual([because(reason)]);
		else expect(lines().join("\n")).toMatch(reason);
		if (own)
			for (const name of STATICS) expect(Object.getOwnPropertyDescriptor(pi.SessionManager, name)).toEqual(own[name]);
	}

	test("where it exports no class", async () => {
		await refused({ ...(await freshPi()), SessionManager: undefined }, "it exports no class SessionManager");
	});

	test("where its class lacks a static, or has one more", async () => {
		for (const name of STATICS) {
			const pi = await freshPi();
			delete pi.SessionManager[name];
			const { lines } = taken(pi);
			expect(lines()).toEqual([because(`SessionManager.${name} is not as expected`)]);
			(globalThis as any)[SAID].said.clear();
		}
		const pi = await freshPi();
		Object.assign(pi.SessionManager, { teleport() {} });
		await refused(pi, "SessionManager.teleport is not known");
	});

	test("where its class is frozen or sealed", async () => {
		for (const close of [Object.freeze, Object.seal, Object.preventExtensions]) {
			const pi = await freshPi();
			close(pi.SessionManager);
			await refused(pi, "SessionManager cannot be changed");
			(globalThis as any)[SAID].said.clear();
		}
	});

	test("where another program replaced a static before", async () => {
		const replacements = [
			(cwd: string) => cwd,
			async (...args: unknown[]) => args,
			function list(_a: 1, _b: 2, _c: 3, _d: 4) {},
			null,
		];
		for (const list of replacements) {
			const pi = await freshPi();
			pi.SessionManager.list = list;
			await refused(pi, "SessionManager.list is not as expected");
			(globalThis as any)[SAID].said.clear();
		}
	});

	// Regression: the takeover threw.
	test("where its class refuses a change", async () => {
		const refusals: [string, (holder: any) => any][] = [
			[
				"SessionManager[Symbol.hasInstance] cannot be replaced",
				(holder) => Object.defineProperty(holder, Symbol.hasInstance, { value: () => false }),
			],
			["SessionManager.create cannot be replaced", (holder) => new Proxy(holder, { defineProperty: () => false })],
			[
				"SessionManager.forkFrom cannot be replaced",
				(holder) =>
					new Proxy(holder, {
						defineProperty: (target, key, property) =>
							key !== "forkFrom" && Reflect.defineProperty(target, key, property),
					}),
			],
			[
				"SessionManager.create cannot be replaced",
				(holder) =>
					new Proxy(holder, {
						defineProperty() {
							throw new Error("no");
						},
					}),
			],
			[
				"it is guarded",
				(holder) =>
					new Proxy(holder, {
						isExtensible() {
							throw new Error("it is guarded\nby a proxy");
						},
					}),
			],
			[
				"open is guarded",
				(holder) =>
					new Proxy(holder, {
						get(target, key, receiver) {
							if (key === "open") throw new Error("open is guarded");
							return Reflect.get(target, key, receiver);
						},
					}),
			],
		];
		for (const [reason, guarded] of refusals) {
			const pi = await freshPi();
			pi.SessionManager = guarded(pi.SessionManager);
			await refused(pi, reason);
			(globalThis as any)[SAID].said.clear();
		}
	});

	test("where its sessions have another version", async () => {
		await refused(await freshPi(referencePackage, { CURRENT_SESSION_VERSION: 4 }), "its sessions have version 4");
	});

	test("where its managers have more than ours", async () => {
		for (const [name, property] of Object.entries({
			rewrite: { value() {} },
			live: { get: () => 1 },
		})) {
			const pi = await freshPi();
			Object.defineProperty(pi.SessionManager.prototype, name, { configurable: true, ...property });
			await refused(pi, `its managers have a member ${name} that this package does not have`);
			(globalThis as any)[SAID].said.clear();
		}
	});

	// Regression: the line said that this package does not have the method.
	test("where a method of its managers has another number of arguments", async () => {
		for (const [name, value, counts] of [
			["getLeafId", (_one: 1) => null, "1 instead of 0"],
			["branch", () => {}, "0 instead of 1"],
		] as const) {
			const pi = await freshPi();
			Object.defineProperty(pi.SessionManager.prototype, name, { configurable: true, value });
			await refused(pi, `its managers' ${name} has another number of arguments: ${counts}`);
			(globalThis as any)[SAID].said.clear();
		}
	});

	test("where it keeps its sessions elsewhere", async () => {
		const { agent } = agentDir(1);
		const pi = await freshPi();
		pi.SessionManager.prototype.usesDefaultSessionDir = () => false;
		const { lines } = taken(pi);
		expect(isOurs(pi.SessionManager.create("/project"))).toBe(false);
		expect(lines()).toEqual([because(`it does not store its sessions in ${join(agent, "sessions/--project--")}`)]);
	});

	// Regression: where the working directory had no sessions, listAll listed this package's directory.
	test("where it keeps its sessions elsewhere, by listAll as well, which creates no directory", async () => {
		const { agent } = agentDir(3);
		const sessions = join(agent, "sessions");
		const before = readdirSync(sessions);
		const pi = await freshPi();
		pi.SessionManager.prototype.usesDefaultSessionDir = () => false;
		const { lines } = taken(pi);
		expect(await pi.SessionManager.listAll()).toHaveLength(3);
		expect(lines()).toEqual([
			expect.stringMatching(/because it does not store its sessions in .*--(project|other)--$/),
		]);
		expect(readdirSync(sessions)).toEqual(before);
		// Without any directory to compare pi answers, and nothing is created.
		const empty = scratch();
		setEnv({ PI_CODING_AGENT_DIR: empty });
		const fresh = await freshPi();
		taken(fresh);
		const list = vi.spyOn(api.SessionManager, "listAll");
		onTestFinished(() => list.mockRestore());
		expect(await fresh.SessionManager.listAll()).toEqual([]);
		expect(list).not.toHaveBeenCalled();
		expect(readdirSync(empty)).toEqual([]);
	});

	test("where the addon does not load", async () => {
		const load = () => {
			throw new Error("pi-session-native: no addon for plan9\nbuild it");
		};
		await refused(await freshPi(), "no addon for plan9", { load });
	});

	test("where the process serves another pi, which keeps its sessions elsewhere", async () => {
		agentDir(1);
		const [pi, second] = [await freshPi(), await freshPi(referencePackage, { getAgentDir: () => "/elsewhere" })];
		taken(pi);
		expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
		await refused(second, /this process already serves a pi that stores its sessions in .*, not in \/elsewhere$/);
		expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
	});
});

// Regression: the takeover by the second version threw, because the state of the first one had another shape.
test("a class that another version of this package took over stays so, and a line says so", async () => {
	const dir = scratch();
	const file = join(root, "lib/takeover/take-over.mjs");
	const other = readFileSync(file, "utf8").replaceAll("native.takeover.2", "native.takeover.1");
	writeFileSync(join(dir, "take-over.mjs"), other);
	writeFileSync(
		join(dir, "library.mjs"),
		`export { library } from ${JSON.stringify(pathToFileURL(join(dirname(file), "library.mjs")).href)};`,
	);
	const version = await native(join(dir, "take-over.mjs"));
	const pi = await freshPi();
	const own = pi.SessionManager.create;
	const undo = version.takeOver(pi, { warn() {} });
	const { create } = pi.SessionManager;
	const { lines } = taken(pi);
	expect(pi.SessionManager.create).toBe(create);
	expect(lines()).toEqual([
		"pi-session-native: another version of this package has taken over SessionManager before, and is used",
	]);
	undo();
	expect(pi.SessionManager.create).toBe(own);
	const later = taken(pi);
	expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
	expect(later.lines()).toEqual([]);
});

test("a static that another program replaced since is left alone, calls pi's own, and a line says so", async () => {
	const pi = await freshPi();
	const own = { ...Object.getOwnPropertyDescriptors(pi.SessionManager) };
	const { undo, lines } = taken(pi);
	const ours = pi.SessionManager.inMemory;
	const wrapped = () => ours.call(pi.SessionManager);
	pi.SessionManager.inMemory = wrapped;
	expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
	undo();
	expect(pi.SessionManager.inMemory).toBe(wrapped);
	expect(isOurs(pi.SessionManager.inMemory())).toBe(false);
	expect(pi.SessionManager.create).toBe(own.create.value);
	expect(lines()).toEqual([
		"pi-session-native: another program has replaced SessionManager.inMemory, so its replacement stays",
	]);
	// The other program gives back what it found, which was ours: the next takeover does not call it.
	pi.SessionManager.inMemory = ours;
	const again = taken(pi);
	expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
	again.undo();
	expect(pi.SessionManager.inMemory).toBe(own.inMemory.value);
});

// Regression: undoing threw, and so did the call of pi that made it necessary.
test("a class that is frozen since keeps our statics, which call pi's own, and a line says so", async () => {
	const pi = await freshPi();
	const { lines } = taken(pi, {
		load: () => {
			throw new Error("no addon for plan9");
		},
	});
	Object.freeze(pi.SessionManager);
	expect(isOurs(pi.SessionManager.inMemory())).toBe(false);
	expect(isOurs(pi.SessionManager.create(scratch(), scratch()))).toBe(false);
	expect(lines()).toEqual([
		because("no addon for plan9"),
		"pi-session-native: SessionManager can no longer be changed, so its methods stay and call pi's own",
	]);
});

// Regression: pi created the directories while both were compared, with modes by which other users could read them.
testWith("modes")("the session directories that a call creates are the user's alone", async () => {
	for (const name of ["create", "continueRecent", "list"]) {
		const { agent } = ownAgent();
		const pi = await freshPi();
		taken(pi);
		await pi.SessionManager[name]("/p");
		for (const dir of [agent, join(agent, "sessions"), join(agent, "sessions/--p--")]) expect(modeOf(dir)).toBe(0o700);
	}
});

// Regression: "it does not store its sessions in …" ended the takeover.
testWith("names")(
	"a working directory whose name is too long for its sessions is ours, and the next call is compared",
	async () => {
		const { agent } = ownAgent();
		const pi = await freshPi();
		const own = pi.SessionManager.create;
		const { lines } = taken(pi);
		for (const long of [`/${"deep/".repeat(60)}`, `/${"日本".repeat(42)}`, `/${"x".repeat(252)}`]) {
			expect(() => own.call(pi.SessionManager, long)).toThrow("ENAMETOOLONG");
			const manager = pi.SessionManager.create(long);
			manager.appendMessage(user());
			expect(isOurs(manager)).toBe(true);
			expect(manager.usesDefaultSessionDir()).toBe(true);
			expect(await pi.SessionManager.list(long)).toHaveLength(1);
		}
		pi.SessionManager.prototype.usesDefaultSessionDir = () => false;
		expect(isOurs(pi.SessionManager.create(`/${"x".repeat(251)}`))).toBe(false);
		expect(lines()).toEqual([
			because(`it does not store its sessions in ${join(agent, "sessions", `--${"x".repeat(251)}--`)}`),
		]);
	},
);

// Regression: one call that failed by its own path ended the takeover.
describe("pi answers a call itself, and the next one is ours,", () => {
	test("where its working directory is no path", async () => {
		agentDir(1);
		const pi = await freshPi();
		const calls = (S: any) =>
			["file://host/x", undefined, 5].map((cwd) => {
				try {
					return typeof S.create(cwd);
				} catch (error) {
					return String(error);
				}
			});
		const own = calls(pi.SessionManager);
		expect(own).toEqual(own.map(() => expect.stringMatching(/Error/)));
		const { lines } = taken(pi);
		expect(calls(pi.SessionManager)).toEqual(own);
		expect(isOurs(pi.SessionManager.create("/project"))).toBe(true);
		expect(lines()).toEqual([]);
	});

	test("where the working directory was deleted", async () => {
		agentDir(2);
		const pi = await freshPi();
		const [before, gone] = [process.cwd(), scratch()];
		process.chdir(gone);
		onTestFinished(() => process.chdir(before));
		rmSync(gone, { recursive: true });
		const { lines } = taken(pi);
		expect(await pi.SessionManager.listAll()).toHaveLength(2);
		expect(() => pi.SessionManager.create("relative")).toThrow("ENOENT");
		process.chdir(before);
		expect(isOurs(pi.SessionManager.create("/project"))).toBe(true);
		expect(lines()).toEqual([]);
	});
});

describe("the texts of a list that is shown", () => {
	/** How often files were opened to read a text is not seen from here: a file that is gone has no text any more. */
	async function listed(show: boolean, meanwhile = (_pi: any) => {}) {
		const { dir } = agentDir(0);
		const paths = Array.from({ length: 100 }, (_, n) =>
			writeSession(
				dir,
				[header({ id: `s-${n}`, cwd: "/project" }), message("a", null, user(`text ${n}`))],
				`${n}.jsonl`,
			),
		);
		const pi = await freshPi();
		taken(pi);
		const sessions = await pi.SessionManager.list("/project", undefined, show ? () => {} : undefined);
		meanwhile(pi);
		await new Promise((done) => setTimeout(done, 300));
		// What was not read is another text by now.
		for (const path of paths) appendFileSync(path, text([message("b", "a", assistant("later"))]));
		return sessions.map((session: any) => session.allMessagesText) as string[];
	}

	test("are read ahead where the list is shown", async () => {
		const read = vi.spyOn(api.SessionManager, "readTexts");
		onTestFinished(() => read.mockRestore());
		const texts = await listed(true);
		expect(texts).toHaveLength(100);
		expect(texts.filter((one) => one.startsWith("text"))).toHaveLength(100);
		expect(read.mock.calls.map(([sessions]) => sessions.length)).toEqual([32, 32, 32, 4]);
	});

	test("are not read ahead where it is not, and no longer once a session is opened", async () => {
		const read = vi.spyOn(api.SessionManager, "readTexts");
		onTestFinished(() => read.mockRestore());
		await listed(false);
		expect(read).not.toHaveBeenCalled();
		const file = writeSession(scratch(), [header()]);
		await listed(true, (pi) => pi.SessionManager.open(file));
		expect(read.mock.calls.length).toBeLessThan(3);
	});

	// Regression: the list failed, although all its sessions had been found.
	test("do not make the list fail if other threads cannot read them while the user types", async () => {
		const { dir } = agentDir(0);
		for (let n = 0; n < 100; n++) writeSession(dir, [header({ id: `s-${n}`, cwd: "/project" })], `${n}.jsonl`);
		const pi = await freshPi();
		taken(pi);
		const failed = vi.spyOn(api.SessionManager, "readTexts").mockRejectedValue(new Error("no thread"));
		onTestFinished(() => failed.mockRestore());
		let partial = 0;
		const sessions = await pi.SessionManager.list("/project", undefined, (_: number, __: number, some?: any[]) => {
			partial += some?.map((session) => session.allMessagesText).length ?? 0;
		});
		expect(partial).toBeGreaterThan(0);
		expect(failed).toHaveBeenCalled();
		expect(sessions).toHaveLength(100);
	});
});

// Regression: with a query in the field, each new list read all texts on pi's thread, for 1.5 to 2.3 seconds.
describe.runIf(process.platform === "linux")("with a query in the field, pi's thread reads", () => {
	const SIZE = 100_000;
	/** How many bytes this thread has read from files. */
	const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync("/proc/thread-self/io", "utf8"))?.[1]);

	/** A screen that shows lists as pi's `/resume` does, over sessions of two directories. */
	async function screen(count: number) {
		const { dir, other } = agentDir(0);
		const at = (n: number) => (n % 4 === 3 ? { dir: other, cwd: "/other" } : { dir, cwd: "/project" });
		const said = (n: number) => `text ${n} ${"x".repeat(SIZE)}`;
		const paths = Array.from({ length: count }, (_, n) =>
			writeSession(
				at(n).dir,
				[header({ id: `s-${n}`, cwd: at(n).cwd }), message("a", null, user(said(n)))],
				`${n}.jsonl`,
			),
		);
		const pi = await freshPi();
		taken(pi);
		/** The shown sessions, how many texts were read on this thread, and the length of the first partial list. */
		const state = { shown: [] as any[], texts: 0, first: 0, query: "" };
		const filter = (sessions: any[]) => {
			state.shown = sessions;
			if (state.query === "") return;
			for (const one of sessions) {
				const before = bytesRead();
				expect(one.allMessagesText).toBe(said(Number(one.id.slice(2))));
				if (bytesRead() - before >= SIZE) state.texts++;
			}
		};
		const list = async (isAll: boolean) => {
			[state.texts, state.first] = [0, 0];
			const onProgress = (_loaded: number, _total: number, sessions?: any[]) => {
				if (!sessions) return;
				state.first ||= sessions.length;
				filter([...sessions]);
			};
			const { SessionManager } = pi;
			filter(
				await (isAll ? SessionManager.listAll(onProgress) : SessionManager.list("/project", undefined, onProgress)),
			);
		};
		return { pi, paths, state, list, filter };
	}

	test("no text again after a deletion", async () => {
		const { paths, state, list, filter } = await screen(120);
		await list(true);
		state.query = "e";
		filter(state.shown);
		rmSync(paths[7] as string);
		await list(true);
		expect(state).toMatchObject({ texts: 0 });
		expect(state.shown).toHaveLength(119);
	});

	test("one text after a session was renamed", async () => {
		const { pi, paths, state, list, filter } = await screen(120);
		await list(true);
		state.query = "e";
		filter(state.shown);
		pi.SessionManager.open(paths[7]).appendSessionInfo("Quince");
		await list(true);
		expect(state.texts).toBeLessThanOrEqual(1);
		expect(state.shown.filter(({ name }) => name === "Quince")).toHaveLength(1);
	});

	test("the texts of the first partial list after Tab", async () => {
		const { state, list, filter } = await screen(240);
		await list(false);
		state.query = "e";
		filter(state.shown);
		await list(true);
		expect(state.texts).toBeLessThanOrEqual(state.first);
		expect(state.shown).toHaveLength(240);
	});
});

test("a session that is renamed does not end the reading of texts, and one that is opened does", async () => {
	const { dir } = agentDir(0);
	const file = writeSession(dir, [header({ cwd: "/project" }), message("a", null, user())]);
	const pi = await freshPi();
	taken(pi);
	const read = vi.spyOn(api.SessionManager, "readTexts");
	onTestFinished(() => read.mockRestore());
	const turn = () => new Promise((resolve) => setImmediate(resolve));
	const show = () => pi.SessionManager.list("/project", undefined, () => {});
	await show();
	const [, signal] = read.mock.calls[0] as any;
	let finish = (_sessions: any[]) => {};
	const list = vi.spyOn(api.SessionManager, "list").mockReturnValueOnce(new Promise((resolve) => (finish = resolve)));
	onTestFinished(() => list.mockRestore());
	pi.SessionManager.open(file).appendSessionInfo("Quince");
	const listing = show();
	await turn();
	expect(signal.aborted).toBe(false);
	finish([]);
	await listing;
	await show();
	const [, later] = read.mock.calls.at(-1) as any;
	pi.SessionManager.open(file);
	await turn();
	expect(later.aborted).toBe(true);
});

test("lists are empty where the directory cannot be read, and aborted as pi's are", async () => {
	const { agent } = agentDir(2);
	const pi = await freshPi();
	const sessions = join(agent, "sessions");
	const reason = new Error("enough");
	const own = await lockedOut(sessions, () => pi.SessionManager.listAll());
	taken(pi);
	expect(await lockedOut(sessions, () => pi.SessionManager.listAll())).toEqual(own);
	await expect(pi.SessionManager.listAll(undefined, AbortSignal.abort(reason))).rejects.toBe(reason);
	const controller = new AbortController();
	await expect(pi.SessionManager.listAll(() => controller.abort(reason), controller.signal)).rejects.toBe(reason);
	expect(await pi.SessionManager.listAll()).toHaveLength(2);
});
