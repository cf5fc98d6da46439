// A catalog that another process keeps locked.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { api, root } from "../../support/scratch.js";
import { isWindows } from "../../support/windows.js";
import { agentDir, listed, listedByReference, run, session, tick } from "./agent-dir.js";

const { SessionManager } = api;

/** Locks a database until the test is over, in a process that has SQLite. */
async function lock(path: string): Promise<void> {
	// The reference's tests have installed it, but only for Linux and macOS.
	const { nodeBin } = isWindows
		? { nodeBin: process.execPath }
		: ((await import(pathToFileURL(resolve(root, "scripts/reference/setup.mjs")).href)) as { nodeBin: string });
	const source = `const { DatabaseSync } = require("node:sqlite");
		const db = new DatabaseSync(${JSON.stringify(path)});
		db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE session SET name = name");
		console.log("locked");
		setInterval(() => {}, 1000);`;
	const child = spawn(nodeBin, ["--no-warnings", "-e", source], { stdio: ["ignore", "pipe", "inherit"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	const said = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
	expect(String(said[0])).toBe("locked\n");
}

// Regression: each text took half a second.
test("a locked catalog does not delay each text", async () => {
	const at = agentDir(300);
	await tick();
	// In another process, so that this one has not opened the catalog and can be locked out.
	await run(`await SessionManager.listAll(); await SessionManager.search("question");`);
	await lock(at.catalog);
	const before = await SessionManager.listAll();
	session(at.dir, 400);
	const want = await listedByReference();
	// If each text took half a second, the lists would take two and a half minutes, longer than a test may.
	expect(before.map((info) => info.allMessagesText)).toEqual(before.map((info) => text(info.id)));
	expect(await listed()).toEqual(want);
	expect(await listed()).toEqual(want);
	const hits = await SessionManager.search("question 400");
	expect(hits.map((hit) => hit.id)).toEqual(["s-400"]);
	expect(SessionManager.findById("/project", "s-8")).toBe(join(at.dir, "8.jsonl"));
});

const text = (id: string) => id.replace(/^s-(\d+)$/, "question $1 answer $1");
