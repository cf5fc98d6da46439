// The clock, the environment and the working directory are JavaScript's. A process ends when it should.
import { spawnSync } from "node:child_process";
import { basename, join } from "node:path";
import { expect, test, vi } from "vitest";
import { inThread } from "../../support/children.js";
import { scriptCommand, scriptFile } from "../../support/runtime.js";
import {
	api,
	clockAt,
	enter,
	header,
	jsonLines,
	LOAD,
	message,
	opened,
	scratch,
	setEnv,
	system,
	user,
	writeSession,
} from "../../support/scratch.js";
import { dirName } from "../../support/windows.js";

// Later than any real clock, because session ids never go back in time.
const NOW = "2099-02-03T04:05:06.789Z";

test("fake timers hold for ids, headers, file names and entries", () => {
	clockAt(NOW);
	const dir = scratch();
	const manager = api.SessionManager.create("/x", dir);
	expect(manager.getHeader()?.timestamp).toBe(NOW);
	expect(Number.parseInt(manager.getSessionId().replace("-", "").slice(0, 12), 16)).toBe(Date.parse(NOW));
	expect(basename(manager.getSessionFile() as string)).toBe(`2099-02-03T04-05-06-789Z_${manager.getSessionId()}.jsonl`);
	vi.setSystemTime(new Date("2099-02-03T05:00:00.000Z"));
	const id = manager.appendMessage(user());
	expect(manager.getEntry(id)?.timestamp).toBe("2099-02-03T05:00:00.000Z");
	manager.appendMessage(system({ content: "x" }));
	const compaction: any = manager.getEntry(manager.appendCompaction("s", id, 1));
	expect(compaction.systemMessage.timestamp).toBe(Date.parse(compaction.timestamp));
	vi.setSystemTime(new Date("2099-02-03T06:00:00.000Z"));
	const branched = manager.createBranchedSession(id) as string;
	expect(jsonLines(branched)[0].timestamp).toBe("2099-02-03T06:00:00.000Z");
	expect(basename(branched).startsWith("2099-02-03T06-00-00-000Z_")).toBe(true);
	const fork = api.SessionManager.forkFrom(branched, "/y", dir);
	expect(fork.getHeader()?.timestamp).toBe("2099-02-03T06:00:00.000Z");
	expect(manager.newSession()).toContain("2099-02-03T06-00-00-000Z_");
});

test("times before 1970 and after 9999 are written like JavaScript's", () => {
	for (const iso of ["1969-12-31T23:59:59.999Z", "+010000-01-01T00:00:00.000Z"]) {
		clockAt(iso);
		const { manager } = opened([message("a", null)]);
		expect(manager.getEntry(manager.appendCustomEntry("x"))?.timestamp).toBe(iso);
	}
});

test("the working directory is asked for when it is needed", () => {
	for (const dir of [scratch(), scratch()]) {
		enter(dir);
		expect(api.SessionManager.inMemory().getCwd()).toBe(dir);
		expect(api.SessionManager.inMemory("sub").getCwd()).toBe(join(dir, "sub"));
	}
});

test("a worker has its own environment and working directory", async () => {
	const [main, own, cwd] = [scratch(), scratch(), scratch()];
	setEnv({ PI_CODING_AGENT_DIR: main });
	const body = `
		process.env.PI_CODING_AGENT_DIR = workerData.own;
		process.cwd = () => workerData.cwd;
		const manager = SessionManager.create(".");
		manager.appendMessage({ role: "user", content: "from a worker", timestamp: 1 });
		SessionManager.list(".").then((list) => parentPort.postMessage({
			cwd: manager.getCwd(), dir: manager.getSessionDir(), file: manager.getSessionFile(), texts: list.map((one) => one.firstMessage),
		}));`;
	const said = await inThread(body, { workerData: { own, cwd } });
	expect(said).toMatchObject({ cwd, dir: join(own, "sessions", dirName(cwd)), texts: ["from a worker"] });
	expect(jsonLines(said.file)).toHaveLength(2);
	expect(api.getDefaultSessionDir("/x")).toBe(join(main, "sessions", dirName("/x")));
});

/** Runs a script in another process. */
function run(script: string, ...args: string[]) {
	const [command, ...rest] = scriptCommand(scriptFile(LOAD + script), args);
	return spawnSync(command as string, rest, { encoding: "utf8", timeout: 500_000 });
}

test("workers may be terminated during their lists", () => {
	const dir = scratch();
	for (let n = 0; n < 200; n++)
		writeSession(dir, [header({ id: `s${n}` }), message("a", null, user("x".repeat(10_000)))], `${n}.jsonl`);
	// In another process, so that its end is one failed test and not the end of all tests.
	const script = `
		const { Worker } = require("node:worker_threads");
		const dir = process.argv[2];
		const code = ${JSON.stringify(`
			const { parentPort, workerData } = require("node:worker_threads");${LOAD}
			for (let i = 0; i < 4; i++) SessionManager.listAll(workerData, () => parentPort.postMessage("going"));`)};
		(async () => {
			for (let round = 0; round < 15; round++) {
				const worker = new Worker(code, { eval: true, workerData: dir });
				await new Promise((resolve) => worker.once("message", resolve));
				await worker.terminate();
			}
			console.log("listed", (await SessionManager.listAll(dir)).length);
		})();`;
	const { status, signal, stdout } = run(script, dir);
	expect({ status, signal, stdout }).toEqual({ status: 0, signal: null, stdout: "listed 200\n" });
});

test("a process ends after a list with an unused signal", () => {
	const dir = scratch();
	writeSession(dir, [header()]);
	const script = `
		const controller = new AbortController();
		SessionManager.list("/somewhere", process.argv[2], () => {}, controller.signal).then((list) => console.log("listed", list.length));`;
	const { status, signal, stdout, stderr } = run(script, dir);
	expect({ status, signal, stdout, stderr }).toEqual({ status: 0, signal: null, stdout: "listed 1\n", stderr: "" });
});

test("a list keeps the process alive, unless process.exit ends it", () => {
	const dir = scratch();
	for (let n = 0; n < 100; n++) writeSession(dir, [header({ id: `s${n}` })], `${n}.jsonl`);
	const waits = run('SessionManager.listAll(process.argv[2]).then((list) => console.log("listed", list.length));', dir);
	expect([waits.status, waits.stdout]).toEqual([0, "listed 100\n"]);
	const exits = run("SessionManager.listAll(process.argv[2], () => process.exit(7));", dir);
	expect([exits.status, exits.stderr]).toEqual([7, ""]);
});
