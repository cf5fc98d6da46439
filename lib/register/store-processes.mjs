// The processes that talk to a store for pi. A store may hang: a call to a network drive whose server is gone keeps one of the
// few threads of its process for ever, and a silent server keeps a socket open. Here that ends with the process.
import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("store-worker.mjs", import.meta.url));
const FOLLOWER = fileURLToPath(new URL("store-follower.mjs", import.meta.url));

/**
 * Lets a worker do a task for as long as `timeout` allows, in milliseconds. Stopping it leaves every file as it was, or new. `result` is
 * what it said until then; `error` is "timeout", or why it failed.
 */
export function runTask(task, { timeout, env }) {
	const options = { input: JSON.stringify(task), encoding: "utf8", timeout, killSignal: "SIGKILL", maxBuffer: Infinity, windowsHide: true };
	const { stdout, stderr, error } = spawnSync(process.execPath, [WORKER], { ...options, env: { ...process.env, ...env } });
	const result = Object.assign({}, ...(stdout ?? "").split("\n").map(parsed));
	if (!error && result.isDone) return { result };
	return { result, error: error?.code === "ETIMEDOUT" ? "timeout" : (error?.message ?? (stderr.trim().split("\n").pop() || "no answer")) };
}

/** A process that follows sessions until this one ends, however it ends. It does not keep this one running. */
export class Follower {
	#child;
	#sent;
	#isOver = false;

	/**
	 * @param {object} first what it is to know from the start
	 * @param {{ env: object, onReport: (report: object) => void, onEnd: (why: string) => void }} options `onEnd` is called once if the
	 *   process could not be started, or ended by itself
	 */
	constructor(first, { env, onReport, onEnd }) {
		const over = (why) => {
			if (!this.#isOver) onEnd(why);
			this.#isOver = true;
		};
		try {
			this.#child = spawn(process.execPath, [FOLLOWER], { stdio: ["pipe", "pipe", "ignore"], windowsHide: true, env: { ...process.env, ...env } });
		} catch (error) {
			over(error.message);
			return;
		}
		this.#child.on("error", (error) => over(error.message));
		this.#child.on("exit", (code, signal) => over(signal ?? `exit code ${code}`));
		const { stdin, stdout } = this.#child;
		for (const part of [this.#child, stdin, stdout]) part?.unref();
		// Its end is reported above.
		stdin?.on("error", () => {});
		let rest = "";
		stdout?.setEncoding("utf8").on("data", (text) => {
			const lines = (rest + text).split("\n");
			rest = lines.pop();
			for (const line of lines) onReport(parsed(line));
		});
		this.#write(first);
	}

	/** Names the sessions that are open now. */
	follow(open) {
		const sent = JSON.stringify(open);
		if (sent === this.#sent) return;
		this.#sent = sent;
		this.#write({ open });
	}

	stop() {
		this.#isOver = true;
		this.#child?.kill("SIGKILL");
	}

	#write(message) {
		if (!this.#isOver) this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
	}
}

/** What a line says; nothing if its process was stopped within it, or something else there prints. */
function parsed(line) {
	try {
		return Object(JSON.parse(line));
	} catch {
		return {};
	}
}
