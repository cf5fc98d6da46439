// Runs one scenario twice: on the module under test and on pi's session manager, each in its own home.
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect } from "vitest";
import { type ModelServer, type ScriptedStep, startModelServer } from "../../../scripts/demo/model-server.mjs";
import * as pi from "../../../scripts/demo/pi.mjs";
import { type RpcClient, startRpc } from "../../../scripts/demo/rpc-client.mjs";
import { runProgram } from "../cli.js";
import { remove } from "../remove.js";
import { Normaliser } from "./normalise.js";

if (!pi.isInstalled())
	throw new Error("pi is not installed in scripts/reference: run `node scripts/reference/setup.mjs`");
if (!existsSync(pi.moduleUnderTest)) throw new Error(`The module under test is not built: ${pi.moduleUnderTest}`);

export interface Exit {
	code: number | null;
	stdout: string;
	stderr: string;
}
export type Line = Record<string, any>;

/** A pi to run: its bundle alone, and with our hook. */
export interface Way {
	name: string;
	bundle: string;
}
export const WAYS: [Way, ...Way[]] = [
	{ name: "as the bundle of 0.87.1", bundle: pi.piPackage },
	{ name: `as the bundle of ${pi.earlierVersion}`, bundle: pi.earlierPackage },
	{ name: `as the bundle of ${pi.referenceVersion}`, bundle: pi.referencePackage },
];

const register = join(pi.root, "register.mjs");
/** The facts about a bundle are computed once for all runs. */
const cache = mkdtempSync(join(tmpdir(), "psn-agent-cache-"));
process.on("exit", () => rmSync(cache, { recursive: true, force: true }));

export class Run {
	readonly root = realpathSync(mkdtempSync(join(tmpdir(), "psn-agent-")));
	readonly home = join(this.root, "home");
	readonly work = join(this.root, "work");
	readonly observed: { what: string; text: string }[] = [];
	readonly #normal = new Normaliser(this.root);

	constructor(
		readonly way: Way,
		readonly isOurs: boolean,
		readonly server: ModelServer,
		settings: Record<string, unknown>,
		readonly env: Record<string, string> = {},
	) {
		mkdirSync(this.work, { recursive: true });
		writeFileSync(join(this.work, "notes.md"), "# Notes\n\n- call Zoë back\n");
		pi.writeAgentDir(this.home, server.baseUrl, settings);
	}

	get sessionModule(): string {
		return this.isOurs ? pi.moduleUnderTest : pi.referenceModule;
	}

	observe(what: string, text: string): void {
		this.observed.push({ what: this.#normal.text(what), text: this.#normal.text(text) });
	}

	observeHtml(what: string, path: string): void {
		this.observed.push({ what, text: this.#normal.html(readFileSync(path, "utf8")) });
	}

	/** Runs pi to its end. Exit code, stdout and stderr are compared. */
	async pi(args: string[], options: { cwd?: string; input?: string } = {}): Promise<Exit> {
		const { command, confirmed } = this.#hooked(args);
		const exit = confirmed(await execute(command, options.cwd ?? this.work, options.input ?? ""));
		this.observe(`pi ${args.join(" ")}`, JSON.stringify(exit));
		return exit;
	}

	/** Runs pi in RPC mode until `talk` ends. Every record that pi writes is compared. */
	async rpc(args: string[], talk: (client: RpcClient) => Promise<void>): Promise<void> {
		const { command, confirmed } = this.#hooked(["--mode", "rpc", ...args]);
		const client = startRpc(command, { cwd: this.work });
		try {
			await talk(client);
		} finally {
			const exit = confirmed(await client.close());
			for (const record of client.records) {
				// The system decides how a pipe splits output, so the result contains it in one piece.
				if (record.type === "tool_execution_update" || record.type === "bash_execution_update") continue;
				this.observe(`record ${record.type} ${record.command ?? ""}`, JSON.stringify(record));
			}
			this.observe("rpc exit", JSON.stringify(exit));
		}
	}

	/** Runs an SDK scenario in the Node that pi needs, without a hook. Its notes are compared. */
	async sdk(scenario: string): Promise<void> {
		const script = join(pi.root, "__test__/support/agent/sdk-child.mjs");
		const notes = join(this.root, "notes.json");
		const args = [script, this.sessionModule, scenario, this.home, this.work, notes];
		const exit = await execute({ command: pi.nodeBin, args, env: pi.isolatedEnv(this.home) }, this.work, "");
		expect(exit, `${scenario} on ${this.sessionModule}`).toEqual({ code: 0, stdout: "", stderr: "" });
		for (const { name, text } of JSON.parse(readFileSync(notes, "utf8"))) {
			if (!name.endsWith("_execution_update")) this.observe(name, text);
		}
	}

	/** Session files below the agent folder, oldest first. */
	sessionFiles(): string[] {
		const dir = join(pi.agentDirOf(this.home), "sessions");
		if (!existsSync(dir)) return [];
		const files = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".jsonl"));
		const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
		return files.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)).map((file) => join(dir, file));
	}

