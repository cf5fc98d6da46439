// SessionManager.search over directories that are hard to search: full disks, files that keep changing, sessions that
// disappear.
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, header, LOAD, message, user, writeSession } from "../../support/scratch.js";
import { agentDir, namesIn, session, settled, tick } from "../../unit/catalog/agent-dir.js";

const { SessionManager } = api;

const ids = async (query: string, dedupe = true): Promise<string[]> =>
	(await SessionManager.search(query, { limit: 1_000, dedupe })).map((hit) => hit.id).sort();

/** Half of a file's length. */
const truncated = (path: string): number => statSync(path).size >> 1;

/**
 * Runs a script in a process of its own, after a line of the shell. The script has `SessionManager` and says something
 * by `say`, which adds how many MB its memory has grown since the module was loaded.
 */
function inProcess(script: string, shell = ""): { words: string[]; errors: string } {
	const source = `${LOAD}
		const idle = process.resourceUsage().maxRSS;
		const say = (what) => console.log(what, (process.resourceUsage().maxRSS - idle) >> 10);
		${script}`;
	const ran = spawnSync("bash", ["-c", `${shell} exec "$0" -e "$1"`, process.execPath, source], { encoding: "utf8" });
	return { words: ran.stdout.trim().split(/\s/), errors: ran.stderr };
}

/** A script whose search has settled before its process ends. */
const settling = (query: string): string => `
	process.on("exit", () => say("ended"));
	SessionManager.search(${JSON.stringify(query)}).then((hits) => say(hits.length), (why) => say(why.code));`;

// Regression: a search on a full disk never settled.
test("a search on a full disk settles", async () => {
	const at = agentDir(0);
	for (let n = 0; n < 30; n++) session(at.dir, n, [message(`f${n}`, "c", user(`word${n} `.repeat(3_000)))]);
	await tick();
	for (const most of [64, 300, 1_000]) {
		for (const name of namesIn(at.agent)) if (name.startsWith("session-catalog")) rmSync(join(at.agent, name));
		const { words, errors } = inProcess(settling("word7"), `trap "" XFSZ; ulimit -f ${most};`);
		expect([words[0], words[2]], `${most} blocks: ${errors}`).toEqual(["1", "ended"]);
	}
	expect(await ids("word7")).toEqual(["s-7"]);
});

// Regression: a search among files that kept changing never settled, and its process ended before it.
test("a search among changing files keeps its process alive", async () => {
	const at = agentDir();
	await tick();
	const source = `
		const fs = require("node:fs");
		const head = ${JSON.stringify(`${JSON.stringify(header({ id: "hot" }))}\n`)};
		const line = ${JSON.stringify(`${JSON.stringify(message("x", null, user("hot text")))}\n`)};
		for (let n = 0; ; n++) {
			const file = ${JSON.stringify(at.dir)} + "/hot" + (n % 4) + ".jsonl";
			fs.writeFileSync(file + ".t", head + line.repeat(3000 + (n % 3)));
			fs.renameSync(file + ".t", file);
			if (n === 4) console.log("going");
		}`;
	const writer = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "pipe", "inherit"] });
	try {
		await new Promise((resolve) => writer.stdout.once("data", resolve));
		for (let n = 0; n < 3; n++) expect(await ids("question")).toHaveLength(12);
		const { words, errors } = inProcess(settling("question"));
		expect([words[0], words[2]], errors).toEqual(["12", "ended"]);
		// A changing file is found, too: its present text, or its text a moment ago.
		expect((await ids("hot")).length).toBeGreaterThan(0);
	} finally {
		const ended = new Promise((resolve) => writer.once("exit", resolve));
		writer.kill("SIGKILL");
		await ended;
	}
});

// Regression: each hit contained a copy of its session's first message.
test("no hit holds a copy of its session's first message", async () => {
	const at = agentDir(0);
	const large = `${"many words ".repeat(1 << 20)}${"x".repeat(1 << 20)}`;
	const hits = Array.from({ length: 400 }, (_, n) => message(`h${n}`, null, user(`needle ${n}`)));
	writeSession(at.dir, [header({ id: "large" }), message("a", null, user(large)), ...hits], "large.jsonl");
	await tick();
	const { words, errors } = inProcess(
		`SessionManager.search("needle", { limit: 1_000 }).then((hits) => say(hits.length));`,
	);
	const [count, addedMB] = words.map(Number);
	expect(count, errors).toBe(400);
	// 400 copies of 12 MB would be 4.8 GB.
	expect(addedMB).toBeLessThan(1_000);
});

