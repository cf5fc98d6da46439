// The follower, as pi's process sees it: a process that talks to a store for it (follower.mjs; messages.mjs has the messages).
// A store may hang: a call to a network drive whose server is gone keeps one of the few threads of its process forever, and a silent server
// keeps a socket open. Here that ends with the follower.
//
// A process within such a call cannot even be killed, so nobody waits for its end. Between pi's start and its end messages come and go with
// pi's events. Where pi waits it handles no event: what the follower reports is therefore in a file that both have open, and what it is
// told then needs none either. Its first message fits into the empty channel, and pi's end is the end of its standard input.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, mkdirSync, openSync, readSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../base/errors.js";
import { reportIn } from "./messages.mjs";

const FOLLOWER = fileURLToPath(new URL("follower.mjs", import.meta.url));
/** On a network drive each call waits for some milliseconds, and no more calls than Node has threads at the same time: four by itself. */
const THREADS = { UV_THREADPOOL_SIZE: "16" };
/** How often an answer is looked for that is waited for, and after how many times whether the process still runs. */
const WAIT_MS = 5;
const WAITS = 20;
const NEWLINE = 10;
const GONE = "the process that talks to it has ended";

/** @typedef {import("./messages.mjs").Call} Call */
/** @typedef {import("./messages.mjs").First} First */
/** @typedef {import("./messages.mjs").Report} Report */

/** A follower that runs until this process ends, however it ends. It does not keep this one running. */
export class Follower {
	/** Why the process has ended, or cannot be used; undefined while it runs. @type {string | undefined} */
	#why;
	/** What its end tells, which counts less. @type {string | undefined} */
	#exit;
	/** @type {import("node:child_process").ChildProcess | undefined} */
	#child;
	/** The file of its reports, and how far it was read. */
	#reports = -1;
	#position = 0;
	#onReport;
	/** What was reported since this process began to wait, of each kind the last. @type {Report} */
	#answer = {};

	/**
	 * @param {First} first
	 * @param {(report: Report) => void} onReport
	 * @param {(call: Call) => import("./messages.mjs").Answer} onCall
	 */
	constructor(first, onReport, onCall) {
		this.#onReport = onReport;
		try {
			mkdirSync(first.notesDir, { recursive: true, mode: 0o700 });
			const path = join(first.notesDir, `reports-${randomUUID()}`);
			this.#reports = openSync(path, "ax+", 0o600);
			// Nobody else is to find it, and it is gone with the last process that has it open.
			unlinkSync(path);
			const child = spawn(process.execPath, [FOLLOWER], {
				...{ detached: true, windowsHide: true, env: { ...THREADS, ...process.env }, serialization: "advanced" },
				stdio: ["pipe", this.#reports, "ignore", "ipc"],
			});
			this.#child = child;
			child.on("error", (error) => (this.#exit ??= error.message));
			if (child.pid === undefined) throw new Error("its process cannot be started");
			child.on("exit", (code, signal) => (this.#exit ??= signal ?? `exit code ${code}`));
			child.on("message", (call) => this.send({ answer: onCall(/** @type {Call} */ (call)) }));
			// That the process has ended is known otherwise. Without a listener the error would end pi.
			child.stdin?.on("error", () => {});
			for (const part of [child, child.stdin, child.channel]) Object(part).unref?.();
			this.send(first);
		} catch (error) {
			this.#why = messageOf(error);
		}
	}

	get ended() {
		return this.#why ?? this.#exit;
	}

	/** That the process has ended meanwhile is known by its end. @param {First | import("./messages.mjs").ToFollower} message */
	send(message) {
		if (this.ended === undefined) this.#child?.send(message, () => {});
	}

	/** Passes on what the process has reported since. If that cannot be read, as on a network drive, it counts as ended. */
	read() {
		for (const line of this.#newLines()) {
			const report = reportIn(line);
			// An earlier request's error is not this one's.
			Object.assign(this.#answer, report.done && { error: undefined }, report);
			this.#why ??= report.ended;
			this.#onReport(report);
		}
	}

	#newLines() {
		try {
			const bytes = Buffer.alloc(fstatSync(this.#reports).size - this.#position);
			const length = bytes.lastIndexOf(NEWLINE, readSync(this.#reports, bytes, 0, bytes.length, this.#position) - 1) + 1;
			this.#position += length;
			return bytes.toString("utf8", 0, length).split("\n");
		} catch (error) {
			this.#why ??= `its reports cannot be read: ${messageOf(error)}`;
			return [];
		}
	}

	/** Tells the process that pi ends, at once: also where messages before did not fit into the channel. */
	end() {
		this.#child?.stdin?.destroy();
	}

	/**
	 * Waits until the "start" or "end" is "done", the process has "ended", or it is "late", after `timeout` milliseconds. Gives which of these
	 * is the `outcome`, why it failed (`error`), and what was reported meanwhile.
	 * @param {"start" | "end"} name
	 * @param {number} timeout
	 * @returns {Report & { outcome: "done" | "ended" | "late" }}
	 */
	wait(name, timeout) {
		this.#answer = {};
		const end = performance.now() + timeout;
		for (let waits = 0; ; waits++) {
			const isLate = performance.now() >= end;
			// Before its last reports are read.
			const hasExited = this.ended === undefined && (isLate || waits % WAITS === 0) && this.#hasExited();
			this.read();
			if (hasExited) this.#why ??= GONE;
			if (this.#answer.done === name) return { ...this.#answer, outcome: "done" };
			if (this.ended !== undefined) return { ...this.#answer, outcome: "ended", error: this.ended };
			if (isLate) return { ...this.#answer, outcome: "late" };
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
		}
	}

	/** Whether the process has ended, where no event may have told so. Not after `end`. */
	hasEnded() {
		if (this.ended === undefined && this.#hasExited()) this.#why = GONE;
		return this.ended !== undefined;
	}

	/**
	 * Whether the process is known to have exited, though no event has told so. On Windows its number is nobody's then; elsewhere it is until
	 * an event was handled, but what is written to it is refused. After `end`, when nothing can be written, it counts as running there.
	 */
	#hasExited() {
		const { pid, stdin } = this.#child ?? {};
		if (pid === undefined || !stdin) return true;
		stdin.write("\n");
		try {
			process.kill(pid, 0);
		} catch {
			return true;
		}
		return stdin.errored !== null;
	}

	/** Ends the process. Every file stays as it was, or is new. */
	stop() {
		this.#child?.kill("SIGKILL");
		try {
			closeSync(this.#reports);
		} catch {
			// There is none, or the drive has failed: nobody needs the file any more.
		}
	}
}
