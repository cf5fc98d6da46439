// `node --import pi-session-native/register`: what is replaced, what is refused, on small fakes of pi's layout. That the
// published pi runs so is shown in pi.spec.ts and tui.spec.ts.
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FakePi, type Outcome, fakePi, moduleDir, node, own, register, scratch, write } from "./fake-pi.js";

const CLI = "dist/cli.js";
/** The fake's report on a run on our manager: its own says something when it runs, and has no sessions. */
const report = (outcome: Outcome) => {
	expect(outcome.stderr).toBe("");
	expect(outcome.stdout).toMatch(/^pi starts\n\{.*\}\n$/);
	return JSON.parse(outcome.stdout.split("\n")[1]);
};

/** Runs a script of a fake pi under the hook. */
function start(fake: FakePi, script: string = CLI, args: string[] = [], env: Record<string, string> = {}) {
	const cwd = scratch();
	const dir = fakePi(moduleDir(cwd, fake.name), fake);
	return { cwd, dir, outcome: node(["--import", register, join(dir, script), ...args], { cwd, env }) };
}

/** Stopped before anything of pi ran, with one line that says why. */
function stopped(outcome: Outcome, why: RegExp | string) {
	expect(outcome).toMatchObject({ code: 1, stdout: "" });
	expect(outcome.stderr).toMatch(/^pi-session-native: .*\n$/);
	expect(outcome.stderr).toMatch(why);
}

