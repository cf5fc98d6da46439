// Runs a command that may hang, on Linux.
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

/**
 * Runs a command with its output in `file`, because wine writes only to files. Shows the output, and returns it with
 * the exit code. After its time limit, the command and its child processes are killed.
 */
export function runBounded(file, command, args, { cwd, env, minutes }) {
	const out = openSync(file, "w");
	const { status, error } = spawnSync("timeout", ["--signal=KILL", `${minutes}m`, command, ...args], {
		cwd,
		env,
		stdio: ["ignore", out, out],
	});
	closeSync(out);
	if (error) throw error;
	// `timeout` killed the command and itself.
	const output = readFileSync(file, "utf8") + (status === null ? `\nkilled after ${minutes} minutes\n` : "");
	console.log(output);
	return { code: status ?? 1, output };
}
