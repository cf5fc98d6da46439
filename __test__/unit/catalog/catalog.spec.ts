// The catalog's file: its place, who may read it, and that no state of it changes an answer.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import type { SearchHit } from "../../../index.js";
import { inThread } from "../../support/children.js";
import { api, LOAD, lockedOut, modeOf, ownAgent, scratch, setEnv, snapshot } from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";
import {
	type AgentDir,
	abandonThreads,
	agentDir,
	listed,
	listedByReference,
	namesIn,
	run,
	session,
	settled,
	tick,
} from "./agent-dir.js";

const { SessionManager } = api;

testWith("modes")("it is the only new file, for its owner alone", async () => {
	const at = agentDir();
	await listed();
	await settled(at);
	expect(namesIn(at.agent).filter((name) => !name.startsWith("session-catalog.sqlite"))).toEqual(["sessions"]);
	for (const name of namesIn(at.agent).filter((name) => name !== "sessions")) {
		expect(modeOf(join(at.agent, name)), name).toBe(0o600);
	}
	expect(namesIn(at.dir).every((name) => name.endsWith(".jsonl"))).toBe(true);
});

test("a given directory gets no catalog", async () => {
	const { agent } = ownAgent();
	const dir = scratch();
	session(dir, 1);
	const before = snapshot(dir);
	expect(await SessionManager.listAll(dir)).toHaveLength(1);
	expect(await SessionManager.search("question", { sessionDir: dir })).toHaveLength(1);
	expect(snapshot(dir)).toEqual(before);
	expect(existsSync(agent)).toBe(false);
});

test("the environment moves it or turns it off", async () => {
	const at = agentDir();
	setEnv({ PI_SESSION_NATIVE_CATALOG: "off" });
	expect(await listed()).toEqual(await listedByReference());
	expect(await SessionManager.search("question")).toHaveLength(12);
	expect(namesIn(at.agent)).toEqual(["sessions"]);
	const elsewhere = join(scratch(), "deep", "file.db");
	setEnv({ PI_SESSION_NATIVE_CATALOG: elsewhere });
	expect(await listed()).toEqual(await listedByReference());
	expect(existsSync(elsewhere)).toBe(true);
	expect(namesIn(at.agent)).toEqual(["sessions"]);
	const own = join(scratch(), "workers.db");
	const script = "SessionManager.listAll().then((list) => parentPort.postMessage(list.length));";
	expect(await inThread(script, { env: { ...process.env, PI_SESSION_NATIVE_CATALOG: own } })).toBe(12);
	expect(existsSync(own)).toBe(true);
});

/** Hits in an order that does not depend on the catalog, although it knows the times of sessions. */
const byPath = (hits: SearchHit[]): SearchHit[] => hits.sort((a, b) => (a.path < b.path ? -1 : 1));

describe("the answer is the same with a catalog that is", () => {
	const broken: [string, (at: AgentDir) => void][] = [
		[
			"gone",
			({ catalog }) => {
				for (const ending of ["", "-wal", "-shm"]) rmSync(catalog + ending, { force: true });
			},
		],
		[
			"gone but for its log",
			({ catalog }) => {
				expect(existsSync(`${catalog}-wal`)).toBe(true);
				rmSync(catalog);
			},
		],
		[
			"there without its log",
			({ catalog }) => {
				for (const ending of ["-wal", "-shm"]) rmSync(catalog + ending);
			},
		],
		[
			"there with another's log",
			({ catalog }) => {
				const bytes = readFileSync(`${catalog}-wal`);
				writeFileSync(
					`${catalog}-wal`,
					bytes.map((byte, at) => (at < 32 ? byte : byte ^ (at % 7))),
				);
			},
		],
		["empty", ({ catalog }) => truncateSync(catalog, 0)],
		["cut in the middle", ({ catalog }) => truncateSync(catalog, 20_000)],
		["something else", ({ catalog }) => writeFileSync(catalog, "this is no catalog ".repeat(5_000))],
		[
			"corrupt",
			({ catalog }) => {
				const bytes = readFileSync(catalog);
				writeFileSync(catalog, bytes.fill(0xff, 100));
				for (const ending of ["-wal", "-shm"]) rmSync(catalog + ending, { force: true });
			},
		],
		[
			"a directory",
			({ catalog }) => {
				for (const ending of ["", "-wal", "-shm"]) rmSync(catalog + ending, { force: true });
				mkdirSync(catalog);
			},
		],
	];
	test.each(broken)("%s", async (_what, harm) => {
		const at = agentDir();
		await tick();
		const want = await listedByReference();
		// From another process, so that this one has not opened the catalog.
		await run(`await SessionManager.search("question"); await SessionManager.listAll();`);
		const hits = byPath(await SessionManager.search("question"));
		const answers = byPath(await SessionManager.search("answer"));
		harm(at);
		for (let time = 0; time < 3; time++) {
			expect(await listed()).toEqual(want);
			expect(byPath(await SessionManager.search("question"))).toEqual(hits);
			expect(byPath(await SessionManager.search("answer"))).toEqual(answers);
		}
		expect([hits.length, answers.length]).toEqual([12, 12]);
	});

	testWith("modes")("not to be written, or not to be read", async () => {
		const at = agentDir();
		await tick();
		await listed();
		await settled(at);
		session(at.dir, 50);
		for (const dir of [at.agent, join(at.agent, "sessions"), at.dir, at.other]) chmodSync(dir, 0o755);
		const want = await listedByReference();
		for (const mode of [0o555, 0o111]) {
			chmodSync(at.agent, mode);
			chmodSync(at.catalog, mode & 0o444);
			// `lockedOut` runs without a privileged process's rights. It does not matter which directory it locks here.
			const elsewhere = scratch();
			expect(await lockedOut(elsewhere, listed)).toEqual(want);
			expect(await lockedOut(elsewhere, () => SessionManager.search("question"))).toHaveLength(13);
			chmodSync(at.agent, 0o755);
			chmodSync(at.catalog, 0o600);
		}
	});
});