describe("a pi that is started", () => {
	it("gets our session manager in place of its own, wherever it imports it", () => {
		const { cwd, outcome } = start({}, CLI, ["--some", "argument"]);
		const said = report(outcome);
		expect(said).toMatchObject({ args: ["--some", "argument"], version: 3, agent: join(cwd, "home/.pi/agent") });
		expect(said.dir).toBe(join(cwd, "home/.pi/agent/sessions/--x--"));
		expect(outcome.code).toBe(0);
	});

	it("says so in one line, if it is asked to", () => {
		const { dir, outcome } = start({}, CLI, [], { PI_SESSION_NATIVE_VERBOSE: "1" });
		expect(outcome.stderr).toBe(
			`${own}: the session manager of @earendil-works/pi-coding-agent 9.9.9 (${dir}) is replaced\n`,
		);
		expect(start({}, CLI, [], { PI_SESSION_NATIVE_VERBOSE: "0" }).outcome.stderr).toBe("");
	});

	it("may have its older name", () => {
		report(start({ name: "@mariozechner/pi-coding-agent" }).outcome);
	});

	it("runs unbundled, when its bundle is started, by a link too", () => {
		report(start({}, "dist/bundle/cli.js").outcome);
		const cwd = scratch();
		const dir = fakePi(moduleDir(cwd));
		symlinkSync(join(dir, "dist/bundle/cli.js"), join(cwd, "pi"));
		report(node(["--import", register, join(cwd, "pi")], { cwd }));
		report(node(["--import", register, "pi"], { cwd }));
	});

	it("is stopped, when the bundle that is started has no unbundled twin", () => {
		stopped(start({}, "dist/bundle/chunks/all.js").outcome, /cannot be hooked; start .*dist\/cli\.js/);
		stopped(start({ files: { [CLI]: null } }, "dist/bundle/cli.js").outcome, "cannot be hooked; start");
	});

	it("is stopped, when its session manager exports a name that we do not have", () => {
		const text = "export const CURRENT_SESSION_VERSION = 3;\nexport class SessionManager {}\n";
		for (const declared of ["export function helper() {}", "export async function helper() {}", "export const helper = 1;", "export class helper {}"]) {
			const { outcome } = start({ files: { "dist/core/session-manager.js": `${text}${declared}\n` } });
			stopped(outcome, `cannot run on ${own}: these names of its session manager do not exist here: helper`);
		}
	});

	it("is stopped, when its session manager passes on what other modules export", () => {
		for (const passing of ['export * from "./other.js";', 'export { SessionManager } from "./other.js";']) {
			stopped(start({ files: { "dist/core/session-manager.js": `${passing}\n` } }).outcome, "does not write each export as a declaration");
		}
	});

	it("is stopped, when its SessionManager has a public method that we do not have", () => {
		const declared = [
			"export declare class SessionManager {",
			"    private constructor();",
			"    private _secret;",
			"    _persist(entry: SessionEntry): void;",
			"    getEntries(): SessionEntry[];",
			"    static teleport(to: string): SessionManager;",
			"    rewriteHistory<T>(entry: T): void;",
			"}",
			"export declare function other(): void;",
		].join("\n");
		const { outcome } = start({ files: { "dist/core/session-manager.d.ts": declared } });
		stopped(outcome, "these members of its SessionManager do not exist here: rewriteHistory, teleport");
	});

	it("is stopped, when its SessionManager has a public getter, field or static that we do not have", () => {
		const declared = (...members: string[]) => ({
			files: {
				"dist/core/session-manager.d.ts": ["export declare class SessionManager {", ...members, "}", ""].join("\n"),
			},
		});
		const refused = {
			"    get liveThing(): string;": "liveThing",
			"    set liveThing(value: string);": "liveThing",
			"    readonly field: {\n        inner: string;\n    };": "field",
			"    field?: string;": "field",
			"    static LIMIT: number;": "LIMIT",
			"    static readonly LIMIT = 5;": "LIMIT",
			"    static get current(): SessionManager | undefined;": "current",
			"    public static create2(cwd: string): SessionManager;": "create2",
			"    static getEntries(): SessionEntry[];": "getEntries",
			"    create(cwd: string): SessionManager;": "create",
			"    [Symbol.asyncDispose](): Promise<void>;": "Symbol.asyncDispose",
			'    "quoted"(): void;': "quoted",
		};
		for (const [member, name] of Object.entries(refused)) {
			const { outcome } = start(declared("    getEntries(): SessionEntry[];", member));
			stopped(outcome, `these members of its SessionManager do not exist here: ${name}\n`);
		}
		const fine = [
			"    private get hidden(): string;",
			"    private static hidden: string;",
			"    protected inner(): void;",
			"    #brand;",
			"    _internal: string;",
			"    /** Once there was\n    get gone(): string;\n     */",
			"    [key: string]: unknown;",
			"    static create(cwd: string): SessionManager;",
			"    getBranch(options: {\n        limit?: number;\n    }): SessionEntry[];",
		];
		report(start(declared(...fine)).outcome);
		stopped(start(declared("  getEntries(): SessionEntry[];")).outcome, "session-manager.d.ts is not understood");
	});

	it("is stopped, when it is laid out in another way", () => {
		stopped(start({ files: { "dist/core/session-manager.js": null } }).outcome, "has no dist/core/session-manager.js");
		stopped(start({ files: { "dist/config.js": null } }).outcome, "has no dist/config.js");
		stopped(start({ files: { "dist/config.js": "export const x = 1;" } }).outcome, "exports no getAgentDir");
	});

	it("is stopped before anything of it runs, when the hook did not fire", () => {
		const elsewhere = {
			"dist/core/sessions.js": `console.log("another manager runs");\nexport class SessionManager {}\n`,
			"dist/main.js": `import { SessionManager } from "./core/sessions.js";\nconsole.log("pi starts");\nexport const main = () => {};\n`,
		};
		stopped(start({ files: elsewhere }).outcome, "was not replaced");
		const unused = { "dist/core/sdk.js": "export const where = () => 1;", ...elsewhere };
		stopped(start({ files: unused }).outcome, "was not replaced");
	});

	it("is not half replaced by a detour: the bundle's pieces and its own manager are refused at any time", () => {
		const detour = (code: string) => ({
			"dist/main.js": `import { where } from "./core/sdk.js";\nexport async function main() {\n${code}\n}\n`,
		});
		const bundled = start({ files: detour(`await import("./bundle/chunks/all.js");`) }).outcome;
		expect(bundled.stdout).toBe("");
		expect(bundled.stderr).toContain("is a bundle with pi's session manager inside");
		expect(bundled.code).toBe(1);
		const query = `const { SessionManager } = await import("./core/session-manager.js?again");\nconsole.log(SessionManager.inMemory().getEntryCount());`;
		expect(start({ files: detour(query) }).outcome).toEqual({ code: 0, stdout: "0\n", stderr: "" });
	});

	it("is stopped on a runtime that cannot replace modules", () => {
		const cwd = scratch();
		const dir = fakePi(moduleDir(cwd));
		const without = write(
			join(cwd, "without.mjs"),
			`import module from "node:module";\ndelete module.registerHooks;\n`,
		);
		const outcome = node(["--import", without, "--import", register, join(dir, CLI)], { cwd });
		stopped(
			outcome,
			/^pi-session-native: Node 2\d\.\S+ cannot run a pi with its session manager replaced .* Node 22\.15 or newer can/,
		);
	});

	it("is stopped, when it is a single binary", () => {
		const cwd = scratch();
		const binary = write(join(cwd, "pi"), "\x7fELF and so on", 0o755);
		stopped(node(["--import", register, binary], { cwd }), `${binary} is a single-binary build of pi`);
	});

	it("is stopped, when it is a single binary of a renamed build, or by a link", () => {
		const cwd = scratch();
		const binary = write(join(cwd, "tau-linux-x64"), "\x7fELF and so on", 0o755);
		symlinkSync(binary, join(cwd, "tau"));
		const env = { PI_SESSION_NATIVE_PACKAGE: "@acme/tau" };
		stopped(node(["--import", register, join(cwd, "tau")], { cwd, env }), `${binary} is a single-binary build of pi`);
	});

	// Regression: Node said nothing but SyntaxError.
	it("is stopped, when a package manager's shell script starts it", () => {
		const cwd = scratch();
		const modules = "global/5/node_modules/@earendil-works/pi-coding-agent";
		const launcher = write(join(cwd, "bin/pi"), `#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/../${modules}/dist/bundle/cli.js" "$@"\n`, 0o755);
		const outcome = node(["--import", register, launcher], { cwd });
		stopped(outcome, `${launcher} is a shell script that starts pi`);
		expect(outcome.stderr).toContain(`Start pi-native, or ${join(cwd, modules, "dist/cli.js")}`);
		// Such a line may stand at the top of what Node does run.
		const script = write(join(cwd, "both.cjs"), `#!/bin/sh\n":" //; exec node "$0" "$@"\nconsole.log("runs");\n`);
		expect(node(["--import", register, script], { cwd })).toEqual({ code: 0, stdout: "runs\n", stderr: "" });
	});

	it("is stopped, when it is its source", () => {
		const outcome = start({ files: { "src/cli.ts": "console.log(1);" } }, "src/cli.ts").outcome;
		stopped(outcome, "is pi's source");
	});

	it("shares nothing with scripts that are not pi", () => {
		const cwd = scratch();
		const script = write(join(cwd, "script.cjs"), `console.log("runs", module.children.length);`);
		expect(node(["--import", register, script], { cwd })).toEqual({ code: 0, stdout: "runs 0\n", stderr: "" });
		expect(node(["--import", register, "-p", "6 * 7"], { cwd })).toEqual({ code: 0, stdout: "42\n", stderr: "" });
	});
});

