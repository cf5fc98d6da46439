// The reference pi with the extension: in a terminal, in print mode and in RPC mode, each in its own home.
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type ScriptedStep, startModelServer } from "../../../scripts/demo/model-server.mjs";
import * as pi from "../../../scripts/demo/pi.mjs";
import { type RpcClient, startRpc } from "../../../scripts/demo/rpc-client.mjs";
import { runProgram } from "../../support/cli.js";
import { remove } from "../../support/remove.js";
import { header, type Json, message, root, text, user } from "../../support/scratch.js";
import { Terminal } from "../register/terminal.js";

/** The releases on which the extension is tested, by their directories. */
export const RELEASES = [
	{ version: pi.referenceVersion, release: pi.referencePackage },
	{ version: pi.earlierVersion, release: pi.earlierPackage },
];
const [register, piNative] = [join(root, "register.mjs"), join(root, "bin/pi-native.mjs")];

export interface World {
	/** Its folder, the user's home, the working directory, and the session directories. */
	root: string;
	home: string;
	work: string;
	sessions: string;
	here: string;
	server: Awaited<ReturnType<typeof startModelServer>>;
}

/** A home with a model that returns these answers. */
export async function world(steps: ScriptedStep[] = [], settings: Json = {}): Promise<World> {
	const dir = realpathSync(mkdtempSync(join(tmpdir(), "psn-extension-")));
	const [home, work] = [join(dir, "home"), join(dir, "work")];
	mkdirSync(work);
	const server = await startModelServer(steps);
	pi.writeAgentDir(home, server.baseUrl, settings);
	onTestFinished(async () => {
		await server.close();
		await remove(dir);
	});
	const sessions = join(pi.agentDirOf(home), "sessions");
	const here = join(sessions, `--${work.replace(/^\//, "").replaceAll("/", "-")}--`);
	return { root: dir, home, work, sessions, here, server };
}

export interface PiOptions {
	/** The package that is loaded: by default this one, with false none. */
	extension?: string | false;
	/** The directory of pi, by default the reference's. */
	release?: string;
	/** Whether pi runs on this package's manager from its start, by `--import` or by the command `pi-native`. */
	hooked?: boolean | "pi-native";
	args?: string[];
	env?: Record<string, string>;
	/** The target of stderr in a terminal. */
	stderr?: string;
	/** A text on the screen when the terminal is ready for keys. */
	ready?: string | RegExp;
}

function command(
	at: World,
	{ extension = root, hooked, release = pi.referencePackage, args = [], env = {} }: PiOptions,
	more: string[] = [],
) {
	return {
		command: pi.nodeBin,
		args: [
			...(hooked === true ? ["--import", register] : []),
			hooked === "pi-native" ? piNative : join(release, "dist/bundle/cli.js"),
			...(extension === false ? [] : ["-e", extension]),
			...args,
			...more,
		],
		cwd: at.work,
		env: {
			...pi.isolatedEnv(at.home),
			XDG_CACHE_HOME: join(at.root, "cache"),
			...(hooked === "pi-native" && { PI_SESSION_NATIVE_PACKAGE: release }),
			...env,
		},
	};
}

/** pi in a terminal, ready for input. */
export async function inTerminal(at: World, options: PiOptions = {}): Promise<Terminal> {
	const own = realpathSync(mkdtempSync(join(at.root, "terminal-")));
	const terminal = Terminal.start(own, { ...command(at, options), stderr: options.stderr ?? join(own, "stderr") });
	onTestFinished(() => terminal.close());
	await terminal.shows(options.ready ?? "scripted • medium");
	return terminal;
}

/** Runs pi in print mode (or with `--mode json`) to its end. */
export async function print(
	at: World,
	prompt: string,
	options: PiOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
	const { command: program, args, cwd, env } = command(at, options, ["-p", prompt]);
	const { code, out, err } = await runProgram(program, args, { cwd, env });
	return { code, stdout: out, stderr: err };
}

/** pi in RPC mode. */
export async function inRpc(
	at: World,
	talk: (client: RpcClient) => Promise<void>,
	options: PiOptions = {},
): Promise<void> {
	const { command: program, args, cwd, env } = command(at, options, ["--mode", "rpc"]);
	const client = startRpc({ command: program, args, env }, { cwd });
	try {
		await talk(client);
	} finally {
		await client.close();
	}
}

/** The notices of commands in pi's RPC mode. */
export async function notices(at: World, commands: string[], options: PiOptions = {}): Promise<Json[]> {
	const told: Json[] = [];
	await inRpc(
		at,
		async (client) => {
			for (const message of commands) {
				const before = client.records.length;
				await client.send({ type: "prompt", message });
				// It comes before the command's end.
				const isNotice = ({ type, method }: Json) => type === "extension_ui_request" && method === "notify";
				told.push(client.records.slice(before).find(isNotice) ?? {});
			}
		},
		options,
	);
	return told;
}

/** The package without its addon. */
export function withoutAddon(at: World): string {
	const copy = join(at.root, "package");
	for (const part of ["package.json", "lib", "skills", "index.js", "index.mjs"])
		cpSync(join(root, part), join(copy, part), { recursive: true });
	return copy;
}

/** The time of the last written session in seconds, an hour ago, so that pi's own files are newer. */
let writtenAt = Date.now() / 1000 - 3600;

/**
 * Writes a session of a working directory, by default of the world's own. Each file's time is a second later than the
 * one before, because a file system's clock may assign the same time to several files.
 */
export function put(at: World, id: string, entries: Json[], fields: Json = {}): string {
	const cwd = String(fields.cwd ?? at.work);
	const dir = cwd === at.work ? at.here : join(at.sessions, `--${cwd.replace(/^\//, "").replaceAll("/", "-")}--`);
	mkdirSync(dir, { recursive: true });
	const path = join(dir, `${id}.jsonl`);
	writeFileSync(path, text([header({ id, cwd, ...fields }), ...entries]));
	writtenAt++;
	utimesSync(path, writtenAt, writtenAt);
	return path;
}

/** A message that was written this many hours ago. */
export const said = (id: string, parent: string | null, body: any = user(), hours = 1): Json => {
	const at = Date.now() - hours * 3_600_000;
	return message(id, parent, { ...body, timestamp: at }, { timestamp: new Date(at).toISOString() });
};

export const stderrOf = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
