// The process beside pi that follows its sessions: what it takes from pi, and when it ends.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { loadAll } from "../../lib/index.js";
import { emptyDirectory } from "../support/lines.js";
import { HELLO, MINUTES, type Machine, machine, node, pi, program, reader, root, silentBucket, silentServer, storedLines } from "../support/pi-process.js";

const require = createRequire(__filename);
const { LastErrors } = require("../../lib/machine/last-errors.js");

test("what follows a session while the process runs stores what is appended", async () => {
	const at = machine();
	// It ends by a signal, so that nothing is stored at its end.
	const { end } = await pi(
		at,
		`import { readdirSync } from "node:fs";
		const manager = SessionManager.create(process.cwd());
		manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 });
		setInterval(() => {
			if (readdirSync(process.env.PI_SESSION_NATIVE_STORE, { recursive: true }).some((name) => name.endsWith(".lines"))) process.kill(process.pid, "SIGKILL");
		}, 20);`,
	);
	expect(end).toBe("SIGKILL");
	const [stored] = (await reader(at).list()).sessions;
	expect((await loadAll(reader(at), stored?.session ?? "")).lines).toHaveLength(1);
});

test("what talks to the store makes more calls to a drive at the same time than Node does by itself", async () => {
	const at = machine();
	const preload = join(at.path, "threads.cjs");
	writeFileSync(preload, `require("node:fs").appendFileSync(${JSON.stringify(join(at.path, "threads"))}, \`\${process.argv[1]?.split(/[\\\\/]/).pop()} \${process.env.UV_THREADPOOL_SIZE}\\n\`);`);
	const body = `${HELLO}
		const { readFileSync } = await import("node:fs");
		while (!readFileSync(${JSON.stringify(join(at.path, "threads"))}, "utf8").includes("follower.mjs")) await new Promise((resolve) => setTimeout(resolve, 20));`;
	await pi({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}`, UV_THREADPOOL_SIZE: undefined } }, body);
	const seen = () => new Set(readFileSync(join(at.path, "threads"), "utf8").trim().split("\n"));
	expect(seen()).toContain("follower.mjs 16");
	await pi({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}`, UV_THREADPOOL_SIZE: "5" } }, "");
	expect(seen()).toContain("follower.mjs 5");
});

// Regression: it was an uncaught exception in pi.
test.each([
	["from its start", "fs.fstatSync", "EIO: i/o error, fstat"],
	["while it runs", "fs.fstatSync", "EIO: i/o error, fstat"],
	["while it runs", "Buffer.alloc", "Array buffer allocation failed"],
])("reports that cannot be read %s (%s) keep pi from nothing", async (when, call, error) => {
	const at = machine();
	const preload = join(at.path, "failing.cjs");
	writeFileSync(preload, `
		const fs = require("node:fs");
		const original = ${call};
		globalThis.isFailing = ${when === "from its start"};
		${call} = (...args) => {
			if (!isFailing || process.argv[1]?.endsWith("follower.mjs")) return original(...args);
			globalThis.hasFailed = true;
			throw new Error(${JSON.stringify(error)});
		};
		require("node:module").syncBuiltinESMExports();`);
	const { end, err } = await pi(
		{ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } },
		`${HELLO}
		const isToEnd = !isFailing;
		globalThis.isFailing = true;
		while (!globalThis.hasFailed) await new Promise((resolve) => setTimeout(resolve, 20));
		if (isToEnd) globalThis.isFailing = false;`,
	);
	const why = `its reports cannot be read: ${error}`;
	expect([end, err]).toEqual([0, expect.stringContaining(why)]);
	if (when === "while it runs") expect(await storedLines(at)).toEqual([1]);
	else expect(err).toMatch(new RegExp(`the store was not asked: ${why}[^]*not all is stored yet \\(${why}\\)`));
});

/** Lets the follower hold a connection to a server of the test's, which is closed when the process is gone, whatever it waits for. */
function lifeline({ path }: Machine, port: number): string {
	const preload = join(path, "lifeline.cjs");
	writeFileSync(preload, `if (process.argv[1]?.endsWith("follower.mjs")) require("node:net").connect(${port}, "127.0.0.1").unref();`);
	return `--require ${preload}`;
}

