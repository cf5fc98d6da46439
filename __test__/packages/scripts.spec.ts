// Scripts that run on other systems, as far as that can be shown on this one.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
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
