// The command `pi-native`: which pi it finds, and that this pi runs on our manager.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isolatedEnv, nodeBin, root } from "../../../scripts/demo/pi.mjs";
import { fakePi, moduleDir, node, type Outcome, piNative, register, scratch, write } from "./fake-pi.js";

const VERBOSE = { PI_SESSION_NATIVE_VERBOSE: "1" };

/** The folder of the started pi, from its own output and from ours. */
function startedFrom(outcome: Outcome): string {
	const [, dir] = /the session manager of \S+ \S+ \((.*)\) is replaced\n$/.exec(outcome.stderr) ?? [];
	expect(outcome.stdout, outcome.stderr).toMatch(/^pi starts\n\{"args":\["one","two words"\].*\}\n$/);
	expect(outcome.code).toBe(0);
	return dir;
}

const run = (cwd: string, env: Record<string, string>, command = piNative) =>
	node([command, "one", "two words"], { cwd, env: { ...VERBOSE, ...env } });

/** Creates the command `pi` for a pi in a folder, and returns the folder. */
function commandOf(dir: string, bin: string): string {
	mkdirSync(bin, { recursive: true });
	symlinkSync(join(dir, "dist/bundle/cli.js"), join(bin, "pi"));
	return bin;
}

/** Creates a shell script `pi` in a folder, which starts a pi. */
const launcher = (bin: string, dir: string): string =>
	write(join(bin, "pi"), `#!/bin/sh\nexec node "${dir}/dist/bundle/cli.js" "$@"\n`, 0o755);

/** A PATH with `dir` first, and then the directories that a process needs. */
const pathWith = (dir: string) => ({ PATH: `${dir}:${dirname(nodeBin)}:/usr/bin:/bin` });
/** A PATH without any program. */
const bare = (dir: string) => ({ PATH: dir });

/** This package as it is installed: a link in a `node_modules`, with a link to its command in `.bin`. */
function linked(cwd: string): string {
	mkdirSync(join(cwd, "node_modules/.bin"), { recursive: true });
	symlinkSync(root, join(cwd, "node_modules/pi-session-native"));
	const command = join(cwd, "node_modules/.bin/pi-native");
	symlinkSync("../pi-session-native/bin/pi-native.mjs", command);
	return command;
}

// Regression: in a deleted directory pi-native printed a stack.
it("in a deleted directory pi-native prints one line", () => {
	const cwd = scratch();
	fakePi(moduleDir(join(cwd, "lib")));
	const gone = join(cwd, "gone");
	mkdirSync(gone);
	const env = { ...isolatedEnv(join(cwd, "home")), ...pathWith(join(cwd, "bin")) };
	const script = `rmdir "$PWD" && exec "${nodeBin}" "${piNative}"`;
	const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", script], { cwd: gone, env, encoding: "utf8" });
	expect({ status, stdout, stderr }).toEqual({
		status: 1,
		stdout: "",
		stderr: "pi-session-native: the working directory was deleted. Change to another directory\n",
	});
});

