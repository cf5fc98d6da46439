// The published pi under the hook: started in each of its ways, and its extensions, which are loaded in a way of their
// own (jiti).
import { spawn } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdirSync,
	readFileSync,
	readdirSync,
	renameSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { startModelServer } from "../../../scripts/demo/model-server.mjs";
import * as pi from "../../../scripts/demo/pi.mjs";
import { type Outcome, own, piNative, register, scratch, write } from "./fake-pi.js";

const REPLACED = `${own}: the session manager of @earendil-works/pi-coding-agent 0.87.1 (${pi.piPackage}) is replaced\n`;

/** An extension that says whether the manager it imports from pi is the class of the session that it is in. */
const EXTENSION = `
import { appendFileSync } from "node:fs";
import { SessionManager, buildSessionContext } from "@earendil-works/pi-coding-agent";
export default function (pi: any) {
	pi.on("session_start", (_event: unknown, context: any) => {
		const same = Object.getPrototypeOf(context.sessionManager).constructor === SessionManager;
		const native = [SessionManager.create, buildSessionContext].every((one) => String(one).includes("[native code]"));
		appendFileSync(process.env.NOTES!, \`same \${same} native \${native}\\n\`);
	});
}
`;

function run(args: string[], cwd: string, env: Record<string, string>): Promise<Outcome> {
	return new Promise((resolve, reject) => {
		const child = spawn(pi.nodeBin, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: 500_000 });
		let [stdout, stderr] = ["", ""];
		child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
		child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
		child.on("error", reject);
		child.on("close", (code) => resolve({ code, stdout, stderr }));
	});
}

it.each([
	["its unbundled command line", ["--import", register, join(pi.piPackage, "dist/cli.js")]],
	["its bundle", ["--import", register, join(pi.piPackage, "dist/bundle/cli.js")]],
	[
		"the link that npm made to its bundle",
		["--import", pathToFileURL(register).href, join(pi.root, "peer/node_modules/.bin/pi")],
	],
	["pi-native", [piNative]],
])("runs on our manager, started by %s", async (_name, command) => {
	const cwd = scratch();
	const home = join(cwd, "home");
	const server = await startModelServer([{ text: "Good morning." }]);
	onTestFinished(server.close);
	pi.writeAgentDir(home, server.baseUrl);
	const notes = write(join(cwd, "notes"), "");
	const extension = write(join(cwd, "extension.ts"), EXTENSION);
	const env = {
		...pi.isolatedEnv(home),
		NOTES: notes,
		PI_SESSION_NATIVE_PACKAGE: pi.piPackage,
		PI_SESSION_NATIVE_VERBOSE: "1",
	};
	const outcome = await run([...command, "--extension", extension, "-p", "Good morning"], cwd, env);
	expect(outcome).toEqual({ code: 0, stdout: "Good morning.\n", stderr: REPLACED });
	expect(readFileSync(notes, "utf8")).toBe("same true native true\n");
});

it("runs on our manager as a renamed build, which keeps its sessions under its own name", async () => {
	const cwd = scratch();
	const home = join(cwd, "home");
	// The published package under another name, among the same dependencies.
	const modules = join(cwd, "node_modules");
	const dir = join(modules, "@acme/tau");
	mkdirSync(join(modules, "@acme"), { recursive: true });
	for (const name of readdirSync(join(pi.root, "peer/node_modules"))) {
		if (!name.startsWith(".")) symlinkSync(join(pi.root, "peer/node_modules", name), join(modules, name));
	}
	cpSync(pi.piPackage, dir, { recursive: true });
	const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
	const renamed = { ...manifest, name: "@acme/tau", piConfig: { name: "tau", configDir: ".tau" } };
	writeFileSync(join(dir, "package.json"), JSON.stringify(renamed));

	const server = await startModelServer([{ text: "Good evening." }, { text: "Good evening." }]);
	onTestFinished(server.close);
	pi.writeAgentDir(home, server.baseUrl);
	renameSync(pi.agentDirOf(home), join(cwd, "settings"));
	const { PI_CODING_AGENT_DIR, ...own } = pi.isolatedEnv(home);
	const env = { ...own, PI_SESSION_NATIVE_PACKAGE: "@acme/tau", PI_SESSION_NATIVE_VERBOSE: "1" };
	const command = ["--import", register, join(dir, "dist/bundle/cli.js"), "-p", "Good evening"];
	for (const [agent, extra] of [
		[join(home, ".tau/agent"), {}],
		[join(cwd, "moved"), { TAU_CODING_AGENT_DIR: join(cwd, "moved") }],
	] as const) {
		cpSync(join(cwd, "settings"), agent, { recursive: true });
		const outcome = await run(command, cwd, { ...env, ...extra });
		expect(outcome.stderr).toContain(`the session manager of @acme/tau 0.87.1 (${dir}) is replaced`);
		expect(outcome.stdout, outcome.stderr).toBe("Good evening.\n");
		const folders = readdirSync(join(agent, "sessions"));
		expect(folders).toEqual([`--${cwd.slice(1).replaceAll("/", "-")}--`]);
		expect(readdirSync(join(agent, "sessions", folders[0]))).toHaveLength(1);
	}
	expect(existsSync(join(home, ".pi"))).toBe(false);
});

it("finds everything that pi 1.5.2 needs", async () => {
	// Its dependencies are not installed, so that it is looked at, not run.
	const script = `
		import { checkPi } from ${JSON.stringify(join(pi.root, "lib/register/check.mjs"))};
		import { Packages } from ${JSON.stringify(join(pi.root, "lib/register/package.mjs"))};
		import { readSettings } from ${JSON.stringify(join(pi.root, "lib/register/settings.mjs"))};
		import ours from ${JSON.stringify(join(pi.root, "index.js"))};
		const pi = new Packages(readSettings()).in(${JSON.stringify(join(pi.root, "peer/pi-1.5.2"))});
		checkPi(pi, ours, "this");
		const { SessionManager, projectContextEntry, ...less } = ours;
		for (const without of [less, { ...less, SessionManager: class {} }]) {
			try {
				checkPi(pi, without, "this");
			} catch (error) {
				console.log(error.message);
			}
		}
		checkPi(pi, { ...less, projectContextEntry, SessionManager }, "this");
		console.log(pi.title);
	`;
	const cwd = scratch();
	const outcome = await run(["--input-type=module", "-e", script], cwd, pi.isolatedEnv(cwd));
	expect(outcome).toMatchObject({ code: 0, stderr: "" });
	const [both, one, title] = outcome.stdout.trimEnd().split("\n");
	expect(both).toMatch(/do not exist here: SessionManager \(in .*\), projectContextEntry \(in dist\/.*\.js\)$/);
	expect(one).toMatch(/do not exist here: projectContextEntry \(in dist\/.*\.js\)$/);
	expect(title).toBe("@earendil-works/pi-coding-agent 1.5.2");
});
