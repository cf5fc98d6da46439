// Commands of a machine on which pi has a session open.
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { runProgram } from "../../../../__test__/support/cli.js";
import { setEnv } from "../../../../__test__/support/scratch.js";
import { begin } from "../../lib/extension/session.mjs";
import { DirectoryStore } from "../../lib/index.js";
import { type Machine, machine } from "../support/beside.js";
import { piSync } from "../support/cli.js";
import { emptyDirectory, entry, header } from "../support/lines.js";

/** A machine with a session, and a store in which the session has one line more. */
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

/** Calls the extension as pi does when it has opened a session. */
function startPi(at: Machine, session: string) {
	const manager = {
		getSessionFile: () => at.fileOf(session),
		getSessionId: () => session,
		getCwd: () => at.work,
		getSessionDir: () => at.dir,
	};
	const ctx = { sessionManager: manager, hasUI: false } as unknown as Parameters<typeof begin>[1];
	const beside = begin({ getAgentDir: () => at.agent }, ctx);
	onTestFinished(() => beside?.close());
	return beside;
}

// Regression: each store had locks of its own.
test("a pull from another store does not change an open session", async () => {
	const { at, file, run } = await behind();
	const open = at.open("s1");
	await run("pull");
	expect(readFileSync(file, "utf8")).not.toContain("theirs");
	await open.close();
	await run("pull");
	expect(readFileSync(file, "utf8")).toContain("theirs");
});

// Regression: the process beside pi made the lock, 200 ms later or never.
test("a session is open without the process beside pi", async () => {
	const { at, address, file, run } = await behind();
	// No process of Node starts with this.
	setEnv({ PI_SYNC_STORE: address, NODE_OPTIONS: "--require /missing.cjs" });
	const beside = startPi(at, "s1");
	await run("pull");
	expect(readFileSync(file, "utf8")).not.toContain("theirs");
	// pi reloads its extensions.
	beside?.close({ isReload: true });
	await run("pull");
	expect(readFileSync(file, "utf8")).not.toContain("theirs");
	startPi(at, "s1")?.close();
	await run("pull");
	expect(readFileSync(file, "utf8")).toContain("theirs");
});

// Regression: status named nothing to pull, and "The store has nothing new" was printed.
test("an open session that is behind is shown by each command", async () => {
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