describe("pi-native starts", () => {
	it("the pi that is installed beside this package", () => {
		const cwd = scratch();
		const dir = fakePi(moduleDir(cwd));
		expect(startedFrom(run(cwd, bare(cwd), linked(cwd)))).toBe(dir);
	});

	it("the project's pi by the path of npx", () => {
		const cwd = scratch();
		const command = linked(cwd);
		const dir = fakePi(moduleDir(cwd));
		expect(startedFrom(run(cwd, pathWith(commandOf(dir, join(cwd, "node_modules/.bin"))), command))).toBe(dir);
	});

	it("the older name where the newer is not installed", () => {
		const cwd = scratch();
		const command = linked(cwd);
		const older = fakePi(moduleDir(cwd, "@mariozechner/pi-coding-agent"), { name: "@mariozechner/pi-coding-agent" });
		expect(startedFrom(run(cwd, bare(cwd), command))).toBe(older);
		const newer = fakePi(moduleDir(cwd));
		expect(startedFrom(run(cwd, bare(cwd), command))).toBe(newer);
	});

	it("the pi that the command on the path leads to", () => {
		const cwd = scratch();
		const dir = fakePi(moduleDir(join(cwd, "prefix/lib")));
		expect(startedFrom(run(cwd, bare(commandOf(dir, join(cwd, "prefix/bin")))))).toBe(dir);
	});

	// Regression: only a folder with the name of the package was found, so a clone or an unpacked archive was not.
	it("the pi of a folder with any name", () => {
		const cwd = scratch();
		const dir = fakePi(join(cwd, "opt/pi-1.6"), { files: { "dist/bundle/package.json": '{"type":"module"}' } });
		expect(startedFrom(run(cwd, bare(commandOf(dir, join(cwd, "bin")))))).toBe(dir);
	});

	it("the pi that a launcher script starts", () => {
		const cwd = scratch();
		const dir = fakePi(moduleDir(join(cwd, "global/5")));
		const script = `#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/../global/5/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js" "$@"\n`;
		write(join(cwd, "bin/pi"), script, 0o755);
		expect(startedFrom(run(cwd, bare(join(cwd, "bin"))))).toBe(dir);
	});

	it("a pi once if NODE_OPTIONS contains the hook, too", () => {
		const cwd = scratch();
		const dir = fakePi(join(cwd, "checkout"));
		const env = { ...bare(cwd), PI_SESSION_NATIVE_PACKAGE: dir, NODE_OPTIONS: `--import=${register}` };
		expect(startedFrom(run(cwd, env))).toBe(dir);
	});

	it("a pi that has no bundle", () => {
		const cwd = scratch();
		const dir = fakePi(join(cwd, "checkout"), { files: { "dist/bundle/cli.js": null } });
		expect(startedFrom(run(cwd, { ...bare(cwd), PI_SESSION_NATIVE_PACKAGE: dir }))).toBe(dir);
	});

	it("a single binary if there is no other pi", () => {
		const cwd = scratch();
		mkdirSync(join(cwd, "bin"));
		cpSync("/bin/echo", join(cwd, "bin/pi"));
		const { code, stdout, stderr } = run(cwd, bare(join(cwd, "bin")));
		expect({ code, stdout }).toEqual({ code: 0, stdout: "one two words\n" });
		expect(stderr).toMatch(
			/^pi-session-native: it runs on its own session manager, because .*bin\/pi is a single-binary build of pi, .*\n$/,
		);
	});

	// Regression: without process.execve (Node 20, Windows) pi-native exited with 1 and did not start pi.
	it("a single binary, and exits as it does, without execve", () => {
		const cwd = scratch();
		mkdirSync(join(cwd, "bin"));
		cpSync("/bin/sh", join(cwd, "bin/pi"));
		const without = write(join(cwd, "without.mjs"), "delete process.execve;\n");
		const shell = (script: string) =>
			node(["--import", without, piNative, "-c", script], { cwd, env: bare(join(cwd, "bin")) });
		const stderr = `pi-session-native: it runs on its own session manager, because ${join(cwd, "bin/pi")} is a single-binary build of pi, whose session manager is compiled in\n`;
		expect(shell("echo started")).toEqual({ code: 0, stdout: "started\n", stderr });
		expect(shell("exit 7")).toEqual({ code: 7, stdout: "", stderr });
		expect(shell("kill -TERM $$")).toEqual({ code: 128 + 15, stdout: "", stderr });
		expect(shell("kill -PIPE $$")).toEqual({ code: 128 + 13, stdout: "", stderr });
	});

	it("the pi that is set, by directory or by name", () => {
		const cwd = scratch();
		const dir = fakePi(join(cwd, "checkout"), { name: "@acme/tau", piConfig: { name: "tau", configDir: ".tau" } });
		expect(startedFrom(run(cwd, { ...bare(cwd), PI_SESSION_NATIVE_PACKAGE: dir }))).toBe(dir);
		fakePi(moduleDir(join(cwd, "prefix")));
		const tau = fakePi(moduleDir(join(cwd, "prefix"), "@acme/tau"), { name: "@acme/tau" });
		write(join(cwd, "prefix/tau"), "#!/bin/sh\n", 0o755);
		expect(startedFrom(run(cwd, { ...bare(join(cwd, "prefix")), PI_SESSION_NATIVE_PACKAGE: "@acme/tau" }))).toBe(tau);
	});
});

