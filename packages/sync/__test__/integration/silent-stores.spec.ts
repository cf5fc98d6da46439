// Stores that do not answer: pi's start and end wait for them no longer than they may, and the next starts not at all.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { DirectoryStore } from "../../lib/index.js";
import { hangingDrive } from "../support/hanging-drive.js";
import { emptyDirectory } from "../support/lines.js";

const root = resolve(__dirname, "../../../..");
const NO_ANSWER = /^pi-session-native: the store did not answer within \d+(\.\d+)? s; pi starts with the sessions that are here$/;
const LEFT_ALONE = "pi-session-native: the store did not answer less than a minute ago, and is not asked; pi starts with the sessions that are here";
const HELLO = `SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "Hello", timestamp: 1 });`;

function machine(address: string, timeout: number) {
	const path = emptyDirectory();
	const work = join(path, "shop");
	mkdirSync(work);
	const own = { PI_SESSION_NATIVE_STORE: address, PI_SESSION_NATIVE_HOST: "laptop", PI_SESSION_NATIVE_PROJECT: "shop", PI_SESSION_NATIVE_STORE_TIMEOUT: String(timeout) };
	return { path, work, notes: join(path, "agent/session-stores"), env: { ...process.env, NODE_OPTIONS: "", PI_CODING_AGENT_DIR: join(path, "agent"), HOME: path, AWS_ACCESS_KEY_ID: "me", AWS_SECRET_ACCESS_KEY: "s3cret", ...own } };
}
type Machine = ReturnType<typeof machine>;

/** A pi without a screen: what it does between its start and its end. */
function start({ work, env }: Machine, body: string, before = `store.pullBefore([]);`): { child: ChildProcess; ended: Promise<{ end: number | string; err: string[] }> } {
	const program = `
		import { createRequire } from "node:module";
		import { storeOfEnvironment } from ${JSON.stringify(pathToFileURL(join(root, "packages/sync/lib/follower/in-pi.mjs")).href)};
		const { SessionManager } = createRequire(${JSON.stringify(join(root, "index.js"))})("./index.js");
		const store = storeOfEnvironment();
		${before}
		store.watch(SessionManager);
		${body}`;
	const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: work, env: env as NodeJS.ProcessEnv, stdio: ["ignore", "pipe", "pipe"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	let err = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
	const ended = once(child, "close").then(([code, signal]) => ({ end: (signal ?? code) as number | string, err: err.split("\n").filter(Boolean) }));
	return { child, ended };
}
const run = (at: Machine, body: string) => start(at, body).ended;

/** The address of a server that takes connections and says nothing, and how many it took. */
async function silentStore(): Promise<{ address: string; connections: () => number }> {
	let connections = 0;
	const server = createServer((socket) => {
		connections++;
		socket.on("error", () => {});
		onTestFinished(() => void socket.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => void server.close());
	return { address: `s3://bucket?endpoint=http://127.0.0.1:${(server.address() as AddressInfo).port}&timeout=600000`, connections: () => connections };
}

/** The store did not answer a minute earlier than it is noted. */
function letMinutePass({ notes }: Machine) {
	const [path] = readdirSync(notes, { recursive: true, encoding: "utf8" }).filter((name) => basename(name) === "_.json").map((name) => join(notes, name)) as [string];
	const noted = JSON.parse(readFileSync(path, "utf8"));
	writeFileSync(path, JSON.stringify({ ...noted, at: new Date(Date.parse(noted.at) - 61_000).toISOString() }));
}

// Regression: pi did not start, and did not end, until the drive answered: a process inside such a call cannot be killed.
test("a drive that hangs keeps pi neither from starting nor from ending", async () => {
	const at = machine(await hangingDrive(), 2000);
	const [preload, started] = [join(at.path, "started.cjs"), join(at.path, "started")];
	writeFileSync(preload, `if (process.argv[1]?.endsWith("follower.mjs")) require("node:fs").appendFileSync(${JSON.stringify(started)}, "x");`);
	const { end, err } = await run({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, HELLO);
	expect(end).toBe(0);
	expect(err).toEqual([expect.stringMatching(NO_ANSWER), expect.stringMatching(/not all is stored yet \(the store did not answer within 2 s\)/)]);
	// One process waits for the drive at most: it is stopped before it begins where that takes long.
	expect(existsSync(started) ? readFileSync(started, "utf8") : "").toMatch(/^x?$/);
	// The drive hangs still.
	expect((await run(at, "")).err).toEqual([LEFT_ALONE]);
});

test("a store that did not answer is left alone for a minute, at the start and at the end; then it is asked again", async () => {
	const { address, connections } = await silentStore();
	const at = machine(address, 300);
	expect((await run(at, "")).err).toEqual([expect.stringMatching(NO_ANSWER)]);
	const asked = connections();
	const { err } = await run(at, HELLO);
	expect(err).toEqual([LEFT_ALONE, expect.stringContaining("not all is stored yet")]);
	expect(connections()).toBe(asked);
	letMinutePass(at);
	expect((await run(at, "")).err[0]).toMatch(NO_ANSWER);
});

test("while a store is left alone nothing is started that asks it, and after a minute it is followed again", async () => {
	const { address, connections } = await silentStore();
	const at = machine(address, 300);
	await run(at, "");
	const asked = connections();
	// As long as several looks of pi take.
	await run(at, `${HELLO} setTimeout(() => {}, 2000);`);
	expect(connections()).toBe(asked);
	const { child } = start(at, `${HELLO} setInterval(() => {}, 1000);`);
	await once(child.stderr as NodeJS.ReadableStream, "data");
	letMinutePass(at);
	await vi.waitFor(() => expect(connections()).toBeGreaterThan(asked), { timeout: 300_000 });
});

test("another store, and one that answers, are not left alone", async () => {
	const { address } = await silentStore();
	const at = machine(address, 300);
	await run(at, "");
	const other = emptyDirectory();
	const here = { ...at, env: { ...at.env, PI_SESSION_NATIVE_STORE: other, PI_SESSION_NATIVE_STORE_TIMEOUT: "300000" } };
	expect((await run(here, HELLO)).err).toEqual([]);
	expect((await new DirectoryStore({ path: other, host: "reader" }).list()).sessions).toHaveLength(1);
	expect((await run(at, "")).err).toEqual([LEFT_ALONE]);
});

test.each(["SIGINT", "SIGTERM"] as const)("%s ends a pi at once that waits for a store, at its start and at its end", async (signal) => {
	const { address, connections } = await silentStore();
	const starting = start(machine(address, 3_000_000), "");
	await vi.waitFor(() => expect(connections()).toBe(1), { timeout: 300_000 });
	starting.child.kill(signal);
	expect((await starting.ended).end).toBe(signal);
	// pi has its own handlers of signals, which nobody calls once it ends.
	const ending = start(machine(address, 3_000_000), `process.on(${JSON.stringify(signal)}, () => {}); ${HELLO}`, "");
	await vi.waitFor(() => expect(connections()).toBe(2), { timeout: 300_000 });
	ending.child.kill(signal);
	expect((await ending.ended).end).toBe(signal);
});
