// The published pi under the hook: started in each way, and with extensions, which pi loads by jiti.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DirectoryStore } from "../../../packages/sync/lib/index.js";
import { startModelServer } from "../../../scripts/demo/model-server.mjs";
import * as pi from "../../../scripts/demo/pi.mjs";
import { startRpc } from "../../../scripts/demo/rpc-client.mjs";
import { runProgram } from "../../support/cli.js";
import { modeOf } from "../../support/scratch.js";
import { type Outcome, own, piNative, register, scratch, write } from "./fake-pi.js";

/** The unbundled modules of the last two lack their dependencies here. */
const PIS = [
	{ version: "0.87.1", dir: pi.piPackage },
	{ version: pi.earlierVersion, dir: pi.earlierPackage },
	{ version: pi.referenceVersion, dir: pi.referencePackage },
];

const replaced = ({ version, dir }: { version: string; dir: string }) =>
	`${own}: the session manager of @earendil-works/pi-coding-agent ${version} (${dir}) is replaced\n`;

/**
 * An extension that says whether its session, and a session that it creates, are of the class that it gets from pi, and
 * whether they are ours.
 */
const EXTENSION = `
import { appendFileSync } from "node:fs";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import * as older from "@mariozechner/pi-coding-agent";
export default function (pi: any) {
	pi.on("session_start", async (_event: unknown, { sessionManager }: any) => {
		const later = await import("@earendil-works/pi-coding-agent");
		const classes = [SessionManager, older.SessionManager, later.SessionManager];
		const same = classes.every((one) => sessionManager instanceof one && one.inMemory() instanceof one);
		const ours = [sessionManager, ...classes.map((one) => one.inMemory())].every((one) => "getDiagnostics" in one);
		appendFileSync(process.env.NOTES!, \`same \${same} ours \${ours}\\n\`);
	});
}
`;

async function run(args: string[], cwd: string, env: Record<string, string>): Promise<Outcome> {
	const { code, out, err } = await runProgram(pi.nodeBin, args, { cwd, env });
	return { code, stdout: out, stderr: err };
}

/** Runs a pi with the extension and one prompt. Returns how it ended, and the notes of the extension. */
async function converse(command: string[], dir: string, more: Record<string, string> = {}) {
	const cwd = scratch();
	const home = join(cwd, "home");
	const server = await startModelServer([{ text: "Good morning." }]);
	onTestFinished(server.close);
	pi.writeAgentDir(home, server.baseUrl);
	const notes = write(join(cwd, "notes"), "");
	const extension = write(join(cwd, "extension.ts"), EXTENSION);
	const settings = { NOTES: notes, PI_SESSION_NATIVE_PACKAGE: dir, PI_SESSION_NATIVE_VERBOSE: "1" };
	const env = { ...pi.isolatedEnv(home), ...settings, ...more };
	const outcome = await run([...command, "--extension", extension, "-p", "Good morning"], cwd, env);
	return { outcome, notes: readFileSync(notes, "utf8") };
}

it("runs on our manager, started by its unbundled command line", async () => {
	const [{ dir }] = PIS;
	const { outcome, notes } = await converse(["--import", register, join(dir, "dist/cli.js")], dir);
	expect(outcome).toEqual({ code: 0, stdout: "Good morning.\n", stderr: replaced(PIS[0]) });
	expect(notes).toBe("same true ours true\n");
});

