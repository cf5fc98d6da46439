// A clone in which nothing was installed or built: each command says in one line which command to run.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as pi from "../../../scripts/demo/pi.mjs";
import { runProgram } from "../../support/cli.js";
import { root, scratch } from "../../support/scratch.js";
import { print, world } from "../extension/pi.js";

const REMEDY = /npm install && npm run build/;

/** The package's files in git, with its dependencies if they were installed. */
function clone(isInstalled: boolean): string {
	const dir = join(scratch(), "clone");
	mkdirSync(dir);
	for (const name of ["bin", "lib", "packages", "skills", "index.js", "index.mjs", "package.json", "register.mjs"])
		cpSync(join(root, name), join(dir, name), {
			recursive: true,
			filter: (path) => !path.endsWith(".node") && !path.includes("node_modules"),
		});
	if (isInstalled) symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
	return dir;
}

// Regression: a stack trace.
test.each([
	["nothing was installed", false],
	["nothing was built", true],
])("pi-sessions, where %s", (_, isInstalled) => {
	const dir = clone(isInstalled);
	for (const args of [["list"], ["show", "x"], ["search", "x"]]) {
		const { status, stdout, stderr } = spawnSync(process.execPath, [join(dir, "bin/pi-sessions.mjs"), ...args], {
			encoding: "utf8",
		});
		expect({ args, status: status !== 0, stdout }).toEqual({ args, status: true, stdout: "" });
		expect(stderr).toMatch(REMEDY);
		expect(stderr.match(/pi-session-native: /g)).toHaveLength(1);
		expect(stderr.trimEnd().split("\n")).toHaveLength(1);
	}
});

// Regression: on Node 20 the line was followed by a stack trace.
test("pi-sync, where nothing was built", () => {
	const dir = clone(false);
	mkdirSync(join(dir, "node_modules"));
	for (const name of readdirSync(join(root, "node_modules")).filter((name) => !name.startsWith("pi-session-")))
		symlinkSync(join(root, "node_modules", name), join(dir, "node_modules", name));
	symlinkSync(dir, join(dir, "node_modules/pi-session-native"));
	for (const args of [["status"], ["push", "x"], ["redact", "x", "--text", "y"]]) {
		const command = [join(dir, "packages/sync/bin/pi-sync.mjs"), ...args];
		const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
		expect({ args, status, stdout }).toEqual({ args, status: 1, stdout: "" });
		expect(stderr).toMatch(REMEDY);
		expect(stderr.trimEnd().split("\n")).toHaveLength(1);
	}
});

// Regression: "Cannot find module 'string-width'" and a list of files, or the package's name twice.
test.each([
	["nothing was installed", false],
	["nothing was built", true],
])("the extension, where %s", async (_, isInstalled) => {
	const at = await world();
	const extension = clone(isInstalled);
	for (const command of ["/find x", "/costs"]) {
		const { stderr } = await print(at, command, { extension });
		const lines = stderr.split("\n").filter((line) => line.includes("pi-session-native"));
		expect(lines, stderr).not.toEqual([]);
		for (const line of lines) {
			expect(line).toMatch(REMEDY);
			expect(line.match(/pi-session-native: /g)).toHaveLength(1);
		}
		expect(stderr).not.toMatch(/Require stack|^ +at /m);
	}
});

test("pi-native and --import, where nothing was installed", async () => {
	const dir = clone(false);
	const at = await world([{ text: "hello" }]);
	const cli = join(pi.referencePackage, "dist/bundle/cli.js");
	for (const args of [[join(dir, "bin/pi-native.mjs")], ["--import", join(dir, "register.mjs"), cli]]) {
		const { err: stderr } = await runProgram(pi.nodeBin, [...args, "-p", "hi"], {
			cwd: at.work,
			env: { ...pi.isolatedEnv(at.home), PI_SESSION_NATIVE_PACKAGE: pi.referencePackage },
		});
		const [line = ""] = stderr.split("\n").filter((text) => text.includes("pi-session-native"));
		expect(line, stderr).toMatch(REMEDY);
		expect(stderr).not.toMatch(/Require stack|^ +at /m);
	}
});
