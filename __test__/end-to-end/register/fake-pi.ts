// A pi in a few lines: the layout of the published one (an unbundled `dist` beside a bundle), a session manager of its
// own, and whatever a test changes about it. It says what it does on stdout.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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
const { piConfig = {} } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
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
	const { PI_CODING_AGENT_DIR, ...own } = isolatedEnv(join(cwd, "home"));
	const { status, stdout, stderr, error } = spawnSync(nodeBin, args, {
		cwd,
		env: { ...own, ...env },
		encoding: "utf8",
		timeout: 500_000,
	});
	if (error) throw error;
	return { code: status, stdout, stderr };
}
