// `node --import …/register.mjs` with small fakes of pi: which classes are taken over, and when pi keeps its own
// manager and a line says why. pi.spec.ts and tui.spec.ts run the published pi in this way.
import { cpSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/demo/pi.mjs";
import { type FakePi, fakePi, moduleDir, node, type Outcome, own, register, scratch, write } from "./fake-pi.js";

const [BUNDLE, UNBUNDLED, RPC] = ["dist/bundle/cli.js", "dist/cli.js", "dist/bundle/rpc-entry.js"] as const;

const reportOf = ({ stdout }: Outcome) => JSON.parse(stdout.split("\n")[1] as string);

/** pi ran on our manager, which begins without an entry. No line was printed. */
function ours(outcome: Outcome) {
	expect(outcome).toMatchObject({ code: 0, stderr: "" });
	expect(reportOf(outcome)).toMatchObject({ entries: 0, isInstance: true });
	return reportOf(outcome);
}

/** pi ran on its own manager, and one line said why. */
function theirs(outcome: Outcome, why: string | RegExp) {
	expect(outcome.stderr).toMatch(/^pi-session-native: .*\n$/);
	expect(outcome.stderr).toMatch(why);
	expect(outcome.code).toBe(0);
	expect(reportOf(outcome)).toMatchObject({ entries: 1, isInstance: true });
}

/** pi was not started, and one line said why. */
function stopped(outcome: Outcome, why: RegExp | string) {
	expect(outcome).toMatchObject({ code: 1, stdout: "" });
	expect(outcome.stderr).toMatch(/^pi-session-native: .*\n$/);
	expect(outcome.stderr).toMatch(why);
}

/** Copies this package without its addon. */
function copyOf(copy: string): string {
	for (const part of ["package.json", "lib", "register.mjs", "index.js"])
		cpSync(join(root, part), join(copy, part), { recursive: true });
	symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
	return copy;
}

/** Runs a script of a fake pi. */
function start(fake: FakePi, script: string = BUNDLE, args: string[] = [], env: Record<string, string> = {}) {
	const cwd = scratch();
	const dir = fakePi(moduleDir(cwd, fake.name), fake);
	return { cwd, dir, outcome: node(["--import", register, join(dir, script), ...args], { cwd, env }) };
}

describe("a pi that is started", () => {
	it.each([BUNDLE, UNBUNDLED, RPC])("runs on our manager by %s", (script) => {
		const { cwd, outcome } = start({}, script, ["--some", "argument"]);
		const agent = join(cwd, "home/.pi/agent");
		expect(ours(outcome)).toMatchObject({ args: ["--some", "argument"], agent, dir: join(agent, "sessions/--x--") });
	});

	it("says so in one line, if it is asked to", () => {
		const { dir, outcome } = start({}, BUNDLE, [], { PI_SESSION_NATIVE_VERBOSE: "1" });
		expect(outcome.stderr).toBe(
			`${own}: the session manager of @earendil-works/pi-coding-agent 9.9.9 (${dir}) is replaced\n`,
		);
		expect(start({}, BUNDLE, [], { PI_SESSION_NATIVE_VERBOSE: "0" }).outcome.stderr).toBe("");
	});

	it("has its older name, or is started by a link", () => {
		ours(start({ name: "@mariozechner/pi-coding-agent" }).outcome);
		const cwd = scratch();
		symlinkSync(join(fakePi(moduleDir(cwd)), BUNDLE), join(cwd, "pi"));
		ours(node(["--import", register, "pi"], { cwd }));
	});

	// __test__/integration/takeover/take-over.spec.ts checks the rest.
	const differences: [string, FakePi, string | RegExp][] = [
		[
			"lacks a static",
			{ manager: (text) => text.replace(/static findById.*/, "") },
			"because SessionManager.findById is not as expected",
		],
		["has no index", { files: { "dist/bundle/index.js": null } }, "because its dist/bundle/index.js cannot be loaded"],
	];
	it.each(differences)("runs on its own manager where it %s", (_, fake, why) => theirs(start(fake).outcome, why));

	it("runs on its own manager without our addon", () => {
		const cwd = scratch();
		const copy = copyOf(join(cwd, "copy"));
		const dir = fakePi(moduleDir(cwd));
		theirs(
			node(["--import", join(copy, "register.mjs"), join(dir, BUNDLE)], { cwd }),
			"runs on its own session manager, because",
		);
	});

	it("runs on its own manager where its source is started", () => {
		const { outcome } = start({ files: { "src/cli.mjs": `await import("../dist/cli.js");` } }, "src/cli.mjs");
		theirs(outcome, "because it was started from its source");
	});

	it.runIf(process.platform !== "win32")("replaces our process if it is a single binary", () => {
		const cwd = scratch();
		const binary = join(cwd, "pi-linux-x64");
		cpSync("/bin/echo", binary);
		symlinkSync(binary, join(cwd, "pi"));
		const { code, stdout, stderr } = node(["--import", register, join(cwd, "pi"), "--some", "argument"], { cwd });
		expect({ code, stdout }).toEqual({ code: 0, stdout: "--some argument\n" });
		expect(stderr).toBe(
			`pi-session-native: it runs on its own session manager, because ${binary} is a single-binary build of pi, whose session manager is compiled in\n`,
		);
	});

	// Regression: it continued when the process that waited for it was killed.
	it("is not started as a single binary without execve", () => {
		const cwd = scratch();
		const binary = join(cwd, "pi");
		cpSync("/bin/echo", binary);
		const without = write(join(cwd, "without.mjs"), "delete process.execve;\n");
		const outcome = node(["--import", without, "--import", register, binary, "text"], { cwd });
		stopped(outcome, `${binary} is a single-binary build of pi, which this Node cannot run. Start ${binary} itself`);
	});

	// Regression: Node printed only SyntaxError.
	it("is stopped, when a package manager's shell script starts it", () => {
		const cwd = scratch();
		const modules = "global/5/node_modules/@earendil-works/pi-coding-agent";
		const launcher = write(
			join(cwd, "bin/pi"),
			`#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/../${modules}/dist/bundle/cli.js" "$@"\n`,
			0o755,
		);
		const outcome = node(["--import", register, launcher], { cwd });
		stopped(outcome, `${launcher} is a shell script that starts pi`);
		expect(outcome.stderr).toContain(`Start pi-native, or ${join(cwd, modules, BUNDLE)}`);
		// Such a line may also be the first line of a file that Node runs.
		const script = write(join(cwd, "both.cjs"), `#!/bin/sh\n":" //; exec node "$0" "$@"\nconsole.log("runs");\n`);
		expect(node(["--import", register, script], { cwd })).toEqual({ code: 0, stdout: "runs\n", stderr: "" });
	});
});

describe("a program that has nothing to do with pi", () => {
	it("shares nothing with us", () => {
		const cwd = scratch();
		const script = write(join(cwd, "script.cjs"), `console.log("runs", module.children.length);`);
		expect(node(["--import", register, script], { cwd })).toEqual({ code: 0, stdout: "runs 0\n", stderr: "" });
		expect(node(["--import", register, "-p", "6 * 7"], { cwd })).toEqual({ code: 0, stdout: "42\n", stderr: "" });
	});

	// Regression: the process was ended.
	it("keeps an argument that names a program: `-e code /bin/ls`", () => {
		const cwd = scratch();
		const binary = write(join(cwd, "pi"), "\x7fELF\0and so on", 0o755);
		for (const argument of [process.execPath, binary]) {
			const runs = (...options: string[]) => node(["--import", register, ...options, argument], { cwd });
			for (const options of [
				["-e", "console.log(1)"],
				["--eval", "console.log(1)"],
				["--eval=console.log(1)"],
				["-p", "1"],
				["-pe", "1"],
				["--print", "1"],
			])
				expect(runs(...options), options[0]).toEqual({ code: 0, stdout: "1\n", stderr: "" });
		}
	});

	// Regression: each program counted as a single-binary pi.
	it("is called a single binary only under pi's name", () => {
		const cwd = scratch();
		const binary = write(join(cwd, "ls"), "\x7fELF\0and so on", 0o755);
		const { stderr } = node(["--import", register, binary], { cwd });
		expect(stderr).toContain("SyntaxError");
		expect(stderr).not.toContain("single-binary");
	});
});

describe("a renamed build", () => {
	const tau: FakePi = { name: "@acme/tau", piConfig: { name: "tau", configDir: ".tau" } };
	const named = { PI_SESSION_NATIVE_PACKAGE: "@acme/tau" };

	it("runs on its own manager until its name is set", () => {
		const { outcome } = start(tau);
		theirs(
			outcome,
			/@acme\/tau .* looks like a renamed build of pi .* set PI_SESSION_NATIVE_PACKAGE=@acme\/tau to run/,
		);
	});

	it("is served under its own name, directory and variables", () => {
		const env = { ...named, PI_CODING_AGENT_DIR: "/not/this" };
		const { cwd, outcome } = start(tau, BUNDLE, [], env);
		expect(ours(outcome)).toMatchObject({
			agent: join(cwd, "home/.tau/agent"),
			dir: join(cwd, "home/.tau/agent/sessions/--x--"),
		});
		const moved = start(tau, BUNDLE, [], { ...env, TAU_CODING_AGENT_DIR: join(cwd, "moved") });
		expect(ours(moved.outcome).dir).toBe(join(cwd, "moved/sessions/--x--"));
	});

	it("may be named by its directory", () => {
		const cwd = scratch();
		const dir = fakePi(join(cwd, "checkout"), tau);
		ours(node(["--import", register, join(dir, BUNDLE)], { cwd, env: { PI_SESSION_NATIVE_PACKAGE: dir } }));
	});

	it("names itself in errors", () => {
		const cwd = scratch();
		const dir = fakePi(moduleDir(cwd, "@acme/tau"), tau);
		const file = write(join(cwd, "other.jsonl"), "42\n");
		const run = node(["--import", register, join(dir, BUNDLE), "open", file], { cwd, env: named });
		expect(run.stderr).toContain(`Error: Session file is not a valid tau session: ${file}`);
	});

	const both = (cwd: string) =>
		write(
			join(cwd, "both.mjs"),
			`import { SessionManager as pi } from "@earendil-works/pi-coding-agent";
			import { SessionManager as tau } from "@acme/tau";
			for (const manager of [pi.inMemory(), tau.inMemory()]) console.log(manager.getEntryCount(), manager instanceof pi, manager instanceof tau);`,
		);

	it("keeps its own manager beside a pi with another directory", () => {
		const cwd = scratch();
		const dir = fakePi(moduleDir(cwd));
		fakePi(moduleDir(cwd, "@acme/tau"), tau);
		const run = node(["--import", register, both(cwd)], { cwd, env: named });
		expect(run.stdout).toBe("pi starts\npi starts\n0 true false\n1 false true\n");
		expect(run.stderr).toMatch(
			/^pi-session-native: .* because this process already serves a pi that stores its sessions in .*\.pi\/agent, not in .*\.tau\/agent\n$/,
		);
		expect(dir).toContain(cwd);
	});

	it("shares our manager with a pi of the same directory", () => {
		const cwd = scratch();
		fakePi(moduleDir(cwd));
		fakePi(moduleDir(cwd, "@acme/tau"), { name: "@acme/tau" });
		expect(node(["--import", register, both(cwd)], { cwd, env: named })).toEqual({
			code: 0,
			stdout: "pi starts\npi starts\n0 true true\n0 true true\n",
			stderr: "",
		});
	});
});

describe("a script that uses the SDK", () => {
	const sdk = (text: string, fake: FakePi = {}, options: string[] = ["--import"]) => {
		const cwd = scratch();
		fakePi(moduleDir(cwd, fake.name), fake);
		return node([...options, register, write(join(cwd, "script.mjs"), text)], { cwd });
	};
	const SHOW = `console.log(SessionManager.inMemory().getEntryCount(), SessionManager.inMemory() instanceof SessionManager);`;
	const replaced = { code: 0, stdout: "pi starts\n0 true\n", stderr: "" };

	it.each(["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"])("gets our manager from %s", (name) => {
		expect(sdk(`import { SessionManager } from "${name}";\n${SHOW}`, { name })).toEqual(replaced);
	});

	it("gets it from the bundle and from pi's entry", () => {
		expect(
			sdk(
				`import { SessionManager } from "./node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js";\n${SHOW}`,
			),
		).toEqual(replaced);
		ours(sdk(`await import("@earendil-works/pi-coding-agent/rpc-entry");`));
	});

	// Regression: a line said that pi runs on its own manager, and it ran on ours.
	it.each(["dist/", "dist/bundle/"])("gets it from index and program of %s together", (folder) => {
		const [index, cli] = ["index", "cli"].map(
			(name) => `"./node_modules/@earendil-works/pi-coding-agent/${folder}${name}.js"`,
		);
		const [first, second] = [`import { SessionManager } from ${index};`, `import ${cli};`];
		const together = (one?: string, other?: string) =>
			`const [one, other] = await Promise.all([import(${one}), import(${other})]);
			const { SessionManager } = { ...one, ...other };`;
		for (const text of [first + second, second + first, together(index, cli), together(cli, index)]) {
			const outcome = sdk(`${text}\n${SHOW}`);
			expect(ours(outcome)).toMatchObject({ args: [] });
			expect(outcome.stdout.split("\n").at(-2), text).toBe("0 true");
		}
	});

	it("gets it by require, too", () => {
		const text = `import { createRequire } from "node:module";\nconst { SessionManager } = createRequire(import.meta.url)("./node_modules/@earendil-works/pi-coding-agent/dist/index.js");\n${SHOW}`;
		expect(sdk(text)).toEqual(replaced);
		expect(sdk(text, {}, ["--require"])).toEqual(replaced);
	});

	it("resolves pi's URL as without the hook", () => {
		const text = `console.log(import.meta.resolve("@earendil-works/pi-coding-agent").startsWith("file:"));`;
		expect(sdk(text)).toEqual({ code: 0, stdout: "true\n", stderr: "" });
	});

	// Regression: a SyntaxError ended the script, because each copy added a line with the same names.
	it("gets it where two copies of this package are registered", () => {
		const cwd = scratch();
		const copy = copyOf(join(cwd, "copy"));
		const addon = readdirSync(root).find((name) => name.endsWith(".node")) as string;
		symlinkSync(join(root, addon), join(copy, addon));
		const dir = fakePi(moduleDir(cwd));
		for (const path of ["dist/index.js", "dist/bundle/index.js"]) {
			const url = JSON.stringify(pathToFileURL(join(dir, path)).href);
			const script = write(join(cwd, "script.mjs"), `import { SessionManager } from ${url};\n${SHOW}`);
			const both = [register, join(copy, "register.mjs")];
			for (const copies of [both, [...both].reverse()])
				for (const [first, second] of [
					["--import", "--import"],
					["--require", "--require"],
					["--require", "--import"],
				] as const)
					expect(node([first, copies[0], second, copies[1], script], { cwd })).toEqual(replaced);
		}
	});

	it("gets it in its worker threads", () => {
		const work = `import("@earendil-works/pi-coding-agent").then(({ SessionManager }) => { ${SHOW} });`;
		const file = `import { writeFileSync } from "node:fs";\nimport { Worker } from "node:worker_threads";\nwriteFileSync("work.mjs", ${JSON.stringify(work)});\nnew Worker("./work.mjs");`;
		expect(sdk(file)).toEqual(replaced);
		const text = `import { Worker } from "node:worker_threads";\nnew Worker(${JSON.stringify(work)}, { eval: true });`;
		expect(sdk(text, {}, ["--require"])).toEqual(replaced);
	});

	it("gets pi's own, and a line, for an unexpected class", () => {
		const outcome = sdk(`import { SessionManager } from "@earendil-works/pi-coding-agent";\n${SHOW}`, {
			manager: (text) => text.replace("static open", "static teleport() {} static open"),
		});
		expect(outcome).toMatchObject({ code: 0, stdout: "pi starts\n1 true\n" });
		expect(outcome.stderr).toMatch(
			/^pi-session-native: pi 9\.9\.9 runs on its own session manager, because SessionManager\.teleport is not known\n$/,
		);
	});

	it("gets pi's own, and a line, without module hooks", () => {
		const cwd = scratch();
		fakePi(moduleDir(cwd));
		const without = write(
			join(cwd, "without.mjs"),
			`import module from "node:module";\ndelete module.registerHooks;\n`,
		);
		const script = write(
			join(cwd, "script.mjs"),
			`import { SessionManager } from "@earendil-works/pi-coding-agent";\n${SHOW}`,
		);
		const outcome = node(["--import", without, "--import", register, script], { cwd });
		expect(outcome).toMatchObject({ code: 0, stdout: "pi starts\n1 true\n" });
		expect(outcome.stderr).toMatch(
			/^pi-session-native: scripts that import pi get pi's own session manager, .* Use Node 22\.15 or newer\n$/,
		);
	});
});
