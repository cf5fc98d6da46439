// The processes that talk to a store for pi. A store may hang: a call to a network drive whose server is gone keeps one of the
// few threads of its process forever, and a silent server keeps a socket open. Here that ends with the process.
//
// A process within such a call cannot even be killed. So nobody waits for one of these: what it says comes by a file, and if it does
// not come in time, the process is told to end and left to itself.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("store-worker.mjs", import.meta.url));
const FOLLOWER = fileURLToPath(new URL("store-follower.mjs", import.meta.url));
/** On a network drive each call waits for some milliseconds, and no more calls than Node has threads at the same time: four by itself. */
const THREADS = { UV_THREADPOOL_SIZE: "16" };
/** How often a worker's answer is looked for. */
const LOOK_MS = 5;

/**
 * Lets a worker do a task for as long as `timeout` allows, in milliseconds. Stopping it leaves every file as it was, or new. `result` is
 * what it said until then; `error` is "timeout", or why it failed.
 */
export function runTask(task, { timeout, env }) {
	const files = [];
	try {
		for (const content of [JSON.stringify({ ...task, timeout }), "", ""]) files.push(unnamedFile(content));
		const child = spawn(process.execPath, [WORKER], { detached: true, stdio: files, windowsHide: true, env: { ...THREADS, ...process.env, ...env } });
		// It was not started: that is known below.
		child.on("error", () => {});
		child.unref();
		if (child.pid === undefined) return { result: {}, error: "its process cannot be started" };
		const result = answerOf(files[1], performance.now() + timeout);
		if (result.isDone) return { result };
		if (!result.isOver) {
			child.kill("SIGKILL");
			return { result, error: "timeout" };
		}
		return { result, error: lastErrorIn(files[2]) ?? "no answer" };
	} catch (error) {
		return { result: {}, error: error.message };
	} finally {
		for (const file of files) closeSync(file);
	}
}

/** What a worker has said when it has ended, or the time has come. */
function answerOf(file, end) {
	for (;;) {
		const isLate = performance.now() >= end;
		const result = Object.assign({}, ...textOf(file).split("\n").map(parsed));
		if (result.isDone || result.isOver || isLate) return result;
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
	}
}

/** A file that nobody else finds, and that is gone with the last process that has it open. */
function unnamedFile(content) {
	const path = join(tmpdir(), `pi-session-native-${randomUUID()}`);
	writeFileSync(path, content, { flag: "wx", mode: 0o600 });
	try {
		return openSync(path, "r+");
	} finally {
		unlinkSync(path);
	}
}

/** What an error says: Node prints its stack, and a line about itself. */
function lastErrorIn(file) {
	const lines = textOf(file).split("\n").map((line) => line.trim()).filter((line) => line !== "" && !/^(?:at |Node\.js v|[}\]^])/.test(line));
	return lines.findLast((line) => /^(?:Uncaught )?\w*Error\b/.test(line)) ?? lines.at(-1);
}

/** What is in a file so far, whatever its other holders have read or written. */
function textOf(file) {
	const pieces = [];
	for (let at = 0; ; ) {
		const piece = Buffer.alloc(64 * 1024);
		const length = readSync(file, piece, 0, piece.length, at);
		if (length === 0) return Buffer.concat(pieces).toString("utf8");
		pieces.push(piece.subarray(0, length));
		at += length;
	}
}

/** A process that follows sessions until this one ends, however it ends. It does not keep this one running. */
export class Follower {
	#child;
	#sent;
	#isOver = false;
	/** A file for what it says when it fails. */
	#errors;

	/**
	 * @param {object} first what it is to know from the start
	 * @param {{ env: object, onReport: (report: object) => void, onEnd: (why: string) => void }} options `onEnd` is called once if the
	 *   process could not be started, or ended by itself
	 */
	constructor(first, { env, onReport, onEnd }) {
		const over = (why) => {
			if (this.#isOver) return;
			this.#isOver = true;
			const said = this.#errors === undefined ? undefined : lastErrorIn(this.#errors);
			if (this.#errors !== undefined) closeSync(this.#errors);
			onEnd(said ? `${why}: ${said}` : why);
		};
		try {
			this.#errors = unnamedFile("");
			this.#child = spawn(process.execPath, [FOLLOWER], { stdio: ["pipe", "pipe", this.#errors], windowsHide: true, env: { ...THREADS, ...process.env, ...env } });
		} catch (error) {
			// Whoever makes this is to have it first.
			setImmediate(() => over(error.message)).unref();
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

	/** Answers a call. */
	answer(answer) {
		this.#write({ answer });
	}

	stop() {
		this.#isOver = true;
		this.#child?.kill("SIGKILL");
	}

	#write(message) {
		if (!this.#isOver) this.#child?.stdin?.write(`${JSON.stringify(message)}\n`);
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
