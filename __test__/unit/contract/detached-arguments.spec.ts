// The caller's typed arrays, which are detached while arguments are read.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptCommand } from "../../support/runtime.js";

// Regression: `SessionManager.merge` used the memory of `lines` after a getter of `hosts` had transferred it: the
// process ended, or other data came into the session file.
test("an argument that detaches its memory never shows freed memory", () => {
	const [command = "", ...args] = scriptCommand(join(__dirname, "detached-arguments.mjs"), [], { gc: true });
	const { status, signal, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", maxBuffer: 2 ** 30 });
	const lines = stdout.trim().split("\n");
	expect({ status, signal }, `${lines.at(-1)}\n${stderr.slice(-2_000)}`).toEqual({ status: 0, signal: null });
	const { trials, results, errors, unknown, wrong } = JSON.parse(lines.at(-1) as string);
	expect({ unknown, wrong }).toEqual({ unknown: [], wrong: [] });
	expect(results + errors).toBe(trials);
	expect(Math.min(results, errors)).toBeGreaterThan(100);
});
