// Runs `pi-sync`, and `pi-sessions` for its own commands, as a user would.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import {
	bin as piSessions,
	type Result,
	runProgram,
	runInTerminal as runProgramInTerminal,
	type World,
	world,
} from "../../../../__test__/support/cli.js";
import { root, scratch } from "../../../../__test__/support/scratch.js";

export { lines, put, type World, world } from "../../../../__test__/support/cli.js";

export const piSync = join(root, "packages/sync/bin/pi-sync.mjs");
/** The commands of `pi-sessions` that these tests use. */
const OTHERS = new Set(["list", "show", "fork", "repair", "export"]);

export const run = (at: World, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Result> =>
	runProgram(process.execPath, [OTHERS.has(args[0] ?? "") ? piSessions : piSync, ...args], {
		cwd: at.cwd,
		env: { ...at.env, ...env },
	});

/** Runs a command that must succeed. Returns its output. */
export async function good(at: World, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
	const { code, out, err } = await run(at, args, env);
	expect({ code, err }).toEqual({ code: 0, err: "" });
	return out;
}

/** Runs `pi-sync` in a terminal, and types an answer to its question. */
export const runInTerminal = (at: World, args: string[], answer: string): Promise<Result> =>
	runProgramInTerminal(at, args, {}, 100, (shown) => (shown.includes("[y/N]") ? answer : undefined), piSync);

/** Machines with the same project and a store, in a new directory unless an address is given. */
export function team({ address = scratch(), env = {} }: { address?: string; env?: NodeJS.ProcessEnv } = {}) {
	const machine = (host: string): World => {
		const at = world();
		const named = { PI_SYNC_STORE: address, PI_SYNC_HOST: host, PI_SYNC_PROJECT: "shop" };
		return { ...at, env: { ...at.env, ...named, ...env } };
	};
	return { store: address, machine, laptop: machine("laptop"), desktop: machine("desktop") };
}

/** A machine with other values of variables, or without them. */
export const withEnv = (at: World, env: NodeJS.ProcessEnv): World => ({ ...at, env: { ...at.env, ...env } });

/** Appends an entry to a session file, as pi does. */
export const add = (file: string, entry: object): void => appendFileSync(file, `${JSON.stringify(entry)}\n`);
