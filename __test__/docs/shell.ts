// Commands in the documentation. Those of `pi-sessions` are run on a store like the reader's; of others it is checked that
// what they name is there.
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/store.js";
import { bin, put as putSession, runProgram, world } from "../cli/run.js";
import type { Block } from "./blocks.js";
import { put } from "./project.js";
import { session } from "./session.js";

const pack = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** What is wrong with a block of commands. */
export async function runShell(block: Block): Promise<string[]> {
	const steps = block.language === "console" ? consoleSteps(block.code) : shellSteps(block.code);
	const problems: string[] = [];
	const at = reader();
	for (const { command, output } of steps) {
		const own = /(^|[|;&(]\s*|<\()pi-sessions\b/.test(command);
		if (!own) {
			const problem = known(command);
			if (problem) problems.push(`${command}: ${problem}`);
			continue;
		}
		const { code, out, err } = await runProgram("bash", ["-o", "pipefail", "-c", command], at);
		if (code !== 0 || err !== "") problems.push(`${command}: exit code ${code}, ${err}`);
		if (output !== undefined && out !== output) problems.push(`${command} prints\n${out}and not\n${output}`);
	}
	return problems;
}

interface Step {
	command: string;
	output?: string;
}

/** One command a line; a backslash goes on in the next. Comments are for people. */
const shellSteps = (code: string): Step[] =>
	code
		.replace(/\\\n\s*/g, " ")
		.split("\n")
		.map((line) => line.replace(/(^|\s)#\s.*$/, "").trim())
		.filter(Boolean)
		.map((command) => ({ command }));

/** `$ command`, and the lines it prints. */
function consoleSteps(code: string): Step[] {
	return code
		.split(/^\$ /m)
		.slice(1)
		.map((piece) => {
			const [command = "", ...output] = piece.split("\n");
			return { command, output: output.join("\n").replace(/\n+$/, "\n") };
		});
}

/** A folder with a session that the pages talk about, and the command on the path. */
function reader(): { cwd: string; env: NodeJS.ProcessEnv } {
	const at = world();
	const path = putSession(at, session.id, session.entries, { header: session.header });
	cpSync(path, join(at.cwd, "session.jsonl"));
	for (const name of ["project", "other-project"]) mkdirSync(join(at.env.HOME as string, name), { recursive: true });
	mkdirSync(join(at.env.HOME as string, ".config/fish/completions"), { recursive: true });
	const command = put(at.cwd, ".bin/pi-sessions", `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`);
	chmodSync(command, 0o755);
	return { cwd: at.cwd, env: { ...at.env, PATH: `${join(at.cwd, ".bin")}:${at.env.PATH}` } };
}

/** What is wrong with a command that is not ours to run here; nothing if it names what is there. */
function known(command: string): string | undefined {
	const words = command.replace(/^(?:[A-Z_]+=\S+ )+/, "").split(/\s+/);
	const [program = "", first = "", second = ""] = words;
	switch (program) {
		case "npm": {
			if (["install", "ci", "pack", "publish", "uninstall"].includes(first)) return undefined;
			const script = first === "run" ? second : first;
			return script in pack.scripts ? undefined : `package.json has no script ${script}`;
		}
		case "npx":
			return existsSync(join(root, "node_modules/.bin", first)) || first in (pack.bin ?? {}) ? undefined : `no ${first}`;
		case "node": {
			if (first === "--import" && second.startsWith("pi-session-native/")) {
				const entry = `./${second.slice("pi-session-native/".length)}`;
				return entry in pack.exports ? undefined : `the package exports no ${entry}`;
			}
			return existsSync(join(root, first)) ? undefined : `no file ${first}`;
		}
		case "cargo":
			return ["test", "build", "fmt", "clippy", "run", "fuzz", "+nightly"].includes(first) ? undefined : `cargo ${first} is not one of ours`;
		case "git":
		case "cd":
		case "apt-get":
		case "sudo":
		case "export":
			return undefined;
		default:
			if (program in (pack.bin ?? {})) return undefined;
			return existsSync(join(root, program)) ? undefined : `nobody knows ${program}`;
	}
}
