// Commands in the documentation. Our commands and `mkdir` run on sessions like the reader's, commands that start pi
// start the published pi, and of other commands the names in them must exist.
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { isolatedEnv, nodeBin, piPackage } from "../../../scripts/demo/pi.mjs";
import { bin, put as putSession, type Result, runProgram, world } from "../../support/cli.js";
import { root } from "../../support/scratch.js";
import type { Block } from "./blocks.js";
import { unknown } from "./known.js";
import { put } from "./project.js";
import { session } from "./session.js";

/** The version of the pi that this test starts. */
const { version } = JSON.parse(readFileSync(join(piPackage, "package.json"), "utf8"));

const OWN = /(^|[|;&(]\s*|<\()(?:pi-(?:sessions|sync)|mkdir)\b/;
/**
 * A line that starts pi on this manager: from the package, from a clone, or from the clone that the README names.
 */
const PI =
	/^(?:pi-native|node (?:--import (?:pi-session-native\/register|~\/pi-session-native\/register\.mjs)|(?:~\/pi-session-native\/)?bin\/pi-native\.mjs))(?: |$)/;

/** The errors in a block of commands. */
export async function runShell(block: Block): Promise<string[]> {
	const steps = block.language === "console" ? consoleSteps(block.code) : shellSteps(block.code);
	const problems: string[] = [];
	const at = reader();
	for (const { command, output } of steps) {
		if (PI.test(command)) {
			const { code, out, err } = await startPi(command);
			const isReplaced =
				err.includes(`the session manager of @earendil-works/pi-coding-agent ${version}`) &&
				err.includes("is replaced");
			if (code !== 0 || out !== `${version}\n` || !isReplaced)
				problems.push(`${command} --version: exit code ${code}, ${out}${err}`);
			continue;
		}
		if (!OWN.test(command)) {
			const problem = unknown(command);
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

/** One command a line; a backslash continues it in the next. Comments are ignored. */
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

/** A folder with the session of the pages, and the command on the path. */
function reader(): { cwd: string; env: NodeJS.ProcessEnv } {
	const at = world();
	const path = putSession(at, session.id, session.entries, { header: session.header });
	cpSync(path, join(at.cwd, "session.jsonl"));
	// The reader's session is older than a minute.
	for (const file of [path, join(at.cwd, "session.jsonl")]) utimesSync(file, 1e9, 1e9);
	for (const name of ["project", "other-project", "my-project"])
		mkdirSync(join(at.env.HOME as string, name), { recursive: true });
	mkdirSync(join(at.env.HOME as string, ".config/fish/completions"), { recursive: true });
	for (const [name, path] of [
		["pi-sessions", bin],
		["pi-sync", join(root, "packages/sync/bin/pi-sync.mjs")],
	]) {
		chmodSync(put(at.cwd, `.bin/${name}`, `#!/bin/sh\nexec '${process.execPath}' '${path}' "$@"\n`), 0o755);
	}
	return { cwd: at.cwd, env: { ...at.env, PI_SYNC_PROJECT: "shop", PATH: `${join(at.cwd, ".bin")}:${at.env.PATH}` } };
}

/**
 * Runs a command that starts pi, with `--version` added, because pi would otherwise wait for a person. At that time the
 * session manager is already replaced, which a line says. The folder is a project with pi and this package installed,
 * and contains the files of a clone of this package.
 */
async function startPi(command: string): Promise<Result> {
	const at = world();
	const home = at.env.HOME as string;
	const modules = join(at.cwd, "node_modules");
	mkdirSync(join(modules, "@earendil-works"), { recursive: true });
	mkdirSync(join(home, "bin"));
	symlinkSync(root, join(modules, "pi-session-native"));
	symlinkSync(piPackage, join(modules, "@earendil-works/pi-coding-agent"));
	symlinkSync(join(root, "bin"), join(at.cwd, "bin"));
	symlinkSync(root, join(home, "pi-session-native"));
	// Global commands: pi, and the commands of this package.
	symlinkSync(join(piPackage, "dist/bundle/cli.js"), join(home, "bin/pi"));
	symlinkSync(join(root, "bin/pi-native.mjs"), join(home, "bin/pi-native"));
	const PATH = `${join(home, "bin")}:${dirname(nodeBin)}:/usr/bin:/bin`;
	return runProgram("bash", ["-c", `${command} --version`], {
		cwd: at.cwd,
		env: { ...isolatedEnv(home), PATH, PI_SESSION_NATIVE_VERBOSE: "1" },
	});
}
