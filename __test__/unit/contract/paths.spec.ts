// Paths, default directories, the environment at the time of a call, and errors of the file system.
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { loadReference } from "../../support/reference.js";
import {
	api,
	caught,
	enter,
	failing,
	header,
	lockedOut,
	message,
	ownAgent,
	scratch,
	setEnv,
	snapshot,
	user,
	writeSession,
} from "../../support/scratch.js";
import { dirName, testWith } from "../../support/windows.js";

const { SessionManager } = api;
const reference = await loadReference();
const agentDirFrom = (getDefaultSessionDir: (...args: any[]) => unknown) =>
	resolve(String(getDefaultSessionDir("/x")), "../..");

describe("the agent directory", () => {
	test("is read from the environment at each call", () => {
		const [one, two] = [scratch(), scratch()];
		setEnv({ PI_CODING_AGENT_DIR: one });
		const manager = SessionManager.create("/some/where");
		expect(manager.getSessionDir()).toBe(join(one, "sessions", dirName("/some/where")));
		expect(manager.usesDefaultSessionDir()).toBe(true);
		setEnv({ PI_CODING_AGENT_DIR: two });
		expect(manager.usesDefaultSessionDir()).toBe(false);
		expect(api.getDefaultSessionDir("/some/where")).toBe(join(two, "sessions", dirName("/some/where")));
		expect(SessionManager.create("/some/where").getSessionDir()).toBe(join(two, "sessions", dirName("/some/where")));
	});

	// Regression: the store's rule made a relative path of `file://`, so that its settings and locks were searched in
	// another directory.
	test.each(["~", "~/own", "~//own/../x", "~other", "~\\own", "rel/dir", "file", ""])(
		"is the same for this package and for pi: %j",
		async (given) => {
			const { home } = ownAgent();
			const dir = scratch();
			enter(dir);
			setEnv({ PI_CODING_AGENT_DIR: given === "file" ? pathToFileURL(join(dir, "ä b")).href : given });
			const want =
				given === "file"
					? join(dir, "ä b")
					: given === ""
						? join(home, ".pi/agent")
						: agentDirFrom(reference.getDefaultSessionDir);
			expect([agentDirFrom(api.getDefaultSessionDir), agentDirFrom(reference.getDefaultSessionDir)]).toEqual([
				want,
				want,
			]);
		},
	);
});

describe("the session directory of a working directory", () => {
	test("is shortened with a hash and found by all calls", async () => {
		ownAgent();
		const start = `/${"deep/".repeat(80)}`;
		const dirs = [`${start}one`, `${start}two`, `/${"日本".repeat(60)}`].map((cwd) => {
			const manager = SessionManager.create(cwd);
			manager.appendMessage(user(cwd));
			const name = basename(manager.getSessionDir());
			expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
			expect(name).toMatch(/^--.*--$/);
			expect(manager.usesDefaultSessionDir()).toBe(true);
			expect(manager.getCwd()).toBe(resolve(cwd));
			expect(SessionManager.continueRecent(cwd).getSessionId()).toBe(manager.getSessionId());
			expect(SessionManager.findById(cwd, manager.getSessionId())).toBe(manager.getSessionFile());
			return name;
		});
		expect(new Set(dirs).size).toBe(3);
		expect((await SessionManager.list(`${start}one`)).map((one) => one.firstMessage)).toEqual([`${start}one`]);
		expect(await SessionManager.listAll()).toHaveLength(3);
	});
});