test("a process stores its list before it ends", async () => {
	const at = agentDir(3);
	const path = session(at.dir, 77);
	await tick();
	await run(`await SessionManager.listAll(); process.exit(0);`);
	// Not every runtime has it, and the types of the oldest do not declare it.
	const sqlite = "node:sqlite";
	const { DatabaseSync } = await import(sqlite).catch(() => ({ DatabaseSync: undefined }));
	expect(existsSync(at.catalog)).toBe(true);
	const bytes = Buffer.concat(["", "-wal"].map((ending) => readFileSync(at.catalog + ending)));
	expect(bytes.includes("77.jsonl")).toBe(true);
	if (DatabaseSync) {
		const db = new DatabaseSync(at.catalog, { readOnly: true });
		expect(db.prepare("SELECT count(*) AS n FROM session").get()).toEqual({ n: 4 });
		db.close();
	}
	expect(path).toContain("77");
});

test("processes that list, search and append at once agree", async () => {
	const at = agentDir(40);
	const work = (name: string) => `
		const fs = require("node:fs");
		for (let n = 0; n < 25; n++) {
			fs.appendFileSync(${JSON.stringify(join(at.dir, "0.jsonl"))}, JSON.stringify({ type: "message", id: "${name}" + n, parentId: null, timestamp: "2025-02-01T00:00:00.000Z", message: { role: "user", content: "by ${name} " + n } }) + "\\n");
			const list = await SessionManager.listAll();
			if (list.length !== 40) throw new Error("listed " + list.length);
			if (n % 5 === 0 && (await SessionManager.search("by ${name} " + n)).length === 0) throw new Error("not found");
		}
		console.log("done");`;
	// Both end before the checks, because their files are removed afterwards.
	const done = await Promise.allSettled([run(work("one")), run(work("two"))]);
	expect(done).toEqual(["done\n", "done\n"].map((value) => ({ status: "fulfilled", value })));
	expect(await listed()).toEqual(await listedByReference());
	expect(await SessionManager.search("by", { limit: 100 })).toHaveLength(50);
});

test("a worker may end during its lists and searches", async () => {
	agentDir(30);
	for (let time = 0; time < 6; time++) {
		const source = `${LOAD}
			for (let n = 0; n < 5; n++) { SessionManager.listAll(() => {}); SessionManager.search("question"); }
			setTimeout(() => process.exit(), ${time * 4});`;
		const worker = new Worker(source, { eval: true });
		await new Promise((resolve) => worker.on("exit", resolve));
	}
	abandonThreads();
	expect(await listed()).toEqual(await listedByReference());
});

describe("allMessagesText", () => {
	const _texts = async () => (await SessionManager.listAll()).map((info) => info.allMessagesText).sort();

	test("is an own property that is read on first access", async () => {
		agentDir(1);
		const [info] = await SessionManager.listAll();
		const before = Object.getOwnPropertyDescriptor(info, "allMessagesText");
		expect([typeof before?.get, before?.enumerable, before?.configurable]).toEqual(["function", true, true]);
		expect(info?.allMessagesText).toBe("question 0 answer 0");
		expect(Object.getOwnPropertyDescriptor(info, "allMessagesText")).toEqual({
			value: "question 0 answer 0",
			writable: true,
			enumerable: true,
			configurable: true,
		});
	});

	test("is copied with its list entry, and can be set", async () => {
		agentDir(1);
		const fresh = async () => (await SessionManager.listAll())[0] as any;
		expect({ ...(await fresh()) }.allMessagesText).toBe("question 0 answer 0");
		expect(structuredClone(await fresh()).allMessagesText).toBe("question 0 answer 0");
		expect(JSON.parse(JSON.stringify(await fresh())).allMessagesText).toBe("question 0 answer 0");
		const frozen = Object.freeze(await fresh());
		expect([frozen.allMessagesText, frozen.allMessagesText]).toEqual(["question 0 answer 0", "question 0 answer 0"]);
		const set = await fresh();
		set.allMessagesText = "mine";
		expect(set.allMessagesText).toBe("mine");
	});
});

test("one turn of the loop handles at most 64 results", async () => {
	agentDir(300);
	for (let time = 0; time < 2; time++) {
		let turn = 0;
		let running = true;
		const spin = () => {
			turn++;
			if (running) setImmediate(spin);
		};
		setImmediate(spin);
		const perTurn = new Map<number, number>();
		await SessionManager.listAll(() => perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1));
		running = false;
		expect([...perTurn.values()].reduce((a, b) => a + b)).toBe(300);
		expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(64);
	}
});
