// A command that may hang, on Linux.
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

/**
 * Runs a command, its output in `file`, which is the one place that wine writes to; shows the output, and gives it with
 * the exit code. When its time is over, the command and all that it started are killed.
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
	// Killed by `timeout`, which kills itself as well.
	const output = readFileSync(file, "utf8") + (status === null ? `\nkilled after ${minutes} minutes\n` : "");
	console.log(output);
	return { code: status ?? 1, output };
}
