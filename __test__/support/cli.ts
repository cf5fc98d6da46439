// Runs the command as a user would, and creates sessions for it.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { assistant, entry, header, type Json, message, root, scratch, text, toolResult, user } from "./scratch.js";
import { tool } from "./tools.js";

export const bin = join(root, "bin/pi-sessions.mjs");

export interface Result {
	code: number | null;
	out: string;
	err: string;
}

export interface World {
	/** The agent directory. */
	agent: string;
	/** The working directory. */
	cwd: string;
	env: NodeJS.ProcessEnv;
}

/** An agent directory for one test. The environment is fixed: no colours, no pager, a fixed time zone. */
export function world(): World {
	const dir = scratch();
	const cwd = join(dir, "project");
	mkdirSync(cwd);
	return {
		agent: join(dir, "agent"),
		cwd,
		env: {
			PATH: process.env.PATH,
			HOME: dir,
			USERPROFILE: dir,
			PI_CODING_AGENT_DIR: join(dir, "agent"),
			TZ: "UTC",
			LANG: "C.UTF-8",
		},
	};
}

/**
 * Runs a program to its end. `input` is typed at once; if it is a function, it returns for the output so far the text
 * to type.
 */
export function runProgram(
	command: string,
	args: string[],
	options: { cwd: string; env: NodeJS.ProcessEnv; input?: string | ((shown: string) => string | undefined) },
): Promise<Result> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, { cwd: options.cwd, env: options.env });
		const result = { out: "", err: "" };
		const { input = "" } = options;
		let isAnswered = false;
		child.stdout.setEncoding("utf8").on("data", (data: string) => {
			result.out += data;
			if (typeof input === "string" || isAnswered) return;
			try {
				const answer = input(result.out);
				if (answer === undefined) return;
				isAnswered = true;
				child.stdin.end(answer);
			} catch (error) {
				child.kill();
				reject(error);
			}
		});
		child.stderr.setEncoding("utf8").on("data", (data: string) => {
			result.err += data;
		});
		child.on("error", reject);
		child.on("close", (code) => resolve({ code, ...result }));
		child.stdin.on("error", () => {});
		if (typeof input === "string") child.stdin.end(input);
	});
}

/** Runs `pi-sessions` with its output in pipes. */
export const run = (at: World, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Result> =>
	runProgram(process.execPath, [bin, ...args], { cwd: at.cwd, env: { ...at.env, ...env } });

/**
 * Runs a command without the rights to read and search everything. Without these capabilities root still owns the
 * checkout, which may be in a folder that other users cannot enter.
 */
export const runWithoutRights = (at: World, args: string[], script = bin): Promise<Result> =>
	process.geteuid?.() === 0
		? runProgram(
				tool("setpriv", "util-linux"),
				["--inh-caps=-all", "--bounding-set=-all", process.execPath, script, ...args],
				at,
			)
		: runProgram(process.execPath, [script, ...args], at);

/** Lines of output. */
export const lines = (text: string): string[] => text.split("\n").slice(0, -1);

/** Runs a command that must succeed. Returns its output. */
export async function good(at: World, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
	const { code, out, err } = await run(at, args, env);
	expect({ code, err }).toEqual({ code: 0, err: "" });
	return out;
}

/** The same with `--json`. Returns the parsed output. */
export const goodJson = async (at: World, args: string[], env: NodeJS.ProcessEnv = {}): Promise<any> =>
	JSON.parse(await good(at, [...args, "--json"], env));

/**
 * Runs `pi-sessions`, or another command, in a terminal, by `script` of util-linux. Its output is everything that the
 * terminal received. `input` is typed.
 */
export function runInTerminal(
	at: World,
	args: string[],
	env: NodeJS.ProcessEnv = {},
	columns = 100,
	input: string | ((shown: string) => string | undefined) = "",
	command = bin,
): Promise<Result> {
	const script = tool("script", "bsdutils");
	const line = [process.execPath, command, ...args].map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(" ");
	return runProgram(script, ["-qec", `stty cols ${columns} rows 40; ${line}`, "/dev/null"], {
		cwd: at.cwd,
		env: { ...at.env, TERM: "xterm-256color", SHELL: "/bin/sh", ...env },
		input,
	});
}

/** The input of a command in a terminal: calls a function when the command asks, and then agrees. */
export const agreeAfter = (act: () => void) => (shown: string) => {
	if (!shown.includes("[y/N]")) return undefined;
	act();
	return "y\n";
};

/** A program in the test's folder. */
export function program(at: World, name: string, script: string): string {
	const path = join(at.cwd, name);
	writeFileSync(path, `#!/bin/sh\n${script}\n`);
	chmodSync(path, 0o755);
	return path;
}

/** Writes a session to pi's directory for a working directory. Returns its path. */
export function put(
	at: World,
	id: string,
	lines: readonly (Json | string)[],
	options: { cwd?: string; header?: Json; name?: string } = {},
): string {
	const cwd = options.cwd ?? at.cwd;
	const folder = `--${cwd.replace(/^\//, "").replace(/[/\\:]/g, "-")}--`;
	const path = join(at.agent, "sessions", folder, options.name ?? `2025-01-01T00-00-00-000Z_${id}.jsonl`);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text([header({ id, cwd, ...options.header }), ...lines]));
	return path;
}

/** Writes the session of a subagent below a session's file, and returns its path. */
export function putBelow(session: string, name: string, head: Json, lines: readonly (Json | string)[] = []): string {
	const path = join(session.replace(/\.jsonl$/, ""), `${name}.jsonl`);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text([header(head), ...lines]));
	return path;
}

/** A session with a side branch, labels, a tool's output, a name and a summary. The leaf is `e9`. */
export const branched: Json[] = [
	entry("model_change", "e0", null, { provider: "acme", modelId: "large" }),
	message("e1", "e0", user("What is wrong with the parser?")),
	message("e2", "e1", assistant("Two things. Shall I mend them?")),
	message("e3", "e2", user("Only the first")),
	message("e4", "e3", assistant("Done with the first")),
	entry("branch_summary", "e5", "e2", { fromId: "e4", summary: "The first was mended." }),
	entry("label", "e6", "e5", { targetId: "e2", label: "before mending" }),
	message("e7", "e6", user("Both, please")),
	message("e8", "e7", toolResult(Array.from({ length: 30 }, (_, line) => `line ${line + 1} of the log`).join("\n"))),
	message("e9", "e8", assistant("Both are mended")),
	entry("session_info", "e10", "e9", { name: "The parser" }),
];
