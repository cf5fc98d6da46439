// Lists and searches of a process with few or no file handles left: they return everything, or the system's error.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { LOAD } from "../../support/scratch.js";
import { agentDir, namesIn, session, tick } from "../../unit/catalog/agent-dir.js";

const MANY = 100;

/** Runs a script in a process that may open no more than this many files. Returns its output. */
function run(script: string, limit: number): string {
	const source = `
		const fs = require("node:fs");
		${LOAD}
		const count = (what) => what.then((all) => all.length, (why) => why.code + ": " + why.message.split(",")[0]);
		const list = () => count(SessionManager.listAll());
		const search = () => count(SessionManager.search("question", { limit: 1000 }));
		(async () => { ${script} })().catch((error) => { console.error(error); process.exit(1); });`;
	const ran = spawnSync("bash", ["-c", `ulimit -n ${limit}; exec "$0" -e "$1"`, process.execPath, source], {
		encoding: "utf8",
	});
	expect(ran.stderr).toBe("");
	return ran.stdout;
}

async function many(): Promise<void> {
	const at = agentDir(0);
	for (let n = 0; n < MANY; n++) session(n % 4 === 3 ? at.other : at.dir, n);
	await tick();
	expect(namesIn(at.agent)).toEqual(["sessions"]);
}

/** The allowed results of a list or a search: everything, or the system's error. */
const NONE_LEFT = "EMFILE: EMFILE: too many open files";

// Regression: with few file handles a search found a part of the sessions, and later searches found nothing.
test("searches with few file handles find all sessions", async () => {
	await many();
	const first = run("for (let n = 0; n < 3; n++) console.log(await search());", 64);
	expect(first).toBe(`${MANY}\n`.repeat(3));
	expect(run("console.log(await list(), await search());", 64)).toBe(`${MANY} ${MANY}\n`);
});

// Regression: if many searches ran at once with few file handles, some found nothing.
test("of many searches with few handles each succeeds or rejects", async () => {
	await many();
	const all = "console.log((await Promise.all(Array.from({ length: 20 }, search))).join('\\n'));";
	const answers = run(all, 60).trimEnd().split("\n");
	expect(answers).toHaveLength(20);
	expect(new Set([...answers, `${MANY}`, NONE_LEFT])).toEqual(new Set([`${MANY}`, NONE_LEFT]));
});

// Regression: without a free file handle a list was empty, and a search found nothing.
test("lists and searches reject if no file handle is left", async () => {
	await many();
	const script = `
		const held = [];
		try { for (;;) held.push(fs.openSync("/dev/null")); } catch (error) { if (error.code !== "EMFILE") throw error; }
		for (let left = 0; left < 20; left++) {
			console.log(await list());
			console.log(await search());
			fs.closeSync(held.pop());
		}`;
	const answers = run(script, 200).trimEnd().split("\n");
	expect(answers.slice(0, 2)).toEqual([NONE_LEFT, NONE_LEFT]);
	expect(new Set(answers)).toEqual(new Set([NONE_LEFT, `${MANY}`]));
	expect(answers.slice(-2)).toEqual([`${MANY}`, `${MANY}`]);
});