describe("continueRecent and findMostRecentSession", () => {
	const aged = (dir: string, name: string, age: number, fields = {}): string => {
		const file = writeSession(dir, [header({ id: name, ...fields }), message("a", null)], `${name}.jsonl`);
		utimesSync(file, 1_700_000_000 - age, 1_700_000_000 - age);
		return file;
	};

	test("filter only a given directory by working directory", () => {
		const { agent } = ownAgent();
		const dir = scratch();
		aged(dir, "other", 1, { cwd: "/other" });
		aged(dir, "none", 2, { cwd: undefined });
		const mine = aged(dir, "mine", 3, { cwd: "/some/../mine" });
		expect(SessionManager.continueRecent("/mine", dir).getSessionFile()).toBe(mine);
		expect(api.findMostRecentSession(dir, "/mine")).toBe(mine);
		expect(api.findMostRecentSession(dir, "/nobody's")).toBeNull();
		expect(SessionManager.findById("/mine", "other", dir)).toBeUndefined();
		const own = api.getDefaultSessionDir("/mine");
		const foreign = aged(own, "foreign", 1, { cwd: "/other" });
		expect(SessionManager.continueRecent("/mine").getSessionFile()).toBe(foreign);
		expect(SessionManager.continueRecent("/mine", own).getSessionFile()).toBe(foreign);
		expect(SessionManager.findById("/mine", "foreign")).toBe(foreign);
		expect(own.startsWith(agent)).toBe(true);
	});

	testWith("modes")("pass over what is unreadable, dangling or no session", async () => {
		const dir = scratch();
		const good = aged(dir, "good", 50);
		const locked = aged(dir, "locked", 1);
		mkdirSync(join(dir, "folder.jsonl"));
		writeFileSync(join(dir, "junk.jsonl"), "junk");
		symlinkSync(join(dir, "nowhere"), join(dir, "dangling.jsonl"));
		symlinkSync("loop.jsonl", join(dir, "loop.jsonl"));
		await lockedOut(locked, async () => {
			expect(caught(() => SessionManager.open(locked)).code).toBe("EACCES");
			expect(api.findMostRecentSession(dir)).toBe(good);
			expect(SessionManager.findById("/somewhere", "good", dir)).toBe(good);
			expect((await SessionManager.list("/somewhere", dir)).map((one) => one.id)).toEqual(["good"]);
			expect((await SessionManager.search("hello", { sessionDir: dir })).map((one) => one.id)).toEqual(["good"]);
		});
		expect(api.findMostRecentSession(dir)).toBe(locked);
		expect((await SessionManager.listAll(dir)).map((one) => one.id).sort()).toEqual(["good", "locked"]);
	});
});

describe("an error of the file system names its path:", () => {
	test("a directory where a session file should be", () => {
		const dir = scratch();
		const folder = join(dir, "folder.jsonl");
		mkdirSync(folder);
		const manager = SessionManager.inMemory("/x");
		const before = snapshot(dir);
		for (const call of [
			() => SessionManager.open(folder),
			() => SessionManager.forkFrom(folder, "/x", dir),
			() => api.loadEntriesFromFile(folder),
			() => manager.setSessionFile(folder),
		]) {
			const error = caught(call);
			expect(error.message).toContain(folder);
			expect([error.code, error.path]).toEqual(["EISDIR", folder]);
			expect(snapshot(dir)).toEqual(before);
		}
		expect(manager.getEntryCount()).toBe(0);
	});

	test("a file where a directory should be", () => {
		const dir = scratch();
		const file = join(dir, "file");
		writeFileSync(file, "text");
		const before = snapshot(dir);
		for (const call of [
			() => SessionManager.create("/x", join(file, "sub")),
			() => api.getDefaultSessionDir("/x", file),
		]) {
			const error = caught(call);
			expect(error.message).toContain(file);
			expect(["ENOTDIR", "EEXIST"]).toContain(error.code);
			expect(snapshot(dir)).toEqual(before);
		}
	});

	testWith("modes")("a directory that may not be entered or read", async () => {
		const dir = scratch();
		const inner = join(dir, "inner");
		mkdirSync(inner, { mode: 0o755 });
		const file = writeSession(inner, [header(), message("a", null)]);
		const before = snapshot(dir);
		await lockedOut(inner, async () => {
			for (const call of [
				() => SessionManager.open(file),
				() => SessionManager.forkFrom(file, "/x", dir),
				() => SessionManager.create("/x", join(inner, "sub")),
				() => api.loadEntriesFromFile(file),
			]) {
				const error = caught(call);
				expect(error.message).toContain(inner);
				expect(error.code).toBe("EACCES");
			}
			expect(await SessionManager.list("/x", inner)).toEqual([]);
			expect(await SessionManager.listAll(inner)).toEqual([]);
			expect(api.findMostRecentSession(inner)).toBeNull();
			expect(SessionManager.findById("/x", "s-1", inner)).toBeUndefined();
		});
		expect(snapshot(dir)).toEqual(before);
	});

	testWith("modes")("a file that may not be read or written", async () => {
		const dir = scratch();
		const file = writeSession(dir, [header(), message("a", null)]);
		const manager = SessionManager.open(file);
		const before = snapshot(dir);
		await lockedOut(file, () => {
			const error = failing(manager, undefined, () => manager.appendCustomEntry("x"));
			expect([error.code, error.path]).toEqual(["EACCES", file]);
			expect(error.message).toContain(file);
			expect(caught(() => SessionManager.open(file)).message).toContain(file);
		});
		expect(snapshot(dir)).toEqual(before);
		manager.appendCustomEntry("x");
	});
});
