// Commands on a machine where pi has a session open.
import fs, { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { runProgram } from "../../../../__test__/support/cli.js";
import { setEnv } from "../../../../__test__/support/scratch.js";
import { DirectoryStore } from "../../lib/index.js";
import { LONG, type Machine, machine } from "../support/beside.js";
import { piSync } from "../support/cli.js";
import { emptyDirectory, entry, header, library } from "../support/lines.js";
import { systemError } from "../support/opened-files.js";

const { isOpen, markOpen } = createRequire(library)("./machine/open-files.js");
const { begin } = await import(join(library, "../extension/session.mjs"));

/** A machine with a session, and a store in which the session has one more line. */
async function behind() {
	const address = emptyDirectory();
	const at = machine(emptyDirectory());
	const file = at.put("s1", entry("a"));
	const store = new DirectoryStore({ path: address, host: "desktop" });
	await store.append("s1", { header: header("s1"), lines: [entry("a"), entry("theirs")], project: "shop" });
	const run = (...args: string[]) =>
		runProgram(process.execPath, [piSync, ...args], { cwd: at.work, env: { ...at.env, PI_SYNC_STORE: address } });
	return { at, address, file, run };
}

/** Calls the extension as pi does after it has opened a session. */
function startPi(at: Machine, session: string) {
	const manager = {
		getSessionFile: () => at.fileOf(session),
		getSessionId: () => session,
		getCwd: () => at.work,
		getSessionDir: () => at.dir,
	};
	const beside = begin({ getAgentDir: () => at.agent }, { sessionManager: manager, hasUI: false });
	onTestFinished(() => beside.close());
	return beside as { close(why?: { isReload: boolean }): void; end(): Promise<string | undefined> };
}

// Regression: each store had its own locks.
test("a pull from another store leaves an open session alone", async () => {
	const { at, file, run } = await behind();
	const open = at.open("s1");
	await run("pull");
	expect(readFileSync(file, "utf8")).not.toContain("theirs");
	await open.close();
	await run("pull");
	expect(readFileSync(file, "utf8")).toContain("theirs");
});

// Regression: the process beside pi took the lock, 200 ms later or never.
test("a session is open without the process beside pi", async () => {
	const { at, address, file, run } = await behind();
	// No process of Node starts with this.
	setEnv({ PI_SYNC_STORE: address, NODE_OPTIONS: "--require /missing.cjs" });
	const beside = startPi(at, "s1");
	await run("pull");
	expect(readFileSync(file, "utf8")).not.toContain("theirs");
	// pi reloads its extensions.
	beside.close({ isReload: true });
	await run("pull");
	expect(readFileSync(file, "utf8")).not.toContain("theirs");
	startPi(at, "s1").close();
	await run("pull");
	expect(readFileSync(file, "utf8")).toContain("theirs");
});

// Regression: the first of them to be closed ended the lock of both.
test("two sessions of a process have one file open", async () => {
	const { at, file } = await behind();
	const notes = join(at.agent, "session-stores");
	const [first, second] = [markOpen(notes, file), markOpen(notes, file)];
	first();
	first();
	expect(isOpen(notes, file)).toBe(true);
	second({ isReload: true });
	expect(isOpen(notes, file)).toBe(true);
	markOpen(notes, file)();
	expect(isOpen(notes, file)).toBe(false);
});

// Regression: the session stayed open until pi ended, and the process beside pi continued.
test("a lock whose file cannot be removed ends", async () => {
	const { at, file } = await behind();
	const notes = join(at.agent, "session-stores");
	const unmark = markOpen(notes, file);
	const removing = vi.spyOn(fs, "rmSync").mockImplementation(() => {
		throw systemError("EACCES");
	});
	onTestFinished(() => removing.mockRestore());
	unmark();
	expect(isOpen(notes, file)).toBe(false);
	expect(readdirSync(join(notes, "locks/open"))).toHaveLength(1);
});

// Regression: status named nothing to pull, and the command printed "The store has nothing new".
test("each command shows an open session that is behind", async () => {
	const { at, run } = await behind();
	const open = at.open("s1");
	const why = "open in a pi of this machine: pulled after pi closes it";
	await run("push");
	const status = await run("status");
	expect(status.out).toContain("1 session to be pulled");
	expect(status.out).toContain(why);
	for (const args of [["pull"], ["pull", "s1"], ["pull", "--dry-run"], ["sync"]])
		expect(await run(...args)).toMatchObject({
			code: 0,
			out: expect.stringMatching(new RegExp(`^${why} {2}s1 .*\n$`)),
		});
	await open.close();
	await run("pull");
	expect((await run("status")).out).not.toContain("to be pulled");
});

/** pi's clock is stopped. */
function stopClock() {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	onTestFinished(() => void vi.useRealTimers());
}

// Regression: pi said that its next start stores them.
test("pi names sessions at its end that cannot be stored", async () => {
	const { at, address } = await behind();
	setEnv({ ...at.env, PI_SYNC_STORE: address });
	writeFileSync(join(at.agent, "session-store.json"), JSON.stringify({ secrets: true }), { mode: 0o600 });
	at.put("s2", `{"type":"message","id":"b","parentId":null,"text":"ghp_${"a".repeat(36)}"}`);
	at.put("gone", entry("a"));
	const store = new DirectoryStore({ path: address, host: "desktop" });
	await store.append("gone", { header: header("gone"), lines: [entry("a")], project: "shop" });
	await store.delete("gone");
	stopClock();
	expect(await startPi(at, "s1").end()).toBeUndefined();
	expect(await startPi(at, "s2").end()).toBe("pi-sync: a part of this session is not stored: run pi-sync status\n");
	expect(await startPi(at, "gone").end()).toBeUndefined();
});

test("pi waits two seconds for a process that never answers", async () => {
	const { at, address } = await behind();
	const preload = join(at.work, "hang.cjs");
	const pid = join(at.work, "pid");
	writeFileSync(
		preload,
		`require("node:fs").writeFileSync(${JSON.stringify(pid)}, String(process.pid));
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`,
	);
	onTestFinished(async () => {
		await vi.waitFor(() => expect(existsSync(pid) && readFileSync(pid, "utf8")).toMatch(/^\d+$/), LONG);
		process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
	});
	setEnv({ ...at.env, PI_SYNC_STORE: address, NODE_OPTIONS: `--require ${preload}` });
	stopClock();
	let message: string | undefined;
	const ended = startPi(at, "s1")
		.end()
		.then((text) => (message = text));
	await vi.advanceTimersByTimeAsync(1999);
	expect(message).toBeUndefined();
	await vi.advanceTimersByTimeAsync(1);
	await ended;
	expect(message).toContain("not stored yet");
});
