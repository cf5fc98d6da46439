// Processes and threads that use the module. Tests watch and kill them, or start many.
import { type ChildProcess, spawn } from "node:child_process";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { scriptFile } from "./runtime.js";
import { LOAD } from "./scratch.js";

/** Starts a process that runs `script` with `SessionManager` and its arguments as `args`. */
export function start(script: string, args: readonly unknown[] = [], flags: readonly string[] = []): ChildProcess {
	return spawn(process.execPath, [...flags, "-e", coded(script, args)], { stdio: ["pipe", "pipe", "pipe"] });
}

/** The same in a shell that first runs the command `limit`. */
export function startLimited(limit: string, script: string, args: readonly unknown[] = []): ChildProcess {
	const command = ["-c", `${limit} && exec "$0" "$@"`, process.execPath, "-e", coded(script, args)];
	return spawn("/bin/sh", command, { stdio: ["pipe", "pipe", "pipe"] });
}

function coded(script: string, args: readonly unknown[]): string {
	return `${LOAD}
		const args = ${JSON.stringify(args)};
		const fs = require("node:fs");
		const say = (text) => fs.writeSync(1, text + "\\n");
		${script}`;
}

/** A process's output, and how it ended. */
export interface Ended {
	lines: string[];
	errors: string;
	code: number | null;
	signal: string | null;
}

/** Waits for the end of a process. */
export function ended(child: ChildProcess): Promise<Ended> {
	let said = "";
	let errors = "";
	child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
	child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
	return new Promise((resolve) =>
		child.on("close", (code, signal) => resolve({ lines: said.split("\n").slice(0, -1), errors, code, signal })),
	);
}

/** Runs a process to its end. */
export const run = (script: string, args: readonly unknown[] = [], flags: readonly string[] = []): Promise<Ended> =>
	ended(start(script, args, flags));

/** Waits until a process prints a line that begins with this text, and returns the line. */
export function saying(child: ChildProcess, start: string): Promise<string> {
	let said = "";
	return new Promise((resolve, reject) => {
		child.stdout?.setEncoding("utf8").on("data", (text: string) => {
			said += text;
			const line = said.split("\n").find((one) => one.startsWith(start));
			if (line !== undefined) resolve(line);
		});
		child.on("close", () => reject(new Error(`the process ended and said: ${said}`)));
	});
}

/**
 * Runs `script` in several processes at once, one for each list of arguments. Each calls `begin()` when it is ready;
 * the call returns when all have called it.
 */
export async function runTogether(scripts: readonly { script: string; args: readonly unknown[] }[]): Promise<Ended[]> {
	const begin = `const begin = () => { say("ready"); fs.readSync(0, Buffer.alloc(1)); };`;
	const children = scripts.map(({ script, args }) => start(`${begin}\n(async () => {${script}})();`, args));
	const ends = children.map(ended);
	await Promise.all(children.map((child) => saying(child, "ready")));
	for (const child of children) child.stdin?.end("\n");
	return (await Promise.all(ends)).map((end) => ({ ...end, lines: end.lines.filter((line) => line !== "ready") }));
}

/**
 * Runs a script with `parentPort` and `workerData` in a thread, or a file with it. Returns the last message that it
 * posts.
 */
export function inThread(script: string, options: WorkerOptions = {}, isFile = false): Promise<any> {
	const code = `const { parentPort, workerData } = require("node:worker_threads");\n${LOAD}\n${script}`;
	return new Promise((resolve, reject) => {
		const worker = isFile ? new Worker(scriptFile(code), options) : new Worker(code, { ...options, eval: true });
		let posted: unknown;
		worker.on("message", (value) => (posted = value));
		worker.on("error", reject);
		worker.on("exit", (exit) =>
			exit === 0 && posted !== undefined ? resolve(posted) : reject(new Error(`exit code ${exit}`)),
		);
	});
}