test("a text of 80 MB is found with bounded memory", async () => {
	const at = agentDir(0);
	const giant = `needle ${"many words ".repeat(80 * 95_000)} straw`;
	writeSession(
		at.dir,
		[header({ id: "giant" }), message("m", null, user([{ type: "text", text: giant }]))],
		"giant.jsonl",
	);
	const { words, errors } = inProcess(
		`SessionManager.search("STRAW needle").then((hits) => say(hits.map((hit) => hit.snippet.length < 400).join()));`,
	);
	const [isShort, addedMB] = words;
	expect(isShort, errors).toBe("true");
	expect(Number(addedMB)).toBeLessThan(400);
});

// Regression: if there was no memory for the parts of a long line, the process ended.
test.runIf(process.platform === "linux")("a long line ends no process", async () => {
	const at = agentDir(0);
	const line = (piece: string) =>
		`{"type":"custom","id":"c","data":["needle"${piece.repeat((40 << 20) / piece.length)}]}\n`;
	const asked = `SessionManager.search("needle", { in: ["custom"] }).then((hits) => say(hits.length), (why) => say(why.code));`;
	for (const piece of [" ".repeat(100), `,"${"a b ".repeat(1_000)}"`, ',"ab"'.repeat(40)]) {
		writeFileSync(join(at.dir, "long.jsonl"), `${JSON.stringify(header({ id: "long" }))}\n${line(piece)}`);
		for (const limit of ["unlimited", "1000000"]) {
			const { words, errors } = inProcess(asked, `ulimit -v ${limit};`);
			// How much of a limited memory is left depends on the engine.
			expect(limit === "unlimited" ? ["1"] : ["1", "ENOMEM"], `${piece.slice(0, 20)}: ${errors}`).toContain(words[0]);
		}
	}
});

// Regression: the elements of a message's content were collected. If there was no memory for them, the process ended.
test.runIf(process.platform === "linux")("a message of many million parts ends no process", async () => {
	const at = agentDir(0);
	const asked = `SessionManager.search("needle").then((hits) => say(hits.length), (why) => say(why.code));`;
	for (const piece of [",1", ',{"type":"text","text":"a"}']) {
		const content = `[{"type":"text","text":"needle"}${piece.repeat((30 << 20) / piece.length)}]`;
		const line = `{"type":"message","id":"m","message":{"role":"user","content":${content}}}`;
		writeFileSync(join(at.dir, "parts.jsonl"), `${JSON.stringify(header({ id: "parts" }))}\n${line}\n`);
		for (const limit of ["unlimited", "1000000"]) {
			const { words, errors } = inProcess(asked, `ulimit -v ${limit};`);
			const [what, addedMB] = words;
			// The line and the positions of its texts are in memory.
			expect(Number(addedMB), `${piece}, ${limit}: ${errors}`).toBeLessThan(150);
			// How much of a limited memory is left depends on the engine.
			if (limit === "unlimited") expect(what).toBe("1");
			else expect(["1", "ENOMEM"]).toContain(what);
		}
	}
});

// Regression: the key of every hit was kept.
test("memory does not grow with the hits in a session", async () => {
	const at = agentDir(0);
	const lines = Array.from(
		{ length: 50_000 },
		(_, n) => `{"type":"message","id":"${n}-","message":{"role":"user","content":"needle"}}\n`,
	);
	const path = join(at.dir, "many.jsonl");
	writeFileSync(path, `${JSON.stringify(header({ id: "many" }))}\n`);
	// Each search has other ids.
	for (let n = 0; n < 40; n++) appendFileSync(path, lines.join("").replaceAll('-"', `-${n}"`));
	const { words, errors } = inProcess(
		`SessionManager.search("needle", { limit: 20 }).then((hits) => say(hits.length));`,
	);
	const [count, addedMB] = words.map(Number);
	expect(count, errors).toBe(20);
	// Keys of 2,000,000 hits take more than 70 MB.
	expect(addedMB).toBeLessThan(40);
});

// Regression: while the newest session was searched, all other sessions were searched, and their hits kept.
test("sessions after a large one wait for it", async () => {
	const at = agentDir(0);
	const texts = Array.from({ length: 60 }, (_, n) => message(`m${n}`, null, user(`needle ${n}`)));
	const count = 2_000;
	for (let n = 0; n < count; n++) {
		const path = writeSession(
			at.dir,
			[header({ id: `s-${n}` }), ...texts.map((one) => ({ ...one, id: `${one.id}x${n}` }))],
			`${n}.jsonl`,
		);
		utimesSync(path, 1_000_000 + n, 1_000_000 + n);
	}
	// The output of tools is read, but not searched.
	const output = `${JSON.stringify(message("t", null, { role: "toolResult", content: `needle ${"y".repeat(300)}` }))}\n`;
	writeFileSync(join(at.dir, "large.jsonl"), `${JSON.stringify(header({ id: "large" }))}\n${output.repeat(400_000)}`);
	let most = 0;
	const onProgress = (searched: number): void => void (most = searched);
	const hits = await SessionManager.search("needle", { limit: 20, onProgress });
	expect(hits.map((hit) => hit.id)).toEqual(Array.from({ length: 20 }, () => `s-${count - 1}`));
	// 1,000 hits wait, 40 for each session, and each of at most 8 threads may have searched one session more.
	expect(most).toBeLessThan(1_000 / 40 + 8 + 2);
	const reason = new Error("enough");
	const controller = new AbortController();
	const aborting = SessionManager.search("needle", {
		limit: 20,
		signal: controller.signal,
		onProgress: (searched) => void (searched > 0 && controller.abort(reason)),
	});
	await expect(aborting).rejects.toBe(reason);
	await settled(at);
});