/** A pi that no test may run. */
function stranger(dir: string): string {
	const evil = 'console.log("a stranger\'s code runs");\n';
	return fakePi(dir, { files: { "dist/cli.js": evil, "dist/main.js": evil, "dist/bundle/cli.js": evil } });
}

describe("pi-native starts nothing", () => {
	const refused = (outcome: Outcome, why: string | RegExp) => {
		expect(outcome).toMatchObject({ code: 1, stdout: "" });
		expect(outcome.stderr).toMatch(/^pi-session-native: .*\n$/);
		expect(outcome.stderr).toMatch(why);
	};

	it("that merely lies in the working directory", () => {
		const cwd = scratch();
		fakePi(moduleDir(cwd));
		refused(
			run(cwd, bare(join(cwd, "nothing"))),
			/no pi is installed .*npm install -g @earendil-works\/pi-coding-agent/,
		);
	});

	it("from the project, though npx or the path names it", () => {
		const outer = scratch();
		const cwd = join(outer, "clone/packages/app");
		const [real, ...above] = [cwd, join(outer, "clone"), outer].map((place) =>
			commandOf(stranger(moduleDir(place)), join(place, "node_modules/.bin")),
		);
		symlinkSync(join(outer, "clone"), join(outer, "link"));
		const paths = [
			["node_modules/.bin"],
			["./node_modules/.bin", "../../node_modules/.bin", "."],
			[real, ...above],
			[join(outer, "link/packages/app/node_modules/.bin"), `${above[0]}/`],
		];
		for (const path of paths) refused(run(cwd, { PATH: path.join(":") }), "no pi is installed");
	});

	it("from the project, though a command elsewhere leads there", () => {
		const outer = scratch();
		const cwd = join(outer, "clone/packages/app");
		const bin = join(outer, "bin");
		for (const place of [cwd, join(outer, "clone")]) {
			const dir = stranger(moduleDir(place));
			refused(run(cwd, bare(commandOf(dir, bin))), "no pi is installed");
			rmSync(join(bin, "pi"));
			launcher(bin, dir);
			refused(run(cwd, bare(bin)), "no pi is installed");
			rmSync(join(bin, "pi"));
		}
		// A link there to the program beside it.
		const linkedTo = stranger(join(outer, "clone/packages/evil"));
		rmSync(moduleDir(cwd), { recursive: true });
		symlinkSync(linkedTo, moduleDir(cwd));
		launcher(bin, moduleDir(cwd));
		refused(run(cwd, bare(bin)), "no pi is installed");
	});

	// Regression: only the links of packages were resolved, so a stranger's binary was started.
	it("that is the project's binary, though a link leads there", () => {
		const outer = scratch();
		const [cwd, bin, home] = ["clone", "bin", "user"].map((name) => join(outer, name)) as [string, string, string];
		for (const path of [cwd, bin, home]) mkdirSync(path);
		cpSync("/bin/echo", join(cwd, "pi"));
		symlinkSync(join(cwd, "pi"), join(bin, "pi"));
		refused(run(cwd, { ...bare(bin), HOME: home }), "no pi is installed");
	});

	it("from a folder named like a variable of a launcher", () => {
		const cwd = scratch();
		stranger(moduleDir(join(cwd, "$HOME/.x")));
		const bin = scratch();
		launcher(bin, moduleDir("$HOME/.x"));
		refused(run(cwd, bare(bin)), "no pi is installed");
	});

	// Regression: a stranger's pi was started.
	it("from the project, though an absolute path names it", () => {
		const outer = scratch();
		const home = join(outer, "user");
		const cwd = join(outer, "clone/packages/app");
		for (const path of [home, cwd, join(outer, "clone/.git")]) mkdirSync(path, { recursive: true });
		for (const place of [join(outer, "clone/.venv"), join(cwd, ".direnv")]) {
			const bin = commandOf(stranger(moduleDir(join(place, "lib"))), join(place, "bin"));
			refused(run(cwd, { ...bare(bin), HOME: home }), "no pi is installed");
		}
		// The same below the home: packages that are installed there belong to the user.
		const own = commandOf(fakePi(moduleDir(join(home, ".local/lib"))), join(home, ".local/bin"));
		for (const place of [home, cwd]) expect(startedFrom(run(place, { ...bare(own), HOME: home }))).toContain(home);
	});

	// Regression: a link to this package made all files beside it the user's own.
	it("beside a link to this package in the project", () => {
		const cwd = scratch();
		linked(cwd);
		const bin = commandOf(fakePi(moduleDir(cwd)), join(cwd, "node_modules/.bin"));
		refused(run(cwd, pathWith(bin)), "no pi is installed");
	});

	// Regression: without a repository the project was only the folder in which pi-native was started.
	it("from a project that only a tool's file marks", () => {
		const tools = [".direnv", ".envrc", ".mise.toml", ".tool-versions", "flake.nix", "mise.toml", "shell.nix"];
		const python = [".venv", "Pipfile", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "venv"];
		const outer = scratch();
		const [home, clone] = [join(outer, "user"), join(outer, "clone")];
		const cwd = join(clone, "sub");
		for (const path of [home, cwd]) mkdirSync(path, { recursive: true });
		const bin = commandOf(fakePi(moduleDir(join(clone, "env/lib"))), join(clone, "env/bin"));
		const found = () => run(cwd, { ...bare(bin), HOME: home });
		for (const mark of [...tools, ...python]) {
			write(join(clone, mark), "");
			refused(found(), "no pi is installed");
			rmSync(join(clone, mark));
		}
		expect(startedFrom(found())).toContain(clone);
	});

	// Regression: the message did not name the `pi` on the path.
	it("and names the pi on the path, and the reason", () => {
		const outer = scratch();
		const [home, clone] = [join(outer, "user"), join(outer, "clone")];
		for (const path of [home, join(clone, ".git")]) mkdirSync(path, { recursive: true });
		const [bin, theirs, launchers] = ["bin", "theirs", "launchers"].map((name) => join(outer, name)) as [
			string,
			string,
			string,
		];
		const found = (path: string) => run(clone, { ...bare(path), HOME: home });
		commandOf(fakePi(join(outer, "tau"), { name: "@acme/tau" }), bin);
		refused(found(bin), `${join(bin, "pi")} does not lead to a package of this name`);
		commandOf(stranger(join(clone, "pi")), theirs);
		const strange = "A pi that came with the working directory is not used: ";
		refused(found(theirs), `${strange}${join(theirs, "pi")}\n`);
		launcher(launchers, stranger(moduleDir(clone)));
		refused(found(launchers), `${strange}${moduleDir(clone)}\n`);
		refused(found(join(clone, "pi/dist/bundle")), `${strange.slice(0, -2)}\n`);
		commandOf(join(clone, "pi"), join(clone, "bin"));
		refused(found(join(clone, "bin")), `${strange}${join(clone, "bin/pi")}\n`);
		refused(found("bin"), `${strange}bin/pi\n`);
	});

	it("if the set folder has no package or command", () => {
		const cwd = scratch();
		const set = (folder: string) => run(cwd, { ...bare(cwd), PI_SESSION_NATIVE_PACKAGE: folder });
		refused(set(join(cwd, "missing")), "a folder that does not exist");
		mkdirSync(join(cwd, "empty"));
		refused(set(join(cwd, "empty")), "a folder without a package.json");
		refused(
			set(fakePi(join(cwd, "empty-dist"), { files: { "dist/cli.js": null, "dist/bundle/cli.js": null } })),
			"has no dist/cli.js to start",
		);
		refused(set("@acme/tau"), "no pi is installed (@acme/tau)");
	});
});
