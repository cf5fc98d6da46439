// Checks that the built addon works on this machine: writes, migrates, forks, finds and reads a session.
//   node scripts/smoke.mjs [module]      by default this clone's own
// It needs only a JavaScript runtime.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

function collectGarbage() {
	if (globalThis.Bun) return globalThis.Bun.gc(true);
	setFlagsFromString("--expose-gc");
	runInNewContext("gc")();
}

const given = process.argv[2];
const path = given ? resolve(given) : join(dirname(fileURLToPath(import.meta.url)), "../index.js");
const { SessionManager } = createRequire(import.meta.url)(path);
const dir = mkdtempSync(join(tmpdir(), "pi-session-native-smoke-"));
/** Managers that are closed before the folder is removed, because Windows cannot remove an open file. */
const managers = [];
const kept = (manager) => {
	managers.push(manager);
	return manager;
};
try {
	const text = "Grüße, 日本, \u{1f44b}";
	const manager = kept(SessionManager.create(dir, join(dir, "sessions")));
	const first = manager.appendMessage({ role: "user", content: text, timestamp: Date.now() });
	manager.appendLabelChange(first, "here");
	const file = manager.getSessionFile();
	assert.equal(readFileSync(file, "utf8").split("\n").length, 4);

	const opened = kept(SessionManager.open(file));
	assert.equal(opened.getCwd(), resolve(dir));
	assert.equal(opened.buildSessionContext().messages[0].content, text);
	assert.equal(opened.getLabel(first), "here");
	assert.ok(existsSync(opened.createBranchedSession(first)));

	const old = join(dir, "sessions", "old.jsonl");
	const lines = [
		{ type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: dir },
		{
			type: "message",
			timestamp: "2025-01-01T00:00:01.000Z",
			message: { role: "user", content: "long ago", timestamp: 1 },
		},
	];
	writeFileSync(old, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
	const migrated = kept(SessionManager.open(old));
	assert.equal(migrated.getHeader().version, 3);
	assert.ok(existsSync(`${old}.v1.bak`));
	migrated.appendMessage({ role: "user", content: "and now", timestamp: 2 });
	assert.equal(kept(SessionManager.forkFrom(old, dir, join(dir, "sessions"))).getEntryCount(), 2);

	const calls = [];
	const list = await SessionManager.listAll(join(dir, "sessions"), (loaded, total) => calls.push([loaded, total]));
	assert.ok(list.length >= 3, `${list.length} sessions`);
	assert.deepEqual(calls.at(-1), [list.length, list.length]);
	assert.throws(
		() => SessionManager.open(join(dir)),
		(error) => error instanceof Error,
	);
	console.log(`works on ${process.platform} ${process.arch}: ${list.length} sessions`);
} finally {
	for (const manager of managers) manager.close();
	// The session of a branch stays open for its returned entries, until these are collected.
	collectGarbage();
	await new Promise((resolve) => setImmediate(resolve));
	rmSync(dir, { recursive: true, force: true });
}
