// The follower, as pi's process sees it: a process that talks to a store for it (store-follower.mjs; store-messages.mjs has the messages).
// A store may hang: a call to a network drive whose server is gone keeps one of the few threads of its process forever, and a silent server
// keeps a socket open. Here that ends with the follower.
//
// A process within such a call cannot even be killed. So nobody waits for its end: its reports are in a file, which pi reads every 400 ms,
// and where it waits. If an answer does not come in time, pi goes on.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, mkdirSync, openSync, readSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lineOf, messageIn } from "./store-messages.mjs";

const FOLLOWER = fileURLToPath(new URL("store-follower.mjs", import.meta.url));
/** On a network drive each call waits for some milliseconds, and no more calls than Node has threads at the same time: four by itself. */
const THREADS = { UV_THREADPOOL_SIZE: "16" };
/** How often an answer is looked for that is waited for, and after how many times whether the process still runs. */
const WAIT_MS = 5;
const WAITS = 20;
const NEWLINE = 10;

/** A follower that runs until this process ends, however it ends. It does not keep this one running. */
export class Follower {
	/** Why the process has ended, or was not started; undefined while it runs. */
	ended;
	#child;
	/** The file of its reports, and how far it was read. */
	#reports;
	#position = 0;
	#onReport;
	/** What was reported since the last request, of each kind the last. */
	#answer = {};
	/** How many messages the system has not taken yet, and why it refused one. */
	#unsent = 0;
	#refusal;

	/**
	 * @param {object} first the first message
	 * @param {{ onReport?: (report: object) => void, onCall?: (call: object) => object }} options `onCall` gives the answer
	 */
	constructor(first, { onReport, onCall } = {}) {
		this.#onReport = onReport;
		try {
			mkdirSync(first.notes, { recursive: true, mode: 0o700 });
			const path = join(first.notes, `reports-${randomUUID()}`);
			this.#reports = openSync(path, "ax+", 0o600);
			// Nobody else is to find it, and it is gone with the last process that has it open.
			unlinkSync(path);
			const stdio = ["pipe", this.#reports, "ignore", ...(onCall ? ["ipc"] : [])];
			const child = spawn(process.execPath, [FOLLOWER], { detached: true, stdio, serialization: "advanced", windowsHide: true, env: { ...THREADS, ...process.env } });
			this.#child = child;
			child.on("error", (error) => (this.ended ??= error.message));
			if (child.pid === undefined) throw new Error("its process cannot be started");
			child.on("exit", (code, signal) => {
				this.read();
				this.ended ??= signal ?? `exit code ${code}`;
			});
			// That it has ended meanwhile is known by its end.
			child.on("message", (call) => child.send(onCall(call), () => {}));
			// A refused write is known by its callback (#write). Without a listener any other error of the pipe would end pi.
			child.stdin.on("error", () => {});
			for (const part of [child, child.stdin, child.channel]) part?.unref();
			this.send(first);
		} catch (error) {
			this.ended = error.message;
		}
	}

	send(message) {
		// What is open is said again: a process that takes nothing is not sent more and more of it.
		if (this.ended === undefined && !(message.open && this.#unsent > 0)) this.#write(lineOf(message));
	}

	/**
	 * Gives a message to the system at once. The stream's `write` keeps it until the event loop has said that the one before is written, as it
	 * does of each one on Windows: but while this process waits, no event comes.
	 */
	#write(text) {
		this.#unsent++;
		this.#child.stdin._write(text, "utf8", (error) => {
			this.#unsent--;
			this.#refusal ??= error;
		});
	}

	/** Passes on what the process has reported since. If that cannot be read, as on a network drive, it counts as ended. */
	read() {
		for (const line of this.#newLines()) {
			// Something else in that process may have printed it.
			const report = Object(messageIn(line));
			// An earlier request's error is not this one's.
			Object.assign(this.#answer, report.done && { error: undefined }, report);
			this.ended ??= report.ended;
			this.#onReport?.(report);
		}
	}

	#newLines() {
		if (this.#reports === undefined) return [];
		try {
			const bytes = Buffer.alloc(fstatSync(this.#reports).size - this.#position);
			const length = bytes.lastIndexOf(NEWLINE, readSync(this.#reports, bytes, 0, bytes.length, this.#position) - 1) + 1;
			this.#position += length;
			return bytes.toString("utf8", 0, length).split("\n");
		} catch (error) {
			this.ended ??= `its reports cannot be read: ${error.message}`;
			return [];
		}
	}

	/**
	 * Asks for something, and waits until it is "done", the process has "ended", or it is "late", after `timeout` milliseconds. Gives which of
	 * these is the `outcome`, why it failed (`error`), and what was reported meanwhile.
	 */
	request(request, timeout) {
		this.#answer = {};
		this.send({ request });
		const end = performance.now() + timeout;
		for (let waits = 0; ; waits++) {
			const isLate = performance.now() >= end;
			// Before its last reports are read.
			const hasExited = (isLate || waits % WAITS === 0) && this.#hasExited();
			this.read();
			if (hasExited) this.ended ??= "the process that talks to it has ended";
			if (this.#answer.done === request.name) return { ...this.#answer, outcome: "done" };
			if (this.ended !== undefined) return { ...this.#answer, outcome: "ended", error: this.ended };
			if (isLate) return { ...this.#answer, outcome: "late" };
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
		}
	}

	/** Whether the process has exited, which no event tells while this process waits. */
	#hasExited() {
		if (this.ended !== undefined) return true;
		// What is written to a process that has exited is refused, and on Windows its number is nobody's.
		this.#write("\n");
		try {
			process.kill(this.#child.pid, 0);
		} catch {
			return true;
		}
		return Boolean(this.#refusal);
	}

	/** Ends the process. Every file stays as it was, or is new. */
	stop() {
		this.#child?.kill("SIGKILL");
		try {
			if (this.#reports !== undefined) closeSync(this.#reports);
		} catch {
			// The drive has failed, and nobody needs the file any more.
		}
		[this.#reports, this.ended] = [undefined, "stopped"];
	}
}
