// Scripts that run on other systems, as far as this system can test them.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { read, root, scratch } from "../../support/scratch.js";

/** Runs a script after a module of the test. Returns its output. */
function after(dir: string, code: string, script: string): string {
	const stub = join(dir, "stub.cjs");
	writeFileSync(stub, code);
	const { status, stdout, stderr } = spawnSync(process.execPath, [`--import=${pathToFileURL(stub)}`, script], {
		encoding: "utf8",
	});
	expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
	return stdout;
}

// Regression: on Windows npm was started without a shell, but only a shell can start it.
test("on Windows npm is started by a shell", () => {
	const dir = scratch();
	mkdirSync(join(dir, "scripts"));
	mkdirSync(join(dir, "node_modules"));
	for (const name of ["install.mjs", "is-main.mjs"]) cpSync(join(root, "scripts", name), join(dir, "scripts", name));
	writeFileSync(join(dir, "package-lock.json"), "{}");
	const windows = `const child = require("node:child_process");
		Object.defineProperty(process, "platform", { value: "win32" });
		child.spawnSync = (command, args, { shell }) => (console.log(command, args[0], shell), { status: shell ? 0 : null });
		require("node:module").syncBuiltinESMExports();`;
	expect(after(dir, windows, join(dir, "scripts/install.mjs"))).toBe("npm install true\n");
	expect(existsSync(join(dir, "node_modules/.stamp"))).toBe(true);
	for (const script of [
		"scripts/publish.mjs",
		"scripts/demo/prepare.mjs",
		"scripts/reference/setup.mjs",
		"scripts/runtimes/setup.mjs",
	]) {
		for (const [call] of read(join(root, script)).matchAll(/(?:spawnSync|execFileSync)\("npm",[^;]*;/g))
			expect(call, script).toMatch(/\bshell\b|\.\.\.common\b/);
	}
});

// Regression: the smoke test removed a directory while it had files in it open, which Windows refuses.
test("the smoke test closes its files before removing them", () => {
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

// Regression: if the number of kills was not a number, there were no kills, and all entries were found.
test("a number that is none is refused", () => {
	for (const [script, option, value, said] of [
		["scripts/kills", "kills", "x", "a number of at least 1"],
		["scripts/kills", "seed", "1.5", "a whole number"],
		["scripts/fuzz", "target", "opne", "one of lines, open, operations, repair"],
		["bench/generate", "images", "90", "a share from 0 to 1"],
	] as const) {
		const { status, stdout, stderr } = spawnSync(
			process.execPath,
			[join(root, `${script}.mjs`), `--${option}=${value}`],
			{ encoding: "utf8" },
		);
		expect([status, stdout, stderr.split("\n")[0]]).toEqual([
			2,
			"",
			`--${option} is ${said}, not ${JSON.stringify(value)}`,
		]);
	}
	for (const target of readdirSync(join(root, "crates/session-core/fuzz/corpus")))
		expect(read(join(root, "scripts/fuzz.mjs"))).toContain(`"${target}"`);
});

// Regression: for an unknown option a script printed only a stack of its own lines.
test("an unknown option is refused in one line", () => {
	for (const name of ["bench/run", "scripts/release"]) {
		const run = (option: string) =>
			spawnSync(process.execPath, [join(root, `${name}.mjs`), option], { encoding: "utf8" });
		const wrong = run("--nothing");
		expect([wrong.status, wrong.stdout], name).toEqual([2, ""]);
		expect(wrong.stderr, name).toMatch(/^Unknown option '--nothing'/);
		const help = run("--help");
		expect([help.status, help.stderr], name).toEqual([0, ""]);
		expect(help.stdout.length, name).toBeGreaterThan(100);
		expect(wrong.stderr.endsWith(`\n\n${help.stdout}`), name).toBe(true);
	}
});

interface Report {
	reported(start: (reporters: string[]) => Promise<number>, how?: { env: Record<string, string> }): Promise<object>;
	reportedByCargo(code: number, output: string, env: Record<string, string>): object;
	compared(results: object[], known: string[], isWhole?: boolean, occasional?: string[]): object;
}
const report = (): Promise<Report> => import(pathToFileURL(join(root, "scripts/report.mjs")).href) as Promise<Report>;

// Regression: failures before or after the tests of a file had no name.
test("each failure is named with its command", async () => {
	const { reported } = await report();
	const file = (
		name: string,
		status: string,
		message: string,
		tests: [name: string, status: string, message?: string][],
	) => ({
		name: join(root, name),
		status,
		message,
		assertionResults: tests.map(([fullName, status, said]) => ({
			fullName,
			status,
			failureMessages: status === "failed" ? [said] : [],
			meta: status === "skipped" && said ? { missing: said } : {},
		})),
	});
	const testResults = [
		file("a.spec.ts", "failed", "No browser", [["one", "skipped"]]),
		file("b.spec.ts", "failed", "", [
			["it's (two)", "failed", "Error: no\nat x"],
			["three", "passed"],
		]),
		file("c.spec.ts", "failed", "Cannot find module", []),
		file("d.spec.ts", "passed", "", [
			["four", "passed"],
			["five", "skipped", "fish is missing: apt-get install -y fish"],
			["six", "skipped"],
		]),
		file("e.spec.ts", "failed", "", [
			["seven", "failed", "differ, seed 12\nRun it again: npm run differential -- --case x:12\nc\nd\ne"],
		]),
	];
	const run = (report: object, code: number) =>
		reported(
			async (reporters) => {
				const path = reporters.find((one) => one.startsWith("--outputFile.json="))?.split("=")[1] as string;
				writeFileSync(path, JSON.stringify(report));
				return code;
			},
			{ env: { PSN_COUNTS: "full", PSN_SEED: "7", HOME: "/" } },
		);
	const before = "again: PSN_COUNTS=full PSN_SEED=7 npx vitest run";
	expect(await run({ numPassedTests: 2, testResults }, 1)).toEqual({
		code: 1,
		passed: 2,
		failed: 5,
		notRun: 1,
		names: [
			`a.spec.ts, not one of its tests:\n      No browser\n      ${before} a.spec.ts`,
			`b.spec.ts > it's (two)\n      Error: no\n      at x\n      ${before} b.spec.ts -t 'it'\\''s \\(two\\)'`,
			`c.spec.ts, not one of its tests:\n      Cannot find module\n      ${before} c.spec.ts`,
			`d.spec.ts > six\n      skipped\n      ${before} d.spec.ts`,
			"e.spec.ts > seven\n      differ, seed 12\n      Run it again: npm run differential -- --case x:12\n      c\n      d\n      seed: 12\n      again: npm run differential -- --case x:12",
		],
		passes: ["b.spec.ts > three", "d.spec.ts > four"],
		missing: ["fish is missing: apt-get install -y fish"],
	});
	const crashed = [
		file("g.spec.ts", "passed", "", [
			["ten", "passed"],
			["eleven", "pending"],
			["twelve", "pending"],
		]),
	];
	expect(await run({ numPassedTests: 1, testResults: crashed }, 1)).toMatchObject({
		failed: 1,
		names: [
			`g.spec.ts, its process ended before its tests did:\n      not run to the end: eleven, twelve\n      ${before} g.spec.ts`,
		],
	});
	// The whole file needs it, because its `beforeAll` requires it.
	const lacks = [
		file("f.spec.ts", "failed", "Error: initdb is missing: apt-get install -y postgresql\nat x", [
			["eight", "skipped"],
			["nine", "skipped"],
		]),
	];
	expect(await run({ numPassedTests: 0, testResults: lacks }, 1)).toMatchObject({
		code: 0,
		failed: 0,
		notRun: 2,
		names: [],
		missing: Array(2).fill("initdb is missing: apt-get install -y postgresql"),
	});
	const good = [file("d.spec.ts", "passed", "", [["four", "passed"]])];
	expect(await run({ numPassedTests: 1, testResults: good }, 1)).toMatchObject({
		failed: 1,
		names: ["outside of the tests: exit code 1"],
	});
	expect(await run({ numPassedTests: 1, testResults: good }, 0)).toEqual({
		code: 0,
		passed: 1,
		failed: 0,
		notRun: 0,
		names: [],
		passes: ["d.spec.ts > four"],
		missing: [],
	});
	expect(await reported(async () => 0)).toMatchObject({ code: 1, failed: 1 });
});

// Regression: tests of the core that crashed or never ended looked like a failed build.
test("a crash of the core's tests is no failed build", async () => {
	const { reportedByCargo } = await report();
	const crash =
		"test core::a ... ok\nerror: test failed, to rerun pass `--lib`\n\nCaused by:\n  process didn't exit successfully: `target/debug/deps/x-1 --test-threads=8` (signal: 6, SIGABRT: process abort signal)\n";
	expect(reportedByCargo(101, crash, {})).toMatchObject({
		failed: 1,
		names: [
			expect.stringMatching(
				/^cargo test: the process ended in the middle\n {6}signal: 6, SIGABRT: process abort signal;.*\n {6}again: cargo test -p pi-session-core --lib -- --test-threads=1$/,
			),
		],
	});
	const long = (name: string) => `test ${name} has been running for over 60 seconds\n`;
	expect(reportedByCargo(1, `${long("core::slow")}${long("core::stuck")}test core::slow ... ok\n`, {})).toMatchObject({
		failed: 1,
		names: [
			"cargo test core::stuck\n      did not end\n      again: cargo test -p pi-session-core --lib -- --exact core::stuck",
		],
	});
});

// Regression: if tests were killed because one hung, the passed ones were not counted, and a failed build was not a
// failure.
test("passed tests count if others are killed", async () => {
	const { reportedByCargo, compared } = await report();
	const killed = reportedByCargo(
		1,
		"test core::a ... ok\ntest core::stuck has been running for over 60 seconds\ntest core::b ... FAILED\n",
		{},
	);
	expect(killed).toMatchObject({ passed: 1, failed: 2, passes: ["cargo test core::a"] });
	expect(compared([killed], ["cargo test core::stuck", "cargo test core::b"])).toMatchObject({
		passed: 1,
		failed: 0,
		known: 2,
		names: [],
	});
	const unbuilt = reportedByCargo(101, "error[E0425]: cannot find value\n", {});
	expect(compared([unbuilt], [])).toMatchObject({
		passed: 0,
		failed: 1,
		known: 0,
		names: ["a step without a failed test: exit code 101"],
	});
});

// Regression: if its first program ended within 30 seconds, the registry of a new wine prefix was lost, but the prefix
// counted as ready.
test("a part of the setup that fails is made again", async () => {
	const { once } = await import(join(root, "scripts/platforms/once.mjs"));
	const dir = scratch();
	const made: string[] = [];
	const part = (works: boolean): string =>
		once(
			"part",
			(path: string) => void made.push(path),
			() => works,
			dir,
		);
	expect(() => part(false)).toThrow(/part was made, but does not work/);
	expect(() => part(false)).toThrow(/part was made, but does not work/);
	expect(part(true)).toBe(join(dir, "part"));
	expect(part(false)).toBe(join(dir, "part"));
	expect(made).toHaveLength(3);
});
