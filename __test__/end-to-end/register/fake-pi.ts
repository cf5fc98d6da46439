// A pi in a few lines: the layout of the published one (an unbundled `dist` beside a bundle), a session manager of its
// own, and whatever a test changes about it. It says what it does on stdout.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { onTestFinished } from "vitest";
import { isolatedEnv, nodeBin, root } from "../../../scripts/demo/pi.mjs";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** This package, as its messages call it. */
export const own = `${manifest.name} ${manifest.version}`;
export const register = join(root, "register.mjs");
export const piNative = join(root, "bin/pi-native.mjs");

/** A directory of the running test's own, gone when the test is over. */
export function scratch(): string {
	const dir = realpathSync(mkdtempSync(join(tmpdir(), "psn-register-")));
	onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
	return dir;
}

export function write(path: string, text: string, mode = 0o644): string {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text, { mode });
	return path;
}

const CONFIG = `
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
const up = import.meta.url.includes("/bundle/") ? "../../../" : "../";
const { piConfig = {} } = JSON.parse(readFileSync(new URL(up + "package.json", import.meta.url), "utf8"));
export const APP_NAME = piConfig.name ?? "pi";
export const CONFIG_DIR_NAME = piConfig.configDir ?? ".pi";
export const getAgentDir = () =>
	process.env[APP_NAME.toUpperCase() + "_CODING_AGENT_DIR"] || join(homedir(), CONFIG_DIR_NAME, "agent");
`;

const MANAGER = `
console.log("the fake's own manager runs");
export const CURRENT_SESSION_VERSION = 3;
export const getDefaultSessionDir = () => "nowhere";
export class SessionManager {}
`;

const MAIN = `
import { getAgentDir } from "./config.js";
import { CURRENT_SESSION_VERSION, SessionManager as Sessions } from "./core/session-manager.js";
import { where } from "./core/sdk.js";
console.log("pi starts");
export function main(args) {
	const manager = Sessions.create("/x");
	console.log(JSON.stringify({ args, dir: where(), agent: getAgentDir(), version: CURRENT_SESSION_VERSION }));
	if (args[0] === "open") Sessions.open(args[1]);
	if (manager.getEntryCount() !== 0) process.exitCode = 1;
}
`;

const CLI = '#!/usr/bin/env node\nimport { main } from "./main.js";\nmain(process.argv.slice(2));\n';

/** What the fake consists of, by path. */
const FILES: Record<string, string> = {
	"dist/config.js": CONFIG,
	"dist/core/session-manager.js": MANAGER,
	"dist/core/sdk.js": `import { getDefaultSessionDir } from "./session-manager.js";\nexport const where = () => getDefaultSessionDir("/x");\n`,
	"dist/main.js": MAIN,
	"dist/cli.js": CLI,
	"dist/index.js": `export { where } from "./core/sdk.js";\nexport { SessionManager } from "./core/session-manager.js";\nexport { main } from "./main.js";\n`,
	"dist/bundle/cli.js": `#!/usr/bin/env node\nimport "./chunks/all.js";\n`,
	"dist/bundle/chunks/all.js": `console.log("the bundle runs");\n`,
};

export interface FakePi {
	name?: string;
	piConfig?: Record<string, string>;
	/** Files in place of the usual ones; null for none. */
	files?: Record<string, string | null>;
}

/** Writes a fake pi into `dir` and gives `dir`. */
export function fakePi(
	dir: string,
	{ name = "@earendil-works/pi-coding-agent", piConfig = { configDir: ".pi" }, files = {} }: FakePi = {},
) {
	const exports = { ".": { import: "./dist/index.js" }, "./rpc-entry": { import: "./dist/bundle/rpc-entry.js" } };
	const manifest = { name, version: "9.9.9", type: "module", piConfig, bin: { pi: "dist/bundle/cli.js" }, exports };
	write(join(dir, "package.json"), JSON.stringify(manifest));
	for (const [path, text] of Object.entries({ ...FILES, ...files })) if (text !== null) write(join(dir, path), text);
	return dir;
}

/** The folder of a package below a `node_modules`. */
export const moduleDir = (dir: string, name = "@earendil-works/pi-coding-agent") => join(dir, "node_modules", name);

export interface Outcome {
	code: number | null;
	stdout: string;
	stderr: string;
}

/** Runs the newer Node that pi needs, in an environment of its own. */
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

/** A manager whose class says so when it comes into being. */
const BUNDLED_MANAGER = `
import { getAgentDir } from "../config.js";
export const CURRENT_SESSION_VERSION = 3;
export function getDefaultSessionDir(cwd) { return cwd.length > 0 ? getAgentDir() : cwd; }
export class SessionManager {
	static { console.log("the fake's own class exists"); }
	static create() { return new SessionManager(); }
	getEntryCount() { return 1; }
	appendThinkingLevelChange(level) { return level; }
	createBranchedSession(leaf) { return leaf; }
}
`;

/** Modules that keep what they import as soon as they are loaded. */
const CAPTURING = `
import { SessionManager, getDefaultSessionDir } from "./session-manager.js";
const alias = SessionManager;
class Holder { static manager = SessionManager; static dir = getDefaultSessionDir; }
class Sub extends SessionManager {}
const list = [alias, Holder.manager, Object.getPrototypeOf(Sub)];
export const captured = () => list.every((one) => one === SessionManager) && Holder.dir === getDefaultSessionDir;
export const where = () => getDefaultSessionDir("/x");
`;

const BUNDLED_MAIN = `
import * as everything from "./index.js";
import { getAgentDir } from "./config.js";
import { CURRENT_SESSION_VERSION, SessionManager as Sessions } from "./core/session-manager.js";
import { captured, where } from "./core/sdk.js";
export async function main(args) {
	const native = String(Sessions).includes("[native code]") && everything.SessionManager === Sessions;
	console.log(JSON.stringify({ args, dir: where(), agent: getAgentDir(), version: CURRENT_SESSION_VERSION, native, captured: captured() }));
	if (args[0] === "late") console.log((await import("./late.js")).late);
}
`;

const BUNDLED: Record<string, string> = {
	"dist/core/session-manager.js": BUNDLED_MANAGER,
	"dist/core/sdk.js": CAPTURING,
	"dist/main.js": BUNDLED_MAIN,
	"dist/index.js": `export { CURRENT_SESSION_VERSION, SessionManager } from "./core/session-manager.js";\nexport { main } from "./main.js";\n`,
	"dist/late.js": `export const late = "the late module runs";\n`,
};

/** Writes a fake pi with a bundle that is made as pi's is: split, its names kept, all else minified. */
export function bundledPi(dir: string, { files = {}, ...more }: FakePi = {}): string {
	fakePi(dir, { ...more, files: { ...BUNDLED, "dist/bundle/chunks/all.js": null, ...files } });
	buildSync({
		entryPoints: { "cli-runtime": join(dir, "dist/cli.js"), index: join(dir, "dist/index.js") },
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
	const launch = `#!/usr/bin/env node\nimport { createRequire } from "node:module";\ncreateRequire(import.meta.url)("./cli-runtime.js");\n`;
	write(join(dir, "dist/bundle/cli.js"), launch);
	return dir;
}

/** The path of the chunk that holds the fake's session manager. */
export function chunkOf(dir: string): string {
	const chunks = join(dir, "dist/bundle/chunks");
	const name = readdirSync(chunks).find((one) => readFileSync(join(chunks, one), "utf8").includes("SessionManager=class"));
	if (!name) throw new Error(`no chunk in ${chunks} holds a session manager`);
	return join(chunks, name);
}
