// Takes over pi's class: the classes of the reference and of the release before it, in this process.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, win32 } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { referencePackage } from "../../../scripts/demo/pi.mjs";
import {
	api,
	header,
	message,
	modeOf,
	ownAgent,
	root,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";
import { agentDir, plain } from "../../unit/catalog/agent-dir.js";
import { because, freshPi, isOurs, modules, native, STATICS, taken } from "./pi.js";

describe.each(Object.entries(modules))("the class %s, taken over,", (_, dir) => {
	test("makes our managers by each static until undone", async () => {
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
		// Managers of both kinds keep working.
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

// Regression: on Windows listAll was always pi's own, unless a call with a working directory preceded it.
test("on Windows listAll is ours without a working directory", async () => {
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

test("several takeovers of a class end with the last", async () => {
	const pi = await freshPi();
	const own = pi.SessionManager.create;
	const first = taken(pi);
	const { create } = pi.SessionManager;
	const second = taken(pi);
	// Another copy of this file, because pi's loader of extensions creates one.
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

test("the first call loads the library with pi's directory", async () => {
	const { agent } = agentDir(2);
	setEnv({ PI_CODING_AGENT_DIR: "/nowhere" });
	const pi = await freshPi(referencePackage, { getAgentDir: () => agent });
	// This copy of pi's class does not call that function.
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

// Regression: the takeover by the second version threw, because the first one's state had another shape.
test("a class that another version took over stays so", async () => {
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

test("a static that another program replaced since stays", async () => {
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
	// The other program restores the static that it found, which was ours. The next takeover does not call it.
	pi.SessionManager.inMemory = ours;
	const again = taken(pi);
	expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
	again.undo();
	expect(pi.SessionManager.inMemory).toBe(own.inMemory.value);
});

// Regression: undoing threw, and so did the call of pi that caused it.
test("a class frozen since keeps statics that call pi's own", async () => {
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

// Regression: while both were compared, pi created the directories, with modes that let other users read them.
testWith("modes")("created session directories belong to the user alone", async () => {
	for (const name of ["create", "continueRecent", "list"]) {
		const { agent } = ownAgent();
		const pi = await freshPi();
		taken(pi);
		await pi.SessionManager[name]("/p");
		for (const dir of [agent, join(agent, "sessions"), join(agent, "sessions/--p--")]) expect(modeOf(dir)).toBe(0o700);
	}
});

// Regression: "it does not store its sessions in …" ended the takeover.
testWith("names")("a working directory with a too long name is ours", async () => {
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
});

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
