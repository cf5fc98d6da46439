// The process beside pi, as pi sees it. A process within a call to a drive that hangs cannot be killed, so nobody waits
// for its end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../beside/main.mjs", import.meta.url));
/** How long pi's end waits for the store at most. */
const END_MS = 2000;
/** When it is started again where it ended by itself, and how often at most. */
const RESTART_MS = 10_000;
const RESTARTS = 5;
/**
 * On a network drive each call waits for some milliseconds, and no more calls than Node has threads run at the same
 * time: four by default.
 */
const THREADS = { UV_THREADPOOL_SIZE: "16" };

/** Node itself: pi may be a program of its own. */
const node = () => (/^node(?:\.exe)?$/i.test(basename(process.execPath)) ? process.execPath : "node");

export class BesidePi {
	/** @type {import("node:child_process").ChildProcess} */
	#child;
	#isStored = false;
	#isClosed = false;
	#restarts = 0;
	#argument;

	/** @param {import("../beside/main.mjs").Open} open */
	constructor(open) {
		this.#argument = JSON.stringify(open);
		this.#child = this.#start();
	}

	#start() {
		const child = spawn(node(), [MAIN, this.#argument], {
			detached: true,
			windowsHide: true,
			stdio: ["pipe", "pipe", "ignore"],
			env: { ...THREADS, ...process.env },
		});
		child.on("error", () => {});
		child.on("exit", () => {
			if (!this.#isClosed && this.#restarts++ < RESTARTS)
				setTimeout(() => this.#isClosed || (this.#child = this.#start()), RESTART_MS).unref();
		});
		child.stdin?.on("error", () => {});
		child.stdout?.on("data", () => (this.#isStored = true));
		// It keeps pi from nothing.
		for (const part of [child, child.stdin, child.stdout]) Object(part).unref?.();
		return child;
	}

	/** pi has closed the session. */
	close() {
		this.#isClosed = true;
		this.#child.stdin?.destroy();
	}

	/** The same at pi's end, which waits until all is stored, for two seconds at most. */
	async endWithin() {
		const { stdout, exitCode, signalCode } = this.#child;
		this.close();
		// Nothing else may keep pi running until then.
		const over = new AbortController();
		const timer = setTimeout(() => over.abort(), END_MS);
		Object(stdout).ref?.();
		if (stdout && exitCode === null && signalCode === null)
			await Promise.race([once(stdout, "data", over), once(stdout, "close", over)]).catch(() => {});
		clearTimeout(timer);
		Object(stdout).unref?.();
		// After pi's screen.
		if (!this.#isStored)
			process.once("exit", () =>
				print(
					"pi-sync: not all of this session is stored yet; the next start of pi goes on with it, or run pi-sync push (pi-sync status says why)\n",
				),
			);
	}
}

/** @param {string} text */
function print(text) {
	try {
		writeSync(2, text);
	} catch {
		// Nobody reads the errors of this process.
	}
}
