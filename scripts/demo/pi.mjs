// Runs the real pi CLI on a chosen session manager, in a home of its own: without keys and network, and without reading
// or writing files of the user's own pi.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
	earlierDir,
	earlierVersion,
	nodeBin as installedNode,
	agentDir as piPackage,
	referenceDir,
	referenceVersion,
} from "../reference/setup.mjs";

export { earlierVersion, piPackage, referenceVersion };
/** The reference. Its bundle runs; its unbundled modules lack their dependencies here. */
export const referencePackage = referenceDir;
/** The release before the reference. Its bundle runs, too. */
export const earlierPackage = earlierDir;
/** The Node that runs pi. PSN_PI_NODE names another release. */
export const nodeBin = process.env.PSN_PI_NODE ?? installedNode;

const here = dirname(fileURLToPath(import.meta.url));
export const root = resolve(here, "../..");
export const referenceModule = join(referenceDir, "dist/core/session-manager.js");
const named = process.env.PSN_MODULE ?? join(root, "index.js");
/** The module under test. PSN_MODULE names another one (the reference, an older build), as path or URL. */
export const moduleUnderTest = named.startsWith("file:") ? fileURLToPath(named) : resolve(named);

export const isInstalled = () =>
	[nodeBin, piPackage, earlierPackage, referenceModule].every((path) => existsSync(path));

// The variables that a process needs. We pass no others, because a key in the user's environment would add a model, and
// PI_* settings would change pi's behaviour.
const PASSED_ON = [
	"PATH",
	"TMPDIR",
	"TEMP",
	"TMP",
	"SystemRoot",
	"COMSPEC",
	"LD_LIBRARY_PATH",
	"LD_PRELOAD",
	"ASAN_OPTIONS",
];

export function isolatedEnv(home) {
	const env = {};
	for (const name of PASSED_ON) if (process.env[name] !== undefined) env[name] = process.env[name];
	return {
		...env,
		HOME: home,
		USERPROFILE: home,
		PI_CODING_AGENT_DIR: agentDirOf(home),
		PI_OFFLINE: "1",
		NO_COLOR: "1",
		TZ: "UTC",
		LANG: "C.UTF-8",
	};
}

export const agentDirOf = (home) => join(home, "agent");

/** Writes the agent folder of `home`: one provider, the scripted model at `baseUrl`. */
export function writeAgentDir(home, baseUrl, settings = {}) {
	const dir = agentDirOf(home);
	mkdirSync(dir, { recursive: true });
	const model = { id: "scripted", name: "Scripted", reasoning: true, contextWindow: 100_000, maxTokens: 4096 };
	const provider = { baseUrl, api: "openai-completions", apiKey: "none", models: [model] };
	const defaults = { defaultProvider: "loopback", defaultModel: "scripted", enableInstallTelemetry: false };
	writeFileSync(join(dir, "models.json"), JSON.stringify({ providers: { loopback: provider } }, null, 2));
	writeFileSync(join(dir, "settings.json"), JSON.stringify({ ...defaults, ...settings }, null, 2));
}

/** Command, arguments and environment that run pi with `args`, its session manager taken from `sessionModule`. */
export function piCommand(args, { home, sessionModule, hookLog }) {
	const hook = pathToFileURL(join(here, "session-hook.mjs")).href;
	return {
		command: nodeBin,
		args: ["--import", hook, join(piPackage, "dist/cli.js"), ...args],
		env: {
			...isolatedEnv(home),
			PSN_SESSION_MODULE: sessionModule,
			PSN_PI_PACKAGE: piPackage,
			...(hookLog ? { PSN_HOOK_LOG: hookLog } : {}),
		},
	};
}