describe.each(PIS)("the bundle of $version", (one) => {
	const { dir } = one;
	const cli = join(dir, "dist/bundle/cli.js");

	it("runs on our manager by path, link and pi-native", async () => {
		const link = join(scratch(), "pi");
		symlinkSync(cli, link);
		const hook = pathToFileURL(register).href;
		for (const command of [["--import", register, cli], ["--import", hook, link], [piNative]]) {
			const { outcome, notes } = await converse(command, dir);
			expect(outcome).toEqual({ code: 0, stdout: "Good morning.\n", stderr: replaced(one) });
			expect(notes).toBe("same true ours true\n");
		}
	});

	it("runs in RPC mode by its own entry", async () => {
		const cwd = scratch();
		const env = { ...pi.isolatedEnv(join(cwd, "home")), PI_SESSION_NATIVE_VERBOSE: "1" };
		const args = ["--import", register, join(dir, "dist/bundle/rpc-entry.js"), "--no-session"];
		pi.writeAgentDir(join(cwd, "home"), "http://127.0.0.1:9");
		const rpc = startRpc({ command: pi.nodeBin, args, env }, { cwd });
		expect(await rpc.send({ type: "get_state" })).toMatchObject({ success: true, data: { messageCount: 0 } });
		expect(await rpc.close()).toEqual({ code: 0, stderr: replaced(one) });
	});

	it("gives an application its SDK on our manager", async () => {
		const cwd = scratch();
		const index = pathToFileURL(join(dir, "dist/bundle/index.js")).href;
		const script = `
			const { SessionManager, createAgentSession } = await import(${JSON.stringify(index)});
			for (const given of [{}, { sessionManager: SessionManager.inMemory() }]) {
				const { session } = await createAgentSession({ cwd: process.cwd(), ...given });
				console.log(session.sessionManager instanceof SessionManager, "getDiagnostics" in session.sessionManager);
			}
			process.exit();
		`;
		const env = pi.isolatedEnv(join(cwd, "home"));
		pi.writeAgentDir(join(cwd, "home"), "http://127.0.0.1:9");
		const outcome = await run(["--import", register, write(join(cwd, "application.mjs"), script)], cwd, env);
		expect(outcome).toEqual({ code: 0, stdout: "true true\ntrue true\n", stderr: "" });
	});
});

