// Starts and ends the process beside pi. Nobody waits for the end of the process, because during a call to a drive that
// hangs it cannot be killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../beside/main.mjs", import.meta.url));
/** The longest time that the end of pi waits for the store. */
const END_MS = 2000;
/**
 * On a network drive each call waits for some milliseconds, and Node has only four threads for calls by default.
 */
const THREADS = { UV_THREADPOOL_SIZE: "16" };

/**
 * The lines that pi prints at its end, by the answer of the process beside it (lib/beside).
 * @type {Record<string, string>}
 */
const MESSAGES = {
	"":
		"pi-sync: a part of this session is not stored yet. The next start of pi stores it, or run pi-sync push " +
		"(pi-sync status says why)\n",
	"refused\n": "pi-sync: a part of this session is not stored: run pi-sync status\n",
	"deleted\n": "pi-sync: this session was deleted from the store, so the rest of it is not stored\n",
};

/** The program of Node, because pi may be a program of its own. */
const node = () => (/^node(?:\.exe)?$/i.test(basename(process.execPath)) ? process.execPath : "node");

export class BesidePi {
	#child;
	#unmark;
	#answer = "";

	/**
	 * @param {import("../beside/main.mjs").Open} open
	 * @param {(why?: { isReload?: boolean }) => void} unmark ends the mark that the session is open
	 */
	constructor(open, unmark) {
		this.#unmark = unmark;
		const child = spawn(node(), [MAIN, JSON.stringify(open)], {
			detached: true,
			windowsHide: true,
			stdio: ["pipe", "pipe", "ignore"],
			env: { ...THREADS, ...process.env },
		});
		child.on("error", () => {});
		child.stdin?.on("error", () => {});
		child.stdout?.on("data", (text) => (this.#answer += text));
		// None of them keeps pi from ending.
		for (const part of [child, child.stdin, child.stdout]) Object(part).unref?.();
		this.#child = child;
	}

	/**
	 * Called when pi has closed the session, or reloads its extensions and keeps the session open.
	 * @param {{ isReload?: boolean }} [why]
	 */
	close(why) {
		// First, because the process pulls the session when it has stored the rest.
		try {
			this.#unmark(why);
		} finally {
			this.#child.stdin?.destroy();
		}
	}

	/**
	 * Called when pi ends: waits for the answer of the process, for two seconds at most. Returns what pi prints at its
	 * end, if anything.
	 */
	async end() {
		const { stdout, exitCode, signalCode } = this.#child;
		this.close();
		// The output of the process must keep pi running until then, because nothing else may.
		const over = new AbortController();
		const timer = setTimeout(() => over.abort(), END_MS);
		Object(stdout).ref?.();
		if (stdout && exitCode === null && signalCode === null)
			await Promise.race([once(stdout, "data", over), once(stdout, "close", over)]).catch(() => {});
		Object(stdout).unref?.();
		clearTimeout(timer);
		return MESSAGES[this.#answer];
	}
}
