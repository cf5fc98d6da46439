// A small fake of pi: the published layout (an unbundled `dist` beside a bundle), a session manager, and the changes of
// a test. It prints its actions to stdout.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { isolatedEnv, nodeBin, root } from "../../../scripts/demo/pi.mjs";

export { scratch } from "../../support/scratch.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The name of this package in its messages. */
export const own = `${manifest.name} ${manifest.version}`;
export const register = join(root, "register.mjs");
export const piNative = join(root, "bin/pi-native.mjs");

export function write(path: string, text: string, mode = 0o644): string {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text, { mode });
	return path;
}

const CONFIG = `
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
const up = import.meta.url.includes("/bundle/") ? "../../.." : "..";
export const getPackageDir = () => join(dirname(fileURLToPath(import.meta.url)), up);
const { piConfig = {} } = JSON.parse(readFileSync(join(getPackageDir(), "package.json"), "utf8"));
const name = piConfig.name ?? "pi";
export const getAgentDir = () => process.env[name.toUpperCase() + "_CODING_AGENT_DIR"] || join(homedir(), piConfig.configDir ?? ".pi", "agent");
`;

/** The members of pi's session manager that are checked. A manager of the fake has 1 entry. */
const MANAGER = `
export const CURRENT_SESSION_VERSION = 3;
export class SessionManager {
	static create(cwd, sessionDir, options) { return new SessionManager(); }
	static open(path, sessionDir, cwdOverride) { return new SessionManager(); }
	static continueRecent(cwd, sessionDir) { return new SessionManager(); }
	static inMemory(cwd = "", options, entries) { return new SessionManager(); }
	static forkFrom(sourcePath, targetCwd, sessionDir, options) { return new SessionManager(); }
	static findById(cwd, id, sessionDir) {}
	static async list(cwd, sessionDir, onProgress, signal) { return []; }
	static async listAll(sessionDir, onProgress, signal) { return []; }
	usesDefaultSessionDir() { return true; }
	getEntryCount() { return 1; }
	_persist() {}
}
`;

const MAIN = `
import { getAgentDir } from "./config.js";
import { SessionManager } from "./core/session-manager.js";
console.log("pi starts");
export function main(args) {
	const manager = args[0] === "open" ? SessionManager.open(args[1]) : SessionManager.create("/x");
	const isInstance = manager instanceof SessionManager;
	console.log(JSON.stringify({ args, entries: manager.getEntryCount(), dir: manager.getSessionDir?.(), agent: getAgentDir(), isInstance }));
}
`;

const CLI = '#!/usr/bin/env node\nimport { main } from "./main.js";\nmain(process.argv.slice(2));\n';

/** The files of the fake, by path. */
const FILES: Record<string, string> = {
	"dist/config.js": CONFIG,
	"dist/core/session-manager.js": MANAGER,
	"dist/main.js": MAIN,
	"dist/cli.js": CLI,
	"dist/index.js": `export { getAgentDir, getPackageDir } from "./config.js";\nexport { CURRENT_SESSION_VERSION, SessionManager } from "./core/session-manager.js";\nexport { main } from "./main.js";\nexport const VERSION = "9.9.9";\n`,
	"dist/bundle/cli.js": `#!/usr/bin/env node\nimport { createRequire } from "node:module";\ncreateRequire(import.meta.url)("./cli-runtime.js");\n`,
};

export interface FakePi {
	name?: string;
	piConfig?: Record<string, string>;
	/** Files that replace the usual ones; null for no file. */
	files?: Record<string, string | null>;
	/** Changes in the text of the session manager. */
	manager?: (text: string) => string;
}

/** Writes a fake pi to `dir`, with a bundle like pi's. Returns `dir`. */
export function fakePi(
	dir: string,
	{
		name = "@earendil-works/pi-coding-agent",
		piConfig = { configDir: ".pi" },
		files = {},
		manager = (text) => text,
	}: FakePi = {},
) {
	const exports = { ".": { import: "./dist/index.js" }, "./rpc-entry": { import: "./dist/bundle/rpc-entry.js" } };
	const manifest = { name, version: "9.9.9", type: "module", piConfig, bin: { pi: "dist/bundle/cli.js" }, exports };
	write(join(dir, "package.json"), JSON.stringify(manifest));
	for (const [path, text] of Object.entries(FILES))
		write(join(dir, path), path.endsWith("session-manager.js") ? manager(text) : text);
	const entryPoints = { "cli-runtime": "cli", index: "index", "rpc-entry": "cli" };
	buildSync({
		entryPoints: Object.fromEntries(
			Object.entries(entryPoints).map(([to, from]) => [to, join(dir, `dist/${from}.js`)]),
		),
		outdir: join(dir, "dist/bundle"),
		chunkNames: "chunks/chunk-[hash]",
		bundle: true,
		splitting: true,
		format: "esm",
		platform: "node",
		target: "node22",
		minifySyntax: true,
		minifyWhitespace: true,
	});
	for (const [path, text] of Object.entries(files))
		if (text === null) rmSync(join(dir, path));
		else write(join(dir, path), text);
	return dir;
}

/** The folder of a package below a `node_modules`. */
export const moduleDir = (dir: string, name = "@earendil-works/pi-coding-agent") => join(dir, "node_modules", name);

export interface Outcome {
	code: number | null;
	stdout: string;
	stderr: string;
}

/** Runs the newer Node that pi needs, in a clean environment. */
export function node(args: string[], { cwd, env = {} }: { cwd: string; env?: Record<string, string> }): Outcome {
	const home = join(cwd, "home");
	mkdirSync(home, { recursive: true });
	const { PI_CODING_AGENT_DIR, ...own } = isolatedEnv(home);
	const { status, stdout, stderr, error } = spawnSync(nodeBin, args, {
		cwd,
		env: { ...own, ...env },
		encoding: "utf8",
		timeout: 500_000,
	});
	if (error) throw error;
	return { code: status, stdout, stderr };
}
