// pi's process without pi: managers that the register hook watches, with a store in the environment.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, vi } from "vitest";
import { DirectoryStore, loadAll } from "../../lib/index.js";
import { SESSION, emptyDirectory, header } from "./lines.js";

export const root = resolve(__dirname, "../../../..");
export const MINUTES = "300000";

export interface Machine {
	path: string;
	/** The store's directory, which is there. */
	address: string;
	agent: string;
	work: string;
	dir: string;
	env: NodeJS.ProcessEnv;
}

export function machine(more: Record<string, string> = {}): Machine {
	const path = emptyDirectory();
	const [address, agent, work] = ["store", "agent", "shop"].map((name) => join(path, name)) as [string, string, string];
	for (const dir of [address, work]) mkdirSync(dir);
	const dir = join(agent, "sessions", `--${work.slice(1).replaceAll("/", "-")}--`);
	mkdirSync(dir, { recursive: true });
	const own = { PI_SESSION_NATIVE_STORE: address, PI_SESSION_NATIVE_HOST: "laptop", PI_SESSION_NATIVE_PROJECT: "shop", PI_SESSION_NATIVE_STORE_TIMEOUT: MINUTES };
	return { path, address, agent, work, dir, env: { ...process.env, PI_CODING_AGENT_DIR: agent, HOME: path, ...own, ...more } };
}

/** Runs Node and gives what it said. */
export function node({ work, env }: Machine, args: string[], input = ""): Promise<{ end: number | string; out: string; err: string }> {
	return new Promise((resolve) => {
		const child = execFile(process.execPath, args, { cwd: work, env }, (error, out, err) => resolve({ end: error?.signal ?? Number(error?.code ?? 0), out, err }));
		child.stdin?.end(input);
	});
}

/** What pi does with the hook: the store is asked, managers are watched, and something is said. */
export const program = (body: string) => `
	import { createRequire } from "node:module";
	import { storeOfEnvironment } from ${JSON.stringify(pathToFileURL(join(root, "packages/sync/lib/follower/in-pi.mjs")).href)};
	const { SessionManager } = createRequire(${JSON.stringify(join(root, "index.js"))})("./index.js");
	const before = Object.getOwnPropertyDescriptors(SessionManager);
	const store = storeOfEnvironment();
	store?.pullBefore([]);
	store?.watch(SessionManager);
	${body}`;
export const pi = (at: Machine, body: string) => node(at, ["--input-type=module", "-e", program(body)]);

export const reader = ({ address }: Machine) => new DirectoryStore({ path: address, host: "reader" });
export const NAME = `2025-06-01T09-00-00-000Z_${SESSION}.jsonl`;
export const append = (store: DirectoryStore, lines: Buffer[]) => store.append(SESSION, { header: header(), lines, project: "shop" });

export const HELLO = `const manager = SessionManager.create(process.cwd()); manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 });`;
export const storedLines = async (at: Machine) => Promise.all((await reader(at).list()).sessions.map(async ({ session }) => (await loadAll(reader(at), session)).lines.length));
export const writtenDown = (at: Machine) => readdirSync(join(at.agent, "session-stores/open"), { recursive: true }).filter((name) => String(name).endsWith(".jsonl"));

/** A server that takes connections and says nothing. */
export async function silentServer(onConnection: (socket: Socket) => void = () => {}): Promise<number> {
	const silent = createServer((socket) => onConnection(socket.on("error", () => {})));
	await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => void silent.close());
	return (silent.address() as AddressInfo).port;
}

export const silentBucket = (port: number) => ({ PI_SESSION_NATIVE_STORE: `s3://bucket?endpoint=http://127.0.0.1:${port}&timeout=600000`, AWS_ACCESS_KEY_ID: "me", AWS_SECRET_ACCESS_KEY: "s3cret" });

/** The environment of a store that never answers. */
export const silentStore = async () => silentBucket(await silentServer());

/** What the process beside pi reports. */
export interface Report {
	done?: string;
	error?: string;
	isReached?: boolean;
	lacking?: { left: number; of: number };
	unstored?: number;
	show?: string;
}

/** Long enough on a busy machine. */
export const LONG = { timeout: 500_000, interval: 20 };

/** The name of what pi, which is not there, has written down. */
export const PENDING = "pi";

/** The process beside pi, without pi: `first` is what it is told first. */
export function beside(at: { env: NodeJS.ProcessEnv; work?: string }, first: object) {
	const child: ChildProcess = spawn(process.execPath, [join(root, "packages/sync/lib/follower/follower.mjs")], { cwd: at.work, stdio: ["pipe", "pipe", "inherit", "ipc"], serialization: "advanced", env: at.env });
	onTestFinished(() => void child.kill("SIGKILL"));
	let said = "";
	child.stdout?.setEncoding("utf8").on("data", (part: string) => (said += part));
	child.send({ address: at.env.PI_SESSION_NATIVE_STORE, pendingId: PENDING, timeout: Number(MINUTES), ...first });
	const heard = (): Report[] => said.split("\n").slice(0, -1).map((line) => JSON.parse(line));
	const hears = (name: keyof Report, times = 1) => vi.waitFor(() => expect(heard().filter((one) => one[name] !== undefined).length).toBeGreaterThanOrEqual(times), LONG);
	/** pi ends, or was killed. */
	const close = async () => {
		const closed = once(child, "close");
		child.stdin?.end();
		await closed;
	};
	return { child, heard, hears, close };
}

/** What the process beside pi reports at pi's start. */
export async function startOf(at: { env: NodeJS.ProcessEnv; work?: string }, first: object): Promise<Report[]> {
	const { heard, hears } = beside(at, { ...first, start: {} });
	await hears("done");
	return heard();
}

/** What it reports at pi's end. */
export async function endOf(at: { env: NodeJS.ProcessEnv; work?: string }, first: object): Promise<Report[]> {
	const { heard, close } = beside(at, first);
	await close();
	return heard();
}