// Releases differ in how pi is loaded. The code after that belongs only to this package.
describe(`the bundle of ${pi.referenceVersion} under the hook`, () => {
	const [version, dir] = [pi.referenceVersion, pi.referencePackage];
	const cli = join(dir, "dist/bundle/cli.js");

	// Regression: while both managers were compared, pi created directories that other users could read.
	it("stores its first session for its user alone", async () => {
		const cwd = scratch();
		const agent = join(cwd, "home/.pi/agent");
		const env = { ...pi.isolatedEnv(join(cwd, "home")), PI_CODING_AGENT_DIR: agent, PI_SESSION_NATIVE_PACKAGE: dir };
		const rpc = startRpc({ command: pi.nodeBin, args: [piNative, "--mode", "rpc"], env }, { cwd });
		expect(await rpc.send({ type: "get_state" })).toMatchObject({ success: true });
		await rpc.close();
		const sessions = join(agent, "sessions");
		const made = readdirSync(sessions).map((name) => join(sessions, name));
		expect([agent, sessions, ...made].map(modeOf)).toEqual([0o700, 0o700, 0o700]);
	});

	// Regression: a line said that this pi does not store its sessions there, and pi ended with ENAMETOOLONG.
	it("stores sessions of a too long working directory", async () => {
		const root = scratch();
		const cwd = join(root, ..."abcde".split("").map((letter) => letter.repeat(60)));
		mkdirSync(cwd, { recursive: true });
		pi.writeAgentDir(join(root, "home"), "http://127.0.0.1:9");
		const env = { ...pi.isolatedEnv(join(root, "home")), PI_SESSION_NATIVE_PACKAGE: dir };
		const rpc = startRpc({ command: pi.nodeBin, args: [piNative, "--mode", "rpc"], env }, { cwd });
		expect(await rpc.send({ type: "get_state" })).toMatchObject({ success: true });
		expect(await rpc.close()).toEqual({ code: 0, stderr: "" });
	});

	it("starts with the compiled code of pi's command", async () => {
		const cwd = scratch();
		for (const name of ["home", "tmp"]) mkdirSync(join(cwd, name));
		const env = {
			...pi.isolatedEnv(join(cwd, "home")),
			TMPDIR: join(cwd, "tmp"),
			NODE_DEBUG_NATIVE: "COMPILE_CACHE",
			PI_SESSION_NATIVE_PACKAGE: dir,
		};
		const first = await run([cli, "--version"], cwd, env);
		expect(first.stdout.trim().split("\n").at(-1)).toBe(version);
		const compiledAnew = async (command: string[]) => {
			const { stdout, stderr } = await run([...command, "--version"], cwd, env);
			const compiled = (stdout + stderr)
				.split("\n")
				.filter((line) => line.includes(`${dir}/dist/bundle/`) && /cache for .* was /.test(line));
			expect(compiled).not.toEqual([]);
			return compiled.filter((line) => !line.includes("was accepted"));
		};
		// Its index, one more chunk, and the command, which pi's own start does not cache.
		for (const command of [["--import", register, cli], [piNative]])
			expect((await compiledAnew(command)).length).toBeLessThan(4);
		for (const command of [["--import", register, cli], [piNative]]) expect(await compiledAnew(command)).toEqual([]);
	});

	it("runs on our manager as a renamed build", async () => {
		const cwd = scratch();
		const home = join(cwd, "home");
		// The published package under another name, with the same dependencies.
		const modules = join(cwd, "node_modules");
		const renamedDir = join(modules, "@acme/tau");
		mkdirSync(join(modules, "@acme"), { recursive: true });
		for (const name of readdirSync(join(pi.root, "scripts/reference/node_modules"))) {
			if (!name.startsWith("."))
				symlinkSync(join(pi.root, "scripts/reference/node_modules", name), join(modules, name));
		}
		cpSync(dir, renamedDir, { recursive: true, dereference: true });
		const manifest = JSON.parse(readFileSync(join(renamedDir, "package.json"), "utf8"));
		const renamed = { ...manifest, name: "@acme/tau", piConfig: { name: "tau", configDir: ".tau" } };
		writeFileSync(join(renamedDir, "package.json"), JSON.stringify(renamed));

		const server = await startModelServer([{ text: "Good evening." }, { text: "Good evening." }]);
		onTestFinished(server.close);
		pi.writeAgentDir(home, server.baseUrl);
		renameSync(pi.agentDirOf(home), join(cwd, "settings"));
		const { PI_CODING_AGENT_DIR, ...own } = pi.isolatedEnv(home);
		const env = { ...own, PI_SESSION_NATIVE_PACKAGE: "@acme/tau", PI_SESSION_NATIVE_VERBOSE: "1" };
		// Regression: the store was read from pi's settings, but the private directories from the build's own.
		const stores = ["own", "foreign"].map((name) => join(cwd, name));
		for (const store of stores) mkdirSync(store);
		const foreign = join(home, ".pi/agent");
		mkdirSync(foreign, { recursive: true });
		writeFileSync(join(foreign, "session-store.json"), JSON.stringify({ store: stores[1] }), { mode: 0o600 });
		const command = [
			"--import",
			register,
			join(renamedDir, "dist/bundle/cli.js"),
			"-e",
			join(pi.root, "packages/sync"),
			"-p",
			"Good evening",
		];
		for (const [agent, extra, more] of [
			[join(home, ".tau/agent"), {}, {}],
			[join(cwd, "moved"), { TAU_CODING_AGENT_DIR: join(cwd, "moved") }, { private: [cwd] }],
		] as const) {
			cpSync(join(cwd, "settings"), agent, { recursive: true });
			writeFileSync(join(agent, "session-store.json"), JSON.stringify({ store: stores[0], ...more }), { mode: 0o600 });
			const outcome = await run(command, cwd, { ...env, ...extra });
			// On a busy machine the store gets the session after pi's end, which a second line says.
			const lines = outcome.stderr
				.trimEnd()
				.split("\n")
				.filter((line) => !line.startsWith("pi-sync: a part of this session is not stored yet"));
			expect(lines).toEqual([
				expect.stringContaining(`the session manager of @acme/tau ${version} (${renamedDir}) is replaced`),
			]);
			expect(outcome.stdout, outcome.stderr).toBe("Good evening.\n");
			const folders = readdirSync(join(agent, "sessions"));
			expect(folders).toEqual([`--${cwd.slice(1).replaceAll("/", "-")}--`]);
			expect(readdirSync(join(agent, "sessions", folders[0]))).toHaveLength(1);
			// The process beside pi has ended its work, and its notes are also the build's.
			const pending = () =>
				readdirSync(join(agent, "session-stores"), { recursive: true, encoding: "utf8" }).filter((name) =>
					/^pending-.*\.json$/.test(name),
				);
			await vi.waitFor(() => expect(pending()).toEqual([]), { timeout: 120_000, interval: 50 });
		}
		expect(readdirSync(foreign)).toEqual(["session-store.json"]);
		const stored = stores.map(
			async (path) =>
				(await new DirectoryStore({ path, host: "reader" }).list().catch(() => ({ sessions: [] }))).sessions.length,
		);
		expect(await Promise.all(stored)).toEqual([1, 0]);
	});
});
