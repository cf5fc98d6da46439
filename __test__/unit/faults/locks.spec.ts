// `lock: "exclusive"`: one writer, known by its process. The lock ends with the process, and pi does not notice it.
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ended, run, saying, start } from "../../support/children.js";
import { loadReference } from "../../support/reference.js";
import { runtime } from "../../support/runtime.js";
import {
	api,
	caught,
	header,
	ids,
	linesOf,
	lockedOut,
	message,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

const { SessionManager } = api;
const file = (): string => writeSession(scratch(), [header(), message("a", null)]);
const exclusive = { lock: "exclusive" } as const;
const openExclusive = (path: string) => SessionManager.open(path, exclusive);

const HOLDER = `
	const manager = SessionManager.open(args[0], { lock: "exclusive" });
	say("holding " + process.pid);
	process.stdin.on("data", () => {
		manager.appendCustomEntry("held");
		say("appended");
	});
	process.stdin.resume();
	globalThis.kept = manager;
`;

test("a second writer is refused until the holder crashes", async () => {
	const path = file();
	const before = SessionManager.open(path);
	before.appendCustomEntry("early");
	const child = start(HOLDER, [path]);
	const pid = (await saying(child, "holding")).split(" ")[1] as string;
	expect(Number(pid)).toBe(child.pid);
	expect(SessionManager.isLocked(path)).toBe(true);
	expect(caught(() => openExclusive(path)).message).toBe(`Session file is locked by process ${pid}: ${path}`);
	// A manager without a lock may read, but not write.
	const reader = SessionManager.open(path);
	expect(reader.getEntryCount()).toBe(2);
	const lines = linesOf(path);
	expect(caught(() => reader.appendCustomEntry("x")).message).toContain(`process ${pid}`);
	expect(linesOf(path)).toEqual(lines);
	expect(reader.getEntryCount()).toBe(2);
	child.stdin?.write("go\n");
	await saying(child, "appended");
	expect(caught(() => before.appendCustomEntry("late")).message).toContain(`process ${pid}`);
	expect(linesOf(path)).toHaveLength(lines.length + 1);
	const end = ended(child);
	child.kill("SIGKILL");
	await end;
	expect(SessionManager.isLocked(path)).toBe(false);
	reader.appendCustomEntry("x");
	const next = openExclusive(path);
	expect(SessionManager.isLocked(path)).toBe(true);
	next.appendCustomEntry("y");
	next.close();
	expect(SessionManager.isLocked(path)).toBe(false);
	expect(readdirSync(dirname(path))).toEqual(["session.jsonl"]);
});

test("close releases the lock, the next append takes it", () => {
	const path = file();
	const first = openExclusive(path);
	expect(caught(() => openExclusive(path)).message).toContain(`process ${process.pid}`);
	first.close();
	const second = openExclusive(path);
	expect(caught(() => first.appendCustomEntry("x")).message).toContain(`process ${process.pid}`);
	second.close();
	first.appendCustomEntry("x");
	expect(caught(() => second.appendCustomEntry("y")).message).toContain(`process ${process.pid}`);
	expect(first.getEntryCount()).toBe(2);
});

test("pi neither sees the lock nor is kept from anything", async () => {
	const { SessionManager: Pi } = (await loadReference()) as any;
	const dir = scratch();
	const manager = SessionManager.create("/somewhere", dir, exclusive);
	manager.appendMessage(user("ours"));
	const path = manager.getSessionFile() as string;
	expect(readdirSync(dir).filter((name) => name.endsWith(".jsonl"))).toHaveLength(1);
	const theirs = Pi.open(path);
	const id = theirs.appendMessage(user("theirs"));
	expect(await Pi.list("/somewhere", dir)).toHaveLength(1);
	expect(Pi.continueRecent("/somewhere", dir).getSessionFile()).toBe(path);
	manager.appendMessage(user("ours again"));
	expect(manager.getEntry(id)).toBeDefined();
	expect(linesOf(path)).toHaveLength(4);
});

testWith("links")("a lock follows its manager and the file's links", () => {
	const dir = scratch();
	const manager = SessionManager.create("/somewhere", dir, exclusive);
	manager.appendMessage(user("one"));
	const first = manager.getSessionFile() as string;
	manager.setSessionFile(first);
	expect(SessionManager.isLocked(first)).toBe(true);
	const branched = manager.createBranchedSession(manager.getLeafId() as string) as string;
	expect([first, branched].map((path) => SessionManager.isLocked(path))).toEqual([false, true]);
	manager.newSession();
	manager.appendMessage(user("two"));
	const last = manager.getSessionFile() as string;
	expect([branched, last].map((path) => SessionManager.isLocked(path))).toEqual([false, true]);
	symlinkSync(last, join(dir, "link.jsonl"));
	expect(SessionManager.isLocked(join(dir, "link.jsonl"))).toBe(true);
	expect(caught(() => openExclusive(join(dir, "link.jsonl"))).message).toContain(`process ${process.pid}`);
	manager.close();
	expect(readdirSync(dir).every((name) => name.endsWith(".jsonl"))).toBe(true);
});

test("every static has the option, and else the environment", () => {
	const dir = scratch();
	const made = SessionManager.create("/somewhere", dir, { id: "one", lock: "exclusive", durability: "fsync" });
	made.appendMessage(user("x"));
	const path = made.getSessionFile() as string;
	expect(SessionManager.isLocked(path)).toBe(true);
	made.close();
	const recent = SessionManager.continueRecent("/somewhere", dir, exclusive);
	expect(recent.getSessionFile()).toBe(path);
	expect(SessionManager.isLocked(path)).toBe(true);
	recent.close();
	const fork = SessionManager.forkFrom(path, "/elsewhere", dir, { id: "two", lock: "exclusive" });
	expect(SessionManager.isLocked(fork.getSessionFile() as string)).toBe(true);
	expect(SessionManager.inMemory("/x", exclusive).isPersisted()).toBe(false);
	setEnv({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const byEnvironment = SessionManager.open(path);
	expect(SessionManager.isLocked(path)).toBe(true);
	byEnvironment.close();
	expect(SessionManager.open(path, { lock: "none" }).getEntryCount()).toBe(1);
	expect(SessionManager.isLocked(path)).toBe(false);
});

test("under PI_SESSION_NATIVE_LOCK pi does not meet its own lock", async () => {
	const path = file();
	setEnv({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const mine = SessionManager.open(path);
	mine.appendCustomEntry("mine");
	const again = SessionManager.open(path);
	again.appendCustomEntry("again");
	expect(ids(again.getEntries())).toEqual(ids(SessionManager.open(path).getEntries()));
	// An exclusive lock is refused while other managers have the session open, in this process or another.
	expect(caught(() => openExclusive(path)).message).toContain(`locked by process ${process.pid}`);
	const other = async (): Promise<string> =>
		(
			await run("try { SessionManager.open(args[0]); say('opened'); } catch (error) { say(error.message); }", [path])
		).lines.join();
	expect(await other()).toContain(`locked by process ${process.pid}`);
	// The manager that stays open keeps the lock.
	mine.close();
	expect(await other()).toContain(`locked by process ${process.pid}`);
	again.appendCustomEntry("still");
	again.createBranchedSession(again.getLeafId() as string);
	expect(SessionManager.isLocked(again.getSessionFile() as string)).toBe(true);
	again.close();
	mine.appendCustomEntry("taken again");
	expect(SessionManager.isLocked(path)).toBe(true);
	mine.close();
});

// Regression: it was refused. So while pi had a session open, nothing was pulled into it or redacted in it.
test("only the process with the session's lock merges and redacts", async () => {
	const path = file();
	setEnv({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const manager = SessionManager.open(path);
	const id = manager.appendMessage(user("secret"));
	const merge = { session: manager.getSessionId(), lines: Buffer.from(`${JSON.stringify(message("theirs", "a"))}\n`) };
	expect(SessionManager.merge(path, merge)).toMatchObject({ added: 1 });
	expect(SessionManager.redact(path, { text: "secret" })).toMatchObject({ lines: [{ id }], left: 0 });
	manager.reload();
	manager.appendCustomEntry("still");
	expect(linesOf(path)).toHaveLength(5);
	expect(linesOf(path).join()).not.toContain("secret");
	const { lines } = await run(
		"try { SessionManager.redact(args[0], { entries: ['a'] }); } catch (error) { say(error.code); }",
		[path],
	);
	expect(lines).toEqual(["ERR_SESSION_LOCKED"]);
	manager.close();
	expect(SessionManager.isLocked(path)).toBe(false);
});

// Regression: when a thread ended, the lock ended, too.
test("a thread's end leaves the lock to its process", async () => {
	const path = file();
	const script = `
		const { Worker } = require("node:worker_threads");
		const module = Object.keys(require.cache).find((name) => name.endsWith("index.js"));
		const code = "const { SessionManager } = require(process.argv[2]); const manager = SessionManager.open(process.argv[3]);" +
			"manager.appendCustomEntry('worker'); const { parentPort } = require('node:worker_threads');" +
			"parentPort.on('message', () => process.exit()); parentPort.postMessage('has it');";
		const worker = new Worker(code, { eval: true, argv: [module, args[0]] });
		worker.on("message", () => {
			globalThis.kept = SessionManager.open(args[0]);
			kept.appendCustomEntry("main");
			worker.postMessage("end");
		});
		worker.on("exit", () => {
			say("locked " + SessionManager.isLocked(args[0]));
			kept.appendCustomEntry("still");
			kept.close();
			say("locked " + SessionManager.isLocked(args[0]));
		});`;
	setEnv({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const { lines, errors } = await run(script, [path]);
	expect(errors).toBe("");
	// Deno does not drop the objects of a worker that has ended, so its share lasts as long as the process.
	expect(lines).toEqual(["locked true", runtime === "deno" ? "locked true" : "locked false"]);
});

/** Longer than a manager waits before it checks its file completely. */
const aWhile = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25);

// Regression: it went on.
test("an exclusive manager refuses one that has written before", () => {
	const path = file();
	const early = SessionManager.open(path);
	early.appendCustomEntry("early");
	const mine = openExclusive(path);
	const lines = linesOf(path);
	for (const what of ["at once", "again"]) {
		expect(caught(() => early.appendCustomEntry(what)).message).toContain(`locked by process ${process.pid}`);
	}
	expect(linesOf(path)).toEqual(lines);
	mine.appendCustomEntry("mine");
	aWhile();
	expect(caught(() => early.appendCustomEntry("later")).message).toContain(`locked by process ${process.pid}`);
	mine.close();
	early.appendCustomEntry("free");
	// The other direction: an exclusive manager that was closed is refused while another has the file open.
	const next = openExclusive(path);
	expect(caught(() => mine.appendCustomEntry("x")).message).toContain(`locked by process ${process.pid}`);
	expect(caught(() => early.appendCustomEntry("x")).message).toContain(`locked by process ${process.pid}`);
	next.close();
	expect(linesOf(path)).toHaveLength(lines.length + 2);
});

test("an exclusive lock refuses a process that already writes", async () => {
	const path = file();
	const writer = start(
		`const manager = SessionManager.open(args[0]);
		manager.appendCustomEntry("first");
		say("writing");
		let refused = 0;
		while (!fs.existsSync(args[0] + ".done")) {
			try {
				manager.appendCustomEntry("theirs");
			} catch (error) {
				if (!error.message.includes("locked by process")) throw error;
				if (refused++ === 0) say("refused at first");
			}
		}
		say("refused " + refused);`,
		[path],
	);
	onTestFinished(() => void writer.kill());
	await saying(writer, "writing");
	const done = ended(writer);
	const refused = saying(writer, "refused at first");
	const mine = openExclusive(path);
	await refused;
	const size = statSync(path).size;
	for (let round = 0; round < 5; round++) {
		aWhile();
		expect(statSync(path).size).toBe(size);
	}
	mine.close();
	writeFileSync(`${path}.done`, "");
	const { lines, errors } = await done;
	expect(errors).toBe("");
	expect(Number(lines.at(-1)?.split(" ")[1])).toBeGreaterThan(0);
	expect(SessionManager.verify(path).ok).toBe(true);
});

// Regression: such a link destroyed its target, and such a directory stopped every append.
testWith("links")("a foreign lock file stays and stops no append", () => {
	const dir = scratch();
	const path = writeSession(dir, [header(), message("a", null)]);
	const lock = `${path}.lock`;
	const victim = join(dir, "victim");
	writeFileSync(victim, "precious");
	for (const make of [
		() => symlinkSync(victim, lock),
		() => writeFileSync(lock, "precious"),
		// The contents of lock files of tools for which the file's existence is the lock.
		() => writeFileSync(lock, ""),
		() => writeFileSync(lock, "4711"),
		() => mkdirSync(lock),
		() => symlinkSync(join(dir, "none"), lock),
	]) {
		make();
		const error = caught(() => openExclusive(path));
		const what = "the file at its lock file's path is not a lock file; remove it unless another tool needs it";
		expect(error.message).toBe(`Session cannot be locked: ${what}: ${lock}`);
		expect(SessionManager.isLocked(path)).toBe(false);
		const count = linesOf(path).length;
		SessionManager.open(path).appendCustomEntry("x");
		expect(linesOf(path)).toHaveLength(count + 1);
		expect(readFileSync(victim, "utf8")).toBe("precious");
		expect(readdirSync(dir).sort()).toEqual(["session.jsonl", "session.jsonl.lock", "victim"]);
		rmSync(lock, { recursive: true });
	}
});

// Regression: a sweep removed other tools' lock files from a directory.
test("other tools' lock files of a directory stay", async () => {
	const dir = scratch();
	writeFileSync(join(dir, "other.jsonl.lock"), "precious");
	mkdirSync(join(dir, "third.jsonl.lock"));
	writeFileSync(join(dir, "used.jsonl.lock"), "");
	writeFileSync(join(dir, "pid.jsonl.lock"), "4711");
	writeFileSync(join(dir, "dead.jsonl.lock"), "pi-session-native 4711");
	// Once per process and directory.
	const script = `SessionManager.create("/somewhere", args[0]).appendMessage({ role: "user", content: "x", timestamp: 1 });`;
	expect((await run(script, [dir])).errors).toBe("");
	expect(
		readdirSync(dir)
			.filter((name) => name.endsWith(".lock"))
			.sort(),
	).toEqual(["other.jsonl.lock", "pid.jsonl.lock", "third.jsonl.lock", "used.jsonl.lock"]);
});

// Regression: a holder whose lock file was deleted by hand never noticed that there was a second holder.
test("a holder notices that its lock file was deleted", () => {
	const path = file();
	const first = openExclusive(path);
	first.appendCustomEntry("one");
	rmSync(`${path}.lock`);
	aWhile();
	first.appendCustomEntry("two");
	expect(SessionManager.isLocked(path)).toBe(true);
	rmSync(`${path}.lock`);
	const second = openExclusive(path);
	aWhile();
	expect(caught(() => first.appendCustomEntry("three")).message).toContain("is locked by process");
	second.appendCustomEntry("mine");
	first.close();
	expect(SessionManager.isLocked(path)).toBe(true);
	second.close();
	expect(linesOf(path)).toHaveLength(5);
});

// Regression: it stayed beside the entries.
test("a lock ends when its manager leaves the session", () => {
	const moves: ((manager: ReturnType<typeof openExclusive>) => void)[] = [
		(manager) => void manager.newSession(),
		(manager) => void manager.createBranchedSession(manager.getLeafId() as string),
		(manager) => manager.setSessionFile(file()),
	];
	for (const move of moves) {
		const body = "x".repeat(3_000);
		const path = writeSession(scratch(), [header(), message("a", null, user(body)), message("b", "a", user("y"))]);
		const manager = openExclusive(path);
		manager.appendCustomEntry("mine");
		const held = manager.getEntries() as any[];
		move(manager);
		expect(SessionManager.isLocked(path)).toBe(false);
		openExclusive(path).appendCustomEntry("theirs");
		expect(held[0].message.content).toBe(body);
	}
});

// Regression: a lock file that was left by process.exit() kept its session locked.
test("no lock outlives its process, however the process ends", async () => {
	for (const end of ["", "process.exit()", "process.exitCode = 3; throw new Error('on purpose')"]) {
		const path = file();
		const script = `
			globalThis.kept = SessionManager.open(args[0], { lock: "exclusive" });
			kept.appendCustomEntry("x");
			if (!SessionManager.isLocked(args[0])) throw new Error("not locked");
			${end}`;
		const { code, errors } = await run(script, [path]);
		expect(errors.replace(/[\s\S]*on purpose[\s\S]*/, "")).toBe("");
		expect(code).toBe(end.startsWith("process.exitCode") ? 1 : 0);
		expect(SessionManager.isLocked(path)).toBe(false);
		const next = SessionManager.open(path, { lock: "exclusive" });
		next.appendCustomEntry("next");
		next.close();
		expect(readdirSync(dirname(path))).toEqual(["session.jsonl"]);
	}
	const path = file();
	const threads = `
		const { Worker } = require("node:worker_threads");
		const module = Object.keys(require.cache).find((name) => name.endsWith("index.js"));
		const code = "const { SessionManager } = require(process.argv[2]);" +
			"globalThis.kept = SessionManager.open(process.argv[3], { lock: 'exclusive' });" +
			"require('node:worker_threads').parentPort.postMessage(SessionManager.isLocked(process.argv[3]));" +
			"process.exit();";
		const worker = new Worker(code, { eval: true, argv: [module, args[0]] });
		worker.on("message", (locked) => say("locked " + locked));
		worker.on("exit", () => say("left " + fs.existsSync(args[0] + ".lock")));`;
	const { lines, errors } = await run(threads, [path]);
	expect(errors).toBe("");
	expect(lines).toContain("left false");
});

test("a wrong value in the environment is named", () => {
	setEnv({ PI_SESSION_NATIVE_DURABILITY: "maybe" });
	expect(caught(() => SessionManager.open(file())).message).toBe(
		'PI_SESSION_NATIVE_DURABILITY must be "os" or "fsync", not "maybe"',
	);
});

// Regression: it refused every append.
testWith("modes")("a lock file of another user's stops no append", async () => {
	const dir = scratch();
	chmodSync(dir, 0o777);
	const path = writeSession(dir, [header(), message("a", null)]);
	chmodSync(path, 0o666);
	const lock = `${path}.lock`;
	writeFileSync(lock, "pi-session-native 4711");
	await lockedOut(lock, () => {
		SessionManager.open(path).appendCustomEntry("x");
		expect(caught(() => openExclusive(path)).message).toContain(lock);
	});
	expect(linesOf(path)).toHaveLength(3);
	expect(SessionManager.isLocked(path)).toBe(false);
	expect(readdirSync(dir)).toEqual(["session.jsonl"]);
});
