// An agent's directory with sessions, and the reference's lists of it.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionInfo } from "../../../index.js";
import { ended } from "../../support/children.js";
import { loadReference } from "../../support/reference.js";
import {
	api,
	assistant,
	header,
	type Json,
	LOAD,
	message,
	ownAgent,
	scratch,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";

export const reference = (await loadReference()) as unknown as { SessionManager: typeof api.SessionManager };

export interface AgentDir {
	agent: string;
	/** The session directories of `/project` and of `/other`. */
	dir: string;
	other: string;
	catalog: string;
}

/** An agent's directory for one test, with sessions in two projects. */
export function agentDir(count = 12): AgentDir {
	const { agent } = ownAgent();
	const dir = api.getDefaultSessionDir("/project");
	const other = api.getDefaultSessionDir("/other");
	for (let n = 0; n < count; n++) session(n % 4 === 3 ? other : dir, n);
	return { agent, dir, other, catalog: join(agent, "session-catalog.sqlite") };
}

/** Writes a session whose texts contain its number. */
export function session(dir: string, n: number, more: Json[] = []): string {
	return writeSession(
		dir,
		[
			header({ id: `s-${n}`, cwd: dir.includes("other") ? "/other" : "/project" }),
			message("a", null, user(`question ${n}`, { timestamp: Date.UTC(2025, 0, n + 1) })),
			message("b", "a", toolResult(`output ${n} `.repeat(200))),
			message("c", "b", assistant(`answer ${n}`, { timestamp: Date.UTC(2025, 0, n + 1, 1) })),
			...more,
		],
		`${n}.jsonl`,
	);
}

/**
 * Waits until the file system's clock has advanced so far that a later change gets a later time, and earlier changes
 * are old enough for the catalog.
 */
export async function tick(): Promise<void> {
	const probe = join(scratch(), "clock");
	const time = (): number => {
		writeFileSync(probe, "");
		return statSync(probe).mtimeMs;
	};
	const begin = time();
	while (time() < begin + 40) await new Promise((resolve) => setTimeout(resolve, 5));
}

export const plain = (infos: readonly SessionInfo[]) => infos.map((info) => ({ ...info }));

/** All that a list shows. */
export async function listed(): Promise<unknown> {
	return plain(await api.SessionManager.listAll());
}

/** The same from pi. */
export async function listedByReference(): Promise<unknown> {
	return plain(await reference.SessionManager.listAll());
}

/** Waits until the threads of lists and searches have ended. */
export async function settled({ catalog }: AgentDir): Promise<void> {
	while (works() ?? (await moves(catalog))) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Threads that never end. In Bun the threads of a worker that has ended wait forever. */
const abandoned = new Set<string>();

/** From now on the present threads count as ended. */
export function abandonThreads(): void {
	for (const thread of threads() ?? []) abandoned.add(thread);
}

/** Whether threads of lists or searches are running, if the system tells. */
function works(): boolean | undefined {
	return threads()?.some((thread) => !abandoned.has(thread));
}

/** The ids of this process's threads of lists and searches, where the system tells. */
function threads(): string[] | undefined {
	const tasks = "/proc/self/task";
	if (!existsSync(tasks)) return undefined;
	return readdirSync(tasks).filter((task) => {
		try {
			return readFileSync(join(tasks, task, "comm"), "utf8").startsWith("pi-session-");
		} catch {
			return false;
		}
	});
}

/** If the system does not tell: whether the catalog's files were written to within a moment. */
async function moves(catalog: string): Promise<boolean> {
	const times = (): string =>
		["", "-wal"].map((ending) => (existsSync(catalog + ending) ? statSync(catalog + ending).mtimeMs : 0)).join();
	const before = times();
	await new Promise((resolve) => setTimeout(resolve, 150));
	return times() !== before;
}

/** The names in the agent's directory. */
export const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir).sort() : []);

/**
 * Runs a script with `SessionManager` in another process. Returns its output. Throws if the process does not end.
 */
export async function run(script: string, env: Record<string, string> = {}): Promise<string> {
	const source = `${LOAD}
		(async () => { ${script} })().catch((error) => { console.error(error); process.exit(1); });`;
	const options = { timeout: 500_000, killSignal: "SIGKILL", env: { ...process.env, ...env } } as const;
	const child = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "pipe", "pipe"], ...options });
	const { lines, errors, code, signal } = await ended(child);
	if (code !== 0) throw new Error(`exit ${code ?? signal}: ${errors}`);
	return lines.map((line) => `${line}\n`).join("");
}