	lines(file: string): Line[] {
		const text = readFileSync(file, "utf8");
		expect(text.endsWith("\n"), `${file} ends with a line feed`).toBe(true);
		return text
			.slice(0, -1)
			.split("\n")
			.map((line) => JSON.parse(line));
	}

	/** The files that remain, and the requests that the model received. */
	finish(): void {
		for (const file of this.sessionFiles()) this.#observeLines(relative(this.root, file), file);
		// Only we leave a backup beside a migrated file, on purpose.
		const names = readdirSync(this.work, { recursive: true, encoding: "utf8" }).sort();
		const others = names.filter((name) => !name.endsWith(".v1.bak"));
		this.observe("work folder", others.join("\n"));
		for (const name of others) if (name.endsWith(".html")) this.observeHtml(name, join(this.work, name));
		for (const name of others) {
			if (/\.(jsonl|txt)$/.test(name)) this.#observeLines(name, join(this.work, name));
		}
		for (const request of this.server.requests) this.observe(`request ${request.path}`, JSON.stringify(request.body));
		this.observe("steps left", String(this.server.remaining()));
	}

	/** The command, and a function that checks after its end whether it ran on the right session manager. */
	#hooked(args: string[]) {
		const hook = this.isOurs ? ["--import", register] : [];
		const said = { PI_SESSION_NATIVE_VERBOSE: "1", XDG_CACHE_HOME: cache };
		const env = { ...pi.isolatedEnv(this.home), ...(this.isOurs ? said : {}), ...this.env };
		const command = { command: pi.nodeBin, args: [...hook, join(this.way.bundle, "dist/bundle/cli.js"), ...args], env };
		const confirmed = <E extends { code: unknown; stderr: string }>(exit: E) => {
			if (!this.isOurs) return exit;
			const [line, ...rest] = exit.stderr.split("\n");
			expect(line).toMatch(/^pi-session-native .*: the session manager of \S+ [\d.]+ \(.*\) is replaced$/);
			return { ...exit, stderr: rest.join("\n") };
		};
		return { command, confirmed };
	}

	#observeLines(name: string, file: string): void {
		const lines = readFileSync(file, "utf8").split("\n");
		for (const [index, line] of lines.entries()) this.observe(`${name}:${index + 1}`, line);
	}
}

async function execute({ command, args, env }: pi.PiCommand, cwd: string, input: string): Promise<Exit> {
	const { code, out, err } = await runProgram(command, args, { cwd, env, input });
	return { code, stdout: out, stderr: err };
}

export interface Scenario {
	steps: ScriptedStep[];
	settings?: Record<string, unknown>;
	/** Further environment variables for pi. */
	env?: Record<string, string>;
	act: (run: Run) => Promise<void>;
}

const SETTINGS = {
	retry: { enabled: false },
	compaction: { enabled: false, keepRecentTokens: 20, reserveTokens: 1000 },
};

async function observe(way: Way, isOurs: boolean, { steps, settings, env, act }: Scenario) {
	const server = await startModelServer(steps);
	const run = new Run(way, isOurs, server, { ...SETTINGS, ...settings }, env);
	try {
		await act(run);
		run.finish();
		return run.observed;
	} finally {
		await server.close();
		await remove(run.root);
	}
}

/** A line break precedes every key, so that a difference shows its key and not two pages of JSON. */
const legible = (text: string) => text.replace(/([,{[])"/g, '$1\n"');

/** Runs the scenario on both session managers and compares all observations, in order. */
export async function sameOnBoth(scenario: Scenario, way: Way = WAYS[0]): Promise<void> {
	const [reference, ours] = await Promise.all([observe(way, false, scenario), observe(way, true, scenario)]);
	expect(reference.length).toBeGreaterThan(3);
	for (const [index, seen] of reference.entries()) {
		expect(ours[index]?.what).toBe(seen.what);
		expect(legible(ours[index].text), seen.what).toBe(legible(seen.text));
	}
	expect(ours.length).toBe(reference.length);
}
