// Runs `pi-sync`, and `pi-sessions` for what that alone does, as a user would.
import { join } from "node:path";
import { expect } from "vitest";
import {
	bin as piSessions,
	type Result,
	runProgram,
	runInTerminal as runProgramInTerminal,
	type World,
} from "../../../../__test__/support/cli.js";
import { root } from "../../../../__test__/support/scratch.js";

export { lines, put, type World, world } from "../../../../__test__/support/cli.js";

export const piSync = join(root, "packages/sync/bin/pi-sync.mjs");
/** The commands of `pi-sessions` that these tests use. */
const OTHERS = new Set(["list", "show", "fork", "repair", "export"]);

export const run = (at: World, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Result> =>
	runProgram(process.execPath, [OTHERS.has(args[0] ?? "") ? piSessions : piSync, ...args], {
		cwd: at.cwd,
		env: { ...at.env, ...env },
	});

/** Runs a command that must succeed, and gives its output. */
export async function good(at: World, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
	const { code, out, err } = await run(at, args, env);
	expect({ code, err }).toEqual({ code: 0, err: "" });
	return out;
}

/** Runs `pi-sync` in a terminal, in which an answer is typed to its question. */
export const runInTerminal = (at: World, args: string[], answer: string): Promise<Result> =>
	runProgramInTerminal(at, args, {}, 100, (shown) => (shown.includes("[y/N]") ? answer : undefined), piSync);
