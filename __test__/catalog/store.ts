// A store of sessions under an agent's directory, and what the peer lists of it.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SessionInfo } from "../../index.js";
import { loadReference } from "../support/peer.js";
import { type Json, api, assistant, header, message, ownAgent, setEnv, toolResult, user, writeSession } from "../support/store.js";

const peer = (await loadReference()) as unknown as { SessionManager: typeof api.SessionManager };

export interface Store {
	agent: string;
	/** The sessions' directory of `/project`, and of `/other`. */
	dir: string;
	other: string;
	catalog: string;
}

/** An agent of the test's own with sessions in two projects. */
export function store(count = 12): Store {
	const { agent } = ownAgent();
	setEnv({ PI_SESSION_CATALOG: undefined });
	const dir = api.getDefaultSessionDir("/project");
	const other = api.getDefaultSessionDir("/other");
	for (let n = 0; n < count; n++) session(n % 4 === 3 ? other : dir, n);
	return { agent, dir, other, catalog: join(agent, "session-catalog-1.sqlite") };
}

/** Writes a session whose texts tell its number. */
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

/** Past the file system's clock tick: a change from here on has another time than one before. */
export const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));

export const plain = (infos: readonly SessionInfo[]) => infos.map((info) => ({ ...info }));

/** Everything that a list shows. */
export async function listed(): Promise<unknown> {
	return plain(await api.SessionManager.listAll());
}

/** The same, by pi. */
export async function listedByPeer(): Promise<unknown> {
	return plain(await peer.SessionManager.listAll());
}

/** Waits until the catalog's files keep still. */
export async function settled({ catalog }: Store): Promise<void> {
	let before = "";
	for (;;) {
		const now = ["", "-wal"].map((ending) => (existsSync(catalog + ending) ? statSync(catalog + ending).mtimeMs : 0)).join();
		if (now === before) return;
		before = now;
		await new Promise((resolve) => setTimeout(resolve, 150));
	}
}

/** The names in the agent's directory. */
export const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir).sort() : []);