test("sessions are searched while their files change", async () => {
	const at = agentDir(24);
	const file = (n: number) => join(n % 4 === 3 ? at.other : at.dir, `${n}.jsonl`);
	const line = `${JSON.stringify(message("more", "c", user("question again")))}\n`;
	const seed = Number(process.env.PSN_SEED ?? 20251121);
	console.log(`seed ${seed}`);
	let state = seed;
	const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
	for (let round = 0; round < 60; round++) {
		const searches = Array.from({ length: 4 }, () => ids("question"));
		for (let change = 0; change < 3; change++) {
			// Half of the sessions do not change. They are found, even if the others disappear.
			const n = random(12);
			const what = random(4);
			if (what === 0) writeFileSync(file(n), line, { flag: "a" });
			else if (what === 1) {
				session(n % 4 === 3 ? at.other : at.dir, 100 + n);
				renameSync(file(100 + n), file(n));
			} else if (what === 2) writeFileSync(file(n), "");
			else rmSync(file(n), { force: true });
			if (random(5) === 0) truncateSync(file(12), truncated(file(12)));
			await new Promise((resolve) => setImmediate(resolve));
		}
		const want = Array.from({ length: 11 }, (_, n) => `s-${n + 13}`);
		for (const found of await Promise.all(searches)) expect(found).toEqual(expect.arrayContaining(want));
	}
});

test("ten thousand sessions are searched, the newest first", async () => {
	const at = agentDir(0);
	for (let n = 0; n < 10_000; n++) {
		const said = n % 1_000 === 7 ? `the needle ${n}` : `nothing ${n}`;
		// A list sorts by the time of the message. After the list, a search has the same order.
		const asked = { ...user(said), timestamp: 1_000_000_000_000 + n };
		const path = writeSession(at.dir, [header({ id: `s-${n}` }), message(`m${n}`, null, asked)], `${n}.jsonl`);
		utimesSync(path, 1_000_000 + n, 1_000_000 + n);
	}
	const want = Array.from({ length: 10 }, (_, n) => `s-${(9 - n) * 1_000 + 7}`);
	for (let time = 0; time < 2; time++) {
		const found = await SessionManager.search("needle");
		expect(found.map((hit) => hit.id)).toEqual(want);
		expect((await SessionManager.search("nothing", { limit: 3 })).map((hit) => hit.id)).toEqual([
			"s-9999",
			"s-9998",
			"s-9997",
		]);
		await SessionManager.listAll();
	}
});

test("a query of signs alone can be aborted", async () => {
	const at = agentDir();
	writeSession(at.dir, [header({ id: "signs" }), message("m", null, user("a => b; {x} && y"))], "signs.jsonl");
	await tick();
	for (const query of ["=>", "&&", "{ }", "; =>"]) expect(await ids(query), query).toEqual(["signs"]);
	expect(await ids("=> ||")).toEqual([]);
	const reason = new Error("enough");
	const controller = new AbortController();
	const promise = SessionManager.search("=>", { signal: controller.signal });
	controller.abort(reason);
	await expect(promise).rejects.toBe(reason);
	await settled(at);
});

// Regression: a query of thousands of terms took seconds for each thousand, and ignored its signal.
test("a query of thousands of terms can be aborted", async () => {
	const at = agentDir();
	const many = Array.from({ length: 5_000 }, (_, n) => `w${n}`);
	writeSession(at.dir, [header({ id: "many" }), message("m", null, user(many.join(" ")))], "many.jsonl");
	await tick();
	expect(await ids(many.join(" "))).toEqual(["many"]);
	expect(await ids(`${many.join(" ")} w5000`)).toEqual([]);
	expect(
		await ids(
			many
				.slice(0, 300)
				.map((word) => word.slice(1))
				.join(" "),
		),
	).toEqual(["many"]);
	const controller = new AbortController();
	const promise = SessionManager.search(many.join(" "), { signal: controller.signal });
	controller.abort("enough");
	await expect(promise).rejects.toBe("enough");
	await settled(at);
});
