// Scripts that run on other systems, as far as that can be shown on this one.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { read, root, scratch } from "../support/store.js";

/** Runs a script after a module of the test's; gives what it printed. */
function after(dir: string, code: string, script: string): string {
	const stub = join(dir, "stub.cjs");
	writeFileSync(stub, code);
	const { status, stdout, stderr } = spawnSync(process.execPath, [`--import=${pathToFileURL(stub)}`, script], { encoding: "utf8" });
	expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
	return stdout;
}

test("on Windows npm was started without a shell, which alone can start it", () => {
	const dir = scratch();
	mkdirSync(join(dir, "scripts"));
	mkdirSync(join(dir, "node_modules"));
	cpSync(join(root, "scripts/install.mjs"), join(dir, "scripts/install.mjs"));
	writeFileSync(join(dir, "package-lock.json"), "{}");
	const windows = `const child = require("node:child_process");
		Object.defineProperty(process, "platform", { value: "win32" });
		child.spawnSync = (command, args, { shell }) => (console.log(command, args[0], shell), { status: shell ? 0 : null });
		require("node:module").syncBuiltinESMExports();`;
	expect(after(dir, windows, join(dir, "scripts/install.mjs"))).toBe("npm install true\n");
	expect(existsSync(join(dir, "node_modules/.stamp"))).toBe(true);
	for (const script of ["scripts/publish.mjs", "scripts/demo/prepare.mjs", "peer/setup.mjs", "runtimes/setup.mjs"]) {
		for (const [call] of read(join(root, script)).matchAll(/^.*(?:spawnSync|execFileSync)\("npm",.*$/gm)) expect(call, script).toMatch(/\bshell\b|\.\.\.common\b/);
	}
});

test("the smoke test removed a folder with files of its own open in it, which Windows refuses", () => {
	const asks = `const fs = require("node:fs");
		const { rmSync } = fs;
		fs.rmSync = (path, options) => {
			const open = fs.readdirSync("/proc/self/fd").flatMap((fd) => { try { return [fs.readlinkSync("/proc/self/fd/" + fd)]; } catch { return []; } });
			console.log("open:", open.filter((name) => name.startsWith(path)).length);
			rmSync(path, options);
		};
		require("node:module").syncBuiltinESMExports();`;
	expect(after(scratch(), asks, join(root, "scripts/smoke.mjs"))).toMatch(/^works on .*\nopen: 0\n$/);
});

test("a number of kills that was none meant no kills, all found", () => {
	for (const [script, option, value, said] of [
		["scripts/kills", "kills", "x", "a number of at least 1"],
		["scripts/kills", "kills", "0", "a number of at least 1"],
		["scripts/kills", "seed", "1.5", "a whole number"],
		["scripts/leaks", "entries", "-1", "a number of at least 1"],
		["scripts/fuzz", "target", "opne", "one of lines, open, operations, repair"],
		["scripts/differential", "cases", "1e3", "a whole number"],
		["bench/run", "rounds", "", "a number of at least 1"],
		["bench/generate", "images", "90", "a share from 0 to 1"],
	] as const) {
		const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, `${script}.mjs`), `--${option}=${value}`], { encoding: "utf8" });
		expect([status, stdout, stderr.split("\n")[0]]).toEqual([2, "", `--${option} is ${said}, not ${JSON.stringify(value)}`]);
	}
	for (const target of readdirSync(join(root, "fuzz/corpus"))) expect(read(join(root, "scripts/fuzz.mjs"))).toContain(`"${target}"`);
});

test("a script that was given an option it has not said so in a stack of its own lines alone", () => {
	for (const name of ["bench/run", "bench/generate", ...["differential", "fuzz", "kills", "leaks", "release", "runtimes"].map((one) => `scripts/${one}`)]) {
		const run = (option: string) => spawnSync(process.execPath, [join(root, `${name}.mjs`), option], { encoding: "utf8" });
		const wrong = run("--nothing");
		expect([wrong.status, wrong.stdout], name).toEqual([2, ""]);
		expect(wrong.stderr, name).toMatch(/^Unknown option '--nothing'/);
		const help = run("--help");
		expect([help.status, help.stderr], name).toEqual([0, ""]);
		expect(help.stdout.length, name).toBeGreaterThan(100);
		expect(wrong.stderr.endsWith(`\n\n${help.stdout}`), name).toBe(true);
	}
});
