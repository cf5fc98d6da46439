// A machine with a store, and the process beside pi without pi.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { emptyDirectory, library } from "./lines.js";

const { markOpen } = createRequire(library)("./machine/open-files.js");
const MAIN = resolve(__dirname, "../../lib/beside/main.mjs");
/** Long enough on a busy machine. */
export const LONG = { timeout: 300_000, interval: 20 };

export function machine(address?: string, more: Record<string, string> = {}) {
	const path = emptyDirectory();
	const [agent, work] = [join(path, "agent"), join(path, "shop")];
	const dir = join(agent, "sessions", `--${work.slice(1).replaceAll("/", "-")}--`);
	for (const one of [work, dir]) mkdirSync(one, { recursive: true });
	const env: NodeJS.ProcessEnv = {
		...process.env,
		PI_CODING_AGENT_DIR: agent,
		HOME: path,
		PI_SYNC_STORE: address,
		PI_SYNC_HOST: "laptop",
		PI_SYNC_PROJECT: "shop",
		...more,
	};
	const fileOf = (session: string) => join(dir, `2025-06-01T09-00-00-000Z_${session}.jsonl`);
	const put = (session: string, ...lines: (string | Buffer)[]) => {
		const header = `{"type":"session","version":3,"id":"${session}","timestamp":"2025-06-01T09:00:00.000Z","cwd":${JSON.stringify(work)}}`;
		writeFileSync(fileOf(session), [header, ...lines].map((line) => `${line}\n`).join(""));
		return fileOf(session);
	};
	const here = () => readdirSync(dir).filter((name) => name.endsWith(".jsonl"));
	/** The names of the files to which processes write the list of their open sessions. */
	const pending = () => {
		const notes = join(agent, "session-stores");
		return existsSync(notes)
			? readdirSync(notes, { recursive: true, encoding: "utf8" }).filter((name) => /^pending-.*\.json$/.test(name))
			: [];
	};
	/** Begins as pi's extension does when a session is opened. */
	const open = (session: string, env: NodeJS.ProcessEnv = {}) => {
		const file = fileOf(session);
		const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
		return besidePi(
			{ ...at.env, ...env },
			{ session, file, cwd: work, dir, isShared: false, agentDir: agent, size },
			markOpen(join(agent, "session-stores"), file),
		);
	};
	const at = { path, agent, work, dir, env, fileOf, put, here, pending, open };
	return at;
}

export type Machine = ReturnType<typeof machine>;

function besidePi(env: NodeJS.ProcessEnv, argument: object, unmark: () => void) {
	const child: ChildProcess = spawn(process.execPath, [MAIN, JSON.stringify(argument)], {
		stdio: ["pipe", "pipe", "inherit"],
		env,
	});
	/** Ends both pi and the process beside it. */
	const kill = () => {
		unmark();
		child.kill("SIGKILL");
	};
	onTestFinished(kill);
	let said = "";
	child.stdout?.setEncoding("utf8").on("data", (part: string) => (said += part));
	/** pi closes the session. Returns the messages until the process has ended. */
	const close = async () => {
		const closed = once(child, "close");
		unmark();
		child.stdin?.end();
		await closed;
		return said;
	};
	return { close, kill };
}