/** A store in a directory that hangs, as a network drive whose server is gone: opening a pipe that nobody writes to waits forever. */
function hangingMachine(): Machine {
	const at = machine({ PI_SESSION_NATIVE_STORE_TIMEOUT: "1" });
	execFileSync("mkfifo", [join(at.address, "store.json")]);
	return at;
}

/** The store is asked at once, though it did not answer at the start. */
const ASKED_AGAIN = `
	{
		const fs = await import("node:fs");
		const notes = process.env.PI_CODING_AGENT_DIR + "/session-stores/";
		for (const name of fs.readdirSync(notes)) if (name.startsWith("errors-")) fs.rmSync(notes + name, { recursive: true });
	}`;

/** Five sessions that grow while names are looked up, for which a process has four threads in all. */
const GROWING = `${ASKED_AGAIN}
	const { lookup } = await import("node:dns/promises");
	const managers = Array.from({ length: 5 }, () => SessionManager.create(process.cwd()));
	for (let n = 0; n < 12; n++) {
		for (const manager of managers) manager.appendMessage({ role: "user", content: "Hello", timestamp: n });
		await new Promise((resolve) => setTimeout(resolve, 250));
		await lookup("localhost");
	}`;

test.each(["process.exit(7);", "process.exitCode = 7;"])("a store in a directory that hangs takes no thread from pi, which looks up names and ends (%s)", async (last) => {
	const { end, err } = await pi(hangingMachine(), GROWING + last);
	expect(end).toBe(7);
	expect(err).toContain("not all is stored yet (the store did not answer within 0.001 s)");
});

test("the process that follows sessions ends with pi when pi is killed, though its own calls to the store hang", async () => {
	const at = hangingMachine();
	let closed: Promise<unknown> | undefined;
	const port = await silentServer((socket) => (closed = once(socket.resume(), "close")));
	const { end } = await pi({ ...at, env: { ...at.env, NODE_OPTIONS: lifeline(at, port) } }, `${GROWING} process.kill(process.pid, "SIGKILL");`);
	expect(end).toBe("SIGKILL");
	expect(closed).toBeDefined();
	await closed;
});

test.each([
	["PostgreSQL", (port: number) => ({ PI_SESSION_NATIVE_STORE: `postgres://me:s3cret@127.0.0.1:${port}/x?timeout=600000` })],
	["a bucket", silentBucket],
])("%s that takes connections and says nothing does not keep a program from ending by itself", async (_, envOf) => {
	const marker = join(emptyDirectory(), "connected");
	const port = await silentServer(() => writeFileSync(marker, ""));
	const at = machine({ PI_SESSION_NATIVE_STORE_TIMEOUT: "1", ...envOf(port) });
	const { end, err } = await pi(
		at,
		`${ASKED_AGAIN}
		const { existsSync, rmSync } = await import("node:fs");
		rmSync(${JSON.stringify(marker)}, { force: true });
		SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "Hello", timestamp: 1 });
		while (!existsSync(${JSON.stringify(marker)})) await new Promise((resolve) => setTimeout(resolve, 20));`,
	);
	expect(end).toBe(0);
	expect(err).toContain("not all is stored yet");
});

/** Lets the process beside pi end by itself once it has pulled for pi's start. */
const DIES = `
	const fs = require("node:fs");
	const { writeSync } = fs;
	fs.writeSync = (to, what, ...rest) => {
		const written = writeSync(to, what, ...rest);
		if (process.argv[1]?.endsWith("follower.mjs") && String(what).includes('"done":"start"')) die();
		return written;
	};
	require("node:module").syncBuiltinESMExports();`;

