// `npm start`: prepares the clone, runs a conversation of the real pi agent on our session manager, and shows its
// session. `npm start -- <session.jsonl>` shows a copy of that file instead, without an agent.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { dim, yellow } from "./demo/paint.mjs";
import { moduleUnderTest } from "./demo/pi.mjs";
import { prepareModule } from "./demo/prepare.mjs";
import { writeSampleSession } from "./demo/sample-session.mjs";

// npm changes to the package's folder, but the user's path is relative to the original folder.
const typedIn = process.env.npm_lifecycle_event === "start" ? (process.env.INIT_CWD ?? process.cwd()) : process.cwd();

function checkFile(path) {
	const stats = statSync(path, { throwIfNoEntry: false });
	if (!stats) throw new Error(`The file does not exist: ${path}`);
	if (!stats.isFile()) throw new Error(`Not a file: ${path}`);
	if (stats.size === 0) throw new Error(`Not a pi session, it is empty: ${path}`);
}

/** We open a copy, because opening a file of an older version migrates it. */
async function showCopy(module, showSession, path, scratch) {
	const dir = join(scratch, "copy");
	const name = basename(path);
	const copy = join(dir, name.endsWith(".jsonl") ? name : `${name}.jsonl`);
	mkdirSync(dir);
	try {
		copyFileSync(path, copy);
		await showSession(module, copy);
	} catch (error) {
		throw new Error(`Cannot show ${path}: ${error.message.replaceAll(copy, path)}`);
	}
}

async function agentIsReady() {
	try {
		const { setup, nodeBin } = await import("./reference/setup.mjs");
		console.log(dim("> pi 0.87.1, and the newer Node it needs"));
		setup();
		// A folder scripts/reference/ from another machine is complete but does not work here.
		execFileSync(nodeBin, ["--version"], { stdio: "ignore" });
		return true;
	} catch (error) {
		console.log(yellow(`pi cannot run here, so the demo continues without the agent: ${error.message}`));
		return false;
	}
}

async function main(args) {
	if (args.length > 1 || args[0]?.startsWith("-")) throw new Error("Usage: npm start [-- <session.jsonl>]");
	const given = args[0] === undefined ? undefined : resolve(typedIn, args[0]);
	if (given) checkFile(given);
	if (!process.env.PSN_MODULE) prepareModule();
	const scratch = mkdtempSync(join(tmpdir(), "pi-session-demo-"));
	// We do not use the user's own ~/.pi: this process's session manager uses the same directory as the agent's.
	process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");
	process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
	const module = await import(pathToFileURL(moduleUnderTest).href);
	// These need packages that are installed by now.
	const { showSession } = await import("./demo/show-session.mjs");
	const { watchAgent } = await import("./demo/watch-agent.mjs");
	if (given) return await showCopy(module, showSession, given, scratch);
	const file = (await agentIsReady()) ? await watchAgent(scratch) : writeSampleSession(module, scratch);
	await showSession(module, file);
}

// `npm start | head` is no failure.
process.stdout.on("error", (error) => {
	if (error.code !== "EPIPE") throw error;
	process.exit();
});

main(process.argv.slice(2)).catch((error) => {
	console.error(`Error: ${error.message}`);
	process.exitCode = 1;
});
