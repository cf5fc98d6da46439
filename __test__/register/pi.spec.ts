// The published pi under the hook: started in each of its ways, and its extensions, which are loaded in a way of their
// own (jiti).
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { startModelServer } from "../../scripts/demo/model-server.mjs";
import * as pi from "../../scripts/demo/pi.mjs";
import { type Outcome, piNative, register, scratch, write } from "./fake-pi.js";

const REPLACED = `pi-session-native 0.1.0: the session manager of @earendil-works/pi-coding-agent 0.87.1 (${pi.piPackage}) is replaced\n`;

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
		const child = spawn(pi.nodeBin, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
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
	["the link that npm made to its bundle", ["--import", pathToFileURL(register).href, join(pi.root, "peer/node_modules/.bin/pi")]],
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
