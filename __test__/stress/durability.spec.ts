// The chosen durability reaches the disk, from the option of each static and from the environment. The test counts for
// each file the calls that wait for the disk.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { header, LOAD, message, root, scratch, user, writeSession } from "../support/scratch.js";

/** The number of entries that each manager appends. */
const APPENDS = 5;

/** The file to which a process appends, for each way to create its manager. `options` are the given options. */
const WAYS = {
	create: "SessionManager.create('/p', dir, options)",
	open: "SessionManager.open(file, options)",
	continueRecent: "SessionManager.continueRecent('/c', dir, options)",
	forkFrom: "SessionManager.forkFrom(file, '/p', forks, options)",
	newSession: "(() => { const m = SessionManager.create('/p', dir, options); m.newSession(); return m; })()",
	setSessionFile:
		"(() => { const m = SessionManager.create('/p', dir, options); m.setSessionFile(file); return m; })()",
	createBranchedSession:
		"(() => { const m = SessionManager.open(file, options); m.createBranchedSession('a'); return m; })()",
} as const;

/** A library in C that counts the calls. */
function counter(dir: string): string {
	const library = join(dir, "syncs.so");
	const built = spawnSync("cc", ["-shared", "-fPIC", "-o", library, join(root, "__test__/stress/syncs.c"), "-ldl"], {
		encoding: "utf8",
	});
	if (built.error) throw new Error("No C compiler: apt-get install -y gcc libc6-dev");
	expect(built.stderr).toBe("");
	return library;
}

/** The number of appends that waited for the disk, for each way. */
function waits(options: object | undefined, environment: Record<string, string>): Record<string, number> {
	const base = scratch();
	const log = join(base, "log");
	const waited: Record<string, number> = {};
	const script = `${LOAD}
		const fs = require("node:fs");
		const { file, dir, forks, way, options, log } = JSON.parse(process.argv[1]);
		const manager = ${Object.entries(WAYS).reduce((rest, [way, code]) => `way === "${way}" ? ${code} : ${rest}`, "undefined")};
		manager.appendMessage({ role: "user", content: "makes the file", timestamp: 1 });
		const before = fs.existsSync(log) ? fs.readFileSync(log, "utf8").length : 0;
		for (let n = 0; n < ${APPENDS}; n++) manager.appendCustomEntry("one", n);
		console.log(JSON.stringify({ before, path: manager.getSessionFile() }));`;
	const library = counter(base);
	for (const way of Object.keys(WAYS)) {
		const dir = join(base, way);
		mkdirSync(join(dir, "forks"), { recursive: true });
		const file = writeSession(dir, [header({ cwd: "/c" }), message("a", null, user("one"))]);
		const given = JSON.stringify({ file, dir, forks: join(dir, "forks"), way, options, log });
		const { PI_SESSION_NATIVE_DURABILITY: _, ...inherited } = process.env;
		const ran = spawnSync(process.execPath, ["-e", script, given], {
			encoding: "utf8",
			env: { ...inherited, ...environment, LD_PRELOAD: library, SYNC_LOG: log },
		});
		expect(ran.stderr, way).toBe("");
		const { before, path } = JSON.parse(ran.stdout) as { before: number; path: string };
		const calls = existsSync(log) ? readFileSync(log, "utf8").slice(before).split("\n") : [];
		waited[way] = calls.filter((call) => call === `fdatasync ${path}`).length;
	}
	return waited;
}

const each = (count: number): Record<string, number> =>
	Object.fromEntries(Object.keys(WAYS).map((way) => [way, count]));

test("durability fsync waits for the disk at every append", () => {
	expect(waits({ durability: "fsync" }, {})).toEqual(each(APPENDS));
});

test("durability fsync may come from the environment", () => {
	expect(waits(undefined, { PI_SESSION_NATIVE_DURABILITY: "fsync" })).toEqual(each(APPENDS));
});

test("durability os waits for nothing, by default or by option", () => {
	expect(waits(undefined, {})).toEqual(each(0));
	expect(waits({ durability: "os" }, { PI_SESSION_NATIVE_DURABILITY: "fsync" })).toEqual(each(0));
});
