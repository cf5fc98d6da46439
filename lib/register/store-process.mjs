// The process beside pi that talks to a store for it (store-follower.mjs). A store may hang: a call to a network drive whose server is
// gone keeps one of the few threads of its process forever, and a silent server keeps a socket open. Here that ends with the process.
//
// A process within such a call cannot even be killed. So nobody waits for its end: what it reports is in a file, which pi reads every
// 400 ms, and where it waits. If an answer does not come in time, pi goes on.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readFileSync, readSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLLOWER = fileURLToPath(new URL("store-follower.mjs", import.meta.url));
/** On a network drive each call waits for some milliseconds, and no more calls than Node has threads at the same time: four by itself. */
const THREADS = { UV_THREADPOOL_SIZE: "16" };
/** How often an answer is looked for that is waited for. */
const LOOK_MS = 5;
const NEWLINE = 10;

/** A process that talks to the store until this one ends, however it ends. It does not keep this one running. */
export class Follower {
	#child;
	/** Two files of what it reports, one after the other: how far the first was read. And one of what it says when it fails. */
	#reports = [];
	#read = 0;
	#errors;
	#isClosed = false;
	#sent;
	#onReport;
	/** The requests that are done, by name: why they failed, or undefined. */
	#done = new Map();
	#hasEnded = false;
	/** Why the process was not started. */
	#problem;

	/**
	 * @param {object} first what it is to know from the start, and may have a `request`
	 * @param {{ env: object, onReport?: (report: object) => void, onEnd?: (why: string) => void }} options `onEnd` is called once if the
	 *   process could not be started, or ended by itself; nothing that it reported is passed on after that
	 */
	constructor(first, { env, onReport = () => {}, onEnd = () => {} }) {
		this.#onReport = onReport;
		const end = (why) => {
			if (this.#isClosed) return;
			this.read();
			const said = lastErrorIn(this.#errors);
			this.#close();
			onEnd(said ? `${why}: ${said}` : why);
		};
		/** What it writes to; it is read, and emptied, by descriptors that may write anywhere in it, which Windows wants for that. */
		const outputs = [];
		const makeFile = () => {
			const [output, input] = unnamedFile(first.notes);
			outputs.push(output);
			return input;
		};
		try {
			this.#errors = makeFile();
			this.#reports.push(makeFile());
			this.#reports.push(makeFile());
			const stdio = ["pipe", outputs[1], outputs[0], outputs[2]];
			this.#child = spawn(process.execPath, [FOLLOWER], { detached: true, stdio, windowsHide: true, env: { ...THREADS, ...process.env, ...env } });
		} catch (error) {
			[this.#hasEnded, this.#problem] = [true, error.message];
			// Whoever makes this is to have it first.
			setImmediate(() => end(error.message)).unref();
			return;
		} finally {
			for (const output of outputs) closeSync(output);
		}
		this.#child.on("error", (error) => end(error.message));
		this.#child.on("exit", (code, signal) => end(signal ?? `exit code ${code}`));
		const { stdin } = this.#child;
		for (const part of [this.#child, stdin]) part?.unref();
		// Its end is reported above.
		stdin?.on("error", () => {});
		if (this.#child.pid === undefined) [this.#hasEnded, this.#problem] = [true, "its process cannot be started"];
		this.send(first);
	}

	/** Whether the process has said that it ends, or was not started. */
	get hasEnded() {
		return this.#hasEnded;
	}

	/** Names the sessions that are open now. */
	follow(open) {
		const sent = JSON.stringify(open);
		if (sent === this.#sent) return;
		this.#sent = sent;
		this.send({ open });
	}

	send(message) {
		if (!this.#hasEnded) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
	}

	/** Passes on what the process has reported since. */
	read() {
		if (this.#isClosed || this.#child === undefined) return;
		const { text, end } = linesIn(this.#reports[0], this.#read);
		this.#read = end;
		let goesOn = false;
		for (const line of text.split("\n")) {
			const report = parsed(line);
			if (report.done) this.#done.set(report.done, report.error);
			if (report.hasEnded) this.#hasEnded = true;
			if (report.goesOn) goesOn = true;
			this.#onReport(report);
		}
		if (!goesOn || this.#isClosed) return;
		// That was its last line: the process writes there again once it is empty.
		ftruncateSync(this.#reports[0]);
		this.#reports.reverse();
		this.#read = 0;
		this.read();
	}

	/**
	 * Waits until a request is done, for as long as `timeout` allows, in milliseconds. `error` is why it failed; where `isDone` is false,
	 * "timeout" or why the process has ended.
	 */
	wait(name, timeout) {
		const end = performance.now() + timeout;
		for (;;) {
			const isLate = performance.now() >= end;
			// Its last report is read after that. An end is not heard of while this process waits.
			const isGone = hasExited(this.#child?.pid);
			this.read();
			if (this.#done.has(name)) return { isDone: true, error: this.#done.get(name) };
			if (this.#hasEnded) return { isDone: false, error: this.#problem ?? lastErrorIn(this.#errors) ?? "no answer" };
			if (isGone) return { isDone: false, error: lastErrorIn(this.#errors) ?? "the process that talks to it has ended" };
			if (isLate) return { isDone: false, error: "timeout" };
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
		}
	}

	/** Ends the process. Every file stays as it was, or is new. */
	stop() {
		this.#child?.kill("SIGKILL");
		this.#close();
	}

	#close() {
		if (this.#isClosed) return;
		[this.#isClosed, this.#hasEnded] = [true, true];
		for (const file of [...this.#reports, this.#errors]) if (file !== undefined) closeSync(file);
	}
}

/** A file to append to and to read that nobody else finds, and that is gone with the last process that has it open: among the notes if not in the temporary directory. */
function unnamedFile(notes) {
	try {
		return unnamedFileIn(tmpdir());
	} catch {
		mkdirSync(notes, { recursive: true, mode: 0o700 });
		return unnamedFileIn(notes);
	}
}

function unnamedFileIn(folder) {
	const path = join(folder, `pi-session-native-${randomUUID()}`);
	writeFileSync(path, "", { flag: "wx", mode: 0o600 });
	try {
		return [openSync(path, "a"), openSync(path, "r+")];
	} finally {
		unlinkSync(path);
	}
}

/** Whether a process of this one has ended. Until its end is heard of, the system keeps it, as one that is dead; only Linux tells. */
function hasExited(pid) {
	if (pid === undefined) return false;
	try {
		process.kill(pid, 0);
		if (process.platform !== "linux") return false;
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		return /^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
	} catch (error) {
		return error.code === "ESRCH";
	}
}

/** What an error says: Node prints its stack, and a line about itself. */
function lastErrorIn(file) {
	if (file === undefined) return undefined;
	const lines = linesIn(file, 0).text.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !/^(?:at |Node\.js v|[}\]^])/.test(line));
	return lines.findLast((line) => /^(?:Uncaught )?\w*Error\b/.test(line)) ?? lines.at(-1);
}

/** The whole lines in a file from an offset on, and where they end. */
function linesIn(file, from) {
	const bytes = Buffer.alloc(fstatSync(file).size - from);
	const length = bytes.lastIndexOf(NEWLINE, readSync(file, bytes, 0, bytes.length, from) - 1) + 1;
	return { text: bytes.toString("utf8", 0, length), end: from + length };
}

/** What a line says; nothing if something else in that process has printed it. */
function parsed(line) {
	try {
		return Object(JSON.parse(line));
	} catch {
		return {};
	}
}