describe("a program that has nothing to do with pi", () => {
	// Regression: the process was ended.
	it("goes on with an argument that names a program: `-e code /bin/ls`", () => {
		const cwd = scratch();
		const binary = write(join(cwd, "pi"), "\x7fELF and so on", 0o755);
		for (const argument of [process.execPath, binary]) {
			const runs = (...options: string[]) => node(["--import", register, ...options, argument], { cwd });
			for (const options of [["-e", "console.log(1)"], ["--eval", "console.log(1)"], ["--eval=console.log(1)"], ["-p", "1"], ["-pe", "1"], ["--print", "1"]])
				expect(runs(...options), options[0]).toEqual({ code: 0, stdout: "1\n", stderr: "" });
		}
	});

	// Regression: any program was called a single binary of pi.
	it("is called a single binary of pi only under pi's name", () => {
		const cwd = scratch();
		const binary = write(join(cwd, "ls"), "\x7fELF and so on", 0o755);
		const { stderr } = node(["--import", register, binary], { cwd });
		expect(stderr).toContain("SyntaxError");
		expect(stderr).not.toContain("single-binary");
	});
});

describe("a renamed build", () => {
	const tau: FakePi = { name: "@acme/tau", piConfig: { name: "tau", configDir: ".tau" } };

	it("is stopped with the setting's name, until it is set", () => {
		stopped(
			start(tau).outcome,
			/@acme\/tau .* looks like a renamed build of pi\. .* set PI_SESSION_NATIVE_PACKAGE=@acme\/tau$/m,
		);
	});

	it("is served under its own name, directory and variables", () => {
		const env = { PI_SESSION_NATIVE_PACKAGE: "@acme/tau", PI_CODING_AGENT_DIR: "/not/this" };
		const { cwd, outcome } = start(tau, CLI, [], env);
		expect(report(outcome)).toMatchObject({
			agent: join(cwd, "home/.tau/agent"),
			dir: join(cwd, "home/.tau/agent/sessions/--x--"),
		});
		const moved = start(tau, CLI, [], { ...env, TAU_CODING_AGENT_DIR: join(cwd, "moved") });
		expect(report(moved.outcome).dir).toBe(join(cwd, "moved/sessions/--x--"));
	});

	it("may be named by its directory", () => {
		const cwd = scratch();
		const dir = fakePi(join(cwd, "checkout"), tau);
		const env = { PI_SESSION_NATIVE_PACKAGE: dir };
		report(node(["--import", register, join(dir, "dist/bundle/cli.js")], { cwd, env }));
	});

	it("names itself in errors", () => {
		const cwd = scratch();
		const dir = fakePi(moduleDir(cwd, "@acme/tau"), tau);
		const file = write(join(cwd, "other.jsonl"), "42\n");
		const run = node(["--import", register, join(dir, CLI), "open", file], {
			cwd,
			env: { PI_SESSION_NATIVE_PACKAGE: "@acme/tau" },
		});
		expect(run.stderr).toContain(`Error: Session file is not a valid tau session: ${file}`);
	});

	it("does not share a process with a pi that keeps its sessions elsewhere", () => {
		const cwd = scratch();
		fakePi(moduleDir(cwd));
		fakePi(moduleDir(cwd, "@acme/tau"), tau);
		const script = write(
			join(cwd, "both.mjs"),
			`import "@earendil-works/pi-coding-agent";\nawait import("@acme/tau").catch((error) => console.log(error.message));\n`,
		);
		const run = node(["--import", register, script], { cwd, env: { PI_SESSION_NATIVE_PACKAGE: "@acme/tau" } });
		expect(run.stdout).toContain("one process cannot serve two pis that keep their sessions in different places");
	});
});