test("where the process that follows sessions is gone that is said, and the rest is stored when pi ends", async () => {
	const at = machine();
	const preload = join(at.path, "dying.cjs");
	writeFileSync(preload, `${DIES}
		const die = () => process.exit(3);`);
	const body = `SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "Hello", timestamp: 1 });
		process.stdin.once("data", () => process.exit());`;
	const env = { ...at.env, NODE_OPTIONS: `--require ${preload}` };
	const child = spawn(process.execPath, ["--input-type=module", "-e", program(body)], { cwd: at.work, env, stdio: ["pipe", "inherit", "pipe"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	let err = "";
	child.stderr.setEncoding("utf8").on("data", (part: string) => (err += part));
	while (!err.includes("\n")) await once(child.stderr, "data");
	const ended = once(child, "close");
	child.stdin.end("\n");
	expect(await ended).toEqual([0, null]);
	expect(err).toBe("pi-session-native: the process that stores what is appended has ended (exit code 3), and is started again\n");
	const [stored] = (await reader(at).list()).sessions;
	expect((await loadAll(reader(at), stored?.session ?? "")).lines).toHaveLength(1);
});

test("where the process that follows sessions ends by an error that is said, and another one goes on while pi runs", async () => {
	const at = machine();
	const [preload, begun] = [join(at.path, "dying.cjs"), join(at.path, "begun")];
	writeFileSync(preload, `${DIES}
		const die = () => {
			if (fs.existsSync(${JSON.stringify(begun)})) return;
			fs.writeFileSync(${JSON.stringify(begun)}, "");
			setImmediate(() => { throw new Error("out of luck"); });
		};`);
	const { end, err } = await node({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, ["--input-type=module", "-e", program(`
		import { readdirSync } from "node:fs";
		globalThis.manager = SessionManager.create(process.cwd());
		manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 });
		const now = performance.now.bind(performance);
		performance.now = () => now() + 60_000;
		// It ends by a signal, so that nothing is stored at its end.
		setInterval(() => {
			if (readdirSync(process.env.PI_SESSION_NATIVE_STORE, { recursive: true }).some((name) => name.endsWith(".lines"))) process.kill(process.pid, "SIGKILL");
		}, 20);`)]);
	expect([end, err]).toEqual(["SIGKILL", "pi-session-native: the process that stores what is appended has ended (Error: out of luck), and is started again\n"]);
});

// Regression: it was taken for the new one's.
test("what a process that has ended reports late is not taken for what the next one reports", async () => {
	const at = machine();
	const [preload, begun, late] = ["dying.cjs", "begun", "late"].map((name) => join(at.path, name)) as [string, string, string];
	const says = [{ show: "late" }, { done: "end" }].map((report) => `${JSON.stringify(report)}\n`).join("");
	// It leaves a process that has its standard output.
	const reportsLate = `setTimeout(() => { const fs = require("node:fs"); fs.writeSync(1, ${JSON.stringify(says)}); fs.writeFileSync(${JSON.stringify(late)}, ""); }, 1000);`;
	writeFileSync(preload, `${DIES}
		const die = () => {
			if (fs.existsSync(${JSON.stringify(begun)})) return;
			fs.writeFileSync(${JSON.stringify(begun)}, "");
			require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(reportsLate)}], { stdio: ["ignore", "inherit", "ignore"], detached: true }).unref();
			process.exit(3);
		};`);
	const { end, err } = await pi({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, `${HELLO}
		const { existsSync } = await import("node:fs");
		while (!existsSync(${JSON.stringify(late)})) await new Promise((resolve) => setTimeout(resolve, 20));
		await new Promise((resolve) => setTimeout(resolve, 1000));
		manager.appendMessage({ role: "user", content: "And on", timestamp: 2 });`);
	expect([end, err]).toEqual([0, "pi-session-native: the process that stores what is appended has ended (exit code 3), and is started again\n"]);
	expect(await storedLines(at)).toEqual([2]);
});

// Regression: pi waited for two seconds, and the store was left alone for a minute: on macOS, where there is no /proc, until later.
test("where the process that talks to the store is killed while pi waits, that is said, and the store is not taken for silent", async () => {
	const at = machine();
	const preload = join(at.path, "killed.cjs");
	writeFileSync(preload, `if (process.argv[1]?.endsWith("follower.mjs")) process.kill(process.pid, "SIGKILL");`);
	const { end, err } = await pi({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, "");
	expect([end, err]).toEqual([0, "pi-session-native: the store was not asked: the process that talks to it has ended\n"]);
	expect(new LastErrors(join(at.agent, "session-stores"), at.address).isSilent()).toBe(false);
});

// Regression: what ends a service ends all of its processes. pi waited for two seconds, stored nothing, and left the store alone for a minute.
test("where the process that talks to the store was killed just before pi ends, another one stores the rest", async () => {
	const at = machine();
	const [preload, number] = [join(at.path, "number.cjs"), join(at.path, "number")];
	writeFileSync(preload, `if (process.argv[1]?.endsWith("follower.mjs")) require("node:fs").appendFileSync(${JSON.stringify(number)}, process.pid + "\\n");`);
	// No event is handled between the kill and pi's end, which waits for the one that it has started then.
	const { end, err } = await pi({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, `import { readFileSync } from "node:fs";
		import child from "node:child_process";
		import { syncBuiltinESMExports } from "node:module";
		process.kill(Number(readFileSync(${JSON.stringify(number)}, "utf8")), "SIGKILL");
		const [{ spawn }, { wait }] = [child, Atomics];
		wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
		Atomics.wait = () => { throw new Error("pi waits for the one that was killed"); };
		child.spawn = (...args) => {
			Atomics.wait = wait;
			return spawn(...args);
		};
		syncBuiltinESMExports();
		${HELLO}`);
	expect([end, err]).toEqual([0, ""]);
	expect(await storedLines(at)).toEqual([1]);
	expect(readFileSync(number, "utf8").match(/\d+/g)).toHaveLength(2);
});

// Regression: a process that cannot start was tried every ten seconds, as long as pi ran.
test("a process that ends is started once a minute", async () => {
	const at = machine();
	const { end, out } = await node(at, ["--input-type=module", "-e", `
		import child from "node:child_process";
		import { createRequire, syncBuiltinESMExports } from "node:module";
		let now = 0;
		performance.now = () => now;
		const ticks = [];
		globalThis.setInterval = (tick) => (ticks.push(tick), { unref() {} });
		const starts = [];
		child.spawn = () => {
			starts.push(now);
			throw new Error("no more processes");
		};
		syncBuiltinESMExports();
		const { storeOfEnvironment } = await import(${JSON.stringify(pathToFileURL(join(root, "packages/sync/lib/follower/in-pi.mjs")).href)});
		const { SessionManager, getDefaultSessionDir } = createRequire(${JSON.stringify(join(root, "index.js"))})("./index.js");
		storeOfEnvironment().watch(SessionManager, getDefaultSessionDir);
		${HELLO}
		for (; starts.length < 3; now += 1000) for (const tick of ticks) tick();
		console.log(JSON.stringify(starts.slice(1).map((start, at) => start - starts[at])));`]);
	expect([end, JSON.parse(out)]).toEqual([0, [60_000, 60_000]]);
});

/** A program with a follower of its own. */
const withFollower = (at: Machine, body: string) => node(at, ["--input-type=module", "-e", `
	import { Follower } from ${JSON.stringify(pathToFileURL(join(root, "packages/sync/lib/follower/process.mjs")).href)};
	const follower = new Follower(${JSON.stringify({ address: at.address, notesDir: join(at.agent, "session-stores"), timeout: Number(MINUTES) })}, () => {}, () => ({}));
	${body}
	follower.stop();`]);

test("that pi ends is told at once, though a message before does not fit into the channel", async () => {
	const { end, out } = await withFollower(machine(), `
		follower.send({ open: [], more: "x".repeat(8 << 20) });
		follower.end();
		console.log(JSON.stringify(follower.wait("end", ${MINUTES})));`);
	expect([end, JSON.parse(out)]).toEqual([0, { done: "end", unstored: 0, outcome: "done" }]);
});

// Regression: pi said of its end that not all was stored.
test("the error of a request is not taken for that of the next one", async () => {
	const at = machine();
	const preload = join(at.path, "reports.cjs");
	const reports = [{ done: "start", error: "out of luck" }, { done: "end" }].map((report) => `${JSON.stringify(report)}\n`).join("");
	writeFileSync(preload, `if (process.argv[1]?.endsWith("follower.mjs")) require("node:fs").writeSync(1, ${JSON.stringify(reports)});`);
	const { out } = await withFollower({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, `console.log(JSON.stringify(follower.wait("end", ${MINUTES})));`);
	expect(JSON.parse(out)).toEqual({ done: "end", outcome: "done" });
});

// Regression: nothing was stored.
test("where no temporary file can be made, what is appended is stored all the same", async () => {
	const at = machine();
	const none = join(at.path, "none");
	const { end, err } = await pi({ ...at, env: { ...at.env, TMPDIR: none, TEMP: none, TMP: none } }, HELLO);
	expect([end, err]).toEqual([0, ""]);
	expect(await storedLines(at)).toEqual([1]);
});