describe("a script that uses the SDK", () => {
	const sdk = (text: string, fake: FakePi = {}, options: string[] = ["--import"]) => {
		const cwd = scratch();
		fakePi(moduleDir(cwd, fake.name), fake);
		return node([...options, register, write(join(cwd, "script.mjs"), text)], { cwd });
	};
	const NATIVE = `console.log(String(SessionManager).includes("[native code]"), SessionManager.inMemory().getEntryCount());`;
	const replaced = { code: 0, stdout: "pi starts\ntrue 0\n", stderr: "" };

	it.each(["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"])("gets our manager from %s", (name) => {
		expect(sdk(`import { SessionManager } from "${name}";\n${NATIVE}`, { name })).toEqual(replaced);
	});

	it("gets it by require, too", () => {
		const text = `import { createRequire } from "node:module";\nconst { SessionManager } = createRequire(import.meta.url)("./node_modules/@earendil-works/pi-coding-agent/dist/index.js");\n${NATIVE}`;
		expect(sdk(text)).toEqual(replaced);
		expect(sdk(text, {}, ["--require"])).toEqual(replaced);
	});

	it("gets it in its worker threads, those made of text by --require alone", () => {
		const work = `import("@earendil-works/pi-coding-agent").then(({ SessionManager }) => { ${NATIVE} });`;
		const file = `import { writeFileSync } from "node:fs";\nimport { Worker } from "node:worker_threads";\nwriteFileSync("work.mjs", ${JSON.stringify(work)});\nnew Worker("./work.mjs");`;
		expect(sdk(file)).toEqual(replaced);
		const text = `import { Worker } from "node:worker_threads";\nnew Worker(${JSON.stringify(work)}, { eval: true });`;
		expect(sdk(text, {}, ["--require"])).toEqual(replaced);
	});

	it("is told by an error, not ended, when the package does not fit", () => {
		const text = `await import("@earendil-works/pi-coding-agent").catch((error) => console.log(error.name, error.message));\nconsole.log("goes on");`;
		const outcome = sdk(text, { files: { "dist/core/session-manager.js": "export function futureThing() {}\n" } });
		expect(outcome).toMatchObject({ code: 0, stderr: "" });
		expect(outcome.stdout).toMatch(/^Unfit pi-session-native: .*do not exist here: futureThing\ngoes on\n$/);
	});
});
